"""Go: the name of a method begins with its receiver's type."""

import re

from claude_mem_lite.codemap.languages.tree import Named, Node, Parsed, Syntax, TreeLanguage, by_field

_SYNTAX = Syntax(
    kinds={
        "function_declaration": "function",
        "method_declaration": "method",
        "method_elem": "method",
        "type_spec": "type",
        "type_alias": "type",
        "var_spec": "",
    },
    comments=("comment",),
    literals=("interpreted_string_literal", "raw_string_literal", "rune_literal"),
    wrappers=("type_declaration", "var_declaration"),
)
_KINDS = {"struct_type": "struct", "interface_type": "interface"}
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*\(?\s*(\w+)")


def _named(parsed: Parsed, node: Node) -> Named | None:
    named = by_field(parsed, node)
    if named is None:
        return None
    if node.type == "method_declaration":
        receiver = _RECEIVER.match(parsed.text(node.child_by_field_name("receiver") or node))
        name = f"{receiver[1]}.{named.name}" if receiver else named.name
        return Named(name, "method", named.at, node)
    if node.type == "type_spec":
        kind = node.child_by_field_name("type")
        return Named(named.name, _KINDS.get(kind.type if kind else "", "type"), named.at, node)
    if node.type == "var_spec":
        value = node.child_by_field_name("value")
        function = value.named_children[0] if value is not None and value.named_child_count else None
        if function is None or function.type != "func_literal":
            return None
        return Named(named.name, "function", named.at, function)
    return named


GO = TreeLanguage("Go", "tree_sitter_go", _SYNTAX, _named, suffixes=(".go",), has_calls=True)
