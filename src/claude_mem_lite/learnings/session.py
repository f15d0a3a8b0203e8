"""Learn from a summarized session: the user's words, the learnings it used, and those that fade."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from claude_mem_lite import settings
from claude_mem_lite.importers.store import is_imported
from claude_mem_lite.kinds import RULE
from claude_mem_lite.learnings import client_notes, evolve, findings, heard
from claude_mem_lite.learnings.evidence import ACTIVE, stated
from claude_mem_lite.learnings.evolve import CANDIDATE, INITIAL, Candidate
from claude_mem_lite.learnings.heard import Earlier, Said, comparable
from claude_mem_lite.storage import code, context, facts, queries
from claude_mem_lite.storage import learnings as learning_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claude_mem_lite.distill.suspicion import Origin
    from claude_mem_lite.learnings.evolve import Outcome
    from claude_mem_lite.storage.models import Session

# Confidence that a learning not seen for long loses with each closed session of its project.
FADES_BY = 0.01

_EARLIER = 400  # prompts of other sessions that are searched for the same wish


def learn(session_id: str) -> list[Outcome]:
    """Learn from the user's words in a session since the last time; return what became of each candidate.

    Learnings that the session used count as seen. Unless the session was imported, the client's feedback
    notes are imported too, and once it is closed, learnings not seen for long fade.
    """
    session = queries.session(session_id)
    if session is None:
        return []
    said = heard.said_in(session)
    outcomes = [*_take_stated(session, said), *_take_again(session, said), *_take_instructions(session)]
    learning_rows.note_learned(session_id, session.summarized_pk)
    learning_rows.note_seen(context.used_in(session_id), at=session.last_event_at)
    evolve.check_code(session.project_dir, session_id)
    findings.take(session)
    is_of_now = not is_imported(session_id)
    if is_of_now:
        outcomes += [outcome for _, outcome in client_notes.take(session.project_dir, session_id).outcomes]
    if is_of_now and session.status == "closed":
        _fade(session)
    return outcomes


def _take_stated(session: Session, said: Sequence[Said]) -> Iterator[Outcome]:
    """Store sentences that read as rules on their own."""

    def is_known(name: str) -> bool:
        return learning_rows.is_known(session.project_dir, name, without=session.id)

    for each in said:
        for found in stated(each.text, is_refusal=each.is_refusal, is_known=is_known):
            starts_at = INITIAL if found.signs >= ACTIVE else CANDIDATE
            yield _take(session, replace(each, text=found.content), starts_at=starts_at)


def _take_again(session: Session, said: Sequence[Said]) -> Iterator[Outcome]:
    """Store wishes that the user has also expressed in another session."""
    if not any(each.text for each in said):
        return
    earlier = Earlier(learning_rows.said_elsewhere(session.project_dir, without=session.id, limit=_EARLIER))
    for each in said:
        for sentence in comparable(session.id, each.at, each.text):
            for wish, again in earlier.wishes(sentence):
                for told in (wish, again):
                    yield _take(session, Said(wish.text, told.at), of=told.session_id)


def _take_instructions(session: Session) -> Iterator[Outcome]:
    """Store as candidates the rules that the user had added to CLAUDE.md, which each session reads."""
    for each in heard.added_to_instructions(session):
        yield _take(session, each, origin="assistant")


def _take(
    session: Session, said: Said, *, of: str = "", starts_at: float = CANDIDATE, origin: Origin = "user"
) -> Outcome:
    ids = (said.observation_id,) if said.observation_id else ()
    candidate = Candidate(said.text, RULE, origin, starts_at=starts_at, observations=ids)
    return evolve.take(candidate, session_id=of or session.id, project_dir=session.project_dir, at=said.at)


def _fade(session: Session) -> None:
    """Lower the confidence of learnings unseen for `decay_after_sessions` sessions, once per session."""
    unseen_for = settings.load().decay_after_sessions
    name = f"learnings {session.project_dir}"
    if unseen_for < 1 or facts.read(name).get("faded_for") == session.id:
        return
    with facts.transaction():
        since = code.nth_newest_closed_start(session.project_dir, unseen_for)
        if since:
            evolve.fade(session.project_dir, session.id, since=since, step=FADES_BY)
        facts.write(name, {"faded_for": session.id})
