"""Mark the rows of both databases that the user wants forgotten, and all rows that depend on them.

With a row go its sources, and the rows derived from it alone. Nothing is changed here.
"""

# ruff: noqa: S608  statements are built from our own names only; user input is always a parameter

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.forget.wanted import Wanted, loaded, strings
from claude_mem_lite.storage import projects, team
from claude_mem_lite.storage.learnings import EVENTS
from claude_mem_lite.storage.ledger import CALL
from claude_mem_lite.storage.models import memory_database, queue_database
from claude_mem_lite.storage.queries import MIN_ID_PREFIX, UnknownIdError

Row = dict[str, Any]

# Columns that can hold a user's text; the other columns hold only our own words, times and numbers.
_TEXTS = {
    "sessions": ("id", "project_dir", "branch"),
    "observations": (
        "session_id", "project_dir", "branch", "tool_name", "title", "summary", "detail", "files_touched",
        "functions_changed",
    ),
    "learnings": ("project_dir", "content", "code", "stale", "quarantine", "guard"),
    "function_map": (
        "project_dir", "file_path", "qualified_name", "signature", "docstring", "decorators",
    ),
    "function_changes": ("project_dir", "file_path", "qualified_name", "signature"),
    "retired_names": ("project_dir", "name", "beside", "replacement"),
    "failed_calls": ("project_dir", "command", "shape", "error", "signature", "rule", "works"),
    "source_files": ("project_dir", "file_path", "error"),
    "call_graph": ("project_dir", "caller_file", "caller_function", "callee_file", "callee_function"),
    "event_log": ("session_id", "data"),
    "pending_queue": (
        "session_id", "project_dir", "work_tree", "branch", "tool_name", "raw_output", "files_touched",
        "note",
    ),
    "task": ("data",),
}  # fmt: skip
_CALLS = ("command", "error", "works")
_WITH_IDS = ("sessions", "observations", "learnings", "pending_queue")
_TOLD = ("summary", "key_files", "key_decisions", "retold", "state")


@dataclass(slots=True)
class Marked:
    """The rows to delete, by id where they have one, else by primary key.

    `retell` are sessions that stay and need a new summary; `files` are (project, path) pairs to scan again.
    """

    sessions: set[str] = field(default_factory=set)
    observations: set[str] = field(default_factory=set)
    learnings: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    events: set[str] = field(default_factory=set)
    changes: set[int] = field(default_factory=set)
    names: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    edges: set[int] = field(default_factory=set)
    entries: set[int] = field(default_factory=set)
    messages: set[int] = field(default_factory=set)
    retell: set[str] = field(default_factory=set)
    files: set[tuple[str, str]] = field(default_factory=set)

    @property
    def ids(self) -> frozenset[str]:
        """All ids that no remaining row may name."""
        return frozenset(self.sessions | self.observations | self.learnings | self.functions | self.events)


def mark(wanted: Wanted) -> Marked:
    """Return the rows that match `wanted`, and all rows that go with them."""
    marked = Marked()
    _mark_sessions(wanted, marked)
    _mark_observations(wanted, marked)
    _mark_learnings(wanted, marked)
    _mark_code(wanted, marked)
    _mark_derived(wanted, marked)
    gone = marked.ids
    for row in rows("event_log", "pk", "session_id", "event_type", "data", "created_at"):
        if _is_entry_of(row, wanted, marked, gone):
            marked.entries.add(row["pk"])
    for row in rows("task", "id", "data"):
        data = bytes(row["data"])
        said = set(strings(loaded(data.decode("utf-8", "replace"))))
        if wanted.holds(data) or said & gone or (wanted.project_dir and wanted.project_dir in said):
            marked.messages.add(row["id"])
    return marked


