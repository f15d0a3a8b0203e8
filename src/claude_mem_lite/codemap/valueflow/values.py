"""Define what a name may stand for: abstract values, and the cells, scopes, modules and classes behind them.

A set of values is a tuple without repeats; the empty one means "unknown". Values compare as tuples, by their
content and not by their class, so each ends with a `kind` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Union

from claude_mem_lite.codemap.valueflow.terms import Scope

_MOST_SUBCLASSES = 40


class Instance(NamedTuple):
    """An object of a class of the project; of that very class where `is_exact`."""

    owner: Class
    is_exact: bool = False
    kind: str = "instance"


class ClassObject(NamedTuple):
    """A class of the project itself, or one of its subclasses unless `is_exact`."""

    owner: Class
    is_exact: bool = False
    kind: str = "class"


class Function(NamedTuple):
    """A function of the project."""

    unit: Unit
    kind: str = "function"


class Method(NamedTuple):
    """A function bound to a receiver; `is_override`: it may run in place of another method."""

    unit: Unit
    receiver: Instance | ClassObject
    is_override: bool = False
    kind: str = "method"


class Property(NamedTuple):
    """A property."""

    getter: Unit | None
    setter: Unit | None
    kind: str = "property"


class Descriptor(NamedTuple):
    """An instance of a class of the project with `__get__`, around the functions that it was given."""

    instance: Instance
    functions: Values
    kind: str = "descriptor"


class ModuleObject(NamedTuple):
    """A module of the project."""

    module: Module
    kind: str = "module"


class External(NamedTuple):
    """Something from outside the project, by its dotted name."""

    name: str
    kind: str = "external"


class ListObject(NamedTuple):
    """A list, set or iterator of values."""

    items: Values
    kind: str = "sequence"


class TupleObject(NamedTuple):
    """A tuple, with the values of each place."""

    places: tuple[Values, ...]
    kind: str = "tuple"


class DictObject(NamedTuple):
    """A dict: pairs of a constant key and its values, and the values of all other keys."""

    pairs: tuple[tuple[object, Values], ...]
    others: Values
    kind: str = "mapping"


class Super(NamedTuple):
    """`super()` in a method of `start`, called on `receiver`."""

    start: Class
    receiver: Instance | ClassObject
    kind: str = "super"


class Partial(NamedTuple):
    """`functools.partial(functions, *arguments, **keywords)`."""

    functions: Values
    arguments: tuple[Values, ...]
    keywords: tuple[tuple[str, Values], ...]
    kind: str = "partial"


class Awaitable(NamedTuple):
    """A coroutine or future; awaiting it gives `result`."""

    result: Values
    kind: str = "awaitable"


class Manager(NamedTuple):
    """A context manager made from a generator; `with` gives `entered`."""

    entered: Values
    kind: str = "manager"


class ContainerMethod(NamedTuple):
    """A method of a container or text."""

    container: Container | TextStart
    name: str
    kind: str = "container method"


class Key(NamedTuple):
    """A constant."""

    value: object
    kind: str = "key"


class TextStart(NamedTuple):
    """A text of which only the beginning is known: `"visit_" + name`."""

    text: str
    kind: str = "start"


Container = Union[ListObject, TupleObject, DictObject]  # noqa: UP007 - evaluated before Values exists
Value = Union[  # noqa: UP007
    Instance, ClassObject, Function, Method, Property, Descriptor, ModuleObject, External, ListObject,
    TupleObject, DictObject, Super, Partial, Awaitable, Manager, ContainerMethod, Key, TextStart,
]  # fmt: skip
Values = tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Cell:
    """The values of one name, attribute or result.

    `writer` is the scope that wrote them; with several, `parts` has the values of each. `readers` are
    evaluated again, in order, when the values change. `is_passed` says that some came through an argument,
    which is weaker evidence than an assignment. Attributes and globals are in `home` under `key`.
    """

    values: Values = ()
    is_passed: bool = False
    writer: Unit | None = None
    parts: dict[Unit, Values] | None = None
    readers: dict[Unit, None] | None = None
    home: Cells | None = None
    key: str = ""

    def add_reader(self, unit: Unit) -> None:
        """Register a scope to be evaluated again when the values change."""
        if self.readers is None:
            self.readers = {}
        self.readers[unit] = None


class Cells(dict[str, Cell]):
    """Cells by name; a missing one is made on access and reported to `noted`.

    `before` are the cells of the last run, which are used again.
    """

    __slots__ = ("before", "is_by_name", "noted")
    __eq__ = object.__eq__  # compared by identity, whatever they hold
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, noted: Callable[[Cell], None], *, is_by_name: bool = True) -> None:
        """Take the callback for new cells; `is_by_name`: scopes look up single cells by their name."""
        super().__init__()
        self.before: dict[str, Cell] | None = None
        self.is_by_name = is_by_name
        self.noted = noted

    def __missing__(self, name: str) -> Cell:
        cell = self.place(name)
        self.noted(cell)
        return cell

    def place(self, name: str) -> Cell:
        """Make a cell, or use that of the last run again, without reporting it."""
        cell = self.before.pop(name, None) if self.before else None
        if cell is None:
            cell = Cell(home=self, key=name)
        self[name] = cell
        return cell


class Evidence(NamedTuple):
    """The evidence for an edge: its level's rank (0: strongest), and the call's line, form and resolution."""

    rank: int
    line: int
    shape: str
    resolution: str


class MissedCall(NamedTuple):
    """A call whose callee is unknown; `receiver` is the last name before the dot, None without a dot.

    `is_outside`: the receiver comes from outside the project, but may still be an object of the project.
    """

    line: int
    name: str
    receiver: str | None
    is_outside: bool


@dataclass(slots=True, eq=False)
class Unit:
    """A scope in its place in the project, and what is known of it.

    `caller` names it in edges. `binding` is how a class binds it: "", "static", "class", "property" or
    "context"; `bound_as` is the binding by its own source. Of its `parameters`, `plain` take arguments by
    place, `rest` is `*` and `others` is `**`. `cells` are its variables that inner functions read. `edges`
    are by the callee's name. `only_raises`: its body does nothing else. `made` is the class whose scope it
    is. `face` is what evaluating other scopes may ask of it, `asked` what it looked up in others.
    """

    scope: Scope
    module: Module
    name: str
    caller: str
    parent: Unit | None
    owner: Class | None = None
    binding: str = ""
    index: int = 0
    inner: tuple[Unit, ...] = ()
    runs: int = 0
    parameters: dict[str, Cell] = field(default_factory=dict)
    plain: tuple[Cell, ...] = ()
    rest: Cell | None = None
    others: Cell | None = None
    returned: Cell = field(default_factory=Cell)
    yielded: Cell = field(default_factory=Cell)
    declared: Cell = field(default_factory=Cell)
    cells: dict[str, Cell] = field(default_factory=dict)
    written: tuple[Cell, ...] = ()
    edges: dict[str, Evidence] = field(default_factory=dict)
    missed: list[MissedCall] = field(default_factory=list)
    only_raises: bool = False
    made: Class | None = None
    bound_as: str = ""
    asked: tuple[object, ...] = ()
    face: tuple[object, ...] = ()

    def keyword(self, name: str) -> Cell | None:
        """Return the parameter that takes an argument of a name."""
        cell = self.parameters.get(name)
        return self.others if cell is None or cell is self.rest else cell

    @property
    def is_new(self) -> bool:
        """Tell whether it is a `__new__`, which receives the class without any decorator."""
        return self.scope.name.endswith(".__new__")

    @property
    def is_get(self) -> bool:
        """Tell whether it is the `__get__` of a descriptor."""
        return self.scope.name.endswith(".__get__")


@dataclass(slots=True, eq=False)
class Module:
    """One file; `names` holds its globals, `named` changes when a star import brings more.

    `is_aside`: tests and examples, which show how code is used but not what it calls.
    """

    name: str
    path: str
    is_package: bool
    names: Cells
    is_aside: bool = False
    is_bare: bool = False
    units: list[Unit] = field(default_factory=list)
    bound: tuple[str, ...] = ()
    named: Cell = field(default_factory=Cell)
    exported: tuple[str, ...] | None = None
    classes: dict[int, Class] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Class:
    """A class of the project; `attributes` are bound in its body, `fields` assigned to its instances.

    `bases` are the project's own; `is_open`: an external one may add attributes. `is_record`: a dataclass.
    `is_property`: it inherits from an external property. `got` are the functions held by its instances that
    its `__get__` calls: reading such a descriptor runs the function that it was given.
    """

    name: str
    unit: Unit
    attributes: Cells
    fields: Cells
    bases: tuple[Class, ...] = ()
    is_open: bool = False
    is_enum: bool = False
    is_record: bool = False
    is_protocol: bool = False
    is_property: bool = False
    metaclass: Class | None = None
    subclasses: list[Class] = field(default_factory=list)
    inherited: Cell = field(default_factory=Cell)
    got: Cell = field(default_factory=Cell)
    order: tuple[Class, ...] | None = None
    descendants: tuple[Class, ...] | None = None

    @property
    def mro(self) -> tuple[Class, ...]:
        """Return the method resolution order, `self` first; external bases are left out."""
        if self.order is None:
            self.order = (self,)  # in case the class is among its own bases
            self.order = (self, *_merge([list(base.mro) for base in self.bases] + [list(self.bases)]))
        return self.order

    def set_bases(self, bases: Sequence[Class]) -> bool:
        """Set the bases and return whether they differ from before."""
        new = tuple(dict.fromkeys(base for base in bases if base is not self and self not in base.mro))
        if new == self.bases:
            return False
        before = self.mro
        for base in self.bases:
            base.subclasses.remove(self)
        self.bases = new
        for base in new:
            base.subclasses.append(self)
        for each in (self, *self.below):
            each.order = None
        for each in (*before, *self.mro):
            each.descendants = None
        return True

    @property
    def below(self) -> tuple[Class, ...]:
        """Return the direct and indirect subclasses, nearest first, up to about `_MOST_SUBCLASSES`."""
        if self.descendants is None:
            found: dict[Class, None] = {}
            waiting = list(self.subclasses)
            while waiting and len(found) < _MOST_SUBCLASSES:
                each = waiting.pop(0)
                if each is not self and each not in found:
                    found[each] = None
                    waiting += each.subclasses
            self.descendants = tuple(found)
        return self.descendants

    @property
    def may_have_more(self) -> bool:
        """Tell whether an external base may add attributes."""
        return any(each.is_open for each in self.mro)


def _merge(sequences: list[list[Class]]) -> list[Class]:
    """Merge by C3; where no order is possible, the rest follows as it is.

    Source: https://docs.python.org/3/howto/mro.html
    """
    found: list[Class] = []
    while sequences := [each for each in sequences if each]:
        for sequence in sequences:
            head = sequence[0]
            if not any(head in other[1:] for other in sequences):
                break
        else:
            return list(dict.fromkeys([*found, *(each for sequence in sequences for each in sequence)]))
        found.append(head)
        sequences = [[each for each in sequence if each is not head] for sequence in sequences]
    return found
