"""Query the rows that a session's context is built from, and record which lines were shown and used.

The record is in `event_log`. Each block has an entry `context.shown` with `via`, the `ids` of its lines,
`also` (further ids that the lines cover), `parts` (ids that are covered only in part), `tokens` and `files`;
a fallback block adds the `source` and the time (`at`) of the session start. Each session has one entry
`context.used`, which maps an id to how it was used: "opened", "named" or "touched".
"""

import hashlib
import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from peewee import fn

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import DatabaseError
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.models import (
    CallEdge,
    Learning,
    LogEntry,
    Observation,
    PendingEvent,
    Session,
    memory_database,
    queue_database,
)

SHOWN, USED = "context.shown", "context.used"
COMPACT = "compact"
# Values of `via`: the short block of a session start whose full block was not available, a block for a
# sub-agent, one for a prompt, and one that came too late for its prompt.
FALLBACK, SUBAGENT, RECALL, LATE = "fallback", "subagent", "recall", "late"
# Tools that only look at files or lists: their observations appear in search results, not in context.
LOOKS = ("Read", "Grep", "Glob", "LS", "NotebookRead", "ToolSearch", "TodoWrite", "TaskCreate")
_NEWEST_FIRST = (Observation.created_at.desc(), Observation.pk.desc())
_ABOUT_FILE = 12  # observations
_NEWEST = 1_000  # newest events, or messages, that are searched
_ANY_AGENT = "general-purpose"  # the agent type of a call that names none
_STEPS = 20_000  # SQLite virtual machine steps between two checks of the clock, well below a millisecond


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt this thread's queries on the memory once the context has lasted for `seconds`.

    Raises:
        DatabaseError: a query was interrupted.
    """
    connection, until = memory_database.connection(), time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:  # raised while a cursor is read, where peewee does not wrap it
        raise DatabaseError(str(error)) from error
    finally:
        connection.set_progress_handler(None, 0)


def sessions(project_dir: str, *, without: str = "", branch: str = "", limit: int) -> list[Session]:
    """Return a project's sessions with observations or a summary, newest first.

    Only the columns that a context line needs are read. `branch` limits the sessions to that branch.
    """
    columns = (
        Session.id, Session.last_event_at, Session.status, Session.summary, Session.observation_count,
        Session.branch, Session.written_by, Session.state, Session.started_at,
    )  # fmt: skip
    rows = Session.select(*columns).where(
        (Session.project_dir == project_dir)
        & (Session.id != without)
        & ((Session.observation_count > 0) | (Session.summary != ""))
    )
    rows = rows.where(Session.branch == branch) if branch else rows
    return list(rows.order_by(Session.last_event_at.desc(), Session.pk.desc()).limit(limit))


def began(project_dir: str, *, sessions_ago: int) -> str:
    """Return when the `sessions_ago`-th newest session of a project began, "" if it has fewer."""
    rows = Session.select(Session.started_at).where(
        (Session.project_dir == project_dir) & (Session.observation_count > 0)
    )
    return str(rows.order_by(Session.last_event_at.desc()).offset(sessions_ago - 1).limit(1).scalar() or "")


def observations(project_dir: str, sessions: Collection[str], *, limit: int) -> list[Observation]:
    """Return some sessions' observations in a project without LOOKS, newest first, as lines need them."""
    columns = (
        Observation.id, Observation.session, Observation.tool_name, Observation.title, Observation.summary,
        Observation.files_touched, Observation.created_at, Observation.written_by,
    )  # fmt: skip
    rows = Observation.select(*columns).where(
        (Observation.project_dir == project_dir)
        & Observation.session.in_(list(sessions))
        & Observation.tool_name.not_in(LOOKS)
    )
    return list(rows.order_by(*_NEWEST_FIRST).limit(limit))


def answers_between(project_dir: str, start: str, end: str) -> list[Observation]:
    """Return session and time of the assistant's final messages (Stop) between two times."""
    rows = Observation.select(Observation.session, Observation.created_at).where(
        (Observation.project_dir == project_dir)
        & Observation.created_at.between(start, end)
        & (Observation.tool_name == "Stop")
    )
    return list(rows)


