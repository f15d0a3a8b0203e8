"""Lower Rust's expressions and types to terms.

Adds these terms to those of `facts`:

    ("local", x, index, place)     the place-th binding of a name in a function, by its scope
    ("path", names)                a path, e.g. of a function in a module
    ("assoc", type, x)             an associated item of a type that is not a plain path
    ("field", term, x)  ("index", term)  ("try", term)
    ("part", term, names, x)       a field of what a pattern matches, with its struct's or variant's path
    ("call", term, types, terms)   a call with its first arguments
    ("tuple", terms)  ("list", terms)  ("future", term)
"""

from collections.abc import Callable, Iterable

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.walker import (
    Walk,
    field_of,
    listed,
    literal,
    method_shape,
    of_type,
    part,
    plain_type,
    typed,
    wrapped,
    written_out,
)
from claude_mem_lite.codemap.languages.tree import Node, child_of

Lowering = Callable[[Walk, Node], Term]

_MAX_ARGUMENTS = 3  # kept in the term of a call


_MAX_SEARCHED = 200  # bindings of one name that are searched for one use


def _variable(walk: Walk, node: Node) -> Term:
    """Return the term of an identifier: the innermost variable visible there, else a name of the module."""
    name = walk.text(node)
    spans = walk.seen.get(name, ())
    first, last = 0, len(spans)
    while first < last:
        middle = (first + last) // 2
        if spans[middle][0] <= node.start_byte:
            first = middle + 1
        else:
            last = middle
    for at in range(first - 1, max(-1, first - 1 - _MAX_SEARCHED), -1):
        _, end, owner, place = spans[at]
        if node.start_byte < end:
            return ("local", name, owner, place)
    return ("name", name)


def parameters_of(node: Node) -> list[Node]:
    """Return a function's or closure's parameters, without `self`."""
    left_out = {"self_parameter", "attribute_item", "variadic_parameter"}
    return [each for each in listed(field_of(node, "parameters")) if each.type not in left_out]


def union_of(found: Iterable[Term]) -> Term:
    """Return the union of the known types; None if there are none."""
    known = tuple([each for each in found if each is not None])
    return known[0] if len(known) == 1 else ("union", known) if known else None


def item_name(walk: Walk, node: Node, field: str = "name") -> str | None:
    """Return the name in a field of a node without a raw identifier's `r#`; None where it has none."""
    name = walk.named(node, field)
    return name.removeprefix("r#") if name is not None else None


def names_of(walk: Walk, node: Node | None) -> tuple[str, ...]:
    """Return the names of a path without its generic arguments; () for anything but a path."""
    found: list[str] = []
    while node is not None:
        if node.type in {"generic_type", "generic_type_with_turbofish", "generic_function"}:
            node = field_of(node, "type") or field_of(node, "function")
        elif node.type in {"scoped_identifier", "scoped_type_identifier"}:
            found.append(item_name(walk, node) or "")
            path = field_of(node, "path")
            if path is None and walk.text(node).startswith("::"):
                found.append("::")
            node = path
        elif node.type in {
            "identifier", "type_identifier", "self", "super", "crate", "primitive_type", "metavariable",
        }:  # fmt: skip
            found.append(walk.text(node).removeprefix("r#"))  # the mark of a raw identifier
            node = None
        else:
            return ()
    return tuple(reversed(found))


def shape_of(walk: Walk, function: Node) -> str:
    """Return the form of a call, e.g. "obj.m()"."""
    if function.type == "field_expression":
        return method_shape(field_of(function, "value"))
    if function.type == "scoped_identifier":
        return "this.m()" if walk.text(function).startswith("Self::") else "a::f()"
    return "f()"


def without_turbofish(walk: Walk, function: Node) -> tuple[Node, tuple[Term, ...]]:
    """Return a function without its type arguments, and those arguments."""
    if function.type == "generic_function":
        return field_of(function, "function") or function, _types(walk, field_of(function, "type_arguments"))
    return function, ()


def callee_of(walk: Walk, function: Node | None) -> Term:
    """Return the callee of a call: `x.f()` is a method, `(x.f)()` a field."""
    if function is None:
        return None
    bare, _ = without_turbofish(walk, function)
    if bare.type == "field_expression":
        key, base = item_name(walk, bare, "field"), walk.lower(field_of(bare, "value"))
        return ("attribute", base, key) if key is not None else None
    return walk.lower(bare)


def _inner(walk: Walk, node: Node) -> Term:
    return walk.lower(field_of(node, "value") or next(iter(listed(node)), None))


def _path(walk: Walk, node: Node) -> Term:
    names, path = names_of(walk, node), field_of(node, "path")
    if path is not None and path.type in {"generic_type", "bracketed_type", "generic_type_with_turbofish"}:
        name, owner = walk.named(node), walk.type(path)
        return ("assoc", owner, name) if owner is not None and name is not None else None
    return ("path", names) if names else None


def _called(walk: Walk, node: Node) -> Term:
    function = field_of(node, "function")
    callee = callee_of(walk, function)
    if function is None or callee is None:
        return None
    _, types = without_turbofish(walk, function)
    given = listed(field_of(node, "arguments"))[:_MAX_ARGUMENTS]
    return ("call", callee, types, tuple(map(walk.lower, given)))


def _field(walk: Walk, node: Node) -> Term:
    key, base = item_name(walk, node, "field"), walk.lower(field_of(node, "value"))
    return ("field", base, key) if key is not None and base is not None else None


def _tail(walk: Walk, node: Node) -> Term:
    """Return the value of a block: its last expression, where no semicolon follows."""
    parts = listed(node)
    if not parts:
        return None
    last = parts[-1]
    if last.type == "expression_statement":
        inner = last.named_children[0] if last.named_child_count else None
        has_end = walk.text(last).endswith(";")
        return walk.lower(inner) if inner is not None and not has_end else None
    return walk.lower(last)


