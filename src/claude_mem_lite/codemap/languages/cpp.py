"""C++: C, classes, and what is defined outside of them; headers are read as C++."""

from claude_mem_lite.codemap.languages import c
from claude_mem_lite.codemap.languages.tree_language import TreeLanguage

CPP = TreeLanguage(
    "C++",
    "tree_sitter_cpp",
    c.syntax({"class_specifier": "class", "alias_declaration": "type", "concept_definition": "type"}),
    c.named,
    suffixes=(".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".h"),
    extra="languages",
)
