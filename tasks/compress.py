"""compress: turn one event of the queue into an observation, or record why there is none."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from claude_mem_lite.capture import inbox
from claude_mem_lite.tasks.app import RETRIES, huey
from claude_mem_lite.tasks.embed import embed_in
from claude_mem_lite.tasks.heal import heal_in
from claude_mem_lite.tasks.rewrite import rewrite_when_ripe
from claude_mem_lite.tasks.summarize import summarize
from claude_mem_lite.tasks.sync import sync_in_background

if TYPE_CHECKING:
    from claude_mem_lite.storage.models import PendingEvent

log = logging.getLogger(__name__)

# Events per batch: a transaction costs as much as the writes in it, so a batch saves time, but a new event
# waits for its end.
_AT_ONCE = 20


@huey.task(**RETRIES, priority=inbox.PRIORITIES["normal"])
def compress(event_id: str) -> None:
    """Distill an event by rules at once; Claude's rewrite replaces the text later (see `rewrite`).

    The end of a session or its compaction also summarizes the session.
    """
    from claude_mem_lite.codemap.heal import decay
    from claude_mem_lite.distill.record import record_event
    from claude_mem_lite.importers import meanwhile
    from claude_mem_lite.learnings.evolve import check_code
    from claude_mem_lite.storage import queries

    event = queries.waiting_event(event_id)
    if event is None or _with_others(event):
        return
    if event.event_name in {"Stop", "SessionEnd", "PreCompact"}:
        try:
            meanwhile.take_in(event)
        except Exception:  # the end of the turn is recorded all the same
            log.exception("could not read what was typed in a turn")
    if event.event_name in {"SessionEnd", "PreCompact"}:
        summarize(event.session_id, retell=not event.finished_at)
    has_ended = event.event_name == "SessionEnd"
    has_changed_code = record_event(event)
    if has_changed_code:
        check_code(event.project_dir, event.session_id)
    if has_changed_code or has_ended:
        heal_in(event.project_dir, event.session_id)
    if event.event_name == "SessionStart":
        sync_in_background()
    if has_ended:
        decay(event.project_dir, event.session_id)
        queries.checkpoint()
    rewrite_when_ripe()
    embed_in()


def _with_others(event: PendingEvent) -> bool:
    """Process an event in a batch with others that wait; return False if it is alone or the batch failed.

    The events of a failed batch are processed one at a time, so that only the one at fault is retried.
    """
    from claude_mem_lite.distill import record
    from claude_mem_lite.learnings.evolve import check_code
    from claude_mem_lite.storage import queries

    if not record.is_batched(event):
        return False
    messages = huey.storage.claim_more(_AT_ONCE - 1)
    if not messages:
        return False
    try:
        found = {each: queries.waiting_event(json.loads(data)["args"][0]) for each, data in messages.items()}
        others = {each: other for each, other in found.items() if other is not None}
        if unfit := [each for each, other in others.items() if not record.is_batched(other)]:
            huey.storage.give_back(unfit)
        together = {each.id: each for each in (event, *others.values()) if record.is_batched(each)}
        changed = record.record_batch(list(together.values()))
    except Exception:
        log.exception("could not process %d events together: trying one at a time", len(messages) + 1)
        huey.storage.give_back(messages.keys())
        return False
    for project_dir, session_id in dict.fromkeys((each.project_dir, each.session_id) for each in changed):
        check_code(project_dir, session_id)
        heal_in(project_dir, session_id)
    rewrite_when_ripe()
    embed_in()
    return True
