"""Query the code map's files, functions and function changes; calls are in `call_edges`.

A `name` given by a user is a function's qualified name or the end of it, optionally preceded by its module or
the end of its file path: "post", "Journal.post", "ledger.journal.Journal.post", "journal.py:Journal.post".
"""

import itertools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from peewee import JOIN, chunked, fn

from claude_mem_lite.repository import work_of
from claude_mem_lite.storage import facts
from claude_mem_lite.storage.call_edges import UNRESOLVED
from claude_mem_lite.storage.models import (
    CallEdge,
    FunctionChange,
    FunctionMapEntry,
    Observation,
    Session,
    SourceFile,
    memory_database,
)
from claude_mem_lite.storage.rows import ROWS, id_of_place

_FILE = ("project_dir", "file_path")
_BY_PLACE = (FunctionMapEntry.project_dir, FunctionMapEntry.file_path, FunctionMapEntry.line)
_TOLD = 200  # most changes in the history of a name
_NEWEST = 5_000  # newest changes that are searched for functions changed together
_NEWEST_FIRST = (FunctionChange.created_at.desc(), FunctionChange.pk.desc())


class Definition(NamedTuple):
    """A function or class of a project, in short."""

    file: str
    name: str
    kind: str
    signature: str
    body_hash: str


class Mapped(NamedTuple):
    """A file in short: the SHA-256 of its bytes, and its number of lines."""

    digest: str
    lines: int


class Changed(NamedTuple):
    """A function change recorded by an observation; `work` identifies the piece of work it belongs to."""

    work: str
    file: str
    name: str
    change_type: str
    observation_id: str
    created_at: str


def changed_functions(since: str, before: str) -> dict[str, list[FunctionMapEntry]]:
    """Return, by project, the functions last changed by a session between two times (UTC text)."""
    is_then = (FunctionMapEntry.updated_at > since) & (FunctionMapEntry.updated_at < before)
    found: dict[str, list[FunctionMapEntry]] = {}
    for row in FunctionMapEntry.rows(FunctionMapEntry.session_id != "", is_then, by=_BY_PLACE):
        found.setdefault(row.project_dir, []).append(row)
    return found


def source_files(project_dir: str) -> dict[str, SourceFile]:
    """Return a project's files by path, without their packed contents."""
    columns = (SourceFile.file_path, SourceFile.digest, SourceFile.lines, SourceFile.error)
    rows = SourceFile.select(*columns, SourceFile.updated_at).where(SourceFile.project_dir == project_dir)
    return {row.file_path: row for row in rows}


def mapped_files(project_dir: str) -> dict[str, Mapped]:
    """Return a project's files by path, in short."""
    query = "SELECT file_path, digest, lines FROM source_files WHERE project_dir = ?"
    return {path: Mapped(*rest) for path, *rest in memory_database.execute_sql(query, (project_dir,))}


def source_file(project_dir: str, path: str) -> SourceFile | None:
    """Return one file, or None."""
    # Building the statement in peewee takes longer than SQLite needs to find that there is no such row.
    query = "SELECT 1 FROM source_files WHERE project_dir = ? AND file_path = ?"
    if memory_database.execute_sql(query, (project_dir, path)).fetchone() is None:
        return None
    return SourceFile.get_or_none(_in_file(SourceFile, project_dir, path))


def find_files(project_dir: str | None, path: str) -> list[SourceFile]:
    """Return the files with a path, absolute or relative to the project; `project_dir` None searches all."""
    path = os.path.normpath(path)
    full = SourceFile.project_dir.concat("/").concat(SourceFile.file_path)
    rows = SourceFile.select().where((SourceFile.file_path == path) | (full == path))
    if project_dir is not None:
        rows = rows.where(SourceFile.project_dir == project_dir)
    return list(rows.order_by(SourceFile.project_dir))


