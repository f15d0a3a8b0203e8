"""Hold the modules of a project with the units of their scopes, and find the module that an import means."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from claude_mem_lite.codemap.valueflow.expression_terms import (
    Constant,
    Expr,
    Listing,
    Tuple,
    is_name,
    last_name,
)
from claude_mem_lite.codemap.valueflow.imports import Finder
from claude_mem_lite.codemap.valueflow.records import Event, Structure
from claude_mem_lite.codemap.valueflow.terms import (
    Assign,
    AugmentedAssign,
    Block,
    Import,
    Raise,
    Scope,
    import_statements,
)
from claude_mem_lite.codemap.valueflow.values import Cell, Cells, Class, Evidence, MissedCall, Module, Unit

_Place = tuple[str, int]
_SOMETHING = Constant("")  # stands for an annotation
_NO_CELLS: dict[str, Cell] = {}
_NO_EDGES: dict[str, Evidence] = {}
_NO_CALLS: list[MissedCall] = []
_ASIDE = re.compile(
    r"(^|/)(tests?|testing|examples?|docs|benchmarks?|conftest\.py|test_[^/]*\.py|[^/]*_test\.py)(/|$)"
)


class Modules:
    """The modules of a project by name.

    When files have changed, `renew` takes their scopes, and evaluation starts again. In between, `rest` drops
    what evaluation makes again.
    """

    def __init__(
        self,
        files: Mapping[str, tuple[Scope, ...]],
        names: Mapping[str, str],
        *,
        is_recorded: bool = False,
    ) -> None:
        """Take the scopes of each file by its path, and the module name of each.

        `is_recorded` keeps records, so that `renew` can be called later.
        """
        self.structure = Structure(is_recorded=is_recorded)
        self.is_renewable = True
        self._finder = Finder(names)
        self._by_name: dict[str, Module] = {}
        self._by_path: dict[str, Module] = {}
        self._imports: dict[Module, list[Module]] = {}
        self._read: Callable[[str], tuple[Scope, ...]] = lambda _: ()
        for path in sorted(files):
            module = self._by_path[path] = self._add(
                names[path], path, is_package=path.rpartition("/")[2].startswith("__init__.")
            )
            module.is_aside = bool(_ASIDE.search(path))
            _add_units(module, files[path], {})

    def _add(self, name: str, path: str, *, is_package: bool) -> Module:
        module = self._by_name[name] = Module(name, path, is_package, Cells(self.structure.add))
        return module

    def renew(self, changed: Mapping[str, tuple[Scope, ...]]) -> None:
        """Take the scopes of changed files; a scope that looks the same to other scopes keeps its unit."""
        different: set[Event] = set()
        newcomers: set[Unit] = set()
        for path, scopes in changed.items():
            module = self._by_path[path]
            self._imports.pop(module, None)
            before, names, exported = list(module.units), dict(module.names), module.exported
            known = dict(zip(_places(unit.scope for unit in before), before, strict=True))
            _add_units(module, scopes, known)
            newcomers ^= {*before} ^ {*module.units}
            different |= {
                (names.get(name) or module.names[name]) for name in names.keys() ^ module.names.keys()
            }
            if module.exported != exported:
                different.add(module.names)
        self.structure.restart(different, newcomers, [self._by_path[path] for path in changed])

    def rest(self, read: Callable[[str], tuple[Scope, ...]]) -> None:
        """Drop what evaluation makes again, and the scopes' code, which `read` returns again."""
        self._read = read
        self.structure.rest()
        for module in self:
            _rest_cells(module.names)
            for name in module.bound:
                module.names.place(name)
            _clear([module.named])
            module.classes.clear()
            module.is_bare = bool(module.units)
            for unit in module.units:
                _rest(unit)

    def fill(self, module: Module) -> None:
        """Restore the code of a module's scopes."""
        if not module.is_bare:
            return
        for unit, scope in zip(module.units, self._read(module.path), strict=True):
            unit.scope = scope
        module.is_bare = False

    def make_class(self, unit: Unit) -> Class:
        """Return the class of a scope; make it on first use."""
        if unit.made is None:
            note = self.structure.add
            unit.made = Class(unit.name, unit, Cells(note), Cells(note, is_by_name=False))
        unit.module.classes[unit.index] = unit.made
        return unit.made

    def __iter__(self) -> Iterator[Module]:
        """Yield all modules, including those that only imports made."""
        return iter(list(self._by_name.values()))

    def find(self, name: str) -> Module | None:
        """Return a module by its name; a folder without `__init__.py` is one without names."""
        found = self._by_name.get(name)
        if found is None and name in self._finder.parents:
            found = self._add(name, "", is_package=True)
        return found

    def absolute(self, name: str, importer: Module) -> Module | None:
        """Return the module that `import name` means."""
        found = self._finder.absolute(name, importer.name)
        return self.find(found) if found is not None else None

    def imported(self, name: str, level: int, importer: Module) -> Module | None:
        """Return the module that `from name import` means."""
        if level == 0:
            return self.absolute(name, importer)
        return self.find(self._finder.relative(name, level, importer.name, is_package=importer.is_package))

    def in_import_order(self) -> Iterable[Module]:
        """Return the modules of the files, imported ones first where there is no cycle."""
        seen: set[str] = set()
        order: list[Module] = []
        for start in self:
            stack: list[tuple[Module, list[Module]]] = []
            if start.name not in seen and start.units:
                seen.add(start.name)
                stack.append((start, self._imports_of(start)))
            while stack:
                module, rest = stack[-1]
                if not rest:
                    stack.pop()
                    order.append(module)
                    continue
                following = rest.pop(0)
                if following.name not in seen and following.units:
                    seen.add(following.name)
                    stack.append((following, self._imports_of(following)))
        return order

    def _imports_of(self, module: Module) -> list[Module]:
        """Return the modules that a module's own statements import, as a list that the caller may change."""
        if module in self._imports:
            return list(self._imports[module])
        found: list[Module | None] = []
        for statement in import_statements(module.units[0].scope.body):
            if isinstance(statement, Import):
                found += [self.absolute(name, module) for name, _ in statement.names]
            else:
                source = self.imported(statement.module, statement.level, module)
                found.append(source)
                if source is not None:
                    found += [self.find(f"{source.name}.{name}") for name, _ in statement.names]
        self._imports[module] = [each for each in found if each is not None]
        return list(self._imports[module])


