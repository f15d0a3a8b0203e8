"""Define peewee models of the tables in claude-mem.db, and of `pending_queue` in queue.db, read only.

`migrations` and `inbox` create the columns; a test checks that the models match them.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING
from urllib.parse import quote

from peewee import (
    BlobField,
    BooleanField,
    FloatField,
    ForeignKeyField,
    IntegerField,
    SqliteDatabase,
    TextField,
)

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.clients import CLAUDE_CODE
from claude_mem_lite.capture.fast_sqlite3 import Connection
from claude_mem_lite.storage.migrations import is_outdated, migrate
from claude_mem_lite.storage.rows import Json, Table

memory_database = SqliteDatabase(None, lock_type="IMMEDIATE")
queue_database = SqliteDatabase(None)


def open_databases(*, read_only: bool = False) -> None:
    """Point the models at the data directory; unless `read_only`, create what is missing there.

    An older schema is migrated in either case, so that no query reads columns that do not exist yet.

    Raises:
        ClaudeMemError: claude-mem.db belongs to another program or to a newer version.
    """
    close_databases()
    config.refuse_foreign_memory()
    if not read_only:
        config.ensure_home()
        migrate()
        with inbox.Transaction():
            pass
    else:
        if is_outdated():
            migrate()
        with contextlib.suppress(sqlite3.Error):  # the next read reports what is wrong
            inbox.bring_up_to_date()
    mode = "?mode=ro" if read_only else "?mode=rw"
    memory_database.init(
        f"file:{quote(config.memory_path())}{mode}",
        uri=True,
        timeout=10,
        pragmas={"foreign_keys": 1},
        factory=Connection,
    )
    queue_database.init(
        f"file:{quote(config.queue_path())}?mode=ro", uri=True, timeout=10, factory=Connection
    )


def close_databases() -> None:
    """Close this thread's connections."""
    for database in (memory_database, queue_database):
        if database.database is not None and not database.is_closed():
            database.close()


_TABLES = {
    "Session": "sessions", "Observation": "observations", "FunctionMapEntry": "function_map",
    "FunctionChange": "function_changes", "SourceFile": "source_files", "CallEdge": "call_graph",
    "Learning": "learnings", "LogEntry": "event_log", "RetiredName": "retired_names",
    "FailedCall": "failed_calls", "ProjectFolder": "project_folders", "State": "state",
    "PendingEvent": "pending_queue",
}  # fmt: skip


def _table_of(model: type[Table]) -> str:
    return _TABLES.get(model.__name__, "")


class _Table(Table):
    pk = IntegerField(primary_key=True)  # unless a model names another primary key

    class Meta:
        database = memory_database
        table_function = _table_of


class Session(_Table):
    """One session of a client (see `capture.clients`); `id` is assigned by the client."""

    id = TextField(unique=True)
    project_dir = TextField()
    branch = TextField(default="")
    client = TextField(default=CLAUDE_CODE)
    started_at = TextField()
    last_event_at = TextField()
    ended_at = TextField(null=True)
    status = TextField(default="active")
    summary = TextField(null=True)
    summarized_pk = IntegerField(default=0)
    observation_count = IntegerField(default=0)
    key_files = Json(default=list)
    key_decisions = Json(default=list)
    written_by = TextField(default="local")
    prompt_version = TextField(null=True)
    retold = TextField(null=True)
    retold_pk = IntegerField(default=0)
    upgrade = TextField(default="")
    upgrade_attempts = IntegerField(default=0)
    upgrade_due = TextField(default="")
    upgrade_note = TextField(null=True)
    embedding_status = TextField(default="pending")
    learned_pk = IntegerField(default=0)
    extracted_pk = IntegerField(default=0)
    state = Json(default=dict)


class Observation(_Table):
    """The compressed record of one capture, or a fold of several; `id` is that of the (first) event."""

    if TYPE_CHECKING:
        session_id: str

    id = TextField(unique=True)
    session = ForeignKeyField(Session, field="id", column_name="session_id")
    project_dir = TextField()
    branch = TextField(default="")
    client = TextField(default=CLAUDE_CODE)
    tool_name = TextField()
    title = TextField()
    summary = TextField()
    detail = TextField(null=True)
    files_touched = Json(default=list)
    functions_changed = Json(default=list)
    tokens_raw = IntegerField(default=0)
    tokens_compressed = IntegerField(default=0)
    created_at = TextField()
    tier = TextField(default="")
    written_by = TextField(default="local")
    prompt_version = TextField(null=True)
    upgrade = TextField(default="")
    upgrade_attempts = IntegerField(default=0)
    upgrade_due = TextField(default="")
    upgrade_note = TextField(null=True)
    batch = TextField(null=True)
    embedding_status = TextField(default="pending")


class FunctionMapEntry(_Table):
    """A function of a project; `session_id` is the session that last changed it, "" if none is known."""

    id = TextField(unique=True)
    session_id = TextField()
    project_dir = TextField()
    file_path = TextField()
    qualified_name = TextField()
    kind = TextField()
    signature = TextField()
    docstring = TextField(null=True)
    body_hash = TextField()
    decorators = Json(default=list)
    change_type = TextField(default="new")
    updated_at = TextField()
    line = IntegerField(default=0)
    end_line = IntegerField(default=0)
    embedding_status = TextField(default="pending")


