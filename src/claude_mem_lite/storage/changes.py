"""Query what sessions did to a project's functions and types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from claude_mem_lite.repository import work_of
from claude_mem_lite.storage.models import FunctionChange, memory_database

if TYPE_CHECKING:
    from collections.abc import Collection

_NEWEST = 5_000  # changes among which those made together are looked for


class Changed(NamedTuple):
    """A change by an observation; `work` is the piece of work that it is part of."""

    work: str
    file: str
    name: str
    change_type: str
    observation_id: str
    created_at: str


def of_sessions(
    project_dir: str, sessions: Collection[str], *, since: str = "", limit: int
) -> list[FunctionChange]:
    """Return what some sessions did to a project's functions, newest first."""
    rows = FunctionChange.select().where(
        (FunctionChange.project_dir == project_dir)
        & FunctionChange.session_id.in_(list(sessions))
        & (FunctionChange.created_at > since)
    )
    return list(rows.order_by(FunctionChange.created_at.desc(), FunctionChange.pk.desc()).limit(limit))


def in_file(project_dir: str, path: str, *, limit: int) -> list[FunctionChange]:
    """Return what became of a file's functions in sessions, newest first."""
    rows = FunctionChange.select().where(
        (FunctionChange.project_dir == project_dir)
        & (FunctionChange.file_path == path)
        & (FunctionChange.session_id != "")
    )
    return list(rows.order_by(FunctionChange.created_at.desc(), FunctionChange.pk.desc()).limit(limit))


def docs(project_dir: str, path: str) -> dict[str, str]:
    """Return what new functions of a file say of themselves, quoted, by name, as their edits told it."""
    query = (
        "SELECT c.qualified_name, o.summary FROM function_changes AS c JOIN observations AS o"
        " ON o.id = c.observation_id WHERE c.project_dir = ? AND c.file_path = ? AND c.change_type = 'new'"
    )
    rows = memory_database.execute_sql(query, (project_dir, path))
    told = ((name, re.search(rf"{re.escape(name)} \((“[^“”]+”)\)", says)) for name, says in rows)
    return {name: found[1] for name, found in told if found}


def newest(project_dir: str) -> list[Changed]:
    """Return the last changes of a project by observations, newest first, each with its work."""
    query = (
        "SELECT s.id, s.branch, c.file_path, c.qualified_name, c.change_type, c.observation_id, c.created_at"
        " FROM function_changes AS c JOIN sessions AS s ON s.id = c.session_id"
        " WHERE +c.project_dir = ? AND c.observation_id IS NOT NULL ORDER BY c.pk DESC LIMIT ?"
    )
    rows = memory_database.execute_sql(query, (project_dir, _NEWEST))
    return [Changed(work_of(own, branch), *row) for own, branch, *row in rows]
