"""Define what ranking works on: the query, the words of a project, candidate rows and their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.search.times import Span


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the query: what it is counted as, and what to ask the index for."""

    lemma: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What a query asks for.

    `pairs` are the terms (by position) that follow each other; `exact` are identifiers, paths and quoted
    phrases in lower case; with `exact_only` the query is nothing else, and rows that have them come first.
    `spans` are the times it names, which no term repeats.
    """

    terms: tuple[Term, ...]
    pairs: tuple[tuple[int, int], ...]
    exact: tuple[str, ...]
    exact_only: bool
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """How common words are in a project: in how many of `sampled` rows, out of `row_count`, each lemma is.

    With nothing sampled, rarity is judged from the candidates alone. `share` is the project's of all rows.
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
    """A row to rank; `cosine` as `cosines` gives it, None when the row or the query has no vector.

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

    `words` is BM25 with the bonus for coverage, `order` for pairs, `exact` for names in full, `meaning` for
    the cosine, `time` for a row of a time that the query names; `coverage` (0 to 1) is the share of the
    query's evidence that the row has. Rows with more of what a query of names alone names come first:
    `named_first`.
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
        """Return the parts, rounded, for `--explain`."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name not in {"id", "named_first"}}
        return {name: round(part, 3) if isinstance(part, float) else part for name, part in parts.items()}
