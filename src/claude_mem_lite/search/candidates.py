"""Data classes of ranking: the query, a project's word statistics, candidate rows and their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.search.times import Span


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the query: its lemma, and its forms to ask the index for."""

    lemma: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    `pairs` are positions of terms that follow each other. `exact` are identifiers, paths and quoted phrases,
    in lower case; with `exact_only` the query has nothing else, and rows that contain them come first.
    `spans` are the times that the query names; their words are not among the terms.
    """

    terms: tuple[Term, ...]
    pairs: tuple[tuple[int, int], ...]
    exact: tuple[str, ...]
    exact_only: bool
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """How common words are in a project: `counts` are the rows with each lemma, among `sampled` rows.

    `row_count` are the project's rows, `share` is their part of all rows. With nothing sampled, rarity is
    judged from the candidates alone.
    """

    row_count: int
    share: float = 1.0
    sampled: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    def rows_with(self, name: str) -> float:
        """Return the estimated number of the project's rows that have a lemma."""
        return self.counts.get(name, 0) * self.row_count / max(self.sampled, 1)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row to rank; `cosine` is that of `ranking.cosines`, None when the row or the query has no vector.

    `created_at` is UTC text.
    """

    id: str
    title: str
    summary: str = ""
    detail: str = ""
    files: tuple[str, ...] = ()
    cosine: float | None = None
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate's score, the sum of its parts.

    `words` is BM25 with a bonus for coverage, `order` is for pairs, `exact` for exact names, `meaning` for
    the cosine, `time` for rows of a time that the query names. `coverage` (0 to 1) is the row's share of the
    query's evidence. For a query of names alone, `named_first` counts those in the row and sorts first.
    """

    id: str
    score: float
    words: float
    order: float
    exact: float
    meaning: float
    time: float
    coverage: float
    cosine: float | None
    exact_found: tuple[str, ...]
    times_found: tuple[str, ...]
    named_first: int

    def explain(self) -> dict[str, Any]:
        """Return the rounded parts of the score for `--explain`."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name not in {"id", "named_first"}}
        return {name: round(part, 3) if isinstance(part, float) else part for name, part in parts.items()}
