"""Read the facts of a Go file.

A type is a class whose base is what it is written as: a struct's or an interface's shape, or another type.
Its methods are exported by the file that declares them, as "Type.Method". A variable is seen from its
declaration to the end of its block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claude_mem_lite.codemap.calls.walker import Table, Walk, bind, field_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from claude_mem_lite.codemap.calls.facts import Term

_MAX_IMPORTS = 500
_MAX_ARGUMENTS = 8  # of one call, of which the types are looked at
_VERSION = re.compile(r"v\d+$")
_AROUND = frozenset({"go", "golang"})  # "go-yaml" is package yaml
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "&&", "||"})
_REFERENCES = frozenset({"type_identifier", "qualified_type", "generic_type"})
_SIMPLE = frozenset({"name", "attribute", "typed"})


# --- functions and their parameters ----------------------------------------------------------------


def _function(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.scope(node), field_of(node, "name")
    if index is None:
        return
    scope = walk.scopes[index]
    _type_params(walk, node, index)
    receiver = field_of(node, "receiver")
    if receiver is not None:
        _receiver(walk, receiver, index, walk.text(name) if name is not None else "")
    for place, (text, declared) in enumerate(_parameters(walk, field_of(node, "parameters"))):
        scope.params.append((declared, None))
        if text:
            bind(scope.names, text, ("param", index, place))
    result = field_of(node, "result")
    scope.return_type = _result(walk, result)
    for text, declared in _parameters(walk, result):
        if text:
            bind(scope.names, text, ("typed", declared))
    if name is None or receiver is not None:
        return
    text = walk.text(name)
    if node.type == "method_elem":
        bind(walk.scopes[here].members, text, ("scope", index))
    elif text not in {"_", "init"}:
        _declare(walk, here, text, ("scope", index))


def _receiver(walk: Walk, node: Node, index: int, method: str) -> None:
    """Bind the receiver's name, and export the method by the name of its type."""
    scope = walk.scopes[index]
    for text, declared in _parameters(walk, node):
        if not declared or declared[0] != "ref":
            continue
        scope.type_params += [(each[1][0], None) for each in declared[2] if each and each[0] == "ref"]
        scope.flags.append("method")
        bind(walk.exports, f"{declared[1][-1]}.{method}", ("scope", index))
        if text:
            bind(scope.names, text, ("typed", declared))


def _parameters(walk: Walk, node: Node | None) -> Iterator[tuple[str, Term]]:
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


def _result(walk: Walk, node: Node | None) -> Term:
    """Return the type of a function's result; several are a container by place."""
    if node is None:
        return ("ref", ("()",), ())
    if node.type != "parameter_list":
        return walk.type(node)
    types = tuple([declared for _, declared in _parameters(walk, node)])
    return types[0] if len(types) == 1 else ("ref", ("()",), types)


def _type_params(walk: Walk, node: Node, index: int) -> None:
    found = field_of(node, "type_parameters")
    for each in found.named_children if found is not None else ():
        constraint = walk.type(field_of(each, "type"))
        for name in each.children_by_field_name("name"):
            walk.scopes[index].type_params.append((walk.text(name), constraint))


def _declare(walk: Walk, here: int, name: str, term: Term) -> None:
    """Bind a name, which the other files of the package see where it is declared outside of functions."""
    bind(walk.scopes[here].names, name, term)
    if here == 0:
        bind(walk.exports, name, ("name", name))


# --- types -----------------------------------------------------------------------------------------


def _type_spec(walk: Walk, node: Node, here: int) -> None:
    index, name, written = walk.scope(node), field_of(node, "name"), field_of(node, "type")
    if index is None or name is None:
        return
    scope = walk.scopes[index]
    scope.flags.append("converts")
    _type_params(walk, node, index)
    underlying = walk.type(written)
    if underlying is not None:
        scope.bases.append(("typed", underlying))
    if underlying and underlying[0] == "function":
        bind(scope.members, "()", ("typed", underlying))
    if written is not None and written.type in _REFERENCES:
        scope.flags.append("defined")
    text = walk.text(name)
    _declare(walk, here, text, ("scope", index))
    bind(walk.scopes[here].types, text, ("scope", index))


