"""Claude's words in place of the local ones: what is sent together, when, and what becomes of the answer.

One step is at most one request. Whoever takes it holds the lock of the data directory, so that there is
one conversation with the API at a time; the local words stand until better ones are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from claude_mem_lite import locks
from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import api, circuit_breaker, prompts, request_cycle, requests
from claude_mem_lite.claude.api import RejectedError
from claude_mem_lite.claude.request_cycle import PACE_S, Step
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, SUMMARY_CHARS
from claude_mem_lite.distill.record import MAX_KEY_FILES, summarize_session
from claude_mem_lite.storage import facts, queries, rewrites
from claude_mem_lite.text import clip, one_line
from claude_mem_lite.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from claude_mem_lite.claude.api import Answer
    from claude_mem_lite.claude.circuit_breaker import Gate
    from claude_mem_lite.settings import Settings
    from claude_mem_lite.storage.models import Observation, Session

MAX_CAPTURES = 16
# Captures of a session wait for company: one that changed something until it has been quiet for so long,
# none longer than the age.
QUIET_S = 12.0
AGE_S = 60.0
BUSY_S = 5.0
_KEY_DECISIONS = 6


class Later(Protocol):
    """A step about something else than captures and summaries; `wait_s` says when there is one to take."""

    def __call__(self, settings: Settings, *, now: float) -> Step:
        """Take it, if it is due."""


def turn(*, wait: bool) -> AbstractContextManager[bool]:
    """Hold the lock on the conversation with the API; without `wait` give False when another has it."""
    return locks.hold("api.lock", wait=wait)


def step(settings: Settings, *, now: float, later: Later | None = None) -> Step:
    """Take the next step by the rules: pauses, pace, company, budget. Call it with the turn in hand.

    When nothing of captures and summaries is ripe, `later` may take one of its own.
    """
    closed = circuit_breaker.load()
    if pause := _pause(closed, now=now):
        return pause
    rows = rewrites.waiting_observations(settings.tiers)
    telling = rewrites.waiting_sessions() if settings.summaries else []
    due = [row for row in rows if row.upgrade_due <= inbox.utc_text(now)]
    if closed.is_probing and due:
        probe = min(due, key=lambda row: (row.upgrade_attempts, row.pk))
        return write_observations([probe], settings, now=now)
    for session in telling:  # somebody waits for these
        own = [row for row in due if row.session_id == session.id]
        if own:
            return write_observations(first_together(own), settings, now=now, more=True)
        if session.upgrade_due <= inbox.utc_text(now):
            return write_summary(session, settings, now=now)
    chosen = _ripe(due, now=now)
    if chosen:
        return write_observations(chosen, settings, now=now, more=len(due) > len(chosen))
    dues = [row.upgrade_due for row in rows] + [session.upgrade_due for session in telling]
    waits = [inbox.unix_time(due_at) - now for due_at in dues if due_at]
    waits += [_ripe_in_s(group, now=now) for group in _by_session(due).values()]
    other = later(settings, now=now) if later else Step(None)
    waits += [other.wait_s] if other.wait_s is not None else []
    return other if other.was_taken else Step(max(0.0, min(waits)) if waits else None)


def write_observations(
    rows: Sequence[Observation], settings: Settings, *, now: float, more: bool = False
) -> Step:
    """Ask Claude about captures of one session, as many of them as fit into a request, and store its words.

    `more` says that others follow at once, so that the prompt is worth caching.
    """
    pack = requests.pack(rows)
    rewrites.leave_local(row.id for row in pack.gone)
    if not pack.observations:
        return Step(0.0)
    asked = tuple(row.id for row in pack.observations)
    try:
        entry_id, answer = request_cycle.ask(pack.request, settings, now=now, more=more)
    except request_cycle.StoppedError as stopped:
        if len(rows) == 1 and stopped.step.failure == "outage":
            rewrites.put_off([rows[0].id], due=now, note=stopped.step.reason)  # the next probe is another
        return stopped.step
    except RejectedError as error:
        return turn_down(pack.observations, str(error), now=now)
    with facts.transaction():
        request_cycle.enter(
            "observations",
            answer,
            settings,
            now=now,
            session_id=rows[0].session_id,
            captures=len(asked),
            entry_id=entry_id,
        )
        if answer.stop_reason != api.REFUSAL:
            written = take_answer(pack.observations, answer, settings, now=now)
    if answer.stop_reason == api.REFUSAL:
        turn_down(pack.observations, api.DECLINED, now=now, is_final=True)
        return request_cycle.declined(now=now)
    return request_cycle.answered(Step(PACE_S, written=written, asked=asked), now=now)


def take_answer(rows: Sequence[Observation], answer: Answer, settings: Settings, *, now: float) -> int:
    """Store what an answer says about each of some captures; return how many it was good for.

    A capture that the answer leaves out or names twice is put off, it alone.
    """
    found = prompts.parse_observations(answer.text)
    written = 0
    for row in rows:
        own = [each for each in found if each.id == requests.short_id(row)]
        if len(rows) == len(found) == 1:
            own = found  # nothing else can be meant
        if len(own) == 1:
            _store(row, own[0], by=settings.model)
            written += 1
        else:
            pause_s = request_cycle.useless_pause_s(row.upgrade_attempts + 1)
            note = f"the answer had {len(own)} observations of it ({answer.stop_reason})"
            rewrites.put_off([row.id], due=now + pause_s, note=note)
    return written


def as_kept(
    said: prompts.WrittenObservation, *, title: str, detail: str | None
) -> tuple[str, str, str | None]:
    """Return title, summary and detail as they are kept; `title` and `detail` are the local ones."""
    title = one_line(said.title).rstrip(". ") or title
    summary = clip(said.summary, SUMMARY_CHARS)
    return title, summary, clip(said.detail or "", OBSERVATION_CHARS - len(title) - len(summary)) or detail


def turn_down(rows: Sequence[Observation], reason: str, *, now: float, is_final: bool = False) -> Step:
    """Mark a capture that the API does not take; of several try each alone, at once.

    Unless `is_final` it gets a second chance once something else has been taken. Where three in a row are
    turned down it is none of them: they wait, and the user is told.
    """
    if len(rows) > 1:
        rewrites.put_off([row.id for row in rows], due=now, note=reason)
        return Step(0.0)
    rewrites.reject(rows[0].id, note=reason)
    inbox.finish(rows[0].id, status="error", note=f"not written by Claude: {reason}")
    return Step(0.0) if is_final else request_cycle.turned_down(rows[0].id, reason, now=now)


def write_summary(session: Session, settings: Settings, *, now: float) -> Step:
    """Ask Claude for a session's summary and store it."""
    request, up_to = requests.summary(session), session.summarized_pk
    try:
        entry_id, answer = request_cycle.ask(request, settings, now=now)
    except request_cycle.StoppedError as stopped:
        if stopped.step.failure == "outage":
            rewrites.put_off_session(session.id, due=now, note=stopped.step.reason)
        return stopped.step
    except RejectedError as error:
        rewrites.reject_session(session.id, note=str(error))
        return request_cycle.turned_down(f"{request_cycle.SESSION}{session.id}", str(error), now=now)
    written = 0
    with facts.transaction():
        request_cycle.enter("summary", answer, settings, now=now, session_id=session.id, entry_id=entry_id)
        told = prompts.parse_summary(answer.text)
        if answer.stop_reason == api.REFUSAL:
            rewrites.reject_session(session.id, note=api.DECLINED)
            return request_cycle.declined(now=now)
        if told is None:
            pause_s = request_cycle.useless_pause_s(session.upgrade_attempts + 1)
            note = f"the answer was no summary ({answer.stop_reason})"
            rewrites.put_off_session(session.id, due=now + pause_s, note=note)
        else:
            written = 1
            rewrites.write_summary(
                session.id,
                summary=clip(told.summary, SUMMARY_CHARS),
                key_files=_lines(told.key_files, MAX_KEY_FILES, chars=200),
                key_decisions=_lines(told.key_decisions, _KEY_DECISIONS, chars=300),
                retold_pk=up_to,
                written_by=settings.model,
                prompt_version=prompts.SUMMARY_VERSION,
            )
        if written and settings.learnings:
            rewrites.want_extraction(session.id)
    since = queries.known_session(session.id)
    if written and since.summarized_pk > up_to:  # it went on during the call
        summarize_session(session.id, retell=since.status == "closed")
    return request_cycle.answered(Step(PACE_S, written=written), now=now)