def learnings(project_dir: str, *, least: float, since: str = "", limit: int) -> list[Learning]:
    """Return the learnings of a project and global ones, highest confidence first, stale ones last.

    Superseded learnings and those waiting for the user's approval are left out.
    """
    is_current = learning_rows.here(project_dir) & learning_rows.CURRENT
    is_told = (Learning.confidence >= least) & (Learning.updated_at > since)
    order = (Learning.stale != "", Learning.confidence.desc(), Learning.updated_at.desc())
    return Learning.rows(is_current, is_told, by=order, limit=limit)


def about_file(project_dir: str, path: str, *, without: str) -> list[Observation]:
    """Return the newest 12 observations that touched a file, newest first, without LOOKS."""
    phrase = path.replace('"', '""')
    query = (
        "SELECT t.id FROM observations_fts CROSS JOIN observations AS t ON t.pk = observations_fts.rowid"
        " WHERE observations_fts MATCH ? AND t.project_dir = ? AND t.session_id <> ?"
        " AND t.tool_name NOT IN (SELECT value FROM json_each(?))"
        " AND EXISTS (SELECT 1 FROM json_each(t.files_touched) AS file WHERE file.value = ?)"
        " ORDER BY observations_fts.rowid DESC LIMIT ?"
    )
    parameters = (f'files_touched:"{phrase}"', project_dir, without, json.dumps(LOOKS), path, _ABOUT_FILE)
    ids = [row_id for (row_id,) in memory_database.execute_sql(query, parameters)]
    return Observation.rows(Observation.id.in_(ids), by=_NEWEST_FIRST)


def callers(project_dir: str, path: str, names: Collection[str], *, least: float) -> list[CallEdge]:
    """Return the calls from other files to some functions of a file, highest confidence first."""
    return CallEdge.rows(
        CallEdge.project_dir == project_dir,
        CallEdge.callee_file == path,
        CallEdge.callee_function.in_(list(names)),
        CallEdge.caller_file != path,
        CallEdge.confidence >= least,
        by=(CallEdge.confidence.desc(), CallEdge.caller_file, CallEdge.line),
    )


def cleared_session(project_dir: str, *, since: str) -> str:
    """Return the session that the user cleared most recently since a time, "" for none."""
    row = (
        PendingEvent.select(PendingEvent.session_id)
        .where(
            (PendingEvent.seq > PendingEvent.select(fn.MAX(PendingEvent.seq) - _NEWEST).scalar())
            & (PendingEvent.project_dir == project_dir)
            & (PendingEvent.event_name == "SessionEnd")
            & (PendingEvent.created_at >= since)
            & (fn.json_extract(PendingEvent.raw_output, "$.reason") == "clear")
        )
        .order_by(PendingEvent.seq.desc())
        .first()
    )
    return row.session_id if row else ""


def newest_project(*, since: str) -> str:
    """Return the project of the newest event, "" if that event is older than `since`."""
    row = PendingEvent.select(PendingEvent.project_dir, PendingEvent.created_at)
    newest = row.order_by(PendingEvent.seq.desc()).first()
    return newest.project_dir if newest and newest.created_at >= since else ""


def task_of(session_id: str, agent_id: str, agent_type: str, *, since: str) -> str:
    """Return the task of a sub-agent that is starting, "" if it is unknown.

    A sub-agent's start event does not name its task. So the tool calls and the starts since `since` are read
    in order, and each start is matched with the oldest unmatched call for its agent type.
    """
    rows = PendingEvent.select(PendingEvent.event_name, PendingEvent.raw_output).where(
        (PendingEvent.session_id == session_id)
        & (PendingEvent.created_at >= since)
        & PendingEvent.event_name.in_(("PreToolUse", "SubagentStart"))
    )
    calls: list[tuple[str, str]] = []
    for row in rows.order_by(PendingEvent.seq):
        event = json.loads(row.raw_output)
        if row.event_name == "PreToolUse":
            given = event.get("tool_input")
            kind, task = map(given.get, ("subagent_type", "prompt")) if isinstance(given, dict) else ("", "")
            calls.append((str(kind or _ANY_AGENT), task if isinstance(task, str) else ""))
            continue
        task = _take(calls, str(event.get("agent_type")))
        if event.get("agent_id") == agent_id:
            return task
    return _take(calls, agent_type)


