"""Remember which files and folders an installation created, so that removing it restores what was there.

Kept in the data directory, from the first `install-hooks` to `uninstall-hooks`.
"""

from __future__ import annotations

import contextlib
import json
import os

from claude_mem_lite import config
from claude_mem_lite.services import hook_table

State = dict[str, list[str]]
_EMPTY = frozenset({"", "{}"})


def look(*paths: str) -> State:
    """Return which of these files, and of the folders they lie in, are missing or empty now."""
    missing = [path for path in paths if not os.path.exists(path)]
    empty = [path for path in paths if path not in missing and not hook_table.read_file(path)]
    folders: set[str] = set()
    for path in missing:
        folder = os.path.dirname(path)
        while not os.path.exists(folder):
            folders.add(folder)
            folder = os.path.dirname(folder)
    return {"missing": missing, "empty": empty, "folders": sorted(folders)}


def keep(state: State) -> None:
    """Store a state as the one before the installation, unless one is stored."""
    if not os.path.exists(_path()):
        config.ensure_folder(config.home())
        hook_table.write(_path(), json.dumps(state))


def restore() -> None:
    """Remove the recorded files and folders that hold nothing of the user's, and forget the record."""
    try:
        with open(_path(), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return
    for path in found["missing"] + found["empty"]:
        if os.path.exists(path) and hook_table.read_file(path).strip() in _EMPTY:
            if path in found["missing"]:
                os.unlink(path)
            else:
                hook_table.write(path, "")
    for folder in reversed(found["folders"]):
        with contextlib.suppress(OSError):  # the user keeps something there
            os.rmdir(folder)
    os.unlink(_path())


def _path() -> str:
    return os.path.join(config.home(), "first-state.json")
