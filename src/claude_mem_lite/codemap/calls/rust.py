"""Read the facts of a Rust file.

Beside the terms of `facts` there are, of expressions:

    ("local", x, index, place)     the place-th binding of a name in a function, by its scope
    ("path", names)                a path, e.g. of a function in a module
    ("assoc", type, x)             an associated item of a type that is no plain path
    ("field", term, x)  ("index", term)  ("try", term)
    ("part", term, names, x)       a field of what a pattern matches, with the path of its struct or variant
    ("call", term, types, terms)   a call with its first arguments
    ("tuple", terms)  ("list", terms)  ("future", term)

and what an item's name may stand for:

    ("use", names)                 what a path names; `bases` of a module are those of its globs
    ("file", path)                 the module of a `mod` without a body, relative to the module around it

The names of a function's scope are its local variables, one term a binding; `statics` and `types` of any
scope are its items. An `impl` is a scope: `return_type` is its type, `context` its trait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.calls.walker import Table, Walk, bind, field_of
from claude_mem_lite.codemap.languages import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tree_sitter import Node

    from claude_mem_lite.codemap.calls.facts import Term
    from claude_mem_lite.codemap.languages.tree import Parsed

    Lowering = Callable[[Walk, Node], Term]

_MAX_ARGUMENTS = 3  # of a call that are kept in its term
_MAX_NESTED_MACROS = 8
_MAX_MACROS = 3_000  # of a file that are read
_MAX_SEARCHED = 200  # bindings of one name that are looked at for one use
_IMPLS = frozenset({"impl", "interface"})
_FUNCTIONS = ("function_item", "function_signature_item")
_TYPE_ITEMS = ("struct_item", "union_item", "enum_item")


# --- local variables -------------------------------------------------------------------------------


def _see(walk: Walk, pattern: Node | None, owner: int, start: int, end: int) -> None:
    """Note where the names of a pattern are seen: in the source from one byte to another."""
    for node, _ in _bound(walk, pattern, None):
        name = walk.text(node)
        terms = walk.scopes[owner].names.setdefault(name, [])
        walk.seen.setdefault(name, []).append((start, end, owner, len(terms)))
        walk.places[node.id] = owner, len(terms)
        terms.append(None)


def _see_parameters(walk: Walk, node: Node, _here: int) -> None:
    index = walk.scope(node)
    if index is not None:
        for each in _parameters(node):
            _see(walk, field_of(each, "pattern") or each, index, each.end_byte, node.end_byte)


def _see_lets(walk: Walk, node: Node, here: int) -> None:
    for each in node.named_children:
        if each.type == "let_declaration":
            _see(walk, field_of(each, "pattern"), here, each.end_byte, node.end_byte)


def _see_loop(walk: Walk, node: Node, here: int) -> None:
    body = field_of(node, "body")
    if body is not None:
        _see(walk, field_of(node, "pattern"), here, body.start_byte, node.end_byte)


def _see_condition(walk: Walk, node: Node, here: int) -> None:
    """Note the names of `if let` and `while let`."""
    body = field_of(node, "consequence") or field_of(node, "body")
    for each in _let_conditions(field_of(node, "condition")) if body is not None else ():
        _see(walk, field_of(each, "pattern"), here, each.end_byte, body.end_byte)


def _see_arm(walk: Walk, node: Node, here: int) -> None:
    pattern = field_of(node, "pattern")
    inner = pattern.named_children[0] if pattern is not None and pattern.named_child_count else None
    if inner is None:
        return
    _see(walk, inner, here, inner.end_byte, node.end_byte)
    for each in _let_conditions(field_of(pattern, "condition")):
        _see(walk, field_of(each, "pattern"), here, each.end_byte, node.end_byte)


def _let_conditions(node: Node | None) -> Iterator[Node]:
    waiting = [node] if node is not None else []
    while waiting:
        each = waiting.pop(0)
        if each.type == "let_condition":
            yield each
        elif each.type in {"let_chain", "binary_expression"}:
            waiting += each.named_children


def _is_variable(name: str) -> bool:
    """Whether an identifier in a pattern is a variable: constants and variants begin with a capital."""
    return name != "_" and not name[:1].isupper()


def _bound(walk: Walk, pattern: Node | None, term: Term) -> Iterator[tuple[Node, Term]]:
    """Yield the variables of a pattern, each with its value."""
    waiting: list[tuple[Node, Term]] = [(pattern, term)] if pattern is not None else []
    while waiting:
        node, value = waiting.pop()
        if node.type in {"identifier", "shorthand_field_identifier"}:
            if _is_variable(walk.text(node)):
                yield node, value
        elif node.type == "tuple_pattern":
            parts = _without_comments(node)
            waiting += [(each, value and ("field", value, str(at))) for at, each in enumerate(parts)]
        elif node.type == "tuple_struct_pattern":
            names = _names(walk, field_of(node, "type"))
            parts = _without_comments(node)[1:]
            waiting += [(each, value and ("part", value, names, str(at))) for at, each in enumerate(parts)]
        elif node.type == "struct_pattern":
            names = _names(walk, field_of(node, "type"))
            for each in node.named_children:
                name = field_of(each, "name") if each.type == "field_pattern" else None
                if name is not None:
                    part = value and ("part", value, names, walk.text(name))
                    waiting.append((field_of(each, "pattern") or name, part))
        elif node.type == "slice_pattern":
            waiting += [(each, value and ("index", value)) for each in node.named_children]
        elif node.type in {
            "mut_pattern", "ref_pattern", "reference_pattern", "captured_pattern", "or_pattern",
        }:  # fmt: skip
            waiting += [(each, value) for each in node.named_children]


def _bind_pattern(walk: Walk, pattern: Node | None, term: Term) -> None:
    for node, value in _bound(walk, pattern, term):
        place = walk.places.get(node.id)
        if place is not None:
            walk.scopes[place[0]].names[walk.text(node)][place[1]] = value


def _sort_seen(walk: Walk, _node: Node, _here: int) -> None:
    for spans in walk.seen.values():
        spans.sort()


def _variable(walk: Walk, node: Node) -> Term:
    """Return an identifier: the innermost variable that is seen at its place, else a name of the module."""
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


# --- functions, types and modules ------------------------------------------------------------------


def _without_comments(node: Node) -> list[Node]:
    return [each for each in node.named_children if not each.type.endswith("_comment")]


def _parameters(node: Node) -> list[Node]:
    """Return a function's or closure's parameters, without `self`."""
    parameters = field_of(node, "parameters")
    left_out = {"self_parameter", "attribute_item", "variadic_parameter"}
    found = _without_comments(parameters) if parameters is not None else []
    return [each for each in found if each.type not in left_out]


def _function(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.scope(node), field_of(node, "name")
    if index is None or name is None:
        return
    scope, around = walk.scopes[index], walk.scopes[here]
    scope.type_params = _type_params(walk, node)
    result = field_of(node, "return_type")
    scope.return_type = walk.type(result) if result is not None else ("ref", ("()",), ())
    if any(each.type == "function_modifiers" and "async" in walk.text(each) for each in node.children):
        scope.return_type = ("ref", ("Future",), (scope.return_type,))
    _take_parameters(walk, node, index)
    bind(around.members if around.kind in _IMPLS else around.statics, _plain(walk, name), ("scope", index))


def _closure(walk: Walk, node: Node, _here: int) -> None:
    index = walk.scope(node)
    if index is not None:
        scope = walk.scopes[index]
        scope.return_type = walk.type(field_of(node, "return_type"))
        scope.returns.append(walk.lower(field_of(node, "body")))
        _take_parameters(walk, node, index)


def _take_parameters(walk: Walk, node: Node, index: int) -> None:
    for place, each in enumerate(_parameters(node)):
        walk.scopes[index].params.append((walk.type(field_of(each, "type")), None))
        _bind_pattern(walk, field_of(each, "pattern") or each, ("param", index, place))


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
    return [(name, _union(found)) for name, found in bounds.items()]


def _bounds(walk: Walk, node: Node | None) -> list[Term]:
    return [walk.type(each) for each in node.named_children] if node is not None else []


def _union(found: Iterable[Term]) -> Term:
    known = tuple([each for each in found if each is not None])
    return known[0] if len(known) == 1 else ("union", known) if known else None


def _type_item(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.scope(node), field_of(node, "name")
    if index is None or name is None:
        return
    scope, text = walk.scopes[index], _plain(walk, name)
    scope.type_params = _type_params(walk, node)
    bind(walk.scopes[here].types, text, ("scope", index))
    body = field_of(node, "body")
    if node.type != "enum_item":
        _fields(walk, body, index)
        if body is None or body.type == "ordered_field_declaration_list":
            bind(walk.scopes[here].statics, text, ("scope", index))


def _variant(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.scope(node), field_of(node, "name")
    if index is not None and name is not None:
        bind(walk.scopes[here].statics, _plain(walk, name), ("scope", index))
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
            bind(members, _plain(walk, name), ("typed", walk.type(field_of(each, "type"))))


def _trait(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.scope(node), field_of(node, "name")
    if index is not None and name is not None:
        scope = walk.scopes[index]
        scope.type_params = _type_params(walk, node)
        scope.bases += _bounds(walk, field_of(node, "bounds"))
        bind(walk.scopes[here].types, _plain(walk, name), ("scope", index))


def _impl(walk: Walk, node: Node, _here: int) -> None:
    index = walk.scope(node)
    if index is not None:
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
    index, text = walk.scope(node), _plain(walk, name)
    if index is not None and field_of(node, "body") is not None:
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


def _plain(walk: Walk, node: Node) -> str:
    """Return a name without the mark of a raw identifier."""
    return walk.text(node).removeprefix("r#")


# --- paths and imports -----------------------------------------------------------------------------


def _names(walk: Walk, node: Node | None) -> tuple[str, ...]:
    """Return the names of a path, without the arguments of generic types in it; () for what is no path."""
    found: list[str] = []
    while node is not None:
        if node.type in {"generic_type", "generic_type_with_turbofish", "generic_function"}:
            node = field_of(node, "type") or field_of(node, "function")
        elif node.type in {"scoped_identifier", "scoped_type_identifier"}:
            name = field_of(node, "name")
            found.append(_plain(walk, name) if name is not None else "")
            path = field_of(node, "path")
            if path is None and walk.text(node).startswith("::"):
                found.append("::")
            node = path
        elif node.type in {
            "identifier", "type_identifier", "self", "super", "crate", "primitive_type", "metavariable",
        }:  # fmt: skip
            found.append(_plain(walk, node))
            node = None
        else:
            return ()
    return tuple(reversed(found))


def _use(walk: Walk, node: Node, here: int) -> None:
    scope = walk.scopes[here]
    argument = field_of(node, "argument")
    waiting: list[tuple[Node, tuple[str, ...]]] = [(argument, ())] if argument is not None else []
    while waiting:
        each, above = waiting.pop()
        if each.type == "use_as_clause":
            alias = field_of(each, "alias")
            if alias is not None:
                _imported(walk, here, _plain(walk, alias), (*above, *_names(walk, field_of(each, "path"))))
        elif each.type == "use_wildcard":
            inner = each.named_children[0] if each.named_child_count else None
            scope.bases.append(("use", (*above, *_names(walk, inner))))
        elif each.type == "scoped_use_list":
            listed = field_of(each, "list")
            if listed is not None:
                waiting.append((listed, (*above, *_names(walk, field_of(each, "path")))))
        elif each.type == "use_list":
            waiting += [(inner, above) for inner in each.named_children]
        else:
            names = _names(walk, each)
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
    _bind_pattern(walk, field_of(node, "pattern"), term)


def _condition(walk: Walk, node: Node, _here: int) -> None:
    _bind_pattern(walk, field_of(node, "pattern"), walk.lower(field_of(node, "value")))


def _loop(walk: Walk, node: Node, _here: int) -> None:
    value = walk.lower(field_of(node, "value"))
    _bind_pattern(walk, field_of(node, "pattern"), value and ("element", value))


def _match(walk: Walk, node: Node, _here: int) -> None:
    value, body = walk.lower(field_of(node, "value")), field_of(node, "body")
    for arm in body.named_children if body is not None else ():
        pattern = field_of(arm, "pattern") if arm.type == "match_arm" else None
        if pattern is not None and pattern.named_child_count:
            _bind_pattern(walk, pattern.named_children[0], value)


def _call(walk: Walk, node: Node, here: int) -> None:
    function = field_of(node, "function")
    callee = _callee(walk, function)
    if function is None or callee is None:
        return
    bare, types = _without_turbofish(walk, function)
    walk.call(here, field_of(bare, "field") or field_of(bare, "name") or bare, callee, _shape(walk, bare))
    arguments = field_of(node, "arguments")
    for place, each in enumerate(_without_comments(arguments) if arguments is not None else ()):
        index = walk.scope(each)
        if index is not None and each.type == "closure_expression":
            walk.scopes[index].context = ("argument", callee, place, types, None)


def _shape(walk: Walk, function: Node) -> str:
    if function.type == "field_expression":
        receiver = field_of(function, "value")
        kind = receiver.type if receiver is not None else ""
        return {
            "self": "this.m()", "identifier": "obj.m()", "call_expression": "f().m()",
            "field_expression": "obj.attr.m()",
        }.get(kind, "….m()")  # fmt: skip
    if function.type == "scoped_identifier":
        return "this.m()" if walk.text(function).startswith("Self::") else "a::f()"
    return "f()"


def _without_turbofish(walk: Walk, function: Node) -> tuple[Node, tuple[Term, ...]]:
    if function.type == "generic_function":
        return field_of(function, "function") or function, _types(walk, field_of(function, "type_arguments"))
    return function, ()


def _callee(walk: Walk, function: Node | None) -> Term:
    """Return what is called; a field is called in parentheses only."""
    if function is None:
        return None
    bare, _ = _without_turbofish(walk, function)
    if bare.type == "field_expression":
        key = field_of(bare, "field")
        base = walk.lower(field_of(bare, "value"))
        return ("attribute", base, _plain(walk, key)) if key is not None else None
    return walk.lower(bare)


# --- expressions -----------------------------------------------------------------------------------


def _inner(walk: Walk, node: Node) -> Term:
    value = field_of(node, "value") or next(iter(_without_comments(node)), None)
    return walk.lower(value)


def _path(walk: Walk, node: Node) -> Term:
    names, path = _names(walk, node), field_of(node, "path")
    if path is not None and path.type in {"generic_type", "bracketed_type", "generic_type_with_turbofish"}:
        name, owner = field_of(node, "name"), walk.type(path)
        return ("assoc", owner, walk.text(name)) if owner is not None and name is not None else None
    return ("path", names) if names else None


def _called(walk: Walk, node: Node) -> Term:
    function, arguments = field_of(node, "function"), field_of(node, "arguments")
    callee = _callee(walk, function)
    if function is None or callee is None:
        return None
    _, types = _without_turbofish(walk, function)
    given = _without_comments(arguments)[:_MAX_ARGUMENTS] if arguments is not None else ()
    return ("call", callee, types, tuple(map(walk.lower, given)))


def _field(walk: Walk, node: Node) -> Term:
    key, base = field_of(node, "field"), walk.lower(field_of(node, "value"))
    return ("field", base, _plain(walk, key)) if key is not None and base is not None else None


def _wrapped(kind: str) -> Lowering:
    def lower(walk: Walk, node: Node) -> Term:
        inner = _inner(walk, node)
        return (kind, inner) if inner is not None else None

    return lower


def _tail(walk: Walk, node: Node) -> Term:
    """Return the value of a block: its last expression, where no semicolon follows."""
    parts = _without_comments(node)
    if not parts:
        return None
    last = parts[-1]
    if last.type == "expression_statement":
        inner = last.named_children[0] if last.named_child_count else None
        has_end = walk.text(last).endswith(";")
        return walk.lower(inner) if inner is not None and not has_end else None
    return walk.lower(last)


def _async_block(walk: Walk, node: Node) -> Term:
    block = next((each for each in node.named_children if each.type == "block"), None)
    return ("future", walk.lower(block))


def _block_inside(walk: Walk, node: Node) -> Term:
    return walk.lower(next((each for each in node.named_children if each.type == "block"), None))


def _either(walk: Walk, node: Node) -> Term:
    other = field_of(node, "alternative")
    inner = other.named_children[0] if other is not None and other.named_child_count else None
    return _one_of((walk.lower(field_of(node, "consequence")), walk.lower(inner)))


def _arms(walk: Walk, node: Node) -> Term:
    body = field_of(node, "body")
    arms = [each for each in body.named_children if each.type == "match_arm"] if body is not None else []
    return _one_of(walk.lower(field_of(each, "value")) for each in arms[:8])


def _one_of(terms: Iterable[Term]) -> Term:
    found = tuple(dict.fromkeys([each for each in terms if each is not None]))
    return found[0] if len(found) == 1 else ("one_of", found) if found else None


def _made(walk: Walk, node: Node) -> Term:
    return ("typed", walk.type(field_of(node, "name")))


def _cast(walk: Walk, node: Node) -> Term:
    return ("typed", walk.type(field_of(node, "type")))


def _operation(_walk: Walk, node: Node) -> Term:
    operator = field_of(node, "operator")
    is_test = operator is not None and operator.type in {"==", "!=", "<", ">", "<=", ">=", "&&", "||"}
    return _literal("bool") if is_test else None


def _several(kind: str) -> Lowering:
    return lambda walk, node: (kind, tuple(map(walk.lower, _without_comments(node)[:8])))


def _index(walk: Walk, node: Node) -> Term:
    parts = _without_comments(node)
    base = walk.lower(parts[0]) if len(parts) == 2 else None
    if base is None or parts[1].type == "range_expression":
        return base
    return ("index", base)


def _own_scope(walk: Walk, node: Node) -> Term:
    index = walk.scope(node)
    return ("scope", index) if index is not None else None


def _literal(name: str) -> Term:
    return ("typed", ("ref", (name,), ()))


def _macro(walk: Walk, node: Node) -> Term:
    name = field_of(node, "macro")
    text = walk.text(name).rpartition(":")[2] if name is not None else ""
    if text in {"format", "concat", "stringify"}:
        return _literal("String")
    tokens = next((each for each in node.named_children if each.type == "token_tree"), None)
    root = walk.embedded.get(tokens.start_byte) if tokens is not None else None
    if text != "vec" or root is None or not root.named_child_count:
        return None
    inner = root.named_children[0]
    if inner.type == "expression_statement" and inner.named_child_count:
        inner = inner.named_children[0]
    found = walk.lower(inner) if inner.type == "array_expression" else None
    return ("vec", found[1]) if found is not None else _literal("Vec")


_EXPRESSIONS: dict[str, Lowering] = {
    "identifier": _variable,
    "self": lambda _walk, _node: ("this",),
    "scoped_identifier": _path,
    "generic_function": lambda walk, node: walk.lower(field_of(node, "function")),
    "call_expression": _called,
    "field_expression": _field,
    "index_expression": _index,
    "try_expression": _wrapped("try"),
    "await_expression": _wrapped("await"),
    "async_block": _async_block,
    "unsafe_block": _block_inside,
    "block": _tail,
    "if_expression": _either,
    "match_expression": _arms,
    "struct_expression": _made,
    "type_cast_expression": _cast,
    "binary_expression": _operation,
    "tuple_expression": _several("tuple"),
    "array_expression": _several("list"),
    "closure_expression": _own_scope,
    "macro_invocation": _macro,
    "string_literal": lambda _walk, _node: _literal("str"),
    "raw_string_literal": lambda _walk, _node: _literal("str"),
    "boolean_literal": lambda _walk, _node: _literal("bool"),
    "char_literal": lambda _walk, _node: _literal("char"),
    "unit_expression": lambda _walk, _node: _literal("()"),
    **dict.fromkeys(("parenthesized_expression", "reference_expression", "unary_expression"), _inner),
}


# --- types -----------------------------------------------------------------------------------------


def _types(walk: Walk, node: Node | None) -> tuple[Term, ...]:
    """Return type arguments, those of associated types (`Iterator<Item = T>`) like the others."""
    found = _without_comments(node) if node is not None else []
    return tuple([
        walk.type(field_of(each, "type") if each.type == "type_binding" else each)
        for each in found
        if each.type != "lifetime"
    ])  # fmt: skip


def _reference(walk: Walk, node: Node) -> Term:
    names = _names(walk, node)
    if names == ("Self",):
        return ("this_type",)
    if not names:  # `<T as Trait>::Item`
        name, path = field_of(node, "name"), field_of(node, "path")
        owner = walk.type(path)
        return ("member_type", owner, walk.text(name)) if owner is not None and name is not None else None
    return ("ref", names, ())


def _generic(walk: Walk, node: Node) -> Term:
    names = _names(walk, field_of(node, "type"))
    return ("ref", names, _types(walk, field_of(node, "type_arguments"))) if names else None


def _first_type(walk: Walk, node: Node) -> Term:
    inner = field_of(node, "type") or field_of(node, "trait") or next(iter(_without_comments(node)), None)
    return walk.type(inner)


def _function_type(walk: Walk, node: Node) -> Term:
    parameters = tuple([
        walk.type(field_of(each, "type") if each.type == "parameter" else each) for each in _parameters(node)
    ])  # fmt: skip
    return ("function", parameters, walk.type(field_of(node, "return_type")), ())


_TYPES = {
    "type_identifier": _reference,
    "identifier": _reference,
    "self": _reference,
    "scoped_type_identifier": _reference,
    "scoped_identifier": _reference,
    "primitive_type": _reference,
    "generic_type": _generic,
    "generic_type_with_turbofish": _generic,
    "reference_type": _first_type,
    "dynamic_type": _first_type,
    "abstract_type": _first_type,
    "bracketed_type": _first_type,
    "qualified_type": _first_type,
    "higher_ranked_trait_bound": _first_type,
    "parenthesized_type": _first_type,
    "bounded_type": lambda walk, node: _union(map(walk.type, node.named_children)),
    "trait_bounds": lambda walk, node: _union(map(walk.type, node.named_children)),
    "tuple_type": lambda walk, node: ("ref", ("(,)",), _types(walk, node)),
    "array_type": lambda walk, node: ("ref", ("[]",), (walk.type(field_of(node, "element")),)),
    "unit_type": lambda _walk, _node: ("ref", ("()",), ()),
    "function_type": _function_type,
}


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
        **dict.fromkeys((*_FUNCTIONS, "closure_expression"), _see_parameters),
        "block": _see_lets,
        "for_expression": _see_loop,
        **dict.fromkeys(("if_expression", "while_expression"), _see_condition),
        "match_arm": _see_arm,
    },
    handlers={
        "source_file": _sort_seen,
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
    expressions=_EXPRESSIONS,
    types=_TYPES,
    nodes=_nodes,
)
