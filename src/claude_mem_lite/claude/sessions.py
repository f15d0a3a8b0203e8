"""Have Claude summarize a session and extract its learnings, in one request at its end.

Captured text reaches the model here, so what Claude writes is not taken for the user's words:
`learnings.attribution` attributes it by the events.
"""

from collections.abc import Sequence

from claude_mem_lite.claude import api, observations, prompts, request_cycle, requests
from claude_mem_lite.claude.api import RejectedError, Request
from claude_mem_lite.claude.prompts import Told, WrittenLearning
from claude_mem_lite.claude.request_cycle import PACE_S, Step
from claude_mem_lite.distill.observation import SUMMARY_CHARS
from claude_mem_lite.distill.record import MAX_KEY_FILES, SPOKEN, summarize_session
from claude_mem_lite.distill.rules.teammates import RECEIVED
from claude_mem_lite.distill.sameness import terms
from claude_mem_lite.distill.typed import CONTENT_CHARS
from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.attribution import Voices
from claude_mem_lite.learnings.evolve import TOLD, Candidate
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import context, facts, queries, rewrites
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.models import Learning, Observation, Session
from claude_mem_lite.text import clip, one_line

MOST_LEARNINGS = 10  # of one session
SHOWN = 30  # known learnings, in the request
# Claude may rewrite at most this many observations of a session, and at most one in so many.
_MOST_REWORDED, _ONE_IN = 6, 5

_SESSION_CHARS, _SAID_CHARS = 24_000, 700
# Characters of each observation's summary in the transcript; the next width if that would be too long.
_WIDTHS = (160, 80, 0)
_SUMMARY_TOKENS, _LEARNINGS_TOKENS = 1_200, 1_600
_KEY_DECISIONS = 6


def tell(session: Session, settings: Settings, *, now: float) -> Step:
    """Ask Claude for a session's summary, for rewrites of observations and for learnings; store the answer.

    The summary is stored last: if storing breaks off, the request is repeated, and learnings that are known
    by then are only confirmed.
    """
    rows, up_to = _news(session, settings), session.summarized_pk
    if not rows:
        rewrites.cancel_retelling(session.id)
        return Step(0.0)
    known = _known(session, rows) if settings.learnings else []
    try:
        entry_id, answer = request_cycle.ask(_request(session, rows, known, settings), settings, now=now)
    except request_cycle.StoppedError as stopped:
        if stopped.step.failure == "outage":
            rewrites.put_off([session], due=now, note=stopped.step.reason)
        return stopped.step
    except RejectedError as error:
        rewrites.reject(session, note=str(error))
        return request_cycle.turned_down(f"{request_cycle.SESSION}{session.id}", str(error), now=now)
    request_cycle.enter("session", answer, settings, now=now, session_id=session.id, entry_id=entry_id)
    told = prompts.parse_session(answer.text)
    if answer.stop_reason == api.REFUSAL:
        rewrites.reject(session, note=api.DECLINED)
        return request_cycle.declined(now=now)
    if told is None or (settings.summaries and told.words is None):
        pause_s = request_cycle.useless_pause_s(session.upgrade_attempts + 1)
        note = f"the answer told no session ({answer.stop_reason})"
        rewrites.put_off([session], due=now + pause_s, note=note)
        return request_cycle.answered(Step(PACE_S), now=now)
    _learn(session, rows, known, told)
    with facts.transaction():
        _write(session, rows, told, settings, up_to=up_to)
    if queries.known_session(session.id).summarized_pk > up_to:  # the session went on during the call
        summarize_session(session.id, retell=queries.known_session(session.id).status == "closed")
    return request_cycle.answered(Step(PACE_S, written=1), now=now)


def request(session: Session, settings: Settings) -> Request:
    """Return the request about a session: known learnings, then the events, each with its short id."""
    rows = _news(session, settings)
    return _request(session, rows, _known(session, rows) if settings.learnings else [], settings)


def candidate(
    written: WrittenLearning, rows: Sequence[Observation], known: Sequence[Learning], voices: Voices
) -> Candidate:
    """Return a learning that Claude wrote as a candidate; ids that it was not shown are dropped."""
    ids = {_short(row.id): row.id for row in known}
    contradicted = ids.get(written.contradicts or "", "")
    # Text from outside cannot contradict a learning that neither the user nor Claude has touched here.
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


def _news(session: Session, settings: Settings) -> list[Observation]:
    """Return the observations of a session since Claude last summarized it, or learned from it."""
    since = session.retold_pk if settings.summaries else session.extracted_pk
    rows = queries.observations_of(session.id)
    return [row for row in rows if row.pk > since and row.project_dir == session.project_dir]