def _take(calls: list[tuple[str, str]], agent_type: str) -> str:
    at = next((at for at, (kind, _) in enumerate(calls) if kind == agent_type), None)
    return "" if at is None else calls.pop(at)[1]


def plan_events(project_dir: str, session_id: str, *, since: str) -> list[dict[str, Any]]:
    """Return the events that changed a session's plan (its to-do list or its tasks), oldest first.

    The list is empty if the plan was not changed after `since` (UTC text).
    """
    rows = PendingEvent.select(PendingEvent.raw_output, PendingEvent.created_at).where(
        (PendingEvent.project_dir == project_dir)
        & (PendingEvent.session_id == session_id)
        & PendingEvent.tool_name.in_(("TodoWrite", "TaskCreate", "TaskUpdate"))
        & (PendingEvent.event_name == "PostToolUse")
    )
    events = list(rows.order_by(PendingEvent.seq))
    return [json.loads(row.raw_output) for row in events] if events and events[-1].created_at > since else []


def branch_of(session_id: str) -> str:
    """Return the branch of a session's last event, "" if it is unknown."""
    row = PendingEvent.select(PendingEvent.branch).where(PendingEvent.session_id == session_id)
    newest = row.order_by(PendingEvent.seq.desc()).first() if session_id else None
    return newest.branch if newest else ""


def commands(session_id: str) -> list[tuple[str, str]]:
    """Return the shell commands of a session, each with its time, in order."""
    given = fn.json_extract(PendingEvent.raw_output, "$.tool_input.command")
    rows: Any = PendingEvent.select(PendingEvent.created_at, given).where(
        (PendingEvent.session_id == session_id) & (PendingEvent.tool_name == "Bash")
    )
    rows = rows.order_by(PendingEvent.seq).tuples()
    return [(at, command) for at, command in rows if isinstance(command, str)]


def own_ids(session_id: str) -> set[str]:
    """Return the ids already in a session's context: its own, and its observations since it was compacted."""
    query = (
        "SELECT id FROM observations WHERE session_id = ? AND created_at > coalesce((SELECT max(created_at)"
        " FROM event_log WHERE session_id = ? AND event_type = ? AND json_extract(data, '$.via') = ?), '')"
    )
    rows = memory_database.execute_sql(query, (session_id, session_id, SHOWN, COMPACT))
    return {session_id, *(row_id for (row_id,) in rows)}


@dataclass(frozen=True, slots=True)
class About:
    """What a row is about: files relative to the project, and the last parts of function names."""

    files: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


def about(row_id: str) -> About:
    """Return the files and functions of the observation or session with an id."""
    row = Observation.get_or_none(Observation.id == row_id)
    if row is not None:
        names = (str(change.get("qualified_name", "")) for change in row.functions_changed)
        return About(tuple(row.files_touched), tuple(name.rpartition(".")[2] for name in names))
    session = Session.get_or_none(Session.id == row_id)
    return About(tuple(session.key_files)) if session else About()


def note_shown(session_id: str, shown: Mapping[str, Any], *, at: str) -> None:
    """Record that a session was shown a block; recording it twice changes nothing."""
    key = json.dumps([session_id, at, shown], sort_keys=True)
    LogEntry.insert(
        id=hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32],
        event_type=SHOWN,
        session_id=session_id,
        data=dict(shown),
        created_at=at,
    ).on_conflict_ignore().execute()


def shown_in(session_id: str) -> list[LogEntry]:
    """Return the blocks that a session was shown, oldest first."""
    is_it = (LogEntry.session_id == session_id) & (LogEntry.event_type == SHOWN)
    return LogEntry.rows(is_it, by=(LogEntry.created_at, LogEntry.pk))


def shown_waiting(session_id: str) -> list[dict[str, Any]]:
    """Return the blocks shown to a session that the consumer has not recorded yet, oldest first."""
    query = (
        "SELECT json_extract(data, '$.args[1]') FROM (SELECT id, data FROM task"
        " WHERE queue = ? AND priority = ? ORDER BY id DESC LIMIT ?)"
        " WHERE json_extract(data, '$.name') = ? AND json_extract(data, '$.args[0]') = ? ORDER BY id"
    )
    high = inbox.PRIORITIES["high"]
    rows = queue_database.execute_sql(query, (inbox.QUEUE_NAME, high, _NEWEST, inbox.SHOWN, session_id))
    return [json.loads(block) for (block,) in rows]


