"""Hybrid search: candidates by full text and by vectors, ranked together.

`embedder` turns texts into vectors, `ranking` orders the candidates. Without a model or without vectors, full
text alone answers.
"""

from __future__ import annotations

import base64
import functools
import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from claude_mem_lite import settings
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type
from claude_mem_lite.search import embedder, memory, ranking, times
from claude_mem_lite.search.candidates import Candidate
from claude_mem_lite.search.embedder.holder import Holder
from claude_mem_lite.search.indexing import documents
from claude_mem_lite.search.profiles import SAMPLED_ROWS, Profiles
from claude_mem_lite.search.results import Found, Hit, best
from claude_mem_lite.search.vectors import Vectors, VectorsError, rounded
from claude_mem_lite.storage import search as search_rows
from claude_mem_lite.storage.search import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.kinds import Kind
    from claude_mem_lite.search.candidates import Profile, Query
    from claude_mem_lite.search.embedder import ModelRecord
    from claude_mem_lite.search.embedder.interface import Embedder
    from claude_mem_lite.search.nearest import View, Views
    from claude_mem_lite.storage.search import Row

log = logging.getLogger(__name__)

KINDS: dict[Type, tuple[Kind, ...]] = {
    "all": ("observation", "session", "learning"),
    "observation": ("observation",),
    "session": ("session",),
    "learning": ("learning",),
    "code": ("function",),
}

# Candidates of full text, and of vectors, that are ranked: 30 are hardly worse, 100 no better.
DEPTH = 50
# Rows whose mean cosine says whether a project is related to a query at all.
NEAREST = 10
# A large model takes this long to load from a slow disk.
_LOAD_S = 60.0
# A narrow scope is compared row by row up to this size.
_NARROW_ROWS = 2_000
THREADS = 2
POOL = ThreadPoolExecutor(THREADS, thread_name_prefix="query")
_ID = re.compile(r"[0-9a-f][0-9a-f-]{7,63}")


