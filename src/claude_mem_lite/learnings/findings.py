"""Takes in what failed in a session, with what worked instead, and what works again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.distill.failing import error_of, failed_calls, shape, told
from claude_mem_lite.distill.record import capture_of
from claude_mem_lite.storage import findings as storage

if TYPE_CHECKING:
    from claude_mem_lite.storage.models import Session


def take(session: Session) -> None:
    """Store the calls of a session that failed, as far as its events are kept; may be repeated.

    A command that failed in an earlier session and works now as it was is not told any more.
    """
    events = [row for row in storage.calls_of(session.id) if row.project_dir == session.project_dir]
    captures = [capture_of(event) for event in events]
    rows = [
        {
            "event_id": events[each.at].id,
            "project_dir": session.project_dir,
            "session_id": session.id,
            "failed_at": events[each.at].created_at,
            "command": each.command,
            "shape": shape(each.command),
            "error": each.error.line,
            "signature": each.error.signature,
            "rule": each.error.rule,
            "works": each.works,
        }
        for each in failed_calls(captures)
    ]
    worked = {
        shape(told(capture)): event.created_at
        for event, capture in zip(events, captures, strict=True)
        if capture.event_name == "PostToolUse" and error_of(capture) is None
    }
    with storage.transaction():
        storage.save(rows)
        storage.cure(session.project_dir, worked)
