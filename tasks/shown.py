"""shown: record which lines of memory a session was given, so that their use can be measured."""

from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.tasks.app import RETRIES, huey


@huey.task(**RETRIES, priority=inbox.PRIORITIES["high"])
def shown(session_id: str, block: dict[str, Any], at: str) -> None:
    """Record a block that a hook was given."""
    from claude_mem_lite.storage import context

    context.note_shown(session_id, block, at=at)
