"""Query claude-mem.db for search: rows by full text, and rows by id, within a scope.

Queries are written in SQL: a search runs several, and building one with peewee takes longer than running it.
"""

# ruff: noqa: S608  every statement is put together from names of ours; what users say is a parameter

import itertools
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.kinds import Kind
from claude_mem_lite.storage.models import memory_database

_NEWEST = 5_000  # rows that a search by parts of words scans
_CANDIDATE = " (a candidate, not a rule)"


@dataclass(frozen=True, slots=True)
class Scope:
    """The limits of a search; None and "" mean no limit. Times are UTC text, `until` is exclusive."""

    project_dir: str | None = None
    since: str = ""
    until: str = ""
    file: str = ""
    session_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One search result of any kind."""

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

    @property
    def is_candidate(self) -> bool:
        """Whether this is a learning with too little confidence to be a rule."""
        return self.kind == "learning" and self.summary.endswith(_CANDIDATE)


@dataclass(frozen=True, slots=True)
class _Source:
    """A table `t` with its full-text index, and the SQL expressions that fill a `Row`.

    `weights` are the bm25 weights of the index's columns, `always` is the condition for a row to be found at
    all, `opened` the condition for it to be opened by its id.
    """

    table: str
    weights: str
    title: str = "''"
    summary: str = "''"
    detail: str = "''"
    files: str = "'[]'"  # a JSON list
    session_id: str = "''"
    tool_name: str = "''"
    at: str = "''"
    always: str = "1"
    opened: str = "1"

    @property
    def columns(self) -> str:
        """The columns of a `Row` from `id` on, in order."""
        return (
            f"t.id, {self.title}, {self.summary}, {self.detail}, {self.files}, t.project_dir, "
            f"{self.session_id}, {self.tool_name}, {self.at}"
        )


_SOURCES: dict[Kind, _Source] = {
    "observation": _Source(
        "observations",
        # A match in the title counts more than one in the detail. A path counts little: it names a place.
        weights="3.0, 2.0, 1.0, 0.2",
        title="t.title",
        summary="t.summary",
        detail="t.detail",
        files="t.files_touched",
        session_id="t.session_id",
        tool_name="t.tool_name",
        at="t.created_at",
    ),
    "session": _Source(
        "sessions",
        weights="1.0, 1.0",
        summary="t.summary",
        detail="t.key_decisions",
        files="t.key_files",
        session_id="t.id",
        at="t.last_event_at",
        always="t.summary IS NOT NULL",
    ),
    "learning": _Source(
        "learnings",
        weights="1.0",
        title="t.category",
        summary="t.content || CASE t.stale WHEN '' THEN '' ELSE ' (may be outdated: ' || t.stale || ')' END"
        f" || CASE WHEN t.confidence < 0.5 THEN '{_CANDIDATE}' ELSE '' END",
        files="(SELECT json_group_array(DISTINCT json_extract(value, '$.file')) FROM json_each(t.code))",
        session_id="json_extract(t.source_sessions, '$[#-1]')",
        at="t.updated_at",
        always="t.is_active AND t.superseded_by IS NULL",
        opened="t.quarantine = '[]'",  # only the user may read what waits for approval
    ),
    "function": _Source(
        "function_map",
        weights="3.0, 2.0, 1.0",
        title="t.qualified_name",
        summary="t.signature",
        detail="t.docstring",
        files="json_array(t.file_path)",
        session_id="t.session_id",
        at="t.updated_at",
    ),
}


def by_text(kind: Kind, match: str, scope: Scope, *, limit: int) -> list[Row]:
    """Return the best matching rows of a kind for an FTS5 query, best first; none for ""."""
    if not match:
        return []
    source = _SOURCES[kind]
    where, parameters = _within(kind, scope)
    index = f"{source.table}_fts"
    return _rows(
        kind,
        f"SELECT {source.columns} FROM {index} CROSS JOIN {source.table} AS t ON t.pk = {index}.rowid "
        f"WHERE {index} MATCH ? AND {where} "
        f"ORDER BY bm25({index}, {source.weights}), t.pk DESC LIMIT ?",
        (match, *parameters, limit),
    )


def by_parts(kind: Kind, parts: Sequence[str], scope: Scope, *, limit: int) -> list[Row]:
    """Return the rows of a kind that contain most of some strings, among the newest 5,000 in a scope.

    This serves scripts without spaces between words: the full-text index only finds beginnings of words.
    """
    if not parts:
        return []
    source = _SOURCES[kind]
    where, parameters = _within(kind, scope)
    found = " + ".join(["(told LIKE ?)"] * len(parts))
    return _rows(
        kind,
        f"SELECT {source.columns} FROM (SELECT pk, {found} AS found FROM (SELECT t.pk AS pk, "
        f"{source.title} || ' ' || {source.summary} AS told FROM {source.table} AS t WHERE {where} "
        f"ORDER BY t.pk DESC LIMIT {_NEWEST})) AS near CROSS JOIN {source.table} AS t ON t.pk = near.pk "
        f"WHERE near.found > 0 ORDER BY near.found DESC, t.pk DESC LIMIT ?",
        (*(f"%{part}%" for part in parts), *parameters, limit),
    )


def by_id(kind: Kind, ids: Collection[str], scope: Scope) -> list[Row]:
    """Return the rows with some ids that are in the scope, unordered."""
    source = _SOURCES[kind]
    where, parameters = _within(kind, scope)
    return _rows(
        kind,
        f"SELECT {source.columns} FROM json_each(?) AS wanted CROSS JOIN {source.table} AS t "
        f"ON t.id = wanted.value WHERE {where}",
        (json.dumps(list(ids)), *parameters),
    )


def newest(kind: Kind, scope: Scope, *, limit: int) -> list[Row]:
    """Return the newest rows of a kind in a scope, newest first."""
    where, parameters = _within(kind, scope)
    return _select(kind, f"{where} ORDER BY {_SOURCES[kind].at} DESC LIMIT ?", (*parameters, limit))


def by_prefix(kind: Kind, prefix: str, project_dir: str | None = None) -> list[Row]:
    """Return at most five rows of a project (None: of any) whose id starts with `prefix`."""
    where, parameters = _in_project(kind, project_dir)
    where = f"{where} AND {_SOURCES[kind].opened} AND t.id >= ? AND t.id < ? LIMIT 5"
    return _select(kind, where, (*parameters, prefix, f"{prefix}~"))


def reports_on(prompt_ids: Collection[str]) -> dict[str, Row]:
    """Return the assistant's final message of the turns that some prompts began, by the prompt's id."""
    source = _SOURCES["observation"]
    query = (
        f"SELECT p.id, {source.columns} FROM json_each(?) AS wanted CROSS JOIN observations AS p "
        "ON p.id = wanted.value CROSS JOIN observations AS t ON t.pk = (SELECT r.pk FROM observations AS r "
        "WHERE r.session_id = p.session_id AND r.created_at > p.created_at "
        "AND r.tool_name IN ('Stop', 'UserPromptSubmit') ORDER BY r.created_at LIMIT 1) "
        "WHERE t.tool_name = 'Stop'"
    )
    rows = memory_database.execute_sql(query, (json.dumps(list(prompt_ids)),))
    return {prompt_id: _row("observation", values) for prompt_id, *values in rows}


def is_narrow(scope: Scope) -> bool:
    """Tell whether a scope limits more than the project, so that it may hold few of the project's rows."""
    return any((scope.since, scope.until, scope.file, scope.session_id, scope.tool))


