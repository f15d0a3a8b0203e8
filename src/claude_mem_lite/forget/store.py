"""Delete marked rows from both databases and purge their bytes.

The module `forget.purge` writes new summaries for sessions that lost observations, and handles everything
outside of SQLite.
"""

# ruff: noqa: S608  statements are built from our own names only; user input is always a parameter

import json
import sqlite3
from collections.abc import Callable, Collection
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.forget.marking import Marked, rows
from claude_mem_lite.forget.wanted import Wanted, loaded, strings
from claude_mem_lite.storage import damage, facts, files, forgotten
from claude_mem_lite.storage.files import BUSY_S
from claude_mem_lite.storage.models import Observation, ProjectFolder, Session, State, memory_database
from claude_mem_lite.storage.projects import MOVED

_TIMES = "times forgotten"
_PURGING = "forgetting"  # state: rows were deleted whose bytes may still be in the files


def note() -> None:
    """Record that rows are about to be deleted: `is_unpurged` is true until `purge` has succeeded."""
    facts.write(_PURGING, {"at": inbox.utc_now()})
    State.insert(name=_TIMES, value=times_forgotten() + 1).on_conflict_replace().execute()


def times_forgotten() -> int:
    """Return how often something was forgotten. What was published before may contain what was forgotten."""
    row = State.get_or_none(State.name == _TIMES)
    return int(row.value) if row else 0


def clear_queue(marked: Marked) -> None:
    """Delete the marked rows of queue.db."""
    with inbox.Transaction(timeout_s=BUSY_S) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        for table, ids in (("pending_queue", marked.events), ("task", marked.messages)):
            connection.executemany(f"DELETE FROM {table} WHERE id = ?", [(each,) for each in ids])


def clear_memory(marked: Marked, wanted: Wanted) -> None:
    """Delete the marked rows of claude-mem.db, and every mention of them in rows that stay.

    Call it inside a transaction (see `transaction`).
    """
    _scrub(marked, wanted)
    # The raw event of an observation that stays is deleted, so Claude cannot rewrite the observation.
    for event_id in marked.events - marked.observations:
        memory_database.execute_sql(
            "UPDATE observations SET upgrade = 'gone', batch = NULL WHERE id = ? AND written_by = 'local'",
            (event_id,),
        )
    gone: tuple[tuple[str, str, Collection[Any]], ...] = (  # children before their parents
        ("observations", "id", marked.observations), ("sessions", "id", marked.sessions),
        ("learnings", "id", marked.learnings), ("function_map", "id", marked.functions),
        ("function_changes", "pk", marked.changes), ("retired_names", "pk", marked.names),
        ("failed_calls", "pk", marked.failed), ("call_graph", "pk", marked.edges),
        ("event_log", "pk", marked.entries),
    )  # fmt: skip
    for table, column, keys in gone:
        for key in keys:
            memory_database.execute_sql(f"DELETE FROM {table} WHERE {column} = ?", (key,))
    for project_dir, path in marked.files:
        memory_database.execute_sql(
            "DELETE FROM source_files WHERE project_dir = ? AND file_path = ?", (project_dir, path)
        )
    for row in list(ProjectFolder.select()):
        if wanted.is_project(row.project_dir) or wanted.holds(row.folder, row.project_dir, row.key):
            row.delete_instance()


def retell(session_id: str, summary: str, key_files: list[str], *, up_to: int) -> None:
    """Replace a session's summary, decisions and state, also Claude's, by a summary of what is left of it."""
    Session.update(
        summary=summary or None,
        key_files=key_files,
        key_decisions=[],
        state={},
        summarized_pk=up_to,
        retold=None,
        retold_pk=0,
        written_by="local",
        prompt_version=None,
        upgrade="",
        upgrade_note=None,
    ).where(Session.id == session_id).execute()


def reword(observation_id: str, **words: str | None) -> None:
    """Replace an observation's title, summary or detail."""
    Observation.update(**words).where(Observation.id == observation_id).execute()


def transaction() -> Any:
    """Return a transaction on the memory in which SQLite overwrites deleted bytes."""
    memory_database.execute_sql("PRAGMA secure_delete = ON")
    return memory_database.atomic()


