"""Evaluate a scope statement by statement, tracking the values of names over branches and loops.

Annotations are evaluated, too: to instances of the project's classes, and containers of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.codemap.valueflow.definitions import (
    define_class,
    define_function,
    import_modules,
    import_names,
)
from claude_mem_lite.codemap.valueflow.expression_terms import (
    Attribute,
    Either,
    Expr,
    Generic,
    Name,
    last_name,
)
from claude_mem_lite.codemap.valueflow.expressions import assign, evaluate, narrow
from claude_mem_lite.codemap.valueflow.external import AWAITABLES, ITERABLES, MAPPINGS, TRANSPARENT, UNKNOWN
from claude_mem_lite.codemap.valueflow.frame import Frame, site_of
from claude_mem_lite.codemap.valueflow.invocation import (
    Arguments,
    awaited,
    call_special,
    construct,
    iterate,
    test_truth,
)
from claude_mem_lite.codemap.valueflow.terms import Block, Parameter
from claude_mem_lite.codemap.valueflow.value_sets import (
    content,
    flat,
    instances_of,
    join,
    mapping,
    merged,
    sequence,
    union,
)
from claude_mem_lite.codemap.valueflow.values import (
    Awaitable,
    ClassObject,
    DictObject,
    External,
    Instance,
    ListObject,
    Manager,
    TupleObject,
    Values,
)

Alternative = tuple[Callable[[], object] | None, Block]  # what to do before a block, and the block


def evaluate_scope(frame: Frame) -> None:
    """Evaluate a frame's scope; the results are in its `writes`, `edges` and `missed`."""
    unit = frame.unit
    for parameter in unit.scope.parameters:
        frame.names[parameter.name] = _parameter(frame, parameter)
    if unit.scope.returns is not None:
        found = declared(frame, unit.scope.returns)
        frame.is_weak = False
        frame.write(unit.declared, found)
    if unit.inner and unit.scope.kind == "function":
        for name, values in frame.names.items():
            frame.is_weak = name in frame.passed
            frame.write(unit.cells[name], values)
    frame.is_weak = False
    run_block(frame, unit.scope.body)
    if unit.scope.kind == "module":
        frame.is_weak = False
        for name, values in frame.names.items():
            frame.write(unit.module.names[name], values)


def _parameter(frame: Frame, parameter: Parameter) -> Values:
    """Return the values of a parameter: what it declares, else what it was given."""
    unit = frame.unit
    if unit.owner is not None and parameter.name == frame.self_name:
        is_class = unit.binding == "class" or unit.is_new
        return (ClassObject(unit.owner) if is_class else Instance(unit.owner),)
    frame.is_weak = False
    found = declared(frame, parameter.annotation)
    if not _is_known(found):
        given = frame.read(unit.parameters[parameter.name])
        if given:
            frame.passed.add(parameter.name)
        found = given or found
    if parameter.kind == "*":
        return sequence(found)
    return mapping({}, found) if parameter.kind == "**" else found


def _is_known(values: Values) -> bool:
    """Tell whether any of an annotation's values is of the project."""
    return not all(isinstance(value, External) for value in values)


def run_block(frame: Frame, block: Block) -> bool:
    """Run statements; return whether control never reaches their end."""
    for statement in block:
        frame.is_weak = False
        if _HANDLERS[type(statement)](frame, statement):
            return True
    return False


def _run_branches(frame: Frame, alternatives: list[Alternative]) -> bool:
    """Run alternatives, each after its preparation, and join their names; return as `run_block`."""
    before = frame.names
    left: list[dict[str, Values]] = []
    for prepare, block in alternatives:
        frame.names = dict(before)
        if prepare is not None:
            prepare()
        if not run_block(frame, block):
            left.append(frame.names)
    if not left:
        frame.names = before
        return True
    first, *others = left
    for other in others:
        for name, values in other.items():
            old = first.get(name)
            if old is not values:
                first[name] = values if old is None else join(old, values)
    frame.names = first
    return False


def _run_loop(frame: Frame, loop: terms.For | terms.While, before: dict[str, Values]) -> None:
    """Run the blocks of a loop; since the body may not run, names keep their earlier values, too."""
    run_block(frame, loop.body)
    for name, values in before.items():
        frame.names[name] = join(values, frame.names.get(name, ()))
    run_block(frame, loop.orelse)


