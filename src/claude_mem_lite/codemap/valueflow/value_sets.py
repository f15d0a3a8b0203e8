"""Combine sets of values, and read and grow the containers among them."""

from collections.abc import Iterable

from claude_mem_lite.codemap.valueflow.values import (
    Awaitable,
    Class,
    ClassObject,
    Container,
    DictObject,
    External,
    Instance,
    Key,
    ListObject,
    Manager,
    Partial,
    TextStart,
    TupleObject,
    Value,
    Values,
)

_MOST = 24  # with more candidates, a set tells nothing
_MOST_KEYS = 200
_DEEPEST = 3  # lists of lists of lists
_CONTAINERS = frozenset({ListObject, TupleObject, DictObject, Partial, Awaitable, Manager})
_LIMITED = _CONTAINERS | {Key, TextStart}  # kinds that a cell may not hold, or not always


def join(first: Values, second: Values) -> Values:
    """Return the union of two sets, at most `_MOST` values, in the order of the first."""
    if not second or first is second:
        return first
    if not first:
        return second
    if len(second) == 1:
        return first if len(first) >= _MOST or second[0] in first else first + second
    if len(first) == _MOST or first == second:
        return first
    held = set(map(id, first))  # comparing different values goes deep, and most are the same objects
    added = tuple([value for value in second if id(value) not in held and value not in first])
    return (first + added)[:_MOST] if added else first


def union(many: Iterable[Values]) -> Values:
    """Return the union of several sets."""
    found: Values = ()
    for values in many:
        found = join(found, values)
    return found


def classes_in(values: Values) -> list[Class]:
    """Return the classes of the project among values."""
    return [value.owner for value in values if isinstance(value, ClassObject)]


def instances_of(values: Values) -> Values:
    """Return instances of the classes among values."""
    return tuple([Instance(owner) for owner in classes_in(values)])


def key_of(values: Values) -> object:
    """Return the constant that is the only value, None for anything else."""
    return values[0].value if len(values) == 1 and isinstance(values[0], Key) else None


def shallow(values: Values, depth: int) -> Values:
    """Drop containers nested deeper than `depth`, so that values stop growing."""
    if _fit(values, depth + 1):
        return values
    return tuple([value for value in values if _fit((value,), depth + 1)])


def storable(values: Values, fit: dict[int, Value]) -> Values:
    """Return what a cell may hold: no constants, nothing too deep; `fit` caches containers that may stay."""
    for value in values:
        if type(value) in _LIMITED and id(value) not in fit:
            break
    else:
        return values
    found = []
    for value in values:
        kind = type(value)
        if kind in _CONTAINERS and id(value) not in fit and _fit((value,), _DEEPEST + 1):
            fit[id(value)] = value
        if kind not in _LIMITED or id(value) in fit:
            found.append(value)
    return values if len(found) == len(values) else tuple(found)


def _fit(values: Values, depth: int) -> bool:
    """Tell whether no container is nested `depth` deep; a loop, as most calls find no container at all."""
    for value in values:
        if type(value) not in _CONTAINERS:
            continue
        if depth <= 1:
            return False
        for held in _held(value):
            if held and not _fit(held, depth - 1):
                return False
    return True


def _held(value: Value) -> Iterable[Values]:
    """Return the sets of values in a container."""
    if type(value) is TupleObject:
        return value.places
    if type(value) is DictObject:
        return [value.others, *[held for _, held in value.pairs]]
    if type(value) is Partial:
        return [value.functions, *value.arguments, *[held for _, held in value.keywords]]
    return (value[0],)  # type: ignore[return-value]


def is_telling(value: Value) -> bool:
    """Tell whether a value holds anything but external values, so that a call may lead to it."""
    if type(value) in _CONTAINERS:
        return any(is_telling(each) for values in _held(value) for each in values)
    return type(value) is not External


def sequence(values: Values) -> Values:
    """Return a list, set or iterator of `values`."""
    return (ListObject(values),)


def mapping(pairs: dict[object, Values], others: Values) -> Values:
    """Return a dict; its constant keys, `pairs`, are dropped if they are so many as in a table of data."""
    return (DictObject(tuple(pairs.items()) if len(pairs) <= _MOST_KEYS else (), others),)


def pairs_of(values: Values) -> Values:
    """Return tuples of an unknown first part and of `values`, as `items()` and `enumerate` give."""
    return (TupleObject(((), values)),)


def items(values: Values) -> Values:
    """Return the values that iterating over lists and tuples gives; nothing for other values."""
    found: Values = ()
    for value in values:
        if isinstance(value, ListObject):
            found = join(found, value.items)
        elif isinstance(value, TupleObject):
            found = join(found, union(value.places))
    return found


def flat(values: Values) -> Values:
    """Return values with tuples replaced by their items: `isinstance` and `except` take either."""
    return union([items((value,)) if isinstance(value, TupleObject) else (value,) for value in values])


def content(values: Values) -> Values:
    """Return all that containers hold: the values of a dict, the items of a list."""
    found = items(values)
    for value in values:
        if isinstance(value, DictObject):
            found = union([found, *(each for _, each in value.pairs), value.others])
    return found


def at(values: Values, key: object) -> Values:
    """Return what containers hold at a constant key or place (None: at any key)."""
    found: Values = ()
    for value in values:
        if isinstance(value, ListObject):
            found = join(found, value.items)
        elif isinstance(value, TupleObject):
            places = value.places
            fits = isinstance(key, int) and -len(places) <= key < len(places)
            found = join(found, places[key] if fits else union(places))  # type: ignore[call-overload]
        elif isinstance(value, DictObject):
            pairs = dict(value.pairs)
            found = join(found, join(pairs[key], value.others) if key in pairs else value.others)
            if key is None:
                found = union([found, *pairs.values()])
    return found


def merged(container: Container, more: Values) -> Values:
    """Return a container with what was added to it."""
    found: Values = (container,)
    for value in more:
        if isinstance(found[0], DictObject) and isinstance(value, DictObject):
            pairs = dict(found[0].pairs)
            for key, values in value.pairs:
                pairs[key] = join(pairs.get(key, ()), values)
            found = mapping(pairs, join(found[0].others, value.others))
        else:
            found = sequence(join(items(found), items((value,))))
    return found
