"""Lower the expressions and types of TypeScript and JavaScript to terms."""

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.walker import (
    Walk,
    field_of,
    first_inside,
    listed,
    literal,
    of_type,
    part,
    plain_type,
    type_inside,
    type_params_of,
    types_of,
    wrapped,
    written_out,
)
from claude_mem_lite.codemap.languages.tree import Node, unwrapped

FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})


_AROUND = frozenset({
    "parenthesized_expression", "satisfies_expression", "non_null_expression", "parenthesized_type",
    "readonly_type", "type_annotation", "constraint", "default_type", "optional_type", "rest_type",
})  # fmt: skip


def type_parameters(walk: Walk, node: Node) -> list[tuple[str, Term]]:
    """Return the type parameters that a node declares, with their constraints or their defaults."""
    return type_params_of(walk, node, "constraint", "value")


def string_of(walk: Walk, node: Node | None) -> str:
    """Return the text of a string literal."""
    return walk.text(node)[1:-1] if node is not None and node.type == "string" else ""


def type_arguments_of(walk: Walk, parts: list[Node]) -> tuple[Term, ...]:
    """Return the type arguments of a call."""
    return next((types_of(walk, each) for each in parts[1:] if each.type == "type_arguments"), ())


def without_brackets(node: Node) -> Node:
    """Return the expression inside parentheses."""
    return unwrapped(node, _AROUND)


def _cast(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    if len(parts) != 2:  # `as const`
        return first_inside(walk, node)
    value, kind = (parts[1], parts[0]) if node.type == "type_assertion" else parts
    declared = walk.type(kind.named_children[0] if kind.type == "type_arguments" else kind)
    is_written_out = walk.scope(without_brackets(value)) is not None
    return walk.lower(value) if is_written_out or declared is None else ("typed", declared)


def _called(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    if not parts:
        return None
    if parts[0].type in {"import", "identifier"} and parts[-1].type == "arguments":
        module = string_of(walk, next(iter(parts[-1].named_children), None))
        if module and parts[0].type == "import":
            return ("new", ("name", "Promise"), (("type_of", ("import", module, "*")),))
        if module and walk.text(parts[0]) == "require":
            return ("import", module, "=")
    callee = walk.lower(parts[0])
    return ("call", callee, type_arguments_of(walk, parts)) if callee is not None else None


def _made(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    callee = walk.lower(parts[0]) if parts else None
    return ("new", callee, type_arguments_of(walk, parts)) if callee is not None else None


def _one_of(walk: Walk, node: Node) -> Term:
    names: tuple[str, ...] = ("consequence", "alternative")
    if node.type == "binary_expression":
        operator = field_of(node, "operator")
        if operator is None or operator.type not in {"||", "??", "&&"}:
            return of_type("number")
        names = ("right",) if operator.type == "&&" else ("left", "right")
    found = [walk.lower(field_of(node, name)) for name in names]
    known = tuple([each for each in found if each is not None])
    return ("one_of", known) if known else None


def _array(walk: Walk, node: Node) -> Term:
    found = tuple([each for each in map(walk.lower, node.named_children[:4]) if each is not None])
    return ("new", ("name", "Array"), (("type_of", ("one_of", found)),) if found else ())


EXPRESSIONS = {
    "identifier": lambda walk, node: ("name", walk.text(node)),
    "this": lambda _walk, _node: ("this",),
    "super": lambda _walk, _node: ("super",),
    "member_expression": lambda walk, node: (
        ("attribute", walk.lower(node.named_children[0]), walk.text(node.named_children[-1]))
        if node.named_child_count > 1
        else None
    ),
    "subscript_expression": wrapped("element", part("object")),
    "call_expression": _called,
    "new_expression": _made,
    "await_expression": wrapped("await", first_inside),
    "as_expression": _cast,
    "type_assertion": _cast,
    "ternary_expression": _one_of,
    "binary_expression": _one_of,
    "sequence_expression": lambda walk, node: walk.lower(next(reversed(node.named_children), None)),
    "assignment_expression": part("right"),
    "augmented_assignment_expression": part("right"),
    "instantiation_expression": first_inside,
    "array": _array,
    "string": literal("string"),
    "template_string": literal("string"),
    "number": literal("number"),
    "regex": literal("RegExp"),
    "true": literal("boolean"),
    "false": literal("boolean"),
    "unary_expression": literal("boolean"),
    **dict.fromkeys((*FUNCTIONS, "class", "object"), written_out("scope")),
    "parenthesized_expression": first_inside,
    "satisfies_expression": first_inside,
    "non_null_expression": first_inside,
}  # fmt: skip


def _parts(walk: Walk, name: Node) -> tuple[str, ...]:
    return tuple(walk.text(name).replace(" ", "").split("."))


def _generic(walk: Walk, node: Node) -> Term:
    name = field_of(node, "name")
    return ("ref", _parts(walk, name), types_of(walk, field_of(node, "type_arguments"))) if name else None


def _union(walk: Walk, node: Node) -> Term:
    found = tuple([each for each in map(walk.type, node.named_children) if each is not None])
    return ("union", found) if found else None


def _function_type(walk: Walk, node: Node) -> Term:
    types = []
    for each in listed(field_of(node, "parameters")):
        pattern = field_of(each, "pattern")
        if pattern is None or pattern.type != "this":
            types.append(walk.type(field_of(each, "type")))
    result = walk.type(field_of(node, "return_type") or field_of(node, "type"))
    return ("function", tuple(types), result, tuple(type_parameters(walk, node)))


def _lookup(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    base = walk.type(parts[0]) if len(parts) == 2 else None
    if base is None or parts[1].type != "literal_type":
        return None
    return ("member_type", base, walk.text(parts[1]).strip("\"'"))


TYPES = {
    **dict.fromkeys(
        ("type_identifier", "nested_type_identifier", "predefined_type"),
        lambda walk, node: ("ref", _parts(walk, node), ()),
    ),
    "generic_type": _generic,
    "array_type": lambda walk, node: ("ref", ("Array",), (type_inside(walk, node),)),
    "tuple_type": lambda walk, node: ("ref", ("Array",), (_union(walk, node),)),
    "union_type": _union,
    "intersection_type": _union,
    "function_type": _function_type,
    "object_type": written_out("shape"),
    "lookup_type": _lookup,
    "this_type": lambda _walk, _node: ("this_type",),
    "type_query": lambda walk, node: ("type_of", first_inside(walk, node)),
    **dict.fromkeys(("type_predicate_annotation", "type_predicate"), plain_type("boolean")),
    **dict.fromkeys(("literal_type", "template_literal_type"), plain_type("string")),
    **dict.fromkeys(
        ("type_annotation", "parenthesized_type", "readonly_type", "constraint", "default_type"), type_inside
    ),
}  # fmt: skip
