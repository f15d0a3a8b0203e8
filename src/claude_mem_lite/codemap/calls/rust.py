"""Read the facts of a Rust file.

Beside the terms of `facts` and of `rust_terms`, an item's name may stand for:

    ("use", names)                 what a path names; `bases` of a module are those of its globs
    ("file", path)                 the module of a `mod` without a body, relative to the module around it

The names of a function's scope are its local variables, one term a binding; `statics` and `types` of any
scope are its items. An `impl` is a scope: `return_type` is its type, `context` its trait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.calls.rust_terms import (
    EXPRESSIONS,
    TYPES,
    callee_of,
    names_of,
    parameters_of,
    plain_name,
    shape_of,
    union_of,
    without_turbofish,
)
from claude_mem_lite.codemap.calls.rust_variables import (
    bind_pattern,
    see_arm,
    see_condition,
    see_lets,
    see_loop,
    see_parameters,
    sort_seen,
)
from claude_mem_lite.codemap.calls.walker import Table, Walk, bind, field_of, listed
from claude_mem_lite.codemap.languages import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from claude_mem_lite.codemap.calls.facts import Term
    from claude_mem_lite.codemap.languages.tree import Parsed

    Lowering = Callable[[Walk, Node], Term]

_MAX_NESTED_MACROS = 8
_MAX_MACROS = 3_000  # of a file that are read
_IMPLS = frozenset({"impl", "interface"})
_FUNCTIONS = ("function_item", "function_signature_item")
_TYPE_ITEMS = ("struct_item", "union_item", "enum_item")


# --- functions, types and modules ------------------------------------------------------------------


def _function(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), field_of(node, "name")
    if name is None:
        return
    scope, around = walk.scopes[index], walk.scopes[here]
    scope.type_params = _type_params(walk, node)
    result = field_of(node, "return_type")
    scope.return_type = walk.type(result) if result is not None else ("ref", ("()",), ())
    if any(each.type == "function_modifiers" and "async" in walk.text(each) for each in node.children):
        scope.return_type = ("ref", ("Future",), (scope.return_type,))
    _take_parameters(walk, node, index)
    bind(
        around.members if around.kind in _IMPLS else around.statics, plain_name(walk, name), ("scope", index)
    )


def _closure(walk: Walk, node: Node, _here: int) -> None:
    index = walk.own(node)
    scope = walk.scopes[index]
    scope.return_type = walk.type(field_of(node, "return_type"))
    scope.returns.append(walk.lower(field_of(node, "body")))
    _take_parameters(walk, node, index)


def _take_parameters(walk: Walk, node: Node, index: int) -> None:
    for place, each in enumerate(parameters_of(node)):
        walk.scopes[index].params.append((walk.type(field_of(each, "type")), None))
        bind_pattern(walk, field_of(each, "pattern") or each, ("param", index, place))


def _type_params(walk: Walk, node: Node) -> list[tuple[str, Term]]:
    """Return the type parameters with their bounds, those of the `where` clause too."""
    bounds: dict[str, list[Term]] = {}
    declared = field_of(node, "type_parameters")
    for each in declared.named_children if declared is not None else ():
        name = field_of(each, "name") or field_of(each, "left")
        if each.type in {"type_parameter", "const_parameter"} and name is not None:
            bounds[walk.text(name)] = _bounds(walk, field_of(each, "bounds"))
    where = next((each for each in node.named_children if each.type == "where_clause"), None)
    for each in where.named_children if where is not None else ():
        left = field_of(each, "left")
        if left is not None and walk.text(left) in bounds:
            bounds[walk.text(left)] += _bounds(walk, field_of(each, "bounds"))
    return [(name, union_of(found)) for name, found in bounds.items()]


def _bounds(walk: Walk, node: Node | None) -> list[Term]:
    return [walk.type(each) for each in node.named_children] if node is not None else []


def _type_item(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), field_of(node, "name")
    if name is None:
        return
    scope, text = walk.scopes[index], plain_name(walk, name)
    scope.type_params = _type_params(walk, node)
    bind(walk.scopes[here].types, text, ("scope", index))
    body = field_of(node, "body")
    if node.type != "enum_item":
        _fields(walk, body, index)
        if body is None or body.type == "ordered_field_declaration_list":
            bind(walk.scopes[here].statics, text, ("scope", index))


def _variant(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), field_of(node, "name")
    if name is not None:
        bind(walk.scopes[here].statics, plain_name(walk, name), ("scope", index))
        _fields(walk, field_of(node, "body"), index)


def _fields(walk: Walk, body: Node | None, index: int) -> None:
    members = walk.scopes[index].members
    if body is None:
        return
    if body.type == "ordered_field_declaration_list":
        for place, each in enumerate(body.children_by_field_name("type")):
            bind(members, str(place), ("typed", walk.type(each)))
        return
    for each in body.named_children:
        name = field_of(each, "name")
        if each.type == "field_declaration" and name is not None:
            bind(members, plain_name(walk, name), ("typed", walk.type(field_of(each, "type"))))


def _trait(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), field_of(node, "name")
    if name is not None:
        scope = walk.scopes[index]
        scope.type_params = _type_params(walk, node)
        scope.bases += _bounds(walk, field_of(node, "bounds"))
        bind(walk.scopes[here].types, plain_name(walk, name), ("scope", index))


def _impl(walk: Walk, node: Node, _here: int) -> None:
    index = walk.own(node)
    scope = walk.scopes[index]
    scope.type_params = _type_params(walk, node)
    scope.return_type = walk.type(field_of(node, "type"))
    scope.context = walk.type(field_of(node, "trait"))
    scope.flags += ["trait"] if field_of(node, "trait") is not None else []


def _alias(walk: Walk, node: Node, here: int) -> None:
    name = field_of(node, "name")
    if name is not None:
        value = walk.type(field_of(node, "type") or field_of(node, "bounds"))
        bind(walk.scopes[here].types, walk.text(name), ("alias", value, tuple(_type_params(walk, node))))


def _constant(walk: Walk, node: Node, here: int) -> None:
    name = field_of(node, "name")
    if name is not None:
        around = walk.scopes[here]
        terms = around.members if around.kind in _IMPLS else around.statics
        bind(terms, walk.text(name), ("typed", walk.type(field_of(node, "type"))))


def _module(walk: Walk, node: Node, here: int) -> None:
    name = field_of(node, "name")
    if name is None:
        return
    index, text = walk.own(node), plain_name(walk, name)
    if field_of(node, "body") is not None:
        walk.scopes[index].context = ("file", text)
        bind(walk.scopes[here].types, text, ("scope", index))
        return
    around, above = [text], here
    while above > 0:
        inline = walk.scopes[above].context
        around = [inline[1], *around] if inline is not None and inline[0] == "file" else around
        above = walk.scopes[above].parent
    path = _path_attribute(walk, node)
    term = ("file", "/".join([*around[:-1], path]), "path") if path else ("file", "/".join(around))
    bind(walk.scopes[here].types, text, term)


def _path_attribute(walk: Walk, node: Node) -> str:
    """Return the file that `#[path = "…"]` names, "" without one."""
    before = node.prev_named_sibling
    while before is not None and before.type == "attribute_item":
        inner = before.named_children[0] if before.named_child_count else None
        value = field_of(inner, "value") if inner is not None else None
        if inner is not None and value is not None and walk.text(inner).split("=")[0].strip() == "path":
            return walk.text(value).strip('"')
        before = before.prev_named_sibling
    return ""


# --- paths and imports -----------------------------------------------------------------------------


def _use(walk: Walk, node: Node, here: int) -> None:
    scope = walk.scopes[here]
    argument = field_of(node, "argument")
    waiting: list[tuple[Node, tuple[str, ...]]] = [(argument, ())] if argument is not None else []
    while waiting:
        each, above = waiting.pop()
        if each.type == "use_as_clause":
            alias = field_of(each, "alias")
            if alias is not None:
                _imported(
                    walk, here, plain_name(walk, alias), (*above, *names_of(walk, field_of(each, "path")))
                )
        elif each.type == "use_wildcard":
            inner = each.named_children[0] if each.named_child_count else None
            scope.bases.append(("use", (*above, *names_of(walk, inner))))
        elif each.type == "scoped_use_list":
            inside = field_of(each, "list")
            if inside is not None:
                waiting.append((inside, (*above, *names_of(walk, field_of(each, "path")))))
        elif each.type == "use_list":
            waiting += [(inner, above) for inner in each.named_children]
        else:
            names = names_of(walk, each)
            names = names[:-1] if above and names[-1:] == ("self",) else names
            if above + names:
                _imported(walk, here, (above + names)[-1], above + names)


def _imported(walk: Walk, here: int, name: str, names: tuple[str, ...]) -> None:
    names = names[:-1] if names[-1] == "self" and len(names) > 1 else names
    bind(walk.scopes[here].types, name, ("use", names))
    bind(walk.scopes[here].statics, name, ("use", names))


def _extern_crate(walk: Walk, node: Node, here: int) -> None:
    name = field_of(node, "name")
    if name is not None:
        text = walk.text(name)
        bind(
            walk.scopes[here].types,
            walk.text(field_of(node, "alias") or name),
            ("use", ("crate",) if text == "self" else ("::", text)),
        )


# --- statements ------------------------------------------------------------------------------------


def _let(walk: Walk, node: Node, _here: int) -> None:
    declared, value = walk.type(field_of(node, "type")), field_of(node, "value")
    term = walk.lower(value)
    if declared is not None:
        term = ("declared", declared, term)
    bind_pattern(walk, field_of(node, "pattern"), term)


def _condition(walk: Walk, node: Node, _here: int) -> None:
    bind_pattern(walk, field_of(node, "pattern"), walk.lower(field_of(node, "value")))


def _loop(walk: Walk, node: Node, _here: int) -> None:
    value = walk.lower(field_of(node, "value"))
    bind_pattern(walk, field_of(node, "pattern"), value and ("element", value))


def _match(walk: Walk, node: Node, _here: int) -> None:
    value, body = walk.lower(field_of(node, "value")), field_of(node, "body")
    for arm in body.named_children if body is not None else ():
        pattern = field_of(arm, "pattern") if arm.type == "match_arm" else None
        if pattern is not None and pattern.named_child_count:
            bind_pattern(walk, pattern.named_children[0], value)


def _call(walk: Walk, node: Node, here: int) -> None:
    function = field_of(node, "function")
    callee = callee_of(walk, function)
    if function is None or callee is None:
        return
    bare, types = without_turbofish(walk, function)
    walk.call(here, field_of(bare, "field") or field_of(bare, "name") or bare, callee, shape_of(walk, bare))
    for place, each in enumerate(listed(field_of(node, "arguments"))):
        index = walk.scope(each)
        if index is not None and each.type == "closure_expression":
            walk.scopes[index].context = ("argument", callee, place, types, None)


# --- macros ----------------------------------------------------------------------------------------


def _nodes(walk: Walk, types: Iterable[str]) -> list[tuple[int, int, Node]]:
    """Return the nodes of a file, and those in the arguments of its macros, read as expressions."""
    wanted = (*types, "macro_invocation")
    found = tree.nodes(walk.parsed, wanted)
    inside = found
    for _ in range(_MAX_NESTED_MACROS):
        new: list[tuple[int, int, Node]] = []
        for _start, _end, node in inside:
            is_read = node.type == "macro_invocation" and len(walk.embedded) < _MAX_MACROS
            tokens = _tokens(node) if is_read else None
            root = _as_expression(walk.parsed, tokens) if tokens is not None else None
            if tokens is not None and root is not None:
                walk.embedded[tokens.start_byte] = root
                new += tree.nodes_in(walk.parsed.grammar, root, wanted)
        if not new:
            break
        found, inside = found + new, new
    left_out = {"macro_invocation"}
    return sorted(
        [each for each in found if each[2].type not in left_out], key=lambda each: (each[0], -each[1])
    )


def _tokens(node: Node) -> Node | None:
    return next((each for each in node.children if each.type == "token_tree"), None)


def _as_expression(parsed: Parsed, tokens: Node) -> Node | None:
    if tokens.end_byte - tokens.start_byte < 4:
        return None
    return tree.parse_part(parsed, tokens)


TABLE = Table(
    scopes={
        **dict.fromkeys((*_FUNCTIONS, "closure_expression"), "function"),
        **dict.fromkeys(_TYPE_ITEMS, "class"),
        "enum_variant": "variant",
        "trait_item": "interface",
        "impl_item": "impl",
        "mod_item": "namespace",
    },
    declarations={
        **dict.fromkeys((*_FUNCTIONS, "closure_expression"), see_parameters),
        "block": see_lets,
        "for_expression": see_loop,
        **dict.fromkeys(("if_expression", "while_expression"), see_condition),
        "match_arm": see_arm,
    },
    handlers={
        "source_file": sort_seen,
        **dict.fromkeys(_FUNCTIONS, _function),
        "closure_expression": _closure,
        **dict.fromkeys(_TYPE_ITEMS, _type_item),
        "enum_variant": _variant,
        "trait_item": _trait,
        "impl_item": _impl,
        **dict.fromkeys(("type_item", "associated_type"), _alias),
        **dict.fromkeys(("const_item", "static_item"), _constant),
        "mod_item": _module,
        "use_declaration": _use,
        "extern_crate_declaration": _extern_crate,
        "let_declaration": _let,
        "let_condition": _condition,
        "for_expression": _loop,
        "match_expression": _match,
        "call_expression": _call,
    },
    expressions=EXPRESSIONS,
    types=TYPES,
    nodes=_nodes,
)
