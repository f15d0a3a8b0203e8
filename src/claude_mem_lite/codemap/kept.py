"""A project's map as it is remembered: files read anew where they changed, what became of their functions.

Sources are redacted before anything of them is kept; of ignored files nothing is.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from claude_mem_lite import config, inbox, redact
from claude_mem_lite.codemap import packing, sources
from claude_mem_lite.codemap.project import FileMap, no_collection, scan_source
from claude_mem_lite.storage import code
from claude_mem_lite.storage.models import memory_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from claude_mem_lite.codemap.extract import Function
    from claude_mem_lite.storage.models import FunctionMapEntry, SourceFile

# A larger project is mapped whole only when the user asks for it.
MOST_FILES = 2_000
_TOLD = ("project_dir", "file_path", "qualified_name", "kind", "signature")


@dataclass(frozen=True, slots=True)
class Seen:
    """Who saw the code as it is: a session ("" for none), by which of its observations, and when."""

    session_id: str = ""
    observation_id: str | None = None
    at: str = field(default_factory=inbox.utc_now)


@dataclass(slots=True)
class Scan:
    """What a scan found: how many files there are, which changed or went, which could not be read and why.

    `changes` counts functions as "new", "modified", "deleted" and "unchanged".
    """

    files: int = 0
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)


def take(project_dir: str, path: str, text: str, seen: Seen, *, digest: str = "") -> Counter[str]:
    """Take in a file's source; return how many functions are new, modified, deleted and unchanged.

    `digest` is that of the bytes on the disk. A source that cannot be parsed leaves what was known standing.
    """
    new = scan_source(path, redact.redact(text))
    new = replace(new, digest=digest or new.digest)
    with memory_database.atomic():
        return _take(project_dir, new, code.source_file(project_dir, path), seen)


def follow(project_dir: str, path: str, before: str | None, after: str, seen: Seen) -> None:
    """Take in an edit that was captured, with the file before it where that is known ("": there was none).

    What the map did not know of the file before is nobody's edit. An edit older than what is known of the
    file changes nothing.
    """
    if not _is_mapped(path, _ignored()):
        return
    with memory_database.atomic():
        known = code.source_file(project_dir, path)
        if known is not None and known.updated_at >= seen.at:
            return
        if before is not None and known is None:
            take(project_dir, path, before, Seen(at=seen.at))
        if before is not None and known is not None and known.digest != _digest(before):
            take(project_dir, path, before, replace(seen, observation_id=None))
        take(project_dir, path, after, seen)


def rescan(
    project_dir: str,
    seen: Seen,
    *,
    paths: Sequence[str] | None = None,
    most: int | None = MOST_FILES,
    only_newer: bool = False,
    track: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Scan:
    """Read what changed on the disk by content: some files, or all, but of more than `most` those known.

    With `only_newer` a file is not read that was written before the map was told of it last. Files that are
    gone leave the map. Where the folder is not there nothing happens. `track` yields the
    paths and shows how far it is, as `rich.progress.track` does.
    """
    known = code.source_files(project_dir)
    is_whole, wanted = _wanted(project_dir, known, paths, most)
    is_readable = code.state(project_dir).get("packed_as", str(packing.FORMAT)) == str(packing.FORMAT)
    found = Scan(files=len(wanted))
    there = (os.path.exists(os.path.join(project_dir, path)) for path in (".git", *wanted, *known))
    if not any(there):  # the folder is gone, or another one than the edits were made in
        return found
    with no_collection():
        for path in track(wanted):
            old = known.get(path) if is_readable else None
            if not (only_newer and old is not None and _written_at(project_dir, path) < old.updated_at):
                _read(project_dir, path, old, seen, found)
    for path in [path for path in known if path not in set(wanted)] if is_whole else ():
        _forget(project_dir, path, seen, found)
    if paths is None:
        note(project_dir, packed_as=str(packing.FORMAT), **({"scanned_at": seen.at} if is_whole else {}))
    return found


def _ignored() -> tuple[str, ...]:
    return redact.IGNORED_FILES + config.capture_limits()[1]


def _is_mapped(path: str, ignored: tuple[str, ...]) -> bool:
    """Tell whether a path (relative to its project) is one whose source is kept in the map."""
    is_inside = not os.path.isabs(path) and not path.startswith("../")
    return is_inside and sources.is_source(path) and not redact.ignored_name(path, ignored)


def note(project_dir: str, **values: Any) -> None:
    """Note something of a project's map beside what is noted."""
    with memory_database.atomic():
        code.save_state(project_dir, code.state(project_dir) | values)


