"""A project's stored map: its files, read again when they change, and their functions.

Nothing that `redaction` removes from a source is stored, and nothing of ignored files.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import languages, sources
from claude_mem_lite.codemap.calls import facts
from claude_mem_lite.codemap.extract import MAX_FUNCTIONS, Function
from claude_mem_lite.codemap.languages import Change
from claude_mem_lite.codemap.masking import masked
from claude_mem_lite.codemap.project import FileMap, no_collection, scan_source
from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.redaction.vocabulary import IGNORED_FILES, ignored_name
from claude_mem_lite.storage import code
from claude_mem_lite.storage.models import FunctionMapEntry, memory_database

# A larger project is mapped whole only when the user asks for it.
MOST_FILES = 2_000
_AT_ONCE = 20  # files per transaction, which takes a fraction of a second
_MOST_CHARS, _MOST_DECORATORS = 1_000, 20
_FIRST_MAPPED = ("Python",)  # languages of a full scan that recorded none
_TOLD = ("project_dir", "file_path", "qualified_name", "kind", "signature")


@dataclass(frozen=True, slots=True)
class Seen:
    """Who saw a state of the code: a session ("" for none), through which observation, and when.

    Changes of functions are recorded under `project`, "" for the work tree that the map belongs to. `writing`
    tells whether the session may have written files between two times (UTC text); without it, always.
    """

    session_id: str = ""
    observation_id: str | None = None
    at: str = field(default_factory=inbox.utc_now)
    project: str = ""
    writing: Callable[[str, str], bool] | None = None

    def by(self, since: str, until: str) -> Seen:
        """Return who made a change between two times: the session if it may have, else nobody."""
        is_own = self.writing is None or self.writing(since, until)
        return self if is_own else replace(self, session_id="", observation_id=None)


@dataclass(slots=True)
class Scan:
    """Result of a scan: the number of files, the paths that changed or are gone, and errors by path.

    `changes` counts functions as "new", "modified", "deleted" and "unchanged", those of changed files only.
    """

    files: int = 0
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)


def take(project_dir: str, path: str, text: str, seen: Seen, *, digest: str = "") -> tuple[Counter[str], str]:
    """Store a file's functions; return the counts of new, modified, deleted, unchanged ones, and its error.

    `digest` is that of the bytes on disk. If the source cannot be parsed, the stored functions stay.
    """
    redacted = redact(text)
    if redacted != text and path.endswith(sources.PYTHON):  # other parsers recover after invalid code
        redacted = masked(text, redacted)
    new = scan_source(path, redacted)
    new = replace(new, digest=digest or _digest(text))
    with memory_database.atomic():
        return _take(project_dir, new, redacted, seen), new.error


def follow(project_dir: str, path: str, before: str | None, after: str, seen: Seen) -> None:
    """Apply a captured edit; `before` is the file's earlier text, "" for a new file, None if unknown.

    A file that is not mapped is first stored as `before`, under no session; if a mapped file differs from
    `before`, the difference goes to the session, if it may have made it, but to no observation. An outdated
    edit changes nothing.
    """
    if not _mapped(sources.Tree(project_dir), [path]):
        return
    with memory_database.atomic():
        known = code.source_file(project_dir, path)
        if known is not None and known.updated_at >= seen.at:
            return
        if before is not None and known is None:
            take(project_dir, path, before, Seen(at=seen.at))
        if before is not None and known is not None and known.digest != _digest(before):
            by = seen.by(known.updated_at, seen.at)
            take(project_dir, path, before, replace(by, observation_id=None))
        take(project_dir, path, after, seen)


def past_changes(
    project_dir: str, path: str, versions: tuple[str, str], changes: Iterable[Change], seen: Seen
) -> list[dict[str, Any]]:
    """Return the changes that a past edit made to functions, as rows for the history.

    `versions` are the file's text before ("" for a new file) and after. Nothing is written, because the map
    holds the present code.
    """
    told = {each.qualified_name: each.change_type for each in itertools.islice(changes, MAX_FUNCTIONS)}
    if not told or not _mapped(sources.Tree(project_dir), [path]):
        return []
    here = {"project_dir": project_dir, "file_path": path}
    gone = {name for name, what in told.items() if what == "deleted"}
    found = [
        function
        for source, names in zip(versions, (gone, told.keys() - gone), strict=True)
        if names
        for function in languages.extract(path, source)
        if function.qualified_name in names
    ]
    shown = _redacted(text for each in found for text in _texts(each))
    return [_change(here | _described(each, shown), told[each.qualified_name], seen) for each in found]


def scan(project_dir: str, *, track: Callable[[Sequence[str]], Iterable[str]] = iter) -> Scan:
    """Map all files of a project whose content changed, and drop deleted files from the map.

    `track` yields the paths and shows progress, as `rich.progress.track` does.
    """
    reading = _Reading(project_dir, Seen())
    paths = _mapped(reading.tree, sources.source_files(project_dir))
    return reading.read_all(paths, is_whole=True, track=track)


def rescan(
    project_dir: str, seen: Seen, *, paths: Sequence[str] | None = None, only_newer: bool = False
) -> Scan:
    """Map the files whose content changed on disk: `paths`, or those that `_listed` selects.

    With `only_newer`, files last written before their last update in the map are skipped. `paths` count as
    changed by the session, other files if it may have written them. A folder that does not exist leaves the
    map unchanged.
    """
    seen = seen if paths is None else replace(seen, writing=None)
    reading = _Reading(project_dir, seen, only_newer=only_newer)
    if paths is not None:
        return reading.read_all(_mapped(reading.tree, paths), is_whole=False)
    is_whole, listed = _listed(reading)
    return reading.read_all(listed, is_whole=is_whole)


def note(project_dir: str, **values: Any) -> None:
    """Add values to the stored state of a project's map."""
    with memory_database.atomic():
        code.save_state(project_dir, code.state(project_dir) | values)


