"""Read the cases with hand-written calls in `tests/data/codemap`, and compute a map's edges for them.

Each file is a category. A case is `=== its name`, its files (`--- path`; the first is main.py by default) and
`--- calls`, with one `caller -> callee` per line. Edges to a class itself do not count as calls.

The cases of other languages, in sub-folders, write a function in the first file as its name, in other files
as `path:name`, and a module as `<module>`; a class without a constructor is itself the callee.
"""

from __future__ import annotations

import glob
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claude_mem_lite.codemap.project import Project, scan_source

if TYPE_CHECKING:
    from claude_mem_lite.codemap.resolution import Edge

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "data", "codemap")


@dataclass(frozen=True)
class Case:
    """One case: sources by path, and the correct (caller, callee) pairs."""

    category: str
    name: str
    files: dict[str, str]
    calls: frozenset[tuple[str, str]]


def cases(folder: str = FOLDER, *, first: str = "main.py") -> list[Case]:
    """Read all cases; `first` is the path of each case's first file."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.txt"))):
        category = os.path.basename(path).removesuffix(".txt")
        with open(path) as file:
            found += [_case(category, text, first) for text in file.read().split("=== ")[1:]]
    return found


def _case(category: str, text: str, path: str) -> Case:
    name, _, rest = text.partition("\n")
    files: dict[str, str] = {}
    for line in rest.splitlines(keepends=True):
        if line.startswith("--- "):
            path = line[4:].strip()
            files[path] = ""
        else:
            files[path] = files.get(path, "") + line
    calls = frozenset(
        (caller, callee)
        for caller, _, callee in (line.partition(" -> ") for line in files.pop("calls").splitlines())
    )
    return Case(category, name, files, calls)


def named_calls(case: Case, *, first: str) -> set[tuple[str, str]]:
    """Return the pairs found in a case of a language other than Python, written as in the case's file."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder)
        for path, source in case.files.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as file:  # the resolver reads project settings from disk
                file.write(source)
            project.update(scan_source(path, source))
        found = project.edges(guesses=False)
    paths = project.modules()

    def written(name: str) -> str:
        path = max((path for path in paths if f"{name}.".startswith(f"{path}.")), key=len)
        rest = name[len(path) + 1 :] or "<module>"
        outer, _, last = rest.rpartition(".")
        if path.endswith(".java") and outer.rpartition(".")[2] == last:
            rest = outer  # a constructor is written as its class
        return rest if path == first else f"{path}:{rest}"

    made = {(edge.caller, edge.line) for edge in found if edge.callee.endswith(".constructor")}
    return {
        (written(edge.caller), written(edge.callee))
        for edge in found
        if not (edge.is_class and (edge.caller, edge.line) in made)
    }


def edges(case: Case) -> list[Edge]:
    """Return the edges that the map finds in a case, without name matching and without edges to classes."""
    project = Project(os.devnull)
    for path, source in case.files.items():
        project.update(scan_source(path, source))
    return [edge for edge in project.edges(guesses=False) if not edge.is_class]
