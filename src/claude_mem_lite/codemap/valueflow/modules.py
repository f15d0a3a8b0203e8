"""Hold the modules of a project with the units of their scopes, and find which of them an import means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claude_mem_lite.codemap.valueflow.imports import Finder
from claude_mem_lite.codemap.valueflow.terms import (
    Assign,
    AugmentedAssign,
    Constant,
    Import,
    Listing,
    Tuple,
    import_statements,
    is_name,
    last_name,
)
from claude_mem_lite.codemap.valueflow.values import Cell, Module, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from claude_mem_lite.codemap.valueflow.terms import Block, Expr, Scope

_ASIDE = re.compile(
    r"(^|/)(tests?|testing|examples?|docs|benchmarks?|conftest\.py|test_[^/]*\.py|[^/]*_test\.py)(/|$)"
)


class Modules:
    """The modules of a project by name."""

    def __init__(self, files: Mapping[str, tuple[Scope, ...]], names: Mapping[str, str]) -> None:
        """Take the scopes of each file by its path, and the module name of each."""
        self._finder = Finder(names)
        self._by_name: dict[str, Module] = {}
        for path in sorted(files):
            module = Module(names[path], path, path.rpartition("/")[2].startswith("__init__."))
            module.is_aside = bool(_ASIDE.search(path))
            self._by_name[module.name] = module
            _add_units(module, files[path])

    def __iter__(self) -> Iterator[Module]:
        """Yield all modules, those too that only imports made."""
        return iter(list(self._by_name.values()))

    def find(self, name: str) -> Module | None:
        """Return a module by its name; of a folder without `__init__.py`, one without names."""
        found = self._by_name.get(name)
        if found is None and name in self._finder.parents:
            found = self._by_name[name] = Module(name, "", True)
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
        """Return the modules of the files, imported ones first where there is no circle."""
        seen: set[str] = set()
        order: list[Module] = []
        for start in self:
            stack: list[tuple[Module, list[Module]]] = []
            if start.name not in seen:
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
        """Return the modules that a module's own statements import."""
        found: list[Module | None] = []
        for statement in import_statements(module.units[0].scope.body):
            if isinstance(statement, Import):
                found += [self.absolute(name, module) for name, _ in statement.names]
            else:
                source = self.imported(statement.module, statement.level, module)
                found.append(source)
                if source is not None:
                    found += [self.find(f"{source.name}.{name}") for name, _ in statement.names]
        return [each for each in found if each is not None]


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
        module.names.setdefault(name, Cell())
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
