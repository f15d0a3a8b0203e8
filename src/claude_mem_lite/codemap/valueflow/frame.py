"""Hold the state of one evaluation of a scope: its names, what it writes, and the edges it finds.

A `Site` describes a call: its form, and the evidence for its callee.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from claude_mem_lite.codemap.valueflow.expression_terms import Attribute, Call, Expr, Name, is_name, last_name
from claude_mem_lite.codemap.valueflow.modules import Modules
from claude_mem_lite.codemap.valueflow.records import Effect, Found, Notice
from claude_mem_lite.codemap.valueflow.value_sets import join, shallow, storable, union
from claude_mem_lite.codemap.valueflow.values import (
    Awaitable,
    Cell,
    Class,
    ClassObject,
    Evidence,
    Function,
    Instance,
    ListObject,
    Manager,
    Method,
    MissedCall,
    ModuleObject,
    Super,
    Unit,
    Value,
    Values,
)
from claude_mem_lite.codemap.valueflow.worklist import Worklist

# Kinds of evidence for an edge, the strongest first.
LEVELS = ("direct", "typed", "several", "passed", "callback", "protocol", "any", "override", "guess")
_RANKS = {level: rank for rank, level in enumerate(LEVELS)}


class Frame:
    """One evaluation of a scope.

    `names` maps local names to values. `passed` are the names whose values came through an argument, and
    `is_weak` says that the values read last did. `choices` counts the classes of an attribute's receiver.
    A class body is evaluated in a frame inside that of its scope, `outer`, and shares its writes.

    Some attributes exist so that `records` can replay the evaluation. `reads` holds the cells that were read
    and whether they were passed, `marked` the cells marked as passed and their mark before, `asked` the names
    (or whole tables) looked up in classes and modules, and `effects` all other actions.
    """

    __slots__ = (
        "asked", "choices", "edges", "effects", "fit", "is_repeatable", "is_weak", "marked", "missed",
        "modules", "names", "outer", "passed", "reader", "reads", "self_name", "unit", "worklist", "writes",
    )  # fmt: skip

    def __init__(
        self,
        unit: Unit,
        modules: Modules,
        worklist: Worklist,
        fit: dict[int, Value],
        outer: Frame | None = None,
    ) -> None:
        """Start an evaluation; `fit` caches, for all frames, the containers that may be stored."""
        self.unit = unit
        self.modules = modules
        self.worklist = worklist
        self.fit = fit
        self.outer = outer
        self.names: dict[str, Values] = {}
        self.passed: set[str] = set()
        self.is_weak = False
        self.choices = 1
        self.writes: dict[Cell, Values] = outer.writes if outer else {}
        self.reads: dict[Cell, bool] = outer.reads if outer else {}
        self.marked: dict[Cell, bool] = outer.marked if outer else {}
        self.asked: set[object] = outer.asked if outer else set()
        self.effects: list[Effect] = outer.effects if outer else []
        self.is_repeatable = True
        self.edges: dict[str, Evidence] = {}
        self.missed: list[MissedCall] = []
        first = unit.scope.parameters[0].name if unit.scope.parameters else ""
        self.self_name = first if unit.owner and unit.binding != "static" else ""
        self.reader: Unit = outer.reader if outer else unit

    def inside(self, unit: Unit) -> Frame:
        """Return a frame for a class body in this scope."""
        return Frame(unit, self.modules, self.worklist, self.fit, self)

    def read(self, cell: Cell) -> Values:
        """Return a cell's values; this scope is evaluated again when they change."""
        if cell not in self.reads:
            self.reads[cell] = self.marked.get(cell, cell.is_passed)
            cell.add_reader(self.reader)
        if cell.is_passed:
            self.is_weak = True
        return cell.values

    def write(self, cell: Cell, values: Values) -> None:
        """Add values to a cell; they are stored there when the evaluation is over."""
        if self.is_weak and values:
            self.marked.setdefault(cell, cell.is_passed)
            cell.is_passed = True
        writes = self.writes
        values = storable(values, self.fit)
        before = writes.get(cell)
        writes[cell] = join(before, values) if before else values

    def notify(self, cell: Cell) -> None:
        """Queue the readers of a cell for evaluation."""
        self.effects.append(Notice(cell, cell in self.reads))
        self.worklist.add_readers(cell)

    def make_class(self, unit: Unit) -> Class:
        """Return the class of a scope."""
        self.effects.append(unit)
        return self.modules.make_class(unit)

    def change(self, target: Class | Unit, name: str, value: object) -> bool:
        """Set an attribute of a class or scope, and return whether it differs from before."""
        return self.modules.structure.change(target, name, value)

    def leave(self, unit: Unit, inner: Frame) -> None:
        """Store the calls of a class body in its scope."""
        found = Found(unit, inner.edges, inner.missed)
        self.effects.append(found)
        found.apply()

    def first_of(self, order: Iterable[Class], attr: str) -> Values:
        """Return the values of an attribute in the first class that has it."""
        self.asked.add(attr)
        for each in order:
            cell = each.attributes.get(attr)
            if cell is not None:
                found = self.read(cell)
                if found:
                    return found
        return ()

    def functions_of(self, order: Iterable[Class], attr: str) -> list[Unit]:
        """Return the functions among an attribute's values in the first class that has it."""
        return [each.unit for each in self.first_of(order, attr) if isinstance(each, Function)]

    def result(self, unit: Unit, receiver: Value | None = None) -> Values:
        """Return the result of calling a function: what it was seen to return, else what it declares."""
        scope = unit.scope
        outside, self.is_weak = self.is_weak, False
        if scope.is_generator:
            values = self.read(unit.yielded)
            found: Values = (ListObject(shallow(values, 1)),) if values else self.read(unit.declared)
            if not values and scope.returns is None:
                found = (ListObject(()),)
        else:
            found = self.read(unit.returned) or self.read(unit.declared)
        self.is_weak = outside or self.is_weak
        if found and unit.owner and isinstance(receiver, Instance | ClassObject):
            found = tuple([_as_receiver(each, unit.owner, receiver) for each in found])
        if unit.binding == "context":
            entered = union([each.items if isinstance(each, ListObject) else (each,) for each in found])
            return (Manager(shallow(entered, 2)),)
        return (Awaitable(shallow(found, 2)),) if scope.is_async and not scope.is_generator else found

    def note(self, target: Unit, line: int, shape: str, level: str, resolution: str = "") -> None:
        """Record an edge; of several to one callee, the best evidence counts, then the first line."""
        if target.scope.kind == "lambda":
            return
        if not resolution:
            resolution = "direct" if target.module is self.unit.module else "import"
        new = (_RANKS[level], line, shape, resolution)
        old = self.edges.get(target.name)
        if old is None or new < old:
            self.edges[target.name] = Evidence(*new)

    def note_protocol(self, target: Unit, line: int) -> None:
        """Record an edge to a method that the language itself calls."""
        self.note(target, line, "protocol", "protocol")


