"""Hybrid search: full text by SQLite and vectors by LanceDB, their scores fused.

How texts become vectors is `embedder`'s business, the order of the candidates `ranking`'s.
"""

from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING, Any

from claude_mem_lite import settings
from claude_mem_lite.search import embedder
from claude_mem_lite.search.embedder.holder import Holder
from claude_mem_lite.search.vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.search.embedder import ModelRecord
    from claude_mem_lite.search.embedder.interface import Embedder

log = logging.getLogger(__name__)


class Searcher:
    """What a process needs to search: the one model, and the reader's side of the vectors."""

    def __init__(self) -> None:
        self.holder = Holder(lambda: embedder.resolve(settings.load().embedding_model), load=self._load)
        self._vectors: Vectors | None = None

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
        return model


def key_of(record: ModelRecord) -> str:
    """Return what distinguishes a model's vectors from all others."""
    return f"{record.name}_{record.dimension}"
