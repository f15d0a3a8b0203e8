"""Store what colleagues have shared in `team.db`, a file separate from the user's memory.

None of it is ever in claude-mem.db, so no rule, guard, export or sync can mistake a colleague's line for the
user's own. A line is shown only if its machine is trusted and nothing in it is suspicious. Everything here
except the user's choices can be fetched from the hub again.
"""

# ruff: noqa: S608  every statement is put together from names of ours

import hashlib
import json
import logging
import math
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage.files import connect
from claude_mem_lite.storage.models import ProjectFolder

log = logging.getLogger(__name__)

# Append only, as in `migrations`: `PRAGMA user_version` counts the steps.
_STEPS = (
    """
    CREATE TABLE machines (machine TEXT PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE trusted (machine TEXT PRIMARY KEY, key TEXT NOT NULL, name TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE streams (
        machine TEXT NOT NULL, project TEXT NOT NULL, generation TEXT NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (machine, project)
    ) WITHOUT ROWID;
    CREATE TABLE lines (
        pk INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, machine TEXT NOT NULL, project TEXT NOT NULL,
        generation TEXT NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL, signature TEXT NOT NULL,
        text TEXT NOT NULL, waits TEXT NOT NULL, line TEXT NOT NULL, is_told INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX idx_line_told ON lines(project, kind, at) WHERE is_told;
    CREATE INDEX idx_line_stream ON lines(machine, project, generation);
    CREATE INDEX idx_line_signature ON lines(project, kind, signature, at) WHERE is_told AND signature <> '';
    CREATE VIRTUAL TABLE lines_fts USING fts5(text, content='lines', content_rowid='pk', tokenize='porter');
    CREATE TRIGGER lines_added AFTER INSERT ON lines BEGIN
        INSERT INTO lines_fts (rowid, text) VALUES (new.pk, new.text); END;
    CREATE TRIGGER lines_gone AFTER DELETE ON lines BEGIN
        INSERT INTO lines_fts (lines_fts, rowid, text) VALUES ('delete', old.pk, old.text); END;
    CREATE TABLE blocked (id TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE shared (
        project TEXT PRIMARY KEY, project_dir TEXT NOT NULL, kinds TEXT NOT NULL, generation TEXT NOT NULL
        DEFAULT '', numbers TEXT NOT NULL DEFAULT '[]', forgotten INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE TABLE sent (
        project TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL,
        PRIMARY KEY (project, kind, id)
    ) WITHOUT ROWID;
    """,
)
_TOLD = (
    "SELECT l.id, t.name, l.kind, l.at, l.project, l.waits, l.line FROM lines AS l"
    " JOIN trusted AS t ON t.machine = l.machine WHERE l.is_told AND l.waits = '' AND l.project = ?"
)
_MOST_S = 0.1  # time limit of a query for colleagues' lines, so that they delay nothing
_STEPS_BETWEEN = 1_000  # SQLite virtual machine steps between two checks of the clock


@dataclass(frozen=True, slots=True)
class Shared:
    """A colleague's line: `author` is their trusted name, `at` UTC text, `waits` why it is not shown."""

    id: str
    author: str
    kind: str
    at: str
    project: str
    waits: str
    line: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Author:
    """A colleague's machine; `known_as` is the name it was trusted under, "" if it is not trusted."""

    machine: str
    name: str
    known_as: str
    lines: int
    waiting: int


def path() -> str:
    """Return the path of team.db."""
    return os.path.join(config.home(), "team.db")


def is_there() -> bool:
    """Tell whether this machine is in a team: whether team.db exists."""
    return os.path.exists(path())


@contextmanager
def writing() -> Iterator[sqlite3.Connection]:
    """Yield a connection in one write transaction that overwrites deleted bytes."""
    config.ensure_home()
    os.close(os.open(path(), os.O_WRONLY | os.O_CREAT, 0o600))
    with closing(connect(path(), timeout_s=30)) as connection:
        _migrate(connection)
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def purge() -> None:
    """Purge the bytes of deleted lines: rebuild the full text and rewrite the file."""
    with closing(connect(path(), timeout_s=30)) as connection:
        connection.execute("INSERT INTO lines_fts (lines_fts) VALUES ('rebuild')")
        connection.execute("VACUUM")


def delete() -> None:
    """Delete team.db: everything that colleagues have shared, and the user's choices."""
    for end in ("", "-journal"):
        if os.path.exists(path() + end):
            os.unlink(path() + end)


def line_id(machine: str, kind: str, own_id: str) -> str:
    """Return the local id of another machine's line; no machine can produce an id of another one."""
    return hashlib.sha256(json.dumps(["team", machine, kind, own_id]).encode()).hexdigest()[:32]


def key_of(project_dir: str) -> str:
    """Return the key of a project that is the same on every machine, "" if it has no `origin` and commit."""
    row = ProjectFolder.get_or_none(ProjectFolder.folder == project_dir)
    return str(row.key) if row else ""


