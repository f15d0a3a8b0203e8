"""C#: everything is in a type."""

from claude_mem_lite.codemap.languages.tree import Syntax, TreeLanguage

C_SHARP = TreeLanguage(
    "C#",
    "tree_sitter_c_sharp",
    Syntax(
        kinds={
            "class_declaration": "class",
            "record_declaration": "class",
            "struct_declaration": "struct",
            "interface_declaration": "interface",
            "enum_declaration": "enum",
            "delegate_declaration": "type",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "local_function_statement": "function",
        },
        comments=("comment",),
        literals=(
            "string_literal",
            "verbatim_string_literal",
            "raw_string_literal",
            "character_literal",
            "interpolated_string_expression",
        ),
        decorators=("attribute_list",),
        is_type_first=True,
    ),
    suffixes=(".cs",),
    extra="languages",
)
