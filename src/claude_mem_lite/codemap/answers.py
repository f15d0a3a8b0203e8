"""Answer questions of the web process and the command line about code: histories, calls, diagrams."""

from collections.abc import Iterable
from typing import Any

from claude_mem_lite.codemap import graph
from claude_mem_lite.codemap.confidence import EVIDENCE, STRONG
from claude_mem_lite.codemap.inheritance import Hierarchy
from claude_mem_lite.codemap.mermaid import Call, render
from claude_mem_lite.storage import call_edges, code
from claude_mem_lite.storage.models import CallEdge, FunctionMapEntry

# Columns served under their own names.
_OF_FUNCTION = (
    "kind", "signature", "docstring", "decorators", "line", "end_line", "change_type", "session_id",
    "updated_at",
)  # fmt: skip
_OF_EDGE = ("source", "resolution", "level", "times_confirmed", "last_confirmed_at", "observation_id")


def function(row: FunctionMapEntry) -> dict[str, Any]:
    """Return a function as a JSON-ready dictionary."""
    return {
        "project_dir": row.project_dir,
        "file": row.file_path,
        "name": row.qualified_name,
        **{name: getattr(row, name) for name in _OF_FUNCTION},
    }


def edge(row: CallEdge) -> dict[str, Any]:
    """Return a call as a JSON-ready dictionary; `why` explains its confidence in words."""
    return {
        "caller": row.caller_function,
        "caller_file": row.caller_file,
        "callee": row.callee_function,
        "callee_file": row.callee_file,
        "line": row.line,
        "confidence": round(row.confidence, 3),
        **{name: getattr(row, name) for name in _OF_EDGE},
        "why": why(row),
    }


def why(row: CallEdge) -> str:
    """Describe the evidence for an edge in words."""
    said = EVIDENCE.get(row.level, row.level)
    times = row.times_confirmed + (row.source == "observation")
    seen = f"observed {times} time{'s' * (times > 1)}" if times else ""
    return ", ".join(filter(None, [": ".join(filter(None, [row.shape, said])), seen]))


def callgraph(project_dir: str | None, file: str, *, limit: int) -> list[dict[str, Any]]:
    """Return a file's functions and most confident calls in and out, for each project with such a file."""
    found = []
    for row in code.find_files(project_dir, file):
        edges = call_edges.edges_at(row.project_dir, row.file_path)
        found.append({
            "project_dir": row.project_dir,
            "file": row.file_path,
            "error": row.error,
            "functions": [function(each) for each in code.functions_in(row.project_dir, row.file_path)],
            "edges": [edge(each) for each in edges[:limit]],
            "left_out": len(edges[limit:]),
        })  # fmt: skip
    return found


def history(project_dir: str | None, name: str) -> list[dict[str, Any]]:
    """Return the functions that a name matches, deleted ones too, each with its changes, newest first.

    A function known only from its history is reported as deleted if its project or file was scanned, else
    with its last change. An inherited method is the base class's, with the requested class as `inherited_by`.
    """
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in code.find_functions(project_dir, name):
        found[row.project_dir, row.file_path, row.qualified_name] = function(row) | {"history": []}
    for change in code.history(project_dir, name):
        place = (change["project_dir"], change["file_path"], change["qualified_name"])
        is_mapped = "scanned_at" in code.state(place[0]) or code.source_file(*place[:2]) is not None
        gone = {
            "project_dir": place[0], "file": place[1], "name": place[2], "kind": change["kind"],
            "signature": change["signature"], "history": [],
            "change_type": "deleted" if is_mapped else change["change_type"],
        }  # fmt: skip
        found.setdefault(place, gone)["history"].append({
            "at": change["created_at"],
            **{name: change[name] for name in ("change_type", "signature", "session_id")},
            "observation_id": change["observation_id"] if change["title"] else None,
            "title": change["title"],
            "summary": change["summary"],
        })  # fmt: skip
    if not found and project_dir is not None:
        inherited = _inherited(project_dir, name, Hierarchy(code.definitions(project_dir)))
        return [
            each | {"inherited_by": heir}
            for row, heir in inherited.items()
            for each in history(project_dir, f"{row.file_path}:{row.qualified_name}")
        ]
    return list(found.values())


def calls(project_dir: str, name: str, *, side: str) -> list[dict[str, Any]]:
    """Return the functions that a name matches, each with its calls as "caller" or "callee".

    A "callee" comes with the `unresolved` calls of its name, any of which may mean it. `overridden_by` lists
    the methods that may run in a method's place. An inherited method is the base class's, with the requested
    class as `inherited_by`. `is_stale` says that files have changed since calls were resolved.
    """
    is_stale = graph.is_stale(project_dir)
    hierarchy = Hierarchy(code.definitions(project_dir))
    rows = dict.fromkeys(code.find_functions(project_dir, name), "")
    found = []
    for row, heir in (rows or _inherited(project_dir, name, hierarchy)).items():
        unresolved = call_edges.unresolved_calls(row) if side == "callee" else []
        overriding = hierarchy.overriding((row.file_path, row.qualified_name))
        found.append({
            **function(row),
            "inherited_by": heir,
            "is_stale": is_stale,
            "overridden_by": [{"file": file, "name": method} for file, method in overriding],
            "edges": [edge(each) for each in call_edges.edges_of(row, side=side)],
            "unresolved": [edge(each) for each in unresolved],
        })  # fmt: skip
    return found


def _inherited(project_dir: str, name: str, hierarchy: Hierarchy) -> dict[FunctionMapEntry, str]:
    """Return the inherited methods that a name like "Ledger.post" means, each with the inheriting class."""
    owner, _, method = name.removesuffix("()").rpartition(".")
    found: dict[FunctionMapEntry, str] = {}
    for heir in code.find_functions(project_dir, owner) if owner else ():
        place = hierarchy.defining((heir.file_path, heir.qualified_name), method)
        if place is not None:
            rows = code.functions_in(project_dir, place[0])
            found |= {row: heir.qualified_name for row in rows if row.qualified_name == place[1]}
    return found


def diagram(
    project_dir: str, *, files: Iterable[str] = (), session_id: str | None = None, is_whole: bool = False
) -> str:
    """Return a Mermaid flowchart: the functions that a session changed, with their direct neighbours.

    `session_id` None means the session that changed a function last. `files` narrow the chart to calls from
    and to them; `is_whole` adds unchanged functions.
    """
    session_id = session_id or code.latest_changing_session(project_dir) or ""
    changed = code.changed_in(project_dir, session_id)
    wanted = set(files)
    places = [(row.file_path, row.qualified_name) for row in code.functions(project_dir)] if is_whole else []
    rows = [row for row in call_edges.edges(project_dir) if is_whole or _touches(row, changed)]
    if wanted:
        places = [place for place in places if place[0] in wanted]
        rows = [row for row in rows if {row.caller_file, row.callee_file} & wanted]
        changed = {place: change for place, change in changed.items() if place[0] in wanted or is_whole}
    nodes = [place for place in changed if not wanted or place[0] in wanted] + places
    calls = {_ends(row): row.confidence >= STRONG for row in sorted(rows, key=lambda row: -row.confidence)}
    return render(nodes, calls, changed)


def _ends(row: CallEdge) -> Call:
    return (row.caller_file, row.caller_function), (row.callee_file, row.callee_function)


def _touches(row: CallEdge, changed: dict[tuple[str, str], str]) -> bool:
    caller, callee = _ends(row)
    return row.resolution != call_edges.UNRESOLVED and (caller in changed or callee in changed)
