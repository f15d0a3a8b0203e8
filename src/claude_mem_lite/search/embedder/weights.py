"""Store the weight of each model's cosine relative to words, if it was fitted on this memory."""

import json
import os

from claude_mem_lite import config

_FILE = "meaning.json"  # {"minilm_384": 25.5}


def fitted(key: str) -> float | None:
    """Return the fitted weight of a model by its key; None if none was fitted or it cannot be read."""
    weight = _read().get(key)
    return float(weight) if isinstance(weight, int | float) and 0 < weight <= 1_000 else None  # noqa: PLR2004


def keep(key: str, meaning: float) -> None:
    """Store a model's weight; it applies from the next time that the model is loaded."""
    os.makedirs(config.models_dir(), exist_ok=True)
    with open(f"{_path()}.tmp", "w", encoding="utf-8") as file:
        json.dump(_read() | {key: meaning}, file)
    os.replace(f"{_path()}.tmp", _path())


def _read() -> dict[str, object]:
    try:
        with open(_path(), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _path() -> str:
    return os.path.join(config.models_dir(), _FILE)
