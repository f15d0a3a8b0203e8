"""Store the failed calls of a session with their cures, and update those of earlier sessions."""

import contextlib
from collections.abc import Iterator

from claude_mem_lite.distill.calls import shape
from claude_mem_lite.distill.failing import NAMELESS, read_calls
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.distill.record import capture_of
from claude_mem_lite.distill.settling import renewed, settled
from claude_mem_lite.storage import facts
from claude_mem_lite.storage import findings as finding_rows
from claude_mem_lite.storage.models import Session


def take(session: Session) -> None:
    """Store the failed calls of a session, as far as its events are still kept; may be repeated.

    A command that failed in an earlier session and works unchanged in this one is no longer reported.
    """
    events: list[tuple[str, str]] = []  # id and time

    def captures() -> Iterator[Capture]:
        for event in finding_rows.calls_of(session.id, session.project_dir):
            with contextlib.suppress(ValueError):  # not JSON that Python reads: the event is in error
                capture = capture_of(event)
                events.append((event.id, event.created_at))
                yield capture

    earlier = finding_rows.known(session.project_dir, without=session.id)
    read = read_calls(captures(), {row.signature for row in earlier if not row.rule})
    rows = [
        {
            "event_id": events[each.at][0],
            "project_dir": session.project_dir,
            "session_id": session.id,
            "failed_at": events[each.at][1],
            "command": each.command,
            "shape": shape(each.command),
            "error": each.error.line,
            "signature": each.error.signature,
            "rule": each.error.rule or (NAMELESS if each.error.is_about_code and not each.works else ""),
            "works": each.works,
            "works_id": events[each.works_at][0] if each.works else "",
        }
        for each in read.failed
    ]
    with facts.transaction():
        finding_rows.save(rows)
        worked = {command: events[at][1] for command, at in read.worked.items()}
        finding_rows.renew(session.project_dir, lambda known: settled(known, worked))
        finding_rows.renew(session.project_dir, renewed)
