"""Rebuild a lost claude-mem.db from the events that queue.db still has."""

import logging
from dataclasses import dataclass
from typing import Any

from peewee import SQL, fn

from claude_mem_lite import config
from claude_mem_lite.capture import backlog, inbox
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.models import LogEntry, PendingEvent, Session

log = logging.getLogger(__name__)

_BEGUN = "memory.rebuild"


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A rebuild of so many `sessions` from so many `events`, the first of which arrived at `since`.

    `at` is when the rebuild began, "" if it has not; `left` is the number of unprocessed events.
    """

    sessions: int
    events: int
    left: int
    since: str
    at: str = ""

    @property
    def told(self) -> str:
        """One sentence on the loss and the progress of the rebuild."""
        how_far = f"{self.left} to go" if self.left else "done"
        return (
            f"{config.memory_path()} was missing, empty or older than queue.db: rebuilding {self.sessions}"
            f" sessions from {self.events} events of queue.db, since {self.since[:10]}: {how_far}"
        )


def begin() -> None:
    """Queue the finished events of all sessions that the memory has lost for processing again.

    Only a starting consumer may call this: one that still had the lost file open would store the results
    there. An interrupted rebuild begins again.
    """
    lost, since = _lost(), _first()
    if not lost:
        return
    events = sum(map(backlog.work_again, lost))
    newest = PendingEvent.select(fn.MAX(PendingEvent.seq)).scalar()
    told = {"sessions": len(lost), "events": events, "since": since, "up_to": newest}
    queries.log_event(_BEGUN, told)
    log.warning("%s lacked sessions that queue.db has: %s", config.memory_path(), told)


def state() -> Rebuild | None:
    """Return the rebuild that is needed, under way, or last recorded in the log; None for none."""
    if lost := _lost():
        return Rebuild(len(lost), sum(lost.values()), sum(lost.values()), _first())
    entry = (
        LogEntry.select().where(LogEntry.event_type == _BEGUN).order_by(LogEntry.created_at.desc()).first()
    )
    if entry is None:
        return None
    told: dict[str, Any] = entry.data
    waits = PendingEvent.status.in_(inbox.WAITING) & (PendingEvent.seq <= told["up_to"])
    left = PendingEvent.select().where(waits).count()
    return Rebuild(told["sessions"], told["events"], left, told["since"], entry.created_at)


def _lost() -> dict[str, int]:
    """Return the sessions missing from the memory, with the number of finished events of each in queue.db.

    An event is finished after its session is stored, and forgetting deletes both; so such a session was lost.
    """
    known = {row.id for row in Session.select(Session.id)}
    # All events minus unfinished ones, because no index covers the finished events of a session.
    unfinished = _by_session(PendingEvent.status.in_([*inbox.WAITING, inbox.IMPORT, "error"]))
    counts = {each: number - unfinished.get(each, 0) for each, number in _by_session(SQL("1")).items()}
    return {each: number for each, number in counts.items() if number and each not in known}


def _by_session(condition: Any) -> dict[str, int]:
    rows: Any = PendingEvent.select(PendingEvent.session_id, fn.COUNT(PendingEvent.seq)).where(condition)
    return dict(rows.group_by(PendingEvent.session_id).tuples())


def _first() -> str:
    """Return when the oldest finished event arrived, "" for none."""
    finished = PendingEvent.status.in_(["done", inbox.IMPORTED])
    return str(PendingEvent.select(fn.MIN(PendingEvent.created_at)).where(finished).scalar() or "")