def _wanted(
    project_dir: str, known: dict[str, SourceFile], paths: Sequence[str] | None, most: int | None
) -> tuple[bool, list[str]]:
    """Return whether all files are to be read, and which are."""
    ignored = _ignored()
    if paths is not None:
        return False, [path for path in paths if _is_mapped(path, ignored)]
    if most is not None and not os.path.exists(os.path.join(project_dir, ".git")):
        return False, list(known)  # a home folder, say: only the user can want all of it mapped
    there = (path for path in sources.python_files(project_dir) if _is_mapped(path, ignored))
    found = list(itertools.islice(there, None if most is None else most + 1))
    is_whole = most is None or len(found) <= most
    return is_whole, found if is_whole else list(known)


def _written_at(project_dir: str, path: str) -> str:
    """Return when a file was last written; one that is gone, in the future, so that it is looked for."""
    try:
        return inbox.utc_text(os.stat(os.path.join(project_dir, path)).st_mtime)
    except (OSError, ValueError, OverflowError):
        return "9"


def _read(project_dir: str, path: str, known: SourceFile | None, seen: Seen, found: Scan) -> None:
    try:
        with open(os.path.join(project_dir, path), "rb") as file:
            data = file.read(sources.MAX_BYTES + 1)
    except OSError:
        if known is not None:
            _forget(project_dir, path, seen, found)
        return
    digest = hashlib.sha256(data).hexdigest()
    if known is None or known.digest != digest:
        found.changed.append(path)
        found.changes += take(project_dir, path, sources.decode(data), seen, digest=digest)
        known = code.source_file(project_dir, path)
    if known is not None and known.error:
        found.errors[path] = known.error


def _forget(project_dir: str, path: str, seen: Seen, found: Scan) -> None:
    with memory_database.atomic():
        rows = code.functions_in(project_dir, path)
        told = [_change(row.__data__, "deleted", seen) for row in rows] if seen.session_id else []
        code.save_changes(told)
        code.delete_file(project_dir, path)
    found.gone.append(path)
    found.changes["deleted"] += len(rows)


def _take(project_dir: str, new: FileMap, known: SourceFile | None, seen: Seen) -> Counter[str]:
    row = {
        "project_dir": project_dir, "file_path": new.path, "digest": new.digest, "lines": new.lines,
        "error": new.error, "updated_at": seen.at,
    }  # fmt: skip
    if not new.error:
        row["packed"] = packing.pack(new.scopes)
    elif known is None:
        row["packed"] = b""
    code.save_file(row)
    if new.error:
        return Counter()
    old = {each.qualified_name: each for each in code.functions_in(project_dir, new.path)}
    changes = {each.qualified_name: _change_of(old.get(each.qualified_name), each) for each in new.functions}
    gone = [name for name in old if name not in changes]
    code.delete_functions(project_dir, new.path, gone)
    place = {"project_dir": project_dir, "file_path": new.path}
    rows = {
        name: place | _described(each) | _left_by(seen, changes[name], old.get(name))
        for each in new.functions
        for name in [each.qualified_name]
    }
    code.save_functions([row for name, row in rows.items() if not _is_same(old.get(name), row)])
    if seen.session_id and (known is not None or "scanned_at" in code.state(project_dir)):
        told = [_change(rows[name], what, seen) for name, what in changes.items() if what != "unchanged"]
        code.save_changes([*told, *(_change(old[name].__data__, "deleted", seen) for name in gone)])
    return Counter(changes.values()) + Counter({"deleted": len(gone)})


def _change_of(old: FunctionMapEntry | None, new: Function) -> str:
    return "new" if old is None else "unchanged" if old.body_hash == new.body_hash else "modified"


def _described(function: Function) -> dict[str, Any]:
    return {
        "qualified_name": function.qualified_name,
        "kind": function.kind,
        "signature": function.signature,
        "docstring": function.docstring,
        "body_hash": function.body_hash,
        "decorators": list(function.decorators),
        "line": function.line,
        "end_line": function.end_line,
    }


def _left_by(seen: Seen, change: str, old: FunctionMapEntry | None) -> dict[str, Any]:
    """Return who changed a function last: of one that did not change, who it was before."""
    if old is not None and change == "unchanged":
        return {name: getattr(old, name) for name in ("change_type", "session_id", "updated_at")}
    return {"change_type": change, "session_id": seen.session_id, "updated_at": seen.at}


def _is_same(old: FunctionMapEntry | None, row: dict[str, Any]) -> bool:
    return old is not None and all(getattr(old, name) == value for name, value in row.items())


def _change(function: Mapping[str, Any], what: str, seen: Seen) -> dict[str, Any]:
    return {
        **{name: function[name] for name in _TOLD},
        "change_type": what,
        "session_id": seen.session_id,
        "observation_id": seen.observation_id,
        "created_at": seen.at,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
