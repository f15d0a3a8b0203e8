"""summarize: write the summary of a session."""

from claude_mem_lite.capture import inbox
from claude_mem_lite.tasks.app import RETRIES, huey
from claude_mem_lite.tasks.embed import embed_in
from claude_mem_lite.tasks.learn import learn
from claude_mem_lite.tasks.rewrite import rewrite_in


@huey.task(**RETRIES, priority=inbox.PRIORITIES["high"])
def summarize(session_id: str, retell: bool = False) -> None:  # noqa: FBT001, FBT002  (a message's arguments)
    """Summarize a session from its prompts, observations and last messages; with `retell`, by Claude too."""
    from claude_mem_lite.context.shown import measure_use
    from claude_mem_lite.distill.looks import look_at
    from claude_mem_lite.distill.record import summarize_session
    from claude_mem_lite.storage import timeline

    summarize_session(session_id, retell=retell)
    if last := timeline.last_event(session_id):
        look_at(last.project_dir, last.work_tree)
    measure_use(session_id)
    learn(session_id)
    embed_in()
    if retell:
        rewrite_in(0)
