"""The protocol of embedders, and what all of them do to texts and vectors; independent of any model."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type
from claude_mem_lite.search.embedder.records import ModelRecord

# Far more than a token has in any prose or code: without a cut, tokenizing a megabyte takes seconds.
_MOST_CHARS_PER_TOKEN = 100

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """A loaded model; several threads may share it. Its memory is freed with the last reference.

    Vectors are float32 of length 1, or all zeros if a model knows nothing in a text. `record` describes the
    model, including its dimension.
    """

    record: ModelRecord

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text: (n, dimension)."""

    def embed_query(self, text: str, kind: Type) -> Vectors:
        """Return the vector of a query for documents of this kind: (dimension,)."""


def encodable(text: str, max_tokens: int) -> str:
    """Return the part of a text that a tokenizer needs; lone surrogates, which it rejects, become "?"."""
    return text[: max_tokens * _MOST_CHARS_PER_TOKEN].encode("utf-8", "replace").decode()


def unit_length(vectors: npt.NDArray[Any]) -> Vectors:
    """Return a vector, or rows of vectors, as float32 of length 1; zero vectors stay zero.

    A model's own vectors do not have length 1 after truncation or in bfloat16.
    """
    rows: Vectors = vectors.astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
    return rows


def measured(record: ModelRecord, path: str, dimension: int) -> ModelRecord:
    """Return a record with the dimension of its model's vectors.

    Raises: ClaudeMemError when the record asks for another dimension.
    """
    if record.dimension not in {0, dimension}:
        raise ClaudeMemError(
            f"the embedding model {record.name} in {path} gives {dimension} dimensions, not the "
            f"{record.dimension} that were asked for"
        )
    return dataclasses.replace(record, dimension=dimension)
