"""The results of a search: hits with the parts of their scores, near-duplicates folded."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from claude_mem_lite.search.candidates import Scored
from claude_mem_lite.search.words import words
from claude_mem_lite.storage.search import Row
from claude_mem_lite.text import one_line

# Hits that share at least this part of their words are duplicates.
ALIKE = 0.9


@dataclass(slots=True)
class Hit:
    """One result; `score` is comparable within one answer.

    `why` holds the parts of the score, None if the query is the row's id. Hits are sorted by `rank`, highest
    first; `folded` are the ids of worse hits that say the same.
    """

    row: Row
    score: float
    why: Scored | None
    rank: tuple[float, ...] = ()
    folded: list[str] = field(default_factory=list)

    def as_json(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the fields for a JSON answer."""
        row = self.row
        text = "\n".join(filter(None, [row.summary, row.detail if row.kind == "session" else ""]))
        found: dict[str, Any] = {
            "kind": row.kind,
            "id": row.id,
            "title": row.title or one_line(row.summary.split("\n", 1)[0]),
            "text": text,
            "project_dir": row.project_dir,
            "session_id": row.session_id,
            "tool_name": row.tool_name,
            "files": list(row.files),
            "created_at": row.created_at,
            "score": round(self.score, 4),
            "folded": self.folded,
        }
        return found | ({"why": self.why.explain() if self.why else {"id": True}} if explain else {})


@dataclass(frozen=True, slots=True)
class Found:
    """The hits, best first, and whether vectors were used ("hybrid") or not ("fts").

    `nearness` is the mean cosine of the query and its nearest rows, 0 without vectors.
    """

    hits: list[Hit]
    search_type: Literal["hybrid", "fts"]
    nearness: float = 0.0

    def as_json(self, query: str, *, took_s: float, explain: bool) -> dict[str, Any]:
        """Return the answer to a query as it is served and printed."""
        return {
            "query": query,
            "search_type": self.search_type,
            "count": len(self.hits),
            "took_ms": round(took_s * 1000, 1),
            "results": [hit.as_json(explain=explain) for hit in self.hits],
        }


def best(hits: Iterable[Hit], *, limit: int) -> list[Hit]:
    """Return the best hits; a near-duplicate of a better hit of its kind and project is folded into that."""
    kept: list[tuple[Hit, frozenset[str]]] = []
    for hit in sorted(hits, key=lambda hit: hit.rank, reverse=True):
        said = frozenset(words(f"{hit.row.title} {hit.row.summary}"))
        same = next((other for other, saying in kept if _alike(hit, said, other, saying)), None)
        if same is not None:
            same.folded.append(hit.row.id)
        elif len(kept) < limit:
            kept.append((hit, said))
        else:
            break
    return [hit for hit, _ in kept]


def _alike(hit: Hit, said: frozenset[str], other: Hit, saying: frozenset[str]) -> bool:
    return (
        (hit.row.kind, hit.row.project_dir) == (other.row.kind, other.row.project_dir)
        and len(said & saying) >= ALIKE * len(said | saying)
        and bool(said)
    )
