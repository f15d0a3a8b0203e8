"""Measure search as the memory grows: latency over the socket, memory and disk.

    python benchmarks/search_scale.py [--rows N]… [--searches N]

For each size, stores rows of made-up text in ten projects, with vectors around one centre per project, in
SQLite and LanceDB. Then it queries the real web process over its socket: within a project, in all projects,
and by full text alone. Last, in this process and by words alone, it searches for issue texts (the title of a
row and texts and paths of others, 3,000 characters in all), and compares with SQLite's FTS5 queried for every
word: the time of both, and how often the row with the title is among the ten found. Rows are written by the
thousand, unlike a consumer's; `benchmarks/writes.py` measures single writes.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from typing import TYPE_CHECKING, Any

import measuring
import numpy as np
import web_process
from pipeline import process_numbers, report
from rich.console import Console
from rich.progress import track

from claude_mem_lite import config
from claude_mem_lite.capture import client
from claude_mem_lite.search import embedder, lance
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.search.words import STOP_WORDS, words
from claude_mem_lite.storage import embeddings, models, search
from claude_mem_lite.storage.search import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROJECTS = 10
KEY = embedder.resolve("minilm").key
DIMENSION = 384
# Words with frequencies as in prose: the nth is n times rarer than the first.
VOCABULARY = [
    f"{a}{b}{c}"
    for a in "bdfglmnprst"
    for b in ("a", "e", "ing", "o", "u")
    for c in ("ck", "d", "n", "r", "st", "x")
]
VOCABULARY += [first + second for first in VOCABULARY for second in VOCABULARY[:60:2]]
_SHARES = np.cumsum([1 / rank for rank in range(1, len(VOCABULARY) + 1)]).tolist()


def prose(chance: random.Random, length: int) -> str:
    """Return made-up words."""
    return " ".join(chance.choices(VOCABULARY, cum_weights=_SHARES, k=length))


def made_up(number: int, chance: random.Random) -> dict[str, Any]:
    """Return an observation of about 100 words, in one of the projects."""
    folder, module = prose(chance, 1), prose(chance, 1)
    return {
        "id": f"o{number}",
        "session_id": f"s{number % PROJECTS}",
        "project_dir": f"/p{number % PROJECTS}",
        "tool_name": "Edit",
        "title": f"{prose(chance, 8)} item{number}",
        "summary": prose(chance, 25),
        "detail": prose(chance, 60),
        "files_touched": [f"src/{folder}/{module}.py"],
        "created_at": "2026-11-01",
    }


def make_sessions() -> None:
    """Store one session per project."""
    for project in range(PROJECTS):
        models.Session.create(id=f"s{project}", project_dir=f"/p{project}", started_at="", last_event_at="")


def working(steps: Iterable[int], what: str) -> Iterable[int]:
    """Return the steps with a progress bar if stderr is a terminal."""
    progress = Console(stderr=True)
    return track(steps, what, console=progress, transient=True, disable=not progress.is_terminal)


def fill(rows: int) -> None:
    """Store made-up rows with vectors."""
    chance, noise = random.Random(1), np.random.default_rng(1)
    centres = noise.normal(size=(PROJECTS, DIMENSION))
    models.open_databases()
    make_sessions()
    store = Vectors(KEY, DIMENSION)
    for start in working(range(0, rows, 1000), f"{rows} rows"):
        some = [made_up(number, chance) for number in range(start, min(start + 1000, rows))]
        with models.memory_database.atomic():
            models.Observation.insert_many(some).execute()
        near = [centres[int(row["session_id"][1:])] for row in some]
        vectors = np.array(near) + noise.normal(size=(len(some), DIMENSION))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        texts = [f"{row['title']}\n{row['summary']}" for row in some]
        told = zip(some, texts, vectors, strict=True)
        store.write(
            "observation", [(row["id"], row["project_dir"], text, vector) for row, text, vector in told]
        )
        marked = [(row["id"], text) for row, text in zip(some, texts, strict=True)]
        embeddings.mark_embedded("observation", marked, model=KEY)
    lance.optimize(store)
    models.close_databases()


@contextlib.contextmanager
def web(model: str) -> Iterator[int]:
    """Run the web process with a model; return its pid."""
    with open(config.config_path(), "w", encoding="utf-8") as file:
        file.write(f'[search]\nembedding_model = "{model}"\n')
    with web_process.running() as pid:
        yield pid


def question(chance: random.Random) -> dict[str, str]:
    """Return a question of common and rarer words."""
    return {
        "q": f"why did the {prose(chance, 5)}",
        "project": f"/p{chance.randrange(PROJECTS)}",
        "limit": "10",
    }


def times(searches: int, search_type: str, *, everywhere: bool = False) -> list[float]:
    """Run searches and return the milliseconds of each, after a warm-up."""
    chance, found = random.Random(2), []
    for number in range(searches + PROJECTS):
        asked = question(chance)
        if number < PROJECTS:
            asked["project"] = f"/p{number}"  # warm-up: search each project once
        if everywhere:
            del asked["project"]
        started = time.perf_counter()
        answer = client.get("/api/search", asked, timeout_s=30)
        took = (time.perf_counter() - started) * 1000
        if answer is None or answer["search_type"] != search_type:
            sys.exit(f"not an answer by {search_type}: {answer}")
        if number >= PROJECTS:
            found.append(took)
    return found


def long_prompts(searches: int) -> None:
    """Print the times of searches for issue texts, and how often they find the row with the title."""
    chance, asked = random.Random(4), []
    models.open_databases(read_only=True)
    for number in range(searches):
        project = f"/p{number % PROJECTS}"
        rows = models.Observation.select().where(models.Observation.project_dir == project)
        pasted = chance.sample(list(rows.order_by(models.Observation.pk)), 40)
        text = " ".join(
            [
                pasted[0].title,
                *(chance.choice([row.summary, row.detail, *row.files_touched]) for row in pasted[1:]),
            ]
        )
        asked.append((text[:3_000], Scope(project_dir=project), pasted[0].id))
    searcher = Searcher(by_meaning=False)
    for project in range(PROJECTS):
        searcher.search("warm", type="observation", scope=Scope(project_dir=f"/p{project}"), limit=1, now=0.0)

    def ours(text: str, scope: Scope) -> list[str]:
        found = searcher.search(text, type="observation", scope=scope, limit=10, now=0.0)
        return [hit.row.id for hit in found.hits]

    def fts5(text: str, scope: Scope) -> list[str]:
        telling = dict.fromkeys(word for word in words(text) if word not in STOP_WORDS)
        match = " OR ".join(f'"{word}"' for word in telling)
        return [row.id for row in search.by_text("observation", match, scope, limit=10)]

    for name, system in (("claude-mem-lite", ours), ("FTS5 alone", fts5)):
        took, right = [], 0
        for text, scope, wanted in asked:
            started = time.perf_counter()
            found = system(text, scope)
            took.append((time.perf_counter() - started) * 1000)
            right += wanted in found
        report(f"  issue text, {name} ({right} of {searches} found)", took)
    models.close_databases()


def folder_mib(path: str) -> float:
    """Return the size of a folder in MiB."""
    return sum(
        os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names
    ) / (1 << 20)


def measure(rows: int, searches: int) -> None:
    """Print the figures for one size."""
    with measuring.memory(LANCEDB_LOG="error"):
        print(f"{rows} rows")
        fill(rows)
        with web("none"):
            report("  full text alone", times(searches, "fts"))
        with web("minilm") as pid:
            started = time.perf_counter()
            first = client.get("/api/search", question(random.Random(3)), timeout_s=30)
            took = (time.perf_counter() - started) * 1000
            print(
                f"  first search after the start {took:.0f} ms, by {first['search_type'] if first else first}"
            )
            while (client.get("/api/search", question(random.Random(3)), timeout_s=30) or {})[
                "search_type"
            ] == "fts":
                time.sleep(0.1)
            report("  hybrid, within a project", times(searches, "hybrid"))
            report("  hybrid, all projects", times(searches, "hybrid", everywhere=True))
            print(f"  web process, peak memory     {process_numbers(pid)[1]:.0f} MiB")
        long_prompts(searches)
        database = os.path.getsize(config.memory_path()) / (1 << 20)
        print(
            f"  on disk: claude-mem.db {database:.0f} MiB, vectors {folder_mib(config.lance_dir()):.0f} MiB"
        )


def main() -> None:
    """Measure each size."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--searches", type=int, default=200)
    options = parser.parse_args()
    for rows in options.rows or [1_000, 10_000, 100_000]:
        measure(rows, options.searches)


if __name__ == "__main__":
    main()
