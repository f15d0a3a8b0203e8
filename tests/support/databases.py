"""Write rows of the two databases as the product does, and read them."""

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.distill import record
from claude_mem_lite.kinds import Type
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.results import Hit
from claude_mem_lite.storage import DatabaseError, files, models, queries
from claude_mem_lite.storage.search import Scope
from support.hooks import tool_event

NOW = "2026-11-21T03:00:00.000000Z"
PROJECT = "/home/dev/ledger"


def session_row(session_id: str = "s1", **fields: Any) -> None:
    """Store a session."""
    session = {"id": session_id, "project_dir": "/p", "started_at": NOW, "last_event_at": NOW}
    models.Session.create(**session | fields)


def observation_row(observation_id: str, **fields: Any) -> dict[str, Any]:
    """Return an observation's columns."""
    row = {"id": observation_id, "session_id": "s1", "project_dir": "/p", "tool_name": "Edit"}
    return {**row, "title": "Edit a", "summary": "", "created_at": NOW, **fields}


def find(query: str, *, type: Type = "all", limit: int = 10, **scope: str) -> list[Hit]:  # noqa: A002
    """Return what full-text search alone finds."""
    found = Searcher(by_meaning=False).search(query, type=type, scope=Scope(**scope), limit=limit, now=0)
    assert found.search_type == "fts"
    return found.hits


def observe(row_id: str, tool: str, summary: str, **fields: Any) -> None:
    """Store an observation of session `s1` whose title is its summary."""
    row = {**observation_row(row_id, tool_name=tool, title=summary, summary=summary), **fields}
    queries.save_observation(row)


def change(name: str, change_type: str, observation_id: str, **fields: Any) -> None:
    """Store a change to a function of /p/a.py in session `s1`."""
    models.FunctionChange.create(**{
        "project_dir": "/p", "file_path": "a.py", "qualified_name": name, "kind": "function",
        "signature": f"{name}(x)", "change_type": change_type, "session_id": "s1",
        "observation_id": observation_id, "created_at": NOW, **fields,
    })  # fmt: skip


def learning_row(row_id: str, content: str, **fields: Any) -> None:
    """Store a learning, of project /p by default."""
    models.Learning.create(**{
        "id": row_id, "project_dir": "/p", "category": "convention", "content": content, "confidence": 0.9,
        "seen_at": NOW, "created_at": NOW, "updated_at": NOW, **fields,
    })  # fmt: skip


def function_row(row_id: str, name: str, **fields: Any) -> None:
    """Store a function of /p/a.py in the code map."""
    models.FunctionMapEntry.create(**{
        "id": row_id, "session_id": "s1", "project_dir": "/p", "file_path": "a.py", "qualified_name": name,
        "kind": "function", "signature": f"{name}()", "docstring": "", "body_hash": "", "updated_at": NOW,
        **fields,
    })  # fmt: skip


def call_row(row_id: str, caller: tuple[str, str], callee: tuple[str, str], **fields: Any) -> None:
    """Store a call from one function to another, each given as file and name."""
    models.CallEdge.create(**{
        "id": row_id, "project_dir": "/p", "caller_file": caller[0], "caller_function": caller[1],
        "callee_file": callee[0], "callee_function": callee[1], "resolution": "import", "session_id": "",
        "created_at": NOW, **fields,
    })  # fmt: skip


def rows(query: str, *parameters: str) -> list[tuple[Any, ...]]:
    """Return the rows that a query on queue.db yields."""
    with closing(sqlite3.connect(config.queue_path())) as connection:
        return connection.execute(query, parameters).fetchall()


def lose_memory() -> None:
    """Delete the memory and put an empty one in its place."""
    models.close_databases()
    os.unlink(config.memory_path())
    models.open_databases()


def sessions_kept() -> int:
    """Return the number of sessions in the memory."""
    return files.row_counts(config.memory_path(), "sessions")["sessions"]


def fill(sessions: int, observations: int) -> None:
    """Fill the memory with sessions and observations, one recorded event and one that failed."""
    models.open_databases()
    with models.memory_database.atomic():
        for number in range(sessions):
            session_row(f"s{number}", project_dir=PROJECT, summary=f"Dug pond {number}.")
        for number in range(observations):
            row = observation_row(f"{number:032x}", session_id=f"s{number % sessions}", project_dir=PROJECT)
            title = f"Dig a [b]pond[/b] {number}"
            queries.save_observation({**row, "title": title, "summary": "\x1b[31mWet."})
    waiting = inbox.append(json.dumps(tool_event(tool_input={"command": "make pond"})), PROJECT)
    record.record_event(queries.pending_event(waiting))
    inbox.finish(inbox.append(json.dumps(tool_event()), PROJECT), status="error", note="KeyError: [/x]")
    models.close_databases()


def known() -> dict[str, str]:
    """Return ids for the placeholders; ids that no row has where there is no memory."""
    ids = {"ID": "0" * 32, "LEARNING": "1" * 32, "SECOND": "2" * 32}
    try:
        models.open_databases(read_only=True)
        row = models.Observation.select().order_by(models.Observation.pk).first()
        listed = list(models.Learning.select().order_by(models.Learning.pk).limit(2))
    except DatabaseError:
        return ids
    finally:
        models.close_databases()
    ids |= {"ID": row.id} if row else {}
    return ids | dict(zip(("LEARNING", "SECOND"), (each.id for each in listed), strict=False))


def work_on(event_id: str) -> None:
    """Record a stored event, as the consumer does."""
    row = queries.pending_event(event_id)
    assert row is not None
    record.record_event(row)


def work_off() -> None:
    """Record every event that waits."""
    for event_id in queries.unfinished_events():
        work_on(event_id)


def happen(event: dict[str, Any], project_dir: str, *, branch: str = "") -> str:
    """Store an event of a project, record it and return its id."""
    event_id = inbox.append(json.dumps(event), project_dir, branch=branch)
    work_on(event_id)
    return event_id


def take_place(events: Iterable[dict[str, Any]], session_id: str, project_dir: str) -> None:
    """Store and record the events of a session."""
    for event in events:
        happen({"session_id": session_id, "cwd": project_dir, **event}, project_dir)
