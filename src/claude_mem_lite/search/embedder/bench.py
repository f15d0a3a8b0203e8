"""Measure the cost of a model on this machine: seconds to load, milliseconds per text, memory."""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from claude_mem_lite.search import embedder
from claude_mem_lite.search.embedder import ModelRecord

TITLE = "Edit AuthService.login in src/auth.py"
# 110 tokens by MiniLM's tokenizer, as long as the observations of a recorded history.
OBSERVATION = (
    "Edit SqliteStore.transaction in ledger/storage.py\nEdited ledger/storage.py (+2 -1 lines). Modified: "
    "SqliteStore.transaction (a connection that holds the write lock; commits at the end, rolls back on any "
    "error). Asked: two bookings at the same moment lose one; the second one should wait for the "
    "first, for ten seconds at most, and say so after that. pytest -q: 31 passed, 1 failed: "
    "test_two_writers_wait"
)
BATCH = 16
_MOST_RUNS, _ENOUGH_S = 20, 3.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of the durations; `memory_bytes` is the growth of the process's peak memory."""

    model: str
    dimension: int
    load_s: float
    title_ms: float
    observation_ms: float
    batch_ms: float
    memory_bytes: int


def measure(record: ModelRecord) -> Measured:
    """Load a model and measure it, which takes several seconds. Raises: ClaudeMemError."""
    before = _peak_bytes()
    started = time.perf_counter()
    model = embedder.load(record)
    load_s = time.perf_counter() - started
    return Measured(
        model=model.record.name,
        dimension=model.record.dimension,
        load_s=load_s,
        title_ms=_median_ms(lambda: model.embed_query(TITLE, "all")),
        observation_ms=_median_ms(lambda: model.embed_documents([OBSERVATION])),
        batch_ms=_median_ms(lambda: model.embed_documents([OBSERVATION] * BATCH)),
        memory_bytes=_peak_bytes() - before,
    )


def _median_ms(embed: Callable[[], object]) -> float:
    """Return the median of up to 20 runs; fewer, but at least one, if they take longer than 3 s."""
    times: list[float] = []
    while not times or (len(times) < _MOST_RUNS and sum(times) < _ENOUGH_S):
        started = time.perf_counter()
        embed()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1_000


def _peak_bytes() -> int:
    """Return the peak memory of this process; on Linux without the peak of the process that started it."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1_024 for line in file if line.startswith("VmHWM"))
    except FileNotFoundError:
        unit = 1 if sys.platform == "darwin" else 1_024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
