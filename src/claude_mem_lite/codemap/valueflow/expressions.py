"""Evaluate expressions to values, bind assignment targets, and narrow names by tests."""

import functools
from collections.abc import Callable
from typing import Any

from claude_mem_lite.codemap.valueflow import expression_terms as terms
from claude_mem_lite.codemap.valueflow.attributes import load_any, name_value
from claude_mem_lite.codemap.valueflow.bindings import (
    assign_name,
    assign_outer,
    narrow_name,
    store_attribute,
    unpacked,
)
from claude_mem_lite.codemap.valueflow.calls import call_container, call_external, call_value
from claude_mem_lite.codemap.valueflow.expression_terms import Expr, is_name
from claude_mem_lite.codemap.valueflow.external import BUILTIN_VALUES, HANDLED, UNKNOWN, result_of
from claude_mem_lite.codemap.valueflow.frame import Frame, Site, miss, site_of
from claude_mem_lite.codemap.valueflow.invocation import (
    Arguments,
    awaited,
    call_special,
    iterate,
    operate,
    test_truth,
)
from claude_mem_lite.codemap.valueflow.value_sets import (
    at,
    flat,
    items,
    join,
    key_of,
    mapping,
    merged,
    sequence,
    union,
)
from claude_mem_lite.codemap.valueflow.values import (
    ClassObject,
    ContainerMethod,
    DictObject,
    External,
    Function,
    Instance,
    Key,
    ListObject,
    Super,
    TupleObject,
    Unit,
    Values,
)

# Expressions whose methods are not resolved.
_OPAQUE = frozenset({terms.Constant, terms.Builtin, terms.Operator})


def evaluate(frame: Frame, node: Expr) -> Values:
    """Return the values that an expression may have."""
    if node is None:
        return ()
    if type(node) is terms.Name:
        name = node.name
        found = frame.names.get(name)
        if not found:
            return name_value(frame, name)
        if name in frame.passed:
            frame.is_weak = True
        return found
    if type(node) is terms.Attribute:
        return load_any(frame, evaluate(frame, node.base), node.attr, node.line)
    if type(node) is terms.Constant:
        return _key(node.value)
    return _HANDLERS[type(node)](frame, node)


@functools.cache
def _key(value: str | int) -> Values:
    return (Key(value),)


def _call(frame: Frame, node: terms.Call) -> Values:
    function, line = node.function, node.line
    outside, frame.is_weak = frame.is_weak, False
    base: Values = ()
    if function is None:
        callees = UNKNOWN
    elif type(function) is terms.Attribute:
        base = evaluate(frame, function.base)
        is_opaque = function.base is None or type(function.base) in _OPAQUE
        callees = UNKNOWN if is_opaque else load_any(frame, base, function.attr, line)
    elif is_name(function, "super") and "super" not in frame.names:
        frame.is_weak = outside
        return _super(frame, [evaluate(frame, each) for each in node.arguments])
    else:
        callees = evaluate(frame, function)
    is_weak, frame.is_weak = frame.is_weak, outside
    plain = [
        (True, items(evaluate(frame, each.value)))
        if type(each) is terms.Starred
        else (False, evaluate(frame, each))
        for each in node.arguments
    ]
    named = [(name, evaluate(frame, each)) for name, each in node.keywords] if node.keywords else []
    if not callees:
        miss(frame, function, line)
        return ()
    if len(callees) == 1 and type(callees[0]) is External:  # most calls leave the project
        name = callees[0].name
        if name not in HANDLED:
            if name[:1] == "?" and type(function) is terms.Attribute:
                miss(frame, function, line, is_outside=True)
            return result_of(name)
        return call_external(frame, name, Arguments(plain, named), Site(line, "f()", "direct"))
    passed = Arguments(plain, named)
    site = site_of(frame, function, base, line).of(callees, is_weak=is_weak)
    found: Values = ()
    for callee in callees:
        if type(callee) is ContainerMethod:
            given = _container_call(frame, callee, function, passed, line)
        else:
            given = call_value(frame, callee, passed, site)
        found = join(found, given)
    return found


