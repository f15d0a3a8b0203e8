"""Query and change sessions, observations and the log in claude-mem.db, and read queue.db.

Functions return model rows. Times are UTC text as written by `inbox.utc_now`, so they sort as text.
"""

import json
import logging
import os
from collections.abc import Iterator
from typing import Any

from peewee import fn

from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.clients import client_of
from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage import DatabaseError
from claude_mem_lite.storage.ledger import CALL
from claude_mem_lite.storage.models import (
    LogEntry,
    Observation,
    PendingEvent,
    Session,
    memory_database,
    queue_database,
)

log = logging.getLogger(__name__)

# Most captures in a fold, so that a long read-only stretch becomes several observations.
FOLD_SIZE = 12
MIN_ID_PREFIX = 6
# How an event updates the row of its session; events may be processed in any order.
_SESSION_UPDATE = (
    "ON CONFLICT (id) DO UPDATE SET"
    " branch = CASE WHEN last_event_at <= excluded.last_event_at AND excluded.branch != ''"
    " THEN excluded.branch ELSE branch END,"
    " started_at = min(started_at, excluded.started_at),"
    " last_event_at = max(last_event_at, excluded.last_event_at)"
)
BY_THE_CLIENT = "<task-notification>"  # prefix of a prompt that the client wrote, not the user


class UnknownIdError(ClaudeMemError):
    """No row, or more than one, matches an id."""


def pending_event(event_id: str) -> PendingEvent | None:
    """Return an event's row, or None."""
    return PendingEvent.get_or_none(PendingEvent.id == event_id)


def waiting_event(event_id: str) -> PendingEvent | None:
    """Return the row of an event if it waits to be processed, or None."""
    query = f"SELECT * FROM pending_queue WHERE id = ? AND status IN {inbox.WAITING}"  # noqa: S608  (ours)
    return next(iter(PendingEvent.raw(query, event_id)), None)


def payloads_of(session_id: str) -> Iterator[dict[str, Any]]:
    """Yield the payloads of a session's stored events as the client sent them, in order."""
    rows = PendingEvent.select(PendingEvent.raw_output).where(PendingEvent.session_id == session_id)
    for row in rows.order_by(PendingEvent.seq):
        yield json.loads(row.raw_output.encode("utf-8", "replace"))


def answers_before(event: PendingEvent, *, chars: int) -> Iterator[dict[str, Any]]:
    """Yield the payloads of tool and sub-agent results before an event in its session, newest first.

    They stop after about `chars` characters. Editors are left out: their results repeat the assistant's text.
    """
    rows = PendingEvent.select(PendingEvent.raw_output).where(
        (PendingEvent.session_id == event.session_id)
        & (PendingEvent.seq < event.seq)
        & PendingEvent.event_name.in_(("PostToolUse", "PostToolUseFailure", "SubagentStop"))
        & PendingEvent.tool_name.not_in(EDITORS)
    )
    for row in rows.order_by(PendingEvent.seq.desc()).iterator():
        yield json.loads(row.raw_output.encode("utf-8", "replace"))
        chars -= len(row.raw_output)
        if chars < 0:
            return


def unfinished_events(session_id: str | None = None) -> list[str]:
    """Return the ids of a session's unprocessed events (None: of all sessions), in order."""
    rows = PendingEvent.select(PendingEvent.id).where(PendingEvent.status.in_(inbox.WAITING))
    if session_id is not None:
        rows = rows.where(PendingEvent.session_id == session_id)
    return [row.id for row in rows.order_by(PendingEvent.seq)]


def is_message_left(number: int) -> bool:
    """Tell whether a task's message is still in the queue."""
    query = "SELECT 1 FROM task WHERE id = ? AND queue = ?"
    return queue_database.execute_sql(query, (number, inbox.QUEUE_NAME)).fetchone() is not None


