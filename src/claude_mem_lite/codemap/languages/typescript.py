"""TypeScript and TSX: JavaScript, and types."""

from claude_mem_lite.codemap.languages import ecmascript
from claude_mem_lite.codemap.languages.tree_language import TreeLanguage

_SYNTAX = ecmascript.syntax({
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "type_alias_declaration": "type",
    "function_signature": "function",
    "method_signature": "method",
    "abstract_method_signature": "method",
    "internal_module": "",
    "module": "",
})  # fmt: skip

TYPESCRIPT = TreeLanguage(
    "TypeScript",
    "tree_sitter_typescript",
    _SYNTAX,
    ecmascript.named,
    symbol="language_typescript",
    suffixes=(".ts", ".mts", ".cts"),
    has_calls=True,
)
TSX = TreeLanguage(
    "TSX",
    "tree_sitter_typescript",
    _SYNTAX,
    ecmascript.named,
    symbol="language_tsx",
    suffixes=(".tsx",),
    has_calls=True,
)
