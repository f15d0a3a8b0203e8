"""Calls of what lies outside the project: builtins, containers' methods, and libraries that call back."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from claude_mem_lite.codemap.known import CALLS_AT_ONCE, CALLS_LATER, CONTEXT_MANAGERS, RECORDS
from claude_mem_lite.codemap.values import Value, Values, at, content, items, join, mapping, sequence, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_mem_lite.codemap.calls import Arguments, Calls, Keywords, Site
    from claude_mem_lite.codemap.lowering import Expr

_SPECIAL = {
    "len": "__len__", "str": "__str__", "repr": "__repr__", "bool": "__bool__", "hash": "__hash__",
    "int": "__int__", "float": "__float__", "abs": "__abs__", "bytes": "__bytes__",
    "format": "__format__", "next": "__next__", "iter": "__iter__", "reversed": "__reversed__",
    "round": "__round__", "dir": "__dir__",
}  # fmt: skip
_LISTS = frozenset({
    "list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter", "collections.deque",
    "itertools.chain", "itertools.cycle", "itertools.islice", "itertools.takewhile",
    "itertools.dropwhile",
})  # fmt: skip
_SAME = frozenset({
    "copy.copy", "copy.deepcopy", "dataclasses.replace", "weakref.proxy", "functools.lru_cache",
    "functools.cache", "functools.singledispatch", "types.MethodType", "types.coroutine",
    "contextlib.closing", "contextlib.asynccontextmanager", "contextlib.contextmanager", "staticmethod",
    "classmethod",
})  # fmt: skip
_INSTEAD = {"str": "__repr__", "bool": "__len__"}
_BASES = ("Enum", "Flag", "NamedTuple", ".Protocol", ".ABC", ".Generic", ".Exception", ".Any", ".object")
THING: Values = (("ext", "?."),)  # something foreign that no table names; FOREIGN may not even be there


def call(run: Calls, name: str, passed: Arguments, named: Keywords, site: Site) -> Values:
    """Resolve a call of a foreign function or class by its dotted name."""
    if name in _CALLED_BACK:
        call_back(run, name, passed, named, site)
    known = _KNOWN.get(name)
    return result_of(name) if known is None else known(run, name, passed, named, site)


@functools.cache
def result_of(name: str) -> Values:
    """Return what a foreign function gives; it keeps the name where some table has one that goes on."""
    return (("ext", name),) if name in _BEGINNINGS or name in RECORDS or name.endswith(_BASES) else THING


@functools.cache
def attribute_of(name: str, attr: str) -> Values:
    """Return an attribute of something foreign; what no table names is all one, so that sets stay small."""
    full = f"{name}.{attr}"
    is_named = full in _BEGINNINGS or full in _NAMED or full.endswith(_BASES)
    return (("ext", full),) if is_named else THING


def _first(passed: Arguments) -> Values:
    return passed[0][1] if passed else ()


def _second(passed: Arguments) -> Values:
    return passed[1][1] if len(passed) > 1 else ()


def _special(run: Calls, name: str, passed: Arguments, named: Keywords, site: Site) -> Values:
    first = _first(passed)
    found = run.protocol(first, _SPECIAL[name], site.line)
    if not found and name in _INSTEAD:
        run.protocol(first, _INSTEAD[name], site.line)
    if name == "next":
        return union([found, items(first), run.keyword(passed, named, 1, "default")])
    if name == "iter" and found:
        return found
    return _iterated(run, name, passed, named, site) if name in _LISTS else result_of(name)


def _iterated(run: Calls, name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    source = passed[1][1] if name == "filter" and len(passed) > 1 else _first(passed)
    sources = [values for _, values in passed] if name == "itertools.chain" else [source]
    return sequence(union([run.iterate(values, site.line) for values in sources]))


def _mapped(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    if not passed:
        return sequence(())
    arguments: Arguments = [(False, run.iterate(values, site.line)) for _, values in passed[1:]]
    back = site._replace(shape="callback", level="callback", resolution="")
    called = [value for value in passed[0][1] if value[0] != "ext"]
    return sequence(union([run.call_value(value, arguments, [], back) for value in called]))


def _one_of(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    if len(passed) == 1:
        return run.iterate(passed[0][1], site.line)
    return union([values for _, values in passed])


def _counted(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    run.iterate(_first(passed), site.line)
    return ()


def _partial(_run: Calls, _name: str, passed: Arguments, named: Keywords, _: Site) -> Values:
    kept = tuple([(key, values) for key, values in named if key])
    first = _first(passed)
    return (("partial", first, tuple([values for _, values in passed[1:]]), kept),) if first else ()


def _getattr(run: Calls, _name: str, passed: Arguments, named: Keywords, site: Site) -> Values:
    first, second = _first(passed), _second(passed)
    keys = [value[1] for value in second if value[0] == "key"]
    starts = tuple([value[1] for value in second if value[0] == "start"])
    if starts:  # dispatch by name: any method that starts so
        owners = [each for value in first if value[0] == "inst" for each in value[1].mro]
        keys += sorted({name for each in owners for name in each.attributes if name.startswith(starts)})
    found = union([run.load_any(first, key, site.line) for key in keys])
    return join(found, run.keyword(passed, named, 2, "default"))


def _type(_run: Calls, name: str, passed: Arguments, _named: Keywords, _: Site) -> Values:
    if len(passed) != 1:
        return result_of(name)
    return tuple([("cls", value[1], value[2]) for value in passed[0][1] if value[0] == "inst"])


def _property(_run: Calls, _name: str, passed: Arguments, _named: Keywords, _: Site) -> Values:
    setters = [value[1] for value in _second(passed) if value[0] == "fn"]
    setter = setters[0] if setters else None
    return tuple([("prop", value[1], setter) for value in _first(passed) if value[0] == "fn"])


def _enumerated(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    return sequence((("tup", ((), run.iterate(_first(passed), site.line))),))


def _zipped(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    return sequence((("tup", tuple([run.iterate(values, site.line) for _, values in passed])),))


def _dict(run: Calls, _name: str, passed: Arguments, named: Keywords, _: Site) -> Values:
    return join(run.as_mapping(named), _first(passed))


def _defaultdict(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    factories = [value for value in _first(passed) if value[0] in {"cls", "ext"}]
    made = union([run.call_value(value, [], [], site) for value in factories])
    return mapping({}, tuple([value for value in made if value[0] != "ext"]))


def _same(_run: Calls, name: str, passed: Arguments, _named: Keywords, _: Site) -> Values:
    return _first(passed) or (("ext", name),)


def _ran(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    return run.awaited(_first(passed), site.line)


def _awaitable(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    return (("coro", run.awaited(_first(passed), site.line)),)


def _gathered(run: Calls, _name: str, passed: Arguments, _: Keywords, site: Site) -> Values:
    return (("coro", sequence(union([run.awaited(values, site.line) for _, values in passed]))),)


def _cast(_run: Calls, _name: str, passed: Arguments, _named: Keywords, _: Site) -> Values:
    kinds = tuple([("inst", value[1], False) for value in _first(passed) if value[0] == "cls"])
    return kinds or _second(passed)


def _field(run: Calls, _name: str, passed: Arguments, named: Keywords, _: Site) -> Values:
    factory = run.keyword(passed, named, 9, "default_factory")
    return tuple([("inst", value[1], True) for value in factory if value[0] == "cls"])


def _nothing(_run: Calls, _name: str, _passed: Arguments, _named: Keywords, _: Site) -> Values:
    return ()


def call_back(run: Calls, name: str, passed: Arguments, named: Keywords, site: Site) -> None:
    """Note the edges to a function that a foreign one is given to call."""
    place, keyword = CALLS_AT_ONCE.get(name) or CALLS_LATER[name]
    given = run.keyword(passed, named, place, keyword)
    if name in CALLS_LATER:
        arguments: Arguments = passed[place + 1 :]
        for value in run.keyword(passed, named, 9, "args"):
            arguments += [(False, each) for each in value[1]] if value[0] == "tup" else []
    else:
        source = (
            passed[1][1]
            if name in {"filter", "functools.reduce"} and len(passed) > 1
            else passed[0][1]
            if passed
            else ()
        )
        arguments = [(False, items(source))]
    for value in given:
        if value[0] in {"fn", "bound", "partial", "cls"}:
            run.call_value(
                value, arguments, [], site._replace(shape="callback", level="callback", resolution="")
            )


def container_method(run: Calls, callee: Value, func: Expr, passed: Arguments, named: Keywords) -> Values:
    """Resolve a method of a list, tuple or dict; one that adds to it changes the variable that holds it."""
    _, container, method = callee
    holder = func[1] if func is not None and func[0] == "a" else None  # else the method has a name of its own
    if container[0] == "start":  # of a text, in other letters
        return (container,) if method in {"lower", "upper", "strip", "format", "replace"} else ()
    first = passed[0][1] if passed else ()
    second = passed[1][1] if len(passed) > 1 else ()
    is_map = container[0] == "map"
    if method in {"append", "add", "appendleft", "insert", "extend", "update"}:
        if is_map:
            added = join(first, run.as_mapping(named))
            grown = tuple([value for value in added if value[0] == "map"])
        else:
            what = (
                second
                if method == "insert"
                else run.iterate(first, 0)
                if method in {"extend", "update"}
                else first
            )
            grown = sequence(what) if what else ()
        if grown and holder is not None:
            run.assign_more(holder, merged(container, grown))
        return ()
    if method in {"get", "pop", "setdefault", "popleft", "__getitem__"}:
        keys = [value[1] for value in first if value[0] == "key"]
        found = at((container,), keys[0] if keys else None) if first or is_map else content((container,))
        if method == "setdefault" and holder is not None and second:
            pairs = {keys[0]: second} if keys else {}
            run.assign_more(holder, merged(container, mapping(pairs, () if keys else second)))
        return join(found, second) if is_map else found
    if method == "values":
        return sequence(content((container,)))
    if method == "items":
        return sequence((("tup", ((), content((container,)))),))
    if method in {"copy", "union", "difference", "intersection"}:
        return (container,)
    if method == "sort":
        call_back(
            run,
            "list.sort",
            [(False, (container,))],
            named,
            run.site(None, (), (), weak=run.weak, line=func[3] if holder is not None else 0),
        )
    if method == "popitem":
        return (("tup", ((), content((container,)))),)
    return ()


def merged(container: Value, more: Values) -> Values:
    """Return a container with what was added to it."""
    found: Values = (container,)
    for value in more:
        if container[0] == "map" and value[0] == "map":
            pairs = dict(container[1])
            for key, values in value[1]:
                pairs[key] = join(pairs.get(key, ()), values)
            found = mapping(pairs, join(container[2], value[2]))
        else:
            found = sequence(join(items((container,)), items((value,))))
        container = found[0]
    return found


_KNOWN: dict[str, Callable[[Calls, str, Arguments, Keywords, Site], Values]] = {
    **dict.fromkeys(_LISTS, _iterated), **dict.fromkeys(_SPECIAL, _special), **dict.fromkeys(_SAME, _same),
    "map": _mapped, "min": _one_of, "max": _one_of, "any": _counted, "all": _counted, "sum": _counted,
    "functools.partial": _partial, "functools.partialmethod": _partial, "getattr": _getattr,
    "setattr": _nothing, "type": _type, "property": _property, "enumerate": _enumerated, "zip": _zipped,
    "itertools.product": _zipped, "dict": _dict, "collections.OrderedDict": _dict,
    "collections.defaultdict": _defaultdict, "asyncio.run": _ran, "asyncio.wait_for": _awaitable,
    "asyncio.shield": _awaitable, "asyncio.create_task": _awaitable, "asyncio.ensure_future": _awaitable,
    "asyncio.gather": _gathered, "typing.cast": _cast, "cast": _cast, "dataclasses.field": _field,
    "field": _field,
}  # fmt: skip
_CALLED_BACK = (CALLS_AT_ONCE.keys() | CALLS_LATER.keys()) - {"map"}
KNOWN = _KNOWN.keys() | _CALLED_BACK
_NAMED = KNOWN | CONTEXT_MANAGERS | RECORDS
_BEGINNINGS = {name[:place] for name in _NAMED for place, char in enumerate(name) if char == "."}
