"""Store events that queue.db could not take, one file each, until `backlog` moves them there.

Standard library only; a hook loads this as its last resort. A file is named TIME-ID; a suffix marks a file
that is no event, or none yet.
"""

from __future__ import annotations

import os

from claude_mem_lite import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

# Suffixes: half written; holds no event; an empty file for an event that was lost on a full disk.
HALF, BROKEN, LOST = ".tmp", ".bad", ".lost"
_PARTS, _OLD_PARTS = 6, 4


def write(event_id: str, created_at: str, place: tuple[str, str, str], event: str) -> None:
    """Write an event to a file of its own, complete or not at all; `place` is as `inbox.event_row` takes it.

    Raises:
        OSError: it could not be written; an empty file records the loss, if possible.
        ClaudeMemError: the folder is a symbolic link or another user's.
    """
    config.ensure_folder(config.spool_dir())
    path = os.path.join(config.spool_dir(), f"{created_at}-{event_id}")
    descriptor = os.open(path + HALF, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            text = "\0".join((event_id, created_at, *place, event))
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        # A full disk still takes an empty file: that says when something was lost.
        os.truncate(path + HALF, 0)
        os.replace(path + HALF, path + LOST)
        raise
    os.replace(path + HALF, path)


def read(path: str) -> tuple[str, str, tuple[str, str, str], str]:
    """Return an event's id, time, place and text; a file of four fields has no work tree and no branch.

    The time is that of the file if it holds none.

    Raises:
        ValueError: the file holds no event.
        OSError: it cannot be read, or is no regular file of this user.
    """
    from claude_mem_lite.capture import own_file

    with own_file.opened(path) as file:
        parts = file.read().decode("utf-8", "replace").split("\0", _PARTS - 1)
        if len(parts) == _OLD_PARTS:
            parts[3:3] = ["", ""]
        event_id, created_at, project_dir, work_tree, branch, event = parts
        return event_id, _time(created_at, file), (project_dir, work_tree, branch), event


def lost(path: str) -> tuple[str, str]:
    """Return the id and time of a lost event, from the name of its file; the file's time if that has none.

    Raises: OSError: it cannot be read, or is no regular file of this user.
    """
    from claude_mem_lite.capture import own_file

    name = os.fsencode(os.path.basename(path)).decode("utf-8", "replace")
    created_at, _, event_id = name.removesuffix(LOST).rpartition("-")
    with own_file.opened(path) as file:
        return event_id, _time(created_at, file)


def _time(text: str, file: BinaryIO) -> str:
    """Return a text that is a time as `inbox.utc_now` writes it, else the file's time, not after now."""
    import datetime as dt
    import time

    try:
        at = dt.datetime.fromisoformat(text).isoformat(timespec="microseconds")
        if at == f"{text.removesuffix('Z')}+00:00":
            return text
    except ValueError:
        pass
    file_s = max(0.0, min(os.fstat(file.fileno()).st_mtime, time.time()))
    return dt.datetime.fromtimestamp(file_s, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def files() -> list[str]:
    """Return all files of the spool, oldest first."""
    try:
        return [os.path.join(config.spool_dir(), name) for name in sorted(os.listdir(config.spool_dir()))]
    except FileNotFoundError:
        return []


def waiting() -> list[str]:
    """Return the files that hold an event, oldest first."""
    return [path for path in files() if not path.endswith((HALF, BROKEN, LOST))]


def lost_files() -> list[str]:
    """Return the empty files of events that were lost, oldest first."""
    return [path for path in files() if path.endswith(LOST)]