def first_together(rows: Sequence[Observation]) -> list[Observation]:
    """Return the first captures that may share a request; what has failed before goes alone."""
    first = rows[0]
    if first.upgrade_attempts:
        return [first]
    fresh = [row for row in rows if row.session_id == first.session_id and not row.upgrade_attempts]
    return fresh[:MAX_CAPTURES]


def _pause(closed: Gate, *, now: float) -> Step | None:
    """Return the step that only waits while the API may not be called, or not yet again."""
    opens_at = closed.until if closed.kind != "budget" else 0.0
    if now < opens_at:
        return Step(max(opens_at, closed.called_at + PACE_S) - now, failure=closed.kind, reason=closed.reason)
    is_early = 0 <= now - closed.called_at < PACE_S
    return Step(closed.called_at + PACE_S - now) if is_early else None


def _ripe(due: Sequence[Observation], *, now: float) -> list[Observation]:
    """Return the captures of the first session that wait for nobody; else one that has failed before."""
    fresh = [row for row in due if not row.upgrade_attempts]
    for rows in _by_session(fresh).values():
        if _ripe_in_s(rows, now=now) <= 0:
            return first_together(rows)
    return [row for row in due if row.upgrade_attempts][:1]


def _by_session(rows: Sequence[Observation]) -> dict[str, list[Observation]]:
    found: dict[str, list[Observation]] = {}
    for row in rows:
        found.setdefault(row.session_id, []).append(row)
    return found


def _ripe_in_s(rows: Sequence[Observation], *, now: float) -> float:
    """Return in how many seconds the fresh captures of one session go, 0 or less for now."""
    # A digest is at most as long as its raw event, and bounded; knowing better would cost reading them.
    tokens = sum(min(row.tokens_raw, requests.DIGEST_TOKENS) for row in rows)
    if len(rows) >= MAX_CAPTURES or tokens >= requests.MAX_PACK_TOKENS:
        return 0.0
    ripe_at = inbox.unix_time(rows[0].created_at) + AGE_S
    if any(row.tier == "high" for row in rows):
        ripe_at = min(ripe_at, inbox.unix_time(rows[-1].created_at) + QUIET_S)
    return ripe_at - now


def _lines(texts: Sequence[str], most: int, *, chars: int) -> list[str]:
    return [one_line(text, chars) for text in texts if text][:most]


def _store(row: Observation, said: prompts.WrittenObservation, *, by: str) -> None:
    title, summary, detail = as_kept(said, title=row.title, detail=row.detail)
    rewrites.write_observation(
        row.id,
        title=title,
        summary=summary,
        detail=detail,
        tokens_compressed=estimate_tokens("\n".join((title, summary, detail or ""))),
        written_by=by,
        prompt_version=prompts.OBSERVATIONS_VERSION,
    )
