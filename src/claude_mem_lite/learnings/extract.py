"""Ask Claude what a session has that is worth knowing, and read its answer as candidates.

Captured text reaches the model here, so what it writes is no word of the user's; whose it is tell the events
(see `voices`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import api, prompts, request_cycle
from claude_mem_lite.claude.api import RejectedError, Request
from claude_mem_lite.claude.request_cycle import PACE_S, Step
from claude_mem_lite.distill.sameness import terms
from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.evolve import CONTENT_CHARS, TOLD, Candidate
from claude_mem_lite.learnings.voices import Voices
from claude_mem_lite.storage import context, queries, rewrites
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.claude.prompts import WrittenLearning
    from claude_mem_lite.settings import Settings
    from claude_mem_lite.storage.models import Learning, Observation, Session

MOST_LEARNINGS = 10  # of one session
SHOWN = 30  # of what is known; source: phase 6 document 2.4

_RECORDS, _RECORD_CHARS, _SAID_CHARS = 24, 220, 700
_CONTENT_CHARS = 16_000
_ANSWER_TOKENS = 1_600
_SPOKEN = {"UserPromptSubmit": "request", "Stop": "report", "SubagentStop": "report"}


def step(settings: Settings, *, now: float) -> Step:
    """Ask Claude about the session that has waited longest; a step of `claude.rewrite`."""
    waiting = rewrites.waiting_extractions() if settings.learnings else []
    for session in waiting:
        if session.extraction_due <= inbox.utc_text(now):
            return extract(session, settings, now=now)
    dues = [inbox.unix_time(session.extraction_due) - now for session in waiting]
    return Step(max(0.0, min(dues)) if dues else None)


def extract(session: Session, settings: Settings, *, now: float) -> Step:
    """Ask Claude what a session has taught since it was asked last, and take the answer in."""
    rows = _news(session)
    if not rows:
        rewrites.finish_extraction(session.id, up_to=session.extracted_pk)
        return Step(0.0)
    known = _known(session, rows)
    try:
        entry_id, answer = request_cycle.ask(_request(session, rows, known), settings, now=now)
    except request_cycle.StoppedError as stopped:
        if stopped.step.failure == "outage":
            rewrites.put_off_extraction(session.id, due=now, note=stopped.step.reason)
        return stopped.step
    except RejectedError as error:
        rewrites.reject_extraction(session.id, note=str(error))
        return request_cycle.turned_down(f"{request_cycle.EXTRACTION}{session.id}", str(error), now=now)
    request_cycle.enter("learnings", answer, settings, now=now, session_id=session.id, entry_id=entry_id)
    if answer.stop_reason == api.REFUSAL:
        rewrites.reject_extraction(session.id, note=api.DECLINED)
        return request_cycle.declined(now=now)
    found = prompts.parse_learnings(answer.text)
    if found is None:
        pause_s = request_cycle.useless_pause_s(session.extraction_attempts + 1)
        note = f"the answer had no learnings ({answer.stop_reason})"
        rewrites.put_off_extraction(session.id, due=now + pause_s, note=note)
        return request_cycle.answered(Step(PACE_S), now=now)
    voices = Voices(queries.payloads_of(session.id), remembered=context.told_of_others(session.id))
    for written in found[:MOST_LEARNINGS]:
        evolve.take(
            candidate(written, rows, known, voices),
            session_id=session.id,
            project_dir=session.project_dir,
            at=rows[-1].created_at,
        )
    rewrites.finish_extraction(session.id, up_to=max(row.pk for row in rows))
    return request_cycle.answered(Step(PACE_S, written=1), now=now)


def request(session: Session) -> Request:
    """Return the request about a session: what is known, then what happened, each with its short id."""
    rows = _news(session)
    return _request(session, rows, _known(session, rows))


def _news(session: Session) -> list[Observation]:
    return [row for row in queries.observations_of(session.id) if row.pk > session.extracted_pk]


def _request(session: Session, rows: Sequence[Observation], known: Sequence[Learning]) -> Request:
    transcript = prompts.Transcript()
    for each in known:
        doubt = {"mark": "low-confidence"} if each.confidence < TOLD or each.superseded_by else {}
        transcript.add("known", f"{each.category}: {each.content}", id=_short(each.id), **doubt)
    transcript.add("summary", "\n".join([session.summary or "", *session.key_decisions]))
    for row in _telling(rows):
        name = _SPOKEN.get(row.tool_name, "record")
        chars = _SAID_CHARS if row.tool_name in _SPOKEN else _RECORD_CHARS
        told = row.summary if row.tool_name in _SPOKEN else f"{row.title}: {row.summary}"
        transcript.add(name, clip(told, chars), id=_short(row.id))
    return Request(
        system=prompts.LEARNINGS,
        content=clip(str(transcript), _CONTENT_CHARS),
        schema=prompts.schema(prompts.WrittenLearnings),
        max_tokens=_ANSWER_TOKENS,
    )


def candidate(
    written: WrittenLearning, rows: Sequence[Observation], known: Sequence[Learning], voices: Voices
) -> Candidate:
    """Return what Claude wrote as a candidate; ids that it was not shown are none."""
    ids = {_short(row.id): row.id for row in known}
    contradicted = ids.get(written.contradicts or "", "")
    # What neither the user nor Claude had to do with in the session, no text from outside takes away.
    at_hand = [row for row in known if voices.have_touched(row.content)]
    evidence = tuple(row.id for row in rows if _short(row.id) in written.evidence)
    supporting = [row for row in rows if row.id in evidence]
    return Candidate(
        content=one_line(written.content, CONTENT_CHARS),
        category=written.category,
        origin=voices.origin(written.content),
        confidence=written.confidence,
        contradicts=contradicted if any(row.id == contradicted for row in at_hand) else "",
        confirms=ids.get(written.confirms or "", ""),
        observations=evidence,
        about=tuple(written.about),
        files=tuple(path for row in supporting for path in row.files_touched),
    )


def terms_of(text: str) -> list[str]:
    """Return the terms of a text however long it is."""
    return [term for line in text.splitlines() for term in terms(line)]


def _known(session: Session, rows: Sequence[Observation]) -> list[Learning]:
    """Return what of a project's learnings Claude is shown: those that have to do with the session first.

    The doubted are among them: what is not shown would be found again, and come back as a ghost.
    """
    known = [row for row in learning_rows.find(session.project_dir, state="all") if row.is_active]
    said = set(terms_of("\n".join([session.summary or "", *(f"{row.title}\n{row.summary}" for row in rows)])))

    def nearness(row: Learning) -> float:
        wanted = set(terms(row.content))
        return len(wanted & said) / len(wanted) if wanted else 0.0

    return sorted(known, key=nearness, reverse=True)[:SHOWN]


def _telling(rows: Sequence[Observation]) -> list[Observation]:
    """Return what was said, and of what was done the latest that is no look, in the order of time."""
    done = [row for row in rows if row.tool_name not in _SPOKEN and row.tier != "low"][-_RECORDS:]
    kept = {row.id for row in done}
    return [row for row in rows if row.tool_name in _SPOKEN or row.id in kept]


def _short(row_id: str) -> str:
    return row_id[:8]
