"""A project's calls as they are remembered: found in the code, confirmed by what was observed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import file_index, languages
from claude_mem_lite.codemap.confidence import boosted
from claude_mem_lite.codemap.project import FileMap, Project, no_collection
from claude_mem_lite.codemap.valueflow import packing
from claude_mem_lite.storage import code
from claude_mem_lite.storage.models import memory_database

if TYPE_CHECKING:
    from claude_mem_lite.storage.code import Pair
    from claude_mem_lite.storage.models import CallEdge

MOST_LINES = 150_000  # of a project whose calls are resolved unasked: about 150 MiB and some seconds
MODULE = "<module>"  # the name of what calls at the top level of a file

_SAID_BY_CODE = ("resolution", "level", "shape", "line", "confidence", "source")


def refresh(project_dir: str, session_id: str, *, most_lines: int | None = None) -> bool:
    """Resolve the project's calls anew if any of its files changed since; return whether it did so.

    Those of a project with more lines stay as they are.
    """
    files = {path: file for path, file in code.source_files(project_dir).items() if _has_calls(path)}
    if most_lines is not None and sum(file.lines for file in files.values()) > most_lines:
        return False
    state = hashlib.sha256("".join(f"{path}\0{files[path].digest}\0" for path in sorted(files)).encode())
    if code.state(project_dir).get("resolved") == state.hexdigest():
        return False
    with no_collection():
        scopes = {path: packing.unpack(data) for path, data in code.packed(project_dir)}
    maps = {path: FileMap(path, "", 0, (), each) for path, each in scopes.items() if each}
    found = _rows(Project(project_dir, maps), session_id)
    with memory_database.atomic():
        _replace(project_dir, found)
        file_index.note(project_dir, resolved=state.hexdigest(), resolved_at=inbox.utc_now())
    return True


def _has_calls(path: str) -> bool:
    language = languages.of(path)
    return language is not None and language.has_calls


def _rows(project: Project, session_id: str) -> dict[Pair, dict[str, Any]]:
    """Return what the code says of each call, and of those whose callee is unknown."""
    files: dict[str, str] = {}
    for path, module in project.modules().items():
        files.setdefault(module, path)
    now = inbox.utc_now()
    found: dict[Pair, dict[str, Any]] = {}
    for edge in (*project.unresolved(), *project.edges()):
        callee = ("", edge.callee) if edge.resolution == code.UNRESOLVED else _place(edge.callee, files)
        pair = (edge.file, _place(edge.caller, files)[1], *callee)
        found[pair] = {
            "project_dir": project.folder,
            **dict(zip(_PAIR, pair, strict=True)),
            "resolution": edge.resolution,
            "level": edge.level,
            "shape": edge.shape,
            "line": edge.line,
            "confidence": edge.confidence,
            "source": "ast",
            "session_id": session_id,
            "created_at": now,
        }
    return found


def _replace(project_dir: str, found: dict[Pair, dict[str, Any]]) -> None:
    """Store what changed; an observed call that the code does not show stays as long as both functions."""
    functions = {(row.file_path, row.qualified_name) for row in code.functions(project_dir)}
    gone = []
    for edge in code.edges(project_dir):
        new = found.get(code.pair_of(edge))
        if new is not None:
            new["confidence"] = boosted(new["confidence"], edge.times_confirmed)
            if all(getattr(edge, name) == new[name] for name in _SAID_BY_CODE):
                del found[code.pair_of(edge)]
        elif edge.source == "ast" or not _is_possible(edge, functions):
            gone.append(edge.pk)
    code.delete_edges(gone)
    code.save_edges(list(found.values()))


def _is_possible(edge: CallEdge, functions: set[tuple[str, str]]) -> bool:
    caller = (edge.caller_file, edge.caller_function)
    return (edge.callee_file, edge.callee_function) in functions and (
        caller in functions or edge.caller_function == MODULE
    )


def _place(dotted: str, files: dict[str, str]) -> tuple[str, str]:
    """Return the file and the qualified name of a dotted name: its longest beginning that is a module."""
    module, rest = dotted, ""
    while module and module not in files:
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}" if rest else last
    return files.get(module, ""), rest or MODULE


_PAIR = ("caller_file", "caller_function", "callee_file", "callee_function")
