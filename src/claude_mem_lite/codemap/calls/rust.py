"""Read the facts of a Rust file.

Beside the terms of `facts` and of `rust_terms`, an item's name may stand for:

    ("use", names)                 what a path names; the `bases` of a module are its glob imports
    ("file", path)                 the module of a `mod` without a body, relative to the enclosing module

The names of a function's scope are its local variables, one term per binding; `statics` and `types` of any
scope are its items. An `impl` is a scope: `return_type` is its type, `context` its trait.
"""

from collections.abc import Iterable

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.rust_terms import (
    EXPRESSIONS,
    TYPES,
    callee_of,
    item_name,
    names_of,
    parameters_of,
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
from claude_mem_lite.codemap.calls.walker import Table, Walk, bind, expect_arguments, field_of, listed
from claude_mem_lite.codemap.languages import tree
from claude_mem_lite.codemap.languages.tree import Node, child_of

_MAX_NESTED_MACROS = 8
_MAX_MACROS = 3_000  # parsed per file
_SHORTEST_CALL = 4  # bytes; shorter arguments of a macro hold no call
_IMPLS = frozenset({"impl", "interface"})
_FUNCTIONS = ("function_item", "function_signature_item")
_STRUCTS = ("struct_item", "union_item")
_TYPE_ITEMS = (*_STRUCTS, "enum_item")


def _function(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), item_name(walk, node)
    if name is None:
        return
    scope, around = walk.scopes[index], walk.scopes[here]
    scope.type_params = _type_params(walk, node)
    result = field_of(node, "return_type")
    scope.return_type = walk.type(result) if result is not None else ("ref", ("()",), ())
    if any(each.type == "function_modifiers" and "async" in walk.text(each) for each in node.children):
        scope.return_type = ("ref", ("Future",), (scope.return_type,))
    _take_parameters(walk, node, index)
    bind(around.members if around.kind in _IMPLS else around.statics, name, ("scope", index))


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
    """Return the type parameters with their bounds, including those in the `where` clause."""
    bounds: dict[str, list[Term]] = {}
    for each in listed(field_of(node, "type_parameters")):
        name = walk.named(each) or walk.named(each, "left")
        if each.type in {"type_parameter", "const_parameter"} and name is not None:
            bounds[name] = _bounds(walk, field_of(each, "bounds"))
    for each in listed(child_of(node, "where_clause")):
        left = walk.named(each, "left")
        if left in bounds:
            bounds[left] += _bounds(walk, field_of(each, "bounds"))
    return [(name, union_of(found)) for name, found in bounds.items()]


def _bounds(walk: Walk, node: Node | None) -> list[Term]:
    return [walk.type(each) for each in node.named_children] if node is not None else []


def _type_item(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), item_name(walk, node)
    if name is None:
        return
    scope, body = walk.scopes[index], field_of(node, "body")
    scope.type_params = _type_params(walk, node)
    scope.bases += _bounds(walk, field_of(node, "bounds"))  # the supertraits of a trait
    bind(walk.scopes[here].types, name, ("scope", index))
    if node.type in _STRUCTS:
        _fields(walk, body, index)
        if body is None or body.type == "ordered_field_declaration_list":
            bind(walk.scopes[here].statics, name, ("scope", index))


def _variant(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), item_name(walk, node)
    if name is not None:
        bind(walk.scopes[here].statics, name, ("scope", index))
        _fields(walk, field_of(node, "body"), index)


def _fields(walk: Walk, body: Node | None, index: int) -> None:
    members = walk.scopes[index].members
    if body is not None and body.type == "ordered_field_declaration_list":
        for place, each in enumerate(body.children_by_field_name("type")):
            bind(members, str(place), ("typed", walk.type(each)))
        return
    for each in listed(body):
        name = item_name(walk, each)
        if each.type == "field_declaration" and name is not None:
            bind(members, name, ("typed", walk.type(field_of(each, "type"))))


def _impl(walk: Walk, node: Node, _here: int) -> None:
    scope = walk.scopes[walk.own(node)]
    scope.type_params = _type_params(walk, node)
    scope.return_type = walk.type(field_of(node, "type"))
    scope.context = walk.type(field_of(node, "trait"))
    scope.flags += ["trait"] if field_of(node, "trait") is not None else []


def _alias(walk: Walk, node: Node, here: int) -> None:
    name = walk.named(node)
    if name is not None:
        value = walk.type(field_of(node, "type") or field_of(node, "bounds"))
        bind(walk.scopes[here].types, name, ("alias", value, tuple(_type_params(walk, node))))


def _constant(walk: Walk, node: Node, here: int) -> None:
    name, around = walk.named(node), walk.scopes[here]
    if name is not None:
        terms = around.members if around.kind in _IMPLS else around.statics
        bind(terms, name, ("typed", walk.type(field_of(node, "type"))))


def _module(walk: Walk, node: Node, here: int) -> None:
    index, text = walk.own(node), item_name(walk, node)
    if text is None:
        return
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
        inner = before.named_children[0] if before.named_child_count else before
        value = walk.named(inner, "value")
        if value is not None and walk.text(inner).split("=")[0].strip() == "path":
            return value.strip('"')
        before = before.prev_named_sibling
    return ""


def _use(walk: Walk, node: Node, here: int) -> None:
    scope = walk.scopes[here]
    argument = field_of(node, "argument")
    waiting: list[tuple[Node, tuple[str, ...]]] = [(argument, ())] if argument is not None else []
    while waiting:
        each, above = waiting.pop()
        if each.type == "use_as_clause":
            alias = item_name(walk, each, "alias")
            if alias is not None:
                _imported(walk, here, alias, (*above, *names_of(walk, field_of(each, "path"))))
        elif each.type == "use_wildcard":
            inner = next(iter(each.named_children), None)
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
    name = walk.named(node)
    if name is not None:
        term: Term = ("use", ("crate",) if name == "self" else ("::", name))
        bind(walk.scopes[here].types, walk.named(node, "alias") or name, term)


def _let(walk: Walk, node: Node, _here: int) -> None:
    declared, term = walk.type(field_of(node, "type")), walk.lower(field_of(node, "value"))
    if declared is not None:
        term = ("declared", declared, term)
    bind_pattern(walk, field_of(node, "pattern"), term)


def _loop(walk: Walk, node: Node, _here: int) -> None:
    value = walk.lower(field_of(node, "value"))
    bind_pattern(walk, field_of(node, "pattern"), value and ("element", value))


def _match(walk: Walk, node: Node, _here: int) -> None:
    value = walk.lower(field_of(node, "value"))
    for arm in listed(field_of(node, "body")):
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
    expect_arguments(walk, node, "closure_expression", callee, types)


def _nodes(walk: Walk, types: Iterable[str]) -> list[tuple[int, int, Node]]:
    """Return the nodes of a file, and those in the arguments of its macros, parsed as expressions."""
    wanted = (*types, "macro_invocation")
    found = tree.nodes(walk.parsed.grammar, walk.parsed.root, wanted)
    inside = found
    for _ in range(_MAX_NESTED_MACROS):
        new: list[tuple[int, int, Node]] = []
        for _start, _end, node in inside:
            is_read = node.type == "macro_invocation" and len(walk.embedded) < _MAX_MACROS
            tokens = child_of(node, "token_tree") if is_read else None
            if tokens is None or tokens.end_byte - tokens.start_byte < _SHORTEST_CALL:
                continue
            if (root := tree.parse_part(walk.parsed, tokens)) is not None:
                walk.embedded[tokens.start_byte] = root
                new += tree.nodes(walk.parsed.grammar, root, wanted)
        if not new:
            break
        found, inside = found + new, new
    kept = [each for each in found if each[2].type != "macro_invocation"]
    return sorted(kept, key=lambda each: (each[0], -each[1]))


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
        **dict.fromkeys((*_TYPE_ITEMS, "trait_item"), _type_item),
        "enum_variant": _variant,
        "impl_item": _impl,
        **dict.fromkeys(("type_item", "associated_type"), _alias),
        **dict.fromkeys(("const_item", "static_item"), _constant),
        "mod_item": _module,
        "use_declaration": _use,
        "extern_crate_declaration": _extern_crate,
        **dict.fromkeys(("let_declaration", "let_condition"), _let),
        "for_expression": _loop,
        "match_expression": _match,
        "call_expression": _call,
    },
    expressions=EXPRESSIONS,
    types=TYPES,
    nodes=_nodes,
)
