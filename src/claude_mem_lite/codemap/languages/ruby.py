"""Ruby: classes and modules can be reopened anywhere."""

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
        "module": "module",
        "class": "class",
        "singleton_class": "",
        "method": "function",
        "singleton_method": "function",
        "assignment": "",
    },
    comments=("comment",),
    literals=("string", "regex", "heredoc_body", "string_array", "symbol_array"),
)


def _named(parsed: Parsed, node: Node) -> Named | None:
    if node.type == "singleton_class":
        return Named("", CLASS_SCOPE, node.children[0], node)
    if node.type == "assignment":
        at, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        is_constant = at is not None and at.type == "constant"
        if at is None or value is None or not is_constant or value.type != "lambda":
            return None
        return Named(parsed.text(at), "function", at, value)
    named = by_field(parsed, node)
    return Named(named.name.replace("::", "."), named.kind, named.at, node) if named is not None else None


RUBY = TreeLanguage("Ruby", "tree_sitter_ruby", _SYNTAX, _named, suffixes=(".rb", ".rake"), extra="languages")