def ids_in(kind: Kind, scope: Scope, *, limit: int) -> list[str]:
    """Return the ids of the newest rows in a scope, newest first."""
    where, parameters = _within(kind, scope)
    query = f"SELECT t.id FROM {_SOURCES[kind].table} AS t WHERE {where} ORDER BY t.pk DESC LIMIT ?"
    return [row_id for (row_id,) in memory_database.execute_sql(query, (*parameters, limit))]


def count(kind: Kind, project_dir: str | None = None, *, since: str = "", until: str = "") -> int:
    """Return how many rows of a kind a project has (None: all projects), optionally within a time range."""
    where, parameters = _within(kind, Scope(project_dir=project_dir, since=since, until=until))
    query = f"SELECT count(*) FROM {_SOURCES[kind].table} AS t WHERE {where}"
    return int(memory_database.execute_sql(query, parameters).fetchone()[0])


def sample(kind: Kind, project_dir: str | None, *, one_in: int) -> list[Row]:
    """Return about one in `one_in` rows of a project (None: of all), always the same, oldest first."""
    where, parameters = _within(kind, Scope(project_dir=project_dir))
    by_chance = "(t.pk * 2654435761 >> 16) % ? = 0"
    return _select(kind, f"{by_chance} AND {where} ORDER BY t.pk", (one_in, *parameters))


def _within(kind: Kind, scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition for a row to be in a scope, with its parameters."""
    source = _SOURCES[kind]
    conditions: dict[str, tuple[str, ...]] = {source.always: ()}
    in_project, project = _in_project(kind, scope.project_dir or None)
    conditions[in_project] = project
    if scope.since:
        conditions[f"{source.at} >= ?"] = (scope.since,)
    if scope.until:
        conditions[f"{source.at} < ?"] = (scope.until,)
    if scope.session_id:
        conditions[f"{source.session_id} = ?"] = (scope.session_id,)
    if scope.tool:
        conditions[f"{source.tool_name} = ?"] = (scope.tool,)
    if scope.file:
        ending = f"/{scope.file}"
        conditions[
            f"EXISTS (SELECT 1 FROM json_each({source.files}) AS file "
            "WHERE file.value = ? OR substr(file.value, -length(?)) = ?)"
        ] = (scope.file, ending, ending)
    return " AND ".join(conditions), tuple(itertools.chain(*conditions.values()))


def _in_project(kind: Kind, project_dir: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition for a row to be of a project (None: any), or to be a global learning."""
    if project_dir is None:
        return "1", ()
    everywhere = " OR t.project_dir IS NULL" if kind == "learning" else ""
    return f"(t.project_dir = ?{everywhere})", (project_dir,)


def _select(kind: Kind, where: str, parameters: tuple[Any, ...]) -> list[Row]:
    source = _SOURCES[kind]
    return _rows(kind, f"SELECT {source.columns} FROM {source.table} AS t WHERE {where}", parameters)


def _rows(kind: Kind, query: str, parameters: tuple[Any, ...]) -> list[Row]:
    return [_row(kind, values) for values in memory_database.execute_sql(query, parameters)]


def _row(kind: Kind, values: tuple[Any, ...]) -> Row:
    row_id, title, summary, detail, files, project_dir, session_id, tool_name, at = values
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
    )
