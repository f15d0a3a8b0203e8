"""Find the methods that define or override a method, by the base classes named in signatures."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping

from claude_mem_lite.storage.code import Definition

Place = tuple[str, str]  # file and qualified name


class Hierarchy:
    """A project's classes with their bases and subclasses.

    A base is matched by the last part of its name: a class of the same file, else the only class of that name
    in the project. If several other files have one, none is taken.
    """

    def __init__(self, definitions: Iterable[Definition]) -> None:
        """Index a project's definitions."""
        self._names: set[Place] = set()
        bases: dict[Place, list[str]] = {}
        called: defaultdict[str, list[Place]] = defaultdict(list)
        for each in definitions:
            place = (each.file, each.name)
            self._names.add(place)
            if each.kind == "class":
                bases[place] = _bases_in(each.signature)
                called[each.name.rpartition(".")[2]].append(place)
        self._bases: dict[Place, list[Place]] = {}
        self._subclasses: defaultdict[Place, list[Place]] = defaultdict(list)
        for place, names in bases.items():
            self._bases[place] = [base for name in names for base in _meant(place, called[name])]
            for base in self._bases[place]:
                self._subclasses[base].append(place)

    def defining(self, owner: Place, method: str) -> Place | None:
        """Return the method that a class inherits; None where none of its known bases defines it."""
        return next(iter(self._having(_reached(owner, self._bases), method)), None)

    def overriding(self, method: Place) -> list[Place]:
        """Return the methods of subclasses that override a method."""
        owner, _, last = method[1].rpartition(".")
        return sorted(self._having(_reached((method[0], owner), self._subclasses), last))

    def _having(self, classes: Iterable[Place], method: str) -> list[Place]:
        places = [(file, f"{name}.{method}") for file, name in classes]
        return [place for place in places if place in self._names]


def _bases_in(signature: str) -> list[str]:
    """Return the last names of the bases that a class's signature names."""
    _, bracket, bases = signature.partition("(")
    try:
        (tree,) = ast.parse(f"class _{bracket}{bases}: pass").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a redacted or truncated signature
        return []
    nodes = tree.bases if isinstance(tree, ast.ClassDef) else []
    plain = [each.value if isinstance(each, ast.Subscript) else each for each in nodes]
    return [str(getattr(each, "attr", getattr(each, "id", ""))) for each in plain]


def _meant(place: Place, candidates: list[Place]) -> list[Place]:
    beside = [each for each in candidates if each[0] == place[0] and each != place]
    return beside[:1] or (candidates if len(candidates) == 1 and candidates != [place] else [])


def _reached(start: Place, following: Mapping[Place, list[Place]]) -> list[Place]:
    """Return all classes that can be reached from one, nearest first, each once."""
    seen = {start}
    waiting = [start]
    for each in waiting:
        new = [place for place in following.get(each, ()) if place not in seen]
        seen.update(new)
        waiting += new
    return waiting[1:]
