"""Resolve the calls of a project's Python files; after a change, only those that it can affect.

`Resolution.rest` drops what is not needed between two changes. Calls whose receiver is unknown are matched
by name alone: to a class named like the receiver, else to the only owner of a name that is not noise. Such
a match has the level "guess" and never accompanies a resolved edge of the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from claude_mem_lite.codemap.confidence import CONFIDENCE, UNRESOLVED_CONFIDENCE
from claude_mem_lite.codemap.valueflow.external import BUILTINS, EXCEPTIONS, NOISE_METHODS, NOISE_OBJECTS
from claude_mem_lite.codemap.valueflow.frame import LEVELS
from claude_mem_lite.codemap.valueflow.modules import Modules
from claude_mem_lite.codemap.valueflow.solver import solve
from claude_mem_lite.codemap.valueflow.terms import Scope
from claude_mem_lite.codemap.valueflow.values import Class, Evidence, MissedCall, Module, Unit

Scopes = tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A call: dotted names of caller and callee, the caller's file and line.

    Outside of Python a name begins with the file's path in the place of a module: "src/cli.ts.main".
    `resolution` is "direct", "self_method", "import" or "unresolved"; `level` names the evidence,
    `confidence` is how often edges of that level were right; `shape` is the call's form, e.g. "self.m()".
    """

    caller: str
    callee: str
    file: str
    line: int
    resolution: str
    level: str
    confidence: float
    shape: str
    is_class: bool = False


def unresolved(caller: str, name: str, file: str, line: int) -> Edge:
    """Return the edge of a call of which only the name is known."""
    return Edge(caller, name, file, line, "unresolved", "unresolved", UNRESOLVED_CONFIDENCE, "unresolved")


Calls = tuple[list[Edge], list[Edge]]  # resolved and unresolved, one per pair


class Resolution:
    """The calls in each file, by path; `names` maps paths to module names."""

    def __init__(
        self, files: Mapping[str, Scopes], names: Mapping[str, str], *, is_kept: bool = False
    ) -> None:
        """Resolve all calls; with `is_kept`, record what later changes need."""
        self.names = names
        self.calls: dict[str, Calls] = {}
        self._modules = Modules(files, names, is_recorded=is_kept)
        self._found: dict[str, list[tuple[dict[str, Evidence], list[MissedCall]]]] = {}
        self._methods: Methods | None = None
        self._resolve(files)

    def renew(self, changed: Mapping[str, Scopes]) -> set[str]:
        """Replace the scopes of changed files; return the files whose calls differ from before."""
        self._modules.renew(changed)
        return self._resolve(changed)

    def rest(self, read: Callable[[str], Scopes]) -> bool:
        """Drop what is not needed until the next change; `read` returns a file's scopes again.

        Return whether a change can be applied: after an endless recursion it can't.
        """
        self._modules.rest(read)
        return self._modules.is_renewable

    def _resolve(self, renewed: Collection[str]) -> set[str]:
        solve(self._modules)
        methods = Methods(self._modules)
        names = methods.differing(self._methods) if self._methods is not None else None
        self._methods = methods
        changed = set()
        for module in self._modules:
            if not module.path:  # a folder
                continue
            found = [(unit.edges, unit.missed) for unit in module.units]
            is_same = names is not None and module.path not in renewed and found == self._found[module.path]
            if names and is_same:
                is_same = not any(call.name in names for _, missed in found for call in missed)
            if not is_same:
                self._found[module.path] = found
                self.calls[module.path] = _calls_of(module, methods)
                changed.add(module.path)
        return changed


def _calls_of(module: Module, methods: Methods) -> Calls:
    """Return the calls of a file, one edge per pair of caller and callee."""
    found: dict[tuple[str, str], tuple[Evidence, Edge]] = {}
    without: dict[tuple[str, str], Edge] = {}
    for unit in module.units:
        matched, missed = _match(unit, methods)
        for callee, evidence in {**matched, **unit.edges}.items():
            level = LEVELS[evidence.rank]
            edge = Edge(
                unit.caller, callee, module.path, evidence.line or unit.scope.line, evidence.resolution,
                level, CONFIDENCE[level], evidence.shape, callee in methods.classes,
            )  # fmt: skip
            old = found.get((edge.caller, callee))
            if old is None or (old[0].rank, old[1].line) > (evidence.rank, evidence.line):
                found[edge.caller, callee] = (evidence, edge)
        for line, name in missed:
            without[unit.caller, name] = unresolved(unit.caller, name, module.path, line)
    return [edge for _, edge in found.values()], list(without.values())


_RANK = LEVELS.index("guess")


class Methods:
    """A project's methods by name, each with its class; the classes' names and MROs."""

    def __init__(self, modules: Modules) -> None:
        """Index the methods of resolved modules."""
        self.by_name: dict[str, list[tuple[Class, Unit]]] = {}
        self.classes: set[str] = set()
        self.orders: dict[Class, tuple[Class, ...]] = {}
        for module in modules:
            for owner in module.classes.values():
                self.classes.add(owner.name)
                self.orders[owner] = owner.mro
                for unit in owner.unit.inner:
                    if unit.scope.kind == "function":
                        self.by_name.setdefault(unit.scope.name.rpartition(".")[2], []).append((owner, unit))

    def differing(self, before: Methods) -> set[str] | None:
        """Return the names that match differently than before; None if any name may."""
        if self.orders != before.orders:
            return None
        names = self.by_name.keys() | before.by_name.keys()
        return {name for name in names if self.by_name.get(name) != before.by_name.get(name)}


def _match(unit: Unit, methods: Methods) -> tuple[dict[str, Evidence], list[tuple[int, str]]]:
    """Match a scope's missed calls by name; return edges by callee, and line and name of unresolved calls."""
    matched: dict[str, Evidence] = {}
    missed: list[tuple[int, str]] = []
    for line, name, receiver, is_outside in unit.missed:
        known = methods.by_name.get(name, [])
        target = None if receiver is None or is_outside else _only(known, name, receiver)
        if target is not None:
            resolution = "direct" if target.module is unit.module else "import"
            matched[target.name] = Evidence(_RANK, line, "guess", resolution)
            continue
        is_noise = _is_noise(name, receiver)
        if is_outside:
            is_told = bool(known) and not is_noise
        else:
            is_told = not is_noise or (bool(known) and receiver not in NOISE_OBJECTS)
        if is_told:
            missed.append((line, f"{receiver}.{name}" if receiver else name))
    return matched, missed


def _is_noise(name: str, receiver: str | None) -> bool:
    if receiver is None:
        return name in BUILTINS or name in EXCEPTIONS
    return name in NOISE_METHODS or receiver in NOISE_OBJECTS or (name[:2] == "__" == name[-2:])


def _only(candidates: list[tuple[Class, Unit]], name: str, receiver: str) -> Unit | None:
    """Return the only method a name can mean: of the class named like the receiver, or of its only owner."""
    called = receiver.replace("_", "").lower()
    alike = [unit for owner, unit in candidates if called and owner.name.rpartition(".")[2].lower() == called]
    if len(set(alike)) == 1:
        return alike[0]
    if name in NOISE_METHODS or not candidates:
        return None
    owners = [owner for owner, _ in candidates]
    for owner, unit in candidates:  # a single class, or one that all others inherit from
        if all(owner in each.mro for each in owners):
            return unit
    return None
