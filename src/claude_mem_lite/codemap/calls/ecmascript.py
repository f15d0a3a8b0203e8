"""Read the facts of a TypeScript or JavaScript file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.codemap.calls.walker import Table, Walk, bind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from claude_mem_lite.codemap.calls.facts import Term

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_CLASSES = frozenset({"class", "interface", "object"})
_AROUND = frozenset({
    "parenthesized_expression", "satisfies_expression", "non_null_expression", "parenthesized_type",
    "readonly_type", "type_annotation", "constraint", "default_type", "optional_type", "rest_type",
})  # fmt: skip
_RESULTS = ("type_annotation", "type_predicate_annotation", "asserts_annotation")
_MODIFIERS = frozenset({"accessibility_modifier", "override_modifier", "decorator"})
_PLAIN = frozenset({"identifier", "string", "number", "member_expression", "true", "false", "null", "this"})
_SHAPES = {"identifier": "obj.m()", "call_expression": "f().m()", "member_expression": "obj.attr.m()"}
_LITERALS = frozenset({"string", "template_string", "number", "true", "false", "null"})
_KEYS = frozenset(
    {"property_identifier", "private_property_identifier", "identifier", "shorthand_property_identifier"}
)


# --- scopes and what they hold ---------------------------------------------------------------------


def _function(walk: Walk, node: Node, here: int) -> None:
    """Take in a function's head; its name is bound around it where it is declared."""
    index = walk.scope(node)
    if index is None:
        return
    scope = walk.scopes[index]
    name = node.child_by_field_name("name")
    head = walk.parsed.data[
        node.start_byte : name.start_byte if name is not None else node.start_byte + 6
    ].split()
    scope.flags += [flag for flag in ("static", "async", "get", "set") if flag.encode() in head]
    scope.flags += ["arrow"] if node.type == "arrow_function" else []
    parts = {each.type: each for each in node.named_children}  # one look: a look for a field is as long
    scope.return_type = walk.type(next((parts[each] for each in _RESULTS if each in parts), None))
    if "type_parameters" in parts:
        scope.type_params = _type_params(walk, parts["type_parameters"])
    parameters = parts.get("formal_parameters")
    if parameters is None:
        single = node.child_by_field_name("parameter")
        found = [single] if single is not None else []
    else:
        found = parameters.named_children
    place = 0
    for each in found:
        if each.type != "comment":
            place += _parameter(walk, each, index, place)
    if node.type == "arrow_function" and "statement_block" not in parts:
        body = node.child_by_field_name("body")
        scope.returns.append(walk.lower(body))
        _expect(walk, body, ("returned", index))
    if name is None:
        return
    text = walk.text(name)
    if node.type in {"function_declaration", "generator_function_declaration", "function_signature"}:
        bind(walk.scopes[here].names, text, ("scope", index))
    elif node.type in _FUNCTIONS:
        bind(scope.names, text, ("scope", index))
    elif walk.scopes[here].kind in _CLASSES and name.type in _KEYS:
        is_value = {"get", "set"} & set(scope.flags)
        term = ("call", ("scope", index), ()) if is_value else ("scope", index)
        if "set" not in scope.flags:
            _member(walk, here, text, term, is_static="static" in scope.flags)


def _member(walk: Walk, owner: int, name: str, term: Term, *, is_static: bool = False) -> None:
    scope = walk.scopes[owner]
    bind(scope.statics if is_static else scope.members, name, term)


def _expect(walk: Walk, node: Node | None, term: Term) -> None:
    """Note what is expected where a function or an object is written, or the result of a call."""
    inner = _bare(node)
    if inner is None:
        return
    index = walk.scope(inner)
    if index is not None:
        walk.scopes[index].context = term
    elif inner.type == "call_expression" and term and term[0] == "typed":
        walk.declared[inner.id] = term[1]


