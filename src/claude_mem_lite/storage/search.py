"""The questions that search puts to claude-mem.db: rows by full text, and rows by id, within a scope."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from peewee import SQL, Value

from claude_mem_lite.storage.models import (
    FunctionIndex,
    FunctionMapEntry,
    Learning,
    LearningIndex,
    Observation,
    ObservationIndex,
    Session,
    SessionIndex,
    memory_database,
)

if TYPE_CHECKING:
    from collections.abc import Collection

Kind = Literal["observation", "session", "learning", "function"]
KINDS: tuple[Kind, ...] = ("observation", "session", "learning", "function")


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search; None and "" stand for everywhere. Times are UTC text, `until` excluded."""

    project_dir: str | None = None
    since: str = ""
    until: str = ""
    file: str = ""
    session_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that can be found, whatever its kind; `bm25` is positive, None where text did not find it."""

    kind: Kind
    id: str
    title: str
    summary: str
    detail: str
    files: tuple[str, ...]
    project_dir: str
    session_id: str
    tool_name: str
    created_at: str
    bm25: float | None = None


@dataclass(frozen=True, slots=True)
class _Source:
    """A table, its full text index with the weights of the columns, and its columns as a `Row` has them."""

    table: Any
    index: Any
    weights: tuple[float, ...]
    title: Any
    summary: Any
    detail: Any
    files: str  # SQL of a JSON list
    session_id: Any
    tool_name: Any
    at: Any


_NOTHING = Value("")
# A hit in the title counts more than one in the evidence, a path hardly: it says where, not what.
_SOURCES: dict[Kind, _Source] = {
    "observation": _Source(
        Observation, ObservationIndex, (3.0, 2.0, 1.0, 0.2), Observation.title, Observation.summary,
        Observation.detail, "t1.files_touched", Observation.session_id, Observation.tool_name,
        Observation.created_at,
    ),
    "session": _Source(
        Session, SessionIndex, (1.0, 1.0), _NOTHING, Session.summary, Session.key_decisions,
        "t1.key_files", Session.id, _NOTHING, Session.last_event_at,
    ),
    "learning": _Source(
        Learning, LearningIndex, (1.0,), Learning.category, Learning.content, _NOTHING, "'[]'",
        Learning.source_session_id, _NOTHING, Learning.updated_at,
    ),
    "function": _Source(
        FunctionMapEntry, FunctionIndex, (3.0, 2.0, 1.0), FunctionMapEntry.qualified_name,
        FunctionMapEntry.signature, FunctionMapEntry.docstring,
        "json_array(t1.file_path)", FunctionMapEntry.session_id, _NOTHING,
        FunctionMapEntry.updated_at,
    ),
}  # fmt: skip


def by_text(kind: Kind, match: str, scope: Scope, *, limit: int) -> list[Row]:
    """Return the best rows of a kind for an FTS5 query, best first."""
    source = _SOURCES[kind]
    rank = source.index.bm25(*source.weights)
    rows = _select(kind, scope, rank).join(source.index, on=(source.table.pk == source.index.rowid))
    rows = rows.where(source.index.match(match)).order_by(SQL("score"), source.table.pk.desc()).limit(limit)
    return _rows(kind, rows)


def by_id(kind: Kind, ids: Collection[str], scope: Scope) -> list[Row]:
    """Return those of some rows that are in the scope, in no order."""
    return _rows(kind, _select(kind, scope, Value(None)).where(_SOURCES[kind].table.id.in_(list(ids))))


def by_prefix(kind: Kind, prefix: str) -> list[Row]:
    """Return the rows, at most five, whose id begins so."""
    row_id = _SOURCES[kind].table.id
    rows = _select(kind, Scope(), Value(None)).where(row_id >= prefix, row_id < f"{prefix}~").limit(5)
    return _rows(kind, rows)


def is_narrow(scope: Scope) -> bool:
    """Tell whether a scope is more than a project, so that few of a project's rows may be in it."""
    return any((scope.since, scope.until, scope.file, scope.session_id, scope.tool))


def ids_in(kind: Kind, scope: Scope, *, limit: int) -> list[str]:
    """Return the newest ids in a scope."""
    source = _SOURCES[kind]
    rows = _select(kind, scope, Value(None)).order_by(source.table.pk.desc()).limit(limit)
    return [values[0] for values in rows.tuples()]


def count(kind: Kind, project_dir: str | None = None) -> int:
    """Return how many rows of a kind a project has (None: all projects together)."""
    return int(_select(kind, Scope(project_dir=project_dir), Value(None)).count())


def sample(kind: Kind, project_dir: str | None, *, one_in: int) -> list[Row]:
    """Return every nth row of a project (None: of all), oldest first."""
    table = _SOURCES[kind].table
    rows = _select(kind, Scope(project_dir=project_dir), Value(None)).where(table.pk % one_in == 0)
    return _rows(kind, rows.order_by(table.pk))


def _select(kind: Kind, scope: Scope, rank: Any) -> Any:
    source = _SOURCES[kind]
    columns = (
        source.table.id, source.title, source.summary, source.detail, SQL(source.files),
        source.table.project_dir, source.session_id, source.tool_name, source.at, rank.alias("score"),
    )  # fmt: skip
    rows = source.table.select(*columns)
    if scope.project_dir:
        here = source.table.project_dir == scope.project_dir
        rows = rows.where(here | source.table.project_dir.is_null() if kind == "learning" else here)
    if kind == "learning":
        rows = rows.where(Learning.is_active)
    if kind == "session":
        rows = rows.where(Session.summary.is_null(False))
    if scope.since:
        rows = rows.where(source.at >= scope.since)
    if scope.until:
        rows = rows.where(source.at < scope.until)
    if scope.session_id:
        rows = rows.where(source.session_id == scope.session_id)
    if scope.tool:
        rows = rows.where(source.tool_name == scope.tool)
    if scope.file:
        ending = f"/{scope.file}"
        rows = rows.where(
            SQL(
                f"EXISTS (SELECT 1 FROM json_each({source.files}) AS file"  # noqa: S608  (a name of ours)
                " WHERE file.value = ? OR substr(file.value, -length(?)) = ?)",
                (scope.file, ending, ending),
            )
        )
    return rows


def _rows(kind: Kind, query: Any) -> list[Row]:
    """Return what a query of `_select` finds, without peewee's look at each value."""
    return [_row(kind, values) for values in memory_database.execute(query)]


def _row(kind: Kind, values: tuple[Any, ...]) -> Row:
    row_id, title, summary, detail, files, project_dir, session_id, tool_name, at, score = values
    return Row(
        kind=kind,
        id=row_id,
        title=title or "",
        summary=summary or "",
        detail="\n".join(map(str, json.loads(detail))) if kind == "session" else detail or "",
        files=tuple(json.loads(files)),
        project_dir=project_dir or "",
        session_id=session_id or "",
        tool_name=tool_name or "",
        created_at=at,
        bm25=None if score is None else -score,  # SQLite's is negative, best first
    )
