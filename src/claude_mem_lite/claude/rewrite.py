"""Decide when Claude is asked, and what about: captures that wait together, and sessions at their end.

A step makes at most one request. Its caller holds a lock of the data directory, so that one request runs at
a time. The texts by rules stay until Claude's are stored.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from claude_mem_lite import locks
from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import circuit_breaker, observations, requests, sessions
from claude_mem_lite.claude.circuit_breaker import Gate
from claude_mem_lite.claude.request_cycle import PACE_S, Step
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import rewrites
from claude_mem_lite.storage.models import Observation

# Captures of a session wait to share a request: if one has changed something, until QUIET_S after the last
# one, and at most until AGE_S after the first.
QUIET_S = 12.0
AGE_S = 60.0
BUSY_S = 5.0


class Later(Protocol):
    """A step about something other than captures and sessions; its `wait_s` says when the next is due."""

    def __call__(self, settings: Settings, *, now: float) -> Step:
        """Take the step, if it is due."""


def turn(*, wait: bool) -> AbstractContextManager[bool]:
    """Hold the lock for requests to the API; without `wait`, yield False if another holder has it."""
    return locks.hold("api.lock", wait=wait)


def step(settings: Settings, *, now: float, later: Later | None = None) -> Step:
    """Take the next step by the rules: pauses, pace, shared requests, budget.

    The caller holds `turn`. If no capture and no session is ripe, `later` may take a step of its own.
    """
    closed = circuit_breaker.load()
    if pause := _pause(closed, now=now):
        return pause
    rows = rewrites.waiting_observations(settings.tiers)
    telling = rewrites.waiting_sessions() if settings.tells_sessions else []
    due = [row for row in rows if row.upgrade_due <= inbox.utc_text(now)]
    if closed.is_probing and due:
        probe = min(due, key=lambda row: (row.upgrade_attempts, row.pk))
        return observations.write([probe], settings, now=now)
    for session in telling:  # somebody may wait for these
        own = [row for row in due if row.session_id == session.id]
        if own:
            return observations.write(observations.first_together(own), settings, now=now, more=True)
        if session.upgrade_due <= inbox.utc_text(now):
            return sessions.tell(session, settings, now=now)
    chosen = _ripe(due, now=now)
    if chosen:
        return observations.write(chosen, settings, now=now, more=len(due) > len(chosen))
    dues = [row.upgrade_due for row in rows] + [session.upgrade_due for session in telling]
    waits = [inbox.unix_time(due_at) - now for due_at in dues if due_at]
    waits += [_ripe_in_s(group, now=now) for group in requests.by_session(due).values()]
    other = later(settings, now=now) if later else Step(None)
    waits += [other.wait_s] if other.wait_s is not None else []
    return other if other.was_taken else Step(max(0.0, min(waits)) if waits else None)


def _pause(closed: Gate, *, now: float) -> Step | None:
    """Return a step that only waits if calls are paused or the last was just now, else None."""
    opens_at = closed.until if closed.kind != "budget" else 0.0
    if now < opens_at:
        return Step(max(opens_at, closed.called_at + PACE_S) - now, failure=closed.kind, reason=closed.reason)
    is_early = 0 <= now - closed.called_at < PACE_S
    return Step(closed.called_at + PACE_S - now) if is_early else None


def _ripe(due: Sequence[Observation], *, now: float) -> list[Observation]:
    """Return the captures of the first session that are ripe; else one that has failed before."""
    fresh = [row for row in due if not row.upgrade_attempts]
    for rows in requests.by_session(fresh).values():
        if _ripe_in_s(rows, now=now) <= 0:
            return observations.first_together(rows)
    return [row for row in due if row.upgrade_attempts][:1]


def _ripe_in_s(rows: Sequence[Observation], *, now: float) -> float:
    """Return in how many seconds the fresh captures of one session are ripe, 0 or less for now."""
    # A digest is at most as long as its raw event, and bounded; the exact length would cost reading them.
    tokens = sum(min(row.tokens_raw, requests.DIGEST_TOKENS) for row in rows)
    if len(rows) >= observations.MAX_CAPTURES or tokens >= requests.MAX_PACK_TOKENS:
        return 0.0
    ripe_at = inbox.unix_time(rows[0].created_at) + AGE_S
    if any(row.tier == "high" for row in rows):
        ripe_at = min(ripe_at, inbox.unix_time(rows[-1].created_at) + QUIET_S)
    return ripe_at - now
