"""Reading names and attributes during one evaluation of a scope, and noting the edges that this makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.foreign import attribute_of
from claude_mem_lite.codemap.known import BUILTINS
from claude_mem_lite.codemap.values import Cell, Module, Unit, Value, Values, join, shallow, storable, union

if TYPE_CHECKING:
    from claude_mem_lite.codemap.classes import Class
    from claude_mem_lite.codemap.world import World

FOREIGN: Values = (("ext", "?"),)
LEVELS = ("direct", "typed", "several", "passed", "callback", "protocol", "any", "override", "guess")
_RANKS = {level: rank for rank, level in enumerate(LEVELS)}
_SURE = {1: "typed", 2: "several"}  # by how many classes the receiver may have


class Attributes:
    """The state of one evaluation: `env` maps local names to values, `weak` says what came by an argument.

    `choices` counts what the receiver of an attribute may be.
    """

    def __init__(self, world: World, unit: Unit, outer: Attributes | None = None) -> None:
        self.world = world
        self.unit = unit
        self.outer = outer
        self.env: dict[str, Values] = {}
        self.passed: set[str] = set()
        self.weak = False
        self.choices = 1
        self.writes: dict[Cell, Values] = outer.writes if outer else {}
        self.edges: dict[str, Any] = {}
        self.missed: list[Any] = []
        first = unit.scope.parameters[0].name if unit.scope.parameters else ""
        self.self_name = first if unit.owner and unit.binding != "static" else ""
        self.reader: Unit = outer.reader if outer else unit

    def read(self, cell: Cell) -> Values:
        """Return a cell's values; this scope is evaluated again when they change."""
        cell.readers[self.reader] = None
        if cell.is_passed:
            self.weak = True
        return cell.values

    def write(self, cell: Cell, values: Values) -> None:
        """Add values to a cell; they arrive there when the evaluation is over."""
        if self.weak and values and not cell.is_passed:
            cell.is_passed = True
        writes = self.writes
        values = storable(values, self.world.fit)
        before = writes.get(cell)
        writes[cell] = join(before, values) if before else values

    # names

    def name(self, name: str) -> Values:
        """Return what a name stands for at this place."""
        found = self.env.get(name)
        if found is not None:
            if name in self.passed:
                self.weak = True
            if not found and name in self.unit.cells:  # an inner function may have set it
                return self.read(self.unit.cells[name])
            return found
        outer = self.outer
        if outer is not None and name not in self.unit.scope.outer:
            return outer.name(name)
        unit: Unit | None = self.unit
        while unit is not None:
            if unit.scope.kind != "class" and name in unit.cells:
                return self.read(unit.cells[name])
            unit = unit.parent
        return self.global_name(name)

    def global_name(self, name: str) -> Values:
        """Return what a global or a builtin stands for."""
        module = self.unit.module
        cell = module.names.get(name)
        if cell is not None:
            return self.read(cell)
        self.read(module.named)
        if name == "__class__":
            return ()
        return (("ext", name),) if name in BUILTINS else ()

    def member(self, module: Module, name: str) -> Values:
        """Return an attribute of a module, or a module inside it."""
        cell = module.names.get(name)
        found = self.read(cell) if cell is not None else ()
        if not found:
            inner = self.world.module(f"{module.name}.{name}")
            if inner is not None:
                return (("mod", inner),)
            self.read(module.named)
            if "__getattr__" in module.names and cell is None:
                return FOREIGN
        return found

    # attributes

    def load_any(self, values: Values, attr: str, line: int) -> Values:
        """Return the attribute of whichever value it is."""
        if len(values) == 1:
            return self.load(values[0], attr, line)
        self.choices = choices(values)
        found = union([self.load(value, attr, line) for value in values])
        self.choices = 1
        return found

    def load(self, value: Value, attr: str, line: int) -> Values:
        """Return the attribute of one value, bound where it is a method."""
        kind = value[0]
        if kind == "inst":
            return self.load_instance(value, attr, line)
        if kind == "mod":
            return self.member(value[1], attr)
        if kind == "cls":
            return self.load_class(value, attr)
        if kind == "ext":
            return attribute_of(value[1], attr)
        if kind in {"seq", "map", "tup", "start"}:
            return (("cm", value, attr),)
        if kind == "super":
            receiver = value[2]
            order = receiver[1].mro
            start = order.index(value[1]) + 1 if value[1] in order else 1
            return self.bind(self.in_order(order[start:], attr), receiver, line) or (
                FOREIGN if receiver[1].may_have_more else ()
            )
        if kind == "bound" and attr == "__self__":
            return (value[2],)
        if kind in {"fn", "bound"} and attr in {"__wrapped__", "__func__", "__call__"}:
            return (value,)
        return FOREIGN if kind in {"fn", "bound", "partial", "coro", "key", "start"} else ()

    def in_order(self, order: tuple[Class, ...], attr: str) -> Values:
        """Return what the first class that has it binds to an attribute."""
        for each in order:
            cell = each.attributes.get(attr)
            if cell is not None:
                found = self.read(cell)
                if found:
                    return found
        return ()

    def load_instance(self, value: Value, attr: str, line: int) -> Values:
        owner, is_exact = value[1], value[2]
        self.read(owner.inherited)
        on_class = self.in_order(owner.mro, attr)
        found = self.bind(on_class, value, line) if on_class else ()
        if any(each.is_protocol for each in owner.mro):  # whoever fits runs, not the protocol's own
            found = tuple([_as_override(each) for each in found])
        if not found or on_class[0][0] not in {"fn", "prop"}:
            for each in owner.mro:
                held = self.read(each.field_of(attr))
                if held:
                    found = join(found, held)
        if owner.subclasses and not is_exact and (not found or on_class):
            below = self.below(value, attr, line, is_only=not found)
            if any(each[0] == "bound" for each in below):  # a stub there is there to be overridden
                found = tuple([_as_override(each) for each in found])
            found = join(found, below)
        if found:
            return found
        if attr == "__class__":
            return (("cls", owner, is_exact),)
        fallback = self.in_order(owner.mro, "__getattr__")
        if fallback and not attr.startswith("__"):
            for each in self.bind(fallback, value, line):
                if each[0] == "bound":
                    self.note(each[1], line, "protocol", "protocol")
            return FOREIGN
        return FOREIGN if owner.may_have_more else ()

    def below(self, value: Value, attr: str, line: int, *, is_only: bool) -> Values:
        """Return what subclasses have instead of an attribute: methods are marked as overriding ones."""
        found: Values = ()
        kind = value[0]
        for each in value[1].below():
            cell = each.attributes.get(attr)
            if each.unit.module.is_aside and not self.unit.module.is_aside:
                continue
            if cell is not None:
                receiver = (kind, each, False)
                for bound in self.bind(self.read(cell), receiver, line, is_override=True):
                    found = join(found, ((*bound[:3], True),) if bound[0] == "bound" else (bound,))
            if is_only and kind == "inst":
                found = join(found, self.read(each.field_of(attr)))
        return found

    def bind(self, on_class: Values, value: Value, line: int, *, is_override: bool = False) -> Values:
        """Return class attributes as an instance (or class method's class) gives them."""
        found: Values = ()
        for each in on_class:
            kind = each[0]
            if kind == "fn":
                unit = each[1]
                if unit.binding == "static":
                    new: Values = (each,)
                elif unit.binding == "class":
                    receiver = value if value[0] == "cls" else ("cls", value[1], value[2])
                    new = (("bound", unit, receiver),)
                else:
                    new = (("bound", unit, value),)
            elif kind == "prop":
                new = (
                    self.get_property(each, value, line, is_override=is_override)
                    if value[0] == "inst"
                    else ()
                )
            elif kind == "inst" and value[0] == "inst" and (get := self.in_order(each[1].mro, "__get__")):
                new = ()
                for method in self.bind(get, each, line):
                    if method[0] == "bound":
                        self.note(method[1], line, "protocol", "protocol")
                        new = join(new, self.result(method[1], each))
            else:
                new = (each,)
            found = join(found, new)
        return found

    def get_property(self, value: Value, receiver: Value, line: int, *, is_override: bool) -> Values:
        getter = value[1]
        if getter is None:
            return ()
        level = "override" if is_override else _SURE.get(self.choices, "any")
        if level == "typed" and self.weak:
            level = "passed"
        is_self = self.self_name and receiver[1] is self.unit.owner
        self.note(getter, line, "property", level, "self_method" if is_self else "")
        return self.result(getter, receiver)

    def load_class(self, value: Value, attr: str) -> Values:
        owner = value[1]
        self.read(owner.inherited)
        found: Values = ()
        for each in self.in_order(owner.mro, attr):
            if each[0] == "fn":
                if each[1].binding == "class":
                    found = join(found, (("bound", each[1], value),))
                else:
                    found = join(found, (each,))
            elif owner.is_enum:
                found = join(found, (("inst", owner, True),))
            elif each[0] != "prop":
                found = join(found, (each,))
        if owner.subclasses and not value[2]:
            overriding = self.below(value, attr, 0, is_only=False)
            found = join(found, tuple([each for each in overriding if each[0] == "bound"]))
        if not found and owner.metaclass is not None:
            return self.bind(self.in_order(owner.metaclass.mro, attr), ("inst", owner.metaclass, True), 0)
        if not found and attr in {"__name__", "__dict__", "__mro__", "__doc__", "__module__"}:
            return FOREIGN
        return found or (
            (("inst", owner, True),) if owner.is_enum else FOREIGN if owner.may_have_more else ()
        )

    # results and edges

    def result(self, unit: Unit, receiver: Value | None = None) -> Values:
        """Return what calling a function gives: what it was seen to return, else what it declares."""
        scope = unit.scope
        outside, self.weak = self.weak, False
        if scope.is_generator:
            values = self.read(unit.yielded)
            found: Values = (("seq", shallow(values, 1)),) if values else self.read(unit.declared)
            if not values and scope.returns is None:
                found = (("seq", ()),)
        else:
            found = self.read(unit.returned) or self.read(unit.declared)
        self.weak = outside or self.weak
        if found and receiver is not None and receiver[0] in {"inst", "cls"} and unit.owner:
            found = tuple(
                [
                    ("inst", receiver[1], receiver[2])
                    if each[0] == "inst"
                    and each[1] is unit.owner
                    and not each[2]
                    and each[1] in receiver[1].mro
                    else each
                    for each in found
                ]
            )
        if unit.binding == "context":
            return (("ctx", shallow(_entered(found), 2)),)
        return (("coro", shallow(found, 2)),) if scope.is_async and not scope.is_generator else found

    def note(self, target: Unit | Class, line: int, shape: str, level: str, resolution: str = "") -> None:
        """Note an edge; of several to one callee the best evidence counts, then the first line."""
        unit = target if isinstance(target, Unit) else target.unit
        if unit.scope.kind == "lambda":
            return
        if not resolution:
            resolution = "direct" if unit.module is self.unit.module else "import"
        new = (_RANKS[level], line, shape, resolution)
        old = self.edges.get(unit.name)
        if old is None or new < old:
            self.edges[unit.name] = new


def choices(values: Values) -> int:
    """Count the classes that a receiver may have; all that are foreign are one more."""
    owners = {value[1] for value in values if value[0] == "inst"}
    return len(owners) + any(value[0] != "inst" for value in values)


def _as_override(value: Value) -> Value:
    """Mark a method that does nothing but say that another is to do it."""
    is_stub = value[0] == "bound" and len(value) == 3 and value[1].scope.is_stub
    return (*value, True) if is_stub else value


def _entered(values: Values) -> Values:
    found: Values = ()
    for value in values:
        found = join(found, value[1] if value[0] == "seq" else (value,))
    return found
