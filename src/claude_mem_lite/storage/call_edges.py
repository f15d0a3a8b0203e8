"""Read, save, delete and decay the call edges of the code map."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from peewee import chunked, fn

from claude_mem_lite.storage.models import CallEdge, FunctionMapEntry, memory_database
from claude_mem_lite.storage.rows import ROWS, id_of_place

UNRESOLVED = "unresolved"
BY_CLAUDE = "claude"  # `source` of a call edge that Claude resolved
PAIR = ("caller_file", "caller_function", "callee_file", "callee_function")
_PLACE = ("project_dir", *PAIR)
_BY_PLACE = (CallEdge.caller_file, CallEdge.line, CallEdge.pk)
_SUREST_FIRST = (CallEdge.confidence.desc(), *_BY_PLACE)

Pair = tuple[str, str, str, str]  # caller's file and name, callee's file and name


class Known(NamedTuple):
    """The columns of a call edge that a new resolution is compared with."""

    pk: int
    pair: Pair
    resolution: str
    level: str
    shape: str
    line: int
    confidence: float
    source: str
    times_confirmed: int


def edges(project_dir: str, *, resolution: str | None = None) -> list[CallEdge]:
    """Return a project's calls ordered by the caller's file and line, optionally of one `resolution`."""
    where = [CallEdge.project_dir == project_dir]
    if resolution is not None:
        where.append(CallEdge.resolution == resolution)
    return CallEdge.rows(*where, by=_BY_PLACE)


def known_edges(project_dir: str, files: Collection[str] | None = None) -> list[Known]:
    """Return a project's calls in short, unordered; `files` limits the calls found by parsing ("ast")."""
    query = (
        "SELECT pk, resolution, level, shape, line, confidence, source, times_confirmed,"
        " caller_file, caller_function, callee_file, callee_function FROM call_graph WHERE project_dir = ?"
    )
    rows = list(memory_database.execute_sql(query, (project_dir,))) if files is None else []
    if files is not None:
        rows += memory_database.execute_sql(f"{query} AND source != 'ast'", (project_dir,))
    for path in files or ():
        rows += memory_database.execute_sql(
            f"{query} AND source = 'ast' AND caller_file = ?", (project_dir, path)
        )
    return [Known(pk, pair, *said) for pk, *said, a, b, c, d in rows for pair in [(a, b, c, d)]]


def edges_at(project_dir: str, path: str) -> list[CallEdge]:
    """Return the calls from and to a file, highest confidence first."""
    in_file = (CallEdge.caller_file == path) | (CallEdge.callee_file == path)
    return CallEdge.rows(CallEdge.project_dir == project_dir, in_file, by=_SUREST_FIRST)


def edges_of(function: FunctionMapEntry, *, side: str) -> list[CallEdge]:
    """Return the calls in which a function is the `side` ("caller" or "callee"), highest confidence first."""
    file, name = getattr(CallEdge, f"{side}_file"), getattr(CallEdge, f"{side}_function")
    is_it = (file == function.file_path) & (name == function.qualified_name)
    return CallEdge.rows(CallEdge.project_dir == function.project_dir, is_it, by=_SUREST_FIRST)


def unresolved_calls(function: FunctionMapEntry) -> list[CallEdge]:
    """Return the unresolved calls to any function with this one's last name, by file and line."""
    last = function.qualified_name.rpartition(".")[2]
    is_named = (CallEdge.callee_function == last) | CallEdge.callee_function.endswith(f".{last}")
    is_unresolved = (CallEdge.project_dir == function.project_dir) & (CallEdge.resolution == UNRESOLVED)
    found = CallEdge.rows(is_unresolved, is_named, by=_BY_PLACE)
    return [row for row in found if row.callee_function.rpartition(".")[2] == last]  # "_" is LIKE's wildcard


def save_edges(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert calls, or update those that are stored."""
    with_ids = ({"id": id_of_place(row, _PLACE), **row} for row in rows)
    CallEdge.upsert(*with_ids, place=_PLACE, kept=("id", "created_at"))


def add_edge(row: Mapping[str, Any]) -> CallEdge:
    """Insert a call that is not stored yet, and return it."""
    return CallEdge.create(id=id_of_place(row, _PLACE), **row)


def delete_edges(pks: Collection[int]) -> None:
    """Delete calls."""
    for some in chunked(pks, ROWS):
        CallEdge.delete().where(CallEdge.pk.in_(some)).execute()


def decay_edges(project_dir: str, *, before: str, step: float, floor: float) -> int:
    """Lower the confidence of unparsed calls that nothing has confirmed since `before`; return how many."""
    confirmed_at = fn.COALESCE(CallEdge.last_confirmed_at, CallEdge.created_at)
    stale = (
        (CallEdge.project_dir == project_dir)
        & (CallEdge.source != "ast")
        & (confirmed_at < before)
        & (CallEdge.confidence > floor)
    )
    lowered = fn.MAX(floor, CallEdge.confidence - step)
    return int(CallEdge.update(confidence=lowered).where(stale).execute())
