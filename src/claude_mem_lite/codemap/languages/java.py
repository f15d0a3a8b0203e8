"""Java: everything is in a type."""

from claude_mem_lite.codemap.languages.tree import Syntax, TreeLanguage

JAVA = TreeLanguage(
    "Java",
    "tree_sitter_java",
    Syntax(
        kinds={
            "class_declaration": "class",
            "record_declaration": "class",
            "interface_declaration": "interface",
            "annotation_type_declaration": "interface",
            "enum_declaration": "enum",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "compact_constructor_declaration": "method",
        },
        comments=("line_comment", "block_comment"),
        literals=("string_literal", "character_literal"),
        decorators=("annotation", "marker_annotation"),
        is_type_first=True,
    ),
    suffixes=(".java",),
    has_calls=True,
)
