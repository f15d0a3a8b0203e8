"""JavaScript, TypeScript and TSX: functions are declared, assigned, exported, or members of an object."""

from dataclasses import replace

from claude_mem_lite.codemap.languages.tree import (
    NAMESPACE,
    OBJECT,
    Named,
    Node,
    Parsed,
    Syntax,
    TreeLanguage,
    unwrapped,
)

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_MODULES = frozenset({"internal_module", "module"})
# Nodes around a value that do not change it.
_AROUND = frozenset({
    "parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression",
    "await_expression",
})  # fmt: skip
_ASSIGNED = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "pair": ("key", "value"),
    "public_field_definition": ("name", "value"),
    "field_definition": ("property", "value"),
    "export_statement": ("value", "value"),
}
_TOLD = _FUNCTIONS | {"class", "object", "call_expression"}  # values that may define something
_MOST_CALLS = 4  # memo(forwardRef(function Button() {…}))


_SYNTAX = Syntax(
    kinds={
        "function_declaration": "function",
        "generator_function_declaration": "function",
        "method_definition": "method",
        "class_declaration": "class",
        **dict.fromkeys(_ASSIGNED, ""),
    },
    comments=("comment",),
    literals=("string", "template_string", "regex"),
    wrappers=("export_statement", "lexical_declaration", "variable_declaration"),
    decorators=("decorator",),
)
_TYPED_SYNTAX = replace(
    _SYNTAX,
    kinds={
        **_SYNTAX.kinds,
        "abstract_class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "type_alias_declaration": "type",
        "function_signature": "function",
        "method_signature": "method",
        "abstract_method_signature": "method",
        "internal_module": "",
        "module": "",
    },
)


def _named(parsed: Parsed, node: Node) -> Named | None:
    """Return what a node defines."""
    if node.type in _ASSIGNED:
        return _assigned(parsed, node)
    at = node.child_by_field_name("name")
    name = _key(parsed, at) if at is not None else ""
    if at is None or not name:
        return None
    if node.type in _MODULES:
        return Named(name, NAMESPACE, at, node)
    kind = parsed.grammar.syntax.kinds[node.type]
    return Named(name, kind, at, node, is_member=kind == "method")


def _assigned(parsed: Parsed, node: Node) -> Named | None:
    """Return the function, class or object that is assigned to a name."""
    left, right = map(node.child_by_field_name, _ASSIGNED[node.type])
    if left is None or right is None:
        return None
    value = unwrapped(right, _AROUND)
    if value.type not in _TOLD:
        return None
    is_member = node.type in {"pair", "public_field_definition", "field_definition"}
    if node.type == "export_statement":
        inner = value.child_by_field_name("name")
        name, at = ("default", node.children[1]) if inner is None else (parsed.text(inner), inner)
    elif node.type == "assignment_expression":
        name, at = _target(parsed, left)
    else:
        name, at = _key(parsed, left), left
    if name == "module.exports":
        inner = value.child_by_field_name("name")
        name, at = ("default", left) if inner is None else (parsed.text(inner), inner)
        if value.type == "object":
            return Named("", OBJECT, at, value)
    if not name:
        return None
    if value.type in _FUNCTIONS:
        return Named(name, "method" if is_member else "function", at, value, is_member)
    if value.type == "class":
        return Named(name, "class", at, value, is_member)
    if value.type == "call_expression" and node.type in {"variable_declarator", "export_statement"}:
        made = _made_of(value)
        if made is not None:
            return Named(name, "function", at, made, is_outermost=True)
    return Named(name, OBJECT, at, value, is_member)


def _made_of(call: Node) -> Node | None:
    """Return the function with a block body among a call's arguments, as in `memo(() => {…})`."""
    for _ in range(_MOST_CALLS):
        arguments = call.child_by_field_name("arguments")
        inside = (
            [unwrapped(each, _AROUND) for each in arguments.named_children] if arguments is not None else []
        )
        for each in inside:
            body = each.child_by_field_name("body")
            if each.type in _FUNCTIONS and body is not None and body.type == "statement_block":
                return each
        call = next((each for each in inside if each.type == "call_expression"), call)
    return None


def _key(parsed: Parsed, node: Node) -> str:
    """Return a name as written, or a string's contents; "" for a computed name or a pattern."""
    if node.type in {"computed_property_name", "object_pattern", "array_pattern"}:
        return ""
    return parsed.text(node).strip("\"'")


def _target(parsed: Parsed, node: Node) -> tuple[str, Node]:
    """Return an assignment's name and its node: `exports.f` and `this.f` are f, `A.prototype.f` is A.f."""
    parts: list[str] = []
    at = node
    while node.type == "member_expression":
        last = node.child_by_field_name("property")
        inner = node.child_by_field_name("object")
        if last is None or inner is None:
            return "", at
        if not parts:
            at = last
        parts.insert(0, parsed.text(last))
        node = inner
    if node.type not in {"identifier", "this"}:
        return "", at
    parts.insert(0, parsed.text(node))
    if parts[:2] == ["module", "exports"]:
        return ".".join(parts[2:]) or "module.exports", at
    if parts[0] in {"exports", "this"}:
        return ".".join(parts[1:]), at
    return ".".join(each for each in parts if each != "prototype"), at


JAVASCRIPT = TreeLanguage(
    "JavaScript",
    "tree_sitter_javascript",
    _SYNTAX,
    _named,
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    has_calls=True,
)
TYPESCRIPT = TreeLanguage(
    "TypeScript",
    "tree_sitter_typescript",
    _TYPED_SYNTAX,
    _named,
    symbol="language_typescript",
    suffixes=(".ts", ".mts", ".cts"),
    has_calls=True,
)
TSX = replace(TYPESCRIPT, name="TSX", symbol="language_tsx", suffixes=(".tsx",))
