"""SQLite for hooks: only the C module of `sqlite3`, which loads in half the time of the whole package.

The package adds adapters for dates. The C module imports `functools` only for the cache of statements, which
is itself written in C.
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
    """A stand-in for `functools` while the C module loads."""

    @staticmethod
    def lru_cache(size: int) -> Any:
        """Return a decorator that caches a function."""
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

        return lambda function: _lru_cache_wrapper(function, size, False, tuple)


def _alone() -> Any:
    """Return the C module after a test connection. Raises: any error of a Python that is built otherwise."""
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
    except Exception:  # noqa: BLE001  (whatever the error, the whole package works)
        import sqlite3


def _readable(execute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that raises DatabaseError if SQLite quotes a damaged schema that is not UTF-8."""

    def call(self: Any, *given: Any) -> Any:
        try:
            return execute(self, *given)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("malformed database schema, which is no text") from error

    return call


class _Cursor(sqlite3.Cursor):
    execute = _readable(sqlite3.Cursor.execute)


class Connection(sqlite3.Connection):
    """A connection for `connect(factory=...)` that reports every failure as an error of `sqlite3`."""

    execute = _readable(sqlite3.Connection.execute)
    executemany = _readable(sqlite3.Connection.executemany)

    def cursor(self, *_: Any) -> Any:
        """Return a cursor; peewee and Huey use nothing else."""
        return super().cursor(_Cursor)


def open_read_only(path: str) -> Connection:
    """Return a read-only connection that waits at most 0.1 s for a lock. Raises: sqlite3.Error."""
    # Source: https://www.sqlite.org/uri.html, section 3.1.
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    opened: Connection = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=0.1, factory=Connection)
    return opened