def _parameter(walk: Walk, node: Node, index: int, place: int) -> int:
    """Take in a parameter; return 0 for TypeScript's `this`, which is none, else 1."""
    scope = walk.scopes[index]
    pattern, declared, default = node, None, None
    is_field = False
    if node.type in {"required_parameter", "optional_parameter"}:
        parts = node.named_children
        while parts and parts[0].type in _MODIFIERS:
            is_field = is_field or parts[0].type != "decorator"
            del parts[0]
        if not parts:
            return 0
        pattern, kind = parts[0], parts[1].type if len(parts) > 1 else ""
        declared = walk.type(parts[1]) if kind == "type_annotation" else None
        default = parts[-1] if len(parts) > 1 + (kind == "type_annotation") else None
        is_field = is_field or node.children[0].type == "readonly"
        if pattern.type == "this":
            bind(scope.names, "this", ("typed", declared))
            return 0
    elif node.type == "assignment_pattern":
        left, default = node.child_by_field_name("left"), node.child_by_field_name("right")
        pattern = left or node
    scope.params.append((declared, walk.lower(default)))
    for name, bound in _bound(walk, pattern, ("param", index, place)):
        bind(scope.names, name, bound)
        if is_field:
            _member(walk, scope.parent, name, bound)
    return 1


def _bound(walk: Walk, pattern: Node, term: Term) -> Iterator[tuple[str, Term]]:
    """Yield the names of a pattern, each with what it stands for."""
    waiting: list[tuple[Node, Term]] = [(pattern, term)]
    while waiting:
        node, value = waiting.pop()
        if node.type in {"identifier", "shorthand_property_identifier_pattern"}:
            name = walk.text(node)
            yield name, value if node.type == "identifier" else ("attribute", value, name)
        elif node.type == "object_pattern":
            waiting += [(each, value) for each in node.named_children]
        elif node.type == "pair_pattern":
            key, inner = node.child_by_field_name("key"), node.child_by_field_name("value")
            if key is not None and inner is not None:
                waiting.append((inner, ("attribute", value, walk.text(key)) if key.type in _KEYS else None))
        elif node.type == "array_pattern":
            waiting += [(each, ("element", value)) for each in node.named_children]
        elif node.type in {"assignment_pattern", "object_assignment_pattern"}:
            left = node.child_by_field_name("left")
            if left is not None:
                waiting.append((left, value))


def _type_params(walk: Walk, node: Node | None) -> list[tuple[str, Term]]:
    """Return type parameters with their constraints, or their defaults."""
    found = []
    for each in node.named_children if node is not None else ():
        name = each.child_by_field_name("name")
        if name is not None:
            limit = each.child_by_field_name("constraint") or each.child_by_field_name("value")
            found.append((walk.text(name), walk.type(limit)))
    return found


def _class(walk: Walk, node: Node, here: int) -> None:
    index = walk.scope(node)
    if index is None:
        return
    scope, name = walk.scopes[index], node.child_by_field_name("name")
    scope.type_params = _type_params(walk, node.child_by_field_name("type_parameters"))
    for child in node.named_children:
        if child.type == "class_heritage":
            parts = child.named_children
            if not any(each.type.endswith("_clause") for each in parts):
                scope.bases += [walk.lower(each) for each in parts]
            for part in parts:
                if part.type == "extends_clause":
                    base, types = (
                        walk.lower(part.child_by_field_name("value")),
                        part.child_by_field_name("type_arguments"),
                    )
                    scope.bases.append(("new", base, _types(walk, types)) if base else None)
                elif part.type == "implements_clause":
                    scope.bases += [("typed", walk.type(each)) for each in part.named_children]
        elif child.type == "extends_type_clause":
            scope.bases += [("typed", walk.type(each)) for each in child.named_children]
    if name is None:
        return
    text, around = walk.text(name), walk.scopes[here]
    if node.type == "class":
        around = scope
    bind(around.types, text, ("scope", index))
    if node.type != "interface_declaration":
        bind(around.names, text, ("scope", index))


def _types(walk: Walk, node: Node | None) -> tuple[Term, ...]:
    return tuple([walk.type(each) for each in node.named_children]) if node is not None else ()