def told_of_others(session_id: str) -> list[str]:
    """Return the texts of tool observations and session summaries that a session was shown."""
    ids = {
        row_id for row in shown_in(session_id) for key in ("ids", "also") for row_id in row.data.get(key, ())
    }
    is_tools = Observation.tool_name.not_in(["UserPromptSubmit", "Stop"])
    tools = Observation.rows(Observation.id.in_(sorted(ids)), is_tools)
    sessions = Session.select(Session.summary).where(Session.id.in_(sorted(ids)))
    return [
        *(f"{row.title}\n{row.summary}\n{row.detail or ''}" for row in tools),
        *(row.summary or "" for row in sessions),
    ]


def save_used(session_id: str, used: Mapping[str, str]) -> None:
    """Record which ids a session used and how, replacing its earlier record."""
    with memory_database.atomic():
        LogEntry.delete().where((LogEntry.session_id == session_id) & (LogEntry.event_type == USED)).execute()
        LogEntry.create(
            id=hashlib.sha256(f"{USED} {session_id}".encode()).hexdigest()[:32],
            event_type=USED,
            session_id=session_id,
            data=dict(used),
            created_at=inbox.utc_now(),
        )


def used_in(session_id: str) -> dict[str, str]:
    """Return which ids a session used, and how."""
    row = LogEntry.get_or_none((LogEntry.session_id == session_id) & (LogEntry.event_type == USED))
    return dict(row.data) if row else {}


def measured_sessions(project_dir: str | None) -> list[str]:
    """Return the sessions of a project (None: of all) that have a record of the ids they used."""
    rows = LogEntry.select(LogEntry.session_id).where(LogEntry.event_type == USED)
    if project_dir is not None:
        own = Session.select(Session.id).where(Session.project_dir == project_dir)
        rows = rows.where(LogEntry.session_id.in_(own))
    return [row.session_id or "" for row in rows.order_by(LogEntry.created_at)]


def uses(sessions: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return per id in how many of the sessions with a usage record it was shown, and in how many used."""
    shown: dict[str, set[str]] = {}
    used: dict[str, Any] = {}
    rows = LogEntry.select(LogEntry.session_id, LogEntry.event_type, LogEntry.data).where(
        LogEntry.session_id.in_(list(sessions)) & LogEntry.event_type.in_((SHOWN, USED))
    )
    for row in rows:
        session_id = row.session_id or ""
        if row.event_type == USED:
            used[session_id] = row.data
        else:
            shown.setdefault(session_id, set()).update(row.data.get("ids", ()))
    ended = used.keys() & shown.keys()
    times = Counter(row_id for session_id in ended for row_id in shown[session_id])
    good = Counter(row_id for session_id in ended for row_id in shown[session_id] & used[session_id].keys())
    return {row_id: (times[row_id], good[row_id]) for row_id in times}


def sessions_shown(row_id: str) -> list[LogEntry]:
    """Return the blocks in which an id was shown, oldest first."""
    may_be = (LogEntry.event_type == SHOWN) & (fn.INSTR(LogEntry.data, json.dumps(row_id)) > 0)
    rows = LogEntry.rows(may_be, by=(LogEntry.created_at,))
    return [row for row in rows if row_id in row.data.get("ids", ())]


def docs_of_new(project_dir: str, path: str) -> dict[str, str]:
    """Return the quoted docstrings of a file's new functions, by name, from the summaries of their edits."""
    query = (
        "SELECT c.qualified_name, o.summary FROM function_changes AS c JOIN observations AS o"
        " ON o.id = c.observation_id WHERE c.project_dir = ? AND c.file_path = ? AND c.change_type = 'new'"
    )
    rows = memory_database.execute_sql(query, (project_dir, path))
    told = ((name, re.search(rf"{re.escape(name)} \((“[^“”]+”)\)", says)) for name, says in rows)
    return {name: found[1] for name, found in told if found}
