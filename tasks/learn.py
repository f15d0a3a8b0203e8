"""learn: add, strengthen, replace or drop learnings after a session is summarized."""

from claude_mem_lite.capture import inbox
from claude_mem_lite.tasks.app import RETRIES, huey
from claude_mem_lite.tasks.embed import embed_in
from claude_mem_lite.tasks.sync import sync_in_background


@huey.task(**RETRIES, priority=inbox.PRIORITIES["low"])
def learn(session_id: str) -> None:
    """Store what the user has stated; learnings that Claude finds come with its summary (see `rewrite`)."""
    from claude_mem_lite.learnings import session

    session.learn(session_id)
    embed_in()
    sync_in_background()