def _container_call(
    frame: Frame, callee: ContainerMethod, function: Expr, arguments: Arguments, line: int
) -> Values:
    """Resolve a method of a container; one that adds to it changes the variable that holds it."""
    # Any other callee is a method that was bound to a name.
    holder = function.base if isinstance(function, terms.Attribute) else None
    found, grown = call_container(frame, callee, arguments, line)
    if grown and isinstance(holder, terms.Name) and holder.name not in frame.names and frame.outer is None:
        assign_outer(frame, holder.name, grown)
    elif grown:
        assign(frame, holder, grown)
    return found


def _super(frame: Frame, arguments: list[Values]) -> Values:
    """Return the value of `super()` in the method that this scope is or is inside of."""
    unit: Unit | None = frame.unit
    while unit is not None and unit.owner is None:
        unit = unit.parent
    if unit is None or unit.owner is None:
        return UNKNOWN
    start = unit.owner
    if len(arguments) == 2 and arguments[0] and isinstance(arguments[0][0], ClassObject):
        start = arguments[0][0].owner
    is_class = unit.binding == "class" or unit.is_new
    return (Super(start, ClassObject(unit.owner) if is_class else Instance(unit.owner)),)


def _subscript(frame: Frame, node: terms.Subscript) -> Values:
    values = evaluate(frame, node.base)
    keys = evaluate(frame, node.key)
    found = at(values, key_of(keys))
    if isinstance(node.key, terms.Several):  # a slice
        found = tuple([value for value in values if isinstance(value, ListObject | TupleObject)])
    for value in values:
        if type(value) is Instance:
            given = call_special(frame, (value,), "__getitem__", node.line, keys, among=values)
            found = join(found, given)
        elif type(value) is ClassObject:
            found = join(found, (value,))  # Generic[T]
            for method in frame.functions_of(value.owner.mro, "__class_getitem__"):
                frame.note_protocol(method, node.line)
        elif isinstance(value, External):
            found = join(found, (value,))
    return found


def _listing(frame: Frame, node: terms.Listing | terms.Tuple) -> Values:
    return sequence(union([evaluate(frame, each) for each in node.elements]))


def _tuple(frame: Frame, node: terms.Tuple) -> Values:
    if any(isinstance(each, terms.Starred) for each in node.elements):
        return _listing(frame, node)
    return (TupleObject(tuple([evaluate(frame, each) for each in node.elements])),)


def _dictionary(frame: Frame, node: terms.Dictionary) -> Values:
    pairs: dict[object, Values] = {}
    others: Values = ()
    for key, value in zip(node.keys, node.values, strict=True):
        values = evaluate(frame, value)
        if isinstance(key, terms.Starred):
            for each in values:
                if isinstance(each, DictObject):
                    pairs.update(each.pairs)
                    others = join(others, each.others)
            continue
        constant = key_of(evaluate(frame, key))
        if constant is not None:
            pairs[constant] = values
        else:
            others = join(others, values)
    return mapping(pairs, others)


def _comprehension(frame: Frame, node: terms.Comprehension) -> Values:
    outside = dict(frame.names)
    for loop in node.loops:
        source = evaluate(frame, loop.source)
        assign(frame, loop.target, iterate(frame, source, loop.line, is_async=loop.is_async))
        for test in loop.tests:
            evaluate(frame, test)
            narrow(frame, test, is_true=True)
    values = [evaluate(frame, each) for each in node.elements]
    frame.names = outside
    return mapping({}, values[1]) if node.is_dict else sequence(values[0])


def _lambda(frame: Frame, node: terms.Lambda) -> Values:
    unit = frame.unit.module.units[node.scope]
    bind_defaults(frame, unit)
    return (Function(unit),)


def _either(frame: Frame, node: terms.Either) -> Values:
    found: Values = ()
    outside = frame.names
    for index, each in enumerate(node.operands):
        if index == 1:
            frame.names = dict(outside)
        values = evaluate(frame, each)
        if node.is_and:
            narrow(frame, each, is_true=True)
        found = join(found, values)
    frame.names = outside
    return found


def _choice(frame: Frame, node: terms.Choice) -> Values:
    test_truth(frame, evaluate(frame, node.test), node.line)
    outside = frame.names
    found: Values = ()
    for is_true, branch in ((True, node.body), (False, node.orelse)):
        frame.names = dict(outside)
        narrow(frame, node.test, is_true=is_true)
        found = join(found, evaluate(frame, branch))
    frame.names = outside
    return found


