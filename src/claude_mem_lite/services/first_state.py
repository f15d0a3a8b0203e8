"""Register hooks in a settings file and note its first state, so that removing them restores every byte.

The notes are kept in the data directory, from `install-hooks` to `uninstall-hooks`.
"""

import contextlib
import json
import os
import re
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.services import hook_table

Note = dict[str, Any]

_ALL_OURS = (hook_table.OURS, hook_table.GUARD)


def register(
    path: str, groups: dict[str, dict[str, Any]], pattern: re.Pattern[str] = hook_table.OURS
) -> bool:
    """Replace our commands in a settings file with these groups; return whether the file was changed.

    Raises: ClaudeMemError: the settings cannot be edited.
    """
    before = hook_table.read(path)
    if hook_table.registered(before, pattern) == groups:
        return False
    _keep(path, _look_at_settings(path))
    hook_table.write(path, hook_table.with_hooks(_without(path, pattern), groups))
    return True


def take_out(path: str, *patterns: re.Pattern[str]) -> bool:
    """Remove our commands from a settings file (default: all of them); return whether there were any.

    Removing the last one restores the file as it was before the first, if the user has changed nothing since.

    Raises: ClaudeMemError: the settings cannot be edited.
    """
    before, after = hook_table.read(path), _without(path, *(patterns or _ALL_OURS))
    if after == before or not os.path.exists(path):
        return False
    noted = _notes().get(path, {})
    if json.loads(after) or "whole" not in noted:
        hook_table.write(path, after)
    elif noted["whole"] is None:
        os.unlink(path)
    else:
        hook_table.write(path, noted["whole"])
    if not hook_table.has_any(after, *_ALL_OURS):
        forget(path)
    return True


def note_folders(path: str) -> None:
    """Note which of the folders above a file are missing, so that `forget` can remove them again."""
    _keep(path, {})


def forget(path: str) -> None:
    """Drop the note on a file, and remove the folders that were missing unless they hold something."""
    notes = _notes()
    for folder in notes.pop(path, {}).get("folders", ()):
        with contextlib.suppress(OSError):  # the user keeps something there
            os.rmdir(folder)
    if notes:
        hook_table.write(_path(), json.dumps(notes))
    else:
        with contextlib.suppress(OSError):
            os.unlink(_path())


def _without(path: str, *patterns: re.Pattern[str]) -> str:
    """Return the text of settings without our commands; parts that were empty before stay."""
    text, empty = hook_table.read(path), _notes().get(path, {}).get("empty", {})
    for pattern in patterns:
        text = hook_table.without_hooks(text, pattern, empty)
    return text


def _look_at_settings(path: str) -> Note:
    """Return the note on a settings file: its empty parts without our commands, or all of an empty file."""
    text = _without(path, *_ALL_OURS)
    if json.loads(text):
        return {"empty": hook_table.empty_parts(text)}
    if text == hook_table.read(path):
        return {"whole": hook_table.read_file(path) if os.path.exists(path) else None}
    return {key: value for key, value in _notes().get(path, {}).items() if key == "whole"}


def _keep(path: str, found: Note) -> None:
    notes = _notes()
    folders, above = [*notes.get(path, {}).get("folders", ())], path
    while not os.path.exists(above := os.path.dirname(above)):  # the innermost first
        folders.append(above)
    config.ensure_folder(config.home())
    hook_table.write(_path(), json.dumps({**notes, path: {**found, "folders": folders}}))


def _notes() -> dict[str, Note]:
    """Return the notes by path; none if they cannot be read."""
    try:
        with open(_path(), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return {path: each for path, each in found.items() if isinstance(each, dict)}


def _path() -> str:
    return os.path.join(config.home(), "first-state.json")
