"""Read the facts of a TypeScript or JavaScript file."""

from claude_mem_lite.codemap.calls.ecmascript_names import (
    KEYS,
    bind_both,
    bind_exports,
    bind_import,
    bind_member,
    expect,
    names_bound,
    take_function,
)
from claude_mem_lite.codemap.calls.ecmascript_terms import (
    EXPRESSIONS,
    FUNCTIONS,
    TYPES,
    type_arguments_of,
    type_parameters,
    without_brackets,
)
from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.walker import Table, Walk, bind, field_of, listed, method_shape, types_of
from claude_mem_lite.codemap.languages.tree import Node

_PLAIN = frozenset({"identifier", "string", "number", "member_expression", "true", "false", "null", "this"})
_LITERALS = frozenset({"string", "template_string", "number", "true", "false", "null"})


def _class(walk: Walk, node: Node, here: int) -> None:
    index, name = walk.own(node), walk.named(node)
    scope = walk.scopes[index]
    scope.type_params = type_parameters(walk, node)
    for child in node.named_children:
        if child.type == "class_heritage":
            parts = child.named_children
            if not any(each.type.endswith("_clause") for each in parts):
                scope.bases += [walk.lower(each) for each in parts]
            for part in parts:
                if part.type == "extends_clause":
                    base, types = walk.lower(field_of(part, "value")), field_of(part, "type_arguments")
                    scope.bases.append(("new", base, types_of(walk, types)) if base else None)
                elif part.type == "implements_clause":
                    scope.bases += [("typed", walk.type(each)) for each in part.named_children]
        elif child.type == "extends_type_clause":
            scope.bases += [("typed", walk.type(each)) for each in child.named_children]
    if name is None:
        return
    around = scope if node.type == "class" else walk.scopes[here]
    bind(around.types, name, ("scope", index))
    if node.type != "interface_declaration":
        bind(around.names, name, ("scope", index))


def _namespace(walk: Walk, node: Node, here: int) -> None:
    name = field_of(node, "name")
    if name is not None and name.type == "identifier":
        bind_both(walk, here, walk.text(name), ("scope", walk.own(node)))


def _alias(walk: Walk, node: Node, here: int) -> None:
    name, value = walk.named(node), field_of(node, "value")
    if name is not None:
        term = ("alias", walk.type(value), tuple(type_parameters(walk, node)))
        bind(walk.scopes[here].types, name, term)


def _field(walk: Walk, node: Node, here: int) -> None:
    """Bind a field of a class, an interface or an object type."""
    name = field_of(node, "name") or field_of(node, "property")
    if name is None or name.type not in KEYS:
        return
    declared, value = walk.type(field_of(node, "type")), field_of(node, "value")
    is_static = b"static" in walk.parsed.data[node.start_byte : name.start_byte].split()
    terms = walk.scopes[here].statics if is_static else walk.scopes[here].members
    _declared(walk, terms, walk.text(name), declared, value)


def _declared(
    walk: Walk, terms: dict[str, list[Term]], name: str, declared: Term, value: Node | None
) -> None:
    """Bind a name to the function assigned to it, else to its declared type, else to its value."""
    inner = without_brackets(value) if value is not None else None
    index = walk.scope(inner) if inner is not None else None
    if declared is not None:
        expect(walk, value, ("typed", declared))
    if index is not None and inner is not None and (declared is None or inner.type in FUNCTIONS):
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
    for text, bound in names_bound(walk, name, term):
        bind(names, text, bound)


def _object(walk: Walk, node: Node, _here: int) -> None:
    index = walk.own(node)
    scope = walk.scopes[index]
    for child in node.named_children:
        if child.type == "pair":
            key, value = field_of(child, "key"), field_of(child, "value")
            if key is not None and key.type in KEYS:
                name = walk.text(key)
                if value is not None and value.type not in _LITERALS:
                    expect(walk, value, ("attribute", ("expected", index), name))
                    bind(scope.members, name, walk.lower(value))
        elif child.type == "shorthand_property_identifier":
            name = walk.text(child)
            bind(scope.members, name, ("name", name))
        elif child.type == "spread_element" and child.named_child_count:
            scope.bases.append(walk.lower(child.named_children[0]))


