"""Resolve the calls of a project's Python files, and after a change those that it can reach.

`Resolution.rest` lets go of what need not be kept between two changes.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from claude_mem_lite.codemap import name_matching
from claude_mem_lite.codemap.confidence import CONFIDENCE, UNRESOLVED_CONFIDENCE
from claude_mem_lite.codemap.name_matching import Methods
from claude_mem_lite.codemap.valueflow.frame import LEVELS
from claude_mem_lite.codemap.valueflow.modules import Modules
from claude_mem_lite.codemap.valueflow.solver import solve
from claude_mem_lite.codemap.valueflow.terms import Scope
from claude_mem_lite.codemap.valueflow.values import Evidence, MissedCall, Module

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
    """Return a call of which nothing but the name is known."""
    return Edge(caller, name, file, line, "unresolved", "unresolved", UNRESOLVED_CONFIDENCE, "unresolved")


Calls = tuple[list[Edge], list[Edge]]  # the resolved and the unresolved ones, one a pair


class Resolution:
    """The calls in each file, by the file's path; `names` are those of the modules."""

    def __init__(
        self, files: Mapping[str, Scopes], names: Mapping[str, str], *, is_kept: bool = False
    ) -> None:
        """Resolve all calls; `is_kept`: it is to take changes later."""
        self.names = names
        self.calls: dict[str, Calls] = {}
        self._modules = Modules(files, names, is_recorded=is_kept)
        self._found: dict[str, list[tuple[dict[str, Evidence], list[MissedCall]]]] = {}
        self._methods: Methods | None = None
        self._resolve(files)

    def renew(self, changed: Mapping[str, Scopes]) -> set[str]:
        """Take the scopes of files that changed; return the files in which calls are others than before."""
        self._modules.renew(changed)
        return self._resolve(changed)

    def rest(self, read: Callable[[str], Scopes]) -> bool:
        """Let go of what is not needed before the next change; `read` returns a file's scopes again.

        Return whether a change can be taken: after an endless recursion it can't.
        """
        self._modules.rest(read)
        return self._modules.is_renewable

    def _resolve(self, renewed: Collection[str]) -> set[str]:
        solve(self._modules)
        methods = name_matching.Methods(self._modules)
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
    """Return the calls of a file, one edge a pair of caller and callee."""
    found: dict[tuple[str, str], tuple[Evidence, Edge]] = {}
    without: dict[tuple[str, str], Edge] = {}
    for unit in module.units:
        matched, missed = name_matching.match(unit, methods)
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