def whole_ids(prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the full ids of sessions, observations, learnings, events or shared lines, given by prefix.

    Raises: UnknownIdError when a prefix matches nothing, or more than one row.
    """
    found = []
    for prefix in prefixes:
        answers = {row_id for table in _WITH_IDS for row_id in _answering(table, "id", prefix)}
        answers |= team.ids_from(prefix) if len(prefix) >= MIN_ID_PREFIX else set()
        found.append(_the_one(prefix, answers, "no observation, session or learning"))
    return tuple(found)


def whole_session(prefix: str) -> str:
    """Return the full id of a session, processed or not, given by prefix. Raises: UnknownIdError."""
    answers = {*_answering("sessions", "id", prefix), *_answering("pending_queue", "session_id", prefix)}
    return _the_one(prefix, answers, "no session")


def known_projects() -> set[str]:
    """Return the folders of all projects with any row."""
    tables = ("sessions", "observations", "learnings", "source_files", "pending_queue")
    return {
        row["project_dir"] for table in tables for row in rows(table, "project_dir") if row["project_dir"]
    }


def knows_file(paths: tuple[str, ...]) -> bool:
    """Tell whether an observation or the code map has a file under one of its absolute paths."""
    wanted = Wanted(files=paths)
    touched = rows("observations", "project_dir", "files_touched")
    return any(
        wanted.is_file(row["project_dir"], path)
        for row in touched
        for path in strings(loaded(row["files_touched"]))
    ) or any(
        wanted.is_file(row["project_dir"], row["file_path"])
        for row in rows("source_files", "project_dir", "file_path")
    )


def project_of(path: str, *, may_be_new: bool = False) -> str:
    """Return the project of a folder; a deleted folder is found by the path of its project.

    Raises: ClaudeMemError when the path is neither a folder nor a known project, unless it `may_be_new`: the
        project above it is hardly what was meant.
    """
    given = os.path.normpath(os.path.join(os.getcwd(), os.path.expanduser(path)))
    if noted := projects.noted(given):
        return noted
    if given in known_projects():
        return given
    if not may_be_new and not os.path.isdir(given):
        raise ClaudeMemError(f"{given} is neither a known project nor a folder: claude-mem project list")
    return projects.of(given)


def _answering(table: str, column: str, prefix: str) -> set[str]:
    starts_so = (
        f"{column} >= ? AND {column} < ?" if len(prefix) >= MIN_ID_PREFIX else f"{column} = ? AND ? <> ''"
    )
    query = f"SELECT DISTINCT {column} FROM {table} WHERE {starts_so}"
    return {row_id for (row_id,) in _database(table).execute_sql(query, (prefix, f"{prefix}\uffff"))}


def _the_one(prefix: str, answers: set[str], nobody: str) -> str:
    if prefix in answers:
        return prefix
    if len(answers) != 1:
        what = "more than one id begins with it" if answers else f"{nobody} has this id"
        raise UnknownIdError(f"{prefix!r}: {what}; search shows the ids")
    return answers.pop()


def _mark_sessions(wanted: Wanted, marked: Marked) -> None:
    for row in rows("sessions", "started_at", "last_event_at", *_TEXTS["sessions"], *_TOLD):
        if (
            row["id"] in {wanted.session_id, *wanted.ids}
            or (wanted.was(row["started_at"]) and wanted.was(row["last_event_at"]))
            or _is_of(row, "sessions", wanted)
        ):
            marked.sessions.add(row["id"])
        elif wanted.holds(*(row[name] for name in _TOLD)):
            marked.retell.add(row["id"])


def _mark_observations(wanted: Wanted, marked: Marked) -> None:
    """Mark observations together with their raw events, and events together with their observations."""
    sessions, folds = {}, defaultdict(list)
    for row in rows("observations", "id", "created_at", *_TEXTS["observations"]):
        sessions[row["id"]] = row["session_id"]
        touched = loaded(row["files_touched"])
        if (
            row["session_id"] in marked.sessions
            or row["id"] in wanted.ids
            or any(wanted.is_file(row["project_dir"], path) for path in strings(touched))
            or _is_of(row, "observations", wanted)
        ):
            marked.observations.add(row["id"])
    texts = [
        name for name in _TEXTS["pending_queue"] if wanted.text or name != "raw_output"
    ]  # it may be large
    for row in rows("pending_queue", "id", "created_at", *texts):
        made = (row["note"] or "").removeprefix("folded into ")
        made = made if made in sessions else row["id"]
        folds[made].append(row["id"])
        named = (
            row["session_id"] in marked.sessions | {wanted.session_id}
            or row["id"] in wanted.ids
            or wanted.is_project(row["project_dir"])
            or any(wanted.is_file(row["project_dir"], path) for path in strings(loaded(row["files_touched"])))
            or wanted.was(row["created_at"])
        )
        if named or wanted.holds(*(row[name] for name in texts)):
            marked.events.add(row["id"])
        if named and made in sessions:
            marked.observations.add(made)
    for made in marked.observations:
        marked.events.update(folds[made])
    marked.retell |= {sessions[made] for made in marked.observations}
    marked.retell -= marked.sessions


def _mark_learnings(wanted: Wanted, marked: Marked) -> None:
    """Mark learnings that match, and those that have lost all their sources."""
    of_sessions = rows("observations", "id", "session_id")
    half_gone = {row["session_id"] for row in of_sessions if row["id"] in marked.observations}
    for row in rows("learnings", "id", "created_at", "source_sessions", "observations", *_TEXTS["learnings"]):
        observations, sessions = loaded(row["observations"]), set(loaded(row["source_sessions"]))
        left = set(observations) - marked.observations
        taught = sessions - marked.sessions - (half_gone if observations else set())
        had = bool(observations) or bool(sessions)
        is_bereft = had and not left and not taught
        if (
            row["id"] in wanted.ids
            or any(_tells_of(row["content"], path) for path in wanted.files)
            or _is_of(row, "learnings", wanted)
            or (is_bereft and (sessions & marked.sessions or set(observations) & marked.observations))
        ):
            marked.learnings.add(row["id"])


def _mark_code(wanted: Wanted, marked: Marked) -> None:
    """Mark function changes by sessions, functions as sessions left them, and call edges they observed."""
    places = set()
    for row in rows(
        "function_changes", "pk", "session_id", "observation_id", "created_at", *_TEXTS["function_changes"]
    ):
        if (
            row["session_id"] in marked.sessions
            or row["observation_id"] in marked.observations
            or _is_of(row, "function_changes", wanted)
        ):
            marked.changes.add(row["pk"])
            places.add((row["project_dir"], row["file_path"], row["qualified_name"], row["created_at"]))
    for row in rows("function_map", "id", "session_id", "updated_at", *_TEXTS["function_map"]):
        place = (row["project_dir"], row["file_path"], row["qualified_name"], row["updated_at"])
        is_memory = bool(row["session_id"])
        if (
            row["session_id"] in marked.sessions
            or place in places
            or _is_of(row, "function_map", wanted, at=row["updated_at"] if is_memory else "")
        ):
            marked.functions.add(row["id"])
            marked.files.add((row["project_dir"], row["file_path"]))
    packed = ("packed",) if wanted.text else ()
    for row in rows("source_files", *_TEXTS["source_files"], *packed):
        if _is_of(row, "source_files", wanted) or (packed and wanted.in_packed(row["packed"])):
            marked.files.add((row["project_dir"], row["file_path"]))
    for row in rows("call_graph", "pk", "source", "observation_id", *_TEXTS["call_graph"]):
        is_seen = row["source"] == "observation" and row["observation_id"] in marked.observations
        ends = (row["caller_file"], row["callee_file"])
        is_there = any(wanted.is_file(row["project_dir"], end) for end in ends)
        if is_seen or is_there or _is_of(row, "call_graph", wanted):
            marked.edges.add(row["pk"])


def _mark_derived(wanted: Wanted, marked: Marked) -> None:
    """Mark retired names (names that edits removed from the code) and failed calls."""
    gone = marked.observations | marked.events
    for table, sources, time, found in (
        ("retired_names", ("observation_id",), "retired_at", marked.names),
        ("failed_calls", ("event_id", "works_id"), "failed_at", marked.failed),
    ):
        for row in rows(table, "pk", "session_id", *sources, time, *_TEXTS[table]):
            if (
                row["session_id"] in marked.sessions
                or not gone.isdisjoint(row[source] for source in sources)
                or _is_of(row, table, wanted, at=row[time])
                or any(_tells_of(str(row.get(name, "")), path) for path in wanted.files for name in _CALLS)
            ):
                found.add(row["pk"])


def _is_of(row: Row, table: str, wanted: Wanted, *, at: str = "") -> bool:
    """Tell whether a row itself matches `wanted`, apart from its sources."""
    at = at or row.get("created_at", "")
    return (
        wanted.is_project(row["project_dir"])
        or ("file_path" in row and wanted.is_file(row["project_dir"], row["file_path"]))
        or bool(at and wanted.was(at))
        or wanted.holds(*(row[name] for name in _TEXTS[table]))
    )


def _is_entry_of(row: Row, wanted: Wanted, marked: Marked, gone: frozenset[str]) -> bool:
    if row["event_type"] == CALL:  # the ledger stays: an entry holds costs, no content
        return False
    data = loaded(row["data"])
    subject = {data.get("event_id"), data.get("id")} if isinstance(data, dict) else set()
    if wanted.project_dir and wanted.project_dir in set(strings(data)):
        return True
    if subject & gone or wanted.holds(row["session_id"], row["data"]):
        return True
    if row["event_type"].startswith(EVENTS):  # a learning's history stays as long as the learning
        return False
    return row["session_id"] in marked.sessions or wanted.was(row["created_at"])


def rows(table: str, *columns: str) -> Iterator[Row]:
    """Yield the rows of a table of either database, with their columns as they are stored."""
    names = tuple(dict.fromkeys(columns))
    for values in _database(table).execute_sql(f"SELECT {', '.join(names)} FROM {table}"):
        yield dict(zip(names, values, strict=True))


def _database(table: str) -> Any:
    return queue_database if table in {"pending_queue", "task"} else memory_database


def _tells_of(content: str, path: str) -> bool:
    """Tell whether a text names a file: by at least its last two parts, or by its bare name as a word."""
    parts = path.strip("/").split("/")
    return (
        any("/".join(parts[at:]) in content for at in range(len(parts) - 1)) or parts[-1] in content.split()
    )