def _add_units(module: Module, scopes: tuple[Scope, ...], known: Mapping[_Place, Unit]) -> None:
    """Make a module's units; a known one with the same face is kept, so that references stay valid."""
    module.units = []
    module.is_bare = False
    outer = {scope.parent for scope in scopes}
    for index, (scope, place) in enumerate(zip(scopes, _places(scopes), strict=True)):
        parent = module.units[scope.parent] if scope.parent >= 0 else None
        unit = known.get(place)
        if unit is None or unit.parent is not parent or unit.face != _face(scope, has_inner=index in outer):
            unit = _unit(scope, module, parent, has_inner=index in outer)
        unit.scope, unit.index, unit.inner = scope, index, ()
        module.units.append(unit)
        if parent is not None:
            parent.inner += (unit,)
    _rest_cells(module.names)
    module.bound = _bound(scopes[0])
    for name in module.bound:
        module.names.place(name)
    module.exported = _exported(scopes[0].body)


def _places(scopes: Iterable[Scope]) -> Iterator[_Place]:
    """Yield the name of each scope, and its number among the scopes of that name."""
    times = Counter[str]()
    for scope in scopes:
        times[scope.name] += 1
        yield scope.name, times[scope.name]


def _face(scope: Scope, *, has_inner: bool) -> tuple[object, ...]:
    """Return everything that evaluating other scopes may ask of this one."""
    return (
        scope.kind, tuple([(each.name, each.kind) for each in scope.parameters]), scope.returns is None,
        scope.is_async, scope.is_generator, scope.is_stub, _only_raises(scope),
        _binding(scope.name.rpartition(".")[2], scope.decorators),
        _bound(scope) if has_inner and scope.kind in {"function", "lambda"} else None,
    )  # fmt: skip


