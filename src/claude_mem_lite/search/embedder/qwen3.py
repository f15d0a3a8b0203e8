"""Qwen3-Embedding on onnxruntime, from an export with or without a key-value cache; no torch.

`transformer` runs the torch form. The inputs and outputs of an export are read from its file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type
from claude_mem_lite.search.embedder import sessions
from claude_mem_lite.search.embedder.interface import Vectors, encodable, measured, unit_length
from claude_mem_lite.search.embedder.records import ModelRecord

# Qwen3-Embedding's tokenizer appends this token to every text; its hidden state is the trained embedding.
END = "<|endoftext|>"
# Half of the processors, to leave the rest to the user: an observation keeps two of them busy for 0.3 s.
THREADS = max(2, (os.cpu_count() or 2) // 2)

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
_TOKEN_INPUTS = ("input_ids", "attention_mask", "position_ids")
_SWITCHES = ("use_cache_branch",)  # in exports with two graphs; off selects the one without a cache
_TOKEN_OUTPUTS, _TEXT_OUTPUTS = ("last_hidden_state", "token_embeddings"), ("sentence_embedding",)


class Qwen3:
    """An export of the decoder, whose vector is the last token's hidden state.

    Texts are run one by one: an int8 export quantizes each run as a whole, so a text in a batch would get a
    different vector. Batches are hardly faster.
    """

    def __init__(self, record: ModelRecord, graph: Graph, tokenizer: Any) -> None:
        self.record = record
        self._graph = graph
        self._tokenizer = tokenizer
        self._end = tokenizer.token_to_id(END)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text: (n, dimension) float32, unit length."""
        prompt = self.record.document_prompt or ""
        vectors = np.zeros((len(texts), self.record.dimension), np.float32)
        for number, text in enumerate(texts):
            vectors[number] = self._embed(prompt + text)
        return vectors

    def embed_query(self, text: str, kind: Type) -> Vectors:
        """Return the vector of a query, with the prompt of its kind: (dimension,) float32, unit length."""
        prompts = self.record.query_prompts
        return self._embed((prompts[kind] if prompts else "") + text)

    def _embed(self, text: str) -> Vectors:
        ids: list[int] = self._tokenizer.encode(encodable(text, self.record.max_tokens)).ids
        if self._end is not None and ids[-1:] != [self._end]:  # an older tokenizer.json does not append it
            ids = [*ids[: self.record.max_tokens - 1], self._end]
        whole = self._graph.run(ids)
        return unit_length(whole[: self.record.dimension or None])


class Graph:
    """A session and its constant inputs beside the tokens. Raises: ClaudeMemError for an unknown input."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._token_types: dict[str, Any] = {}
        self._constant: dict[str, Any] = {}
        for each in session.get_inputs():
            if each.type not in _TYPES:
                raise _unusable(f"its input {each.name} is a {each.type}")
            if each.name in _TOKEN_INPUTS:
                self._token_types[each.name] = _TYPES[each.type]
            elif each.name.startswith("past"):
                self._constant[each.name] = np.zeros(_empty(each.shape), _TYPES[each.type])
            elif each.name in _SWITCHES:
                self._constant[each.name] = np.zeros(1, _TYPES[each.type])
            else:
                raise _unusable(f"its input {each.name} is not known")
        if "input_ids" not in self._token_types:
            raise _unusable("it has no input input_ids")
        self._output, self._has_tokens = _output([each.name for each in session.get_outputs()])

    def run(self, ids: Sequence[int]) -> Any:
        """Return the vector of a text: (the model's full dimension,), not normalized."""
        tokens: Mapping[str, Any] = {
            "input_ids": ids,
            "attention_mask": np.ones(len(ids)),
            "position_ids": np.arange(len(ids)),
        }
        given = {name: np.asarray([tokens[name]], dtype) for name, dtype in self._token_types.items()}
        (found,) = self._session.run([self._output], given | self._constant)
        return found[0, -1] if self._has_tokens else found[0]


def open_model(path: str, record: ModelRecord) -> Qwen3:
    """Return the model in a folder with the files of its record.

    Raises: ClaudeMemError when a file has another SHA-256, or the model has fewer dimensions than asked for.
    """
    cure = f"Fetch it again: claude-mem model download {record.name}"
    for file in record.files:
        sessions.check_sha256(os.path.join(path, file.path), file.sha256, cure=cure)
    weights, tokenizer = (os.path.join(path, file.path) for file in record.files)
    model = Qwen3(
        record,
        Graph(sessions.open_session(weights, threads=THREADS)),
        sessions.open_tokenizer(tokenizer, max_tokens=record.max_tokens),
    )
    model.record = measured(record, path, len(model.embed_query("dimension", "all")))
    return model


def _empty(shape: Sequence[int | str | None]) -> tuple[int, ...]:
    """Return the shape of an empty cache for one text: sizes that the file leaves open are 0."""
    batch, *rest = shape
    return (batch if isinstance(batch, int) else 1, *(size if isinstance(size, int) else 0 for size in rest))


def _output(names: list[str]) -> tuple[str, bool]:
    """Return the name of the output to read, and whether it has one vector per token."""
    for wanted in (*_TOKEN_OUTPUTS, *_TEXT_OUTPUTS):
        if wanted in names:
            return wanted, wanted in _TOKEN_OUTPUTS
    raise _unusable(f"it has none of the outputs {', '.join((*_TOKEN_OUTPUTS, *_TEXT_OUTPUTS))}")


def _unusable(why: str) -> ClaudeMemError:
    return ClaudeMemError(f"this ONNX file cannot be run as an embedding model: {why}")
