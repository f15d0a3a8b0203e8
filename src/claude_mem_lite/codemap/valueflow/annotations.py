"""Read annotations: instances of the project's classes, and containers of them."""

from claude_mem_lite.codemap.valueflow.expression_terms import Either, Expr, Generic, last_name
from claude_mem_lite.codemap.valueflow.expressions import evaluate
from claude_mem_lite.codemap.valueflow.external import AWAITABLES, ITERABLES, MAPPINGS, TRANSPARENT, UNKNOWN
from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.value_sets import content, join, mapping, sequence, union
from claude_mem_lite.codemap.valueflow.values import (
    Awaitable,
    ClassObject,
    External,
    Instance,
    ListObject,
    TupleObject,
    Values,
)


def declared(frame: Frame, node: Expr) -> Values:
    """Return what an annotation says."""
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
    if name in TRANSPARENT:
        return union([declared(frame, each) for each in (inner[:1] if name == "Annotated" else inner)])
    if name in {"type", "Type"}:
        found = _argument(frame, node, 0)
        return tuple([ClassObject(each.owner, each.is_exact) for each in found if isinstance(each, Instance)])
    if name in {"tuple", "Tuple"}:
        parts = tuple([declared(frame, each) for each in inner])
        return sequence(parts[0]) if len(parts) == 2 and inner[1] is None else (TupleObject(parts),)
    if name in ITERABLES:
        return sequence(_argument(frame, node, 0))
    if name in MAPPINGS:
        return mapping({}, _argument(frame, node, -1))
    if name in AWAITABLES:
        return (Awaitable(_argument(frame, node, -1)),)
    return _instances(evaluate(frame, node.base))


def _argument(frame: Frame, node: Generic, place: int) -> Values:
    return declared(frame, node.arguments[place]) if node.arguments else ()


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