def _several(frame: Frame, node: terms.Several) -> Values:
    for each in node.parts:
        evaluate(frame, each)
    return ()


def _yield(frame: Frame, node: terms.Yield) -> Values:
    frame.write(frame.unit.yielded, evaluate(frame, node.value))
    return ()


def _yield_from(frame: Frame, node: terms.YieldFrom) -> Values:
    values = evaluate(frame, node.value)
    frame.write(frame.unit.yielded, iterate(frame, values, node.line))
    return awaited(frame, values, node.line)


def _walrus(frame: Frame, node: terms.Walrus) -> Values:
    values = evaluate(frame, node.value)
    assign(frame, node.target, values)
    return values


def bind_defaults(frame: Frame, unit: Unit) -> None:
    """Bind the defaults of a function's parameters."""
    for parameter in unit.scope.parameters:
        if parameter.default is not None:
            values = evaluate(frame, parameter.default)
            if values:
                frame.write(unit.parameters[parameter.name], values)


def assign(frame: Frame, target: Expr, values: Values) -> None:
    """Bind a name, an attribute, an item or the places of a tuple."""
    if type(target) is terms.Name:
        assign_name(frame, target.name, values)
    elif type(target) is terms.Attribute:
        is_weak = frame.is_weak
        holders = evaluate(frame, target.base)
        frame.is_weak = is_weak  # evidence for the holder is not evidence for the value
        store_attribute(frame, holders, target, values)
    elif type(target) is terms.Subscript:
        _assign_item(frame, target, values)
    elif type(target) is terms.Tuple:
        count = len(target.elements)
        for place, inner in enumerate(target.elements):
            is_rest = isinstance(inner, terms.Starred)
            assign(frame, inner, unpacked(values, place, count, is_rest=is_rest))
    elif type(target) is terms.Starred:
        is_list = bool(values) and isinstance(values[0], ListObject)
        assign(frame, target.value, values if is_list else sequence(items(values)))


def _assign_item(frame: Frame, target: terms.Subscript, values: Values) -> None:
    holders = evaluate(frame, target.base)
    keys = evaluate(frame, target.key)
    call_special(frame, holders, "__setitem__", target.line, keys, values)
    if not values:
        return
    key = key_of(keys)
    for holder in holders:
        if isinstance(holder, DictObject):
            if key is not None and isinstance(target.base, terms.Name):  # replaces an earlier value
                grown = mapping({**dict(holder.pairs), key: values}, holder.others)
            else:
                more = mapping({}, values) if key is None else mapping({key: values}, ())
                grown = merged(holder, more)
            assign(frame, target.base, grown)
        elif isinstance(holder, ListObject):
            assign(frame, target.base, merged(holder, sequence(values)))


def narrow(frame: Frame, test: Expr, *, is_true: bool) -> None:
    """Narrow names by `isinstance`, also where it is negated or joined by `and`."""
    if type(test) is terms.Call:
        if is_name(test.function, "isinstance") and len(test.arguments) == 2:
            subject, kinds = test.arguments
            if isinstance(subject, terms.Name):
                narrow_name(frame, subject.name, flat(evaluate(frame, kinds)), is_true=is_true)
    elif type(test) is terms.Operator:
        if test.name == "bool":
            narrow(frame, test.left, is_true=not is_true)
    elif type(test) is terms.Either and test.is_and == is_true:
        for each in test.operands:
            narrow(frame, each, is_true=is_true)


_HANDLERS: dict[type, Callable[[Frame, Any], Values]] = {
    terms.Call: _call, terms.Subscript: _subscript, terms.Listing: _listing, terms.Tuple: _tuple,
    terms.Dictionary: _dictionary, terms.Comprehension: _comprehension, terms.Lambda: _lambda,
    terms.Either: _either, terms.Choice: _choice, terms.Several: _several,
    terms.Yield: _yield, terms.YieldFrom: _yield_from, terms.Walrus: _walrus,
    terms.Operator: lambda frame, node: operate(
        frame, node.name, evaluate(frame, node.left), evaluate(frame, node.right), node.line
    ),
    terms.Builtin: lambda _, node: BUILTIN_VALUES[node.type_name],
    terms.Starred: lambda frame, node: items(evaluate(frame, node.value)),
    terms.Await: lambda frame, node: awaited(frame, evaluate(frame, node.value), node.line),
}  # fmt: skip
