"""Call values: the project's functions and classes, external functions with known behaviour, containers."""

from collections.abc import Callable
from typing import NamedTuple

from claude_mem_lite.codemap.valueflow.attributes import load, load_any
from claude_mem_lite.codemap.valueflow.external import (
    BEHAVIOURS,
    CALLED_BACK,
    CALLS_AT_ONCE,
    CALLS_LATER,
    result_of,
)
from claude_mem_lite.codemap.valueflow.frame import Frame, Site
from claude_mem_lite.codemap.valueflow.invocation import (
    Arguments,
    awaited,
    call_special,
    construct,
    enter,
    iterate,
)
from claude_mem_lite.codemap.valueflow.value_sets import (
    at,
    content,
    instances_of,
    items,
    join,
    mapping,
    merged,
    pairs_of,
    sequence,
    union,
)
from claude_mem_lite.codemap.valueflow.values import (
    Awaitable,
    ClassObject,
    ContainerMethod,
    Descriptor,
    DictObject,
    External,
    Function,
    Instance,
    Key,
    Method,
    Partial,
    Property,
    TextStart,
    TupleObject,
    Value,
    Values,
)

_INSTEAD = {"str": "__repr__", "bool": "__len__"}
_GROW = frozenset({"append", "add", "appendleft", "insert", "extend", "update"})
_GET = frozenset({"get", "pop", "setdefault", "popleft", "__getitem__"})
_SAME_TEXT = frozenset({"lower", "upper", "strip", "format", "replace"})


def call_value(frame: Frame, callee: Value, arguments: Arguments, site: Site) -> Values:
    """Record the edges of calling one value, pass its arguments, and return its result."""
    if type(callee) is Function:
        return enter(frame, callee.unit, None, arguments, site)
    if type(callee) is Method:
        if callee.is_override:
            site = site._replace(level="override")
        return enter(frame, callee.unit, callee.receiver, arguments, site)
    if type(callee) is ClassObject:
        return construct(frame, callee, arguments, site)
    if type(callee) is Instance:
        site = site._replace(shape="instance()")
        methods = [each for each in load(frame, callee, "__call__", site.line) if isinstance(each, Method)]
        return union([call_value(frame, each, arguments, site) for each in methods])
    if type(callee) is Descriptor:
        return call_value(frame, callee.instance, arguments, site)
    if type(callee) is Partial:
        plain = [*((False, each) for each in callee.arguments), *arguments.plain]
        more = Arguments(plain, [*callee.keywords, *arguments.named])
        return union([call_value(frame, each, more, site) for each in callee.functions])
    if type(callee) is External:
        return call_external(frame, callee.name, arguments, site)
    return ()


def call_external(frame: Frame, name: str, arguments: Arguments, site: Site) -> Values:
    """Resolve a call of an external function or class by its dotted name."""
    call = ExternalCall(frame, name, arguments, site)
    if name in CALLED_BACK:
        call_back(call)
    behaviour = BEHAVIOURS.get(name)
    return result_of(name) if behaviour is None else _HANDLERS[behaviour](call)


class ExternalCall(NamedTuple):
    """A call of an external function with its arguments."""

    frame: Frame
    name: str
    arguments: Arguments
    site: Site

    def iterated(self, values: Values) -> Values:
        """Return the values that a loop over an argument gives."""
        return iterate(self.frame, values, self.site.line)

    def awaited(self, values: Values) -> Values:
        """Return the values that awaiting an argument gives."""
        return awaited(self.frame, values, self.site.line)

    def special(self, method: str, values: Values) -> Values:
        """Return the result of a special method of `values`, which are among those of the first argument."""
        return call_special(self.frame, values, method, self.site.line, among=self.arguments.first)


def call_back(call: ExternalCall) -> None:
    """Record the edges to a function that an external function is given to call."""
    place, keyword = CALLS_AT_ONCE.get(call.name) or CALLS_LATER[call.name]
    given = call.arguments.at(place, keyword)
    if call.name in CALLS_LATER:
        later = [value for value in call.arguments.at(9, "args") if isinstance(value, TupleObject)]
        spread = [(False, each) for value in later for each in value.places]
        arguments = Arguments([*call.arguments.plain[place + 1 :], *spread])
    else:
        has_source = call.name in {"filter", "functools.reduce"} and len(call.arguments.plain) > 1
        arguments = Arguments.of(items(call.arguments.second if has_source else call.arguments.first))
    for value in given:
        if isinstance(value, Function | Method | Partial | ClassObject):
            call_value(call.frame, value, arguments, call.site.as_callback())


def as_mapping(arguments: Arguments) -> Values:
    """Return the value of `dict(a=…)`."""
    return mapping({name: values for name, values in arguments.named if name}, ())


def _special(call: ExternalCall) -> Values:
    method = f"__{call.name}__"
    found = call.special(method, call.arguments.first)
    if instead := _INSTEAD.get(call.name):
        instances = [each for each in call.arguments.first if isinstance(each, Instance)]
        without = [each for each in instances if not call.frame.first_of(each.owner.mro, method)]
        call.special(instead, tuple(without))
    if call.name == "next":
        return union([found, items(call.arguments.first), call.arguments.at(1, "default")])
    if call.name == "iter" and found:
        return found
    return _iterated(call) if call.name in {"iter", "reversed"} else result_of(call.name)


def _iterated(call: ExternalCall) -> Values:
    if call.name == "itertools.chain":
        return sequence(union(map(call.iterated, call.arguments.values)))
    has_function = call.name == "filter" and len(call.arguments.plain) > 1
    return sequence(call.iterated(call.arguments.second if has_function else call.arguments.first))


