"""Defines what every embedder offers, and what all do to texts and vectors; no model is named here."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type
from claude_mem_lite.search.embedder.records import ModelRecord

# Far more than tokens have in any prose or code: a text of a megabyte must not take seconds to cut.
_MOST_CHARS_PER_TOKEN = 100

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """A loaded model; several threads may share it. It leaves memory when nobody refers to it.

    Vectors are float32 of length 1, or all zeros where a model knows nothing of a text. `record` is what is
    known of the model, its dimension included.
    """

    record: ModelRecord

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text: (n, dimension)."""

    def embed_query(self, text: str, kind: Type) -> Vectors:
        """Return the vector of a query for documents of this kind: (dimension,)."""


def encodable(text: str, max_tokens: int) -> str:
    """Return what a tokenizer need see of a text; each lone surrogate is a "?", for one raises TypeError."""
    return text[: max_tokens * _MOST_CHARS_PER_TOKEN].encode("utf-8", "replace").decode()


def unit_length(vectors: npt.NDArray[Any]) -> Vectors:
    """Return a vector or rows of them as float32 of length 1; one of zeros stays one.

    After truncation and after bfloat16 a model's own vectors no longer have that length.
    """
    rows: Vectors = vectors.astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
    return rows


def measured(record: ModelRecord, path: str, dimension: int) -> ModelRecord:
    """Return a record with the dimension that its model gives.

    Raises: ClaudeMemError when that is another than the one that was asked for.
    """
    if record.dimension not in {0, dimension}:
        raise ClaudeMemError(
            f"the embedding model {record.name} in {path} gives {dimension} dimensions, not the "
            f"{record.dimension} that were asked for"
        )
    return dataclasses.replace(record, dimension=dimension)
