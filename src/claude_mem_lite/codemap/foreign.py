"""Calls of what lies outside the project: builtins, containers' methods, and libraries that call back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.known import CALLS_AT_ONCE, CALLS_LATER
from claude_mem_lite.codemap.values import Value, Values, at, content, items, join, mapping, sequence, union

if TYPE_CHECKING:
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
_RUNS = frozenset(
    {"asyncio.run", "asyncio.wait_for", "asyncio.shield", "asyncio.create_task", "asyncio.ensure_future"}
)


def call(run: Calls, name: str, passed: Arguments, named: Keywords, site: Site) -> Values:
    """Resolve a call of a foreign function or class by its dotted name."""
    first = passed[0][1] if passed else ()
    if name in _SPECIAL:
        method = _SPECIAL[name]
        found = run.protocol(first, method, site.line)
        if name == "str" and not found:
            run.protocol(first, "__repr__", site.line)
        if name == "bool" and not found:
            run.protocol(first, "__len__", site.line)
        if name == "next":
            return union([found, items(first), run.keyword(passed, named, 1, "default")])
        if name == "iter" and found:
            return found
    call_back(run, name, passed, named, site)
    if name in _LISTS:
        source = passed[1][1] if name == "filter" and len(passed) > 1 else first
        sources = [values for _, values in passed] if name == "itertools.chain" else [source]
        return sequence(union([run.iterate(values, site.line) for values in sources]))
    if name == "map":
        return sequence(_mapped(run, passed, site))
    if name in {"min", "max"}:
        return union(
            [run.iterate(first, site.line)] if len(passed) == 1 else [values for _, values in passed]
        )
    if name in {"any", "all", "sum"}:
        run.iterate(first, site.line)
        return ()
    return _made(run, name, passed, named, site)


def _made(run: Calls, name: str, passed: Arguments, named: Keywords, site: Site) -> Values:
    first = passed[0][1] if passed else ()
    second = passed[1][1] if len(passed) > 1 else ()
    if name in {"functools.partial", "functools.partialmethod"}:
        kept = tuple([(key, values) for key, values in named if key])
        return (("partial", first, tuple([values for _, values in passed[1:]]), kept),) if first else ()
    if name == "getattr":
        keys = [value[1] for value in second if value[0] == "key"]
        starts = tuple([value[1] for value in second if value[0] == "start"])
        if starts:  # dispatch by name: any method that starts so
            keys += sorted(
                {
                    name
                    for value in first
                    if value[0] == "inst"
                    for each in value[1].mro
                    for name in each.attributes
                    if name.startswith(starts)
                }
            )
        found = union([run.load(value, key, site.line) for key in keys for value in first])
        return join(found, run.keyword(passed, named, 2, "default"))
    if name == "setattr":
        return ()
    if name == "type" and len(passed) == 1:
        return tuple([("cls", value[1], value[2]) for value in first if value[0] == "inst"])
    if name == "property":
        setter = [value[1] for value in second if value[0] == "fn"]
        return tuple(
            [("prop", value[1], setter[0] if setter else None) for value in first if value[0] == "fn"]
        )
    if name == "enumerate":
        return sequence((("tup", ((), run.iterate(first, site.line))),))
    if name in {"zip", "itertools.product"}:
        return sequence((("tup", tuple([run.iterate(values, site.line) for _, values in passed])),))
    if name in {"dict", "collections.OrderedDict"}:
        return join(run.as_mapping(named), first)
    if name == "collections.defaultdict":
        made = union([run.call_value(value, [], [], site) for value in first if value[0] in {"cls", "ext"}])
        return mapping({}, tuple([value for value in made if value[0] != "ext"]))
    if name in _SAME:
        return first or (("ext", name),)
    if name in _RUNS:
        return (
            (("coro", run.awaited(first, site.line)),)
            if name != "asyncio.run"
            else run.awaited(first, site.line)
        )
    if name == "asyncio.gather":
        return (("coro", sequence(union([run.awaited(values, site.line) for _, values in passed]))),)
    if name in {"typing.cast", "cast"}:
        return tuple([("inst", value[1], False) for value in first if value[0] == "cls"]) or second
    if name in {"dataclasses.field", "field"}:
        factory = run.keyword(passed, named, 9, "default_factory")
        return tuple([("inst", value[1], True) for value in factory if value[0] == "cls"])
    return (("ext", name),)


def call_back(run: Calls, name: str, passed: Arguments, named: Keywords, site: Site) -> None:
    """Note the edges to a function that a foreign one is given to call."""
    if name == "map" or (name not in CALLS_AT_ONCE and name not in CALLS_LATER):
        return
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


def _mapped(run: Calls, passed: Arguments, site: Site) -> Values:
    if not passed:
        return ()
    arguments: Arguments = [(False, run.iterate(values, site.line)) for _, values in passed[1:]]
    back = site._replace(shape="callback", level="callback", resolution="")
    return union([run.call_value(value, arguments, [], back) for value in passed[0][1] if value[0] != "ext"])


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
