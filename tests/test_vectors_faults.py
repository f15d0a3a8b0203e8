"""Vectors survive killed writers and damaged files."""

import contextlib
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.faults import PROJECT, append, build, logged
from support.processes import end, wait_until, web_process
from support.web import get

from claude_mem_lite import config
from claude_mem_lite.search import vectors
from claude_mem_lite.search.nearest import Views
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.storage import embeddings, models, queries

pytestmark = pytest.mark.meaning

KILLS = 4
ROWS_BETWEEN_KILLS = 10
EVENTS_BEFORE, EVENTS_AFTER = 10, 16
DAMAGES = 2
KEY = "minilm_384"
PAGE_BYTES = 4096
# Writes numbered rows one by one, and prints each number once its row is written.
WRITER = """
import sys
import numpy as np
from claude_mem_lite.search import vectors
store = vectors.Vectors("tiny_8", 8)
number = int(sys.argv[1])
while True:
    vector = np.random.default_rng(number).normal(size=8).astype(np.float32)
    row = (f"r{number}", "/p", f"text {number}", vector / np.linalg.norm(vector))
    store.write("observation", [row, ("again", "/p", f"text {number}", vector / np.linalg.norm(vector))])
    print(number, flush=True)
    number += 1
"""


def kill_writers(said: list[int], seed: int = 1) -> None:
    """Run and kill one writer after another; `said` collects the numbers they reported."""
    chance = random.Random(seed)  # noqa: S311  (a test, no secret)
    for _ in range(KILLS):
        start = str(said[-1] + 1 if said else 0)
        writer = subprocess.Popen([sys.executable, "-I", "-c", WRITER, start], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        said += [int(writer.stdout.readline()) for _ in range(ROWS_BETWEEN_KILLS)]
        time.sleep(chance.uniform(0, 0.03))
        writer.kill()
        rest = writer.stdout.read().splitlines()
        said += map(int, rest)
        writer.stdout.close()
        writer.wait()


def test_rows_are_there_once_when_writers_are_killed(home: Path) -> None:
    """Rows that killed writers reported are stored exactly once, and readers never fail."""
    said: list[int] = []
    writers = threading.Thread(target=kill_writers, args=(said,))
    views = Views(Vectors("tiny_8", 8))
    looks: list[int] = []

    writers.start()
    while writers.is_alive():
        least = len(looks) and looks[-1]
        view = views.get("observation", "/p", now=2.0 * len(looks))
        found = view.nearest(np.eye(8, dtype=np.float32)[0], limit=1_000) if view else {}
        looks.append(len(found))
        assert len(found) >= least - 1  # one fewer may be seen: `again` moves as it is rewritten
        time.sleep(0.01)
    writers.join()

    store = Vectors("tiny_8", 8)
    digests = store.digests("observation")
    assert said == list(range(len(said)))
    assert len(said) >= KILLS * ROWS_BETWEEN_KILLS
    assert {f"r{number}" for number in said} <= digests.keys()
    assert len(digests) <= len(said) + 1 + 1  # `again`, and a row written but not reported
    assert all(digests[f"r{number}"] == vectors.digest(f"text {number}") for number in said)
    assert looks[0] < looks[-1]
    store.write("observation", [("last", "/p", "last", np.eye(8, dtype=np.float32)[0])])
    assert store.count("observation") == len(store.places("observation", None)) == len(digests) + 1
    view = views.get("observation", "/p", now=2.0 * len(looks))
    assert len(view.nearest(np.eye(8, dtype=np.float32)[0], limit=1_000)) == len(digests) + 1


class Searches(threading.Thread):
    """A thread that searches continuously and counts answers by status and search type."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self.seen: Counter[tuple[int, str]] = Counter()
        self.is_over = False
        self._home = home

    def run(self) -> None:
        """Search until `is_over` is set."""
        number = 0
        while not self.is_over:
            number += 1
            time.sleep(0.05)
            status, answer = search(self._home, f"build+target+{number % 40}")
            self.seen[status, answer.get("search_type", str(answer))] += 1

    def count(self, search_type: str) -> int:
        """Return how many answers had a search type."""
        return self.seen[200, search_type]


def search(home: Path, query: str) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of a search."""
    return get(home, f"/api/search?q={query}&project={PROJECT}&limit=100")


def all_embedded() -> bool:
    """Tell whether every event is processed and every observation marked as embedded."""
    done, rows = embeddings.count_embedded(KEY)["observation"]
    return queries.queue_stats()["raw"] == 0 and done == rows > 0


def stored() -> set[str]:
    """Return the ids of observations with a current vector; none if the vectors are broken."""
    try:
        digests = Vectors(KEY, 384).digests("observation")
    except vectors.VectorsError:
        return set()
    texts = {row.id: f"{row.title}\n{row.summary}" for row in models.Observation.select()}
    return {row_id for row_id, made_of in digests.items() if vectors.digest(texts[row_id]) == made_of}


def delete() -> None:
    """Delete the vectors' folder."""
    shutil.rmtree(config.lance_dir(), ignore_errors=True)


def scribble() -> None:
    """Overwrite all of the vectors' files with garbage."""
    for path in Path(config.lance_dir()).rglob("*"):
        if path.is_file():
            path.write_bytes(b"\x00garbage\xff" * 50)


def scribble_on_some() -> None:
    """Overwrite all but the first two pages: the file opens but cannot be read."""
    with contextlib.suppress(FileNotFoundError), open(vectors.path(), "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(2 * PAGE_BYTES)
        file.write(b"\x00garbage\xff" * max(0, (size - 2 * PAGE_BYTES) // 9))


@pytest.mark.parametrize("damage", [delete, scribble, scribble_on_some])
def test_vectors_come_back_after_damage_under_load(
    web_and_consumer: Path, damage: Callable[[], None]
) -> None:
    """Search keeps answering by full text after damage, and all vectors are rebuilt."""
    for number in range(EVENTS_BEFORE):
        append(build(number))
    searches = Searches(web_and_consumer)
    searches.start()
    try:
        wait_until(lambda: all_embedded() and searches.count("hybrid"))
        number = EVENTS_BEFORE
        for _ in range(DAMAGES):
            for _ in range(EVENTS_AFTER):
                append(build(number))
                number += 1
                if number % EVENTS_AFTER == EVENTS_AFTER // 2:
                    damage()
                time.sleep(0.05)
        wait_until(lambda: queries.queue_stats()["raw"] == 0)
        everything = {row.id for row in models.Observation.select()}
        wait_until(lambda: all_embedded() and stored() == everything)
        before = searches.count("hybrid")
        wait_until(lambda: searches.count("hybrid") > before + 5)
        is_anew = "computed again" in logged(web_and_consumer)
    finally:
        searches.is_over = True
        searches.join()

    status, answer = search(web_and_consumer, "target")
    assert {status for status, _ in searches.seen} == {200}
    assert {search_type for _, search_type in searches.seen} == {"hybrid", "fts"}
    assert (status, answer["search_type"]) == (200, "hybrid")
    assert len(everything) > EVENTS_BEFORE
    assert is_anew


def test_vectors_deleted_while_no_consumer_runs_are_made_anew(
    memory: Path, consumer: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """After a deletion, the next embedded row makes the consumer rebuild all vectors."""
    with web_process():
        first = consumer()
        for number in range(EVENTS_BEFORE):
            append(build(number))
        wait_until(lambda: search(memory, "target")[0] == 200 and all_embedded())
        end(first)

        delete()
        consumer()
        append(build(EVENTS_BEFORE))
        wait_until(lambda: models.Observation.select().count() > EVENTS_BEFORE)
        everything = {row.id for row in models.Observation.select()}

        assert wait_until(lambda: all_embedded() and stored() == everything)
        wait_until(lambda: search(memory, "target")[1]["search_type"] == "hybrid")
