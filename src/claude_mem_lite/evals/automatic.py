"""Small evaluations by themselves: every so many captures that Claude has written, a few of them are judged.

Off by default, within the daily budget, one observation a step. The state "evals" holds since when captures
are counted and which observations are still to be judged; what was found stands in the event log.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from claude_mem_lite import inbox
from claude_mem_lite.distill.asking import PACE_S, Step, StoppedError
from claude_mem_lite.evals import compression
from claude_mem_lite.evals.calls import Caller
from claude_mem_lite.evals.judge import Judge
from claude_mem_lite.storage import evals as storage
from claude_mem_lite.storage import queries, upgrades

if TYPE_CHECKING:
    from claude_mem_lite.settings import Settings

STATE = "evals"
# Among so many of the newest the few are drawn.
_NEWEST = 200


def step(settings: Settings, *, now: float) -> Step:
    """Judge one observation, if one is due; a step of `distill.upgrade`, taken with the turn in hand."""
    if not settings.evals.every:
        return Step(None)
    state = upgrades.read_state(STATE) or _note(inbox.utc_text(now), [])
    if not state["left"] and storage.written_since(state["at"]) >= settings.evals.every:
        state = _note(inbox.utc_text(now), _drawn(settings, now=now))
    if not state["left"]:
        return Step(None)
    *left, observation_id = state["left"]
    row = storage.by_id(observation_id)
    if row is None:
        _note(state["at"], left)
        return Step(PACE_S)
    caller = Caller(settings, clock=lambda: now)
    try:
        found = next(compression.evaluate([row], Judge(caller, settings.evals.judge)))
    except StoppedError as stopped:
        if stopped.step.failure in {"setup", "rejected"}:  # outages and used up budgets pass by themselves
            _note(state["at"], [])
        return stopped.step
    name = storage.JUDGED if found.score.info_preservation is not None else "eval.failed"
    data = {"observation_id": row.id, "written_by": row.written_by, "judge": settings.evals.judge}
    with upgrades.transaction():
        queries.log_event(
            name, data | found.score.as_json() | {"note": found.note}, session_id=row.session_id
        )
        _note(state["at"], left)
    return Step(2 * PACE_S, asked=(row.id,))  # two requests


def _drawn(settings: Settings, *, now: float) -> list[str]:
    """Return some of the newest observations by Claude that are kept as they came and not judged yet."""
    known = storage.kept_events() - storage.judged()
    found = [each for each in storage.ids(by_claude=True) if each in known][-_NEWEST:]
    return random.Random(now).sample(found, min(settings.evals.samples, len(found)))  # noqa: S311


def _note(at: str, left: list[str]) -> dict[str, Any]:
    """Note since when captures count, and what is still to be judged."""
    state = {"at": at, "left": left}
    upgrades.write_state(STATE, state)
    return state
