"""PHP: functions, and types with their methods."""

from claude_mem_lite.codemap.languages.tree import Named, Node, Parsed, Syntax, TreeLanguage, by_field

_SYNTAX = Syntax(
    kinds={
        "class_declaration": "class",
        "interface_declaration": "interface",
        "trait_declaration": "trait",
        "enum_declaration": "enum",
        "method_declaration": "method",
        "function_definition": "function",
        "assignment_expression": "",
    },
    comments=("comment",),
    literals=("string", "encapsed_string", "heredoc", "nowdoc", "text"),
    decorators=("attribute_list",),
)
_FUNCTIONS = frozenset({"anonymous_function", "arrow_function"})


def _named(parsed: Parsed, node: Node) -> Named | None:
    if node.type != "assignment_expression":
        return by_field(parsed, node)
    at, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    if at is None or value is None or at.type != "variable_name" or value.type not in _FUNCTIONS:
        return None
    return Named(parsed.text(at).removeprefix("$"), "function", at, value)


PHP = TreeLanguage(
    "PHP", "tree_sitter_php", _SYNTAX, _named, "language_php", suffixes=(".php",), extra="languages"
)
