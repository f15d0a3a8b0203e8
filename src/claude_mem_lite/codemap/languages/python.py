"""Python, by its own parser; its calls are found by `valueflow`."""

from dataclasses import dataclass

from claude_mem_lite.codemap import extract
from claude_mem_lite.codemap.extract import MAX_FUNCTIONS, Function


@dataclass(frozen=True, slots=True)
class Python:
    """Python behind the interface of all languages."""

    name: str = "Python"
    suffixes: tuple[str, ...] = (".py", ".pyi")
    extra: str = ""
    has_calls: bool = True
    is_installed: bool = True

    def extract(self, source: str, *, limit: int = MAX_FUNCTIONS) -> tuple[Function, ...]:
        """Return what a source defines. Raises: SyntaxError where Python cannot parse it."""
        return extract.extract(source, limit=limit)


PYTHON = Python()