def _type_alias(walk: Walk, node: Node, here: int) -> None:
    name, declared = field_of(node, "name"), walk.type(field_of(node, "type"))
    if name is not None:
        text = walk.text(name)
        bind(walk.scopes[here].types, text, ("alias", declared, ()))
        _declare(walk, here, text, ("conversion", declared))


def _field(walk: Walk, node: Node, here: int) -> None:
    declared = walk.type(field_of(node, "type"))
    names = [walk.text(name) for name in node.children_by_field_name("name")]
    for name in names:
        bind(walk.scopes[here].members, name, ("typed", declared))
    if not names and declared and declared[0] == "ref":
        walk.scopes[here].bases.append(("typed", declared))
        bind(walk.scopes[here].members, declared[1][-1], ("typed", declared))


def _embedded(walk: Walk, node: Node, here: int) -> None:
    if walk.scopes[here].kind == "interface" and node.named_child_count == 1:
        declared = walk.type(node.named_children[0])
        walk.scopes[here].bases += [("typed", declared)] if declared is not None else []


# --- variables -------------------------------------------------------------------------------------


def _var_spec(walk: Walk, node: Node, here: int) -> None:
    names = node.children_by_field_name("name")
    declared, values = field_of(node, "type"), _listed(field_of(node, "value"))
    given: list[Term] = _values(walk, values, len(names))
    if declared is not None:
        given = [("typed", walk.type(declared))] * len(names)
    for name, term in zip(names, given, strict=False):
        if (text := walk.text(name)) != "_":
            _declare(walk, here, text, term)


def _short_var(walk: Walk, node: Node, here: int) -> None:
    """Bind the names left of `:=` that their block does not have yet."""
    left, right = _listed(field_of(node, "left")), _listed(field_of(node, "right"))
    if not right:  # `for range`
        return
    if node.type == "range_clause":
        walk_over = walk.lower(right[0])
        terms: list[Term] = [("call", ("attribute", walk_over, "key"), ()), ("element", walk_over)]
    else:
        terms = _values(walk, right, len(left))
    for name, term in zip(left, terms, strict=False):
        text = walk.text(name)
        if name.type == "identifier" and text != "_" and text not in walk.scopes[here].names:
            walk.scopes[here].names[text] = [term]


def _listed(node: Node | None) -> list[Node]:
    if node is None:
        return []
    found = node.named_children if node.type == "expression_list" else [node]
    return [each for each in found if each.type != "comment"]


def _values(walk: Walk, nodes: list[Node], count: int) -> list[Term]:
    """Return what as many names are given: by one call, or each by its own expression."""
    terms = [walk.lower(each) for each in nodes]
    if len(terms) == 1 and count > 1 and terms[0] and terms[0][0] == "call":
        return [("call", ("attribute", terms[0], str(place)), ()) for place in range(count)]
    return terms


def _type_switch(walk: Walk, node: Node, _here: int) -> None:
    """Bind the name that a type switch gives to its value, in each case by its own type."""
    index, alias, value = walk.scope(node), _listed(field_of(node, "alias")), field_of(node, "value")
    if index is None or not alias:
        return
    text, term = walk.text(alias[0]), walk.lower(value)
    bind(walk.scopes[index].names, text, term)
    for case in node.named_children:
        types, inner = case.children_by_field_name("type"), walk.scope(case)
        if inner is not None and len(types) == 1 and walk.text(types[0]) != "nil":
            bind(walk.scopes[inner].names, text, ("typed", walk.type(types[0])))


# --- imports ---------------------------------------------------------------------------------------


def _package(walk: Walk, node: Node, _here: int) -> None:
    if node.named_child_count:
        walk.scopes[0].name = walk.text(node.named_children[0])


def _import(walk: Walk, node: Node, _here: int) -> None:
    name, path = field_of(node, "name"), field_of(node, "path")
    if path is None:
        return
    module = walk.text(path)[1:-1]
    alias = walk.text(name) if name is not None else _likely(module)
    scope, term = walk.scopes[0], ("import", module, "*")
    if alias != "_":
        for terms in (scope.names, scope.types):
            if name is None or alias == ".":
                # By the name that its package clause says, or all that it exports.
                seen = terms.setdefault("*" if alias == "." else "package", [])
                seen += [term] if len(seen) < _MAX_IMPORTS else []
            if alias != ".":
                bind(terms, alias, term)


