"""Turn text into vectors: list the models (`records`) and load one.

Only this package uses onnxruntime, tokenizers, torch and sentence-transformers; each is imported when a model
that needs it is loaded. A server process keeps its model in a `holder`.
"""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search.embedder import records, weights
from claude_mem_lite.search.embedder.records import ModelRecord, download, find, resolve

if TYPE_CHECKING:
    from claude_mem_lite.search.embedder.interface import Embedder

# The libraries' telemetry must be disabled before their import. onnxruntime sends it since 1.29 on Linux and
# macOS, with an identifier of the machine in ~/.cache. Source: its docs/Privacy.md.
os.environ |= {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}

__all__ = ["ModelRecord", "download", "find", "load", "resolve"]


def load(record: ModelRecord) -> Embedder:
    """Load and warm up the embedder of a model on this machine, with its fitted weight if there is one.

    Raises: ClaudeMemError.
    """
    path = records.find(record)
    if not path:
        raise records.missing(record)
    try:
        embedder = _open(path, record)
        embedder.embed_query("warm", "all")
        if (meaning := weights.fitted(embedder.record.key)) is not None:
            embedder.record = dataclasses.replace(embedder.record, meaning=meaning)
    except ClaudeMemError:
        raise
    except ModuleNotFoundError as error:
        if record.needs_torch and error.name in {"torch", "transformers", "sentence_transformers"}:
            raise records.not_installed(record) from error
        raise _unloadable(path, record, error) from error
    except Exception as error:  # the libraries raise anything for a broken folder
        raise _unloadable(path, record, error) from error
    return embedder


def _open(path: str, record: ModelRecord) -> Embedder:
    if record.files:
        from claude_mem_lite.search.embedder import qwen3

        return qwen3.open_model(path, record)
    if record.needs_torch:
        from claude_mem_lite.search.embedder import transformer

        return transformer.open_model(path, record)
    from claude_mem_lite.search.embedder import minilm

    return minilm.open_model(path, record)


def _unloadable(path: str, record: ModelRecord, error: Exception) -> ClaudeMemError:
    return ClaudeMemError(
        f"cannot load the embedding model {record.name} from {path}: {records.first_line(error)}. "
        "Search goes on with full text; for other models: claude-mem model list"
    )
