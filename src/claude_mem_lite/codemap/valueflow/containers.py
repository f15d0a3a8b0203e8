"""Call methods of lists, tuples, dicts and texts."""

from claude_mem_lite.codemap.valueflow.calls import ExternalCall, as_mapping, call_back
from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.invocation import Arguments, iterate
from claude_mem_lite.codemap.valueflow.sites import Site
from claude_mem_lite.codemap.valueflow.value_sets import (
    at,
    content,
    join,
    mapping,
    merged,
    pairs_of,
    sequence,
)
from claude_mem_lite.codemap.valueflow.values import ContainerMethod, DictObject, Key, TextStart, Values

_GROW = frozenset({"append", "add", "appendleft", "insert", "extend", "update"})
_GET = frozenset({"get", "pop", "setdefault", "popleft", "__getitem__"})
_SAME_TEXT = frozenset({"lower", "upper", "strip", "format", "replace"})


def call_container(
    frame: Frame, callee: ContainerMethod, arguments: Arguments, line: int
) -> tuple[Values, Values]:
    """Return what a method gives, and the container with what was added to it, () for nothing."""
    container, method = callee.container, callee.name
    if isinstance(container, TextStart):  # of a text, in other letters
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
