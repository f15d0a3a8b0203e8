"""What a summarized session leaves behind: what its prompts state, what it used, what fades."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from claude_mem_lite import settings
from claude_mem_lite.learnings import client_notes, evolve, findings
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.learnings.statements import statements
from claude_mem_lite.storage import code, context, queries, upgrades
from claude_mem_lite.storage import learnings as storage

if TYPE_CHECKING:
    from claude_mem_lite.learnings.evolve import Outcome
    from claude_mem_lite.storage.models import Observation, Session

# Lost with each closed session of its project by a learning that was not seen for so long.
FADES_BY = 0.01


def learn(session_id: str, *, fades: bool = True) -> list[Outcome]:
    """Take in what the user has stated in a session since the last time; return what became of each.

    Learnings that the session used count as seen; once it is closed, those long unseen fade, if it `fades`: a
    session of now, which also takes in what the client has noted of the user's wishes.
    """
    session = queries.session(session_id)
    if session is None:
        return []
    outcomes = [
        evolve.take(candidate, session_id=session_id, project_dir=session.project_dir, at=row.created_at)
        for row in storage.prompts_after(session_id, session.learned_pk)
        for candidate in _stated(row)
    ]
    storage.note_learned(session_id, session.summarized_pk)
    storage.note_seen(context.used_in(session_id), at=session.last_event_at)
    evolve.check_code(session.project_dir, session_id)
    findings.take(session)
    if fades:
        outcomes += [outcome for _, outcome in client_notes.take(session.project_dir, session_id).outcomes]
    if fades and session.status == "closed":
        _fade(session)
    return outcomes


def _stated(row: Observation) -> list[Candidate]:
    """Return what a prompt states explicitly, in the user's words."""
    event = queries.pending_event(row.id)
    prompt = json.loads(event.raw_output).get("prompt") if event else None
    return [
        Candidate(each.content, each.category, "user", observations=(row.id,))
        for each in statements(prompt if isinstance(prompt, str) else "")
    ]


def _fade(session: Session) -> None:
    """Let what nobody has seen for so many sessions of the project fade; once for each of them."""
    unseen_for = settings.load().decay_after_sessions
    name = f"learnings {session.project_dir}"
    if unseen_for < 1 or upgrades.read_state(name).get("faded_for") == session.id:
        return
    with storage.transaction():
        since = code.nth_newest_closed_start(session.project_dir, unseen_for)
        if since:
            evolve.fade(session.project_dir, session.id, since=since, step=FADES_BY)
        upgrades.write_state(name, {"faded_for": session.id})
