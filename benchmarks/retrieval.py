"""How well search finds, on any set of questions with known answers, beside other ways to search.

    python benchmarks/retrieval.py DIR… [--split] [--json FILE] [--system NAME]…

A DIR has corpus.jsonl (id, project, title, summary, files, detail, ts) and queries.jsonl (qid, project,
text, cat, rel: the ids of the right rows). Every system searches within the query's project and embeds with
the model of the base install. Prints recall@5, recall@10, nDCG@10 (a row is right or not), MRR@10, the time
to index, the median and 95th percentile of a search in this process, and for each other system the mean
difference of ours to it with its 95 % interval by paired bootstrap. `--split` adds the figures of each
category of questions.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import importlib.util
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from claude_mem_lite.search import embedder
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.indexing import blended
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.search.words import STOP_WORDS, words
from claude_mem_lite.storage import models
from claude_mem_lite.storage.search import Scope

METRICS = ("nDCG@10", "R@5", "R@10", "MRR@10")
DEPTH = 10
RESAMPLES = 10_000
Row = dict[str, Any]
Search = Callable[[str, str], list[str]]  # (words, project) to ids, best first
progress = Console(stderr=True)


@dataclass
class Result:
    """What a system scored: metrics (queries, 4), seconds to index, milliseconds a search."""

    metrics: np.ndarray
    index_s: float
    times_ms: list[float]

    def summary(self) -> dict[str, float]:
        """Return the figures of a table's row."""
        found = dict(zip(METRICS, map(float, self.metrics.mean(axis=0)), strict=True))
        p50, p95 = np.percentile(self.times_ms, [50, 95])
        return found | {"index_s": self.index_s, "p50_ms": float(p50), "p95_ms": float(p95)}


def score(ranked: list[str], relevant: list[str]) -> tuple[float, ...]:
    """Return the metrics of one answer."""
    right = set(relevant)
    hits = [row_id in right for row_id in ranked[:DEPTH]]
    gain = sum(1 / log2(place + 2) for place, hit in enumerate(hits) if hit)
    ideal = sum(1 / log2(place + 2) for place in range(min(DEPTH, len(right))))
    first = hits.index(True) + 1 if any(hits) else 0
    return gain / ideal, sum(hits[:5]) / len(right), sum(hits) / len(right), 1 / first if first else 0.0


def text_of(row: Row) -> str:
    """Return what of a row other systems are given as one text."""
    return f"{row['title']}\n{row['summary'] or ''}".strip()


class Encoder:
    """The model of the base install; texts and their first lines are embedded once for all systems."""

    def __init__(self) -> None:
        self.model = embedder.load(embedder.resolve("minilm"))

    def documents(self, texts: list[str]) -> np.ndarray:
        """Return (n, 384) float32."""
        batches = range(0, len(texts), 64)
        steps = track(
            batches, "embedding", console=progress, transient=True, disable=not progress.is_terminal
        )
        return np.vstack([self.model.embed_documents(texts[start : start + 64]) for start in steps])

    def query(self, text: str) -> np.ndarray:
        """Return (384,) float32."""
        return self.model.embed_query(text, "observation")


@contextlib.contextmanager
def filled(rows: list[Row], encoder: Encoder, vectors: np.ndarray) -> Iterator[Searcher]:
    """Keep the rows and their vectors as the product does, and return what searches them, warm."""
    with memory(rows):
        store = Vectors(encoder.model.record.key, encoder.model.record.dimension)
        titles = encoder.documents([row["title"] for row in rows])
        kept = blended(vectors, titles)
        store.write(
            "observation",
            [
                (row["id"], row["project"], text_of(row), vector)
                for row, vector in zip(rows, kept, strict=True)
            ],
        )
        store.optimize()
        searcher = Searcher()
        searcher.holder.ready(0.0)
        searcher.holder.wait()
        yield searcher


@contextlib.contextmanager
def ours(rows: list[Row], encoder: Encoder, vectors: np.ndarray) -> Iterator[Search]:
    """Search as the product does: its databases, its vectors, its ranking, in this process."""
    with filled(rows, encoder, vectors) as searcher:
        yield lambda text, project: _ids(searcher, text, project)


@contextlib.contextmanager
def ours_without_vectors(rows: list[Row], _: Encoder, __: np.ndarray) -> Iterator[Search]:
    """Search as the product does while there is no model."""
    with memory(rows):
        searcher = Searcher(by_meaning=False)
        yield lambda text, project: _ids(searcher, text, project)


