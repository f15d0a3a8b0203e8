"""Recognize damage inside a database, apart from a lock or a full disk, and name its cure.

What is derived within the databases, full text and indexes, is checked and rebuilt here, too.
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
    _MEMORY: "claude-mem down, move it aside, then claude-mem restore your last backup,"
    " or claude-mem up, which makes anew what queue.db still has",
    "queue.db": "claude-mem down, move it aside, then claude-mem up takes in what lies in the spool",
}
_OTHER_SCHEMA = "has other tables, columns, indexes or triggers than it should"
# What SQLite answers where a file holds something else than it should; all else passes, or is no fault of it.
_CODES = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB}


def told() -> Iterator[str]:
    """Yield one line for each of our databases that is damaged, with what to do."""
    for path in filter(os.path.exists, files.paths()):
        with contextlib.suppress(sqlite3.Error):  # locked
            if what := found(path):
                yield f"{path} is damaged ({what}): {cure(path)}"


def explains(error: Exception) -> bool:
    """Tell whether a failure is SQLite's own, or may come of a damaged database, whose rows hold anything."""
    return isinstance(error, (DatabaseError, sqlite3.Error)) or any(told())


def cure(path: str) -> str:
    """Return what to do about a damaged database of ours."""
    return _CURES[os.path.basename(path)]


def found(path: str, *, thorough: bool = False) -> str:
    """Return what is wrong inside one of our databases, "" for nothing; `thorough` reads every row, too.

    Raises: sqlite3.Error when it cannot be looked at: it is locked, or gone.
    """
    try:
        # For writing, though nothing is written: where SQLite may only read it checks no CHECK.
        with closing(connect(path, timeout_s=10)) as connection:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                is_known = version <= 0 or TOO_OLD < version <= len(MIGRATIONS)
                if is_known and _is_other(connection, path, version):
                    return _OTHER_SCHEMA
            wrong = _checked(connection, "integrity_check" if thorough else "quick_check")
            if thorough and not wrong:
                connection.text_factory = str  # which raises OperationalError for a text that is no UTF-8
                for (table,) in connection.execute(_TABLES).fetchall():
                    collections.deque(connection.execute(f"SELECT * FROM {table}"), maxlen=0)  # noqa: S608  (ours)
            return "; ".join(wrong)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _CODES:
            raise
        return " ".join(str(error).split())


def lines(path: str, *, most: int) -> list[str]:
    """Return what SQLite finds wrong in a database, at most so many lines."""
    with closing(connect(path)) as connection:
        try:
            return _checked(connection, "integrity_check", most=most)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            return [str(error)]


def problem(path: str) -> str:
    """Return what is wrong with a file that should be one of our databases, "" for nothing."""
    is_memory = os.path.basename(path) == _MEMORY
    with closing(connect(path)) as connection:
        try:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            if is_memory and application != config.MEMORY_APPLICATION_ID:
                return "is another program's database"
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if is_memory and not TOO_OLD < version <= len(MIGRATIONS):
                return f"has schema {version}, this version knows {len(MIGRATIONS)}"
            if _is_other(connection, path, version):
                return _OTHER_SCHEMA
            wrong = _checked(connection, "integrity_check")
            return f"is damaged ({wrong[0]})" if wrong else ""
        except sqlite3.DatabaseError as error:
            return f"cannot be read ({error})"


def wrong_full_text() -> list[str]:
    """Return the tables whose full text is not that of their rows."""
    wrong = []
    with closing(connect(config.memory_path())) as connection:
        for table in FULL_TEXT:
            try:
                # The 1 has the rows compared, too; otherwise it is only the index with itself.
                connection.execute(
                    f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)"  # noqa: S608
                )
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                wrong.append(table)
    return wrong


def rebuild_full_text() -> None:
    """Make the full text anew, without the words of rows that are gone: FTS5 keeps those until it merges."""
    with closing(connect(config.memory_path())) as connection:
        for table in FULL_TEXT:
            connection.execute(f"INSERT INTO {table}_fts({table}_fts) VALUES ('rebuild')")  # noqa: S608


def reindex() -> bool:
    """Make all indexes and the full text anew; return False where damaged pages keep from it."""
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
    """Tell whether a database has another schema than ours, the memory's after so many steps."""
    is_memory = os.path.basename(path) == _MEMORY
    known = (MIGRATIONS[: max(version, 0)],) if is_memory else (inbox.SCHEMA, inbox.OLDER_SCHEMA)
    return _schema(connection) not in map(_schema_of, known)


@functools.cache
def _schema_of(steps: tuple[str, ...]) -> set[tuple[str, str, str]]:
    """Return the schema that some steps make, in 12 ms for all of them."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as expected:
        for step in steps:
            expected.executescript(step)
        return _schema(expected)


def _schema(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Return type and name of all that a schema has, with the columns of tables and indexes.

    Of triggers, views and virtual tables, which do something, it is what they do.
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
