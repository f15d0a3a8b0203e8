"""Append a hook's event and its Huey message to queue.db, in one transaction.

Standard library only, because every hook loads it. `backlog` requeues the rows that wait, `storage.pruning`
and `forget.store` delete rows, `storage.queries` reads them; `tasks.broker` is the consumer's side of the
task table.
"""

from __future__ import annotations

import os
import time

from claude_mem_lite import config
from claude_mem_lite.capture import priority

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from claude_mem_lite.capture.fast_sqlite3 import Connection

    Place = tuple[str, str, str]
else:
    from claude_mem_lite.capture.fast_sqlite3 import Connection, sqlite3

QUEUE_NAME = "claude-mem"
COMPRESS = "claude_mem_lite.tasks.compress.compress"
SUMMARIZE = "claude_mem_lite.tasks.summarize.summarize"
SHOWN = "claude_mem_lite.tasks.shown.shown"
EMBED = "claude_mem_lite.tasks.embed.embed"
PRIORITIES = {"high": 30, "normal": 20, "low": 10}
# Priorities of events that waited before the consumer started, or are retried: after all new events, in the
# order in which they happened, and before Claude's rewrites and the vectors.
BEHIND = {"high": 9, "normal": 8, "low": 7}

# A hook may wait this long for the lock, once; then the event goes to the spool.
_LOCK_TIMEOUT_S = 0.25

