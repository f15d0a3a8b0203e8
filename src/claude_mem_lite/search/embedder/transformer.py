"""Run any sentence-transformers model in a local folder on the CPU; nothing is fetched here."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from claude_mem_lite.kinds import Type
from claude_mem_lite.search.embedder.interface import Vectors, encodable, measured, unit_length
from claude_mem_lite.search.embedder.records import Dtype, ModelRecord

BATCH = 8


class TransformerEmbedder:
    """A sentence-transformers model, pooled by its own configuration, with the prompts of its record."""

    def __init__(self, record: ModelRecord, model: Any) -> None:
        self.record = record
        self._model = model

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text: (n, dimension) float32, unit length."""
        if not texts:
            return np.zeros((0, self.record.dimension), np.float32)
        return self._encode(self._model.encode_document, texts, self.record.document_prompt)

    def embed_query(self, text: str, kind: Type) -> Vectors:
        """Return the vector of a query, with the prompt of its kind: (dimension,) float32, unit length."""
        prompts = self.record.query_prompts
        prompt = None if prompts is None else prompts[kind]
        vector: Vectors = self._encode(self._model.encode_query, [text], prompt)[0]
        return vector

    def _encode(self, encode: Any, texts: Sequence[str], prompt: str | None) -> Vectors:
        given = [encodable(text, self.record.max_tokens) for text in texts]
        return unit_length(encode(given, prompt=prompt, batch_size=BATCH, show_progress_bar=False))


def open_model(path: str, record: ModelRecord) -> TransformerEmbedder:
    """Return the model in a folder. Raises: ClaudeMemError when it has fewer dimensions than asked for."""
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    model = SentenceTransformer(
        path,
        device="cpu",
        local_files_only=True,
        truncate_dim=record.dimension or None,
        model_kwargs={"dtype": dtype(record.dtype)},
    )
    own = model.max_seq_length  # infinite, and not settable, for a table of word vectors
    if own is None or record.max_tokens < own < math.inf:
        model.max_seq_length = record.max_tokens
    embedder = TransformerEmbedder(record, model)
    embedder.record = measured(record, path, len(embedder.embed_query("dimension", "all")))
    return embedder


def dtype(rule: Dtype) -> Any:
    """Return torch's type for the weights; bfloat16 is three times slower on processors without support."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    if rule == "processor" and (capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")):
        return torch.bfloat16
    return torch.float32
