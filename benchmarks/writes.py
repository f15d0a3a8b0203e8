"""Measure single writes of vectors: the folder's largest size, and search times early and at the end.

    python benchmarks/writes.py [--rows N] [--searches N]

Stores rows one at a time, and embeds and writes each alone, with the consumer's own code and the real web
process: the worst case, because a consumer processes waiting rows together. Prints the largest size of the
vectors' folder, the search times after a tenth of the rows and after all, and this process's peak memory.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time

import measuring
from pipeline import process_numbers
from search_scale import folder_mib, made_up, make_sessions, times, web, working

from claude_mem_lite import config
from claude_mem_lite.search.indexing import Index
from claude_mem_lite.storage import embeddings, models, queries


def main() -> None:
    """Write all rows, searching in between."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--searches", type=int, default=300)
    options = parser.parse_args()
    with measuring.memory(LANCEDB_LOG="error"):
        models.open_databases()
        make_sessions()
        with web("minilm"):
            write(options.rows, options.searches)


def write(rows: int, searches: int) -> None:
    """Write the rows, search, and print."""
    index, chance, largest, early = Index(), random.Random(1), 0.0, [0.0]
    taken = []
    for number in working(range(1, rows + 1), "writing"):
        row = made_up(number, chance)
        row["summary"] = row["summary"][:60]  # embedding takes most of the time
        queries.save_observation(row)
        started = time.perf_counter()
        if index.step() != 0.0:
            sys.exit(f"row {number} was not embedded")
        taken.append((time.perf_counter() - started) * 1000)
        if number % 20 == 0:
            largest = max(largest, folder_mib(config.lance_dir()))
        if number == rows // 10:
            early = times(searches, "hybrid")
            report(number, largest, early)
    late = times(searches, "hybrid")
    report(rows, largest, late)
    print(f"search p95 at the end is {measuring.p95(late) / measuring.p95(early):.2f} × that after a tenth")
    median = statistics.median(taken)
    print(f"one row embedded and written p50 {median:.0f} ms   p95 {measuring.p95(taken):.0f} ms")
    print(f"embedded {embeddings.count_embedded('minilm_384')['observation'][0]} of {rows}")
    print(f"peak memory of the writing process {process_numbers(os.getpid())[1]:.0f} MiB")


def report(rows: int, largest: float, found: list[float]) -> None:
    """Print a row of figures."""
    median = statistics.median(found)
    print(f"{rows:>6} rows   folder at most {largest:5.1f} MiB", end="   ")
    print(f"search p50 {median:5.1f} ms   p95 {measuring.p95(found):5.1f} ms", flush=True)


if __name__ == "__main__":
    main()