def fold_of(event: PendingEvent) -> list[PendingEvent]:
    """Return the captures that are folded with this one, in order.

    They are the session's read-only calls (low priority) between two events of another kind, in groups of
    FOLD_SIZE. The groups do not depend on the order in which events are processed.
    """
    looks = (PendingEvent.priority == "low") & (PendingEvent.event_name == "PostToolUse")
    others = PendingEvent.select(PendingEvent.seq).where(
        (PendingEvent.session_id == event.session_id) & ~looks
    )
    before = (
        others.where(PendingEvent.seq < event.seq).order_by(PendingEvent.seq.desc()).limit(1).scalar() or 0
    )
    after = others.where(PendingEvent.seq > event.seq).order_by(PendingEvent.seq).limit(1).scalar()
    run = PendingEvent.select().where(
        (PendingEvent.session_id == event.session_id) & (PendingEvent.seq > before)
    )
    if after is not None:
        run = run.where(PendingEvent.seq < after)
    group = run.where(PendingEvent.seq < event.seq).count() // FOLD_SIZE
    return list(run.order_by(PendingEvent.seq).offset(group * FOLD_SIZE).limit(FOLD_SIZE))


def latest_prompt(event: PendingEvent) -> str | None:
    """Return the user's last prompt before an event in its session, or None."""
    query = (
        "SELECT raw_output FROM pending_queue"
        " WHERE session_id = ? AND event_name = 'UserPromptSubmit' AND seq < ?"
        " AND substr(ltrim(json_extract(raw_output, '$.prompt'), ' ' || char(9, 10, 13)), 1, ?) != ?"
        " ORDER BY seq DESC LIMIT 1"
    )
    values = (event.session_id, event.seq, len(BY_THE_CLIENT), BY_THE_CLIENT)
    row = queue_database.execute_sql(query, values).fetchone()
    return _prompt_in(row[0]) if row else None


def prompts_of(session_id: str) -> set[str]:
    """Return the prompts in a session's stored events, without surrounding whitespace."""
    rows = PendingEvent.select(PendingEvent.raw_output).where(
        (PendingEvent.session_id == session_id) & (PendingEvent.event_name == "UserPromptSubmit")
    )
    return {(_prompt_in(row.raw_output) or "").strip() for row in rows}


def prompt_of(event: PendingEvent) -> str | None:
    """Return the prompt of an event if the user wrote it; None for other events and the client's prompts."""
    prompt = _prompt_in(event.raw_output) if event.event_name == "UserPromptSubmit" else None
    return None if prompt is None or prompt.lstrip().startswith(BY_THE_CLIENT) else prompt


def _prompt_in(raw_output: str) -> str | None:
    prompt = json.loads(raw_output).get("prompt")
    return prompt if isinstance(prompt, str) else None


def queue_stats() -> dict[str, Any]:
    """Return how many events are raw, done, in error and lost, the oldest raw one, and the waiting messages.

    A lost event (on a full disk, say) is a row in error without an event name. Messages for vectors and for
    Claude's rewrites are not counted, because nobody waits for them.
    """
    status, count = PendingEvent.status, fn.COUNT(PendingEvent.seq)
    found: Any = PendingEvent.select(status, count).group_by(status).tuples()
    by_status = dict.fromkeys(("raw", "done", "error"), 0) | dict(found)
    by_status["raw"] += by_status.pop(inbox.IMPORT, 0) + by_status.pop(inbox.REIMPORT, 0)
    by_status["done"] += by_status.pop(inbox.IMPORTED, 0)
    oldest = PendingEvent.select(fn.MIN(PendingEvent.created_at)).where(PendingEvent.status == "raw").scalar()
    lost = PendingEvent.select().where((status == "error") & (PendingEvent.event_name == "")).count()
    least = inbox.BEHIND["low"]
    query = "SELECT queue, count(*) FROM task WHERE priority >= ? OR queue LIKE '%!dead' GROUP BY queue"
    messages = dict(queue_database.execute_sql(query, (least,)).fetchall())
    return {
        **by_status,
        "error": by_status["error"] - lost,
        "lost": lost,
        "oldest_raw": oldest,
        "messages": messages.get(inbox.QUEUE_NAME, 0),
        "set_aside": messages.get(f"{inbox.QUEUE_NAME}!dead", 0),
    }


def last_event_at(*, until: str = "9999") -> str:
    """Return when the last event up to a time arrived, "" if none did."""
    latest = PendingEvent.select(fn.MAX(PendingEvent.created_at)).where(PendingEvent.created_at <= until)
    return str(latest.scalar() or "")


