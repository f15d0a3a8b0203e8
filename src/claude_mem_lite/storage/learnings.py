"""Query and change the rows of learnings; their meaning is defined in the package `learnings`.

A learning is *current* while it is active and not superseded. With a confidence of at least 0.5 it is shown
to sessions as a rule; below that it is a *candidate*: stated once, or not seen for long. It is *proposed* to
the user if it is a candidate, or *shared* by three or more projects.
"""

import json
import os
import re
from collections.abc import Collection, Sequence
from typing import Any, Literal

from peewee import SQL, fn

from claude_mem_lite.capture.guards import TOOLS, Call, columns
from claude_mem_lite.storage.models import (
    Learning,
    LogEntry,
    Observation,
    PendingEvent,
    Session,
    memory_database,
)
from claude_mem_lite.storage.queries import log_event, row_by_prefix

State = Literal[
    "active", "candidate", "current", "quarantine", "stale", "superseded", "removed", "shared", "proposed",
    "all",
]  # fmt: skip
Sort = Literal["confidence", "seen", "times", "created"]

EVENTS = "learning."  # prefix of the event types of learnings in `event_log`
ASKED, BOTH = f"{EVENTS}asked", f"{EVENTS}both"  # a possible conflict of two learnings, and "both hold"
TOLD = 0.5  # least confidence of a learning that is shown to sessions
PROPOSING = 3  # number of projects with the same learning from which it is proposed as global

_ORDERS: dict[str, tuple[Any, ...]] = {
    "confidence": (Learning.confidence.desc(), Learning.times_seen.desc()),
    "seen": (Learning.seen_at.desc(),),
    "times": (Learning.times_seen.desc(), Learning.confidence.desc()),
    "created": (Learning.created_at.desc(),),
}
_NONE = SQL("'[]'")  # an empty list as it is stored
CURRENT = Learning.is_active & Learning.superseded_by.is_null()
_WAITS = ~Learning.is_active & (Learning.quarantine != _NONE)
_SHARED = Learning.project_dir.is_null(False) & (fn.json_array_length(Learning.kin) >= PROPOSING - 1)
_STATES: dict[str, Any] = {
    "active": CURRENT & (Learning.confidence >= TOLD),
    "candidate": CURRENT & (Learning.confidence < TOLD),
    "current": CURRENT,
    "quarantine": _WAITS,
    "stale": CURRENT & (Learning.stale != ""),
    "superseded": Learning.superseded_by.is_null(False),
    "removed": ~Learning.is_active & (Learning.quarantine == _NONE) & Learning.superseded_by.is_null(),
    "shared": CURRENT & _SHARED,
    "proposed": CURRENT & ((Learning.confidence < TOLD) | _SHARED),
}

# In SQL because this runs after every edit, and most learnings are about other code.
_OTHER_CODE = """
    SELECT known.pk FROM learnings AS known JOIN json_each(known.code) AS anchor
    LEFT JOIN function_map AS now ON now.project_dir = known.project_dir
        AND now.file_path = json_extract(anchor.value, '$.file')
        AND now.qualified_name = json_extract(anchor.value, '$.name')
        AND now.body_hash = json_extract(anchor.value, '$.body_hash')
    LEFT JOIN source_files AS file ON file.project_dir = known.project_dir
        AND file.file_path = json_extract(anchor.value, '$.file')
        AND json_extract(anchor.value, '$.name') = ''
    WHERE known.project_dir = ? AND now.pk IS NULL AND file.pk IS NULL
"""


def find(
    project_dir: str | None,
    *,
    state: State = "active",
    category: str = "",
    sort: Sort = "confidence",
    limit: int | None = None,
) -> list[Learning]:
    """Return the learnings of a project and the global ones (None: of all projects)."""
    rows = Learning.select()
    if project_dir is not None:
        rows = rows.where(here(project_dir))
    if state != "all":
        rows = rows.where(_STATES[state])
    if category:
        rows = rows.where(Learning.category == category)
    return list(rows.order_by(*_ORDERS[sort], Learning.pk).limit(limit))


def counts(project_dir: str | None = None) -> dict[str, int]:
    """Return how many learnings of a project (None: of all) are in each state; one may be in several."""
    rows = Learning.select() if project_dir is None else Learning.select().where(here(project_dir))
    return {
        state: rows.where(condition).count() for state, condition in _STATES.items() if state != "current"
    }