@contextlib.contextmanager
def fts5(rows: list[Row], _: Encoder, __: np.ndarray) -> Iterator[Search]:
    """Search by SQLite's FTS5 alone: porter, OR, stop words out, titles twice, names as phrases."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE VIRTUAL TABLE rows USING fts5(id UNINDEXED, project UNINDEXED, title, summary, "
            "tokenize='porter unicode61 remove_diacritics 2')"
        )
        values = [(row["id"], row["project"], row["title"], row["summary"] or "") for row in rows]
        database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", values)
        query = (
            "SELECT id FROM rows WHERE rows MATCH ? AND project = ? ORDER BY bm25(rows, 0, 0, 2, 1) LIMIT ?"
        )

        def search(text: str, project: str) -> list[str]:
            found = [part for part in text.replace('"', " ").split() if words(part)]
            telling = [part for part in found if part.strip("?.,;:!").lower() not in STOP_WORDS]
            match = " OR ".join(f'"{part}"' for part in dict.fromkeys(telling or found))
            return [row_id for (row_id,) in database.execute(query, (match or '""', project, DEPTH))]

        yield search


@contextlib.contextmanager
def vector_alone(rows: list[Row], encoder: Encoder, vectors: np.ndarray) -> Iterator[Search]:
    """Search by the exact cosine of title and summary."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row["project"], []).append(place)

    def search(text: str, project: str) -> list[str]:
        here = np.array(places[project])
        nearest = np.argsort(-(vectors[here] @ encoder.query(text)), kind="stable")[:DEPTH]
        return [rows[place]["id"] for place in here[nearest]]

    yield search


@contextlib.contextmanager
def lancedb_default(rows: list[Row], encoder: Encoder, vectors: np.ndarray) -> Iterator[Search]:
    """Search by LanceDB's own hybrid query as it comes: one text column, RRF with k = 60."""
    import lancedb
    import pyarrow as pa
    from lancedb.index import FTS, Bitmap
    from lancedb.query import MatchQuery

    with tempfile.TemporaryDirectory() as folder:
        data = pa.table({
            "id": [row["id"] for row in rows],
            "project": [row["project"] for row in rows],
            "text": list(map(text_of, rows)),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
        })  # fmt: skip
        table = lancedb.connect(folder).create_table("rows", data)
        table.create_index("text", config=FTS())
        table.create_index("project", config=Bitmap())

        def search(text: str, project: str) -> list[str]:
            query = (
                table.search(query_type="hybrid").vector(encoder.query(text)).text(MatchQuery(text, "text"))
            )
            project = project.replace("'", "''")
            query = query.distance_type("cosine").where(f"project = '{project}'", prefilter=True)
            return query.limit(DEPTH).to_arrow()["id"].to_pylist()

        yield search


@contextlib.contextmanager
def chromadb_minilm(rows: list[Row], encoder: Encoder, vectors: np.ndarray) -> Iterator[Search]:
    """Search the vectors in chromadb by cosine, filtered by project."""
    import chromadb

    with tempfile.TemporaryDirectory() as folder:
        client = chromadb.PersistentClient(folder, chromadb.Settings(anonymized_telemetry=False))
        table = client.create_collection("rows", configuration={"hnsw": {"space": "cosine"}})
        for start in range(0, len(rows), 1000):
            some = rows[start : start + 1000]
            table.add(
                ids=[row["id"] for row in some],
                embeddings=vectors[start : start + 1000],
                metadatas=[{"project": row["project"]} for row in some],
            )

        def search(text: str, project: str) -> list[str]:
            where = {"project": project}
            return table.query(query_embeddings=[encoder.query(text)], n_results=DEPTH, where=where)["ids"][0]

        yield search


SYSTEMS: dict[str, Any] = {
    "claude-mem-lite": ours,
    "… without vectors": ours_without_vectors,
    "FTS5 alone": fts5,
    "vector alone": vector_alone,
    "LanceDB, RRF 60": lancedb_default,
    "chromadb, MiniLM": chromadb_minilm,
}
OURS = "claude-mem-lite"


