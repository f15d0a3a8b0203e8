"""Prune what is processed after a while: raw events, event log, log files, broken spool files.

What is remembered stays, and so does every event that waits. One that failed goes only for want of room.
"""

import datetime as dt
import os
import time
from dataclasses import dataclass

from claude_mem_lite import logs
from claude_mem_lite.capture import inbox, spool
from claude_mem_lite.settings import Retention
from claude_mem_lite.storage import pruning, queries

_EVER = ""  # before every time as the databases write it
_HALF_WRITTEN_S = 3_600  # no hook lives that long: what it has left half written stays so


@dataclass(frozen=True, slots=True)
class Limits:
    """Before which times (UTC text) what goes; `keep_raw` and `most_bytes` as `pruning.prune` takes them."""

    events_before: str
    logs_before: str
    keep_raw: int = 0
    most_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much goes, or went: raw events, entries of the event log, log files, files of the spool."""

    events: int = 0
    event_log: int = 0
    log_files: int = 0
    spool_files: int = 0


def limits(retention: Retention, *, now: dt.datetime) -> Limits:
    """Return the limits that the settings draw now."""
    return Limits(
        events_before=_days_ago(retention.events_days, now),
        logs_before=_days_ago(retention.logs_days, now),
        keep_raw=retention.keep_raw,
        most_bytes=retention.max_queue_mb << 20,
    )


def prunable(within: Limits) -> Pruned:
    """Return what `prune` would take out."""
    before = within.events_before
    return Pruned(
        pruning.prunable(before=before, keep=within.keep_raw, most_bytes=within.most_bytes),
        queries.count_prunable_log(before=before),
        len(logs.closed_before(inbox.unix_time(within.logs_before))),
        len(_broken_spool(within)),
    )


def prune(within: Limits) -> Pruned:
    """Take out what is older; return how much that was. The databases are open."""
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
    """Return the files of the spool that hold no event, or half of one that nobody ends, and are older."""
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
