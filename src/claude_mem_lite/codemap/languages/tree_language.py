"""Define a language that tree-sitter reads: its files, its grammar, and where that comes from."""

from dataclasses import dataclass

from claude_mem_lite.codemap.extract import MAX_FUNCTIONS, Function
from claude_mem_lite.codemap.languages import rows, walk
from claude_mem_lite.codemap.languages.tree import Grammar, Parsed

MAX_BYTES = 1_000_000  # a larger file is generated
_MAX_LINE_BYTES = 300  # the mean of a file that a program has minified, and no person has written
_SMALL_BYTES = 5_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TreeLanguage(Grammar):
    """A grammar's language; `extra` is the extra of this package that installs it, "" where it always is."""

    suffixes: tuple[str, ...]
    extra: str = ""
    has_calls: bool = False  # `codemap.calls` has a table for it

    def extract(self, source: str, *, limit: int = MAX_FUNCTIONS) -> tuple[Function, ...]:
        """Return what a source defines, one row a name, by place; nothing of a minified one.

        Raises: SyntaxError where it is too large, or can't be understood.
        """
        parsed = self.readable(source)
        if parsed is None:
            return ()
        return rows.describe(parsed, walk.definitions(parsed), limit=limit)

    def readable(self, source: str) -> Parsed | None:
        """Return the syntax tree of a source that a person wrote; None of a minified one.

        Raises: SyntaxError where it is too large, or can't be understood.
        """
        size = len(source.encode("utf-8", "replace"))
        if size > MAX_BYTES:
            raise SyntaxError(f"{size} bytes; at most {MAX_BYTES} of {self.name} are read")
        if size > _SMALL_BYTES and size > _MAX_LINE_BYTES * (source.count("\n") + 1):
            return None
        return self.parse(source)