def _mapped(call: ExternalCall) -> Values:
    arguments = Arguments.of(*map(call.iterated, call.arguments.values[1:]))
    called = [value for value in call.arguments.first if not isinstance(value, External)]
    site = call.site.as_callback()
    return sequence(union([call_value(call.frame, value, arguments, site) for value in called]))


def _chosen(call: ExternalCall) -> Values:
    if len(call.arguments.plain) == 1:
        return call.iterated(call.arguments.first)
    return union(call.arguments.values)


def _consumed(call: ExternalCall) -> Values:
    call.iterated(call.arguments.first)
    return ()


def _partial(call: ExternalCall) -> Values:
    keywords = tuple([(key, values) for key, values in call.arguments.named if key])
    arguments = tuple(call.arguments.values[1:])
    return (Partial(call.arguments.first, arguments, keywords),) if call.arguments.first else ()


def _getattr(call: ExternalCall) -> Values:
    keys = [value.value for value in call.arguments.second if isinstance(value, Key)]
    starts = tuple([value.text for value in call.arguments.second if isinstance(value, TextStart)])
    if starts:  # dispatch by name: any method with that prefix
        owners = [
            each for value in call.arguments.first if isinstance(value, Instance) for each in value.owner.mro
        ]
        call.frame.asked.update([each.attributes for each in owners])
        keys += sorted({name for each in owners for name in each.attributes if name.startswith(starts)})
    found = union([load_any(call.frame, call.arguments.first, key, call.site.line) for key in keys])  # type: ignore[arg-type]
    return join(found, call.arguments.at(2, "default"))


def _type(call: ExternalCall) -> Values:
    if len(call.arguments.plain) != 1:
        return result_of(call.name)
    return tuple(
        [
            ClassObject(each.owner, each.is_exact)
            for each in call.arguments.first
            if isinstance(each, Instance)
        ]
    )


def _property(call: ExternalCall) -> Values:
    setters = [value.unit for value in call.arguments.second if isinstance(value, Function)]
    setter = setters[0] if setters else None
    return tuple(
        [Property(value.unit, setter) for value in call.arguments.first if isinstance(value, Function)]
    )


def _defaultdict(call: ExternalCall) -> Values:
    factories = [value for value in call.arguments.first if isinstance(value, ClassObject | External)]
    made = union([call_value(call.frame, value, Arguments(), call.site) for value in factories])
    return mapping({}, tuple([value for value in made if not isinstance(value, External)]))


def _field(call: ExternalCall) -> Values:
    factory = call.arguments.at(9, "default_factory")
    return tuple([Instance(value.owner, True) for value in factory if isinstance(value, ClassObject)])


_HANDLERS: dict[str, Callable[[ExternalCall], Values]] = {
    "call_special": _special,
    "iterate": _iterated,
    "map": _mapped,
    "choose": _chosen,
    "consume": _consumed,
    "partial": _partial,
    "getattr": _getattr,
    "type": _type,
    "property": _property,
    "defaultdict": _defaultdict,
    "field": _field,
    "enumerate": lambda call: sequence(pairs_of(call.iterated(call.arguments.first))),
    "zip": lambda call: sequence((TupleObject(tuple(map(call.iterated, call.arguments.values))),)),
    "dict": lambda call: join(as_mapping(call.arguments), call.arguments.first),
    "give_argument": lambda call: call.arguments.first or (External(call.name),),
    "run": lambda call: call.awaited(call.arguments.first),
    "wait": lambda call: (Awaitable(call.awaited(call.arguments.first)),),
    "gather": lambda call: (Awaitable(sequence(union(map(call.awaited, call.arguments.values)))),),
    "cast": lambda call: instances_of(call.arguments.first) or call.arguments.second,
    "nothing": lambda _: (),
}


def call_container(
    frame: Frame, callee: ContainerMethod, arguments: Arguments, line: int
) -> tuple[Values, Values]:
    """Return a method's result, and the container with what was added to it, () if nothing was."""
    container, method = callee.container, callee.name
    if isinstance(container, TextStart):  # the same text in another form
        return ((container,) if method in _SAME_TEXT else ()), ()
    first, second = arguments.first, arguments.second
    is_dict = isinstance(container, DictObject)
    if method in _GROW:
        added: Values
        if is_dict:
            given = join(first, as_mapping(arguments))
            added = tuple([value for value in given if isinstance(value, DictObject)])
        else:
            given = second if method == "insert" else first
            given = iterate(frame, first, line) if method in {"extend", "update"} else given
            added = sequence(given) if given else ()
        return (), merged(container, added) if added else ()
    if method in _GET:
        keys = [value.value for value in first if isinstance(value, Key)]
        key = keys[0] if keys else None
        found = at((container,), key) if first or is_dict else content((container,))
        grown: Values = ()
        if method == "setdefault" and second:
            grown = merged(container, mapping({key: second} if keys else {}, () if keys else second))
        return join(found, second) if is_dict else found, grown
    return _other_method(frame, callee, arguments, line), ()


def _other_method(frame: Frame, callee: ContainerMethod, arguments: Arguments, line: int) -> Values:
    held: Values = (callee.container,)
    method = callee.name
    if method == "values":
        return sequence(content(held))
    if method == "items":
        return sequence(pairs_of(content(held)))
    if method == "popitem":
        return pairs_of(content(held))
    if method in {"copy", "union", "difference", "intersection"}:
        return held
    if method == "sort":
        arguments = Arguments(((False, held),), arguments.named)
        call_back(ExternalCall(frame, "list.sort", arguments, Site(line, "f()", "direct")))
    return ()
