"""Query what came before an event in its session, and after a session in its project."""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import fn

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.storage.models import Observation, PendingEvent, Session
from claude_mem_lite.storage.queries import BY_THE_CLIENT

_EVENTS = 1_000  # newest events that are searched for one of a project
_SESSIONS = 10  # most sessions that are read before or after one
_DONE = 400  # most observations that are read of each session
# Events after which nothing runs until the user's next prompt.
_RESTS = frozenset({"SessionStart", "Stop", "StopFailure", "SessionEnd"})


@dataclass(frozen=True, slots=True)
class Turn:
    """What led to the end of a turn.

    `is_clients` says that the client's own prompt, a notice of a finished task, began it. `has_worked` says
    that a tool was used since, other than by a sub-agent. `reports` are the assistant's final messages of the
    turns since the user's last prompt.
    """

    is_clients: bool
    has_worked: bool
    reports: tuple[str, ...]


def turn_of(event: PendingEvent) -> Turn:
    """Return the turn that an event ends."""
    mine = (PendingEvent.session_id == event.session_id) & (PendingEvent.seq < event.seq)
    prompts = PendingEvent.select(PendingEvent.seq).where(
        mine & (PendingEvent.event_name == "UserPromptSubmit")
    )
    words = fn.LTRIM(fn.json_extract(PendingEvent.raw_output, "$.prompt"), " \t\r\n")
    is_clients = fn.SUBSTR(words, 1, len(BY_THE_CLIENT)) == BY_THE_CLIENT
    began = prompts.order_by(PendingEvent.seq.desc()).limit(1).scalar() or 0
    if not began or not prompts.where(is_clients & (PendingEvent.seq == began)).exists():
        return Turn(is_clients=False, has_worked=True, reports=())
    asked = prompts.where(~is_clients).order_by(PendingEvent.seq.desc()).limit(1).scalar() or 0
    tools = PendingEvent.select(PendingEvent.seq).where(
        mine
        & (PendingEvent.seq > began)
        & (PendingEvent.tool_name != "")
        & fn.json_extract(PendingEvent.raw_output, "$.agent_id").is_null()
    )
    stops: Any = PendingEvent.select(PendingEvent.raw_output).where(
        mine & (PendingEvent.seq > asked) & (PendingEvent.event_name == "Stop")
    )
    said = (
        json.loads(raw).get("last_assistant_message") for (raw,) in stops.order_by(PendingEvent.seq).tuples()
    )
    reports = tuple(each for each in said if isinstance(each, str) and each.strip())
    return Turn(is_clients=True, has_worked=tools.exists(), reports=reports)


def turn_began_at(event: PendingEvent) -> str:
    """Return when an event's turn began (UTC text): at the end of the previous turn, or with the session."""
    at, mine = PendingEvent.created_at, PendingEvent.session_id == event.session_id
    before = PendingEvent.select(at).where(mine & (PendingEvent.seq < event.seq)).limit(1)
    # Each query reads a single row: a session's events can be hundreds of megabytes.
    ended = before.where(PendingEvent.event_name == "Stop").order_by(PendingEvent.seq.desc())
    return ended.scalar() or before.order_by(PendingEvent.seq).scalar() or event.created_at


def writing_of(session_id: str) -> Callable[[str, str], bool]:
    """Return a test whether calls of a session may have written any files between two times (UTC text).

    They may from a turn's start to the last call in it that does more than look or edit.
    """
    spans = functools.cache(lambda: list(_writing(session_id)))
    return lambda since, until: any(began <= until and ended >= since for began, ended in spans())


def _writing(session_id: str) -> Iterator[tuple[str, str]]:
    """Yield the start and end of each such time; "" for a start that is not stored."""
    rows: Any = PendingEvent.select(
        PendingEvent.created_at, PendingEvent.event_name, PendingEvent.tool_name, PendingEvent.priority
    ).where(PendingEvent.session_id == session_id)
    rested_at, began_at, is_resting = "", "", False
    for at, name, tool, priority in rows.order_by(PendingEvent.seq).tuples():
        if name in _RESTS:
            rested_at, is_resting = at, True
        elif name == "UserPromptSubmit" or tool:
            if is_resting:  # a hook of the user's may have the assistant go on without a prompt
                began_at, is_resting = at if name == "UserPromptSubmit" else rested_at, False
            if name != "PreToolUse" and tool and tool not in EDITORS and priority != "low":
                yield began_at, at


def transcript_path(project_dir: str) -> str:
    """Return the transcript path in a project's newest event, "" if it is not among the last 1,000 events."""
    newest = PendingEvent.select(fn.MAX(PendingEvent.seq) - _EVENTS).scalar() or 0
    path = fn.json_extract(PendingEvent.raw_output, "$.transcript_path")
    rows: Any = PendingEvent.select(path).where(
        (PendingEvent.seq > newest) & (PendingEvent.project_dir == project_dir)
    )
    found = rows.order_by(PendingEvent.seq.desc()).limit(1).scalar()
    return found if isinstance(found, str) and found.startswith("/") else ""


def done_after(session: Session) -> list[list[Observation]]:
    """Return the observations of up to ten later sessions of a session's project, one list per session."""
    later = (
        Session.select(Session.id)
        .where(
            (Session.project_dir == session.project_dir)
            & (Session.id != session.id)
            & (Session.last_event_at > session.last_event_at)
            & (Session.observation_count > 0)
        )
        .order_by(Session.last_event_at)
        .limit(_SESSIONS)
    )
    columns = (Observation.tool_name, Observation.title, Observation.summary, Observation.files_touched)
    done = Observation.select(*columns).where(
        (Observation.project_dir == session.project_dir) & (Observation.created_at > session.last_event_at)
    )
    done = done.order_by(Observation.created_at, Observation.pk).limit(_DONE)
    each = (list(done.where(Observation.session == row.id)) for row in later)
    return [rows for rows in each if rows]


def open_sessions_before(session: Session) -> Sequence[Session]:
    """Return the last sessions before one, in its project, whose summaries mention open or failed work."""
    return Session.rows(
        Session.project_dir == session.project_dir,
        Session.id != session.id,
        Session.last_event_at < session.last_event_at,
        Session.summary.contains("Left open: ") | Session.summary.contains(" failed"),
        by=(Session.last_event_at.desc(),),
        limit=_SESSIONS,
    )


def last_event(session_id: str) -> PendingEvent | None:
    """Return the last event of a session, None if the queue has none left of it."""
    rows = PendingEvent.select().where(PendingEvent.session_id == session_id)
    found: PendingEvent | None = rows.order_by(PendingEvent.seq.desc()).first()
    return found


def last_events(*, since: str) -> list[PendingEvent]:
    """Return the last event of each project's newest session, if it is after `since` and still stored."""
    rows = Session.select(Session.id, fn.MAX(Session.last_event_at)).where(Session.last_event_at > since)
    return [event for row in rows.group_by(Session.project_dir) if (event := last_event(row.id))]