def _either(walk: Walk, node: Node) -> Term:
    other = field_of(node, "alternative")
    inner = next(iter(other.named_children), None) if other is not None else None
    return _one_of((walk.lower(field_of(node, "consequence")), walk.lower(inner)))


def _arms(walk: Walk, node: Node) -> Term:
    arms = [each for each in listed(field_of(node, "body")) if each.type == "match_arm"]
    return _one_of(walk.lower(field_of(each, "value")) for each in arms[:8])


def _one_of(terms: Iterable[Term]) -> Term:
    found = tuple(dict.fromkeys([each for each in terms if each is not None]))
    return found[0] if len(found) == 1 else ("one_of", found) if found else None


def _operation(_walk: Walk, node: Node) -> Term:
    operator = field_of(node, "operator")
    is_test = operator is not None and operator.type in {"==", "!=", "<", ">", "<=", ">=", "&&", "||"}
    return of_type("bool") if is_test else None


def _several(kind: str) -> Lowering:
    return lambda walk, node: (kind, tuple(map(walk.lower, listed(node)[:8])))


def _index(walk: Walk, node: Node) -> Term:
    parts = listed(node)
    base = walk.lower(parts[0]) if len(parts) == 2 else None
    if base is None or parts[1].type == "range_expression":
        return base
    return ("index", base)


def _macro(walk: Walk, node: Node) -> Term:
    text = (walk.named(node, "macro") or "").rpartition(":")[2]
    if text in {"format", "concat", "stringify"}:
        return of_type("String")
    tokens = child_of(node, "token_tree")
    root = walk.embedded.get(tokens.start_byte) if tokens is not None else None
    if text != "vec" or root is None or not root.named_child_count:
        return None
    inner = root.named_children[0]
    if inner.type == "expression_statement" and inner.named_child_count:
        inner = inner.named_children[0]
    found = walk.lower(inner) if inner.type == "array_expression" else None
    return ("vec", found[1]) if found is not None else of_type("Vec")


EXPRESSIONS: dict[str, Lowering] = {
    "identifier": _variable,
    "self": lambda _walk, _node: ("this",),
    "scoped_identifier": _path,
    "generic_function": part("function"),
    "call_expression": _called,
    "field_expression": _field,
    "index_expression": _index,
    "try_expression": wrapped("try", _inner),
    "await_expression": wrapped("await", _inner),
    "async_block": lambda walk, node: ("future", walk.lower(child_of(node, "block"))),
    "unsafe_block": lambda walk, node: walk.lower(child_of(node, "block")),
    "block": _tail,
    "if_expression": _either,
    "match_expression": _arms,
    "struct_expression": lambda walk, node: ("typed", walk.type(field_of(node, "name"))),
    "type_cast_expression": typed,
    "binary_expression": _operation,
    "tuple_expression": _several("tuple"),
    "array_expression": _several("list"),
    "closure_expression": written_out("scope"),
    "macro_invocation": _macro,
    "string_literal": literal("str"),
    "raw_string_literal": literal("str"),
    "boolean_literal": literal("bool"),
    "char_literal": literal("char"),
    "unit_expression": literal("()"),
    **dict.fromkeys(("parenthesized_expression", "reference_expression", "unary_expression"), _inner),
}


def _types(walk: Walk, node: Node | None) -> tuple[Term, ...]:
    """Return type arguments, including those of associated types (`Iterator<Item = T>`)."""
    return tuple([
        walk.type(field_of(each, "type") if each.type == "type_binding" else each)
        for each in listed(node)
        if each.type != "lifetime"
    ])  # fmt: skip


def _reference(walk: Walk, node: Node) -> Term:
    names = names_of(walk, node)
    if names == ("Self",):
        return ("this_type",)
    if not names:  # `<T as Trait>::Item`
        name, owner = walk.named(node), walk.type(field_of(node, "path"))
        return ("member_type", owner, name) if owner is not None and name is not None else None
    return ("ref", names, ())


def _generic(walk: Walk, node: Node) -> Term:
    names = names_of(walk, field_of(node, "type"))
    return ("ref", names, _types(walk, field_of(node, "type_arguments"))) if names else None


def _first_type(walk: Walk, node: Node) -> Term:
    inner = field_of(node, "type") or field_of(node, "trait") or next(iter(listed(node)), None)
    return walk.type(inner)


def _function_type(walk: Walk, node: Node) -> Term:
    parameters = tuple([
        walk.type(field_of(each, "type") if each.type == "parameter" else each)
        for each in parameters_of(node)
    ])  # fmt: skip
    return ("function", parameters, walk.type(field_of(node, "return_type")), ())


TYPES: dict[str, Lowering] = {
    **dict.fromkeys(
        ("type_identifier", "identifier", "self", "scoped_type_identifier", "scoped_identifier",
         "primitive_type"),
        _reference,
    ),
    **dict.fromkeys(("generic_type", "generic_type_with_turbofish"), _generic),
    **dict.fromkeys(
        ("reference_type", "dynamic_type", "abstract_type", "bracketed_type", "qualified_type",
         "higher_ranked_trait_bound", "parenthesized_type"),
        _first_type,
    ),
    **dict.fromkeys(
        ("bounded_type", "trait_bounds"), lambda walk, node: union_of(map(walk.type, node.named_children))
    ),
    "tuple_type": lambda walk, node: ("ref", ("(,)",), _types(walk, node)),
    "array_type": lambda walk, node: ("ref", ("[]",), (walk.type(field_of(node, "element")),)),
    "unit_type": plain_type("()"),
    "function_type": _function_type,
}  # fmt: skip
