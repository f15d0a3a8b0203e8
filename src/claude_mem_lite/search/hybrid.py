"""Hybrid search: candidates by full text (SQLite) and by vectors (LanceDB), ranked together.

How texts become vectors is `embedder`'s business, the order of the candidates `ranking`'s. Without a model,
without LanceDB or without vectors full text alone answers.
"""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from claude_mem_lite import settings
from claude_mem_lite.search import embedder
from claude_mem_lite.search.embedder.holder import Holder
from claude_mem_lite.search.vectors import Vectors, VectorsError
from claude_mem_lite.storage import search as storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.search.embedder import ModelRecord, QueryKind
    from claude_mem_lite.search.embedder.interface import Embedder
    from claude_mem_lite.search.ranking import Query, Scored
    from claude_mem_lite.storage.search import Kind, Row, Scope

log = logging.getLogger(__name__)

Type = Literal["all", "observation", "session", "learning", "code"]
_KINDS: dict[Type, tuple[Kind, ...]] = {
    "all": ("observation", "session", "learning"),
    "observation": ("observation",),
    "session": ("session",),
    "learning": ("learning",),
    "code": ("function",),
}

# So many candidates of each leg are ranked.
DEPTH = 100
# A narrow scope is looked through row by row up to this size.
_NARROW_ROWS = 2_000
# As many vectors tell what the rows of a project have in common.
_CENTRE_ROWS = 200


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: `id` opens it, `score` is comparable within one answer, `why` are its parts."""

    row: Row
    score: float
    why: dict[str, Any]

    def as_json(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the fields for an answer in JSON."""
        row = self.row
        text = "\n".join(filter(None, [row.summary, row.detail if row.kind == "session" else ""]))
        found: dict[str, Any] = {
            "kind": row.kind,
            "id": row.id,
            "title": row.title or row.summary.split("\n", 1)[0][:100],
            "text": text,
            "project_dir": row.project_dir,
            "session_id": row.session_id,
            "tool_name": row.tool_name,
            "files": list(row.files),
            "created_at": row.created_at,
            "score": round(self.score, 4),
        }
        return found | ({"why": self.why} if explain else {})


@dataclass(frozen=True, slots=True)
class Found:
    """The hits, best first, and whether vectors had a part in it ("hybrid") or not ("fts")."""

    hits: list[Hit]
    search_type: Literal["hybrid", "fts"]


