"""compress: one event of the queue becomes an observation, or says why not."""

from __future__ import annotations

from claude_mem_lite.capture import inbox
from claude_mem_lite.tasks.app import RETRIES, huey
from claude_mem_lite.tasks.embed import embed_in
from claude_mem_lite.tasks.heal import heal_in
from claude_mem_lite.tasks.rewrite import rewrite_when_ripe
from claude_mem_lite.tasks.summarize import summarize
from claude_mem_lite.tasks.sync import sync_in_background


@huey.task(**RETRIES, priority=inbox.PRIORITIES["normal"])
def compress(event_id: str) -> None:
    """Distill an event by rules, at once; Claude's words replace the local ones later (see `upgrade`).

    The end of a session, or its compaction, also has it summarized.
    """
    from claude_mem_lite.codemap.heal import decay
    from claude_mem_lite.distill.record import record_event
    from claude_mem_lite.learnings.evolve import check_code
    from claude_mem_lite.storage import queries

    event = queries.waiting_event(event_id)
    if event is None:
        return
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