class Searcher:
    """What a process needs to search: the model, and read access to the vectors.

    Without `by_meaning` it loads no model and reads no vectors. `sampled_rows` is the size of the sample for
    word statistics; a process that searches once can do with fewer.
    """

    def __init__(self, *, by_meaning: bool = True, sampled_rows: int = SAMPLED_ROWS) -> None:
        self.holder = Holder(_chosen, load=self._load)
        self._by_meaning = by_meaning
        self._views: tuple[str, Views] | None = None  # and their model's key
        self._profiles = Profiles(sampled_rows)

    def search(  # noqa: PLR0913  (what for, where, how much)
        self,
        text: str,
        *,
        type: Type,  # noqa: A002
        scope: Scope,
        limit: int,
        now: float,
        depth: int = DEPTH,
        at: float | None = None,
        until: float | None = None,
    ) -> Found:
        """Return the best rows; the first search after a start does not wait for the model.

        `now` is monotonic; `at` is when the query is asked, in Unix seconds (default: now), to resolve times
        like "last week". `depth` is the number of candidates of full text, and of vectors. If the query's
        vector is not ready by `until` (monotonic), full text alone answers.
        """
        query = ranking.analyze(text, now=times.local(time.time() if at is None else at))
        if not query.terms:
            return Found([], "fts")
        model = self.holder.ready(now) if self._by_meaning and self.holder.loaded else None
        profiles = {kind: self._profiles.get(kind, scope.project_dir, now=now) for kind in KINDS[type]}
        query = ranking.focused(query, profiles[KINDS[type][0]])
        asked = _Asked(text, query, model, type, depth)
        hits: list[Hit] = []
        # Query full text for all kinds first; the vector is computed meanwhile.
        by_words = {kind: _by_words(kind, asked, scope, profile) for kind, profile in profiles.items()}
        by_meaning = model is not None and asked.has_vector(until)
        for kind, found in by_words.items():
            rows, cosines = found, dict[str, float]()
            if by_meaning:
                rows, cosines = self._by_vectors(kind, asked, found, scope, now)
            of_project = functools.partial(search_rows.count, kind, scope.project_dir)
            in_time = sum(of_project(since=span.since, until=span.until) for span in asked.query.spans)
            ranked = _ranked(asked, rows, cosines, profiles[kind], in_time)
            opened = search_rows.by_prefix(kind, asked.id, scope.project_dir or None) if asked.id else []
            hits += (ranked | {row.id: Hit(row, 0.0, None, rank=(1, 0, 0)) for row in opened}).values()
        if self._by_meaning and model is None:
            self.holder.ready(now)  # not before: loading keeps the processor busy
        hits = best(hits, limit=limit)
        return Found(hits, "hybrid" if asked.is_hybrid else "fts", asked.nearness)

    def warm(self, project_dir: str, *, now: float) -> None:
        """Load what the first search in a project would wait for: word statistics, then model and vectors."""
        scope = Scope(project_dir=project_dir)
        self.search("warm", type="all", scope=scope, limit=1, now=now)
        if self._by_meaning and self.holder.loaded is None:
            self.holder.wait(_LOAD_S)  # the search has started loading it
            self.search("warm", type="all", scope=scope, limit=1, now=now)

    def profile(self, kind: Kind, project_dir: str | None, *, now: float) -> Profile:
        """Return the word statistics of a project's rows of a kind that the search uses."""
        return self._profiles.get(kind, project_dir, now=now)

    def embed(self, texts: Sequence[str], *, now: float) -> dict[str, Any] | None:
        """Return the rounded vectors of documents for the consumer, as base64 with a byte per dimension.

        Waits for the model; None when it cannot be loaded.
        """
        if self.holder.ready(now) is None:
            self.holder.wait(_LOAD_S)
        model = self.holder.ready(now)
        if model is None:
            return None
        kept = rounded(documents(model, texts)).tobytes() if texts else b""
        memory.trim()
        return {
            "key": model.record.key,
            "dimension": model.record.dimension,
            "vectors": base64.b64encode(kept).decode(),
        }

    def model(self) -> dict[str, Any]:
        """Return which model search uses, whether it is loaded, and what prevents its use."""
        loaded, problem = self.holder.loaded, self.holder.problem
        name, dimension = settings.load().embedding_model, 0
        try:
            record = loaded.record if loaded else _chosen()
            name, dimension = record.name, record.dimension
        except ClaudeMemError as error:
            problem = problem or str(error)
        return {"model": name, "dimension": dimension, "loaded": loaded is not None, "problem": problem}

    def choose_anew(self, *, now: float) -> None:
        """Switch to the model in the settings: load it at once if one was loaded, else on next use."""
        was_loaded = self.holder.loaded is not None
        self.holder.drop()
        if was_loaded:
            self.holder.ready(now)

    def _load(self, record: ModelRecord) -> Embedder:
        model = embedder.load(record)
        self._open(model.record)
        return model

    def _open(self, record: ModelRecord) -> None:
        from claude_mem_lite.search.nearest import Views

        self._views = record.key, Views(Vectors(record.key, record.dimension))

    def _by_vectors(
        self, kind: Kind, asked: _Asked, rows: list[Row], scope: Scope, now: float
    ) -> tuple[list[Row], dict[str, float]]:
        """Return the rows and those that the vectors add, with the cosine of each that has a vector."""
        assert asked.model is not None  # noqa: S101  (the caller has checked)
        try:
            key, views = self._views or ("", None)
            if views is None or key != asked.model.record.key:  # the model has changed meanwhile
                return rows, {}
            view = views.get(kind, scope.project_dir, now=now)
            return _with_vectors(kind, asked, rows, scope, view) if view else (rows, {})
        except VectorsError as error:
            log.warning("search uses full text alone: %s", error)
            self._open(asked.model.record)
            return rows, {}


