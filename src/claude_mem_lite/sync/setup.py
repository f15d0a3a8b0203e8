"""Remember which hub is set up and as whom, in `sync.json`, and how the last sync went, in `sync-last.json`.

Standard library only: the consumer asks every few minutes. Both files are the user's alone.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError


@dataclass(frozen=True, slots=True)
class Setup:
    """The hub's address, this machine's id and name, and the code that the user's machines share."""

    hub: str
    machine: str
    name: str
    code: str = field(repr=False)


def load() -> Setup | None:
    """Return what is set up, None where nothing is. Raises: ClaudeMemError when it cannot be read."""
    given = _read("sync.json")
    if given is None:
        return None
    try:
        return Setup(**given)
    except TypeError as error:
        raise ClaudeMemError(
            f"{_path('sync.json')} cannot be used: claude-mem sync leave, then init"
        ) from error


def is_set_up() -> bool:
    """Tell whether there is a hub."""
    return os.path.exists(_path("sync.json"))


def save(setup: Setup) -> None:
    """Remember a hub."""
    _write("sync.json", asdict(setup))


def delete() -> None:
    """Forget the hub."""
    for name in ("sync.json", "sync-last.json"):
        if os.path.exists(_path(name)):
            os.unlink(_path(name))


def last() -> dict[str, Any]:
    """Return how the last sync went, {} before there was one."""
    try:
        return _read("sync-last.json") or {}
    except ClaudeMemError:
        return {}


def note_last(how: dict[str, Any]) -> None:
    """Note how a sync went."""
    _write("sync-last.json", how)


def _read(name: str) -> dict[str, Any] | None:
    try:
        with open(_path(name), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
            return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ClaudeMemError(f"{_path(name)} cannot be read ({error})") from error


def _write(name: str, value: dict[str, Any]) -> None:
    config.ensure_home()
    unfinished = f"{_path(name)}.{os.getpid()}"
    with open(
        os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(value, file, indent=1)
    os.replace(unfinished, _path(name))


def _path(name: str) -> str:
    return os.path.join(config.home(), name)