def packed(project_dir: str, paths: Collection[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the path and packed contents of a project's files: of all, or of those in `paths`."""
    query = "SELECT file_path, packed FROM source_files WHERE project_dir = ?"
    if paths is None:
        yield from memory_database.execute_sql(query, (project_dir,))
    for path in paths or ():
        yield from memory_database.execute_sql(f"{query} AND file_path = ?", (project_dir, path))


def functions_in(project_dir: str, path: str) -> list[FunctionMapEntry]:
    """Return a file's functions in line order."""
    is_it = _in_file(FunctionMapEntry, project_dir, path)
    return FunctionMapEntry.rows(is_it, by=(FunctionMapEntry.line, FunctionMapEntry.pk))


def functions(project_dir: str) -> list[FunctionMapEntry]:
    """Return a project's functions, by file and line."""
    order = (FunctionMapEntry.file_path, FunctionMapEntry.line, FunctionMapEntry.pk)
    return FunctionMapEntry.rows(FunctionMapEntry.project_dir == project_dir, by=order)


def definitions(project_dir: str) -> list[Definition]:
    """Return a project's functions and classes in short, unordered."""
    query = (
        "SELECT file_path, qualified_name, kind, signature, body_hash FROM function_map WHERE project_dir = ?"
    )
    return [Definition(*row) for row in memory_database.execute_sql(query, (project_dir,))]


def hashes(project_dir: str, path: str) -> dict[str, str]:
    """Return the body hashes of a file's functions by qualified name, in line order."""
    query = (
        "SELECT qualified_name, body_hash FROM function_map WHERE project_dir = ? AND file_path = ?"
        " ORDER BY line, pk"
    )
    return dict(memory_database.execute_sql(query, (project_dir, path)).fetchall())


def files_with(project_dir: str, name: str) -> list[str]:
    """Return the files that define a function with exactly this qualified name."""
    is_it = (FunctionMapEntry.project_dir == project_dir) & (FunctionMapEntry.qualified_name == name)
    rows = FunctionMapEntry.select(FunctionMapEntry.file_path).where(is_it)
    return list(rows.order_by(FunctionMapEntry.file_path).scalars())


def save_file(row: Mapping[str, Any]) -> None:
    """Insert a file, or update its row."""
    SourceFile.upsert(row, place=_FILE)


def save_functions(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert functions, or update their rows."""
    place = (*_FILE, "qualified_name")
    with_ids = ({"id": id_of_place(row, place), **row} for row in rows)
    FunctionMapEntry.upsert(*with_ids, place=place, kept=("id",))


def delete_functions(project_dir: str, path: str, names: Collection[str]) -> None:
    """Delete functions of a file."""
    for some in chunked(names, ROWS):
        FunctionMapEntry.delete().where(
            _in_file(FunctionMapEntry, project_dir, path) & FunctionMapEntry.qualified_name.in_(some)
        ).execute()


def delete_file(project_dir: str, path: str) -> None:
    """Delete a file with its functions."""
    for table in (FunctionMapEntry, SourceFile):
        table.delete().where(_in_file(table, project_dir, path)).execute()


def save_changes(rows: Sequence[Mapping[str, Any]]) -> None:
    """Store function changes."""
    for some in chunked(rows, ROWS):
        FunctionChange.insert_many(some).execute()


def save_past_changes(rows: Sequence[Mapping[str, Any]]) -> None:
    """Store the function changes of one session's imported edits, skipping observations already stored."""
    if not rows:
        return
    is_mine = FunctionChange.session_id == rows[0]["session_id"]
    noted = set(FunctionChange.select(FunctionChange.observation_id).where(is_mine).distinct().scalars())
    save_changes([row for row in rows if row["observation_id"] not in noted])


def history(project_dir: str | None, name: str) -> list[dict[str, Any]]:
    """Return the changes of the functions with a name, newest first, with their observations' text.

    `project_dir` None searches all projects. At most 200 changes are returned.
    """
    rows: Any = (
        FunctionChange.select(FunctionChange, Observation.title, Observation.summary)
        .join(Observation, JOIN.LEFT_OUTER, on=(Observation.id == FunctionChange.observation_id))
        .where(_ends_so(FunctionChange, project_dir, name))
        .order_by(*_NEWEST_FIRST)
        .dicts()
    )
    found = (
        row for row in rows if answers(row["project_dir"], row["file_path"], row["qualified_name"], name)
    )
    return list(itertools.islice(found, _TOLD))


def changed_in(project_dir: str, session_id: str) -> dict[tuple[str, str], str]:
    """Return the net change that a session made to each function, keyed by file and name."""
    mine = (FunctionChange.project_dir == project_dir) & (FunctionChange.session_id == session_id)
    ordered = FunctionChange.rows(mine, by=(FunctionChange.created_at, FunctionChange.pk))
    return net(((row.file_path, row.qualified_name), row.change_type) for row in ordered)


def net(changes: Iterable[tuple[tuple[str, str], str]]) -> dict[tuple[str, str], str]:
    """Return the net change per function from its changes in order.

    A function created and then modified is "new"; one created and then deleted is left out.
    """
    found: dict[tuple[str, str], str] = {}
    for place, now in changes:
        before = found.pop(place, None)
        if before == "new" and now == "deleted":
            continue
        found[place] = before if before == "new" else "modified" if before == "deleted" else now
    return found


def deleted_with(project_dir: str, path: str) -> set[str]:
    """Return the functions that were deleted with their file; empty if its last change deletes nothing."""
    here = _in_file(FunctionChange, project_dir, path)
    last = FunctionChange.select(fn.MAX(FunctionChange.created_at)).where(here)
    rows: Any = FunctionChange.select(FunctionChange.qualified_name, FunctionChange.change_type).where(
        here & (FunctionChange.created_at == last)
    )
    ordered = list(rows.order_by(FunctionChange.pk).tuples())
    is_gone = ordered[-1:] and ordered[-1][1] == "deleted"
    return {name for name, change_type in ordered if is_gone and change_type == "deleted"}


def latest_changing_session(project_dir: str) -> str | None:
    """Return the session that last changed a function of a project, or None."""
    rows = FunctionChange.select(FunctionChange.session_id).where(
        (FunctionChange.project_dir == project_dir) & (FunctionChange.session_id != "")
    )
    row = rows.order_by(*_NEWEST_FIRST).first()
    return row.session_id if row else None


def find_functions(project_dir: str | None, name: str) -> list[FunctionMapEntry]:
    """Return the functions that a name matches, ordered by project, file and line."""
    rows = FunctionMapEntry.rows(_ends_so(FunctionMapEntry, project_dir, name), by=_BY_PLACE)
    return [row for row in rows if answers(row.project_dir, row.file_path, row.qualified_name, name)]


def answers(project_dir: str, path: str, qualified: str, name: str) -> bool:
    """Tell whether a name as a user gives it matches a function."""
    file, _, wanted = name.removesuffix("()").rpartition(":")
    if file and not f"{project_dir}/{path}".endswith("/" + os.path.normpath(file).lstrip("/")):
        return False
    if f".{qualified}".endswith(f".{wanted}"):
        return True
    module = path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
    return wanted.endswith(f".{qualified}") and f".{module}.{qualified}".endswith(f".{wanted}")


def counts(project_dir: str) -> dict[str, int]:
    """Return how many functions, resolved calls and unresolved calls a project has."""
    calls = CallEdge.select().where(CallEdge.project_dir == project_dir)
    unresolved = calls.where(CallEdge.resolution == UNRESOLVED).count()
    functions = FunctionMapEntry.select().where(FunctionMapEntry.project_dir == project_dir).count()
    return {"functions": functions, "calls": calls.count() - unresolved, "unresolved": unresolved}


def changes_of(
    project_dir: str, sessions: Collection[str], *, since: str = "", limit: int
) -> list[FunctionChange]:
    """Return the function changes that some sessions made in a project, newest first."""
    of_sessions = FunctionChange.session_id.in_(list(sessions)) & (FunctionChange.created_at > since)
    mine = FunctionChange.project_dir == project_dir
    return FunctionChange.rows(mine, of_sessions, by=_NEWEST_FIRST, limit=limit)


def changes_in(project_dir: str, path: str, *, limit: int) -> list[FunctionChange]:
    """Return the changes that sessions made to a file's functions, newest first."""
    mine = _in_file(FunctionChange, project_dir, path)
    return FunctionChange.rows(mine, FunctionChange.session_id != "", by=_NEWEST_FIRST, limit=limit)


def newest_changes(project_dir: str) -> list[Changed]:
    """Return a project's newest changes that have an observation, newest first."""
    query = (
        "SELECT s.id, s.branch, c.file_path, c.qualified_name, c.change_type, c.observation_id, c.created_at"
        " FROM function_changes AS c JOIN sessions AS s ON s.id = c.session_id"
        " WHERE +c.project_dir = ? AND c.observation_id IS NOT NULL ORDER BY c.pk DESC LIMIT ?"
    )
    rows = memory_database.execute_sql(query, (project_dir, _NEWEST))
    return [Changed(work_of(own, branch), *row) for own, branch, *row in rows]


def nth_newest_closed_start(project_dir: str, n: int) -> str | None:
    """Return when a project's n-th newest closed session began; None if there are fewer."""
    rows = Session.select(Session.started_at).where(
        (Session.project_dir == project_dir) & (Session.status == "closed")
    )
    row = rows.order_by(Session.started_at.desc()).offset(n - 1).first()
    return row.started_at if row else None


def observations_after(project_dir: str, pk: int, *, limit: int) -> list[Observation]:
    """Return a project's observations stored after the one with this `pk`, oldest first."""
    mine = Observation.project_dir == project_dir
    return Observation.rows(mine, Observation.pk > pk, by=(Observation.pk,), limit=limit)


def state(project_dir: str) -> dict[str, Any]:
    """Return the stored state of a project's code map."""
    return facts.read(f"code map {project_dir}")


def save_state(project_dir: str, value: Mapping[str, Any]) -> None:
    """Replace the stored state of a project's code map."""
    facts.write(f"code map {project_dir}", dict(value))


def _in_file(table: Any, project_dir: str, path: str) -> Any:
    return (table.project_dir == project_dir) & (table.file_path == path)


def _ends_so(table: Any, project_dir: str | None, name: str) -> Any:
    """Return a SQL condition that rows matching a name meet; `answers` makes the final decision."""
    last = name.removesuffix("()").rpartition(":")[2].rpartition(".")[2]
    ends = (table.qualified_name == last) | table.qualified_name.endswith(f".{last}")
    return ends if project_dir is None else ends & (table.project_dir == project_dir)
