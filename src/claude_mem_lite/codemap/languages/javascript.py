"""JavaScript: ES modules, CommonJS, JSX."""

from claude_mem_lite.codemap.languages import ecmascript
from claude_mem_lite.codemap.languages.tree_language import TreeLanguage

JAVASCRIPT = TreeLanguage(
    "JavaScript",
    "tree_sitter_javascript",
    ecmascript.syntax({}),
    ecmascript.named,
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    has_calls=True,
)
