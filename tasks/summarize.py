"""summarize: what is known of a session becomes its summary."""

from __future__ import annotations

from claude_mem_lite import inbox
from claude_mem_lite.tasks.app import RETRIES, huey


@huey.task(**RETRIES, priority=inbox.PRIORITIES["high"])
def summarize(session_id: str) -> None:
    """Summarize a session from its prompts, observations and last messages."""
    from claude_mem_lite.distill.record import summarize_session

    summarize_session(session_id)
