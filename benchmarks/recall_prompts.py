"""Count which prompts about the recorded history recall answers, and on which it stays silent.

    python benchmarks/recall_prompts.py [FILE] [--words] [--later] [--show]

FILE (default: data/recall_prompts.jsonl) has one JSON object per line: {"kind": …, "prompt": …,
"answer_contains": [text, …]}. A prompt with `answer_contains` counts as answered if recall's text contains
all items; of an item that is a list, one is enough. On a prompt without it, recall should stay silent.
Each prompt is the first of its own session, or with `--later` follows an earlier recall. Below the figures
come those of other thresholds of the gate.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import measuring

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.context import blocks, recall
from claude_mem_lite.context.shown import Shown
from claude_mem_lite.evals.recall import distilled
from claude_mem_lite.evals.temporary import searcher, temporary_memory
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage.context import RECALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILE = Path(__file__).with_name("data") / "recall_prompts.jsonl"
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@contextlib.contextmanager
def recorded() -> Iterator[Searcher]:
    """Store the recorded history in a temporary memory; yield its searcher."""
    with temporary_memory():
        for event in demo.recorded_events():
            inbox.append(scrub(json.dumps(event)), demo.PROJECT)
        distilled()
        yield searcher()[0]


def told(by: Searcher, prompts: Sequence[dict[str, Any]], *, later: bool = False) -> list[dict[str, Any]]:
    """Return each prompt with recall's `text` and `tokens`, and whether it `is_answer`."""
    found = []
    for each in prompts:
        shown = Shown()
        shown.tokens[RECALL] = int(later)
        block = blocks.for_prompt(by, demo.PROJECT, each["prompt"], session_id="asks", shown=shown)
        told_text = block.text.casefold()
        wanted = [[text] if isinstance(text, str) else text for text in each.get("answer_contains") or []]
        is_answer = bool(wanted) and all(any(text.casefold() in told_text for text in one) for one in wanted)
        found.append({**each, "text": block.text, "tokens": block.tokens, "is_answer": is_answer})
    return found


def figures(rows: Sequence[dict[str, Any]]) -> str:
    """Return a line with each kind's share of right results, and the mean tokens per prompt."""
    kinds = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
    parts = []
    for kind, own in sorted(kinds.items()):
        answerable = any(row.get("answer_contains") for row in own)
        right = sum(row["is_answer"] if answerable else not row["text"] for row in own)
        parts.append(f"{kind} {'answered' if answerable else 'silent'} {right}/{len(own)}")
    return ", ".join([*parts, f"{mean(row['tokens'] for row in rows):.0f} tokens a prompt"])


def main() -> int:
    """Store the recorded history, run the prompts, and print the figures."""
    parser = measuring.parser(__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=FILE)
    parser.add_argument("--words", action="store_true", help="search by words alone")
    parser.add_argument("--later", action="store_true", help="as prompts that others went before")
    parser.add_argument("--show", action="store_true", help="print the prompts that go wrong")
    options = parser.parse_args()
    lines = options.file.read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line) for line in lines if line.strip()]
    with recorded() as by_both:
        by = Searcher(by_meaning=False) if options.words else by_both
        rows = told(by, prompts, later=options.later)
        print(figures(rows))
        for threshold in THRESHOLDS:
            recall.THRESHOLD = threshold
            print(f"  from {threshold}: {figures(told(by, prompts, later=options.later))}")
    for row in rows if options.show else ():
        if row["is_answer"] if row.get("answer_contains") else not row["text"]:
            continue
        print(f"\n{row['kind']}: {row['prompt']}\n  wanted: {row.get('answer_contains')}\n{row['text']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
