"""Detect damage inside a database, as opposed to a lock or a full disk, and say how to repair it.

Checks and rebuilds of full-text tables and indexes are here, too.
"""

import collections
import contextlib
import functools
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import DatabaseError, files
from claude_mem_lite.storage.files import connect
from claude_mem_lite.storage.migrations import MIGRATIONS, TOO_OLD

_MEMORY = "claude-mem.db"
FULL_TEXT = ("observations", "sessions", "learnings", "function_map")
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_CURES = {
    _MEMORY: "run claude-mem down, move it aside, then claude-mem restore your last backup,"
    " or claude-mem up, which rebuilds what queue.db still has",
    "queue.db": "run claude-mem down, move it aside, then claude-mem up, which reads what the spool has",
}
_OTHER_SCHEMA = "has wrong tables, columns, indexes or triggers"
# SQLite's result codes for wrong content in a file. Every other error is temporary or not the file's fault.
_CODES = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB}


def told() -> Iterator[str]:
    """Yield one line per damaged database, with what to do about it."""
    for path in filter(os.path.exists, files.paths()):
        with contextlib.suppress(sqlite3.Error):  # locked
            if what := found(path):
                yield f"{path} is damaged ({what}): {cure(path)}"


def explains(error: Exception) -> bool:
    """Tell whether an error is SQLite's, or a database is damaged, whose rows may then hold anything."""
    return isinstance(error, (DatabaseError, sqlite3.Error)) or any(told())


def cure(path: str) -> str:
    """Return how to repair the database at a path."""
    return _CURES[os.path.basename(path)]


def found(path: str, *, thorough: bool = False) -> str:
    """Return what is wrong inside one of our databases, "" for nothing; `thorough` also reads every row.

    Raises: sqlite3.Error when the database cannot be checked because it is locked or missing.
    """
    try:
        # Opened for writing, though nothing is written: on a read-only connection SQLite checks no CHECK.
        with closing(connect(path, timeout_s=10)) as connection:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                is_known = version <= 0 or TOO_OLD < version <= len(MIGRATIONS)
                if is_known and _is_other(connection, path, version):
                    return _OTHER_SCHEMA
            wrong = _checked(connection, "integrity_check" if thorough else "quick_check")
            if thorough and not wrong:
                connection.text_factory = str  # raises OperationalError for text that is not UTF-8
                for (table,) in connection.execute(_TABLES).fetchall():
                    collections.deque(connection.execute(f"SELECT * FROM {table}"), maxlen=0)  # noqa: S608  (ours)
            return "; ".join(wrong)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _CODES:
            raise
        return " ".join(str(error).split())


def lines(path: str, *, most: int) -> list[str]:
    """Return what SQLite's integrity check reports for a database, at most `most` lines."""
    with closing(connect(path)) as connection:
        try:
            return _checked(connection, "integrity_check", most=most)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            return [str(error)]


def problem(path: str) -> str:
    """Return why a file cannot serve as one of our databases, "" if it can."""
    is_memory = os.path.basename(path) == _MEMORY
    with closing(connect(path)) as connection:
        try:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            if is_memory and application != config.MEMORY_APPLICATION_ID:
                return "belongs to another program"
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if is_memory and not TOO_OLD < version <= len(MIGRATIONS):
                return f"has schema {version}, this version has {len(MIGRATIONS)}"
            if _is_other(connection, path, version):
                return _OTHER_SCHEMA
            wrong = _checked(connection, "integrity_check")
            return f"is damaged ({wrong[0]})" if wrong else ""
        except sqlite3.DatabaseError as error:
            return f"cannot be read ({error})"


def wrong_full_text() -> list[str]:
    """Return the tables whose full-text index does not match their rows."""
    wrong = []
    with closing(connect(config.memory_path())) as connection:
        for table in FULL_TEXT:
            try:
                # The 1 compares the index with the rows, too; otherwise FTS5 only checks the index itself.
                connection.execute(
                    f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)"  # noqa: S608
                )
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                wrong.append(table)
    return wrong


def rebuild_full_text() -> None:
    """Rebuild the full-text indexes without the words of deleted rows, which FTS5 keeps until it merges."""
    with closing(connect(config.memory_path())) as connection:
        for table in FULL_TEXT:
            connection.execute(f"INSERT INTO {table}_fts({table}_fts) VALUES ('rebuild')")  # noqa: S608


def reindex() -> bool:
    """Rebuild all indexes and the full text; return False if damaged pages prevent it."""
    try:
        for path in files.paths():
            with closing(connect(path)) as connection:
                connection.execute("REINDEX")
        rebuild_full_text()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False
    return True


def _checked(connection: sqlite3.Connection, pragma: str, *, most: int = 1) -> list[str]:
    rows = connection.execute(f"PRAGMA {pragma}({most})").fetchall()
    return [" ".join(line.split()) for (line,) in rows if line != "ok"]


def _is_other(connection: sqlite3.Connection, path: str, version: int) -> bool:
    """Tell whether a database's schema differs from ours; `version` counts the memory's migrations."""
    is_memory = os.path.basename(path) == _MEMORY
    known = (MIGRATIONS[: max(version, 0)],) if is_memory else (inbox.SCHEMA, inbox.OLDER_SCHEMA)
    return _schema(connection) not in map(_schema_of, known)


@functools.cache
def _schema_of(steps: tuple[str, ...]) -> set[tuple[str, str, str]]:
    """Return the schema that some migration steps create; all of them take 12 ms."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as expected:
        for step in steps:
            expected.executescript(step)
        return _schema(expected)


def _schema(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Return type, name and definition of everything in a schema.

    Tables and indexes are defined by their columns; triggers, views and virtual tables by their SQL.
    """
    columns = {
        "table": 'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)',
        "index": 'SELECT name, "desc", coll, "key" FROM pragma_index_xinfo(?)',
    }
    query = (
        "SELECT type, name, CAST(coalesce(sql, '') AS TEXT) FROM sqlite_master"
        " WHERE name <> 'sqlite_sequence'"
    )
    found = set()
    for kind, name, sql in connection.execute(query).fetchall():
        is_plain = kind in columns and not sql.startswith("CREATE VIRTUAL")
        told = str(connection.execute(columns[kind], (name,)).fetchall()) if is_plain else sql
        found.add((kind, name, told))
    return found
