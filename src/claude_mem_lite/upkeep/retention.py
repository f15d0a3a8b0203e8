"""Prune old data that is processed: raw events, event log, log files, broken spool files.

The memory itself stays, and so does every waiting event. Failed events are pruned only to make room.
"""

import datetime as dt
import os
import time
from dataclasses import dataclass

from claude_mem_lite import logs
from claude_mem_lite.capture import inbox, spool
from claude_mem_lite.settings import Retention
from claude_mem_lite.storage import pruning, queries

_EVER = ""  # sorts before every time that the databases store
_HALF_WRITTEN_S = 3_600  # no hook lives that long, so a file still half written is never completed


@dataclass(frozen=True, slots=True)
class Limits:
    """Times (UTC text) before which data is pruned; `keep_raw` and `most_bytes` are for `pruning.prune`."""

    events_before: str
    logs_before: str
    keep_raw: int = 0
    most_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Pruned:
    """Counts of what is or was pruned: raw events, event log entries, log files, spool files."""

    events: int = 0
    event_log: int = 0
    log_files: int = 0
    spool_files: int = 0


def limits(retention: Retention, *, now: dt.datetime) -> Limits:
    """Return the limits that the settings give at the time `now`."""
    return Limits(
        events_before=_days_ago(retention.events_days, now),
        logs_before=_days_ago(retention.logs_days, now),
        keep_raw=retention.keep_raw,
        most_bytes=retention.max_queue_mb << 20,
    )


def prunable(within: Limits) -> Pruned:
    """Return the counts of what `prune` would delete."""
    before = within.events_before
    return Pruned(
        pruning.prunable(before=before, keep=within.keep_raw, most_bytes=within.most_bytes),
        queries.count_prunable_log(before=before),
        len(logs.closed_before(inbox.unix_time(within.logs_before))),
        len(_broken_spool(within)),
    )


def prune(within: Limits) -> Pruned:
    """Delete what is outside the limits; return the counts. The databases must be open."""
    before, broken = within.events_before, _broken_spool(within)
    for path in broken:
        os.unlink(path)
    return Pruned(
        pruning.prune(before=before, keep=within.keep_raw, most_bytes=within.most_bytes),
        queries.prune_log(before=before),
        logs.prune(before=inbox.unix_time(within.logs_before)),
        len(broken),
    )


def _broken_spool(within: Limits) -> list[str]:
    """Return spool files past the limit that hold no event, or half an event that no hook will complete."""
    before, given_up = inbox.unix_time(within.events_before), time.time() - _HALF_WRITTEN_S
    oldest = {spool.BROKEN: before, spool.HALF: min(before, given_up)}
    return [
        path
        for path in spool.files()
        for end, then in oldest.items()
        if path.endswith(end) and os.path.isfile(path) and os.path.getmtime(path) < then
    ]


def _days_ago(days: int, now: dt.datetime) -> str:
    try:
        return inbox.utc_text((now - dt.timedelta(days=days)).timestamp()) if days else _EVER
    except OverflowError:  # before the year 1
        return _EVER