class _Asked:
    """One search: its query, and its vector, which another thread computes during the full-text queries."""

    def __init__(self, text: str, query: Query, model: Embedder | None, kind: Type, depth: int) -> None:
        self.query = query
        self.depth = depth
        self._nearest: list[float] = []
        self.id = text.strip() if _ID.fullmatch(text.strip()) else ""
        self.model = model
        self.meaning = model.record.meaning if model is not None else 0.0
        self._vector = POOL.submit(model.embed_query, text, kind) if model is not None else None

    def has_vector(self, until: float | None) -> bool:
        """Wait for the query's vector, at most until `until` (monotonic); return whether it is ready."""
        assert self._vector is not None  # noqa: S101  (the caller has checked for a model)
        wait([self._vector], None if until is None else max(0.0, until - time.monotonic()))
        return self._vector.done()

    @property
    def is_hybrid(self) -> bool:
        """Whether rows were compared with the query's vector."""
        return bool(self._nearest)

    @property
    def nearness(self) -> float:
        """The mean cosine of the query and the rows nearest to it, 0 without vectors."""
        return sum(self._nearest) / max(1, len(self._nearest))

    def compare(self, rows: Any) -> None:
        """Record the cosines of the query and some rows' vectors: (n, dim)."""
        import numpy as np

        cosines = rows @ self.vector / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
        self._nearest = sorted([*self._nearest, *map(float, cosines)], reverse=True)[:NEAREST]

    @property
    def vector(self) -> Any:
        """The query's vector: (dim,) float32."""
        assert self._vector is not None  # noqa: S101  (the caller has checked for a model)
        return self._vector.result()


def _chosen() -> ModelRecord:
    chosen = settings.load()
    return embedder.resolve(chosen.embedding_model, dimension=chosen.dimension)


def _by_words(kind: Kind, asked: _Asked, scope: Scope, profile: Profile) -> list[Row]:
    """Return the rows found by full text, and rows of the times that the query names.

    For a query of exact names, rows with these come first, so that common words do not crowd them out.
    """
    match = ranking.match_expression(asked.query, profile)
    rows = search_rows.by_text(kind, match, scope, limit=asked.depth)
    rows += search_rows.by_parts(kind, ranking.parts(asked.query, profile), scope, limit=asked.depth)
    for span in asked.query.spans:
        until = min(scope.until or span.until, span.until)
        within = replace(scope, since=max(scope.since, span.since), until=until)
        rows += search_rows.by_text(kind, match, within, limit=asked.depth)
        rows += search_rows.newest(kind, within, limit=asked.depth)
    rows = list({row.id: row for row in rows}.values())
    if asked.query.exact_only:
        named = search_rows.by_text(kind, ranking.named_expression(asked.query), scope, limit=asked.depth)
        rows = list({row.id: row for row in (*named, *rows)}.values())
    return rows


def _with_vectors(
    kind: Kind, asked: _Asked, rows: list[Row], scope: Scope, view: View
) -> tuple[list[Row], dict[str, float]]:
    import numpy as np

    vector = asked.vector
    ids = search_rows.ids_in(kind, scope, limit=_NARROW_ROWS) if search_rows.is_narrow(scope) else None
    own = view.nearest(vector - view.centre, limit=asked.depth, ids=ids)
    known = {row.id for row in rows}
    rows = [*rows, *search_rows.by_id(kind, [row_id for row_id in own if row_id not in known], scope)]
    own |= view.of_rows(known - own.keys())
    own = {row.id: own[row.id] for row in rows if row.id in own}
    if not own:
        return rows, {}
    vectors = np.array(list(own.values()))
    asked.compare(vectors)
    cosines = ranking.cosines(vector, vectors, view.centre)
    return rows, dict(zip(own, map(float, cosines), strict=True))


def _ranked(
    asked: _Asked, rows: list[Row], cosines: dict[str, float], profile: Profile, in_time: int
) -> dict[str, Hit]:
    candidates = [
        Candidate(
            id=row.id,
            title=row.title,
            summary=row.summary,
            detail=row.detail,
            files=row.files,
            cosine=cosines.get(row.id),
            created_at=row.created_at,
        )
        for row in rows
    ]
    scored = ranking.rank(asked.query, candidates, profile, meaning=asked.meaning, rows_in_time=in_time)
    by_id = {row.id: row for row in rows}
    return {
        each.id: Hit(by_id[each.id], each.score, each, rank=(0, each.named_first, each.score))
        for each in scored
    }
