"""Count for pairs of rules from two sessions how often one is retired, questioned, merged, or both are kept.

    python benchmarks/rule_pairs.py [FILE] [--verbose]

FILE (default: data/rule_pairs.jsonl) has one JSON object per line: `kind` ("beside": both can hold,
"contradicts", "same"), `older`, `newer`.
Each pair has its own project in a temporary memory: the older rule is the prompt of one session and gets its
vector, then the newer rule is the prompt of another. Everything runs through the consumer's functions with
the real model. "kept" are pairs of which both rules were stored; a question may be one of `--candidates`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import web_process

from claude_mem_lite.capture import inbox
from claude_mem_lite.distill import record
from claude_mem_lite.learnings import session
from claude_mem_lite.search.indexing import Index
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models

FILE = Path(__file__).with_name("data") / "rule_pairs.jsonl"
KINDS = {"beside": "can stand together", "contradicts": "contradict", "same": "say the same"}
OUTCOMES = ("retired", "question", "again", "merged", "apart")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rules of a project, and their relation."""

    project_dir: str
    kind: str
    older: str
    newer: str


def kind_of(told: str) -> str:
    """Return the kind of a pair for the word used in a file."""
    beginnings = {"contra": "contradicts", "same": "same", "resta": "same"}
    return next((kind for start, kind in beginnings.items() if told.startswith(start)), "beside")


def say(project_dir: str, session_id: str, prompt: str) -> None:
    """Play a session of one prompt."""
    common = {"session_id": session_id, "cwd": project_dir}
    for event in (
        {"hook_event_name": "UserPromptSubmit", "prompt": prompt},
        {"hook_event_name": "SessionEnd", "reason": "other"},
    ):
        inbox.append(json.dumps(common | event), project_dir)
    record.summarize_session(session_id, retell=True)
    session.learn(session_id)


def embed() -> None:
    """Write all vectors that are missing."""
    index = Index()
    while (wait_s := index.step()) is not None:
        time.sleep(wait_s)


def outcome(pair: Pair, older: set[str]) -> tuple[str, bool]:
    """Return what became of the older rule, and whether both rules were stored at all."""
    rows = learning_rows.find(pair.project_dir, state="all")
    kept = [row for row in rows if row.id in older]
    is_merged = any(len(row.source_sessions) > 1 for row in kept)
    both = bool(kept) and (is_merged or len(rows) > len(kept))
    if any(row.superseded_by for row in kept):
        return "retired", both
    asked = [is_again for *_, is_again in learning_rows.questions(pair.project_dir, candidates=True)]
    if not all(asked):
        return "question", both
    return "again" if asked else "merged" if is_merged else "apart", both


def measure(pairs: list[Pair], *, is_verbose: bool) -> None:
    """Play all pairs and print the outcomes."""
    for number, pair in enumerate(pairs):
        say(pair.project_dir, f"older-{number}", pair.older)
    embed()
    older = [{row.id for row in learning_rows.find(pair.project_dir, state="all")} for pair in pairs]
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for number, (pair, known) in enumerate(zip(pairs, older, strict=True)):
        say(pair.project_dir, f"newer-{number}", pair.newer)
        what, both = outcome(pair, known)
        found[pair.kind].update(["pairs", what, *(["kept", f"{what} of kept"] if both else [])])
        found[pair.kind]["told"] += len(learning_rows.find(pair.project_dir)) > 0
        if is_verbose:
            sys.stdout.write(
                f"{pair.kind:11} {what:8} {'' if both else 'not kept':8} {pair.older} / {pair.newer}\n"
            )
    sys.stdout.write(
        f"{'':20}{'pairs':>6}{'kept':>6}" + "".join(f"{each:>10}{'of kept':>8}" for each in OUTCOMES) + "\n"
    )
    for kind, name in KINDS.items():
        counts = found[kind]
        told = "".join(f"{counts[each]:>10}{counts[f'{each} of kept']:>8}" for each in OUTCOMES)
        sys.stdout.write(f"{name:20}{counts['pairs']:>6}{counts['kept']:>6}{told}\n")


def main() -> None:
    """Read the pairs, start a web process, play them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=Path, nargs="?", default=FILE)
    parser.add_argument("--verbose", action="store_true", help="print each pair")
    chosen = parser.parse_args()
    lines = [json.loads(line) for line in chosen.file.read_text("utf-8").splitlines() if line.strip()]
    pairs = [
        Pair(f"/rules/{number}", kind_of(each["kind"]), each["older"], each["newer"])
        for number, each in enumerate(lines)
    ]
    with tempfile.TemporaryDirectory(prefix="cml-") as folder:
        os.environ["CLAUDE_MEM_HOME"] = folder
        models.open_databases()
        with web_process.running():
            measure(pairs, is_verbose=chosen.verbose)
            models.close_databases()


if __name__ == "__main__":
    main()