# Statuses of imported events: left to the import itself; processed; to be processed again, because the memory
# was lost. Only the last gets a message.
IMPORT, IMPORTED, REIMPORT = "import", "imported", "reimport"
# The rows that get a message.
WAITING = ("raw", REIMPORT)

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS pending_queue (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL,
        event_name TEXT NOT NULL,
        tool_name TEXT NOT NULL DEFAULT '',
        project_dir TEXT NOT NULL,
        raw_output TEXT NOT NULL,
        files_touched TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(files_touched)),
        priority TEXT NOT NULL DEFAULT 'normal',
        status TEXT NOT NULL DEFAULT 'raw',
        attempts INTEGER NOT NULL DEFAULT 0,
        note TEXT,
        created_at TEXT NOT NULL,
        finished_at TEXT,
        work_tree TEXT NOT NULL DEFAULT '',
        branch TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX IF NOT EXISTS idx_queue_status ON pending_queue(status, priority, created_at)",
    "CREATE INDEX IF NOT EXISTS idx_queue_session ON pending_queue(session_id, seq)",
    # Huey's own task table and three columns: when a row is due, whether a worker has it, and how many
    # consumers have died while they had it.
    """CREATE TABLE IF NOT EXISTS task (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        queue TEXT NOT NULL,
        data BLOB NOT NULL,
        priority REAL NOT NULL DEFAULT 0.0,
        due REAL NOT NULL DEFAULT 0.0,
        claimed INTEGER NOT NULL DEFAULT 0,
        crashes INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX IF NOT EXISTS task_next ON task(queue, claimed, priority DESC, id)",
)

# Columns that the table of an older version lacks, and its schema.
_ADDED = ("work_tree", "branch")
_LACKING = "".join(f",\n        {name} TEXT NOT NULL DEFAULT ''" for name in _ADDED)
OLDER_SCHEMA = tuple(statement.replace(_LACKING, "") for statement in SCHEMA)
_IS_CURRENT = (
    "SELECT 1 FROM sqlite_master WHERE name = 'task_next'"
    " AND EXISTS (SELECT 1 FROM pragma_table_info('pending_queue') WHERE name = 'branch')"
)

ERROR_CHARS = 3_000
# The fields that are read from an event's JSON. A tool names its file in one of three ways.
_FIELDS = {
    "session_id": "$.session_id",
    "event_name": "$.hook_event_name",
    "tool_name": "$.tool_name",
    "agent_id": "$.agent_id",
    "agent_type": "$.agent_type",
    "command": "$.tool_input.command",
    "prompt": "$.prompt",
    "source": "$.source",
    "idle_s": "$.seconds_since_last_response",
    "file_path": "$.tool_input.file_path",
    "notebook_path": "$.tool_input.notebook_path",
    "response_path": "$.tool_response.filePath",
}
# Events not worth storing: a Stop that a Stop hook caused, and a sub-agent without a type, which is the
# client's own compaction. Only the event's own fields count: a tool's input may use the same names.
_SAYS_NOTHING = (
    "CASE json_extract(:event, '$.hook_event_name')"
    " WHEN 'Stop' THEN json_type(:event, '$.stop_hook_active') = 'true'"
    " WHEN 'SubagentStop' THEN json_type(:event, '$.stop_hook_active') = 'true'"
    " OR json_extract(:event, '$.agent_type') = '' END"
)
_ASKED = {name: f"json_extract(:event, '{path}')" for name, path in _FIELDS.items()}
_ERROR = "json_extract(:event, '$.error')"
_ASKED["error"] = (
    f"CASE WHEN length({_ERROR}) <= {ERROR_CHARS} THEN {_ERROR} ELSE substr({_ERROR}, 1, {ERROR_CHARS // 2})"
    f" || char(10) || substr({_ERROR}, -{ERROR_CHARS // 2}) END"
)
_ASKED["says_nothing"] = f"nullif({_SAYS_NOTHING}, 0)"
# Blobs, because a lone surrogate in the JSON makes a text that Python would refuse to decode.
_EXTRACT = "SELECT {} WHERE json_type(:event) = 'object'".format(
    ", ".join(f"CAST({asked} AS BLOB)" for asked in _ASKED.values())
)
_INSERT_EVENT = (
    "INSERT OR IGNORE INTO pending_queue (id, created_at, project_dir, raw_output, session_id, event_name,"
    " tool_name, files_touched, priority, status, work_tree, branch)"
    " VALUES (:id, :created_at, :project_dir, :raw_output, :session_id, :event_name, :tool_name,"
    " CASE WHEN :file = '' THEN '[]' ELSE json_array(:file) END, :priority, :status, :work_tree, :branch)"
)
# The message in the format of tasks.broker.JsonSerializer; a contract test holds the two together.
_INSERT_MESSAGE = (
    "INSERT INTO task (queue, data, priority) SELECT :queue,"  # noqa: S608
    " CAST(json_object('id', id, 'name', :name, 'priority', :priority, 'args', json_array(id)) AS BLOB),"
    f" :priority FROM pending_queue WHERE id = :id AND status IN {WAITING}"
)


class NotAnEventError(ValueError):
    """The input is no JSON object, so there is nothing to store."""


def append(
    event: str,
    project_dir: str,
    fields: dict[str, str] | None = None,
    *,
    work_tree: str = "",
    branch: str = "",
) -> str:
    """Store one event with the message that will compress it, both or neither; return the event's id.

    `event` is the redacted JSON text of a hook's stdin; `fields` is the result of `parse(event)`, if known.
    `work_tree` is "" if it is the project's own folder. If queue.db is locked for longer than 250 ms,
    unwritable or corrupt, the event goes to a file in the spool instead.

    Raises:
        NotAnEventError: `event` is not a JSON object.
        OSError: neither queue.db nor the spool could be written.
    """
    event_id, created_at = os.urandom(16).hex(), utc_now()
    work_tree = "" if work_tree == project_dir else work_tree
    place = (project_dir, work_tree, branch)
    row = event_row(event_id, created_at, place, event, fields or parse(event))
    try:
        with HookTransaction() as connection:
            insert_event(connection, row)
    except sqlite3.Error:
        from claude_mem_lite.capture import spool

        spool.write(event_id, created_at, place, event)
    else:
        ring()
    return event_id


def append_import(events: list[tuple[str, str, Place, str]]) -> None:
    """Store events of an import, (id, time, place, redacted JSON) each, all or none, without a message.

    Existing rows stay unchanged. Raises: NotAnEventError.
    """
    rows = [event_row(*event, parse(event[-1]), status=IMPORT) for event in events]
    with Transaction() as connection:
        connection.executemany(_INSERT_EVENT, rows)


def parse(event: str) -> dict[str, str]:
    """Return an event's fields by name, each "" where the event has none.

    They are `session_id`, `event_name`, `tool_name`, `agent_id`, `agent_type`, `command`, `prompt`, `source`,
    `idle_s`, `file_path`, `error` (of a long one, both ends) and `says_nothing`, which is "1" for an event
    that is not worth storing. SQLite reads the JSON: that costs 1 ms, `import json` four to five.

    Raises: NotAnEventError: `event` is not a JSON object.
    """
    parser = sqlite3.connect(":memory:")
    try:
        blobs = parser.execute(_EXTRACT, {"event": event}).fetchone()
    except (sqlite3.Error, UnicodeEncodeError) as error:
        raise NotAnEventError from error
    finally:
        parser.close()
    if blobs is None:
        raise NotAnEventError
    values = [(blob or b"").decode("utf-8", "replace") for blob in blobs]
    fields = dict(zip(_ASKED, values, strict=True))
    fields["session_id"] = fields["session_id"] or "unknown"
    notebook, response = fields.pop("notebook_path"), fields.pop("response_path")
    fields["file_path"] = fields["file_path"] or notebook or response
    return fields


class Transaction:
    """One write transaction on queue.db, with its tables created where they are missing."""

    def __init__(self, *, timeout_s: float = 10.0) -> None:
        self._connection = connect(timeout_s=timeout_s)

    def __enter__(self) -> sqlite3.Connection:
        """Begin, and return the connection."""
        try:
            create_schema(self._connection)
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error:
            self._connection.close()
            raise
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        """Commit, or roll back after an exception."""
        try:
            self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
        finally:
            # Not left to the end of the process: an unclosed connection leaves a write-ahead log, which the
            # next hook would have to read from start to end before it can write.
            self._connection.close()


class HookTransaction(Transaction):
    """A transaction that waits briefly for the lock; not at all if the process's last one waited in vain."""

    _timeout_s = _LOCK_TIMEOUT_S

    def __init__(self) -> None:
        super().__init__(timeout_s=self._timeout_s)

    def __enter__(self) -> sqlite3.Connection:
        """Begin, and return the connection."""
        try:
            connection = super().__enter__()
        except sqlite3.Error:
            HookTransaction._timeout_s = 0.0
            raise
        HookTransaction._timeout_s = _LOCK_TIMEOUT_S
        return connection


