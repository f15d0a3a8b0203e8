"""rewrite: have Claude rewrite observations and summaries, one request at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from claude_mem_lite import settings
from claude_mem_lite.tasks.app import huey
from claude_mem_lite.tasks.embed import embed_in

if TYPE_CHECKING:
    from claude_mem_lite.claude.request_cycle import Step
    from claude_mem_lite.settings import Settings

# After a capture, the delay until it may be ripe; `claude.rewrite` decides what is.
_RIPE_S = 12.0
# Below every capture: a text by rules at once is worth more than a better one later.
PRIORITY = 5
# A step that is further away is left to the periodic task.
_SOON_S = 90.0

_scheduled = {"at": 0.0}


@huey.task(priority=PRIORITY)
def rewrite() -> None:
    """Take one step and schedule the next; without a key, none of the modules for it are loaded."""
    _scheduled["at"] = 0.0
    chosen = settings.load()
    if chosen.credential is None:
        return
    from claude_mem_lite.claude import batches
    from claude_mem_lite.claude import rewrite as steps

    wait_s: float | None = steps.BUSY_S
    with steps.turn(wait=False) as has_turn:
        if has_turn:
            now = time.time()
            step = batches.step(chosen, now=now) or steps.step(chosen, now=now, later=_later)
            wait_s = step.wait_s
            if step.written:
                embed_in()
    if wait_s is not None:
        rewrite_in(wait_s)


def _later(settings: Settings, *, now: float) -> Step:
    """Take a step for which nobody waits: unresolved calls first, then evaluations."""
    from claude_mem_lite.claude import unresolved_calls

    step = unresolved_calls.step(settings, now=now)
    if step.was_taken or step.wait_s is not None or not settings.evals.every:
        return step
    from claude_mem_lite.evals import automatic

    return automatic.step(settings, now=now)


def rewrite_in(delay_s: float) -> None:
    """Schedule the next step, unless one is due earlier, the delay is too long or there is no key."""
    at = time.time() + delay_s
    if settings.load().credential and delay_s <= _SOON_S and not time.time() <= _scheduled["at"] <= at:
        _scheduled["at"] = at
        rewrite.schedule(delay=delay_s)


def rewrite_when_ripe() -> None:
    """Schedule a step for the time when a capture of this moment may be ripe."""
    rewrite_in(_RIPE_S)
