"""Kotlin: the name of an extension function begins with the type that it extends."""

from claude_mem_lite.codemap.languages.tree import (
    CLASS_SCOPE,
    Named,
    Node,
    Parsed,
    Syntax,
    TreeLanguage,
    by_field,
    child_of,
)

_SYNTAX = Syntax(
    kinds={
        "class_declaration": "class",
        "object_declaration": "class",
        "companion_object": "",
        "function_declaration": "function",
        "type_alias": "type",
        "property_declaration": "",
    },
    comments=("line_comment", "block_comment"),
    literals=("string_literal", "character_literal", "multiline_string_literal"),
    decorators=("annotation",),
)
_KEYWORDS = {"interface": "interface", "enum": "enum"}
_FUNCTIONS = frozenset({"lambda_literal", "anonymous_function"})


def _named(parsed: Parsed, node: Node) -> Named | None:
    if node.type == "companion_object":
        return Named("", CLASS_SCOPE, node.children[0], node)
    if node.type == "property_declaration":
        return _property(parsed, node)
    if node.type == "type_alias":
        at = child_of(node, "identifier")
        return Named(parsed.text(at), "type", at, node) if at is not None else None
    named = by_field(parsed, node)
    if named is None:
        return None
    before = [each for each in node.children if each.start_byte < named.at.start_byte]
    if node.type == "class_declaration":
        words = {word for each in before for word in parsed.text(each).split()}
        kind = next((_KEYWORDS[word] for word in _KEYWORDS if word in words), "class")
        return Named(named.name, kind, named.at, node)
    receiver = next((each for each in before if each.type in {"user_type", "nullable_type"}), None)
    if receiver is not None and node.type == "function_declaration":
        owner = parsed.text(receiver).partition("<")[0].rstrip("?").rpartition(".")[2]
        return Named(f"{owner}.{named.name}", "function", named.at, node)
    return named


def _property(parsed: Parsed, node: Node) -> Named | None:
    """Return the function that is assigned to a property."""
    variable = child_of(node, "variable_declaration")
    value = node.named_children[-1] if node.named_child_count else None
    if variable is None or value is None or value.type not in _FUNCTIONS or not variable.named_child_count:
        return None
    at = variable.named_children[0]
    return Named(parsed.text(at), "function", at, value)


KOTLIN = TreeLanguage(
    "Kotlin", "tree_sitter_kotlin", _SYNTAX, _named, suffixes=(".kt", ".kts"), extra="languages"
)