def _request(
    session: Session, rows: Sequence[Observation], known: Sequence[Learning], settings: Settings
) -> Request:
    transcript = ""
    for width in _WIDTHS:
        transcript = _told(session, rows, known, width)
        if len(transcript) <= _SESSION_CHARS:
            break
    most = min(_MOST_REWORDED, sum(map(_can_be_reworded, rows)) // _ONE_IN)
    tokens = _SUMMARY_TOKENS * settings.summaries + _LEARNINGS_TOKENS * settings.learnings
    tokens += requests.MAX_OBSERVATION_TOKENS * most
    return Request(
        system=prompts.session_prompt(
            summary=settings.summaries, learnings=settings.learnings, observations=most
        ),
        content=clip(transcript, _SESSION_CHARS),
        schema=prompts.session_schema(summary=settings.summaries, learnings=settings.learnings),
        max_tokens=min(tokens * 2 ** min(session.upgrade_attempts, 3), requests.MOST_TOKENS),
    )


def _told(session: Session, rows: Sequence[Observation], known: Sequence[Learning], width: int) -> str:
    """Return a session in the order of time, with `width` characters of each observation's summary.

    What Claude has summarized before goes in as that summary alone.
    """
    transcript = prompts.Transcript()
    for each in known:
        doubt = {"mark": "low-confidence"} if each.confidence < TOLD or each.superseded_by else {}
        transcript.add("known", f"{each.category}: {each.content}", id=_short(each.id), **doubt)
    if session.retold:
        transcript.add("told-before", "\n".join([session.retold, *session.key_decisions]))
    done: list[str] = []

    def close() -> None:
        if done:
            transcript.add("done", "\n".join(done))
            done.clear()

    for row in rows:
        if row.tool_name in SPOKEN:
            close()
            name = "request" if row.tool_name in {"UserPromptSubmit", RECEIVED} else "report"
            transcript.add(name, clip(row.summary, min(_SAID_CHARS, 3 * width) or 200), id=_short(row.id))
        elif row.tier == "low":
            done.append(f"- {row.title}")
        else:
            told = one_line(row.summary, width) if width else ""
            done.append(f"- [{_short(row.id)}] {row.title}{f': {told}' if told else ''}")
    close()
    return str(transcript)


def _learn(session: Session, rows: Sequence[Observation], known: Sequence[Learning], told: Told) -> None:
    """Store the learnings of a session."""
    if not told.learnings:
        return
    voices = Voices(queries.payloads_of(session.id), remembered=context.told_of_others(session.id))
    for written in told.learnings[:MOST_LEARNINGS]:
        evolve.take(
            candidate(written, rows, known, voices),
            session_id=session.id,
            project_dir=session.project_dir,
            at=rows[-1].created_at,
        )


def _write(
    session: Session, rows: Sequence[Observation], told: Told, settings: Settings, *, up_to: int
) -> None:
    """Store a session's summary, and Claude's rewrites of its observations."""
    by_id = {_short(row.id): row for row in rows if _can_be_reworded(row)}
    for said in told.observations[:_MOST_REWORDED]:
        if row := by_id.get(said.id):
            observations.store(row, said, by=settings.model)
    if settings.learnings:
        rewrites.finish_extraction(session.id, up_to=up_to)
    if told.words is None or not settings.summaries:
        rewrites.cancel_retelling(session.id)
        return
    rewrites.write_summary(
        session.id,
        summary=clip(told.words.summary, SUMMARY_CHARS),
        key_files=_lines(told.words.key_files, MAX_KEY_FILES, chars=200),
        key_decisions=_lines(told.words.key_decisions, _KEY_DECISIONS, chars=300),
        retold_pk=up_to,
        written_by=settings.model,
        prompt_version=prompts.SESSION_VERSION,
    )


def _can_be_reworded(row: Observation) -> bool:
    """Tell whether Claude may rewrite an observation: once each, but no messages and no mere looks."""
    return (
        row.tool_name not in SPOKEN and row.tier != "low" and row.written_by == "local" and row.upgrade == ""
    )


def _known(session: Session, rows: Sequence[Observation]) -> list[Learning]:
    """Return the learnings of a project that Claude is shown, those nearest to the session first.

    Doubted ones are included: Claude would find one again that it is not shown, and that would revive it.
    """
    known = [row for row in learning_rows.find(session.project_dir, state="all") if row.is_active]
    texts = "\n".join([session.summary or "", *(f"{row.title}\n{row.summary}" for row in rows)])
    said = {term for line in texts.splitlines() for term in terms(line)}

    def nearness(row: Learning) -> float:
        wanted = set(terms(row.content))
        return len(wanted & said) / len(wanted) if wanted else 0.0

    return sorted(known, key=nearness, reverse=True)[:SHOWN]


def _lines(texts: Sequence[str], most: int, *, chars: int) -> list[str]:
    return [one_line(text, chars) for text in texts if text][:most]


def _short(row_id: str) -> str:
    return row_id[:8]
