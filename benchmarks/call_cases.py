"""The cases with hand-written truth in `tests/data/codemap`, and how a map's edges compare with them.

A file is a category. A case is `=== its name`, its files (`--- path`; the first is main.py unless said
otherwise) and `--- calls`, one `caller -> callee` a line. Edges to a class itself are no calls of a function.

The cases of other languages, in folders beside it, name a function by its name alone where it is in the first
file, else as `path:name`, a module as `<module>`, and a class without a constructor as what is called.
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
    """One case: files by path, and the pairs of caller and callee that are true."""

    category: str
    name: str
    files: dict[str, str]
    calls: frozenset[tuple[str, str]]


def cases(folder: str = FOLDER, *, first: str = "main.py") -> list[Case]:
    """Read all cases; `first` is the file that they begin with."""
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
    """Return the pairs that are found in a case of another language than Python, as its file writes them."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder)
        for path, source in case.files.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as file:  # settings are read from there
                file.write(source)
            project.update(scan_source(path, source))
        found = project.edges(guesses=False)
    paths = project.modules()

    def written(name: str) -> str:
        path = max((path for path in paths if f"{name}.".startswith(f"{path}.")), key=len)
        rest = name[len(path) + 1 :] or "<module>"
        outer, _, last = rest.rpartition(".")
        if path.endswith(".java") and outer.rpartition(".")[2] == last:
            rest = outer  # a constructor goes by its class
        return rest if path == first else f"{path}:{rest}"

    made = {(edge.caller, edge.line) for edge in found if edge.callee.endswith(".constructor")}
    return {
        (written(edge.caller), written(edge.callee))
        for edge in found
        if not (edge.is_class and (edge.caller, edge.line) in made)
    }


def edges(case: Case) -> list[Edge]:
    """Return the edges that the map finds in a case, unique names apart, edges to classes left out."""
    project = Project(os.devnull)
    for path, source in case.files.items():
        project.update(scan_source(path, source))
    return [edge for edge in project.edges(guesses=False) if not edge.is_class]
