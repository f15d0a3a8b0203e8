"""Read the rows of an export in an order independent of their insertion, and insert rows of an import.

A row that exists already is left as it is. Rows are compared by id or key, function changes by all columns.
"""

import json
from collections.abc import Iterator
from typing import Any

from peewee import fn

from claude_mem_lite.storage import call_edges
from claude_mem_lite.storage.ledger import CALL, IMPORTED
from claude_mem_lite.storage.models import (
    CallEdge,
    FailedCall,
    FunctionChange,
    Learning,
    LogEntry,
    Observation,
    Session,
)
from claude_mem_lite.storage.queries import UnknownIdError
from claude_mem_lite.storage.rewrites import GONE

TABLES: dict[str, Any] = {
    "session": Session, "observation": Observation, "learning": Learning, "finding": FailedCall,
    "function_change": FunctionChange, "call": CallEdge, "cost": LogEntry,
}  # fmt: skip
# Columns that identify a row, for kinds without an id.
_KEYS = {
    "finding": ("event_id",),
    "call": ("project_dir", "caller_file", "caller_function", "callee_file", "callee_function"),
}
_ORDER = {
    "session": ("started_at", "id"),
    "finding": ("failed_at", "event_id"),
    "function_change": (
        "created_at", "project_dir", "file_path", "qualified_name", "change_type", "session_id",
        "observation_id", "signature",
    ),
    "call": _KEYS["call"],
}  # fmt: skip
# Kinds that belong to a project through their session.
_SESSIONS: dict[str, Any] = {"observation": Observation.session, "cost": LogEntry.session_id}


def rows(kind: str, project_dir: str | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a kind, of one project or of all (None), as columns by name."""
    table = TABLES[kind]
    found = table.select()
    if project_dir is not None and kind in _SESSIONS:
        own = Session.select(Session.id).where(Session.project_dir == project_dir)
        found = found.where(_SESSIONS[kind].in_(own))
    elif project_dir is not None:
        found = found.where(table.project_dir == project_dir)
    if kind == "call":
        found = found.where((CallEdge.source == "observation") | (CallEdge.times_confirmed > 0))
    if kind == "cost":
        found = found.where(LogEntry.event_type == CALL)
    order = (getattr(table, name) for name in _ORDER.get(kind, ("created_at", "id")))
    for row in found.order_by(*order).dicts().iterator():
        yield as_line(kind, row)


def as_line(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row's columns under the names of its line's fields."""
    if kind == "observation":
        row["session_id"] = row.pop("session")
    if kind == "learning":
        row["guard"] = json.loads(row["guard"]) if row["guard"] else None
        row["confidence"] = round(row["confidence"], 6)
        row |= {name: sorted(row[name]) for name in ("source_sessions", "observations", "kin")}
    if kind == "cost":
        row["data"].pop(IMPORTED, None)
    if kind == "function_change":
        row["function_kind"] = row.pop("kind")
    return row


def add(kind: str, row: dict[str, Any]) -> bool:
    """Insert a row unless it exists; return whether it was inserted. Call it inside a transaction.

    Raises: UnknownIdError when an observation's session does not exist.
    """
    if kind == "observation":
        return _add_observation(row)
    table = TABLES[kind]
    telling = row if kind == "function_change" else {name: row[name] for name in _KEYS.get(kind, ("id",))}
    same = [getattr(table, name).is_null() if value is None else getattr(table, name) == value
            for name, value in telling.items()]  # fmt: skip
    if table.select().where(*same).exists():
        return False
    if kind == "call":
        call_edges.add_edge(row)
    elif kind == "cost":
        table.create(**{**row, "event_type": CALL, "data": {**row["data"], IMPORTED: True}})
    else:
        table.create(**row)
    return True


def knows_learning(learning_id: str) -> bool:
    """Tell whether a learning with this id exists."""
    return bool(Learning.select().where(Learning.id == learning_id).exists())


def _add_observation(row: dict[str, Any]) -> bool:
    """Insert an observation; a session that was summarized or learned from completely stays so."""
    if Observation.select().where(Observation.id == row["id"]).exists():
        return False
    session = Session.get_or_none(Session.id == row["session_id"])
    if session is None:
        raise UnknownIdError(f"session {row['session_id']!r}: no session has this id")
    own = Observation.session == session.id
    newest = Observation.select(fn.MAX(Observation.pk)).where(own).scalar() or 0
    is_local = row["written_by"] == "local" and row["tier"]
    # Claude cannot rewrite it: its raw event is not on this machine.
    pk = Observation.insert(**row, upgrade=GONE if is_local else "").execute()
    names = ["summarized_pk", "learned_pk", "extracted_pk"] + ["retold_pk"] * (session.retold is not None)
    up_to = {name: pk for name in names if getattr(session, name) >= newest}
    if session.summary is not None and up_to:
        Session.update(**up_to).where(Session.id == session.id).execute()
    return True
