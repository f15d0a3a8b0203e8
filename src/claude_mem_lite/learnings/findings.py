"""Takes in what failed in a session, with what worked instead, and what works again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.distill.failing import read_calls, shape
from claude_mem_lite.distill.record import capture_of
from claude_mem_lite.storage import findings as storage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.distill.observation import Capture
    from claude_mem_lite.storage.models import Session


def take(session: Session) -> None:
    """Store the calls of a session that failed, as far as its events are kept; may be repeated.

    A command that failed in an earlier session and works now as it was is not told any more.
    """
    events: list[tuple[str, str]] = []  # id and time

    def captures() -> Iterator[Capture]:
        for event in storage.calls_of(session.id, session.project_dir):
            events.append((event.id, event.created_at))
            yield capture_of(event)

    read = read_calls(captures())
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
            "rule": each.error.rule,
            "works": each.works,
        }
        for each in read.failed
    ]
    with storage.transaction():
        storage.save(rows)
        storage.cure(session.project_dir, {like: events[at][1] for like, at in read.worked.items()})