def get(prefix: str) -> Learning:
    """Return the learning whose id starts with `prefix`, of at least 6 characters.

    Raises:
        UnknownIdError: there is none, or more than one.
    """
    found: Learning = row_by_prefix(Learning, prefix, shown_by="claude-mem learnings list --all")
    return found


def by_ids(ids: Collection[str]) -> list[Learning]:
    """Return the learnings with some ids, oldest first; unknown ids are skipped."""
    return Learning.rows(Learning.id.in_(list(ids)), by=(Learning.pk,))


def insert(**fields: Any) -> Learning:
    """Insert a learning under a new id, and return it."""
    return Learning.create(id=os.urandom(16).hex(), **fields)


def update(row: Learning, **fields: Any) -> None:
    """Change some columns of a learning."""
    Learning.update(**fields).where(Learning.pk == row.pk).execute()
    for name, value in fields.items():
        setattr(row, name, value)


def superseded_by(learning_id: str) -> list[Learning]:
    """Return the learnings that a learning has superseded."""
    return Learning.rows(Learning.superseded_by == learning_id, by=(Learning.pk,))


def with_other_code(project_dir: str) -> list[Learning]:
    """Return a project's current learnings that are stale, or about code that differs in the code map.

    Only the columns needed to decide this are read.
    """
    mine = (Learning.project_dir == project_dir) & CURRENT
    changed = Learning.pk.in_(SQL(f"({_OTHER_CODE})", [project_dir]))
    columns = (Learning.pk, Learning.id, Learning.code, Learning.stale, Learning.confidence)
    return list(Learning.select(*columns).where(mine & ((Learning.stale != "") | changed)))


def elsewhere(ids: Collection[str], project_dir: str) -> list[Learning]:
    """Return which of some learnings are current in other projects."""
    return Learning.rows(Learning.project_dir != project_dir, Learning.id.in_(list(ids)), CURRENT)


def unseen(project_dir: str, *, since: str, floor: float) -> list[Learning]:
    """Return a project's current, not manual learnings above `floor` that were last seen before `since`."""
    faded = (Learning.seen_at < since) & (Learning.confidence > floor) & ~Learning.is_manual
    return Learning.rows(Learning.project_dir == project_dir, CURRENT, faded)


def note_seen(ids: Collection[str], *, at: str) -> None:
    """Record that a session used some learnings; manual ones are left alone."""
    Learning.update(seen_at=at).where(
        Learning.id.in_(list(ids)) & (Learning.seen_at < at) & ~Learning.is_manual
    ).execute()


def events_after(
    session_id: str, pk: int, tools: Collection[str]
) -> list[tuple[Observation, dict[str, Any]]]:
    """Return a session's observations of some tools after `pk`, with their stored events, oldest first."""
    mine = (Observation.session == session_id) & Observation.tool_name.in_(list(tools))
    rows = Observation.rows(mine, Observation.pk > pk, by=(Observation.pk,))
    kept = PendingEvent.select(PendingEvent.id, PendingEvent.raw_output).where(
        PendingEvent.id.in_([row.id for row in rows])
    )
    payloads = {each.id: json.loads(each.raw_output.encode("utf-8", "replace")) for each in kept}
    return [(row, payloads[row.id]) for row in rows if row.id in payloads]


def past_calls(project_dir: str | None, *, limit: int) -> list[tuple[str, Call]]:
    """Return the commands and edits of a project (None: of all), newest first, each with its time."""
    event: Any = PendingEvent.alias("event")
    is_call = event.event_name.in_(["PostToolUse", "PostToolUseFailure"]) & event.tool_name.in_(TOOLS)
    wanted = is_call & (fn.json_valid(event.raw_output) == 1)
    if project_dir is not None:
        wanted &= event.project_dir == project_dir
    fields = SQL(columns("event.raw_output"))
    rows = event.select(event.created_at, event.work_tree, event.project_dir, event.branch, fields)
    rows = rows.where(wanted).order_by(event.seq.desc()).limit(limit).tuples()
    return [(at, Call(found, tree or project, branch)) for at, tree, project, branch, *found in rows]


def transcript_of(session_id: str) -> str:
    """Return the transcript path given by a session's newest prompt, "" if there is none."""
    path = fn.json_extract(PendingEvent.raw_output, "$.transcript_path")
    mine = (PendingEvent.session_id == session_id) & (PendingEvent.event_name == "UserPromptSubmit")
    rows: Any = PendingEvent.select(path).where(mine).order_by(PendingEvent.seq.desc()).limit(1)
    return next((found for (found,) in rows.tuples() if isinstance(found, str)), "")


