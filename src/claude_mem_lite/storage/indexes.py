"""Check and rebuild what is derived within the databases: full text and indexes."""

# ruff: noqa: S608  every statement is put together from names of ours

import sqlite3
from contextlib import closing

from claude_mem_lite import config
from claude_mem_lite.storage import files
from claude_mem_lite.storage.connections import connect

FULL_TEXT = ("observations", "sessions", "learnings", "function_map")


def wrong_full_text() -> list[str]:
    """Return the tables whose full text is not that of their rows."""
    wrong = []
    with closing(connect(config.memory_path())) as connection:
        for table in FULL_TEXT:
            try:
                # The 1 has the rows compared, too; otherwise it is only the index with itself.
                connection.execute(
                    f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)"
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
            connection.execute(f"INSERT INTO {table}_fts({table}_fts) VALUES ('rebuild')")


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
