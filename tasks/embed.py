"""embed: embed the rows that have no vector yet."""

from __future__ import annotations

import functools
import threading
import time
from typing import TYPE_CHECKING

from claude_mem_lite.tasks.app import huey

if TYPE_CHECKING:
    from claude_mem_lite.search.indexing import Index

# Below all tasks that write memory: until then, full-text search finds the rows.
PRIORITY = 3
# Rows that arrive together are embedded together.
_DELAY_S = 1.0
_SOON_S = 30.0

_scheduled = {"at": 0.0}
_at_work = threading.Lock()


@huey.task(priority=PRIORITY)
def embed() -> None:
    """Embed some of the pending rows and schedule the next step; one worker does so at a time."""
    if not _at_work.acquire(blocking=False):
        return
    try:
        _scheduled["at"] = 0.0
        wait_s = _index().step()
    finally:
        _at_work.release()
    if wait_s is not None:
        embed_in(wait_s)


def optimize() -> None:
    """Keep the vectors' folder small, unless they are being written."""
    if _index.cache_info().currsize and _at_work.acquire(blocking=False):
        try:
            _index().optimize()
        finally:
            _at_work.release()


def embed_in(delay_s: float = _DELAY_S) -> None:
    """Schedule a step, unless one is due earlier or the delay is too long."""
    at = time.time() + delay_s
    if delay_s <= _SOON_S and not time.time() <= _scheduled["at"] <= at:
        _scheduled["at"] = at
        embed.schedule(delay=delay_s)


@functools.cache
def _index() -> Index:
    from claude_mem_lite.search.indexing import Index

    return Index()
