"""Measure search quality on rows and questions with known answers: nDCG, recall and MRR.

    DIR/corpus.jsonl   {"_id": …, "title": …, "text": …}              also project, files, detail, ts (Unix s)
    DIR/queries.jsonl  {"_id": …, "text": …, "relevant": [_id, …]}    or {_id: grade, …}; also project

Relevance is binary: a grade above 0 makes a row relevant. Search is within the project of the query.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.evals.own_files import lines_of, strings
from claude_mem_lite.evals.temporary import searcher, temporary_memory
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage import evals as eval_rows
from claude_mem_lite.storage.search import Scope

Row = dict[str, Any]
Search = Callable[[str, str], list[str]]  # (words, project) to ids, best first

METRICS = ("nDCG@10", "R@5", "R@10", "MRR@10")
DEPTH = 10
FULL_TEXT = "full text"
_WARM_UP = 20
_PROJECT = "/evaluation"  # of rows that name none


@dataclass
class Result:
    """The results of a system: metrics (queries, 4), milliseconds per search."""

    metrics: np.ndarray
    times_ms: list[float]

    def summary(self) -> dict[str, float]:
        """Return the means of the metrics, and the median and 95th percentile of the times."""
        found = dict(zip(METRICS, map(float, self.metrics.mean(axis=0)), strict=True))
        p50, p95 = np.percentile(self.times_ms, [50, 95])
        return found | {"p50_ms": float(p50), "p95_ms": float(p95)}


def evaluate(folder: str, advance: Callable[[int], object] = lambda _done: None) -> dict[str, Any]:
    """Return the figures of search by full text alone and with the user's model, in a temporary memory.

    `advance` is called with the number of rows embedded. Raises: ClaudeMemError when the files are unusable.
    """
    rows, asked = corpus(folder), queries(folder)
    known = {row["id"] for row in rows}
    for query in asked:
        if not known.issuperset(query["rel"]):
            missing = min(set(query["rel"]) - known)
            raise ClaudeMemError(f"query {query['qid']!r} of {folder}: corpus.jsonl has no {missing!r}")
    with temporary_memory():
        eval_rows.keep_rows(rows)
        systems = {FULL_TEXT: run(ours(Searcher(by_meaning=False)), asked)}
        by_meaning, model, problem = searcher(advance)
        if model:
            systems[model] = run(ours(by_meaning), asked)
    return {
        "rows": len(rows),
        "queries": len(asked),
        "systems": {
            name: {figure: round(value, 4) for figure, value in result.summary().items()}
            for name, result in systems.items()
        },
        "problem": problem,
    }


def corpus(folder: str) -> list[Row]:
    """Return the rows of a folder: id, project, title, summary, files, detail, ts. Raises: ClaudeMemError."""
    found: dict[str, Row] = {}
    for number, (where, row) in enumerate(lines_of(os.path.join(folder, "corpus.jsonl"))):
        row_id, title = _id(where, row), str(row.get("title") or "")
        summary = str(row.get("text") or row.get("summary") or "")
        if row_id in found or not (title or summary):
            raise ClaudeMemError(
                f"{where}: " + (f"{row_id!r} appears twice" if row_id in found else "no text")
            )
        found[row_id] = {
            "id": row_id,
            "project": str(row.get("project") or _PROJECT),
            "title": title,
            "summary": summary,
            "files": strings(where, row.get("files") or []),
            "detail": str(row.get("detail") or ""),
            "ts": _number(where, row.get("ts", number)),
        }
    return list(found.values())


def queries(folder: str) -> list[Row]:
    """Return the questions of a folder: qid, project, text, cat, rel (ids). Raises: ClaudeMemError."""
    path, found = os.path.join(folder, "queries.jsonl"), []
    for where, row in lines_of(path):
        told = row.get("relevant", row.get("rel"))
        relevant = [each for each, grade in told.items() if grade] if isinstance(told, dict) else told
        if not isinstance(row.get("text"), str) or not relevant:
            raise ClaudeMemError(
                f"{where}: it needs text, and in relevant the ids of the rows that answer it"
            )
        found.append({
            "qid": _id(where, row),
            "project": str(row.get("project") or _PROJECT),
            "text": row["text"],
            "cat": str(row.get("cat", "")),
            "rel": strings(where, relevant),
        })  # fmt: skip
    if not found:
        raise ClaudeMemError(f"{path} has no questions: it is empty")
    return found


def ours(searcher: Searcher) -> Search:
    """Return our own search within a project, run in this process."""

    def search(text: str, project: str) -> list[str]:
        scope = Scope(project_dir=project)
        found = searcher.search(text, type="observation", scope=scope, limit=DEPTH, now=time.monotonic())
        return [hit.row.id for hit in found.hits]

    return search


def run(search: Search, asked: Sequence[Row]) -> Result:
    """Ask the first questions to warm up, then measure all of them."""
    for query in asked[:_WARM_UP]:
        search(query["text"], query["project"])
    scores, times = [], []
    for query in asked:
        before = time.perf_counter()
        ranked = search(query["text"], query["project"])
        times.append((time.perf_counter() - before) * 1000)
        scores.append(score(ranked, query["rel"]))
    return Result(np.array(scores), times)


def score(ranked: list[str], relevant: list[str]) -> tuple[float, ...]:
    """Return the metrics of one ranking, in the order of METRICS."""
    right = set(relevant)
    hits = [row_id in right for row_id in ranked[:DEPTH]]
    gain = sum(1 / log2(place + 2) for place, hit in enumerate(hits) if hit)
    ideal = sum(1 / log2(place + 2) for place in range(min(DEPTH, len(right))))
    first = hits.index(True) + 1 if any(hits) else 0
    return gain / ideal, sum(hits[:5]) / len(right), sum(hits) / len(right), 1 / first if first else 0.0


def _id(where: str, row: Row) -> str:
    found = next((row[name] for name in ("_id", "id", "qid") if name in row), None)
    if not isinstance(found, str | int) or found == "":
        raise ClaudeMemError(f"{where}: it has no _id")
    return str(found)


def _number(where: str, value: Any) -> float:
    if type(value) not in {int, float} or not 0 <= value < 2**37:
        raise ClaudeMemError(f"{where}: ts is {value!r}, which is not a time in Unix seconds")
    return float(value)
