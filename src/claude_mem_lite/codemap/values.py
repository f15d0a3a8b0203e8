"""What a name may stand for: sets of abstract values, and the cells that keep them between scopes.

A value is a tuple whose first item is its kind: inst (class, is it exactly that class), cls (the same), fn
(unit), bound (unit, receiver), prop (getter, setter or None), mod (module), ext (dotted name of something
foreign), seq (values), tup (values of each place), map (pairs of key and values, values of other keys),
super (class, receiver), partial (values, arguments, keywords), coro (values awaited), ctx (values entered),
cm (container, method). A set of them is a tuple without repeats; the empty one is "unknown".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_mem_lite.codemap.classes import Class
    from claude_mem_lite.codemap.scopes import Scope

Value = tuple[Any, ...]
Values = tuple[Value, ...]

_MOST = 24  # more candidates than this say nothing
_MOST_KEYS = 200
_DEEPEST = 3  # lists of lists of lists
_PLAIN = frozenset({"inst", "cls", "fn", "bound", "mod", "ext", "prop"})
_CONSTANTS = frozenset({"key", "start"})
_CONTAINERS = frozenset({"seq", "tup", "map", "partial", "coro", "ctx"})


@dataclass(slots=True, eq=False)
class Cell:
    """The values of one name, attribute or result, each with the scope that wrote it.

    `readers` (in order) are evaluated again when the values change; `is_passed` says that some came
    through an argument, which is weaker evidence than an assignment.
    """

    values: Values = ()
    is_passed: bool = False
    parts: dict[Unit, Values] = field(default_factory=dict)
    readers: dict[Unit, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Unit:
    """A scope with its place in the project and what is known of it; `caller` names it in edges.

    Of its `parameters`, `plain` takes arguments by place, `keywords` by name, `rest` is `*`, `others` `**`.
    """

    scope: Scope
    module: Module
    name: str
    caller: str
    parent: Unit | None
    owner: Class | None = None
    binding: str = ""
    index: int = 0
    inner: list[Unit] = field(default_factory=list)
    runs: int = 0
    parameters: dict[str, Cell] = field(default_factory=dict)
    plain: list[Cell] = field(default_factory=list)
    keywords: dict[str, Cell] = field(default_factory=dict)
    rest: Cell | None = None
    others: Cell | None = None
    returned: Cell = field(default_factory=Cell)
    yielded: Cell = field(default_factory=Cell)
    declared: Cell = field(default_factory=Cell)
    cells: dict[str, Cell] = field(default_factory=dict)
    written: dict[Cell, Values] = field(default_factory=dict)
    edges: dict[str, Any] = field(default_factory=dict)
    missed: list[Any] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Module:
    """One file; `names` holds its globals, `named` changes when a star import brings more.

    `is_aside`: tests and examples, which show how code is used but not what it calls.
    """

    name: str
    path: str
    is_package: bool
    is_aside: bool = False
    units: list[Unit] = field(default_factory=list)
    names: dict[str, Cell] = field(default_factory=dict)
    named: Cell = field(default_factory=Cell)
    exported: tuple[str, ...] | None = None
    classes: dict[int, Class] = field(default_factory=dict)

    def cell(self, name: str) -> Cell:
        """Return the cell of a global."""
        found = self.names.get(name)
        if found is None:
            found = self.names[name] = Cell()
        return found


def join(first: Values, second: Values) -> Values:
    """Return the union, the first one's order kept."""
    if not second or first is second:
        return first
    if not first:
        return second
    if len(second) == 1:
        return first if second[0] in first or len(first) >= _MOST else first + second
    if first == second:
        return first
    held = set(map(id, first))  # comparing values that differ goes deep, and most are the same objects
    added = tuple([value for value in second if id(value) not in held and value not in first])
    return (first + added)[:_MOST] if added else first


def union(many: Iterable[Values]) -> Values:
    """Return the union of all."""
    found: Values = ()
    for values in many:
        found = join(found, values)
    return found


def shallow(values: Values, depth: int) -> Values:
    """Drop containers nested deeper than `depth`, so that values stop growing."""
    if _fit(values, depth + 1):
        return values
    return tuple([value for value in values if _fit((value,), depth + 1)])


def storable(values: Values, known: dict[int, Value]) -> Values:
    """Return what a cell may keep, no constants and nothing too deep; `known` holds what was found fit."""
    kept = []
    for value in values:
        if value[0] in _PLAIN or id(value) in known:
            kept.append(value)
        elif value[0] not in _CONSTANTS and _fit((value,), _DEEPEST + 1):
            known[id(value)] = value
            kept.append(value)
    return values if len(kept) == len(values) else tuple(kept)


def _fit(values: Values, depth: int) -> bool:
    """Tell whether no container stands `depth` deep; a loop, as most calls find none at all."""
    for value in values:
        kind = value[0]
        if kind not in _CONTAINERS:
            continue
        if depth <= 1:
            return False
        if kind == "tup":
            inner = value[1]
        elif kind == "map":
            inner = [value[2], *[held for _, held in value[1]]]
        elif kind == "partial":
            inner = [value[1], *value[2], *[held for _, held in value[3]]]
        else:
            inner = (value[1],)
        for held in inner:
            if held and not _fit(held, depth - 1):
                return False
    return True


def sequence(values: Values) -> Values:
    """Return a list, set or iterator of what `values` holds."""
    return (("seq", values),)


def mapping(pairs: dict[Any, Values], others: Values) -> Values:
    """Return a dict; `pairs` are its constant keys, too many of which are a table of data."""
    return (("map", tuple(pairs.items()) if len(pairs) <= _MOST_KEYS else (), others),)


def items(values: Values) -> Values:
    """Return what iterating over containers gives; nothing for other values."""
    found: Values = ()
    for value in values:
        if value[0] == "seq":
            found = join(found, value[1])
        elif value[0] == "tup":
            found = join(found, union(value[1]))
    return found


def content(values: Values) -> Values:
    """Return all that containers hold: the values of a dict, the items of a list."""
    found = items(values)
    for value in values:
        if value[0] == "map":
            found = union([found, *(each for _, each in value[1]), value[2]])
    return found


def at(values: Values, key: object) -> Values:
    """Return what containers hold at a constant key or place (None: at some key)."""
    found: Values = ()
    for value in values:
        if value[0] == "seq":
            found = join(found, value[1])
        elif value[0] == "tup":
            places = value[1]
            fits = isinstance(key, int) and -len(places) <= key < len(places)
            found = join(found, places[key] if fits else union(places))
        elif value[0] == "map":
            pairs = dict(value[1])
            found = join(found, join(pairs[key], value[2]) if key in pairs else value[2])
            if key is None:
                found = union([found, *pairs.values()])
    return found
