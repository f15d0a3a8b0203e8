"""The two databases as files: how large they are, and how they are made small again."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

from claude_mem_lite import config

# What SQLite keeps beside a database while it is in use.
SIDE_FILES = ("-wal", "-shm", "-journal")
BUSY_S = 5.0


def paths() -> tuple[str, str]:
    """Return the paths of the memory and of the queue, there or not."""
    return config.memory_path(), config.queue_path()


def size_bytes(path: str) -> int:
    """Return the bytes of a database with what lies beside it; 0 for none."""
    return sum(os.path.getsize(each) for each in _with_side_files(path))


def connect(path: str, *, timeout_s: float = BUSY_S) -> sqlite3.Connection:
    """Return a connection for writing to a database that is there, outside of any transaction."""
    return sqlite3.connect(f"file:{quote(path)}?mode=rw", uri=True, timeout=timeout_s, isolation_level=None)


def vacuum(path: str, *, timeout_s: float = BUSY_S) -> str:
    """Write a database anew without what was deleted from it; return "", or why that could not be done.

    What was deleted is then in none of its files: not in free pages, and not in the WAL, which is emptied.
    """
    if not os.path.exists(path):
        return ""
    name = os.path.basename(path)
    try:
        with closing(connect(path, timeout_s=timeout_s)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("VACUUM")
            is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        return f"{name} could not be vacuumed ({error})"
    return f"{name} was vacuumed, but another process keeps its WAL from being emptied" if is_busy else ""


def _with_side_files(path: str) -> list[str]:
    return [each for each in (path, *(path + end for end in SIDE_FILES)) if os.path.exists(each)]
