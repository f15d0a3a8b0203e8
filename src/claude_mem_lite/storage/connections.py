"""Connections to a database file beside those of the models."""

import sqlite3
from urllib.parse import quote

from claude_mem_lite.capture.fast_sqlite3 import Connection

BUSY_S = 5.0


def connect(path: str, *, mode: str = "rw", timeout_s: float = BUSY_S) -> sqlite3.Connection:
    """Return a connection outside of any transaction; `mode` is SQLite's: ro, rw, or rwc, which creates."""
    name = f"file:{quote(path)}?mode={mode}"
    return sqlite3.connect(name, uri=True, timeout=timeout_s, isolation_level=None, factory=Connection)
