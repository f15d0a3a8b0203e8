"""Find calls in the languages that tree-sitter parses.

`facts` defines what is stored of a file, and `walker` collects it with a language's `Table`. `resolver`
finds callees from the facts of a family's files; a family is a set of languages that import each other.
`evaluation` computes the `values` of a term. `members` extends it for languages that look up names in scopes,
and `rust_members`, `rust_paths` and `rust_results` extend it for Rust.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from claude_mem_lite.codemap import languages
from claude_mem_lite.codemap.calls import (
    ecmascript,
    ecmascript_modules,
    go,
    go_modules,
    java,
    java_modules,
    resolver,
    rust,
    rust_modules,
)
from claude_mem_lite.codemap.calls.facts import Facts
from claude_mem_lite.codemap.calls.members import Members
from claude_mem_lite.codemap.calls.resolver import Found, Missed
from claude_mem_lite.codemap.calls.rust_results import RustResults
from claude_mem_lite.codemap.calls.values import Builtins, Finder
from claude_mem_lite.codemap.calls.walker import Table, Walk
from claude_mem_lite.codemap.languages.tree import Parsed
from claude_mem_lite.codemap.languages.walk import Definition

__all__ = ["FAMILIES", "Family", "Found", "Missed", "family_of", "read", "resolve"]


@dataclass(frozen=True, slots=True)
class Family:
    """Languages whose files import each other, with their fact table, module finder and built-ins.

    `finder` takes the facts of all files and a function that returns a file's text, "" where there is none.
    """

    languages: frozenset[str]
    table: Table
    finder: Callable[[Mapping[str, Facts], Callable[[str], str]], Finder]
    builtins: Builtins
    evaluation: type[Members | RustResults] = Members


FAMILIES = (
    Family(
        frozenset({"TypeScript", "TSX", "JavaScript"}),
        ecmascript.TABLE,
        ecmascript_modules.Finder,
        ecmascript_modules.BUILTINS,
    ),
    Family(frozenset({"Go"}), go.TABLE, go_modules.Finder, go_modules.BUILTINS),
    Family(frozenset({"Java"}), java.TABLE, java_modules.Finder, java_modules.BUILTINS),
    Family(frozenset({"Rust"}), rust.TABLE, rust_modules.Finder, rust_modules.BUILTINS, RustResults),
)


def family_of(path: str) -> Family | None:
    """Return the family of a file's language; None where its calls are not resolved."""
    language = languages.of(path)
    name = language.name if language is not None else ""
    return next((each for each in FAMILIES if name in each.languages), None)


def read(path: str, parsed: Parsed, definitions: Sequence[Definition]) -> Facts | None:
    """Return a file's facts; None for a language whose calls are not resolved.

    Raises: SyntaxError where the file is too broken.
    """
    family = family_of(path)
    return Walk(family.table, parsed, definitions).facts() if family is not None else None


def resolve(files: Mapping[str, Facts], text_of: Callable[[str], str]) -> Iterator[Found | Missed]:
    """Yield the calls in files; `text_of` returns the text of a settings file, "" where there is none."""
    for family in FAMILIES:
        own = {path: files[path] for path in sorted(files) if family_of(path) is family}
        if own:
            yield from resolver.resolve(family.evaluation(own, family.builtins, family.finder(own, text_of)))
