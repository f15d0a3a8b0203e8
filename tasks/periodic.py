"""Run tasks by the clock. Slots are UTC, may be missed while the machine sleeps, and may run twice."""

import datetime as dt
import logging

from huey import crontab

from claude_mem_lite import settings
from claude_mem_lite.capture import backlog, inbox
from claude_mem_lite.tasks.app import huey
from claude_mem_lite.tasks.embed import embed_in, optimize
from claude_mem_lite.tasks.rewrite import rewrite_in
from claude_mem_lite.tasks.summarize import summarize

log = logging.getLogger(__name__)

IDLE = dt.timedelta(minutes=2)
# A session that nobody has ended is told by Claude after so long; older ones only when asked for.
SILENT, FORGOTTEN = dt.timedelta(minutes=30), dt.timedelta(days=1)
# A work tree is looked at after a checkout if it was worked in so lately.
WORKED_IN = dt.timedelta(days=7)
URGENT = 50  # before every event: a long queue must not keep the spool waiting


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def requeue() -> None:
    """Take in what lies in the spool, and give every unfinished event its message back."""
    backlog.take_in_spool()
    backlog.requeue()


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def summarize_idle() -> None:
    """Have the sessions summarized that have been silent for two minutes."""
    from claude_mem_lite.storage import queries

    for session_id in queries.sessions_to_summarize(idle_since=_ago(IDLE)):
        summarize(session_id)


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def rewrite_waiting() -> None:
    """Go on with what waits for Claude, and have it tell the sessions that fell silent; only with a key."""
    from claude_mem_lite.storage import rewrites

    chosen = settings.load()
    if chosen.credential is None:
        return
    if chosen.summaries:
        silent = rewrites.outdated_sessions(after=_ago(FORGOTTEN), before=_ago(SILENT))
        for session_id in silent:
            rewrites.want_retelling(session_id)
    rewrite_in(0)


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def embed_pending() -> None:
    """Go on with what has no vector yet: the web process may have been down."""
    embed_in()


@huey.periodic_task(crontab(minute="*/10"), priority=URGENT)
def optimize_vectors() -> None:
    """Keep the vectors' folder small."""
    optimize()


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def look_after() -> None:
    """Stop the services when nobody needs them, and start them anew after an upgrade."""
    from claude_mem_lite.services import lifetime

    lifetime.look()


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def look_at_trees() -> None:
    """Ask work trees in which another commit was checked out what has become of what sessions stated."""
    from claude_mem_lite.distill.looks import look_again
    from claude_mem_lite.storage import timeline

    for last in timeline.last_events(since=_ago(WORKED_IN)):
        look_again(last)


@huey.periodic_task(crontab(minute="37", hour="*"), priority=URGENT)
def look_at_projects() -> None:
    """Have work trees that are gone leave the code map, and folders that nobody has looked at be known."""
    from claude_mem_lite.storage import projects

    projects.tidy()


@huey.periodic_task(crontab(minute="7", hour="*"), priority=URGENT)
def prune(now: dt.datetime | None = None) -> None:
    """Take out finished events, log entries and log files as `[retention]` says; give large room back."""
    from claude_mem_lite.storage import files
    from claude_mem_lite.upkeep import retention

    now = now or dt.datetime.now(dt.UTC)
    retention.prune(retention.limits(settings.load().retention, now=now))
    for path in filter(files.is_hollow, files.paths()):
        if problem := files.vacuum(path):
            log.warning("%s: again in an hour", problem)


def _ago(time: dt.timedelta) -> str:
    """Return the moment so long ago, as the databases write it."""
    return inbox.utc_text((dt.datetime.now(dt.UTC) - time).timestamp())