def _namespace(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.scope(node), node.child_by_field_name("name")
    if index is not None and name is not None and name.type == "identifier":
        text = walk.text(name)
        bind(walk.scopes[here].names, text, ("scope", index))
        bind(walk.scopes[here].types, text, ("scope", index))


def _alias(walk: Walk, node: Node, here: int) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None:
        term = (
            "alias",
            walk.type(value),
            tuple(_type_params(walk, node.child_by_field_name("type_parameters"))),
        )
        bind(walk.scopes[here].types, walk.text(name), term)


def _field(walk: Walk, node: Node, here: int) -> None:
    """Take in a field of a class, an interface or a shape."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is None or name.type not in _KEYS:
        return
    declared, value = walk.type(node.child_by_field_name("type")), node.child_by_field_name("value")
    is_static = b"static" in walk.parsed.data[node.start_byte : name.start_byte].split()
    text = walk.text(name)
    _declared(
        walk, walk.scopes[here].statics if is_static else walk.scopes[here].members, text, declared, value
    )


def _declared(
    walk: Walk, terms: dict[str, list[Term]], name: str, declared: Term, value: Node | None
) -> None:
    """Bind a name to the function that it is given, else to its declared type, else to what it is given."""
    inner = _bare(value)
    index = walk.scope(inner) if inner is not None else None
    if declared is not None:
        _expect(walk, value, ("typed", declared))
    if index is not None and inner is not None and (declared is None or inner.type in _FUNCTIONS):
        bind(terms, name, ("scope", index))
    elif declared is not None:
        bind(terms, name, ("typed", declared))
    elif value is not None:
        bind(terms, name, walk.lower(value))


def _variable(walk: Walk, node: Node, here: int) -> None:
    parts = node.named_children
    if not parts:
        return
    name, kind = parts[0], parts[1].type if len(parts) > 1 else ""
    value = parts[-1] if len(parts) > 1 + (kind == "type_annotation") else None
    names = walk.scopes[here].names
    declared = walk.type(parts[1]) if kind == "type_annotation" else None
    if name.type == "identifier":
        if value is not None or declared is not None:
            _declared(walk, names, walk.text(name), declared, value)
        else:
            names.setdefault(walk.text(name), [])
        return
    term = ("typed", declared) if declared is not None else walk.lower(value)
    for text, bound in _bound(walk, name, term):
        bind(names, text, bound)


def _object(walk: Walk, node: Node, _here: int) -> None:
    index = walk.scope(node)
    if index is None:
        return
    scope = walk.scopes[index]
    for child in node.named_children:
        if child.type == "pair":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and key.type in _KEYS:
                name = walk.text(key)
                if value is not None and value.type not in _LITERALS:
                    _expect(walk, value, ("attribute", ("expected", index), name))
                    bind(scope.members, name, walk.lower(value))
        elif child.type == "shorthand_property_identifier":
            name = walk.text(child)
            bind(scope.members, name, ("name", name))
        elif child.type == "spread_element" and child.named_child_count:
            scope.bases.append(walk.lower(child.named_children[0]))


def _loop(walk: Walk, node: Node, here: int) -> None:
    left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
    if left is None or operator is None or operator.type != "of":
        return
    for name, bound in _bound(walk, left, ("element", walk.lower(node.child_by_field_name("right")))):
        bind(walk.scopes[here].names, name, bound)


def _return(walk: Walk, node: Node, here: int) -> None:
    if node.named_child_count:
        value = node.named_children[0]
        walk.scopes[here].returns.append(walk.lower(value))
        _expect(walk, value, ("returned", here))


def _assignment(walk: Walk, node: Node, here: int) -> None:
    """Take in what is given to a name, a field or an export."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    if left.type == "identifier":
        name = walk.text(left)
        owner: int = here
        while owner > 0 and name not in walk.scopes[owner].names:
            owner = walk.scopes[owner].parent
        known = walk.scopes[owner].names.get(name)
        if known is not None and not any(each and each[0] == "typed" for each in known):
            bind(walk.scopes[owner].names, name, walk.lower(right))
        return
    if left.type != "member_expression":
        return
    inner, key = left.child_by_field_name("object"), left.child_by_field_name("property")
    if inner is None or key is None:
        return
    name, path = walk.text(key), _path(walk, inner)
    value = walk.lower(right)
    if path == "this":
        owner = _this(walk, here)
        if not _is_declared(walk.scopes[owner].members.get(name)):
            _member(walk, owner, name, value)
    elif path == "module" and name == "exports":
        bind(walk.exports, "default", value)
        bind(walk.exports, "=", value)
    elif path in {"exports", "module.exports"}:
        bind(walk.exports, name, value)
    elif path:
        head, _, rest = path.partition(".")
        names = walk.scopes[here].names if head in walk.scopes[here].names else walk.scopes[0].names
        for each in names.get(head, []):
            if each and each[0] == "scope" and rest in {"", "prototype"}:
                _member(
                    walk, each[1], name, value, is_static=not rest and walk.scopes[each[1]].kind != "object"
                )


def _is_declared(terms: list[Term] | None) -> bool:
    return any(each and each[0] == "typed" for each in terms or ())


def _this(walk: Walk, here: int) -> int:
    """Return the scope that `this` is an instance of, the module where it is none."""
    while here > 0:
        scope = walk.scopes[here]
        if scope.kind in {"class", "interface"}:
            return here
        if scope.kind == "function" and "arrow" not in scope.flags:
            around = walk.scopes[scope.parent].kind
            if around not in {"class", "interface"}:
                return scope.parent if around == "object" else here
        here = scope.parent
    return 0


def _path(walk: Walk, node: Node) -> str:
    if node.type in {"identifier", "this"}:
        return walk.text(node)
    inner, key = node.child_by_field_name("object"), node.child_by_field_name("property")
    if (
        node.type != "member_expression"
        or inner is None
        or key is None
        or inner.type not in {"identifier", "this"}
    ):
        return ""
    return f"{walk.text(inner)}.{walk.text(key)}"


# --- imports and exports ---------------------------------------------------------------------------


def _string(walk: Walk, node: Node | None) -> str:
    if node is None or node.type != "string":
        return ""
    return walk.text(node)[1:-1]


def _import(walk: Walk, node: Node, here: int) -> None:
    module = _string(walk, node.child_by_field_name("source"))
    for clause in node.named_children:
        if clause.type == "import_require_clause" and clause.named_child_count:
            module = _string(walk, clause.child_by_field_name("source"))
            _imported(walk, here, walk.text(clause.named_children[0]), ("import", module, "="))
        if clause.type != "import_clause":
            continue
        for each in clause.named_children:
            if each.type == "identifier":
                _imported(walk, here, walk.text(each), ("import", module, "default"))
            elif each.type == "namespace_import" and each.named_child_count:
                _imported(walk, here, walk.text(each.named_children[-1]), ("import", module, "*"))
            elif each.type == "named_imports":
                for inner in each.named_children:
                    name, alias = inner.child_by_field_name("name"), inner.child_by_field_name("alias")
                    if name is not None:
                        text = walk.text(name)
                        _imported(
                            walk,
                            here,
                            walk.text(alias) if alias is not None else text,
                            ("import", module, text),
                        )


def _imported(walk: Walk, here: int, name: str, term: Term) -> None:
    bind(walk.scopes[here].names, name, term)
    bind(walk.scopes[here].types, name, term)


def _export(walk: Walk, node: Node, here: int) -> None:
    source, scope = node.child_by_field_name("source"), walk.scopes[here]
    module = _string(walk, source)
    is_default = any(child.type == "default" for child in node.children)
    is_clause = False
    for child in node.named_children:
        if child.type == "namespace_export" and child.named_child_count:
            bind(walk.exports, walk.text(child.named_children[0]), ("import", module, "*"))
            is_clause = True
        elif child.type == "export_clause":
            is_clause = True
            for each in child.named_children:
                name, alias = each.child_by_field_name("name"), each.child_by_field_name("alias")
                if name is not None:
                    text = walk.text(name)
                    term = ("import", module, text) if module else ("name", text)
                    bind(walk.exports, walk.text(alias) if alias is not None else text, term)
    if module and not is_clause:
        walk.stars.append(module)
    value, declaration = node.child_by_field_name("value"), node.child_by_field_name("declaration")
    if value is not None and here == 0:
        bind(walk.exports, "default", walk.lower(value))
    if declaration is None:
        if any(child.type == "=" for child in node.children) and node.named_child_count:
            bind(walk.exports, "=", walk.lower(node.named_children[0]))
        return
    terms = scope.statics if here else walk.exports
    for text, index in _declared_names(walk, declaration):
        bind(terms, "default" if is_default else text, ("name", text) if text else ("scope", index))


def _declared_names(walk: Walk, node: Node) -> Iterator[tuple[str, int | None]]:
    if node.type in {"lexical_declaration", "variable_declaration"}:
        for each in node.named_children:
            name = each.child_by_field_name("name")
            if name is not None:
                yield from ((text, None) for text, _ in _bound(walk, name, None))
        return
    if node.type == "ambient_declaration":
        for each in node.named_children:
            yield from _declared_names(walk, each)
        return
    name = node.child_by_field_name("name")
    index = walk.scope(node)
    if name is not None:
        yield walk.text(name), index
    elif index is not None:
        yield "", index


# --- calls -----------------------------------------------------------------------------------------


def _call(walk: Walk, node: Node, here: int) -> None:
    parts = node.named_children
    if not parts or parts[0].type == "import":
        return
    callee = walk.lower(parts[0])
    if callee is None:
        return
    bare = _bare(parts[0]) or parts[0]
    inner = bare.named_children if bare.type == "member_expression" else []
    shape = "new C()" if node.type == "new_expression" else _shape(bare, inner)
    walk.call(here, inner[-1] if inner else bare, callee, shape)
    if parts[-1].type != "arguments":
        return
    types = _type_arguments(walk, parts)
    place = 0
    for each in parts[-1].named_children:
        if each.type != "comment":
            if each.type not in _PLAIN:
                _expect(walk, each, ("argument", callee, place, types, walk.declared.get(node.id)))
            place += 1


def _type_arguments(walk: Walk, parts: list[Node]) -> tuple[Term, ...]:
    return next((_types(walk, each) for each in parts[1:] if each.type == "type_arguments"), ())


def _element(walk: Walk, node: Node, here: int) -> None:
    name = node.child_by_field_name("name")
    if name is None or (name.type == "identifier" and walk.text(name)[:1].islower()):
        return
    walk.call(here, name, walk.lower(name), "<C/>")


def _shape(function: Node, parts: list[Node]) -> str:
    if not parts:
        return "super()" if function.type == "super" else "f()"
    kind = parts[0].type
    if kind in {"this", "super"}:
        return f"{kind}.m()"
    return _SHAPES.get(kind, "….m()")


# --- expressions -----------------------------------------------------------------------------------


def _bare(node: Node | None) -> Node | None:
    while node is not None and node.type in _AROUND and node.named_child_count:
        node = node.named_children[0]
    return node


def _inner(walk: Walk, node: Node) -> Term:
    return walk.lower(node.named_children[0]) if node.named_child_count else None


def _attribute(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    return ("attribute", walk.lower(parts[0]), walk.text(parts[-1])) if len(parts) > 1 else None


def _cast(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    if len(parts) != 2:  # `as const`
        return _inner(walk, node)
    value, kind = (parts[1], parts[0]) if node.type == "type_assertion" else parts
    declared = walk.type(kind.named_children[0] if kind.type == "type_arguments" else kind)
    bare = _bare(value)
    if bare is not None and walk.scope(bare) is not None:
        return walk.lower(value)
    return ("typed", declared) if declared is not None else walk.lower(value)


def _called(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    if not parts:
        return None
    if parts[0].type in {"import", "identifier"} and parts[-1].type == "arguments":
        module = _string(walk, next(iter(parts[-1].named_children), None))
        if module and parts[0].type == "import":
            return ("new", ("name", "Promise"), (("type_of", ("import", module, "*")),))
        if module and walk.text(parts[0]) == "require":
            return ("import", module, "=")
    callee = walk.lower(parts[0])
    return ("call", callee, _type_arguments(walk, parts)) if callee is not None else None


def _made(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    callee = walk.lower(parts[0]) if parts else None
    return ("new", callee, _type_arguments(walk, parts)) if callee is not None else None


def _one_of(walk: Walk, node: Node) -> Term:
    names: tuple[str, ...] = (
        ("consequence", "alternative") if node.type == "ternary_expression" else ("left", "right")
    )
    if node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        if operator is None or operator.type not in {"||", "??", "&&"}:
            return ("typed", ("ref", ("number",), ()))
        names = ("right",) if operator.type == "&&" else names
    found = tuple(
        each for each in (walk.lower(node.child_by_field_name(name)) for name in names) if each is not None
    )
    return ("one_of", found) if found else None


def _last(walk: Walk, node: Node) -> Term:
    return walk.lower(node.named_children[-1]) if node.named_child_count else None


def _assigned(walk: Walk, node: Node) -> Term:
    return walk.lower(node.child_by_field_name("right"))


def _subscript(walk: Walk, node: Node) -> Term:
    base = walk.lower(node.child_by_field_name("object"))
    return ("element", base) if base is not None else None


def _awaited(walk: Walk, node: Node) -> Term:
    inner = _inner(walk, node)
    return ("await", inner) if inner is not None else None


def _own_scope(walk: Walk, node: Node) -> Term:
    index = walk.scope(node)
    return ("scope", index) if index is not None else None


def _array(walk: Walk, node: Node) -> Term:
    found = tuple([each for each in map(walk.lower, node.named_children[:4]) if each is not None])
    return ("new", ("name", "Array"), (("type_of", ("one_of", found)),) if found else ())


def _literal(name: str) -> Term:
    return ("typed", ("ref", (name,), ()))


_EXPRESSIONS = {
    "identifier": lambda walk, node: ("name", walk.text(node)),
    "this": lambda _walk, _node: ("this",),
    "super": lambda _walk, _node: ("super",),
    "member_expression": _attribute,
    "subscript_expression": _subscript,
    "call_expression": _called,
    "new_expression": _made,
    "await_expression": _awaited,
    "as_expression": _cast,
    "type_assertion": _cast,
    "ternary_expression": _one_of,
    "binary_expression": _one_of,
    "sequence_expression": _last,
    "assignment_expression": _assigned,
    "augmented_assignment_expression": _assigned,
    "instantiation_expression": _inner,
    "array": _array,
    "string": lambda _walk, _node: _literal("string"),
    "template_string": lambda _walk, _node: _literal("string"),
    "number": lambda _walk, _node: _literal("number"),
    "regex": lambda _walk, _node: _literal("RegExp"),
    "true": lambda _walk, _node: _literal("boolean"),
    "false": lambda _walk, _node: _literal("boolean"),
    "unary_expression": lambda _walk, _node: _literal("boolean"),
    **dict.fromkeys((*_FUNCTIONS, "class", "object"), _own_scope),
    **dict.fromkeys(("parenthesized_expression", "satisfies_expression", "non_null_expression"), _inner),
}  # fmt: skip


# --- types -----------------------------------------------------------------------------------------


def _inner_type(walk: Walk, node: Node) -> Term:
    return walk.type(node.named_children[0]) if node.named_child_count else None


def _reference(walk: Walk, node: Node) -> Term:
    return ("ref", tuple(walk.text(node).replace(" ", "").split(".")), ())


def _generic(walk: Walk, node: Node) -> Term:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return (
        "ref",
        tuple(walk.text(name).replace(" ", "").split(".")),
        _types(walk, node.child_by_field_name("type_arguments")),
    )


def _union(walk: Walk, node: Node) -> Term:
    found = tuple([each for each in map(walk.type, node.named_children) if each is not None])
    return ("union", found) if found else None


def _function_type(walk: Walk, node: Node) -> Term:
    found = node.child_by_field_name("parameters")
    types = []
    for each in found.named_children if found is not None else ():
        pattern = each.child_by_field_name("pattern")
        if each.type != "comment" and (pattern is None or pattern.type != "this"):
            types.append(walk.type(each.child_by_field_name("type")))
    result = walk.type(node.child_by_field_name("return_type") or node.child_by_field_name("type"))
    params = _type_params(walk, node.child_by_field_name("type_parameters"))
    return ("function", tuple(types), result, tuple(params))


def _lookup(walk: Walk, node: Node) -> Term:
    parts = node.named_children
    base = walk.type(parts[0]) if len(parts) == 2 else None
    if base is None or parts[1].type != "literal_type":
        return None
    return ("member_type", base, walk.text(parts[1]).strip("\"'"))


def _query(walk: Walk, node: Node) -> Term:
    return ("type_of", _inner(walk, node))


def _shape_type(walk: Walk, node: Node) -> Term:
    index = walk.scope(node)
    return ("shape", index) if index is not None else None


def _array_type(walk: Walk, node: Node) -> Term:
    return ("ref", ("Array",), (_inner_type(walk, node),))


def _tuple_type(walk: Walk, node: Node) -> Term:
    return ("ref", ("Array",), (_union(walk, node),))


_TYPES = {
    "type_identifier": _reference,
    "nested_type_identifier": _reference,
    "predefined_type": _reference,
    "generic_type": _generic,
    "array_type": _array_type,
    "tuple_type": _tuple_type,
    "union_type": _union,
    "intersection_type": _union,
    "function_type": _function_type,
    "object_type": _shape_type,
    "lookup_type": _lookup,
    "this_type": lambda _walk, _node: ("this_type",),
    "type_query": _query,
    "type_predicate_annotation": lambda _walk, _node: ("ref", ("boolean",), ()),
    "type_predicate": lambda _walk, _node: ("ref", ("boolean",), ()),
    "literal_type": lambda _walk, _node: ("ref", ("string",), ()),
    "template_literal_type": lambda _walk, _node: ("ref", ("string",), ()),
    **dict.fromkeys(
        ("type_annotation", "parenthesized_type", "readonly_type", "constraint", "default_type"), _inner_type
    ),
}  # fmt: skip

_FUNCTION_NODES = (
    "function_declaration", "generator_function_declaration", "function_signature", "function_expression",
    "generator_function", "arrow_function", "method_definition", "method_signature",
    "abstract_method_signature",
)  # fmt: skip
_CLASS_NODES = ("class_declaration", "abstract_class_declaration", "class", "enum_declaration")

TABLE = Table(
    scopes={
        **dict.fromkeys(_FUNCTION_NODES, "function"),
        **dict.fromkeys(_CLASS_NODES, "class"),
        "interface_declaration": "interface",
        "object_type": "interface",
        "object": "object",
        "internal_module": "namespace",
        "module": "namespace",
    },
    handlers={
        **dict.fromkeys(_FUNCTION_NODES, _function),
        **dict.fromkeys((*_CLASS_NODES, "interface_declaration"), _class),
        **dict.fromkeys(("internal_module", "module"), _namespace),
        "object": _object,
        "type_alias_declaration": _alias,
        **dict.fromkeys(("public_field_definition", "field_definition", "property_signature"), _field),
        "variable_declarator": _variable,
        **dict.fromkeys(("assignment_expression", "augmented_assignment_expression"), _assignment),
        "for_in_statement": _loop,
        "return_statement": _return,
        "import_statement": _import,
        "export_statement": _export,
        **dict.fromkeys(("call_expression", "new_expression"), _call),
        **dict.fromkeys(("jsx_opening_element", "jsx_self_closing_element"), _element),
    },
    expressions=_EXPRESSIONS,
    types=_TYPES,
)