def _listed(reading: _Reading) -> tuple[bool, list[str]]:
    """Return whether the whole project is to be read, and its files; of a large one only the mapped files.

    A folder that is no repository counts as large: a whole home folder is mapped only on request.
    """
    if os.path.exists(os.path.join(reading.project_dir, ".git")):
        found = list(itertools.islice(sources.source_files(reading.project_dir), MOST_FILES + 1))
        if len(found) <= MOST_FILES:
            return True, _mapped(reading.tree, found)
    return False, list(reading.known)


def _mapped(tree: sources.Tree, paths: Iterable[str]) -> list[str]:
    """Return the paths inside the project that may be stored; a link is judged by its name and its target."""
    ignored = IGNORED_FILES + config.capture_limits()[1]
    return [
        path
        for path in paths
        if not path.startswith(("/", "../"))
        and tree.is_source(path)
        and (target := tree.target(path))
        and not tree.ignored.file(path)
        and not ignored_name(path, ignored)
        and (target == path or not ignored_name(target, ignored))
        and _stored(path) == path  # no names with invalid Unicode or too long to store
    ]


class _Reading:
    """One scan of a project's files."""

    def __init__(self, project_dir: str, seen: Seen, *, only_newer: bool = False) -> None:
        self.project_dir = project_dir
        self.tree = sources.Tree(project_dir)
        self.seen = seen
        self.known = code.source_files(project_dir)
        # Files found by the first full scan count as changed by no session.
        is_first = "scanned_at" not in code.state(project_dir)
        self._first_seen = replace(seen, session_id="") if is_first else seen
        self._found = Scan()
        # Files packed in another format, as by another Python, are read again.
        self._is_packed = code.state(project_dir).get("packed_as", _FORMAT) == _FORMAT
        self._only_newer = only_newer and self._is_packed

    def read_all(
        self,
        paths: list[str],
        *,
        is_whole: bool,
        track: Callable[[Sequence[str]], Iterable[str]] = iter,
    ) -> Scan:
        """Read files; with `is_whole`, drop mapped files that are not in `paths`."""
        places = (os.path.join(self.project_dir, path) for path in (".git", *paths, *self.known))
        if not any(map(os.path.exists, places)):
            return self._found  # the folder is gone, or not the one that was edited
        self._found.files = len(paths)
        with no_collection():
            waiting = iter(track(paths))  # in batches: a commit costs more than its rows
            while some := list(itertools.islice(waiting, _AT_ONCE)):
                with memory_database.atomic():
                    for path in some:
                        is_first = is_whole and path not in self.known
                        self._read(path, self._first_seen if is_first else self.seen)
        # Files whose grammar was uninstalled are missing from `paths`, but may still exist.
        others = sorted(path for path in self.known.keys() - set(paths) if languages.of(path) is not None)
        if is_whole:
            for path in others:
                self._forget(path)
            note(self.project_dir, scanned_at=self.seen.at, languages=languages.installed())
        if is_whole or not others:
            note(self.project_dir, packed_as=_FORMAT)
        return self._found

    def _read(self, path: str, seen: Seen) -> None:
        known, full = self.known.get(path), os.path.join(self.project_dir, path)
        try:
            if self._only_newer and known and inbox.utc_text(os.stat(full).st_mtime) < known.updated_at:
                return
            data = self.tree.read(path)
        except (FileNotFoundError, NotADirectoryError):
            if known is not None:
                self._forget(path)
            return
        except OSError as failure:  # the file exists: keep what is stored
            self._found.errors[path] = f"cannot be read: {failure.strerror}"
            return
        digest, error = hashlib.sha256(data).hexdigest(), known.error if known else ""
        if known is None or known.digest != digest or not self._is_packed:
            text = sources.decode(data)
            by = self._by(path, seen)
            changes, error = take(self.project_dir, path, text, by, digest=digest)
            self._found.changed.append(path)
            self._found.changes += changes
        if error:
            self._found.errors[path] = error

    def _forget(self, path: str) -> None:
        with memory_database.atomic():
            rows = code.functions_in(self.project_dir, path)
            if (by := self._by(path, self.seen)).session_id:
                code.save_changes([_change(row.__data__, "deleted", by) for row in rows])
            code.delete_file(self.project_dir, path)
        self._found.gone.append(path)
        self._found.changes["deleted"] += len(rows)

    def _by(self, path: str, seen: Seen) -> Seen:
        """Return who changed a file. If it is gone, the nearest folder above it tells when."""
        if seen.writing is None:
            return seen
        full = os.path.join(self.project_dir, path)
        while not os.path.exists(full):
            full = os.path.dirname(full)
        at = inbox.utc_text(os.path.getmtime(full))
        return seen.by(at, at)