def is_unpurged() -> bool:
    """Tell whether bytes of rows that were deleted, or about to be, may still lie in free pages."""
    return State.get_or_none(State.name == _PURGING) is not None


def purge() -> list[str]:
    """Vacuum both databases, so that no byte of deleted rows is left; return the problems met.

    An FTS5 index keeps deleted words until its segments are merged, so all indexes are rebuilt first.
    """
    try:
        damage.rebuild_full_text()
    except sqlite3.OperationalError as error:
        return [f"the full text could not be rebuilt ({error})"]
    problems = [problem for problem in map(files.vacuum, files.paths()) if problem]
    if not problems:
        State.delete().where(State.name == _PURGING).execute()
    return problems


def _scrub(marked: Marked, wanted: Wanted) -> None:
    """Remove every mention of marked rows from the rows that stay."""
    gone = marked.ids
    _scrub_learnings(marked, wanted)
    for row in list(rows("call_graph", "pk", "session_id", "observation_id")):
        changed: dict[str, Any] = {"session_id": ""} if row["session_id"] in marked.sessions else {}
        if row["observation_id"] in marked.observations:
            changed["observation_id"] = None
        _set("call_graph", row["pk"], **changed)
    for row in list(rows("event_log", "pk", "session_id", "data")):
        data = loaded(row["data"])
        said = _without(data, gone.__contains__)
        changed = {"data": json.dumps(said, ensure_ascii=False)} if said != data else {}
        if row["session_id"] in marked.sessions or wanted.holds(row["session_id"]):
            changed["session_id"] = None
        _set("event_log", row["pk"], **changed)
    for table in ("sessions", "observations") if wanted.text else ():
        for row in list(rows(table, "pk", "upgrade_note")):
            if wanted.holds(row["upgrade_note"]):
                _set(table, row["pk"], upgrade_note=None)
    _scrub_states(wanted, gone)


def _scrub_learnings(marked: Marked, wanted: Wanted) -> None:
    names = ("source_sessions", "observations", "kin", "code")
    for row in list(rows("learnings", "pk", "project_dir", "superseded_by", *names)):
        before = {name: loaded(row[name]) for name in names}
        left = {name: [each for each in before[name] if str(each) not in marked.ids] for name in names}
        left["code"] = [
            each for each in left["code"] if not wanted.is_file(row["project_dir"] or "", each["file"])
        ]
        changed: dict[str, Any] = {
            name: json.dumps(left[name], ensure_ascii=False) for name in names if left[name] != before[name]
        }
        if "code" in changed:
            changed["stale"] = ""
        if row["superseded_by"] in marked.learnings:
            # Stays inactive: it was superseded for a reason, even if the successor is forgotten.
            changed |= {"superseded_by": None, "is_active": 0}
        _set("learnings", row["pk"], **changed)


def _scrub_states(wanted: Wanted, gone: frozenset[str]) -> None:
    for state in list(State.select().where(~State.name.startswith(forgotten.STATE))):
        is_of_project = wanted.is_project(state.name[state.name.find("/") :])
        is_of_project |= state.name == MOVED and any(map(wanted.is_project, strings(state.value)))
        if is_of_project or wanted.holds(state.name):
            state.delete_instance()
            continue
        value = _without(state.value, lambda each: each in gone or wanted.holds(each))
        if value != state.value:
            State.update(value=value).where(State.name == state.name).execute()


def _without(value: Any, is_gone: Callable[[str], bool]) -> Any:
    """Return a JSON value without the strings that are gone: list items, values and field names."""
    if isinstance(value, dict):
        return {
            name: _without(each, is_gone)
            for name, each in value.items()
            if not is_gone(name) and not (isinstance(each, str) and is_gone(each))
        }
    if isinstance(value, list):
        return [_without(each, is_gone) for each in value if not (isinstance(each, str) and is_gone(each))]
    return value


def _set(table: str, pk: int, **columns: Any) -> None:
    if columns:
        names = ", ".join(f"{name} = ?" for name in columns)
        memory_database.execute_sql(f"UPDATE {table} SET {names} WHERE pk = ?", (*columns.values(), pk))