def has_work(*, now: float) -> bool:
    """Tell whether an event is unprocessed, or a message is due and not claimed."""
    query = "SELECT 1 FROM task WHERE queue = ? AND claimed = 0 AND due <= ? LIMIT 1"
    is_waiting = PendingEvent.select().where(PendingEvent.status.in_(inbox.WAITING))
    due = queue_database.execute_sql(query, (inbox.QUEUE_NAME, now)).fetchone()
    return due is not None or is_waiting.exists()


def redactions() -> int:
    """Return how many passages were redacted in the events that are still in the queue."""
    mark = "[redacted: "
    text, gone = fn.LENGTH(PendingEvent.raw_output), fn.LENGTH(fn.REPLACE(PendingEvent.raw_output, mark, ""))
    return int(PendingEvent.select(fn.SUM(text - gone)).scalar() or 0) // len(mark)


def last_errors() -> list[PendingEvent]:
    """Return the five newest events in error, without lost ones."""
    is_it = (PendingEvent.status == "error") & (PendingEvent.event_name != "")
    return PendingEvent.rows(is_it, by=(PendingEvent.seq.desc(),), limit=5)


def touch_session(event: PendingEvent) -> None:
    """Create the session of an event, or update its times, branch and status."""
    row = {
        "id": event.session_id,
        "project_dir": event.project_dir,
        "branch": event.branch,
        "client": client_of(event.raw_output),
        "started_at": event.created_at,
        "last_event_at": event.created_at,
    }
    Session.put(row, on_conflict=_SESSION_UPDATE)
    this = Session.id == event.session_id
    if event.event_name == "SessionStart" and not _is_followed_by("SessionEnd", event):
        is_latest = Session.last_event_at == event.created_at
        Session.update(status="active", ended_at=None).where(this & is_latest).execute()
    elif event.event_name == "SessionEnd" and not _is_followed_by("SessionStart", event):
        Session.update(status="closed", ended_at=event.created_at).where(this).execute()


def _is_followed_by(event_name: str, event: PendingEvent) -> bool:
    """Tell whether a later event of the session has this name; order is by `seq`, as clocks may step back."""
    later = (PendingEvent.session_id == event.session_id) & (PendingEvent.seq > event.seq)
    return bool(PendingEvent.select().where(later & (PendingEvent.event_name == event_name)).exists())


def session(session_id: str) -> Session | None:
    """Return a session, or None."""
    return Session.get_or_none(Session.id == session_id)


def known_session(session_id: str) -> Session:
    """Return a session.

    Raises:
        UnknownIdError: there is none.
    """
    found = session(session_id)
    if found is None:
        raise UnknownIdError(f"session {session_id!r}: no session has this id")
    return found


def session_by_prefix(prefix: str, project_dir: str | None = None, *, what: str = "session") -> Session:
    """Return the session of a project (None: of any) by its id, or by the first 6 or more characters of it.

    Raises:
        UnknownIdError: there is none, or more than one; `what` names in its message what was looked for.
    """
    rows = Session.select().where((Session.id >= prefix) & (Session.id < prefix + "\uffff"))
    if project_dir is not None:
        rows = rows.where(Session.project_dir == project_dir)
    found = list(rows.order_by(Session.id).limit(2))
    if found and found[0].id == prefix:
        return found[0]
    if len(found) != 1 or len(prefix) < MIN_ID_PREFIX:
        where = f" in {project_dir}" if project_dir is not None else ""
        raise UnknownIdError(f"{prefix!r}: no {what}{where} has this id; search shows the ids")
    return found[0]


def save_summary(session_id: str, summary: str, **told: Any) -> None:
    """Store a session's summary and further columns (`key_files`, `state`, `summarized_pk`, …)."""
    Session.update(summary=summary, **told).where(Session.id == session_id).execute()


