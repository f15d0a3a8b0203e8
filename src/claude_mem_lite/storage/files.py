"""Handle the databases as files: connect without the models, measure, shrink, copy and lock them."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

from claude_mem_lite import config
from claude_mem_lite.capture.fast_sqlite3 import Connection
from claude_mem_lite.errors import ClaudeMemError

# A database is worth shrinking when more than this, and more than half of it, is free.
_HOLLOW_BYTES = 64 << 20
BUSY_S = 5.0


def connect(path: str, *, mode: str = "rw", timeout_s: float = BUSY_S) -> sqlite3.Connection:
    """Return an autocommit connection; `mode` is SQLite's: ro, rw, or rwc, which creates the file."""
    name = f"file:{quote(path)}?mode={mode}"
    return sqlite3.connect(name, uri=True, timeout=timeout_s, isolation_level=None, factory=Connection)


def paths() -> tuple[str, str]:
    """Return the paths of the memory and the queue, whether the files exist or not."""
    return config.memory_path(), config.queue_path()


def size_bytes(path: str) -> int:
    """Return the size of a database with its WAL in bytes, 0 if it does not exist."""
    total = 0
    for each in (path, f"{path}-wal"):
        with contextlib.suppress(FileNotFoundError):  # the last connection deletes the WAL
            total += os.path.getsize(each)
    return total


def sizes() -> dict[str, int]:
    """Return the bytes of the two databases, the vectors, the logs and the spool."""
    folders = {"vectors": config.lance_dir(), "logs": config.log_dir(), "spool": config.spool_dir()}
    return {
        **{os.path.basename(path): size_bytes(path) for path in paths()},
        **{name: _folder_bytes(folder) for name, folder in folders.items()},
    }


def _folder_bytes(folder: str) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # the consumer has just read it in, or merged it
                total += os.lstat(os.path.join(path, name)).st_size
    return total


def vacuum(path: str) -> str:
    """Rewrite a database without its deleted data; return "", or why that failed.

    Deleted data is then in none of its files: not in free pages, and not in the WAL, which is truncated.
    """
    if not os.path.exists(path):
        return ""
    name = os.path.basename(path)
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("VACUUM")
            is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        return f"{name} could not be vacuumed ({error})"
    return f"{name} was vacuumed, but another process keeps its WAL from being truncated" if is_busy else ""


def refuse_read_only() -> None:
    """Raise ClaudeMemError if the existing data directory or a database in it is not writable."""
    unwritable, cure = config.unwritable()
    if unwritable:
        raise ClaudeMemError(f"{unwritable}: {cure}")
    for path in filter(os.path.exists, paths()):
        if not os.access(path, os.W_OK):
            raise ClaudeMemError(f"{path} cannot be written: chmod u+w it, or mount its disk for writing")


def is_hollow(path: str) -> bool:
    """Tell whether a database has more than 64 MiB free, and more than half of it."""
    with closing(connect(path)) as connection:
        size, free = room(connection)
    return free > _HOLLOW_BYTES and free > size / 2


def room(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the size of a database's pages, and of its free pages, in bytes."""
    pages, free, page_bytes = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return pages * page_bytes, free * page_bytes


def copy(path: str, target: str) -> None:
    """Copy one consistent state of a database, even if others write to it meanwhile."""
    with closing(connect(path, mode="ro")) as source, closing(connect(target, mode="rwc")) as copied:
        replace(copied, source)


def replace(target: sqlite3.Connection, source: sqlite3.Connection) -> None:
    """Overwrite a database with another in one transaction. Raises: sqlite3.Error, leaving it unchanged."""

    def look(status: int, *_: int) -> None:
        if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:  # `backup` would retry for ever
            raise sqlite3.OperationalError("database is locked")

    source.backup(target, progress=look)


def row_counts(path: str, *tables: str) -> dict[str, int]:
    """Return the number of rows in some tables of a database; the names must be trusted."""
    with closing(connect(path)) as connection:
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in tables
        }


def schema_of(path: str) -> int:
    """Return how many migrations a memory has had."""
    with closing(connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def held(path: str) -> Iterator[sqlite3.Connection | None]:
    """Lock a database for this process alone and yield the connection; a missing file is created.

    Yields None for a file that SQLite cannot read. Raises: ClaudeMemError when the database is in use.
    """
    with closing(connect(path, mode="rwc")) as connection:
        is_readable = True
        try:
            # After a read, new connections stay out while this one waits; otherwise hooks could starve it.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # the lock outlives its transaction
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            raise ClaudeMemError(
                f"{path} is in use ({error}): stop the program that uses it, then try again"
            ) from error
        except sqlite3.DatabaseError:
            is_readable = False
        yield connection if is_readable else None


def forget_process(memory: str, queue: str) -> None:
    """Reset copies of both databases: all vectors pending, no task claimed by a process."""
    with closing(connect(memory)) as connection:
        for table in ("observations", "sessions", "learnings", "function_map"):
            connection.execute(f"UPDATE {table} SET embedding_status = 'pending'")  # noqa: S608  (ours)
    with closing(connect(queue)) as connection:
        connection.execute("UPDATE task SET claimed = 0")