def _loop(walk: Walk, node: Node, here: int) -> None:
    left, operator = field_of(node, "left"), field_of(node, "operator")
    if left is None or operator is None or operator.type != "of":
        return
    for name, bound in names_bound(walk, left, ("element", walk.lower(field_of(node, "right")))):
        bind(walk.scopes[here].names, name, bound)


def _return(walk: Walk, node: Node, here: int) -> None:
    if node.named_child_count:
        value = node.named_children[0]
        walk.scopes[here].returns.append(walk.lower(value))
        expect(walk, value, ("returned", here))


def _assignment(walk: Walk, node: Node, here: int) -> None:
    """Bind a value that is assigned to a name, a field or an export."""
    left, right = field_of(node, "left"), field_of(node, "right")
    if left is None or right is None:
        return
    if left.type == "identifier":
        name = walk.text(left)
        names = walk.scopes[walk.declaring(name)].names
        if name in names and not _is_declared(names[name]):
            bind(names, name, walk.lower(right))
        return
    inner, key = field_of(left, "object"), walk.named(left, "property")
    if left.type != "member_expression" or inner is None or key is None:
        return
    name, path = key, _path(walk, inner)
    value = walk.lower(right)
    if path == "this":
        owner = _this(walk, here)
        if not _is_declared(walk.scopes[owner].members.get(name)):
            bind_member(walk, owner, name, value)
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
                bind_member(
                    walk, each[1], name, value, is_static=not rest and walk.scopes[each[1]].kind != "object"
                )


def _is_declared(terms: list[Term] | None) -> bool:
    return any(each and each[0] == "typed" for each in terms or ())


def _this(walk: Walk, here: int) -> int:
    """Return the scope that `this` is an instance of; the module's where there is none."""
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
    inner, key = field_of(node, "object"), walk.named(node, "property")
    is_plain = inner is not None and key is not None and inner.type in {"identifier", "this"}
    return f"{walk.text(inner)}.{key}" if node.type == "member_expression" and is_plain else ""


def _call(walk: Walk, node: Node, here: int) -> None:
    parts = node.named_children
    if not parts or parts[0].type == "import":
        return
    callee = walk.lower(parts[0])
    if callee is None:
        return
    bare = without_brackets(parts[0])
    inner = bare.named_children if bare.type == "member_expression" else []
    shape = method_shape(inner[0]) if inner else "super()" if bare.type == "super" else "f()"
    shape = "new C()" if node.type == "new_expression" else shape
    walk.call(here, inner[-1] if inner else bare, callee, shape)
    if parts[-1].type != "arguments":
        return
    types = type_arguments_of(walk, parts)
    for place, each in enumerate(listed(parts[-1])):
        if each.type not in _PLAIN:
            expect(walk, each, ("argument", callee, place, types, walk.declared.get(node.id)))


def _element(walk: Walk, node: Node, here: int) -> None:
    name = field_of(node, "name")
    if name is None or (name.type == "identifier" and walk.text(name)[:1].islower()):
        return
    walk.call(here, name, walk.lower(name), "<C/>")


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
        **dict.fromkeys(_FUNCTION_NODES, take_function),
        **dict.fromkeys((*_CLASS_NODES, "interface_declaration"), _class),
        **dict.fromkeys(("internal_module", "module"), _namespace),
        "object": _object,
        "type_alias_declaration": _alias,
        **dict.fromkeys(("public_field_definition", "field_definition", "property_signature"), _field),
        "variable_declarator": _variable,
        **dict.fromkeys(("assignment_expression", "augmented_assignment_expression"), _assignment),
        "for_in_statement": _loop,
        "return_statement": _return,
        "import_statement": bind_import,
        "export_statement": bind_exports,
        **dict.fromkeys(("call_expression", "new_expression"), _call),
        **dict.fromkeys(("jsx_opening_element", "jsx_self_closing_element"), _element),
    },
    expressions=EXPRESSIONS,
    types=TYPES,
)