def _likely(module: str) -> str:
    """Return the name that a package outside of the project usually has, by its path."""
    parts = [each for each in module.split("/") if each]
    if len(parts) > 1 and _VERSION.fullmatch(parts[-1]):
        parts.pop()
    words = re.split(r"[-.]", parts[-1]) if parts else [""]
    return "".join([each for each in words if each not in _AROUND and not _VERSION.fullmatch(each)])


# --- calls and expressions -------------------------------------------------------------------------


def _call(walk: Walk, node: Node, here: int) -> None:
    function = _bare(field_of(node, "function"))
    if function is None:
        return
    callee = _callee(walk, function)
    _arguments(walk, node)
    if callee is not None and function.type != "func_literal":
        walk.call(here, field_of(function, "field") or function, callee, _shape(function))


def _callee(walk: Walk, function: Node) -> Term:
    """Return what is called; `f[int]` is f where it is no element of something."""
    term = walk.lower(function)
    if function.type == "index_expression" and term:
        return ("one_of", (term[1], term))
    return term


def _shape(function: Node) -> str:
    if function.type != "selector_expression":
        return "f()"
    operand = field_of(function, "operand")
    kinds = {"identifier": "obj.m()", "call_expression": "f().m()", "selector_expression": "obj.attr.m()"}
    return kinds.get(operand.type if operand is not None else "", "….m()")


def _bare(node: Node | None) -> Node | None:
    while node is not None and node.type == "parenthesized_expression" and node.named_child_count:
        node = node.named_children[0]
    return node


def _name(walk: Walk, node: Node) -> Term:
    """Return a name with the scope that has declared it so far."""
    name, here = walk.text(node), walk.here
    while here > 0 and name not in walk.scopes[here].names:
        here = walk.scopes[here].parent
    return ("name", name, here)


def _selector(walk: Walk, node: Node) -> Term:
    base, name = walk.lower(field_of(node, "operand")), field_of(node, "field")
    return ("attribute", base, walk.text(name)) if name is not None else None


def _called(walk: Walk, node: Node) -> Term:
    function = _bare(field_of(node, "function"))
    arguments = _arguments(walk, node)
    if function is None:
        return None
    callee = _callee(walk, function)
    if callee in {("name", "new", 0), ("name", "make", 0)}:
        found = _listed_arguments(node)
        return ("typed", walk.type(found[0])) if found else None
    if callee == ("name", "append", 0):
        return arguments[0] if arguments else None
    given = field_of(node, "type_arguments")
    types = tuple([walk.type(each) for each in given.named_children]) if given is not None else ()
    simple = tuple([each if each and each[0] in _SIMPLE else None for each in arguments])
    return ("call", callee, types, simple if any(simple) else ()) if callee is not None else None


def _listed_arguments(node: Node) -> list[Node]:
    arguments = field_of(node, "arguments")
    return [each for each in arguments.named_children if each.type != "comment"] if arguments else []


def _arguments(walk: Walk, node: Node) -> list[Term]:
    """Return the arguments of a call: lowered before what comes after it declares their names anew."""
    return [walk.lower(each) for each in _listed_arguments(node)][:_MAX_ARGUMENTS]


def _index(walk: Walk, node: Node) -> Term:
    walk.lower(field_of(node, "index"))
    base = walk.lower(field_of(node, "operand"))
    return ("element", base) if base is not None else None


def _operand(walk: Walk, node: Node) -> Term:
    return walk.lower(field_of(node, "operand"))


def _unary(walk: Walk, node: Node) -> Term:
    operator, inner = field_of(node, "operator"), _operand(walk, node)
    if operator is not None and operator.type == "<-":
        return ("element", inner)
    return _outside("bool") if operator is not None and operator.type == "!" else inner


def _binary(walk: Walk, node: Node) -> Term:
    operator = field_of(node, "operator")
    sides = tuple([walk.lower(field_of(node, name)) for name in ("left", "right")])
    if operator is None or operator.type in _COMPARISONS:
        return _outside("bool")
    return ("union", sides)