def _bound(scope: Scope) -> tuple[str, ...]:
    return tuple(sorted(map(sys.intern, scope.bound)))


def _only_raises(scope: Scope) -> bool:
    return all(type(each) is Raise for each in scope.body)


def _unit(scope: Scope, module: Module, parent: Unit | None, *, has_inner: bool) -> Unit:
    name = f"{module.name}.{scope.name}" if scope.name else module.name
    caller = parent.caller if parent is not None and scope.kind == "lambda" else name
    unit = Unit(scope, module, name, caller, parent, cells=_NO_CELLS)
    unit.face = _face(scope, has_inner=has_inner)
    unit.only_raises = _only_raises(scope)
    unit.binding = unit.bound_as = _binding(scope.name.rpartition(".")[2], scope.decorators)
    if has_inner and scope.kind in {"function", "lambda"}:
        unit.cells = {name: Cell() for name in _bound(scope)}
    unit.parameters = {each.name: Cell(is_passed=True) for each in scope.parameters} or _NO_CELLS
    for each in scope.parameters:
        cell = unit.parameters[each.name]
        if each.kind == "*":
            unit.rest = cell
        elif each.kind == "**":
            unit.others = cell
        elif not each.kind:
            unit.plain += (cell,)
    return unit


def _rest(unit: Unit) -> None:
    """Reset a unit to its state before the first evaluation, but keep what was recorded."""
    unit.scope = _without_code(unit.scope)
    unit.owner, unit.runs, unit.written, unit.edges, unit.missed = None, 0, (), _NO_EDGES, _NO_CALLS
    unit.binding = unit.bound_as
    _clear(unit.parameters.values(), is_passed=True)
    _clear([unit.returned, unit.yielded, unit.declared, *unit.cells.values()])
    owner = unit.made
    if owner is not None:
        _rest_cells(owner.attributes)
        _rest_cells(owner.fields)
        _clear([owner.inherited, owner.got])
        owner.bases, owner.subclasses, owner.order, owner.descendants = (), [], None, None
        owner.is_open = owner.is_enum = owner.is_record = owner.is_protocol = owner.is_property = False
        owner.metaclass = None


def _without_code(scope: Scope) -> Scope:
    """Return a new scope with only what other scopes may ask of it, so that the code's memory is freed."""
    return Scope(
        scope.name, scope.kind, scope.line, scope.parent,
        returns=None if scope.returns is None else _SOMETHING,
        is_async=scope.is_async, is_generator=scope.is_generator, is_stub=scope.is_stub,
    )  # fmt: skip


def _rest_cells(cells: Cells) -> None:
    cells.before = {**(cells.before or {}), **cells}
    cells.clear()
    _clear(cells.before.values())


def _clear(cells: Iterable[Cell], *, is_passed: bool = False) -> None:
    for cell in cells:
        if cell.values:
            cell.values, cell.parts = (), None
        if cell.readers:
            cell.readers = None
        cell.writer, cell.is_passed = None, is_passed


def _binding(name: str, decorators: tuple[Expr, ...]) -> str:
    """Return how a class binds a function, by its name and the last names of its decorators."""
    for each in decorators:
        last = last_name(each)
        if last in {"staticmethod", "classmethod"}:
            return last.removesuffix("method")
        if last.endswith("property"):
            return "property"
    return "class" if name in {"__init_subclass__", "__class_getitem__"} else ""


def _exported(block: Block) -> tuple[str, ...] | None:
    """Return the names of a literal `__all__`, later additions included."""
    found: list[str] | None = None
    for each in block:
        is_set = isinstance(each, Assign) and any(is_name(target, "__all__") for target in each.targets)
        is_more = isinstance(each, AugmentedAssign) and is_name(each.target, "__all__")
        if (is_set or is_more) and isinstance(each.value, Listing | Tuple):  # type: ignore[union-attr]
            names = [str(part.value) for part in each.value.elements if isinstance(part, Constant)]  # type: ignore[union-attr]
            found = names if is_set or found is None else found + names
    return None if found is None else tuple(found)