class FunctionChange(_Table):
    """A change of a function ("new", "modified", "deleted") in a session, with its observation, if any."""

    project_dir = TextField()
    file_path = TextField()
    qualified_name = TextField()
    kind = TextField()
    signature = TextField()
    change_type = TextField()
    session_id = TextField()
    observation_id = TextField(null=True)
    created_at = TextField()


class SourceFile(_Table):
    """A source file as last read; if `error` is set, its functions are those of the last successful read."""

    project_dir = TextField()
    file_path = TextField()
    digest = TextField()
    lines = IntegerField()
    error = TextField(default="")
    packed = BlobField()
    updated_at = TextField()


class CallEdge(_Table):
    """A call from one function of a project to another, with a `confidence` from 0 to 1.

    `source` is "ast", "observation" or "claude"; what the source says is in `resolution`, `level`, `shape`
    and `line`. `observation_id` is the observation that confirmed the call last.
    """

    id = TextField(unique=True)
    project_dir = TextField()
    caller_file = TextField()
    caller_function = TextField()
    callee_file = TextField()
    callee_function = TextField()
    resolution = TextField()
    confidence = FloatField(default=1.0)
    times_confirmed = IntegerField(default=0)
    last_confirmed_at = TextField(null=True)
    source = TextField(default="ast")
    session_id = TextField()
    created_at = TextField()
    level = TextField(default="")
    shape = TextField(default="")
    line = IntegerField(default=0)
    observation_id = TextField(null=True)


class Learning(_Table):
    """Knowledge for later sessions; without `project_dir` it is global.

    `source_sessions` and `observations` are ids that support it; `code` is the code it is about (see
    `learnings.anchors`). `quarantine` says why it waits, inactive, for the user, `superseded_by` which one
    replaced it, `stale` which code has changed. `kin` are ids of learnings of other projects that say the
    same. `guard` is what of it is checked on tool calls (see `guards.Guard`), "" for nothing.
    """

    id = TextField(unique=True)
    project_dir = TextField(null=True)
    category = TextField()
    content = TextField()
    confidence = FloatField(default=0.5)
    times_seen = IntegerField(default=1)
    source_sessions = Json(default=list)
    observations = Json(default=list)
    code = Json(default=list)
    is_manual = BooleanField(default=False)
    is_active = BooleanField(default=True)
    quarantine = Json(default=list)
    superseded_by = TextField(null=True)
    stale = TextField(default="")
    kin = Json(default=list)
    guard = TextField(default="")
    created_at = TextField()
    updated_at = TextField()
    seen_at = TextField()
    embedding_status = TextField(default="pending")


class LogEntry(_Table):
    """An entry of the event log: one finished job with its duration and tokens, or another event."""

    id = TextField(unique=True)
    session_id = TextField(null=True)
    event_type = TextField()
    data = Json(default=dict)
    duration_ms = IntegerField(null=True)
    tokens_in = IntegerField(null=True)
    tokens_out = IntegerField(null=True)
    created_at = TextField()


class RetiredName(_Table):
    """A name that an edit removed from a project's code, with its replacement, if known.

    `beside` is the setting that had the name as its value, "" for a plain name; `is_gone` says that no file
    of the work tree has it any more.
    """

    project_dir = TextField()
    name = TextField()
    beside = TextField(default="")
    replacement = TextField(default="")
    session_id = TextField()
    observation_id = TextField()
    retired_at = TextField()
    is_gone = BooleanField(default=False)


class FailedCall(_Table):
    """A failed call, with what worked instead and in which event; see `distill.failing`.

    `shape` is the command without its numbers; `is_cured` says that the same command has succeeded since.
    """

    event_id = TextField()
    project_dir = TextField()
    session_id = TextField()
    failed_at = TextField()
    command = TextField()
    shape = TextField()
    error = TextField()
    signature = TextField()
    rule = TextField(default="")
    works = TextField(default="")
    works_id = TextField(default="")
    is_cured = BooleanField(default=False)


class ProjectFolder(_Table):
    """A folder that is worked in, a work tree or a clone, and the project that it belongs to.

    A project is identified by the folder that it was first seen in. `key` is derived from its `origin`, or is
    its first commit: see `repository.key` and `first_commit`.
    """

    folder = TextField(primary_key=True)
    project_dir = TextField()
    key = TextField(default="")
    seen_at = TextField()


class State(_Table):
    """One fact that the processes share, as JSON under its name."""

    name = TextField(primary_key=True)
    value = Json()


class PendingEvent(_Table):
    """One event as stored; `status` is raw, done, error or that of an import (`inbox`), `note` says why."""

    seq = IntegerField(primary_key=True)
    id = TextField(unique=True)
    session_id = TextField()
    event_name = TextField()
    tool_name = TextField()
    project_dir = TextField()
    raw_output = TextField()
    files_touched = Json()
    priority = TextField()
    status = TextField()
    attempts = IntegerField()
    note = TextField(null=True)
    created_at = TextField()
    finished_at = TextField(null=True)
    work_tree = TextField(default="")
    branch = TextField(default="")

    class Meta:
        database = queue_database