def told(
    project_dir: str, kinds: Collection[str], *, limit: int, signatures: Collection[str] = ()
) -> list[Shared]:
    """Return the newest lines of trusted colleagues about a project, without an author's duplicates."""
    key, found = key_of(project_dir) if is_there() else "", list[Shared]()
    any_of = f" AND l.signature <> '' AND l.signature IN ({', '.join('?' * len(signatures))})"
    where = " AND l.kind = ?" + any_of * bool(signatures)
    for kind in kinds if key else ():
        values = [key, kind, *signatures]
        found += _rows(f"{_TOLD}{where} ORDER BY l.at DESC LIMIT ?", *values, limit)
    return sorted(found, key=lambda each: each.at, reverse=True)[:limit]


def found(project_dir: str, match: str, *, limit: int) -> list[Shared]:
    """Return the lines of trusted colleagues about a project that match an FTS5 query, best first."""
    matching = " JOIN lines_fts ON lines_fts.rowid = l.pk WHERE lines_fts MATCH ? AND"
    query = f"{_TOLD.replace(' WHERE', matching)} ORDER BY lines_fts.rank LIMIT ?"
    key = key_of(project_dir) if is_there() else ""
    return _rows(query, match, key, limit) if key else []


def opened(prefix: str, project_dir: str | None) -> list[Shared]:
    """Return at most five shown lines of a project (None: of any) whose id starts with `prefix`."""
    if not is_there():
        return []
    where = " AND l.id >= ? AND l.id < ? LIMIT 5"
    if project_dir is None:
        return _rows(f"{_TOLD.replace('l.project = ?', 'true')}{where}", prefix, f"{prefix}~")
    return _rows(f"{_TOLD}{where}", key_of(project_dir), prefix, f"{prefix}~")


def lines_of(machines: Collection[str], *, limit: int) -> list[Shared]:
    """Return what some machines have shared, trusted or not, newest first; for display to the user only."""
    marks = ", ".join("?" * len(machines))
    return _rows(
        "SELECT l.id, m.name, l.kind, l.at, l.project, l.waits, l.line FROM lines AS l"
        f" JOIN machines AS m ON m.machine = l.machine WHERE l.machine IN ({marks})"
        " ORDER BY l.at DESC LIMIT ?",
        *machines, limit, most_s=60.0,
    )  # fmt: skip


def authors() -> list[Author]:
    """Return the colleagues' machines known from the hub, by name."""
    rows = _read(
        "SELECT m.machine, m.name, coalesce(t.name, ''), count(l.pk), count(nullif(l.waits, ''))"
        " FROM machines AS m LEFT JOIN trusted AS t ON t.machine = m.machine"
        " LEFT JOIN lines AS l ON l.machine = m.machine GROUP BY m.machine ORDER BY m.name, m.machine"
    )
    return [Author(*row) for row in rows]


def wanted(is_wanted: Callable[[str, str, str], bool]) -> list[str]:
    """Return the ids of the lines for which `is_wanted` returns True, given id, project and line."""
    return [row[0] for row in _read("SELECT id, project, line FROM lines") if is_wanted(*row)]


def forget(ids: Collection[str]) -> None:
    """Delete lines for good: purge their bytes, and block them from coming back from the hub."""
    if ids:
        gone = [(each,) for each in ids]
        with writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO blocked VALUES (?)", gone)
            connection.executemany("DELETE FROM lines WHERE id = ?", gone)
        purge()


def ids_from(prefix: str) -> set[str]:
    """Return the ids of all lines, shown or not, that start with `prefix`."""
    return {each for (each,) in _read("SELECT id FROM lines WHERE id >= ? AND id < ?", prefix, f"{prefix}~")}


def trust(machine: str) -> None:
    """Trust a machine: show its lines, under its current name."""
    with writing() as connection:
        connection.execute(
            "INSERT OR IGNORE INTO trusted (machine, key, name) SELECT machine, key, name FROM machines"
            " WHERE machine = ?",
            (machine,),
        )
        connection.execute("UPDATE lines SET is_told = (waits = '') WHERE machine = ?", (machine,))


def distrust(machine: str) -> None:
    """Stop trusting a machine: show none of its lines."""
    with writing() as connection:
        connection.execute("DELETE FROM trusted WHERE machine = ?", (machine,))
        connection.execute("UPDATE lines SET is_told = 0 WHERE machine = ?", (machine,))


def _rows(query: str, *values: Any, most_s: float = _MOST_S) -> list[Shared]:
    """Return the lines that a query finds, none if it takes too long or the file is locked."""
    try:
        rows = list(_read(query, *values, most_s=most_s))
    except sqlite3.OperationalError as error:
        log.info("colleagues' lines were not read: %s", error)
        return []
    once: dict[tuple[str, str, str], Shared] = {}
    for each_id, author, kind, at, project, waits, line in rows:
        said = Shared(each_id, author, kind, at, project, waits, json.loads(line))
        once.setdefault((author, kind, json.dumps({**said.line, "id": ""})), said)
    return list(once.values())


def _read(query: str, *values: Any, most_s: float = math.inf) -> Iterator[Any]:
    """Yield the rows of a query, none if there is no file; it is interrupted after `most_s` seconds."""
    if not is_there():
        return
    until = time.monotonic() + most_s
    with closing(connect(path(), mode="ro")) as connection:
        connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS_BETWEEN)
        yield from connection.execute(query, values)


def _migrate(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(_STEPS):
        raise ClaudeMemError(f"{path()} was written by a newer version: upgrade claude-mem-lite")
    for number, script in enumerate(_STEPS[version:], version + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;")
