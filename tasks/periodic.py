"""Run tasks periodically. Slots are UTC, may be missed while the machine sleeps, and may run twice."""

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
# Claude summarizes a session that was not ended after this much silence; an older one only on request.
SILENT, FORGOTTEN = dt.timedelta(minutes=30), dt.timedelta(days=1)
# A work tree is checked after a checkout if it was worked in within this time.
WORKED_IN = dt.timedelta(days=7)
URGENT = 50  # before every event: a long queue must not keep the spool waiting


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def requeue() -> None:
    """Store the events of the spool, and enqueue a message for each unfinished event without one."""
    backlog.take_in_spool()
    backlog.requeue()


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def summarize_idle() -> None:
    """Summarize the sessions that have been silent for two minutes."""
    from claude_mem_lite.storage import queries

    for session_id in queries.sessions_to_summarize(idle_since=_ago(IDLE)):
        summarize(session_id)


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def rewrite_waiting() -> None:
    """Go on with Claude's rewrites, and request summaries of sessions that fell silent; only with a key."""
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
    """Embed the rows that have no vector yet: the web process may have been down."""
    embed_in()


@huey.periodic_task(crontab(minute="*/10"), priority=URGENT)
def optimize_vectors() -> None:
    """Keep the vectors' folder small."""
    optimize()


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def look_after() -> None:
    """Stop the services when they are idle, and restart them after an upgrade."""
    from claude_mem_lite.services import lifetime

    lifetime.look()


@huey.periodic_task(crontab(minute="*"), priority=URGENT)
def look_at_trees() -> None:
    """Check what sessions stated against work trees in which another commit was checked out since."""
    from claude_mem_lite.distill.looks import look_again
    from claude_mem_lite.storage import timeline

    for last in timeline.last_events(since=_ago(WORKED_IN)):
        look_again(last)


@huey.periodic_task(crontab(minute="37", hour="*"), priority=URGENT)
def look_at_projects() -> None:
    """Delete the code map of work trees that are gone, and register folders of sessions not yet known."""
    from claude_mem_lite.storage import projects

    projects.tidy()


@huey.periodic_task(crontab(minute="7", hour="*"), priority=URGENT)
def prune(now: dt.datetime | None = None) -> None:
    """Prune finished events, log entries and files by `[retention]`; vacuum databases that are half free."""
    from claude_mem_lite.storage import files
    from claude_mem_lite.upkeep import retention

    now = now or dt.datetime.now(dt.UTC)
    retention.prune(retention.limits(settings.load().retention, now=now))
    for path in filter(files.is_hollow, files.paths()):
        if problem := files.vacuum(path):
            log.warning("%s: retrying in an hour", problem)


def _ago(time: dt.timedelta) -> str:
    """Return the moment that lies `time` ago, in the format of the databases."""
    return inbox.utc_text((dt.datetime.now(dt.UTC) - time).timestamp())
