"""Resolve the calls of a stored project, and after a change those that it can reach.

For that, the project that was resolved last stays in this process. So the first change after the process has
started, or in another project, costs as much as the whole; as does one that adds a file or takes one away, or
that changes what modules are called by.
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

MOST_LINES = 200_000  # of a project that stays; 160,000 take about 30 MB


def resolve(
    project_dir: str, files: Mapping[str, Mapped], before: object, now: str
) -> tuple[Resolved, set[str] | None]:
    """Return a project's calls, and the files in which they are not what they were; None for all files.

    `before` and `now` are the states of the files, when the stored calls were resolved and as they are.
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
    """Keep a project's calls in the place of another's, where the garbage collector does not look."""
    _last.clear()
    if resolved.rest():
        _last[resolved.project_dir] = resolved
    if is_new:
        gc.unfreeze()
        gc.collect()
        gc.freeze()


class Resolved:
    """The calls of a project as it was in some state."""

    def __init__(self, project_dir: str, files: Mapping[str, Mapped]) -> None:
        """Resolve all calls; `files` are those whose language has any."""
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
        """Return the calls in files, the unresolved ones first; None: in all."""
        by_file = [*self._resolution.calls.items(), *self._others.items()]
        found = [calls for path, calls in by_file if paths is None or path in paths]
        return itertools.chain(*(missed for _, missed in found), *(edges for edges, _ in found))

    def renew(self, files: Mapping[str, Mapped]) -> set[str] | None:
        """Resolve what a change can reach; return the files in which calls changed, None if all may have."""
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
        """Let go of what the next change does not need; tell whether anything is left to be kept."""
        if not self._is_kept:
            return False
        files = self._project.files
        for path in self._resolution.names:
            if files[path].scopes:
                files[path] = dataclasses.replace(files[path], scopes=())
        return self._resolution.rest(lambda path: terms.unpack(self._packed[path]) or ())

    def _other_calls(self) -> dict[str, tuple[list[Edge], list[Edge]]]:
        """Return the calls of all languages but Python by file."""
        found: defaultdict[str, tuple[list[Edge], list[Edge]]] = defaultdict(lambda: ([], []))
        for place, edges in enumerate(self._project.resolve_others()):
            for edge in edges:
                found[edge.file][place].append(edge)
        return found


_last: dict[str, Resolved] = {}