def _as_receiver(value: Value, owner: Class, receiver: Instance | ClassObject) -> Value:
    """Return an instance of the receiver's class where a method returns one of its defining class."""
    is_own = isinstance(value, Instance) and value.owner is owner and not value.is_exact
    return Instance(receiver.owner, receiver.is_exact) if is_own and owner in receiver.owner.mro else value


class Site(NamedTuple):
    """A call's line, its form, the level of evidence for its callee, and its resolution if special."""

    line: int
    shape: str
    level: str
    resolution: str = ""

    def of(self, callees: Values, *, is_weak: bool) -> Site:
        """Return the site with the level of evidence that its callees have."""
        level = "passed" if is_weak else self.level
        certain = 1
        if len(callees) > 1:  # several values may share a function
            certain = len({_callable(value) for value in callees} - {None})
        if certain > 1:  # functions of one table all get called some time, methods of many classes do not
            is_table = not any(isinstance(value, Method | Instance) for value in callees)
            level = "any" if not is_table and (is_weak or certain > 2) else "several"
        return self if level == self.level else Site(self.line, self.shape, level, self.resolution)

    def as_callback(self) -> Site:
        """Return the site of a call that an external function makes here."""
        return Site(self.line, "callback", "callback")


def site_of(frame: Frame, function: Expr, base: Values, line: int) -> Site:
    """Describe a call by its form; `base` are the values before the dot."""
    shape, resolution, is_lexical = "f()", "", True
    if isinstance(function, Attribute):
        shape, resolution, is_lexical = _method_form(frame, function.base, base)
    elif function is not None and not isinstance(function, Name):
        shape, is_lexical = "chain", False
    return Site(line, shape, "direct" if is_lexical else "typed", resolution)


def _method_form(frame: Frame, receiver: Expr, base: Values) -> tuple[str, str, bool]:
    """Return the form and resolution of `receiver.m()`, and whether the code itself names its callee."""
    if isinstance(receiver, Name) and receiver.name == frame.self_name:
        return "self.m()", "self_method", True
    kinds = {value.__class__ for value in base}
    is_lexical = ModuleObject in kinds or ClassObject in kinds
    if isinstance(receiver, Call):
        return ("super().m()", "self_method", True) if Super in kinds else ("chain", "", is_lexical)
    if isinstance(receiver, Attribute):
        is_self = is_name(receiver.base, frame.self_name)
        return "self.x.m()" if is_self else "chain", "", is_lexical
    return "module.f()" if ModuleObject in kinds else "obj.m()", "", is_lexical


def _callable(value: object) -> object:
    """Return the function or class that calling a value certainly runs, None where there is none."""
    if type(value) is Method:
        return None if value.is_override else value.unit
    if type(value) is Function:
        return value.unit
    return value.owner if isinstance(value, ClassObject | Instance) else None


def miss(frame: Frame, function: Expr, line: int, *, is_outside: bool = False) -> None:
    """Record a call whose callee is unknown, by its last name and its receiver's."""
    if isinstance(function, Name):
        frame.missed.append(MissedCall(line, function.name, None, is_outside))
    elif isinstance(function, Attribute):
        frame.missed.append(MissedCall(line, function.attr, last_name(function.base), is_outside))
