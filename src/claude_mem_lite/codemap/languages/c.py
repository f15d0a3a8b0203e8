"""C and C++: functions are named inside their declarators; prototypes are not definitions.

C++ adds classes and members defined outside of them; headers are read as C++.
"""

from dataclasses import replace

from claude_mem_lite.codemap.languages.tree import Named, Node, Parsed, Syntax, TreeLanguage

_MOST_DECLARATORS = 20
_NAMES = frozenset({
    "identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name",
    "operator_name", "operator_cast", "template_function",
})  # fmt: skip


_SYNTAX = Syntax(
    kinds={
        "function_definition": "function",
        "struct_specifier": "struct",
        "union_specifier": "struct",
        "enum_specifier": "enum",
        "type_definition": "type",
    },
    comments=("comment",),
    literals=("string_literal", "raw_string_literal", "char_literal", "system_lib_string"),
    wrappers=("template_declaration",),
    is_type_first=True,
)
_OF_CPP = {"class_specifier": "class", "alias_declaration": "type", "concept_definition": "type"}


def _named(parsed: Parsed, node: Node) -> Named | None:
    """Return what a node defines; None for a type that is only mentioned."""
    kind = parsed.grammar.syntax.kinds[node.type]
    if node.type == "type_definition":
        at, inner = _declared(node), node.child_by_field_name("type")
        if at is None or inner is None or inner.child_by_field_name("body") is None:
            return Named(parsed.text(at), kind, at, node) if at is not None else None
        tag = inner.child_by_field_name("name")
        if tag is not None:  # the tag defines it; a typedef of another name is a type
            return Named(parsed.text(at), kind, at, node) if parsed.text(tag) != parsed.text(at) else None
        return Named(parsed.text(at), parsed.grammar.syntax.kinds.get(inner.type, kind), at, inner)
    if node.type == "function_definition":
        at = _declared(node)
        name = _qualified(parsed, at) if at is not None else ""
        return Named(name, kind, at, node) if at is not None and name else None
    at = node.child_by_field_name("name")
    is_definition = node.child_by_field_name("body") is not None or kind == "type"
    return Named(_qualified(parsed, at), kind, at, node) if at is not None and is_definition else None


def _declared(node: Node) -> Node | None:
    """Return the name inside a declaration's declarators, as in `*(*name)(int)`."""
    at: Node | None = node
    for _ in range(_MOST_DECLARATORS):
        inner = at.child_by_field_name("declarator") if at is not None else None
        if inner is None and at is not None:
            inner = next((each for each in at.named_children if each.type.endswith("declarator")), None)
        at = inner
        if at is None or at.type in _NAMES:
            return at
    return None


def _qualified(parsed: Parsed, at: Node) -> str:
    """Return `ns::A<T>::f` as ns.A.f."""
    parts = []
    while at.type == "qualified_identifier":
        scope, name = at.child_by_field_name("scope"), at.child_by_field_name("name")
        if scope is not None:
            parts.append(parsed.text(scope.child_by_field_name("name") or scope))
        if name is None:
            break
        at = name
    last = parsed.text(at).partition("(")[0] if at.type == "operator_cast" else parsed.text(at)
    return ".".join([*parts, " ".join(last.split())])


C = TreeLanguage("C", "tree_sitter_c", _SYNTAX, _named, suffixes=(".c",), extra="languages")
CPP = TreeLanguage(
    "C++",
    "tree_sitter_cpp",
    replace(_SYNTAX, kinds={**_SYNTAX.kinds, **_OF_CPP}),
    _named,
    suffixes=(".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".h"),
    extra="languages",
)