# Each handler returns whether control ends at its statement.


def _evaluate(frame: Frame, statement: terms.Evaluate) -> None:
    evaluate(frame, statement.value)


def _assign(frame: Frame, statement: terms.Assign) -> None:
    values = evaluate(frame, statement.value)
    for target in statement.targets:
        assign(frame, target, values)


def _annotated_assign(frame: Frame, statement: terms.AnnotatedAssign) -> None:
    target, value = statement.target, statement.value
    values = evaluate(frame, value)
    is_weak, frame.is_weak = frame.is_weak, False
    said = declared(frame, statement.annotation)
    is_known = _is_known(said)
    frame.is_weak = is_weak and not is_known
    if frame.unit.scope.kind == "class" and isinstance(target, Name):
        owner = frame.unit.module.classes.get(frame.unit.index)
        if owner is not None:
            frame.write(owner.fields[target.name], said)
        if value is not None:
            frame.names[target.name] = values or said
    elif value is None and isinstance(target, Name):
        assign(frame, target, said)
    elif values and not is_known:
        assign(frame, target, values)
    else:
        is_attribute = isinstance(target, Attribute)
        assign(frame, target, join(values, said) if is_attribute else said or values)


def _augmented_assign(frame: Frame, statement: terms.AugmentedAssign) -> None:
    name, line = statement.operator, statement.line
    left, right = evaluate(frame, statement.load), evaluate(frame, statement.value)
    found = call_special(frame, left, f"__i{name}__", line, right)
    if not found:
        found = call_special(frame, left, f"__{name}__", line, right)
    grown = left
    for each in left:
        if isinstance(each, ListObject | DictObject) and right:
            grown = merged(each, right)
    if found or grown:
        assign(frame, statement.target, found or grown)


def _return(frame: Frame, statement: terms.Return) -> bool:
    values = evaluate(frame, statement.value)
    if values:
        frame.write(frame.unit.returned, values)
    return True


def _raise(frame: Frame, statement: terms.Raise) -> bool:
    raised = evaluate(frame, statement.value)
    evaluate(frame, statement.cause)
    for value in raised:
        if isinstance(value, ClassObject):
            site = site_of(frame, statement.value, (), statement.line).of((value,), is_weak=frame.is_weak)
            construct(frame, value, Arguments(), site)
    return True


def _assert(frame: Frame, statement: terms.Assert) -> None:
    evaluate(frame, statement.test)
    evaluate(frame, statement.message)
    narrow(frame, statement.test, is_true=True)


def _if(frame: Frame, statement: terms.If) -> bool:
    test = statement.test
    test_truth(frame, evaluate(frame, test), statement.line)
    frame.is_weak = False
    branches = ((True, statement.body), (False, statement.orelse))
    return _run_branches(
        frame, [(partial(narrow, frame, test, is_true=is_true), block) for is_true, block in branches]
    )


def _for(frame: Frame, statement: terms.For) -> None:
    source = evaluate(frame, statement.source)
    values = iterate(frame, source, statement.line, is_async=statement.is_async)
    before = dict(frame.names)
    assign(frame, statement.target, values)
    _run_loop(frame, statement, before)


def _while(frame: Frame, statement: terms.While) -> None:
    test_truth(frame, evaluate(frame, statement.test), statement.line)
    before = dict(frame.names)
    narrow(frame, statement.test, is_true=True)
    _run_loop(frame, statement, before)


def _try(frame: Frame, statement: terms.Try) -> bool:
    before = dict(frame.names)
    has_ended = run_block(frame, statement.body)
    after_body = frame.names
    frame.names = before
    for name, values in after_body.items():
        frame.names[name] = join(frame.names.get(name, ()), values)

    def catch(handler: terms.Handler) -> None:
        caught = instances_of(flat(evaluate(frame, handler.type)))
        if handler.name:
            frame.names[handler.name] = caught or UNKNOWN

    def go_on() -> None:
        frame.names = dict(after_body)

    alternatives: list[Alternative] = [] if has_ended else [(go_on, statement.orelse)]
    alternatives += [(partial(catch, each), each.body) for each in statement.handlers]
    has_ended = _run_branches(frame, alternatives) if alternatives else has_ended
    return run_block(frame, statement.final) or has_ended