def sessions_to_summarize(*, idle_since: str) -> list[str]:
    """Return the sessions without an event since `idle_since` whose newest observations are in no summary.

    Sessions with waiting events are left out: summarizing would process these before more urgent work.
    """
    waiting = PendingEvent.select(PendingEvent.session_id).where(PendingEvent.status.in_(inbox.WAITING))
    busy = set(waiting.distinct().scalars())
    newest = fn.MAX(Observation.pk)
    stale = (
        Session.select(Session.id)
        .join(Observation)
        .where(Session.last_event_at < idle_since)
        .group_by(Session.id)
        .having(newest > Session.summarized_pk)
    )
    return [row.id for row in stale if row.id not in busy]


def save_observation(row: dict[str, Any]) -> None:
    """Insert an observation, or update the one with its id."""
    Observation.upsert(row, place=("id",), kept=("session_id",))


def observations_of(session_id: str) -> list[Observation]:
    """Return a session's observations, oldest first."""
    return Observation.rows(Observation.session == session_id, by=(Observation.created_at, Observation.pk))


def neighbours(row: Observation) -> tuple[list[Observation], list[Observation]]:
    """Return the three observations before and after one in its session, both oldest first."""
    mine = (Observation.session == row.session_id) & (Observation.project_dir == row.project_dir)
    before = Observation.rows(mine, Observation.pk < row.pk, by=(Observation.pk.desc(),), limit=3)
    return before[::-1], Observation.rows(mine, Observation.pk > row.pk, by=(Observation.pk,), limit=3)


def observation(prefix: str, project_dir: str | None = None) -> Observation:
    """Return the observation of a project (None: any) whose id starts with `prefix`, of 6 characters or more.

    Raises:
        UnknownIdError: there is none, or more than one.
    """
    found: Observation = row_by_prefix(Observation, prefix, shown_by="search", project_dir=project_dir)
    return found


def row_by_prefix(table: Any, prefix: str, *, shown_by: str, project_dir: str | None = None) -> Any:
    """Return the one row of a table whose id starts with `prefix`, of at least 6 characters.

    Raises:
        UnknownIdError: there is none, or more than one; `shown_by` says what shows the ids.
    """
    found = []
    if len(prefix) >= MIN_ID_PREFIX and prefix.isalnum():
        rows = table.select().where((table.id >= prefix) & (table.id < prefix + "\uffff"))
        rows = rows if project_dir is None else rows.where(table.project_dir == project_dir)
        found = list(rows.limit(2))
    if len(found) != 1:
        noun = table.__name__.lower()
        what = f"more than one {noun} has an id that begins with it" if found else f"no {noun} has this id"
        raise UnknownIdError(f"{noun} {prefix!r}: {what}; {shown_by} shows the ids")
    return found[0]


def counts() -> dict[str, int]:
    """Return how many sessions and observations are remembered."""
    return {"sessions": Session.select().count(), "observations": Observation.select().count()}


def log_event(
    event_type: str,
    data: dict[str, Any],
    *,
    session_id: str | None = None,
    duration_ms: int | None = None,
) -> None:
    """Record one finished job in the JSONL log and in `event_log`; an error of the latter is only logged."""
    line = {"event": event_type, "session_id": session_id, "duration_ms": duration_ms, **data}
    log.info(event_type, extra={"event": line})
    try:
        LogEntry.put({
            "id": os.urandom(16).hex(),
            "event_type": event_type,
            "data": data,
            "session_id": session_id,
            "duration_ms": duration_ms,
            "created_at": inbox.utc_now(),
        })  # fmt: skip
    except DatabaseError as error:
        log.warning("event_log: %s not written: %s", event_type, error)


def prune_log(*, before: str) -> int:
    """Delete log entries older than `before`, except API costs and learning events; return how many."""
    return int(LogEntry.delete().where(_is_old(before)).execute())


def count_prunable_log(*, before: str) -> int:
    """Return how many log entries `prune_log` would delete."""
    return int(LogEntry.select().where(_is_old(before)).count())


def _is_old(before: str) -> Any:
    is_kept = (LogEntry.event_type == CALL) | LogEntry.event_type.startswith("learning.")
    return (LogEntry.created_at < before) & ~is_kept


def checkpoint() -> None:
    """Move as much of the memory's WAL into the file as is possible without waiting for readers."""
    memory_database.execute_sql("PRAGMA wal_checkpoint(PASSIVE)")
