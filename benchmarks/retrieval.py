"""Measure search quality on sets of questions with known answers, and compare with other search systems.

    python benchmarks/retrieval.py DIR… [--split] [--json FILE] [--system NAME]…

A DIR has corpus.jsonl (id, project, title, summary, files, detail, ts) and queries.jsonl (qid, project, text,
cat, rel: the ids of the relevant rows). Every system searches within the query's project and embeds with the
model of the base install. Prints recall@5, recall@10, nDCG@10 (binary relevance), MRR@10, the time to index,
the median and 95th percentile of a search in this process, and for each other system the mean difference
between ours and it with a 95 % interval by paired bootstrap. `--split` adds nDCG@10 for each category of
questions.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import measuring
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from claude_mem_lite.evals import retrieval
from claude_mem_lite.evals.benchmark import difference
from claude_mem_lite.evals.retrieval import DEPTH, METRICS, Row, Search, corpus, queries
from claude_mem_lite.evals.temporary import temporary_memory
from claude_mem_lite.search import embedder
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.indexing import blended
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.search.words import STOP_WORDS, words
from claude_mem_lite.storage import evals as eval_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

progress = Console(stderr=True)


@dataclass
class Result(retrieval.Result):
    """A system's scores and times, with the seconds to index."""

    index_s: float = 0.0

    def summary(self) -> dict[str, float]:
        """Return the figures of a table's row."""
        return super().summary() | {"index_s": self.index_s}


def text_of(row: Row) -> str:
    """Return the text of a row that other systems index: title and summary."""
    return f"{row['title']}\n{row['summary'] or ''}".strip()


class Encoder:
    """The model of the base install, which embeds documents and queries for all systems."""

    def __init__(self) -> None:
        self.model = embedder.load(embedder.resolve("minilm"))

    def documents(self, texts: list[str]) -> np.ndarray:
        """Return the vectors of texts, (n, 384) float32."""
        batches = range(0, len(texts), 64)
        steps = track(
            batches, "embedding", console=progress, transient=True, disable=not progress.is_terminal
        )
        return np.vstack([self.model.embed_documents(texts[start : start + 64]) for start in steps])

    def query(self, text: str) -> np.ndarray:
        """Return the vector of a query, (384,) float32."""
        return self.model.embed_query(text, "observation")


@contextlib.contextmanager
def filled(rows: list[Row], encoder: Encoder, vectors: np.ndarray) -> Iterator[Searcher]:
    """Store the rows and their vectors as the product does; yield a searcher with a loaded model."""
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
        searcher = Searcher()
        searcher.holder.ready(0.0)
        searcher.holder.wait()
        yield searcher


@contextlib.contextmanager
def ours(rows: list[Row], encoder: Encoder, vectors: np.ndarray) -> Iterator[Search]:
    """Search as the product does: its databases, its vectors, its ranking, in this process."""
    with filled(rows, encoder, vectors) as searcher:
        yield retrieval.ours(searcher)


@contextlib.contextmanager
def ours_without_vectors(rows: list[Row], _: Encoder, __: np.ndarray) -> Iterator[Search]:
    """Search as the product does without a model."""
    with memory(rows):
        yield retrieval.ours(Searcher(by_meaning=False))


@contextlib.contextmanager
def fts5(rows: list[Row], _: Encoder, __: np.ndarray) -> Iterator[Search]:
    """Search by SQLite's FTS5 alone: Porter stemming, OR, no stop words, titles doubled, names as phrases."""
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
    """Search by exact cosine similarity with title and summary."""
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
    """Search by LanceDB's hybrid query with its defaults: one text column, RRF with k = 60."""
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
    """Store the rows as observations in a temporary data directory."""
    with temporary_memory(model="minilm"):
        eval_rows.keep_rows(rows)
        yield


def run(
    system: Any, rows: list[Row], asked: list[Row], encoder: Encoder, embedded: tuple[np.ndarray, float]
) -> Result:
    """Index the rows, ask all questions, and return scores and times."""
    started = time.perf_counter()
    vectors, embedding_s = embedded
    with system(rows, encoder, vectors) as search:
        index_s = (
            time.perf_counter() - started + (embedding_s if system not in {fts5, ours_without_vectors} else 0)
        )
        found = retrieval.run(search, asked)
    return Result(found.metrics, found.times_ms, index_s)


def measure(folder: str, names: list[str], encoder: Encoder) -> dict[str, Result]:
    """Run the systems on one set and print its table."""
    rows, asked = corpus(folder), queries(folder)
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
            by = difference(found[OURS].metrics[:, 0], result.metrics[:, 0])
            against = f"{by.mean:+.3f} [{by.low:+.3f}, {by.high:+.3f}]" if by else ""
        row = result.summary()
        times = (f"{row['index_s']:.1f}", f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}")
        table.add_row(name, *(f"{row[metric]:.4f}" for metric in METRICS), *times, against)
    Console(width=150).print(table)


def show_categories(folder: str, found: dict[str, Result]) -> None:
    """Print nDCG@10 of each category of questions."""
    asked = queries(folder)
    for category in sorted({str(query["cat"]) for query in asked}):
        here = [str(query["cat"]) == category for query in asked]
        scores = "   ".join(f"{name} {result.metrics[here, 0].mean():.4f}" for name, result in found.items())
        print(f"  {category} ({sum(here)}): {scores}")


def main() -> int:
    """Measure every set."""
    parser = measuring.parser(__doc__)
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
