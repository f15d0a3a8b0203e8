"""Evaluate automatically: after every `evals.every` captures that Claude has written, judge a few of them.

Off by default, within the daily budget, one observation per step. The state "evals" holds the time since
which captures are counted, and the observations that are still to be judged; results go to the event log.
"""

import random
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.claude.request_cycle import PACE_S, Step, StoppedError
from claude_mem_lite.evals import compression
from claude_mem_lite.evals.calls import Caller
from claude_mem_lite.evals.judge import Judge
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import evals as eval_rows
from claude_mem_lite.storage import facts, queries

STATE = "evals"
# The sample is drawn from this many of the newest observations.
_NEWEST = 200


def step(settings: Settings, *, now: float) -> Step:
    """Judge one observation if one is due; a step of `claude.rewrite`, whose caller holds the API lock."""
    if not settings.evals.every:
        return Step(None)
    state = facts.read(STATE) or _note(inbox.utc_text(now), [])
    if not state["left"] and eval_rows.written_since(state["at"]) >= settings.evals.every:
        state = _note(inbox.utc_text(now), _drawn(settings, now=now))
    if not state["left"]:
        return Step(None)
    *left, observation_id = state["left"]
    row = eval_rows.by_id(observation_id)
    if row is None:
        _note(state["at"], left)
        return Step(PACE_S)
    caller = Caller(settings, clock=lambda: now)
    try:
        found = next(compression.evaluate([row], Judge(caller, settings.evals.judge), {}))
    except StoppedError as stopped:
        if stopped.step.failure in {"setup", "rejected"}:  # outages and spent budgets pass by themselves
            _note(state["at"], [])
        return stopped.step
    name = eval_rows.JUDGED if found.score.info_preservation is not None else "eval.failed"
    data = {"observation_id": row.id, "written_by": row.written_by, "judge": settings.evals.judge}
    with facts.transaction():
        queries.log_event(
            name, data | found.score.as_json() | {"note": found.note}, session_id=row.session_id
        )
        _note(state["at"], left)
    return Step(2 * PACE_S, asked=(row.id,))  # two requests


def _drawn(settings: Settings, *, now: float) -> list[str]:
    """Draw a sample of Claude's newest observations whose raw events are kept and that are not judged yet."""
    known = eval_rows.kept_events() - eval_rows.judged()
    found = [each for each in eval_rows.ids(by_claude=True) if each in known][-_NEWEST:]
    return random.Random(now).sample(found, min(settings.evals.samples, len(found)))  # noqa: S311


def _note(at: str, left: list[str]) -> dict[str, Any]:
    """Store and return the state: since when captures are counted, and the ids still to be judged."""
    state = {"at": at, "left": left}
    facts.write(STATE, state)
    return state
