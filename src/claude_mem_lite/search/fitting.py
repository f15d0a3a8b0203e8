"""Fit the weight of a model's cosine relative to words, on the user's own observations.

Each title is a query whose answer is known: its own row, of which words and vector cover the summary alone.
`embedder.weights` stores the result. docs/search.md explains why titles suffice.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import ranking
from claude_mem_lite.search.candidates import Candidate
from claude_mem_lite.search.embedder.interface import Embedder, Vectors
from claude_mem_lite.search.embedder.records import MEANING
from claude_mem_lite.storage import embeddings

Pair = tuple[str, str]  # title, summary

# No weight is below the default: titles written by rules share names with their rows, so they favour words,
# and a lower weight found by them could not be trusted.
WEIGHTS = tuple(round(MEANING * 2 ** (step / 2), 1) for step in range(5))  # 18 to 72
DEFAULT = WEIGHTS.index(MEANING)
LEAST_ROWS, MOST_ROWS, MOST_QUERIES = 100, 1_000, 300
# A large model needs five minutes for a thousand summaries; those that fit into this time are enough.
BUDGET_S = 180.0
STANDARD_ERRORS = 2.0
_LEAST_CHARACTERS = 40  # a shorter summary adds nothing to the title
_DEPTH, _TOP = 50, 10
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model's fitted weight, and the nDCG@10 of titles with it and with the default weight."""

    model: str
    meaning: float
    rows: int
    titles: int
    ndcg: float
    ndcg_default: float


def fit(model: Embedder, *, advance: Callable[[int, int], object] = lambda *_: None) -> Fitted:
    """Fit the weight of a model, in minutes for a large one. Raises: ClaudeMemError with too few rows."""
    pairs = _pairs()
    if len(pairs) < LEAST_ROWS:
        raise ClaudeMemError(
            f"fitting a weight needs {LEAST_ROWS} observations of one project with a title and a summary "
            f"of their own; the project with the most has {len(pairs)}. Search keeps the weight "
            f"{model.record.meaning:g}"
        )
    summaries = _embedded(model, [summary for _, summary in pairs], advance)
    pairs = pairs[: len(summaries)]
    asked = range(0, len(pairs), -(-len(pairs) // MOST_QUERIES))
    queries = np.stack([model.embed_query(pairs[at][0], "observation") for at in asked])
    gains = ndcg(pairs, summaries, list(asked), queries)
    best = chosen(gains)
    means = gains.mean(axis=0)
    return Fitted(
        model=model.record.name,
        meaning=WEIGHTS[best],
        rows=len(pairs),
        titles=len(gains),
        ndcg=float(means[best]),
        ndcg_default=float(means[DEFAULT]),
    )


def ndcg(
    pairs: Sequence[Pair], summaries: Vectors, asked: Sequence[int], queries: Vectors
) -> NDArray[np.float64]:
    """Return the nDCG@10 of each title used as a query, for each weight: (titles, weights).

    `asked` are indexes of `pairs`; `summaries` (pairs, dim) and `queries` (titles, dim) are unit vectors.
    """
    centre = summaries.mean(axis=0)
    vocabularies = [ranking.vocabulary("", summary) for _, summary in pairs]
    profile = ranking.profile(vocabularies, row_count=len(pairs))
    rows_with: dict[str, list[int]] = defaultdict(list)
    for at, lemmas in enumerate(vocabularies):
        for lemma in lemmas:
            rows_with[lemma].append(at)
    gains = np.zeros((len(asked), len(WEIGHTS)))
    for number, (at, vector) in enumerate(zip(asked, queries, strict=True)):
        query = ranking.analyze(pairs[at][0])
        evidence = np.zeros(len(pairs))
        for term in query.terms:
            having = rows_with.get(term.lemma, [])
            evidence[having] += log(1 + len(pairs) / (len(having) + 0.5))
        by_words = [int(place) for place in np.argsort(-evidence)[:_DEPTH] if evidence[place] > 0]
        by_meaning = np.argsort(-(summaries @ (vector - centre)))[:_DEPTH].tolist()
        places = list(dict.fromkeys([*by_words, *by_meaning]))
        cosines = ranking.cosines(vector, summaries[places], centre)
        candidates = [
            Candidate(str(place), "", pairs[place][1], cosine=float(cosine))
            for place, cosine in zip(places, cosines, strict=True)
        ]
        gains[number] = _gains(ranking.rank(query, candidates, profile, meaning=1.0), str(at))
    return gains


def chosen(gains: NDArray[np.float64]) -> int:
    """Return the index of the weight to use: of those as good as the best, the nearest to the default.

    A weight is as good if it is at most two standard errors of the paired difference behind the best.
    Source: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2009, 7.10 (with one).
    """
    best = int(gains.mean(axis=0).argmax())
    ahead = gains[:, [best]] - gains
    errors = ahead.std(axis=0) / np.sqrt(len(gains))
    as_good = [at for at in range(len(WEIGHTS)) if ahead[:, at].mean() <= STANDARD_ERRORS * errors[at]]
    return min(as_good, key=lambda at: abs(at - DEFAULT))


def _gains(scored: Sequence[Any], right: str) -> list[float]:
    """Return the nDCG@10 of the one right row for each weight; only the cosine's part of a score varies."""
    ids = [row.id for row in scored]
    if right not in ids:
        return [0.0] * len(WEIGHTS)
    others = np.array([row.score - row.meaning for row in scored])
    cosines = np.array([row.meaning for row in scored])
    found = []
    for weight in WEIGHTS:
        scores = others + weight * cosines
        place = int((scores > scores[ids.index(right)]).sum())
        found.append(1 / np.log2(place + 2) if place < _TOP else 0.0)
    return found


def _pairs() -> list[Pair]:
    """Return titles and summaries of the project that has most of them, newest first.

    Titles of several rows are left out as ambiguous, summaries that contain their title as too easy.
    """
    by_project: dict[str, dict[str, str]] = defaultdict(dict)
    seen: dict[str, set[str]] = defaultdict(set)
    for _, project_dir, text in embeddings.all_texts("observation"):
        title, _, summary = (part.strip() for part in text.partition("\n"))
        if title in seen[project_dir]:
            by_project[project_dir].pop(title, None)
        elif title and len(summary) >= _LEAST_CHARACTERS and title.lower() not in summary.lower():
            by_project[project_dir][title] = summary
        seen[project_dir].add(title)
    most = max(by_project.values(), key=len, default={})
    return list(most.items())[:MOST_ROWS]


def _embedded(model: Embedder, texts: Sequence[str], advance: Callable[[int, int], object]) -> Vectors:
    """Return the vectors of as many texts as there is time for, but of at least `LEAST_ROWS`."""
    started, made = time.monotonic(), list[Any]()
    for start in range(0, len(texts), _AT_ONCE):
        if start >= LEAST_ROWS and time.monotonic() - started > BUDGET_S:
            break
        made.append(model.embed_documents(texts[start : start + _AT_ONCE]))
        advance(min(start + _AT_ONCE, len(texts)), len(texts))
    vectors: Vectors = np.concatenate(made)
    return vectors
