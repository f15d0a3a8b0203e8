"""Keep the vectors up to date with the memory: the web process embeds pending rows, this module stores them.

The consumer works in small steps, each of which may be repeated. `turns` keeps them apart from `reembed`.
"""

from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING, Any

from claude_mem_lite import config, settings
from claude_mem_lite.capture import client
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import KINDS, Kind
from claude_mem_lite.search import embedder, lance, vectors, write_lock
from claude_mem_lite.search.vectors import BusyError, Vectors, VectorsError
from claude_mem_lite.storage import embeddings

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from claude_mem_lite.search.embedder.interface import Embedder

log = logging.getLogger(__name__)

# Texts per request: they delay a search by a quarter of a second at most.
TEXTS_AT_ONCE = 16
# Characters: far more than any model reads, and less than the web process accepts.
LONGEST_TEXT = 20_000
# Wait when the web process is down or has no model; and when a request has failed this time.
LATER_S, SOON_S = 60.0, 3.0
_ANSWER_S = 120.0


class Index:
    """The writer's side of the vectors."""

    def __init__(self) -> None:
        self._checked = "", 0  # model and file whose vectors are known to be complete
        self._written: Vectors | None = None  # vectors written to since `optimize`

    def step(self) -> float | None:
        """Embed some pending rows; return in how many seconds to continue, None when all are done."""
        with write_lock.step() as is_mine:
            if not is_mine:
                return SOON_S
            try:
                return self._step()
            except client.UnreachableError:  # it stopped after its first answer
                return SOON_S
            except VectorsError as error:
                if isinstance(error, BusyError) or not vectors.has_room():
                    log.warning("embedding postponed: %s", error)
                else:
                    self._start_anew(error)
                return SOON_S

    def optimize(self) -> None:
        """Build LanceDB's index if there are many vectors; does nothing without new writes."""
        with write_lock.step() as is_mine:
            if is_mine and self._written and not write_lock.is_run_of(self._written.key):
                written, self._written = self._written, None
                lance.optimize(written)

    def _step(self) -> float | None:
        chosen = settings.load()
        try:
            record = embedder.resolve(chosen.embedding_model, dimension=chosen.dimension)
        except ClaudeMemError:
            return LATER_S
        if record.key and embeddings.count_by_model().get(record.key) and record.key not in vectors.models():
            self._start_anew(f"{config.lance_dir()} has none of {record.key}")
        if record.key and not self._pending(record.key):
            self._drop_others(record.key, record.dimension)
            return None  # a request would make the web process load the model
        try:
            model = client.post("/api/embed", {"texts": []}, timeout_s=_ANSWER_S)
        except client.UnreachableError:
            return LATER_S
        if model is None:
            return LATER_S
        return self._go_on(model)

    def _go_on(self, model: dict[str, Any]) -> float | None:
        """Embed some pending rows with the web process's model; return as `step` does."""
        key = str(model["key"])
        if write_lock.is_run_of(key):
            return SOON_S
        pending = self._pending(key)
        if pending:
            return 0.0 if self._embed(*pending, model) else SOON_S
        self._drop_others(key, int(model["dimension"]))
        return None

    def _pending(self, key: str) -> tuple[Kind, list[tuple[str, str, str]]] | None:
        found = ((kind, embeddings.texts_to_embed(kind, key, limit=TEXTS_AT_ONCE)) for kind in KINDS)
        return next(((kind, rows) for kind, rows in found if rows), None)

    def _embed(self, kind: Kind, rows: Sequence[tuple[str, str, str]], model: dict[str, Any]) -> bool:
        found = client.post(
            "/api/embed", {"texts": [text[:LONGEST_TEXT] for *_, text in rows]}, timeout_s=_ANSWER_S
        )
        if found is None or found["key"] != model["key"]:
            return False
        size, flat = int(found["dimension"]), base64.b64decode(found["vectors"])
        vectors_of = [flat[at : at + size] for at in range(0, len(flat), size)]
        store = self._open(str(found["key"]), size)
        store.write_rounded(kind, [(*row, vector) for row, vector in zip(rows, vectors_of, strict=True)])
        embeddings.mark_embedded(kind, [(row_id, text) for row_id, _, text in rows], model=str(found["key"]))
        self._written = store
        return True

    def _open(self, key: str, dimension: int) -> Vectors:
        store = Vectors(key, dimension)
        made_at, _ = store.version() or (0, 0)
        if self._checked != (key, made_at):
            # Vectors are written before their rows are marked, so fewer vectors than marks means a loss.
            marked = embeddings.count_embedded(key)
            if any(store.count(kind) < marked[kind][0] for kind in KINDS):
                log.warning("vectors are missing in %s: all are computed again", config.lance_dir())
                embeddings.forget_vectors()
            self._checked = key, made_at
        return store

    def _drop_others(self, key: str, dimension: int) -> None:
        """Drop the vectors of earlier models, once this one's are complete."""
        spare = write_lock.in_the_making()
        if vectors.models() - {key, spare}:
            self._open(key, dimension).drop_others(spare=spare)
            log.info("dropped the vectors of all models but %s", key)

    def _start_anew(self, error: VectorsError | str) -> None:
        """Discard all vectors and mark every row as pending: the memory has all texts."""
        log.warning("the vectors are computed again: %s", error)
        vectors.discard()
        embeddings.forget_vectors()


def documents(model: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors to store for texts: (n, dim) float32, unit length."""
    found = model.embed_documents(with_first_lines(texts))
    return blended(found[: len(texts)], found[len(texts) :])


def with_first_lines(texts: Sequence[str]) -> list[str]:
    """Return the texts to embed for `blended`: the texts themselves, then their first lines."""
    texts = [text[:LONGEST_TEXT] for text in texts]
    return [*texts, *(text.split("\n", 1)[0] for text in texts)]


def blended(texts: NDArray[np.float32], first_lines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors to store, (n, dim): a text and its first line count equally.

    Short queries match the first line better, long ones the whole text.
    """
    from claude_mem_lite.search.embedder.interface import unit_length

    return unit_length(texts + first_lines)
