"""Query the calls that failed in a project's sessions, and the events behind them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from peewee import chunked, fn

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.storage.models import FailedCall, Observation, PendingEvent
from claude_mem_lite.storage.rows import ROWS

_READ = 2_000  # most failed calls that are read
_AT_ONCE = 500  # SQLite variables in one statement


def calls_of(session_id: str, project_dir: str) -> Iterator[PendingEvent]:
    """Yield a session's commands, edits and all calls of tools that failed at least once, oldest first."""
    is_failure = PendingEvent.event_name == "PostToolUseFailure"
    mine = (PendingEvent.session_id == session_id) & (PendingEvent.project_dir == project_dir)
    tools = {row.tool_name for row in PendingEvent.select(PendingEvent.tool_name).where(mine & is_failure)}
    wanted = is_failure | PendingEvent.tool_name.in_(sorted({"Bash", *EDITORS, *tools}))
    rows = PendingEvent.select().where(mine & (PendingEvent.tool_name != "") & wanted)
    found: Iterator[PendingEvent] = rows.order_by(PendingEvent.created_at, PendingEvent.seq).iterator()
    return found


def save(rows: Sequence[Mapping[str, Any]]) -> None:
    """Store failed calls, given as columns of their rows; stored ones stay unchanged."""
    for some in chunked(rows, ROWS):
        FailedCall.insert_many(some).on_conflict_ignore().execute()


def renew(
    project_dir: str, renewed: Callable[[Sequence[FailedCall]], Mapping[str, Mapping[str, Any]]]
) -> None:
    """Pass a project's known failed calls to `renewed`; store the columns it returns per `event_id`."""
    for event_id, columns in renewed(known(project_dir)).items():
        FailedCall.update(**columns).where(FailedCall.event_id == event_id).execute()


def known(project_dir: str, *, signatures: Collection[str] = (), without: str = "") -> list[FailedCall]:
    """Return a project's uncured failed calls, those that recur across sessions first, then the newest.

    Cured ones that broke a rule of a linter or compiler are included, since others may break it again.
    `signatures` limits them to some failures; those of the session `without` are left out.
    """
    rows = FailedCall.select().where(
        (FailedCall.project_dir == project_dir)
        & (~FailedCall.is_cured | (FailedCall.rule != ""))
        & (FailedCall.session_id != without)
    )
    if signatures:
        rows = rows.where(FailedCall.signature.in_(list(signatures)))
    recurring = (
        FailedCall.select(FailedCall.signature)
        .where((FailedCall.project_dir == project_dir) & ~FailedCall.is_cured)
        .group_by(FailedCall.signature)
        .having(fn.COUNT(FailedCall.session_id.distinct()) > 1)
    )
    order = (FailedCall.signature.in_(recurring).desc(), FailedCall.failed_at.desc())
    return list(rows.order_by(*order).limit(_READ))


def observed(event_ids: Collection[str]) -> set[str]:
    """Return which of some events have an observation; an observation has the id of its event."""
    rows = Observation.select(Observation.id).where(Observation.id.in_(list(event_ids)[:_AT_ONCE]))
    return {row.id for row in rows}
