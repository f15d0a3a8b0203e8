"""Have Claude rewrite captures of a session that share a request, and store its text for each."""

from collections.abc import Sequence

from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import api, prompts, request_cycle, requests
from claude_mem_lite.claude.api import Answer, RejectedError
from claude_mem_lite.claude.request_cycle import PACE_S, Step
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, SUMMARY_CHARS
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import facts, rewrites
from claude_mem_lite.storage.models import Observation
from claude_mem_lite.text import clip, estimate_tokens, one_line

MAX_CAPTURES = 16


def write(rows: Sequence[Observation], settings: Settings, *, now: float, more: bool = False) -> Step:
    """Ask Claude about captures of one session, as many as fit into a request, and store its texts.

    `more` says that other requests follow at once, so that the prompt is worth caching.
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
            rewrites.put_off(rows, due=now, note=stopped.step.reason)  # the next probe takes another
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
    """Store the observations of an answer about captures; return the number of captures it was good for.

    Only a capture that the answer leaves out or names twice is put off.
    """
    found = prompts.parse_observations(answer.text)
    written = 0
    for row in rows:
        own = [each for each in found if each.id == requests.short_id(row)]
        if len(rows) == len(found) == 1:
            own = found  # nothing else can be meant
        if len(own) == 1:
            store(row, own[0], by=settings.model)
            written += 1
        else:
            pause_s = request_cycle.useless_pause_s(row.upgrade_attempts + 1)
            note = f"the answer had {len(own)} observations of it ({answer.stop_reason})"
            rewrites.put_off([row], due=now + pause_s, note=note)
    return written


def as_kept(
    said: prompts.WrittenObservation, *, title: str, detail: str | None
) -> tuple[str, str, str | None]:
    """Return title, summary and detail as they are stored; `title` and `detail` are those by rules."""
    title = one_line(said.title).rstrip(". ") or title
    summary = clip(said.summary, SUMMARY_CHARS)
    return title, summary, clip(said.detail or "", OBSERVATION_CHARS - len(title) - len(summary)) or detail


def turn_down(rows: Sequence[Observation], reason: str, *, now: float, is_final: bool = False) -> Step:
    """Mark a capture that the API rejects; of several, retry each alone and at once.

    Unless `is_final`, it gets a second chance after another request succeeds. If three in a row are
    rejected, none of them is at fault: they wait, and the user is told.
    """
    if len(rows) > 1:
        rewrites.put_off(rows, due=now, note=reason)
        return Step(0.0)
    rewrites.reject(rows[0], note=reason)
    inbox.finish(rows[0].id, status="error", note=f"not written by Claude: {reason}")
    return Step(0.0) if is_final else request_cycle.turned_down(rows[0].id, reason, now=now)


def store(row: Observation, said: prompts.WrittenObservation, *, by: str) -> None:
    """Store Claude's text for an observation."""
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


def first_together(rows: Sequence[Observation]) -> list[Observation]:
    """Return the first captures that may share a request; one that failed before goes alone."""
    first = rows[0]
    if first.upgrade_attempts:
        return [first]
    fresh = [row for row in rows if row.session_id == first.session_id and not row.upgrade_attempts]
    return fresh[:MAX_CAPTURES]
