"""List the embedding models of this machine, the one that search uses, and how many rows have vectors."""

import contextlib
import importlib.util
import os
from dataclasses import dataclass
from typing import Any

from claude_mem_lite import config, settings
from claude_mem_lite.capture import client
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import embedder, lance
from claude_mem_lite.search.embedder import ModelRecord, records
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.storage import embeddings

NONE = "none"
_ANSWER_S = 5
_UNFINISHED = ".part"  # see `embedder.download`


@dataclass(frozen=True, slots=True)
class Model:
    """A model: `path` is "" if it is not on this machine, `dimension` 0 if it is unknown until loaded.

    `setting` selects exactly this form of the model; `vectors` are the numbers of rows with a vector, by
    dimension.
    """

    name: str
    setting: str
    source: str
    dimension: int
    path: str
    size_bytes: int
    is_in_use: bool
    vectors: dict[int, int]


def models() -> list[Model]:
    """Return the built-in models, the fetched ones, and the one in the settings."""
    in_use, _ = chosen()
    wanted = [*records.RECORDS.values(), *_fetched(), *([in_use] if in_use else [])]
    by_name = {record.name: record for record in wanted}
    if in_use:
        by_name[in_use.name] = in_use
    counts = _vectors()
    return [
        Model(
            name=record.name,
            setting=record.setting,
            source=record.source,
            dimension=record.dimension,
            path=(path := embedder.find(record)),
            size_bytes=_size(path),
            is_in_use=record is in_use,
            vectors=counts.get(record.name, {}),
        )
        for record in by_name.values()
    ]


def chosen() -> tuple[ModelRecord | None, str]:
    """Return the model in the settings and "", or None and what prevents its use."""
    wanted = settings.load()
    if wanted.embedding_model == NONE:
        return None, f'[search] embedding_model = "{NONE}"'
    try:
        record = embedder.resolve(wanted.embedding_model, dimension=wanted.dimension)
        check(record)
    except ClaudeMemError as error:
        return None, str(error)
    return record, ""


def check(record: ModelRecord) -> None:
    """Raise ClaudeMemError unless a model and its libraries are on this machine."""
    if not embedder.find(record):
        raise records.missing(record)
    if record.needs_torch and not importlib.util.find_spec("sentence_transformers"):
        raise records.not_installed(record)


def in_words(state: dict[str, Any]) -> str:
    """Return a sentence on how many rows have a vector, and what to install if there are many."""
    told, (record, _) = f"{state['embedded']:,} of {state['total']:,} rows have a vector", chosen()
    advice = lance.missing(Vectors(record.key, record.dimension)) if record else ""
    return f"{told}; {advice}" if advice else told


def state() -> dict[str, Any]:
    """Return the model of search, its setting, how many rows it has embedded, and any problem.

    `loaded` is None while the web process is down.
    """
    wanted = settings.load()
    record, problem = chosen()
    name, dimension = (record.name, record.dimension) if record else ("", 0)
    found: dict[str, Any] = {"setting": wanted.embedding_model, "loaded": None}
    try:
        web = client.get("/api/model", {}, timeout_s=_ANSWER_S) or {}
    except client.UnreachableError:
        web = {}
    else:
        found["loaded"] = web.get("loaded", False)
        problem = problem or web.get("problem", "")
    if web.get("loaded"):
        name, dimension = web["model"], web["dimension"]
    dimension = dimension or max(_vectors().get(name, {}), default=0)
    counts = embeddings.count_embedded(f"{name}_{dimension}").values()
    return found | {
        "model": name,
        "dimension": dimension,
        "embedded": sum(embedded for embedded, _ in counts),
        "total": sum(total for _, total in counts),
        "problem": problem,
    }


def _vectors() -> dict[str, dict[int, int]]:
    """Return how many rows have vectors, by model name and dimension; see `ModelRecord.key`."""
    found: dict[str, dict[int, int]] = {}
    for key, count in embeddings.count_by_model().items() if os.path.exists(config.memory_path()) else ():
        name, _, dimension = key.rpartition("_")
        if dimension.isdecimal():
            found.setdefault(name, {})[int(dimension)] = count
    return found


def _fetched() -> list[ModelRecord]:
    """Return the models in the data directory."""
    try:
        folders = sorted(os.listdir(config.models_dir()))
    except FileNotFoundError:
        return []
    names = [folder.replace("--", "/", 1) for folder in folders if not folder.endswith(_UNFINISHED)]
    found = []
    for name in names:
        with contextlib.suppress(ClaudeMemError):  # not a model's folder
            found.append(embedder.resolve(name))
    return [record for record in found if embedder.find(record)]


def _size(path: str) -> int:
    """Return the bytes of a file, or of all files in a folder, following links."""
    if not os.path.isdir(path):
        return os.path.getsize(path) if path else 0
    return sum(
        os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names
    )
