"""All scopes of a project, evaluated until nothing changes."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from claude_mem_lite.codemap.flow import Flow
from claude_mem_lite.codemap.imports import Finder
from claude_mem_lite.codemap.values import Cell, Module, Unit, Value, Values, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claude_mem_lite.codemap.attributes import Attributes
    from claude_mem_lite.codemap.lowering import Expr, Op
    from claude_mem_lite.codemap.scopes import Scope

_MOST_RUNS = 4  # of one scope; most need two
_MOST_RUNS_ASIDE = 2
_ASIDE = re.compile(
    r"(^|/)(tests?|testing|examples?|docs|benchmarks?|conftest\.py|test_[^/]*\.py|[^/]*_test\.py)(/|$)"
)


class World:
    """The units of a project; after `run`, each holds its edges and the calls that nothing was found for."""

    def __init__(self, files: Mapping[str, tuple[Scope, ...]], names: Mapping[str, str]) -> None:
        """Take the scopes of each file by its path, and the module name of each."""
        self.finder = Finder(names)
        self.modules: dict[str, Module] = {}
        for path in sorted(files):
            module = Module(names[path], path, path.rpartition("/")[2].startswith("__init__."))
            module.is_aside = bool(_ASIDE.search(path))
            self.modules[module.name] = module
            _add_units(module, files[path])
        self.bodies: deque[Unit] = deque()
        self.waiting: deque[Unit] = deque()
        self.pending: set[Unit] = set()
        self.fit: dict[int, Value] = {}

    def run(self) -> None:
        """Evaluate modules, imported ones first, then functions, then again what depends on what changed."""
        for module in self.in_import_order():
            self.wake(module.units[0])
        for module in self.modules.values():
            for unit in module.units:
                if unit.scope.kind in {"function", "lambda"}:
                    self.wake(unit)
        while self.bodies or self.waiting:
            unit = self.bodies.popleft() if self.bodies else self.waiting.popleft()
            self.pending.discard(unit)
            unit.runs += 1
            flow = Flow(self, unit)
            try:
                flow.evaluate()
            except RecursionError:
                flow.writes = {}
            self.keep(flow)
            self.publish(unit, flow.writes)

    def wake(self, unit: Unit) -> None:
        """Have a scope evaluated (again), unless that was done often enough."""
        most = _MOST_RUNS_ASIDE if unit.module.is_aside else _MOST_RUNS
        if unit not in self.pending and unit.runs < most:
            self.pending.add(unit)
            (self.bodies if unit.scope.kind == "module" else self.waiting).append(unit)

    def changed(self, cell: Cell) -> None:
        """Have all evaluated that depends on a cell."""
        for reader in cell.readers:
            self.wake(reader)

    def keep(self, flow: Attributes) -> None:
        """Take over the edges of an evaluation."""
        flow.unit.edges, flow.unit.missed = flow.edges, flow.missed

    def publish(self, unit: Unit, writes: dict[Cell, Values]) -> None:
        """Put what an evaluation wrote in the place of what it wrote before."""
        for cell in unit.written:
            if cell not in writes:
                writes[cell] = ()
        for cell, values in writes.items():
            if cell.parts.get(unit, ()) == values:
                continue
            cell.parts[unit] = values
            before = cell.values
            cell.values = now = union(cell.parts.values()) if len(cell.parts) > 1 else values
            if before != now and (len(before) != len(now) or set(before) != set(now)):
                self.changed(cell)
        unit.written = writes

    # modules

    def module(self, name: str) -> Module | None:
        """Return a module by its name; of a folder without `__init__.py`, one without names."""
        found = self.modules.get(name)
        if found is None and name in self.finder.parents:
            found = self.modules[name] = Module(name, "", True)
        return found

    def absolute(self, name: str, importer: Module) -> Module | None:
        """Return the module that `import name` means."""
        found = self.finder.absolute(name, importer.name)
        return self.module(found) if found is not None else None

    def imported(self, name: str, level: int, importer: Module) -> Module | None:
        """Return the module that `from name import` means."""
        if level == 0:
            return self.absolute(name, importer)
        return self.module(self.finder.relative(name, level, importer.name, is_package=importer.is_package))

    def in_import_order(self) -> Iterable[Module]:
        """Return the modules of the files, imported ones first where there is no circle."""
        state: dict[str, bool] = {}
        order: list[Module] = []
        for start in list(self.modules.values()):
            stack: list[tuple[Module, list[Module]]] = []
            if start.name not in state:
                state[start.name] = False
                stack.append((start, self.imports_of(start)))
            while stack:
                module, rest = stack[-1]
                if not rest:
                    stack.pop()
                    order.append(module)
                    continue
                following = rest.pop(0)
                if following.name not in state and following.units:
                    state[following.name] = True
                    stack.append((following, self.imports_of(following)))
        return order

    def imports_of(self, module: Module) -> list[Module]:
        """Return the modules that a module's own statements import."""
        found: list[Module | None] = []
        for op in _imports(module.units[0].scope.body):
            if op[0] == "import":
                found += [self.absolute(name, module) for name, _ in op[1]]
            else:
                source = self.imported(op[1], op[2], module)
                found.append(source)
                if source is not None:
                    found += [self.module(f"{source.name}.{name}") for name, _ in op[3]]
        return [each for each in found if each is not None]