def said_elsewhere(project_dir: str, *, without: str, limit: int) -> list[tuple[str, str, str]]:
    """Return what the user said in other sessions of a project: session, time, text.

    Prompts come first, newest first. Candidate learnings follow, since some were not stated in a prompt.
    """
    here = Observation.project_dir == project_dir
    is_prompt = (Observation.tool_name == "UserPromptSubmit") & (Observation.session != without)
    prompts = Observation.rows(here, is_prompt, by=(Observation.pk.desc(),), limit=limit)
    said = [(row.session_id, row.created_at, row.summary) for row in prompts]
    return said + [
        (row.source_sessions[0], row.created_at, row.content)
        for row in find(project_dir, state="candidate")
        if row.source_sessions and row.source_sessions[0] != without
    ]


def is_known(project_dir: str, name: str, *, without: str) -> bool:
    """Tell whether an observation of another session in the project mentions a name."""
    words = " ".join(re.findall(r"\w+", name))
    if not words:
        return False
    rows = memory_database.execute_sql(
        "SELECT 1 FROM observations_fts CROSS JOIN observations AS t ON t.pk = observations_fts.rowid"
        " WHERE observations_fts MATCH ? AND t.project_dir = ? AND t.session_id <> ? LIMIT 1",
        (f'{{title summary}} : "{words}"', project_dir, without),
    )
    return rows.fetchone() is not None


def ask(
    row: Learning, other: Learning, *, cosine: float = 0.0, is_again: bool = False, session_id: str = ""
) -> None:
    """Record once that two learnings may contradict each other or, with `is_again`, say the same.

    `cosine` is the similarity of their vectors.
    """
    if frozenset((row.id, other.id)) not in _pairs(ASKED):
        data = {"id": row.id, "other": other.id, "cosine": round(cosine, 3), "is_again": is_again}
        log_event(ASKED, data, session_id=session_id or None)


def answer_both(row: Learning, other: Learning) -> None:
    """Record that two learnings both hold."""
    log_event(BOTH, {"id": row.id, "other": other.id})


def questions(project_dir: str | None, *, candidates: bool = False) -> list[tuple[Learning, Learning, bool]]:
    """Return the pairs of learnings that may contradict each other, or say the same (True), newer one first.

    The most similar pair comes first. Pairs of two candidates are included only with `candidates`.
    """
    current = {row.id: row for row in find(project_dir, state="current")}
    asked, answered = _pairs(ASKED), _pairs(BOTH)
    found = []
    for pair in sorted(asked, key=lambda pair: asked[pair].get("cosine", 0.0), reverse=True):
        rows = [current[each] for each in pair if each in current]
        is_asked = candidates or any(row.confidence >= TOLD for row in rows)
        if len(rows) == len(pair) and pair not in answered and is_asked:
            older, newer = sorted(rows, key=lambda row: row.created_at)
            found.append((newer, older, bool(asked[pair].get("is_again"))))
    return found


def _pairs(event: str) -> dict[frozenset[str], dict[str, Any]]:
    rows = LogEntry.select(LogEntry.data).where(LogEntry.event_type == event).order_by(LogEntry.pk)
    return {frozenset((row.data["id"], row.data["other"])): row.data for row in rows}


def note_learned(session_id: str, pk: int) -> None:
    """Record up to which observation a session's prompts have been searched for learnings."""
    Session.update(learned_pk=pk).where((Session.id == session_id) & (Session.learned_pk < pk)).execute()


def story(learning_id: str) -> list[LogEntry]:
    """Return the events of a learning, oldest first."""
    is_it = LogEntry.event_type.startswith(EVENTS) & (fn.INSTR(LogEntry.data, learning_id) > 0)
    return LogEntry.rows(is_it, by=(LogEntry.created_at, LogEntry.pk))


def sources(row: Learning) -> tuple[Sequence[Session], Sequence[Observation]]:
    """Return the sessions and observations that support a learning, as far as they are stored."""
    sessions = Session.rows(Session.id.in_(row.source_sessions), by=(Session.started_at,))
    return sessions, Observation.rows(Observation.id.in_(row.observations), by=(Observation.pk,))


def here(project_dir: str) -> Any:
    """Return the SQL condition that a learning belongs to a project or is global."""
    return (Learning.project_dir == project_dir) | Learning.project_dir.is_null()