def _typed(walk: Walk, node: Node) -> Term:
    return ("typed", walk.type(field_of(node, "type")))


def _first(walk: Walk, node: Node) -> Term:
    return walk.lower(node.named_children[0]) if node.named_child_count else None


def _literal(walk: Walk, node: Node) -> Term:
    index = walk.scope(node)
    return ("scope", index) if index is not None else None


def _outside(name: str) -> Term:
    return ("typed", ("ref", (name,), ()))


_EXPRESSIONS = {
    "identifier": _name,
    "selector_expression": _selector,
    "call_expression": _called,
    "index_expression": _index,
    "slice_expression": _operand,
    "unary_expression": _unary,
    "binary_expression": _binary,
    "parenthesized_expression": _first,
    "func_literal": _literal,
    **dict.fromkeys(
        ("composite_literal", "type_conversion_expression", "type_assertion_expression"), _typed
    ),
    **dict.fromkeys(
        ("interpreted_string_literal", "raw_string_literal", "rune_literal", "int_literal", "float_literal",
         "imaginary_literal", "true", "false", "iota"),
        lambda _walk, node: _outside(node.type),
    ),
}  # fmt: skip


# --- how types are written -------------------------------------------------------------------------


def _reference(walk: Walk, node: Node) -> Term:
    return ("ref", tuple([each.strip() for each in walk.text(node).split(".")]), ())


def _generic(walk: Walk, node: Node) -> Term:
    base, types = walk.type(field_of(node, "type")), field_of(node, "type_arguments")
    if not base or base[0] != "ref" or types is None:
        return base
    return ("ref", base[1], tuple([walk.type(each) for each in types.named_children]))


def _inner_type(walk: Walk, node: Node) -> Term:
    return walk.type(node.named_children[0]) if node.named_child_count == 1 else None


def _container(name: str, *fields: str) -> Callable[[Walk, Node], Term]:
    def lowered(walk: Walk, node: Node) -> Term:
        return ("ref", (name,), tuple([walk.type(field_of(node, each)) for each in fields]))

    return lowered


def _function_type(walk: Walk, node: Node) -> Term:
    parameters = tuple([declared for _, declared in _parameters(walk, field_of(node, "parameters"))])
    return ("function", parameters, _result(walk, field_of(node, "result")), ())


def _shape_type(walk: Walk, node: Node) -> Term:
    index = walk.scope(node)
    return ("shape", index) if index is not None else None


_TYPES = {
    **dict.fromkeys(("type_identifier", "qualified_type", "identifier", "selector_expression"), _reference),
    "generic_type": _generic,
    **dict.fromkeys(("pointer_type", "parenthesized_type", "type_elem", "type_constraint"), _inner_type),
    **dict.fromkeys(("slice_type", "array_type", "implicit_length_array_type"), _container("[]", "element")),
    "map_type": _container("map", "key", "value"),
    "channel_type": _container("chan", "value"),
    "function_type": _function_type,
    **dict.fromkeys(("struct_type", "interface_type"), _shape_type),
}

_FUNCTION_NODES = ("function_declaration", "method_declaration", "method_elem", "func_literal")
_BLOCKS = (
    "block", "if_statement", "for_statement", "expression_switch_statement", "type_switch_statement",
    "expression_case", "default_case", "type_case", "communication_case",
)  # fmt: skip

TABLE = Table(
    scopes={
        **dict.fromkeys(_FUNCTION_NODES, "function"),
        "type_spec": "class",
        **dict.fromkeys(("struct_type", "interface_type"), "interface"),
        **dict.fromkeys(_BLOCKS, "block"),
    },
    handlers={
        "package_clause": _package,
        "import_spec": _import,
        **dict.fromkeys(_FUNCTION_NODES, _function),
        "type_spec": _type_spec,
        "type_alias": _type_alias,
        "field_declaration": _field,
        "type_elem": _embedded,
        **dict.fromkeys(("var_spec", "const_spec"), _var_spec),
        **dict.fromkeys(("short_var_declaration", "range_clause", "receive_statement"), _short_var),
        "type_switch_statement": _type_switch,
        "call_expression": _call,
    },
    expressions=_EXPRESSIONS,
    types=_TYPES,
)
