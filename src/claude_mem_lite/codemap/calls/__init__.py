"""Find who calls whom in the languages that tree-sitter reads.

`facts` says what is kept of a file; `walker` reads it by a language's `Table`; `resolver` finds what is
called, with the facts of a family's files: languages that import each other. `evaluation` tells it what a
term may be, one of `values`, by the parts of a family: those that look names up in scopes (`lookup`,
`members`, `results`, `type_arguments`), and Rust's (`rust_paths`, `rust_members`, `rust_results`).
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
from claude_mem_lite.codemap.calls.evaluation import Evaluation, Rules
from claude_mem_lite.codemap.calls.facts import Facts
from claude_mem_lite.codemap.calls.lookup import Lookup
from claude_mem_lite.codemap.calls.members import Members
from claude_mem_lite.codemap.calls.resolver import Found, Missed
from claude_mem_lite.codemap.calls.results import Expectations, Results
from claude_mem_lite.codemap.calls.rust_members import RustMembers
from claude_mem_lite.codemap.calls.rust_paths import RustPaths
from claude_mem_lite.codemap.calls.rust_results import RustResults
from claude_mem_lite.codemap.calls.type_arguments import TypeArguments
from claude_mem_lite.codemap.calls.values import Builtins, Finder
from claude_mem_lite.codemap.calls.walker import Table, Walk
from claude_mem_lite.codemap.languages.tree import Parsed
from claude_mem_lite.codemap.languages.walk import Definition

__all__ = ["FAMILIES", "Family", "Found", "Missed", "family_of", "read", "resolve"]


def _follow_scopes(evaluation: Evaluation, finder: Finder) -> None:
    """Evaluate by the rules of languages whose names are looked up in the scopes around, and in imports."""
    types = TypeArguments(evaluation)
    lookup = Lookup(evaluation, finder, types)
    members = Members(evaluation, lookup)
    expectations, results = Expectations(evaluation, types), Results(evaluation, types)
    parts = lookup, members, expectations, results
    evaluation.follow(Rules(parts, members.member, results.result, expectations.given, members.on_this))


def _follow_paths(evaluation: Evaluation, finder: Finder) -> None:
    """Evaluate by the rules of Rust: of others it has what is expected of functions, and what is awaited."""
    types, members = TypeArguments(evaluation), RustMembers(evaluation)
    paths = RustPaths(evaluation, finder, types, members)
    expectations, others = Expectations(evaluation, types), Results(evaluation, types)
    results = RustResults(evaluation, paths, members, others, expectations)
    parts = expectations, others, members, paths, results
    evaluation.follow(Rules(parts, members.member, results.result, results.given, members.on_this))
    members.take_impls()
    evaluation.forget()  # what was found without the `impl`s
    paths.forget()


@dataclass(frozen=True, slots=True)
class Family:
    """Languages whose files import each other: how facts are read, modules found, and what is built in.

    `finder` takes the facts of all files and a function that returns a file's text, "" where there is none.
    """

    languages: frozenset[str]
    table: Table
    finder: Callable[[Mapping[str, Facts], Callable[[str], str]], Finder]
    builtins: Builtins
    prepare: Callable[[Evaluation, Finder], None] = _follow_scopes


FAMILIES = (
    Family(
        frozenset({"TypeScript", "TSX", "JavaScript"}),
        ecmascript.TABLE,
        ecmascript_modules.Finder,
        ecmascript_modules.BUILTINS,
    ),
    Family(frozenset({"Go"}), go.TABLE, go_modules.Finder, go_modules.BUILTINS),
    Family(frozenset({"Java"}), java.TABLE, java_modules.Finder, java_modules.BUILTINS),
    Family(frozenset({"Rust"}), rust.TABLE, rust_modules.Finder, rust_modules.BUILTINS, _follow_paths),
)


def family_of(path: str) -> Family | None:
    """Return the family of a file's language; None where its calls are not looked for."""
    language = languages.of(path)
    name = language.name if language is not None else ""
    return next((each for each in FAMILIES if name in each.languages), None)


def read(path: str, parsed: Parsed, definitions: Sequence[Definition]) -> Facts | None:
    """Return a file's facts; None for a language whose calls are not looked for.

    Raises: SyntaxError where the file is too broken.
    """
    family = family_of(path)
    return Walk(family.table, parsed, definitions).facts() if family is not None else None


def resolve(files: Mapping[str, Facts], text_of: Callable[[str], str]) -> Iterator[Found | Missed]:
    """Yield the calls in files; `text_of` returns the text of a file of settings, "" where there is none."""
    for family in FAMILIES:
        own = {path: files[path] for path in sorted(files) if family_of(path) is family}
        if own:
            evaluation = Evaluation(own, family.builtins)
            family.prepare(evaluation, family.finder(own, text_of))
            yield from resolver.resolve(evaluation)
