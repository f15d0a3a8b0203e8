"""Lower Java's expressions and types to terms."""

from collections.abc import Callable

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.walker import (
    Walk,
    field_of,
    first_inside,
    listed,
    literal,
    part,
    plain_arguments,
    plain_type,
    typed,
    types_of,
    with_arguments,
    written_out,
)
from claude_mem_lite.codemap.languages.tree import Node, child_of

MAX_PARAMETERS = 8  # most parameters of a variadic method, and arguments of a call, that count


def parts_of(walk: Walk, node: Node) -> tuple[str, ...]:
    """Return the parts of a dotted name."""
    return tuple(["".join(each.split()) for each in walk.text(node).split(".")])


def callee_of(walk: Walk, node: Node) -> Term:
    """Return a called method by its receiver, its name, and the number of its arguments."""
    text, receiver = walk.named(node), field_of(node, "object")
    if text is None:
        return None
    key = f"{text}/{len(listed(field_of(node, 'arguments')))}"
    if receiver is None:
        owners = tuple([("attribute", owner, key) for owner in walk.scopes[0].statics.get(text, ())])
        return ("first", (("name", key, walk.here), *owners)) if owners else ("name", key, walk.here)
    if any(each.type == "super" for each in node.children) and receiver.type != "super":
        return ("attribute", ("typed", walk.type(receiver)), key)  # Interface.super.method()
    return ("attribute", walk.lower(receiver), key)


def _name(walk: Walk, node: Node) -> Term:
    """Return a name with the scope that has declared it so far, else the enclosing class."""
    name = walk.text(node)
    return ("name", name, walk.declaring(name, within="class"))


def _access(walk: Walk, node: Node) -> Term:
    receiver, name = field_of(node, "object"), field_of(node, "field")
    if receiver is None or name is None:
        return None
    if name.type == "this":  # Outer.this
        return ("typed", walk.type(receiver))
    found: Term = ("attribute", walk.lower(receiver), walk.text(name))
    inner = receiver
    while inner.type == "field_access" and (owner := field_of(inner, "object")) is not None:
        inner = owner
    if inner.type == "identifier":
        head = _name(walk, inner)
        if head and walk.scopes[head[2]].kind in {"module", "class"}:
            return ("first", (found, ("qualified", parts_of(walk, node))))
    return found


def _called(walk: Walk, node: Node) -> Term:
    callee = callee_of(walk, node)
    types = types_of(walk, child_of(node, "type_arguments"))
    arguments = [walk.lower(each) for each in listed(field_of(node, "arguments"))][:MAX_PARAMETERS]
    return ("call", callee, types, plain_arguments(arguments)) if callee is not None else None


def _one_of(walk: Walk, node: Node) -> Term:
    found = [walk.lower(field_of(node, name)) for name in ("consequence", "alternative")]
    return ("one_of", tuple([each for each in found if each is not None]))


EXPRESSIONS = {
    "identifier": _name,
    "field_access": _access,
    "method_invocation": _called,
    "object_creation_expression": typed,
    "array_creation_expression": lambda walk, node: (
        "typed", ("ref", ("[]",), (walk.type(field_of(node, "type")),))
    ),
    "array_access": lambda walk, node: ("element", walk.lower(field_of(node, "array"))),
    "cast_expression": typed,
    "ternary_expression": _one_of,
    "assignment_expression": part("right"),
    "parenthesized_expression": first_inside,
    "lambda_expression": written_out("scope"),
    "this": lambda _walk, _node: ("this",),
    "super": lambda _walk, _node: ("super",),
    "string_literal": literal("String"),
    **dict.fromkeys(
        ("binary_expression", "unary_expression", "update_expression", "instanceof_expression",
         "decimal_integer_literal", "hex_integer_literal", "decimal_floating_point_literal",
         "character_literal", "true", "false", "class_literal"),
        literal("int"),
    ),
}  # fmt: skip


def _reference(walk: Walk, node: Node) -> Term:
    """Return a type by the parts of its dotted name, without type arguments or annotations."""
    parts = [part.partition("<")[0].split() for part in walk.text(node).split(".")]
    return ("ref", tuple([part[-1] for part in parts if part]), ())


def _inner_type(walk: Walk, node: Node) -> Term:
    return walk.type(node.named_children[-1]) if node.named_child_count else None


def _wildcard(walk: Walk, node: Node) -> Term:
    """Return the type that a wildcard extends; None for `? super T`."""
    is_super = any(each.type == "super" for each in node.children)
    return None if is_super else _inner_type(walk, node)


def _array_type(walk: Walk, node: Node) -> Term:
    found = walk.type(field_of(node, "element"))
    dimensions = field_of(node, "dimensions")
    for _ in range(min(walk.text(dimensions).count("["), 5) if dimensions is not None else 1):
        found = ("ref", ("[]",), (found,))
    return found


TYPES: dict[str, Callable[[Walk, Node], Term]] = {
    **dict.fromkeys(("type_identifier", "identifier", "field_access", "scoped_type_identifier"), _reference),
    "generic_type": lambda walk, node: with_arguments(
        walk, next(iter(node.named_children), None), child_of(node, "type_arguments")
    ),
    "annotated_type": _inner_type,
    "wildcard": _wildcard,
    "array_type": _array_type,
    **dict.fromkeys(("integral_type", "floating_point_type", "boolean_type", "void_type"), plain_type("int")),
}