def _take(project_dir: str, new: FileMap, text: str, seen: Seen) -> Counter[str]:
    known = code.source_file(project_dir, new.path)
    place = {"project_dir": project_dir, "file_path": new.path}
    row = {
        **place, "digest": new.digest, "lines": new.lines, "error": redact(new.error), "updated_at": seen.at,
    }  # fmt: skip
    if new.error:
        code.save_file({**row, "packed": known.packed if known else b""})
        return Counter()
    stored = code.functions_in(project_dir, new.path) if known is not None else ()
    old = {each.qualified_name: each for each in stored}
    # Functions that may be defined in a part that could not be parsed keep their stored state.
    missing = old.keys() - {each.qualified_name for each in new.functions}
    unsure = languages.unsure(new.path, text, missing) if missing else ()
    functions = [
        each
        for each in new.functions
        if each.qualified_name in old or each.qualified_name.rpartition(".")[2] not in unsure
    ]
    changes = {each.qualified_name: _change_of(old.get(each.qualified_name), each) for each in functions}
    gone = [name for name in old if name in missing and name.rpartition(".")[2] not in unsure]
    shown = _redacted(each for function in functions for each in _texts(function))
    rows = {
        name: place | _described(each, shown) | _left_by(seen, changes[name], old.get(name))
        for each in functions
        for name in [each.qualified_name]
    }
    different = [
        row
        for name, row in rows.items()
        if name not in old or any(getattr(old[name], key) != value for key, value in row.items())
    ]
    code.save_file({**row, "packed": new.packed(_redacted)})
    code.delete_functions(project_dir, new.path, gone)
    code.save_functions(different)
    if seen.session_id and (known is not None or _was_scanned(project_dir, new.path)):
        told = [_change(rows[name], what, seen) for name, what in changes.items() if what != "unchanged"]
        code.save_changes([*told, *(_change(old[name].__data__, "deleted", seen) for name in gone)])
    return Counter(changes.values()) + Counter({"deleted": len(gone)})


def _was_scanned(project_dir: str, path: str) -> bool:
    """Tell whether a full scan of the project included the language of a file."""
    state, language = code.state(project_dir), languages.of(path)
    scanned = state.get("languages", _FIRST_MAPPED) if "scanned_at" in state else ()
    return language is not None and language.name in scanned


def _change_of(old: FunctionMapEntry | None, new: Function) -> str:
    return "new" if old is None else "unchanged" if old.body_hash == new.body_hash else "modified"


def _texts(function: Function) -> list[str]:
    return [function.signature, function.docstring or "", *function.decorators]


def _redacted(texts: Iterable[str]) -> dict[str, str]:
    """Map texts to their redacted form, {} if none has a secret: escapes may have hidden it in the source."""
    different = sorted(set(texts))
    together = "\n".join(different)
    if redact(together) == together.encode("utf-8", "replace").decode():
        return {}
    return {text: redact(text) for text in different}


def _described(function: Function, shown: Mapping[str, str]) -> dict[str, Any]:
    """Return a function's columns; `shown` maps texts to their replacements."""
    signature, docstring, *decorators = [_stored(shown.get(each, each)) for each in _texts(function)]
    return {
        "qualified_name": function.qualified_name,
        "kind": function.kind,
        "signature": signature,
        "docstring": None if function.docstring is None else docstring,
        "body_hash": function.body_hash,
        "decorators": decorators[:_MOST_DECORATORS],
        "line": function.line,
        "end_line": function.end_line,
    }


def _stored(text: str) -> str:
    """Return a text fit for the database: without lone surrogates, truncated to `_MOST_CHARS`."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= _MOST_CHARS else f"{whole[:_MOST_CHARS]}…"


def _left_by(seen: Seen, change: str, old: FunctionMapEntry | None) -> dict[str, Any]:
    """Return the columns of a function's last change: the stored ones if it did not change."""
    if old is not None and change == "unchanged":
        return {name: getattr(old, name) for name in ("change_type", "session_id", "updated_at")}
    return {"change_type": change, "session_id": seen.session_id, "updated_at": seen.at}


def _change(function: Mapping[str, Any], what: str, seen: Seen) -> dict[str, Any]:
    return {
        **{name: function[name] for name in _TOLD},
        "project_dir": seen.project or function["project_dir"],
        "change_type": what,
        "session_id": seen.session_id,
        "observation_id": seen.observation_id,
        "created_at": seen.at,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_FORMAT = str((terms.FORMAT, facts.FORMAT))
