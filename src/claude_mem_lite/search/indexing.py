"""Brings the vectors up to date with SQLite: the web process embeds what is pending, LanceDB is written here.

Lives in the consumer alone, the one writer. Doing a step again changes nothing.
"""

from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from claude_mem_lite import client, config
from claude_mem_lite.search import vectors
from claude_mem_lite.search.vectors import KINDS, Kind, Vectors, VectorsError
from claude_mem_lite.storage import embeddings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

log = logging.getLogger(__name__)

# So few texts hold up a search for a quarter of a second at most.
TEXTS_AT_ONCE = 16
OPTIMIZE_EVERY = 200
# The web process is down, or loads its model.
LATER_S, SOON_S = 60.0, 3.0
_ANSWER_S = 120.0


class Index:
    """The writer's side of the vectors; opening LanceDB waits until there is something to write."""

    def __init__(self) -> None:
        self._vectors: tuple[str, Vectors] | None = None
        self._unoptimized = 0

    def step(self) -> float | None:
        """Embed some of what is pending; return in how many seconds to go on, None when all is done."""
        try:
            model = client.post("/api/embed", {"texts": []}, timeout_s=5)
        except client.UnreachableError:
            return LATER_S
        if model is None:
            return SOON_S
        key = str(model["key"])
        for kind in KINDS:
            rows = embeddings.texts_to_embed(kind, key, limit=TEXTS_AT_ONCE)
            if rows:
                return 0.0 if self._embed(kind, rows, model) else SOON_S
        return None

    def optimize(self) -> None:
        """Keep the folder small and the queries fast; nothing to do without new writes."""
        if self._vectors and self._unoptimized:
            self._unoptimized = 0
            self._vectors[1].optimize()

    def _embed(self, kind: Kind, rows: Sequence[tuple[str, str, str]], model: dict[str, Any]) -> bool:
        texts = [text for _, _, text in rows]
        first_lines = [text.split("\n", 1)[0] for text in texts]
        found = client.post("/api/embed", {"texts": texts + first_lines}, timeout_s=_ANSWER_S)
        if found is None or found["key"] != model["key"]:
            return False
        flat = np.frombuffer(base64.b64decode(found["vectors"]), dtype="<f4")
        matrix = blended(*flat.reshape(2, len(rows), int(found["dimension"])))
        try:
            self._open(str(found["key"]), int(found["dimension"])).write(
                kind, [(*row, vector) for row, vector in zip(rows, matrix, strict=True)]
            )
        except VectorsError as error:
            self._start_anew(error)
            return False
        embeddings.mark_embedded(kind, [(row_id, text) for row_id, _, text in rows], model=str(found["key"]))
        self._unoptimized += len(rows)
        if self._unoptimized >= OPTIMIZE_EVERY:
            self.optimize()
        return True

    def _open(self, key: str, dimension: int) -> Vectors:
        if self._vectors is None or self._vectors[0] != key:
            store = Vectors(key, dimension)
            self._vectors = key, store
            # Every row is written before it is marked: fewer rows than marks are lost ones.
            marked = embeddings.count_embedded(key)
            if any(store.count(kind) < marked[kind][0] for kind in KINDS):
                log.warning("vectors are missing in %s: all are made anew", config.lance_dir())
                embeddings.forget_vectors()
        return self._vectors[1]

    def _start_anew(self, error: VectorsError) -> None:
        """Throw the vectors away: SQLite has all that they are made of."""
        log.warning("the vectors are made anew: %s", error)
        self._vectors = None
        vectors.discard()
        embeddings.forget_vectors()


def blended(texts: NDArray[np.float32], first_lines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors to keep, each (n, dim): a text and its first line count the same.

    Short questions are told by the first line, long ones by the whole.
    """
    mean = texts + first_lines
    kept: NDArray[np.float32] = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)
    return kept