class Searcher:
    """What a process needs to search: the one model, and the reader's side of the vectors."""

    def __init__(self) -> None:
        self.holder = Holder(lambda: embedder.resolve(settings.load().embedding_model), load=self._load)
        self._vectors: Vectors | None = None
        self._centres: dict[tuple[Kind, str | None], Any] = {}

    def search(self, text: str, *, type: Type, scope: Scope, limit: int, now: float) -> Found:  # noqa: A002
        """Return the best rows; the first search after a start does not wait for the model."""
        from claude_mem_lite.search import ranking

        query = ranking.analyze(text)
        if not query.terms:
            return Found([], "fts")
        model = self.holder.ready(now)
        hits: list[Hit] = []
        is_hybrid = False
        embedded: dict[str, Any] = {}
        for kind in _KINDS[type]:
            rows = _by_words(kind, query, scope)
            cosines: dict[str, float] = {}
            if model is not None and self._vectors is not None:
                try:
                    rows, cosines = self._with_vectors(
                        kind, text, rows, scope, model=model, embedded=embedded
                    )
                except VectorsError as error:
                    log.warning("full text alone: %s", error)
                    self.holder.drop()
                is_hybrid = is_hybrid or bool(cosines)
            hits += _ranked(kind, query, rows, cosines)
        hits.sort(key=lambda hit: -hit.score)
        return Found(hits[:limit], "hybrid" if is_hybrid else "fts")

    def embed(self, texts: Sequence[str], *, now: float) -> dict[str, Any] | None:
        """Return the vectors of documents for the consumer, base64 of little-endian float32 rows.

        None while the model is being loaded, or when it cannot be.
        """
        model = self.holder.ready(now)
        if model is None:
            return None
        rows = model.embed_documents(list(texts)).astype("<f4") if texts else None
        return {
            "key": key_of(model.record),
            "dimension": model.record.dimension,
            "vectors": base64.b64encode(rows.tobytes()).decode() if rows is not None else "",
        }

    def _load(self, record: ModelRecord) -> Embedder:
        model = embedder.load(record)
        self._vectors = Vectors(key_of(model.record), model.record.dimension)
        self._centres.clear()
        return model

    def _with_vectors(  # noqa: PLR0913  (one search, one kind)
        self,
        kind: Kind,
        text: str,
        rows: list[Row],
        scope: Scope,
        *,
        model: Embedder,
        embedded: dict[str, Any],
    ) -> tuple[list[Row], dict[str, float]]:
        """Return the rows with those that the vectors find, and the cosine of each that has a vector.

        `embedded` keeps the query's vectors by their prompt, so that one search embeds each once.
        """
        import numpy as np

        from claude_mem_lite.search import ranking

        assert self._vectors is not None  # noqa: S101  (who calls has looked)
        prompts = model.record.query_prompts
        prompt = prompts[_query_kind(kind)] if prompts else kind
        if prompt not in embedded:
            embedded[prompt] = model.embed_query(text, _query_kind(kind))
        vector = embedded[prompt]
        ids = storage.ids_in(kind, scope, limit=_NARROW_ROWS) if storage.is_narrow(scope) else None
        near = self._vectors.nearest(kind, vector, limit=DEPTH, project_dir=scope.project_dir, ids=ids)
        known = {row.id for row in rows}
        rows = [*rows, *storage.by_id(kind, [row_id for row_id, _ in near if row_id not in known], scope)]
        own = self._vectors.of_rows(kind, [row.id for row in rows])
        if not own:
            return rows, {}
        matrix = np.array(list(own.values()), dtype=np.float32)
        cosines = ranking.cosines(vector, matrix, self._centre(kind, scope.project_dir))
        return rows, dict(zip(own, map(float, cosines), strict=True))

    def _centre(self, kind: Kind, project_dir: str | None) -> Any:
        """Return the mean of a project's vectors, as it was when it was first asked for."""
        import numpy as np

        assert self._vectors is not None  # noqa: S101  (who calls has looked)
        if (kind, project_dir) not in self._centres:
            some = self._vectors.some(kind, project_dir, limit=_CENTRE_ROWS)
            self._centres[kind, project_dir] = np.array(some, dtype=np.float32).mean(axis=0)
        return self._centres[kind, project_dir]


def key_of(record: ModelRecord) -> str:
    """Return what distinguishes a model's vectors from all others."""
    return f"{record.name}_{record.dimension}"


def _by_words(kind: Kind, query: Query, scope: Scope) -> list[Row]:
    words = dict.fromkeys(word for term in query.terms for word in term.words)
    return storage.by_text(kind, " OR ".join(f'"{word}"' for word in words), scope, limit=DEPTH)


def _ranked(kind: Kind, query: Query, rows: Sequence[Row], cosines: dict[str, float]) -> list[Hit]:
    from claude_mem_lite.search import ranking

    row_count, counts = storage.vocabulary(kind, {stem for term in query.terms for stem in term.stems})
    candidates = [
        ranking.Candidate(
            id=row.id,
            title=row.title,
            summary=row.summary,
            detail=row.detail,
            files=row.files,
            cosine=cosines.get(row.id),
        )
        for row in rows
    ]
    scored: list[Scored] = ranking.rank(query, candidates, row_count=row_count, document_counts=counts)
    by_id = {row.id: row for row in rows}
    return [Hit(by_id[each.id], each.score, each.explain()) for each in scored]


def _query_kind(kind: Kind) -> QueryKind:
    return "code" if kind == "function" else kind
