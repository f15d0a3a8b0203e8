"""Swift: classes, structs, enums, actors and extensions are one type of node."""

from claude_mem_lite.codemap.languages.tree import (
    CLASS_SCOPE,
    Named,
    Node,
    Parsed,
    Syntax,
    TreeLanguage,
    by_field,
)

_SYNTAX = Syntax(
    kinds={
        "class_declaration": "class",
        "protocol_declaration": "interface",
        "function_declaration": "function",
        "protocol_function_declaration": "function",
        "init_declaration": "function",
        "typealias_declaration": "type",
        "property_declaration": "",
    },
    comments=("comment", "multiline_comment"),
    literals=("line_string_literal", "multi_line_string_literal", "raw_string_literal", "regex_literal"),
    decorators=("attribute",),
)
_KINDS = {"struct": "struct", "enum": "enum", "extension": CLASS_SCOPE}


def _named(parsed: Parsed, node: Node) -> Named | None:
    if node.type == "property_declaration":
        at, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        is_function = at is not None and value is not None and value.type == "lambda_literal"
        return Named(parsed.text(at), "function", at, value) if at and value and is_function else None
    named = by_field(parsed, node)
    word = node.child_by_field_name("declaration_kind")
    if named is None or node.type != "class_declaration" or word is None:
        return named
    name = named.name.partition("<")[0].rpartition(".")[2]
    return Named(name, _KINDS.get(parsed.text(word), "class"), named.at, node)


SWIFT = TreeLanguage("Swift", "tree_sitter_swift", _SYNTAX, _named, suffixes=(".swift",), extra="languages")