@contextlib.contextmanager
def memory(rows: list[Row]) -> Iterator[None]:
    """Keep the rows as observations in a data directory of their own."""
    home = tempfile.mkdtemp(prefix="cml-bench-")
    os.environ |= {"CLAUDE_MEM_HOME": home, "LANCEDB_LOG": "error"}
    try:
        models.open_databases()
        with models.memory_database.atomic():
            for project in dict.fromkeys(row["project"] for row in rows):
                models.Session.create(id=project, project_dir=project, started_at="", last_event_at="")
            for row in sorted(rows, key=lambda row: row["ts"]):
                models.Observation.create(
                    id=row["id"],
                    session=row["project"],
                    project_dir=row["project"],
                    tool_name="Edit",
                    title=row["title"],
                    summary=row["summary"] or "",
                    detail=row["detail"] or "",
                    files_touched=row["files"],
                    created_at=dt.datetime.fromtimestamp(row["ts"], dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                )
        yield
    finally:
        models.close_databases()
        shutil.rmtree(home, ignore_errors=True)


def _ids(searcher: Searcher, text: str, project: str) -> list[str]:
    scope = Scope(project_dir=project)
    found = searcher.search(text, type="observation", scope=scope, limit=DEPTH, now=time.monotonic())
    return [hit.row.id for hit in found.hits]


def run(
    system: Any, rows: list[Row], asked: list[Row], encoder: Encoder, embedded: tuple[np.ndarray, float]
) -> Result:
    """Index the rows, ask all questions once to warm up and once to measure."""
    started = time.perf_counter()
    vectors, embedding_s = embedded
    with system(rows, encoder, vectors) as search:
        index_s = (
            time.perf_counter() - started + (embedding_s if system not in {fts5, ours_without_vectors} else 0)
        )
        for query in asked[:20]:
            search(query["text"], query["project"])
        scores, times = [], []
        for query in asked:
            before = time.perf_counter()
            ranked = search(query["text"], query["project"])
            times.append((time.perf_counter() - before) * 1000)
            scores.append(score(ranked, query["rel"]))
    return Result(np.array(scores), index_s, times)


def interval(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of the paired differences and its 95 % bootstrap interval."""
    differences = one - other
    picks = np.random.default_rng(0).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.percentile(differences[picks].mean(axis=1), [2.5, 97.5])
    return float(differences.mean()), float(low), float(high)


def measure(folder: str, names: list[str], encoder: Encoder) -> dict[str, Result]:
    """Run the systems on one set and print their rows as they come."""
    rows, asked = (lines_of(os.path.join(folder, f"{part}.jsonl")) for part in ("corpus", "queries"))
    started = time.perf_counter()
    vectors = encoder.documents(list(map(text_of, rows)))
    embedded = vectors, time.perf_counter() - started
    found = {}
    for name in names:
        with progress.status(f"{folder}: {name}"):
            found[name] = run(SYSTEMS[name], rows, asked, encoder, embedded)
    show(f"{os.path.basename(os.path.normpath(folder))}: {len(rows)} rows, {len(asked)} questions", found)
    return found


def show(title: str, found: dict[str, Result]) -> None:
    """Print a set's table."""
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("system")
    for head in (*METRICS, "index s", "p50 ms", "p95 ms", "ours - this, nDCG@10 [95 %]"):
        table.add_column(head, justify="right", no_wrap=True)
    for name, result in found.items():
        against = ""
        if name != OURS and OURS in found:
            mean, low, high = interval(found[OURS].metrics[:, 0], result.metrics[:, 0])
            against = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
        row = result.summary()
        times = (f"{row['index_s']:.1f}", f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}")
        table.add_row(name, *(f"{row[metric]:.4f}" for metric in METRICS), *times, against)
    Console(width=150).print(table)


def show_categories(folder: str, found: dict[str, Result]) -> None:
    """Print nDCG@10 of each category of questions."""
    asked = lines_of(os.path.join(folder, "queries.jsonl"))
    for category in sorted({str(query["cat"]) for query in asked}):
        here = [str(query["cat"]) == category for query in asked]
        scores = "   ".join(f"{name} {result.metrics[here, 0].mean():.4f}" for name, result in found.items())
        print(f"  {category} ({sum(here)}): {scores}")


def lines_of(path: str) -> list[Row]:
    """Return the objects of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> int:
    """Measure every set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--split", action="store_true", help="also by category of question")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--system", action="append", choices=list(SYSTEMS), help="only this one, repeatable")
    options = parser.parse_args()
    names = options.system or [name for name in SYSTEMS if "chromadb" not in name or _has_chromadb()]
    encoder = Encoder()
    figures: dict[str, Any] = {}
    for folder in options.folders:
        found = measure(folder, names, encoder)
        if options.split:
            show_categories(folder, found)
        figures[folder] = {name: result.summary() for name, result in found.items()}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
    return 0


def _has_chromadb() -> bool:
    return importlib.util.find_spec("chromadb") is not None


if __name__ == "__main__":
    sys.exit(main())
