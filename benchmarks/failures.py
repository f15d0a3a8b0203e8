"""Count the failed commands of which memory keeps the line that says what went wrong.

    python benchmarks/failures.py [CASES.jsonl] [--missed]

A line of CASES.jsonl (default: data/failed_commands.jsonl) is `{"command": TEXT, "output": TEXT, "decisive":
TEXT}`. A case counts if the error that is kept has at least 70 % of the words of `decisive`, without line
numbers, which move. `--missed` prints the others.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from claude_mem_lite.distill.failing import error_of
from claude_mem_lite.distill.observation import Capture

CASES = Path(__file__).with_name("data") / "failed_commands.jsonl"
SHARE = 0.7


def error_line(command: str, output: str) -> str:
    """Return the error kept of a failed command; "" if none is."""
    payload = {"tool_input": {"command": command}, "error": f"Exit code 1\n{output}"}
    error = error_of(Capture("PostToolUseFailure", "Bash", payload, "/srv/app"))
    return error.line if error else ""


def words(text: str) -> set[str]:
    """Return the words of a line without the line numbers of places."""
    return set(re.findall(r"[^\W_]{2,}", re.sub(r":\d+", "", text.lower())))


def main() -> None:
    """Print how many errors are kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="?", type=Path, default=CASES)
    parser.add_argument("--missed", action="store_true")
    given = parser.parse_args()
    cases = [json.loads(line) for line in given.cases.read_text(encoding="utf-8").splitlines()]
    found = 0
    for case in cases:
        kept, wanted = error_line(case["command"], case["output"]), words(case["decisive"])
        is_found = len(wanted & words(kept)) >= SHARE * len(wanted)
        found += is_found
        if given.missed and not is_found:
            print(f"{case['command']}\n  wanted  {case['decisive']}\n  kept    {kept}")
    print(f"{found} of {len(cases)} errors are kept")


if __name__ == "__main__":
    main()