def _imports(ops: Iterable[Op]) -> Iterable[Op]:
    for op in ops:
        if op[0] in {"import", "from"}:
            yield op
        elif op[0] in {"?", "try"}:
            for part in op[1:]:
                if isinstance(part, tuple) and part and isinstance(part[0], tuple):
                    yield from _imports(part)


def _add_units(module: Module, scopes: tuple[Scope, ...]) -> None:
    for scope in scopes:
        parent = module.units[scope.parent] if scope.parent >= 0 else None
        name = f"{module.name}.{scope.name}" if scope.name else module.name
        caller = parent.caller if parent is not None and scope.kind == "lambda" else name
        unit = Unit(scope, module, name, caller, parent)
        unit.index = len(module.units)
        _add_parameters(unit)
        unit.binding = _binding(scope.name.rpartition(".")[2], scope.decorators)
        module.units.append(unit)
        if parent is not None:
            parent.inner.append(unit)
    top = module.units[0]
    for name in top.scope.bound:
        module.cell(name)
    for unit in module.units[1:]:
        if unit.inner and unit.scope.kind != "class":
            unit.cells = {name: Cell() for name in unit.scope.bound}
    module.exported = _exported(top.scope.body)


def _add_parameters(unit: Unit) -> None:
    for each in unit.scope.parameters:
        cell = unit.parameters[each.name] = Cell(is_passed=True)
        if each.kind == "*":
            unit.rest = cell
        elif each.kind == "**":
            unit.others = cell
        else:
            unit.keywords[each.name] = cell
            if not each.kind:
                unit.plain.append(cell)


def _binding(name: str, decorators: tuple[Expr, ...]) -> str:
    """Tell how a class binds a function, by its name and its decorators' last names."""
    for each in decorators:
        last = None if each is None else each[1] if each[0] == "n" else each[2] if each[0] == "a" else None
        if last in {"staticmethod", "classmethod"}:
            return {"staticmethod": "static", "classmethod": "class"}[last]
        if isinstance(last, str) and last.endswith("property"):
            return "property"
    return "class" if name in {"__init_subclass__", "__class_getitem__"} else ""


def _exported(ops: tuple[Op, ...]) -> tuple[str, ...] | None:
    """Return the names of a literal `__all__`, later additions included."""
    found: list[str] | None = None
    for op in ops:
        is_set = op[0] == "=" and ("n", "__all__") in op[1]
        is_more = op[0] == "+" and op[1] == ("n", "__all__")
        value = op[2] if is_set else op[4] if is_more else None
        if value is not None and value[0] in {"L", "T"}:
            names = [each[1] for each in value[1] if each is not None and each[0] == "k"]
            found = names if is_set or found is None else found + names
    return None if found is None else tuple(found)
