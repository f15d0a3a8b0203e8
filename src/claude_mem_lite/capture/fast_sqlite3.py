"""SQLite for hooks: the C module of `sqlite3` alone, which costs them half of what the whole does.

`sqlite3` adds adapters for dates; its C module loads `functools` for its cache of statements, which is in C,
too.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

__all__ = ["Connection", "open_read_only", "sqlite3"]


class _Functools:
    """What stands for `functools` while the C module loads."""

    @staticmethod
    def lru_cache(size: int) -> Any:
        """Return what gives a function a cache."""
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

        return lambda function: _lru_cache_wrapper(function, size, False, tuple)


def _alone() -> Any:
    """Return the C module, tried out. Raises: what is wrong where a Python is built otherwise."""
    is_light = "functools" not in sys.modules
    if is_light:
        sys.modules["functools"] = _Functools  # type: ignore[assignment]
    try:
        import _sqlite3

        _sqlite3.connect(":memory:").close()
    except Exception:
        sys.modules.pop("_sqlite3", None)
        raise
    finally:
        if is_light:
            del sys.modules["functools"]
    return _sqlite3


if not TYPE_CHECKING:
    try:
        sqlite3 = _alone()
    except Exception:  # noqa: BLE001  (whatever it is, the whole module does the same)
        import sqlite3


def _readable(execute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that raises DatabaseError where SQLite quotes a damaged schema that is no UTF-8."""

    def call(self: Any, *given: Any) -> Any:
        try:
            return execute(self, *given)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("malformed database schema, which is no text") from error

    return call


class _Cursor(sqlite3.Cursor):
    execute = _readable(sqlite3.Cursor.execute)


class Connection(sqlite3.Connection):
    """A connection, for `connect(factory=...)`, whose every failure is an error of `sqlite3`."""

    execute = _readable(sqlite3.Connection.execute)
    executemany = _readable(sqlite3.Connection.executemany)

    def cursor(self, *_: Any) -> Any:
        """Return a cursor; peewee and Huey use nothing else."""
        return super().cursor(_Cursor)


def open_read_only(path: str) -> Connection:
    """Return a connection that only reads, and hardly waits for a lock. Raises: sqlite3.Error."""
    # Source: https://www.sqlite.org/uri.html, section 3.1.
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    opened: Connection = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=0.1, factory=Connection)
    return opened
