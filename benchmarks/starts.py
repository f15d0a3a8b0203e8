"""Time how long everyday commands take to start, as multiples of `python -c pass`.

    python benchmarks/starts.py [--runs N]

Uses the environment's data directory as it is, with or without services. The runs are interleaved, so that
other load on the machine affects all of them alike. Prints medians and multiples.
"""

from __future__ import annotations

import statistics
import sys

import measuring

COMMAND = [sys.executable, "-m", "claude_mem_lite.cli"]
BARE = "python -c pass"
CASES = {
    BARE: [sys.executable, "-c", "pass"],
    "--version": [*COMMAND, "--version"],
    "search pond": [*COMMAND, "search", "pond"],
    "status": [*COMMAND, "status"],
}


def main() -> None:
    """Measure and print."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    took: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(options.runs + 1):
        for name, command in CASES.items():
            took[name].append(measuring.took_ms(command))
    medians = {name: statistics.median(values[1:]) for name, values in took.items()}
    for name, median in medians.items():
        print(f"{name:16} {median:7.1f} ms {median / medians[BARE]:6.1f} x")


if __name__ == "__main__":
    main()
