"""Resolve the calls of a stored project; after a change, only those that it can affect.

For that, the project that was resolved last stays in this process's memory. All calls are resolved again at
the first change after the process starts or switches projects, and when a change adds or removes a file or
changes the names of modules.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from claude_mem_lite.codemap.project import Project, unpacked
from claude_mem_lite.codemap.resolution import Edge, Resolution, Scopes
from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.storage import code
from claude_mem_lite.storage.code import Mapped

MOST_LINES = 200_000  # largest project kept in memory; 160,000 lines take about 30 MB


def resolve(
    project_dir: str, files: Mapping[str, Mapped], before: object, now: str
) -> tuple[Resolved, set[str] | None]:
    """Return a project's calls, and the files in which they may have changed; None for all files.

    `before` is the state of the files for which the stored calls were resolved, `now` the present one.
    """
    last, changed = _last.pop(project_dir, None), None
    if last is not None and last.state == before:
        changed = last.renew(files)
    is_new = last is None or changed is None
    if last is None or changed is None:
        last = Resolved(project_dir, files)
    last.state = now
    _keep(last, is_new=is_new)
    return last, changed


def _keep(resolved: Resolved, *, is_new: bool) -> None:
    """Keep a project's calls instead of another's, frozen so that the garbage collector skips them."""
    _last.clear()
    if resolved.rest():
        _last[resolved.project_dir] = resolved
    if is_new:
        gc.unfreeze()
        gc.collect()
        gc.freeze()


class Resolved:
    """The calls of a project in one state of its files."""

    def __init__(self, project_dir: str, files: Mapping[str, Mapped]) -> None:
        """Resolve all calls; `files` are those in languages whose calls are resolved."""
        self.project_dir = project_dir
        self.state = ""
        self._digests = {path: file.digest for path, file in files.items()}
        self._packed = dict(code.packed(project_dir))
        found = {path: unpacked(path, data) for path, data in self._packed.items()}
        self._project = Project(project_dir, {path: each for path, each in found.items() if each is not None})
        self._is_kept = sum(file.lines for file in files.values()) <= MOST_LINES
        self.modules = self._project.modules()
        names = self._project.python_modules()
        scopes = {path: self._project.files[path].scopes for path in names}
        self._resolution = Resolution(scopes, names, is_kept=self._is_kept)
        self._others = self._other_calls()

    def calls(self, paths: Collection[str] | None) -> Iterable[Edge]:
        """Return the calls in the files `paths` (None: all), the unresolved ones first."""
        by_file = [*self._resolution.calls.items(), *self._others.items()]
        found = [calls for path, calls in by_file if paths is None or path in paths]
        return itertools.chain(*(missed for _, missed in found), *(edges for edges, _ in found))

    def renew(self, files: Mapping[str, Mapped]) -> set[str] | None:
        """Resolve the calls that a change affects; return their files, None if all must be resolved again."""
        digests = {path: file.digest for path, file in files.items()}
        changed = [path for path, digest in digests.items() if self._digests.get(path) != digest]
        if digests.keys() != self._digests.keys():
            return None
        self._digests = digests
        scopes: dict[str, Scopes] = {}
        for path, data in code.packed(self.project_dir, changed):
            old, new = self._project.files.get(path), unpacked(path, data)
            if old is None or new is None or bool(old.facts) != bool(new.facts):
                return None
            self._packed[path], self._project.files[path] = data, new
            if new.imports is not None:
                scopes[path] = new.scopes
        if self._project.python_modules() != self._resolution.names:
            return None
        found = self._resolution.renew(scopes) if scopes else set()
        if len(scopes) < len(changed):
            before = self._others
            self._others = self._other_calls()
            found |= before.keys() | self._others.keys()
        return found

    def rest(self) -> bool:
        """Drop what the next change does not need; return whether the rest is worth keeping."""
        if not self._is_kept:
            return False
        files = self._project.files
        for path in self._resolution.names:
            if files[path].scopes:
                files[path] = dataclasses.replace(files[path], scopes=())
        return self._resolution.rest(lambda path: terms.unpack(self._packed[path]) or ())

    def _other_calls(self) -> dict[str, tuple[list[Edge], list[Edge]]]:
        """Return the calls of all languages but Python, by file."""
        found: defaultdict[str, tuple[list[Edge], list[Edge]]] = defaultdict(lambda: ([], []))
        for place, edges in enumerate(self._project.resolve_others()):
            for edge in edges:
                found[edge.file][place].append(edge)
        return found


_last: dict[str, Resolved] = {}
