"""Query the data of evaluations: captures that can be replayed, and figures about the memory's work.

Times are UTC texts; `project_dir` None stands for all projects.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from peewee import fn

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage.call_edges import UNRESOLVED
from claude_mem_lite.storage.context import LATE, RECALL, SHOWN
from claude_mem_lite.storage.learnings import EVENTS
from claude_mem_lite.storage.ledger import CALL
from claude_mem_lite.storage.models import (
    CallEdge,
    FunctionMapEntry,
    LogEntry,
    Observation,
    PendingEvent,
    Session,
    SourceFile,
    memory_database,
)
from claude_mem_lite.storage.rewrites import ERROR

JUDGED = "eval.compression"
# Prefix of an event's note when Claude refused to write about it; the reason is in its observation.
NOT_BY_CLAUDE = "not written by Claude: "


def kept_events() -> set[str]:
    """Return the ids of the stored events that do not wait to be processed."""
    rows = PendingEvent.select(PendingEvent.id).where(PendingEvent.status.not_in(inbox.WAITING))
    return set(rows.scalars())


def observations(*, since: str, limit: int) -> list[Observation]:
    """Return the newest observations of tool calls, newest first."""
    is_call = (Observation.tier != "") & (Observation.created_at >= since)
    return Observation.rows(is_call, by=(Observation.pk.desc(),), limit=limit)


def ids(*, since: str = "", tiers: Collection[str] = (), by_claude: bool = False) -> list[str]:
    """Return the ids of tool-call observations, oldest first; `by_claude` keeps those Claude wrote."""
    rows = Observation.select(Observation.id).where(
        (Observation.tier != "") & (Observation.created_at >= since)
    )
    if tiers:
        rows = rows.where(Observation.tier.in_(sorted(tiers)))
    if by_claude:
        rows = rows.where(Observation.written_by != "local")
    return list(rows.order_by(Observation.pk).scalars())


def by_id(observation_id: str) -> Observation | None:
    """Return an observation, or None."""
    return Observation.get_or_none(Observation.id == observation_id)


def judged() -> set[str]:
    """Return the ids of the judged observations that are in the event log."""
    rows = LogEntry.select(fn.json_extract(LogEntry.data, "$.observation_id"))
    return set(rows.where(LogEntry.event_type == JUDGED).scalars())


def written_since(at: str) -> int:
    """Return how many captures have been sent to Claude since a time."""
    captures = fn.SUM(fn.json_extract(LogEntry.data, "$.captures"))
    rows = LogEntry.select(captures).where((LogEntry.event_type == CALL) & (LogEntry.created_at > at))
    return int(rows.scalar() or 0)


def calls(*, since: str) -> Iterator[LogEntry]:
    """Yield the ledger entries of capture rewrites sent as single requests, not in Message Batches."""
    purpose = fn.json_extract(LogEntry.data, "$.purpose")
    rows = LogEntry.select().where((LogEntry.event_type == CALL) & (LogEntry.created_at >= since))
    yield from rows.where((purpose == "observations") & ~fn.json_extract(LogEntry.data, "$.is_batch"))


def durations(event_type: str, *, since: str) -> list[int]:
    """Return the durations of jobs of a kind, in milliseconds."""
    rows = LogEntry.select(LogEntry.duration_ms).where(
        (LogEntry.event_type == event_type)
        & (LogEntry.created_at >= since)
        & LogEntry.duration_ms.is_null(False)
    )
    return list(rows.scalars())


def waiting_since() -> list[str]:
    """Return the arrival times of the unprocessed events, oldest first."""
    rows = PendingEvent.select(PendingEvent.created_at).where(PendingEvent.status.in_(inbox.WAITING))
    return sorted(rows.scalars())


def finished(*, since: str) -> list[tuple[str, str]]:
    """Return (arrival, finish) times of the events finished since a time."""
    rows = PendingEvent.select(PendingEvent.created_at, PendingEvent.finished_at)
    is_done = (PendingEvent.status == "done") & (PendingEvent.finished_at >= since)
    found: Any = rows.where(is_done).tuples()
    return list(found)


def failures(*, since: str) -> dict[str, list[str]]:
    """Return the error notes of failed events ("events") and of captures that Claude refused ("claude")."""
    event_note = fn.COALESCE(PendingEvent.note, "")
    events = PendingEvent.select(event_note).where(
        (PendingEvent.status == "error")
        & (PendingEvent.created_at >= since)
        & ~event_note.startswith(NOT_BY_CLAUDE)
    )
    refused = Observation.select(fn.COALESCE(Observation.upgrade_note, "")).where(
        (Observation.upgrade == ERROR) & (Observation.created_at >= since)
    )
    return {"events": list(events.scalars()), "claude": list(refused.scalars())}


def pauses(*, since: str) -> dict[str, int]:
    """Return how often calls to the API were paused, by reason."""
    is_pause = LogEntry.event_type == "claude.paused"
    return _counted(fn.json_extract(LogEntry.data, "$.kind"), is_pause, since=since)


def code_map(project_dir: str | None, *, before: str) -> dict[str, int]:
    """Return the numbers of files, functions and calls.

    `failed` counts files whose last parse failed, `observed` counts calls known only from observations, and
    `stale` counts the observed calls that nothing has confirmed since `before`.
    """

    def count(table: Any, *conditions: Any) -> int:
        rows = table.select()
        if project_dir is not None:
            rows = rows.where(table.project_dir == project_dir)
        return int((rows.where(*conditions) if conditions else rows).count())

    is_observed = CallEdge.source == "observation"
    last = fn.COALESCE(CallEdge.last_confirmed_at, CallEdge.created_at)
    return {
        "files": count(SourceFile),
        "failed": count(SourceFile, SourceFile.error != ""),
        "functions": count(FunctionMapEntry),
        "calls": count(CallEdge),
        "unresolved": count(CallEdge, CallEdge.resolution == UNRESOLVED),
        "confirmed": count(CallEdge, CallEdge.times_confirmed > 0),
        "observed": count(CallEdge, is_observed),
        "stale": count(CallEdge, is_observed, last < before),
    }


def recall_answers(*, since: str) -> tuple[int, int]:
    """Return how many recall blocks came in time for their prompt, and how many too late."""
    via = fn.json_extract(LogEntry.data, "$.via")
    counted = _counted(via, (LogEntry.event_type == SHOWN) & via.in_((RECALL, LATE)), since=since)
    return counted.get(RECALL, 0), counted.get(LATE, 0)


def learning_events(*, since: str) -> Counter[str]:
    """Return the number of learning events since a time, by name."""
    counted = _counted(LogEntry.event_type, LogEntry.event_type.startswith(EVENTS), since=since)
    return Counter({name.removeprefix(EVENTS): count for name, count in counted.items()})


def judgements(*, since: str) -> list[LogEntry]:
    """Return the results of automatic evaluations since a time, oldest first."""
    is_it = (LogEntry.event_type == JUDGED) & (LogEntry.created_at >= since)
    return LogEntry.rows(is_it, by=(LogEntry.created_at, LogEntry.pk))


def _counted(key: Any, condition: Any, *, since: str) -> dict[str, int]:
    """Return how many log entries since a time meet a condition, grouped by a key."""
    rows: Any = LogEntry.select(key, fn.COUNT(LogEntry.pk)).where(condition & (LogEntry.created_at >= since))
    return dict(rows.group_by(key).tuples())


def keep_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """Store rows as observations, oldest first: id, project, title, summary, detail, files, ts (Unix s)."""
    rows = sorted(rows, key=lambda row: row["ts"])
    with memory_database.atomic():
        for project in dict.fromkeys(row["project"] for row in rows):
            Session.create(id=project, project_dir=project, started_at="", last_event_at="")
        for row in rows:
            Observation.create(
                id=row["id"],
                session=row["project"],
                project_dir=row["project"],
                tool_name="Edit",
                title=row["title"],
                summary=row["summary"] or "",
                detail=row["detail"] or "",
                files_touched=row["files"],
                created_at=inbox.utc_text(row["ts"]),
            )
