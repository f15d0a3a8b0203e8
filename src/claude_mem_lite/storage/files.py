"""Handle the databases as files: connect to them beside the models, measure, shrink, copy and hold them."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

from claude_mem_lite import config
from claude_mem_lite.capture.fast_sqlite3 import Connection
from claude_mem_lite.errors import ClaudeMemError

# So many free bytes are given back to the disk, when they are most of a database.
_HOLLOW_BYTES = 64 << 20
BUSY_S = 5.0


def connect(path: str, *, mode: str = "rw", timeout_s: float = BUSY_S) -> sqlite3.Connection:
    """Return a connection outside of any transaction; `mode` is SQLite's: ro, rw, or rwc, which creates."""
    name = f"file:{quote(path)}?mode={mode}"
    return sqlite3.connect(name, uri=True, timeout=timeout_s, isolation_level=None, factory=Connection)


def paths() -> tuple[str, str]:
    """Return the paths of the memory and of the queue, there or not."""
    return config.memory_path(), config.queue_path()


def size_bytes(path: str) -> int:
    """Return the bytes of a database with its WAL; 0 for none."""
    total = 0
    for each in (path, f"{path}-wal"):
        with contextlib.suppress(FileNotFoundError):  # who uses it last takes the WAL away
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
            with contextlib.suppress(FileNotFoundError):  # the consumer has just taken it in, or merged it
                total += os.lstat(os.path.join(path, name)).st_size
    return total


def vacuum(path: str) -> str:
    """Write a database anew without what was deleted from it; return "", or why that could not be done.

    What was deleted is then in none of its files: not in free pages, and not in the WAL, which is emptied.
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
    return f"{name} was vacuumed, but another process keeps its WAL from being emptied" if is_busy else ""


def refuse_read_only() -> None:
    """Raise ClaudeMemError when a database is there that cannot be written."""
    for path in filter(os.path.exists, paths()):
        if not os.access(path, os.W_OK):
            raise ClaudeMemError(
                f"{path} cannot be written: chmod u+w it, or have its disk mounted for writing"
            )


def is_hollow(path: str) -> bool:
    """Tell whether a database is large and most of it free."""
    with closing(connect(path)) as connection:
        size, free = room(connection)
    return free > _HOLLOW_BYTES and free > size / 2


def room(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return how many bytes the pages of a database have, and those of them that are free."""
    pages, free, page_bytes = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return pages * page_bytes, free * page_bytes


def copy(path: str, target: str) -> None:
    """Copy a database as it is at one moment, whoever writes to it meanwhile."""
    with closing(connect(path, mode="ro")) as source, closing(connect(target, mode="rwc")) as copied:
        replace(copied, source)


def replace(target: sqlite3.Connection, source: sqlite3.Connection) -> None:
    """Have a database be as another is, in one transaction. Raises: sqlite3.Error, and it is as it was."""

    def look(status: int, *_: int) -> None:
        if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:  # `backup` would try for ever
            raise sqlite3.OperationalError("database is locked")

    source.backup(target, progress=look)


def row_counts(path: str, *tables: str) -> dict[str, int]:
    """Return how many rows some tables of a database have; the names are ours."""
    with closing(connect(path)) as connection:
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in tables
        }


def schema_of(path: str) -> int:
    """Return how many steps of our schema a memory has had."""
    with closing(connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def held(path: str) -> Iterator[sqlite3.Connection | None]:
    """Yield a connection beside which nobody uses a database, which is made where there is none.

    It is None for a database that SQLite cannot read. Raises: ClaudeMemError when somebody uses it.
    """
    with closing(connect(path, mode="rwc")) as connection:
        is_readable = True
        try:
            # Who has read keeps newcomers out while it waits for the others: hooks could starve it.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # the lock outlives its transaction
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            raise ClaudeMemError(f"{path} is in use ({error}): end what uses it, then try again") from error
        except sqlite3.DatabaseError:
            is_readable = False
        yield connection if is_readable else None


def forget_process(memory: str, queue: str) -> None:
    """Take out of copies of both databases what a process had in hand, and which rows have vectors."""
    with closing(connect(memory)) as connection:
        for table in ("observations", "sessions", "learnings", "function_map"):
            connection.execute(f"UPDATE {table} SET embedding_status = 'pending'")  # noqa: S608  (ours)
    with closing(connect(queue)) as connection:
        connection.execute("UPDATE task SET claimed = 0")
