"""Rust: methods are in the `impl` of a type, which may be anywhere."""

from claude_mem_lite.codemap.languages.tree import (
    CLASS_SCOPE,
    NAMESPACE,
    Named,
    Node,
    Parsed,
    Syntax,
    TreeLanguage,
    by_field,
)

_SYNTAX = Syntax(
    kinds={
        "function_item": "function",
        "function_signature_item": "function",
        "struct_item": "struct",
        "union_item": "struct",
        "enum_item": "enum",
        "trait_item": "trait",
        "type_item": "type",
        "macro_definition": "function",
        "const_item": "",
        "static_item": "",
        "impl_item": "",
        "mod_item": "",
    },
    comments=("line_comment", "block_comment"),
    literals=("string_literal", "raw_string_literal", "char_literal"),
    decorators=("attribute_item",),
)


def _named(parsed: Parsed, node: Node) -> Named | None:
    if node.type == "impl_item":
        at = node.child_by_field_name("type")
        while at is not None and at.type in {"generic_type", "scoped_type_identifier", "reference_type"}:
            at = at.child_by_field_name("name" if at.type == "scoped_type_identifier" else "type")
        return Named(parsed.text(at), CLASS_SCOPE, at, node) if at is not None else None
    named = by_field(parsed, node)
    if named is None or node.type not in {"const_item", "static_item", "mod_item"}:
        return named
    if node.type == "mod_item":
        return Named(named.name, NAMESPACE, named.at, node)
    value = node.child_by_field_name("value")
    is_function = value is not None and value.type == "closure_expression"
    return Named(named.name, "function", named.at, value) if value is not None and is_function else None


RUST = TreeLanguage("Rust", "tree_sitter_rust", _SYNTAX, _named, suffixes=(".rs",), has_calls=True)