def _with(frame: Frame, statement: terms.With) -> bool:
    line, is_async = statement.line, statement.is_async
    enter, leave = ("__aenter__", "__aexit__") if is_async else ("__enter__", "__exit__")
    for source, target in statement.items:
        values = evaluate(frame, source)
        found: Values = ()
        for value in values:
            if isinstance(value, Manager):
                found = join(found, value.entered)
            elif isinstance(value, External):  # most return themselves
                found = join(found, (value,))
            elif isinstance(value, Instance):
                given = call_special(frame, (value,), enter, line, among=values)
                found = join(found, awaited(frame, given, line) if is_async else given)
                call_special(frame, (value,), leave, line, among=values)
                if not given and value.owner.may_have_more:
                    found = join(found, (value,))
        assign(frame, target, found)
    return run_block(frame, statement.body)


def _delete(frame: Frame, statement: terms.Delete) -> None:
    for source, line in statement.items:
        call_special(frame, evaluate(frame, source), "__delitem__", line)


def _match(frame: Frame, statement: terms.Match) -> None:
    subject = statement.subject
    evaluate(frame, subject)

    def bind(case: terms.Case) -> None:
        for kind, name in case.classes:
            found = instances_of(evaluate(frame, kind))
            if name:
                frame.names[name] = found
            if found and len(case.classes) == 1 and isinstance(subject, Name):
                frame.names[subject.name] = found
        evaluate(frame, case.guard)

    cases: list[Alternative] = [(partial(bind, each), each.body) for each in statement.cases]
    _run_branches(frame, [(None, ()), *cases])


_HANDLERS: dict[type, Callable[[Frame, Any], bool | None]] = {
    terms.Evaluate: _evaluate, terms.Assign: _assign, terms.AnnotatedAssign: _annotated_assign,
    terms.AugmentedAssign: _augmented_assign, terms.Return: _return, terms.Raise: _raise,
    terms.Leave: lambda *_: True, terms.Assert: _assert, terms.If: _if, terms.For: _for, terms.While: _while,
    terms.Try: _try, terms.With: _with, terms.FunctionDefinition: define_function,
    terms.ClassDefinition: partial(define_class, run_block), terms.Import: import_modules,
    terms.ImportFrom: import_names, terms.Delete: _delete, terms.Match: _match,
}  # fmt: skip


def declared(frame: Frame, node: Expr) -> Values:
    """Return the values that an annotation declares."""
    if node is None:
        return ()
    if type(node) is Either:
        return union([declared(frame, each) for each in node.operands])
    if type(node) is Generic:
        return _declared_generic(frame, node)
    name = last_name(node)
    if name == "Self":
        owner = frame.unit.owner
        return (Instance(owner),) if owner else ()
    return _instances(evaluate(frame, node)) if name else ()


def _declared_generic(frame: Frame, node: Generic) -> Values:
    name, inner = last_name(node.base), node.arguments
    first, last = (inner[0], inner[-1]) if inner else (None, None)
    if name in TRANSPARENT:
        return union([declared(frame, each) for each in (inner[:1] if name == "Annotated" else inner)])
    if name in {"type", "Type"}:
        found = declared(frame, first)
        return tuple([ClassObject(each.owner, each.is_exact) for each in found if isinstance(each, Instance)])
    if name in {"tuple", "Tuple"}:
        parts = tuple([declared(frame, each) for each in inner])
        return sequence(parts[0]) if len(parts) == 2 and inner[1] is None else (TupleObject(parts),)
    if name in ITERABLES:
        return sequence(declared(frame, first))
    if name in MAPPINGS:
        return mapping({}, declared(frame, last))
    if name in AWAITABLES:
        return (Awaitable(declared(frame, last)),)
    return _instances(evaluate(frame, node.base))


def _instances(values: Values) -> Values:
    found: Values = ()
    for value in values:
        if type(value) is ClassObject:
            found = join(found, (Instance(value.owner),))
        elif type(value) is External:
            found = join(found, UNKNOWN)
        elif isinstance(value, TupleObject | ListObject):
            found = join(found, _instances(content((value,))))
    return found
