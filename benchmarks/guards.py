"""Count the calls that guards catch: of those that break the guard's rule, and of innocent ones.

    python benchmarks/guards.py [RULES.jsonl] [--transcripts FOLDER]

A line of RULES.jsonl (default: data/guard_calls.jsonl) is `{"rule": TEXT, "violates": [CALL, …], "keeps":
[CALL, …]}`, a call is `{"tool_name": NAME, "tool_input": {…}}`. Each rule's guard is derived from its text
alone. A line does not name the folder of its project, so every folder above all its paths is tried, for calls
of both kinds. A call without the words that the hook looks for first is not caught. Calls of the transcripts
are checked against all guards, and those that a guard catches are printed for review.
"""

from __future__ import annotations

import argparse
import json
import os.path
import sqlite3
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from claude_mem_lite.capture.guards import TOOLS, Call, columns, telling_words
from claude_mem_lite.learnings.guarding import derive
from claude_mem_lite.learnings.programs import Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.capture.guards import Guard

ROOT = "/srv/app"
RULES = Path(__file__).with_name("data") / "guard_calls.jsonl"
READ, MEMORY = f"SELECT {columns(':event')}", sqlite3.connect(":memory:")


def broken(guard: Guard, call: dict[str, Any], folder: str = ROOT, root: str = ROOT) -> str:
    """Return the part of a call that breaks a guard, "" if none does."""
    event = json.dumps({"cwd": folder} | call, ensure_ascii=False)
    lines = (line.split("\t") for line in telling_words([guard]).splitlines())
    if not any(all(word in event for word in line) for line in lines):
        return ""
    return guard.broken_by(Call(MEMORY.execute(READ, {"event": event}).fetchone(), root))


def roots_of(rule: dict[str, Any]) -> list[str]:
    """Return the possible project folders of a rule's calls: those above all paths that they name."""
    given = [call["tool_input"] for call in (*rule["violates"], *rule["keeps"])]
    files = [str(each["file_path"]) for each in given if str(each.get("file_path")).startswith("/")]
    lines = [str(each.get("command")) for each in given]
    moved = [line.split()[1] for line in lines if line.startswith("cd /")]
    common = os.path.commonpath([*map(os.path.dirname, files), *moved] or [ROOT])
    return [ROOT, common, *map(str, PurePosixPath(common).parents)]


def broken_anywhere(guard: Guard | None, call: dict[str, Any], roots: list[str]) -> bool:
    """Tell whether a call breaks a guard with any of the possible project folders."""
    return guard is not None and any(broken(guard, call, each, each) for each in roots)


def calls_of(folder: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the calls in transcripts, each with its working folder."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(errors="replace").splitlines():
            row = json.loads(line)
            content = row.get("message", {}).get("content") if isinstance(row.get("message"), dict) else None
            for part in content if isinstance(content, list) else ():
                if part.get("type") == "tool_use" and part.get("name") in TOOLS:
                    yield {"tool_name": part["name"], "tool_input": part["input"]}, row.get("cwd", ROOT)


def main() -> None:
    """Print missed calls, false positives and totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", type=Path, nargs="?", default=RULES)
    parser.add_argument("--transcripts", type=Path)
    options = parser.parse_args()
    rules = [json.loads(line) for line in options.rules.read_text().splitlines()]
    real = list(calls_of(options.transcripts)) if options.transcripts else []
    past = [
        call["tool_input"]
        for call in (*(call for rule in rules for call in rule["keeps"]), *(c for c, _ in real))
    ]
    seen = Seen.of((str(each["command"]) for each in past if each.get("command")), ROOT)
    guards = [(rule, derive(rule["rule"], seen)) for rule in rules]
    noticed = violating = false = innocent = 0
    for rule, guard in guards:
        print(f"\n{rule['rule']}\n    -> {guard.says if guard else 'nothing that can be checked'}")
        for call in rule["violates"]:
            violating += 1
            noticed += (found := broken_anywhere(guard, call, roots_of(rule)))
            if not found:
                print(f"    missed: {json.dumps(call)[:160]}")
        for call in rule["keeps"]:
            innocent += 1
            false += (found := broken_anywhere(guard, call, roots_of(rule)))
            if found:
                print(f"    false: {json.dumps(call)[:160]}")
    print(f"\n{noticed} of {violating} violating calls noticed, {false} of {innocent} innocent ones falsely")
    print(f"{sum(guard is not None for _, guard in guards)} of {len(guards)} rules have a guard")
    told: dict[str, int] = {}
    for rule, guard in guards:
        for call, folder in real if guard else ():
            root = folder.partition("/cmd/")[0]
            if guard and (found := broken(guard, call, folder, root)):
                key = f"{rule['rule'][:60]}  <-  {' '.join(found.split())[:90]}"
                told[key] = told.get(key, 0) + 1
    for key, times in sorted(told.items()):
        print(f"{times:4} {key}")
    print(f"{sum(told.values())} of {len(real)} real calls told of, by {len(guards)} guards")


if __name__ == "__main__":
    main()
