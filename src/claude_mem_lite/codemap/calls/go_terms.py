"""Lower Go's expressions and types to terms."""

from collections.abc import Callable, Iterator

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.walker import (
    Walk,
    field_of,
    first_inside,
    listed,
    of_type,
    part,
    plain_arguments,
    typed,
    types_of,
    with_arguments,
    written_out,
)
from claude_mem_lite.codemap.languages.tree import Node, unwrapped

_MAX_ARGUMENTS = 8  # evaluated per call


_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "&&", "||"})


def parameters_of(walk: Walk, node: Node | None) -> Iterator[tuple[str, Term]]:
    """Yield parameters with their types, "" for one without a name."""
    if node is None or node.type != "parameter_list":
        return
    for each in node.named_children:
        if each.type not in {"parameter_declaration", "variadic_parameter_declaration"}:
            continue
        declared = walk.type(field_of(each, "type"))
        if each.type == "variadic_parameter_declaration":
            declared = ("ref", ("[]",), (declared,))
        names = [walk.text(name) for name in each.children_by_field_name("name")]
        yield from ((name, declared) for name in names or ("",))


def result_of(walk: Walk, node: Node | None) -> Term:
    """Return the type of a function's result; several results are a container indexed by place."""
    if node is None:
        return ("ref", ("()",), ())
    if node.type != "parameter_list":
        return walk.type(node)
    types = tuple([declared for _, declared in parameters_of(walk, node)])
    return types[0] if len(types) == 1 else ("ref", ("()",), types)


def callee_of(walk: Walk, function: Node) -> Term:
    """Return the callee of a call; `f[int]` may be f or an element of f."""
    term = walk.lower(function)
    if function.type == "index_expression" and term:
        return ("one_of", (term[1], term))
    return term


def function_of(call: Node) -> Node | None:
    """Return the called expression without parentheses."""
    function = field_of(call, "function")
    return unwrapped(function, {"parenthesized_expression"}) if function is not None else None


def _name(walk: Walk, node: Node) -> Term:
    """Return a name with the scope that has declared it so far."""
    name = walk.text(node)
    return ("name", name, walk.declaring(name))


def _selector(walk: Walk, node: Node) -> Term:
    base, name = walk.lower(field_of(node, "operand")), walk.named(node, "field")
    return ("attribute", base, name) if name is not None else None


def _called(walk: Walk, node: Node) -> Term:
    function = function_of(node)
    arguments = arguments_of(walk, node)
    if function is None:
        return None
    callee = callee_of(walk, function)
    if callee in {("name", "new", 0), ("name", "make", 0)}:
        found = listed(field_of(node, "arguments"))
        return ("typed", walk.type(found[0])) if found else None
    if callee == ("name", "append", 0):
        return arguments[0] if arguments else None
    types = types_of(walk, field_of(node, "type_arguments"))
    return ("call", callee, types, plain_arguments(arguments)) if callee is not None else None


def arguments_of(walk: Walk, node: Node) -> list[Term]:
    """Return the arguments of a call, lowered before later declarations reuse their names."""
    return [walk.lower(each) for each in listed(field_of(node, "arguments"))][:_MAX_ARGUMENTS]


def _index(walk: Walk, node: Node) -> Term:
    walk.lower(field_of(node, "index"))
    base = walk.lower(field_of(node, "operand"))
    return ("element", base) if base is not None else None


def _unary(walk: Walk, node: Node) -> Term:
    operator, inner = field_of(node, "operator"), walk.lower(field_of(node, "operand"))
    if operator is not None and operator.type == "<-":
        return ("element", inner)
    return of_type("bool") if operator is not None and operator.type == "!" else inner


def _binary(walk: Walk, node: Node) -> Term:
    operator = field_of(node, "operator")
    sides = tuple([walk.lower(field_of(node, name)) for name in ("left", "right")])
    if operator is None or operator.type in _COMPARISONS:
        return of_type("bool")
    return ("union", sides)


EXPRESSIONS = {
    "identifier": _name,
    "selector_expression": _selector,
    "call_expression": _called,
    "index_expression": _index,
    "slice_expression": part("operand"),
    "unary_expression": _unary,
    "binary_expression": _binary,
    "parenthesized_expression": first_inside,
    "func_literal": written_out("scope"),
    **dict.fromkeys(
        ("composite_literal", "type_conversion_expression", "type_assertion_expression"), typed
    ),
    **dict.fromkeys(
        ("interpreted_string_literal", "raw_string_literal", "rune_literal", "int_literal", "float_literal",
         "imaginary_literal", "true", "false", "iota"),
        lambda _walk, node: of_type(node.type),
    ),
}  # fmt: skip


def _inner_type(walk: Walk, node: Node) -> Term:
    return walk.type(node.named_children[0]) if node.named_child_count == 1 else None


def _container(name: str, *fields: str) -> Callable[[Walk, Node], Term]:
    def lowered(walk: Walk, node: Node) -> Term:
        return ("ref", (name,), tuple([walk.type(field_of(node, each)) for each in fields]))

    return lowered


def _function_type(walk: Walk, node: Node) -> Term:
    parameters = tuple([declared for _, declared in parameters_of(walk, field_of(node, "parameters"))])
    return ("function", parameters, result_of(walk, field_of(node, "result")), ())


TYPES = {
    **dict.fromkeys(
        ("type_identifier", "qualified_type", "identifier", "selector_expression"),
        lambda walk, node: ("ref", tuple([each.strip() for each in walk.text(node).split(".")]), ()),
    ),
    "generic_type": lambda walk, node: with_arguments(
        walk, field_of(node, "type"), field_of(node, "type_arguments")
    ),
    **dict.fromkeys(("pointer_type", "parenthesized_type", "type_elem", "type_constraint"), _inner_type),
    **dict.fromkeys(("slice_type", "array_type", "implicit_length_array_type"), _container("[]", "element")),
    "map_type": _container("map", "key", "value"),
    "channel_type": _container("chan", "value"),
    "function_type": _function_type,
    **dict.fromkeys(("struct_type", "interface_type"), written_out("shape")),
}