def connect(*, timeout_s: float = 10.0) -> sqlite3.Connection:
    """Return a connection to queue.db outside of any transaction."""
    path = config.queue_path()
    return sqlite3.connect(path, timeout=timeout_s, isolation_level=None, factory=Connection)


def bring_up_to_date() -> None:
    """Add the tables and columns that queue.db lacks, if it exists. Raises: sqlite3.Error."""
    if os.path.exists(config.queue_path()):
        connection = connect()
        try:
            create_schema(connection)
        finally:
            connection.close()


def create_schema(connection: sqlite3.Connection) -> None:
    """Create the tables and columns that queue.db lacks; safe when several processes do it at once."""
    if connection.execute(_IS_CURRENT).fetchone():
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        connection.execute(statement)
    there = {row[0] for row in connection.execute("SELECT name FROM pragma_table_info('pending_queue')")}
    for name in _ADDED:
        if name not in there:
            connection.execute(f"ALTER TABLE pending_queue ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    connection.execute("COMMIT")


def ring() -> bool:
    """Wake the consumer, and return whether one listens."""
    try:
        pipe = os.open(config.doorbell_path(), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False  # the consumer looks for itself when it starts
    try:
        os.write(pipe, b"!")
    except OSError:
        pass  # the pipe is full of rings already, or the consumer has just ended
    finally:
        os.close(pipe)
    return True


def finish(event_id: str, *, note: str | None = None, status: str = "done") -> None:
    """Mark an event as `done` or `error`; `note` says why there is no observation, or what failed."""
    finish_all([(note, event_id)], status=status)


def finish_all(notes: list[tuple[str | None, str]], *, status: str = "done") -> None:
    """Mark events as `finish` does, in one transaction; `notes` has (note, event id) for each."""
    now = utc_now()
    with Transaction() as connection:
        connection.executemany(
            "UPDATE pending_queue SET status = ?, note = ?, finished_at = ?, attempts = attempts + 1"
            " WHERE id = ?",
            [(status, note, now, event_id) for note, event_id in notes],
        )


def enqueue(task: str, *arguments: Any, priority: str = "normal", is_hook: bool = False) -> int:
    """Add a message for a task of the consumer, by the task's dotted name; return the message's number.

    With `is_hook` it waits for the lock no longer than a hook may.
    """
    import json

    urgency = PRIORITIES[priority]
    message = {"id": os.urandom(16).hex(), "name": task, "priority": urgency, "args": arguments}
    with HookTransaction() if is_hook else Transaction() as connection:
        number = connection.execute(
            "INSERT INTO task (queue, data, priority) VALUES (?, CAST(? AS BLOB), ?)",
            (QUEUE_NAME, json.dumps(message), urgency),
        ).lastrowid
    return number or 0


def ask_for_vectors() -> None:
    """Have rows that were just stored embedded now; on its own the consumer looks for them each minute."""
    enqueue(EMBED, priority="low")
    ring()


def utc_now() -> str:
    """Return the time as `2026-11-21T03:00:25.123456Z`: fixed width, so that text order is time order."""
    return _utc_text(time.time_ns())


def utc_text(at: float) -> str:
    """Return a time in Unix seconds as `utc_now` writes it."""
    return _utc_text(round(at * 1_000_000) * 1_000)


def unix_time(text: str) -> float:
    """Return the Unix seconds of a time as `utc_now` writes it; 0 for none."""
    import calendar

    if not text:
        return 0.0
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(f"0{text[19:-1]}")


def _utc_text(at_ns: int) -> str:
    seconds, nanoseconds = divmod(at_ns, 1_000_000_000)
    # Some C libraries write a year before 1000 with less than four digits.
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).zfill(19)
    return f"{text}.{nanoseconds // 1000:06}Z"


def event_row(  # noqa: PLR0913, PLR0917  (the columns)
    event_id: str, created_at: str, place: Place, event: str, fields: dict[str, str], status: str = "raw"
) -> dict[str, str]:
    """Return the parameters of _INSERT_EVENT; `fields` is the result of `parse(event)`.

    `place` is project, work tree and branch; the work tree is "" if it is the project's own folder.
    """
    project_dir, work_tree, branch = place
    event_name, tool_name = fields["event_name"], fields["tool_name"]
    urgency = priority.priority(tool_name, fields["command"]) if tool_name else "normal"
    if event_name in {"SessionEnd", "PreCompact"}:
        urgency = "high"
    return {
        "id": event_id, "created_at": created_at, "project_dir": project_dir, "raw_output": event,
        "session_id": fields["session_id"], "event_name": event_name, "tool_name": tool_name,
        "file": fields["file_path"], "priority": urgency, "status": status, "work_tree": work_tree,
        "branch": branch,
    }  # fmt: skip


def insert_event(connection: sqlite3.Connection, row: dict[str, str]) -> None:
    """Write the row of an event, and its message."""
    connection.execute(_INSERT_EVENT, row)
    insert_message(connection, row["id"], row["priority"])


def insert_message(
    connection: sqlite3.Connection, event_id: str, priority: str, numbers: dict[str, int] = PRIORITIES
) -> None:
    """Enqueue the message that has an event compressed, unless its row is finished."""
    number = numbers.get(priority, numbers["normal"])
    message = {"queue": QUEUE_NAME, "name": COMPRESS, "priority": number, "id": event_id}
    connection.execute(_INSERT_MESSAGE, message)
