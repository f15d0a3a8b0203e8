"""Define the tables as peewee models: in claude-mem.db, but for `pending_queue` of queue.db, read only.

The columns are made by `migrations` and `inbox`; a test holds the models to them.
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

    An older schema is brought up to date in either case, so that nobody reads columns that are not there yet.

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
        with contextlib.suppress(sqlite3.Error):  # who reads it next says what is wrong
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
    pk = IntegerField(primary_key=True)  # of a table that names no other

    class Meta:
        database = memory_database
        table_function = _table_of


class Session(_Table):
    """One session of a client, see `capture.clients`; `id` is the client's own."""

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
    """What one capture, or a fold of several, came down to; `id` is the (first) event's."""

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
    """A function of a project as the session that changed it last left it; "" where none is known."""

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
    """What became of a function in a session ("new", "modified", "deleted") by which observation, if any."""

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
    """A source as it was last read; with an `error` its functions are those of the last good reading."""

    project_dir = TextField()
    file_path = TextField()
    digest = TextField()
    lines = IntegerField()
    error = TextField(default="")
    packed = BlobField()
    updated_at = TextField()


class CallEdge(_Table):
    """One function of a project calls another, as sure as `confidence` (0 to 1).

    `source` is "ast" or "observation"; what the source says is in `resolution`, `level`, `shape` and `line`,
    and `observation_id` is what confirmed it last.
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
    """What is worth knowing in later sessions; without `project_dir` it holds everywhere.

    `source_sessions` and `observations` are ids that support it, `code` what of the code map it speaks of
    (see `learnings.anchors`). `quarantine` says why it waits for the user (it is not active then),
    `superseded_by` what holds instead, `stale` what of the code has changed. `kin` are ids of other projects
    that say the same. `guard` is what is checked of it on tool calls (see `guards.Guard`), "" for nothing.
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
    """One finished job, its cost and its time."""

    id = TextField(unique=True)
    session_id = TextField(null=True)
    event_type = TextField()
    data = Json(default=dict)
    duration_ms = IntegerField(null=True)
    tokens_in = IntegerField(null=True)
    tokens_out = IntegerField(null=True)
    created_at = TextField()


class RetiredName(_Table):
    """A name that an edit took out of a project's code, and what stands there instead, if that is known.

    `beside` is the setting of which the name was the value, "" for a name of its own; `is_gone` says that no
    file of the work tree has it any more.
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
    """A call that failed, with what worked instead, in which event; see `distill.failing`.

    `shape` is the command without its numbers; `is_cured` says that it has succeeded since, as it was.
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

    A project is known by the folder that it was first seen in; `key` is what its `origin` says, or its first
    commit: see `repository.key` and `first_commit`.
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
    """One event as a hook stored it: `status` is raw, done or error, `note` says why."""

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
