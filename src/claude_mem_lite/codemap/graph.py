"""Store a project's calls, as found in the code and confirmed by observations."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import file_index, isolation, languages, renewal
from claude_mem_lite.codemap.confidence import boosted
from claude_mem_lite.codemap.project import no_collection
from claude_mem_lite.codemap.resolution import Edge
from claude_mem_lite.storage import call_edges, code, models
from claude_mem_lite.storage.call_edges import Pair
from claude_mem_lite.storage.code import Mapped

MOST_LINES = 600_000  # largest project whose calls are resolved unasked: about 600 MiB, half a minute
MODULE = "<module>"  # caller of the calls at the top level of a file

_SAID_BY_CODE = ("resolution", "level", "shape", "line", "confidence", "source")


def refresh(project_dir: str, session_id: str, *, most_lines: int | None = None) -> bool:
    """Resolve the project's calls again if any of its files changed; return whether it did so.

    The calls of a project with more than `most_lines` lines stay as they are.
    """
    files = _with_calls(project_dir)
    if most_lines is not None and sum(file.lines for file in files.values()) > most_lines:
        return False
    state = _state_of(files)
    before = code.state(project_dir).get("resolved")
    if before == state:
        return False
    with no_collection():
        project, changed = renewal.resolve(project_dir, files, before, state)
        found = rows(project_dir, project.modules, project.calls(changed), session_id)
        with models.memory_database.atomic():
            _replace(project_dir, found, changed)
            file_index.note(project_dir, resolved=state, resolved_at=inbox.utc_now())
    return True


def refresh_apart(project_dir: str, session_id: str, *, most_lines: int) -> bool:
    """Run `refresh` in a worker process if this process must stay small: see `isolation`.

    Raises: EndedError where the worker ended before it was done.
    """
    return isolation.run_large(_open_and_refresh, project_dir, session_id, most_lines)


def _open_and_refresh(project_dir: str, session_id: str, most_lines: int) -> bool:
    if models.memory_database.database is None:  # in a worker
        models.open_databases()
    return refresh(project_dir, session_id, most_lines=most_lines)


def is_stale(project_dir: str) -> bool:
    """Tell whether files of a project have changed since its calls were resolved."""
    files = _with_calls(project_dir)
    return bool(files) and code.state(project_dir).get("resolved") != _state_of(files)


def _with_calls(project_dir: str) -> dict[str, Mapped]:
    """Return a project's files in languages whose calls are resolved."""
    found = code.mapped_files(project_dir).items()
    return {path: file for path, file in found if (of := languages.of(path)) and of.has_calls}


def _state_of(files: Mapping[str, Mapped]) -> str:
    digests = "".join(f"{path}\0{files[path].digest}\0" for path in sorted(files))
    return hashlib.sha256(digests.encode()).hexdigest()


def rows(
    project_dir: str, modules: Mapping[str, str], calls: Iterable[Edge], session_id: str
) -> dict[Pair, dict[str, Any]]:
    """Return a database row for each call in the code, resolved or not."""
    files: dict[str, str] = {}
    for path, module in modules.items():
        files.setdefault(module, path)
    now = inbox.utc_now()
    found: dict[Pair, dict[str, Any]] = {}
    for edge in calls:
        callee = ("", edge.callee) if edge.resolution == call_edges.UNRESOLVED else _place(edge.callee, files)
        pair = (edge.file, _place(edge.caller, files)[1], *callee)
        found[pair] = {
            "project_dir": project_dir,
            **dict(zip(call_edges.PAIR, pair, strict=True)),
            **{name: getattr(edge, name) for name in ("resolution", "level", "shape", "line", "confidence")},
            "source": "ast",
            "session_id": session_id,
            "created_at": now,
        }
    return found


def _replace(project_dir: str, found: dict[Pair, dict[str, Any]], changed: Collection[str] | None) -> None:
    """Store the calls that differ in the files `changed` (None: all) and delete those that are gone.

    An observed call that the code does not show stays as long as both functions exist. An answer of Claude's
    also needs an unresolved call of that name in the code.
    """
    known = call_edges.known_edges(project_dir, changed)
    is_observed = any(edge.source != "ast" for edge in known)
    functions = {(each.file, each.name) for each in code.definitions(project_dir)} if is_observed else set()
    waiting = {(*pair[:2], _last(pair[3])) for pair in found if not pair[2]}
    gone = []
    for edge in known:
        is_of_changed = changed is None or edge.pair[0] in changed
        new = found.get(edge.pair)
        if new is not None:
            new["confidence"] = boosted(new["confidence"], edge.times_confirmed)
            if all(getattr(edge, name) == new[name] for name in _SAID_BY_CODE):
                del found[edge.pair]
        elif (
            edge.source == "ast"
            or edge.pair[2:] not in functions
            or (edge.pair[:2] not in functions and edge.pair[1] != MODULE)
            or (
                is_of_changed
                and edge.source == call_edges.BY_CLAUDE
                and (*edge.pair[:2], _last(edge.pair[3])) not in waiting
            )
        ):
            gone.append(edge.pk)
    call_edges.delete_edges(gone)
    call_edges.save_edges(list(found.values()))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _place(dotted: str, files: dict[str, str]) -> tuple[str, str]:
    """Split a dotted name into file and qualified name; its longest prefix that is a module is the file."""
    module, rest = dotted, ""
    while module and module not in files:
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}" if rest else last
    return files.get(module, ""), rest or MODULE
