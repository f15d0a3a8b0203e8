"""Read the facts of a Go file.

A type is a class whose base is its definition: a struct's or an interface's shape, or another type.
Its methods are exported by the file that declares them, as "Type.Method". A variable is visible from its
declaration to the end of its block.
"""

import re

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.go_terms import (
    EXPRESSIONS,
    TYPES,
    arguments_of,
    callee_of,
    function_of,
    parameters_of,
    result_of,
)
from claude_mem_lite.codemap.calls.walker import (
    Table,
    Walk,
    bind,
    bind_parameters,
    field_of,
    listed,
    method_shape,
    type_params_of,
)
from claude_mem_lite.codemap.languages.tree import Node

_MAX_IMPORTS = 500
_VERSION = re.compile(r"v\d+$")
_AROUND = frozenset({"go", "golang"})  # "go-yaml" is package yaml
_REFERENCES = frozenset({"type_identifier", "qualified_type", "generic_type"})


def _function(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), walk.named(node)
    scope = walk.scopes[index]
    scope.type_params = type_params_of(walk, node, "type")
    receiver = field_of(node, "receiver")
    if receiver is not None:
        _receiver(walk, receiver, index, name or "")
    bind_parameters(walk, index, parameters_of(walk, field_of(node, "parameters")))
    result = field_of(node, "result")
    scope.return_type = result_of(walk, result)
    for text, declared in parameters_of(walk, result):
        if text:
            bind(scope.names, text, ("typed", declared))
    if name is None or receiver is not None:
        return
    if node.type == "method_elem":
        bind(walk.scopes[here].members, name, ("scope", index))
    elif name not in {"_", "init"}:
        _declare(walk, here, name, ("scope", index))


def _receiver(walk: Walk, node: Node, index: int, method: str) -> None:
    """Bind the receiver's name, and export the method by the name of its type."""
    scope = walk.scopes[index]
    for text, declared in parameters_of(walk, node):
        if not declared or declared[0] != "ref":
            continue
        scope.type_params += [(each[1][0], None) for each in declared[2] if each and each[0] == "ref"]
        scope.flags.append("method")
        bind(walk.exports, f"{declared[1][-1]}.{method}", ("scope", index))
        if text:
            bind(scope.names, text, ("typed", declared))


def _declare(walk: Walk, here: int, name: str, term: Term) -> None:
    """Bind a name; if it is declared outside of functions, the other files of the package see it, too."""
    bind(walk.scopes[here].names, name, term)
    if here == 0:
        bind(walk.exports, name, ("name", name))


def _type_spec(walk: Walk, node: Node, here: int) -> None:
    index, name, written = walk.own(node), walk.named(node), field_of(node, "type")
    if name is None:
        return
    scope = walk.scopes[index]
    scope.flags.append("converts")
    scope.type_params = type_params_of(walk, node, "type")
    underlying = walk.type(written)
    if underlying is not None:
        scope.bases.append(("typed", underlying))
    if underlying and underlying[0] == "function":
        bind(scope.members, "()", ("typed", underlying))
    if written is not None and written.type in _REFERENCES:
        scope.flags.append("defined")
    _declare(walk, here, name, ("scope", index))
    bind(walk.scopes[here].types, name, ("scope", index))


def _type_alias(walk: Walk, node: Node, here: int) -> None:
    name, declared = walk.named(node), walk.type(field_of(node, "type"))
    if name is not None:
        bind(walk.scopes[here].types, name, ("alias", declared, ()))
        _declare(walk, here, name, ("conversion", declared))


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
    """Bind the names left of `:=` that their block has not declared yet."""
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
    return [node] if node is not None and node.type != "expression_list" else listed(node)


def _values(walk: Walk, nodes: list[Node], count: int) -> list[Term]:
    """Return the terms assigned to `count` names: results of one call, or one expression each."""
    terms = [walk.lower(each) for each in nodes]
    if len(terms) == 1 and count > 1 and terms[0] and terms[0][0] == "call":
        return [("call", ("attribute", terms[0], str(place)), ()) for place in range(count)]
    return terms


def _type_switch(walk: Walk, node: Node, _here: int) -> None:
    """Bind the name of a type switch to its value, and in each case to the case's type."""
    index, alias, value = walk.own(node), _listed(field_of(node, "alias")), field_of(node, "value")
    if not alias:
        return
    text, term = walk.text(alias[0]), walk.lower(value)
    bind(walk.scopes[index].names, text, term)
    for case in node.named_children:
        types, inner = case.children_by_field_name("type"), walk.scope(case)
        if inner is not None and len(types) == 1 and walk.text(types[0]) != "nil":
            bind(walk.scopes[inner].names, text, ("typed", walk.type(types[0])))


def _package(walk: Walk, node: Node, _here: int) -> None:
    if node.named_child_count:
        walk.scopes[0].name = walk.text(node.named_children[0])


def _import(walk: Walk, node: Node, _here: int) -> None:
    name, path = walk.named(node), walk.named(node, "path")
    if path is None:
        return
    module = path[1:-1]
    alias = name if name is not None else _likely(module)
    scope, term = walk.scopes[0], ("import", module, "*")
    if alias != "_":
        for terms in (scope.names, scope.types):
            if name is None or alias == ".":
                # Seen under the name in its package clause, or with all that it exports.
                seen = terms.setdefault("*" if alias == "." else "package", [])
                seen += [term] if len(seen) < _MAX_IMPORTS else []
            if alias != ".":
                bind(terms, alias, term)


def _likely(module: str) -> str:
    """Return the usual name of a package outside of the project, by its path."""
    parts = [each for each in module.split("/") if each]
    if len(parts) > 1 and _VERSION.fullmatch(parts[-1]):
        parts.pop()
    words = re.split(r"[-.]", parts[-1]) if parts else [""]
    return "".join([each for each in words if each not in _AROUND and not _VERSION.fullmatch(each)])


def _call(walk: Walk, node: Node, here: int) -> None:
    function = function_of(node)
    if function is None:
        return
    callee = callee_of(walk, function)
    arguments_of(walk, node)
    if callee is not None and function.type != "func_literal":
        is_method = function.type == "selector_expression"
        shape = method_shape(field_of(function, "operand")) if is_method else "f()"
        walk.call(here, field_of(function, "field") or function, callee, shape)


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
    expressions=EXPRESSIONS,
    types=TYPES,
)
