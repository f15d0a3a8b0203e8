"""Query the rows of a report's period: sessions, changes, learnings and costs.

SQLite counts and sums the rows, so a year of sessions takes only a few queries.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from peewee import SQL, chunked, fn

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.storage import call_edges, code
from claude_mem_lite.storage.ledger import CALL
from claude_mem_lite.storage.models import (
    CallEdge,
    FunctionChange,
    LogEntry,
    Observation,
    Session,
)

_FILES = 50  # files in one query: SQLite before 3.32 takes at most 999 parameters
_TOKENS_IN = ("input_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class Period:
    """Scope of a report: a time (UTC text, both ends included), and a project or session; None means all."""

    since: str = ""
    until: str = "9"
    project_dir: str | None = None
    session_id: str | None = None

    def of(self, table: Any, at: Any) -> Any:
        """Return the condition that a row with session, project and time falls into the scope."""
        is_mine = at.between(self.since, self.until)
        if self.project_dir is not None:
            is_mine &= table.project_dir == self.project_dir
        if self.session_id is not None:
            is_mine &= table.session_id == self.session_id
        return is_mine


def sessions(period: Period) -> list[Session]:
    """Return the sessions that were active in the period, newest first."""
    is_mine = (Session.last_event_at >= period.since) & (Session.started_at <= period.until)
    if period.project_dir is not None:
        is_mine &= Session.project_dir == period.project_dir
    if period.session_id is not None:
        is_mine &= Session.id == period.session_id
    return list(Session.select().where(is_mine).order_by(Session.started_at.desc(), Session.pk.desc()))


def activity(period: Period) -> list[tuple[str, str, str, int]]:
    """Return the number of observations by minute (UTC text), tool and tier."""
    minute = fn.SUBSTR(Observation.created_at, 1, 16)
    columns = (minute, Observation.tool_name, Observation.tier)
    rows: Any = Observation.select(*columns, fn.COUNT(Observation.pk)).where(
        period.of(Observation, Observation.created_at)
    )
    return list(rows.group_by(*columns).order_by(minute).tuples())


def observation_counts(period: Period) -> dict[str, int]:
    """Return the number of observations by session."""
    rows: Any = Observation.select(Observation.session, fn.COUNT(Observation.pk)).where(
        period.of(Observation, Observation.created_at)
    )
    return dict(rows.group_by(Observation.session).tuples())


def tokens(period: Period) -> tuple[int, int]:
    """Return the tokens of the captured payloads, and those of their observations."""
    row: Any = Observation.select(
        fn.SUM(Observation.tokens_raw), fn.SUM(Observation.tokens_compressed)
    ).where(period.of(Observation, Observation.created_at))
    raw, kept = row.tuples().get()
    return raw or 0, kept or 0


def changed_files(period: Period) -> dict[str, dict[str, int]]:
    """Return how often each file was edited, by session and path, most edits first."""
    path = SQL("touched.value")
    rows: Any = (
        Observation.select(Observation.session, path, fn.COUNT(Observation.pk))
        .from_(Observation, fn.json_each(Observation.files_touched).alias("touched"))
        .where(period.of(Observation, Observation.created_at) & Observation.tool_name.in_(sorted(EDITORS)))
        .group_by(Observation.session, path)
        .order_by(fn.COUNT(Observation.pk).desc(), path)
    )
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for session_id, file, times in rows.tuples():
        found[session_id][str(file)] = times
    return found


def changed_functions(period: Period) -> dict[str, dict[tuple[str, str], str]]:
    """Return the net change of each function, by session and then by (file, name)."""
    place = (FunctionChange.file_path, FunctionChange.qualified_name)
    rows: Any = FunctionChange.select(FunctionChange.session_id, *place, FunctionChange.change_type).where(
        period.of(FunctionChange, FunctionChange.created_at) & (FunctionChange.session_id != "")
    )
    found: dict[str, list[tuple[tuple[str, str], str]]] = defaultdict(list)
    for session_id, file, name, change in rows.order_by(
        FunctionChange.created_at, FunctionChange.pk
    ).tuples():
        found[session_id].append(((file, name), change))
    return {session_id: code.net(changes) for session_id, changes in found.items()}


def calls_near(
    project_dir: str, places: Collection[tuple[str, str]]
) -> list[tuple[tuple[str, str], tuple[str, str], float]]:
    """Return the known calls from and to some functions, most confident first: caller, callee, confidence.

    Functions are (file, name) pairs.
    """
    wanted, found = set(places), set()
    ends = (CallEdge.caller_file, CallEdge.caller_function, CallEdge.callee_file, CallEdge.callee_function)
    here = (CallEdge.project_dir == project_dir) & (CallEdge.resolution != call_edges.UNRESOLVED)
    for files in chunked(sorted({file for file, _ in wanted}), _FILES):
        for side in (CallEdge.caller_file, CallEdge.callee_file):
            rows: Any = CallEdge.select(*ends, CallEdge.confidence).where(here & side.in_(files)).tuples()
            for caller_file, caller, callee_file, callee, confidence in rows:
                call = (caller_file, caller), (callee_file, callee)
                if not wanted.isdisjoint(call):
                    found.add((*call, confidence))
    return sorted(found, key=lambda call: (-call[2], call))


def calls(period: Period) -> list[dict[str, Any]]:
    """Return the cost of requests to Claude by day (UTC), purpose and model, oldest first.

    Other projects and sessions are included, because the budget covers all; `is_mine` marks rows in scope. A
    request without a session (one that was not finished) is in scope only if everything is.
    """

    def total(*names: str) -> Any:
        paths = [fn.COALESCE(fn.json_extract(LogEntry.data, f"$.{name}"), 0) for name in names]
        return fn.SUM(sum(paths[1:], paths[0])).alias(names[0])

    is_mine: Any = SQL("1")
    if period.session_id is not None:
        is_mine = fn.COALESCE(LogEntry.session_id == period.session_id, 0)
    elif period.project_dir is not None:
        mine = Session.select(Session.id).where(Session.project_dir == period.project_dir)
        is_mine = fn.COALESCE(LogEntry.session_id.in_(mine), 0)
    keys = {
        "day": fn.SUBSTR(LogEntry.created_at, 1, 10),
        "purpose": fn.COALESCE(fn.json_extract(LogEntry.data, "$.purpose"), ""),
        "model": fn.COALESCE(fn.json_extract(LogEntry.data, "$.model"), ""),
        "session_id": fn.COALESCE(LogEntry.session_id, ""),
        "is_mine": is_mine,
    }
    rows: Any = (
        LogEntry.select(
            *(key.alias(name) for name, key in keys.items()),
            fn.COUNT(LogEntry.pk).alias("calls"),
            *map(total, ("captures", "output_tokens", "usd")),
            total(*_TOKENS_IN),
        )
        .where((LogEntry.event_type == CALL) & LogEntry.created_at.between(period.since, period.until))
        .group_by(*(SQL(str(at)) for at in range(1, len(keys) + 1)))
        .order_by(SQL("1"), SQL("2"), SQL("3"), SQL("4"))
    )
    return list(rows.dicts())
