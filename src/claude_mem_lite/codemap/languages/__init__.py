"""The mapped languages: the language of a file, what a source defines, and what changed in it.

`of(path)` is the language of a file, None if it is unknown or its grammar is not installed. Each has a
`name`, its `suffixes`, the `extra` of this package that installs its grammar ("" if it always is) and
`has_calls` (whether its calls are resolved). `extract` returns `Function` rows, `diff` compares those of two
versions of a source.

Python is parsed by `ast`. Every other language is a `TreeLanguage` with a `Syntax`, a table of its grammar's
node types, and at most one function `named` for what a table can't express. Its `parse(source)` returns
`tree.Parsed`: `data` (the source's bytes), `root` (a `tree_sitter.Node`) and `text(node)`.
`walk.definitions` returns its definitions by place, each with the qualified name, the kind, the bytes from
`start` to `end`, and `named.head`, the node with parameters and body. tree-sitter and a grammar are loaded
when they first parse a source.

A new language is a module with its table, a name in `LANGUAGES` and a row of cases in the tests.
"""

import functools
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from claude_mem_lite.codemap import extract as python
from claude_mem_lite.codemap import isolation
from claude_mem_lite.codemap.extract import MAX_FUNCTIONS, Function
from claude_mem_lite.codemap.languages import rows, walk
from claude_mem_lite.codemap.languages.c import CPP, C
from claude_mem_lite.codemap.languages.c_sharp import C_SHARP
from claude_mem_lite.codemap.languages.ecmascript import JAVASCRIPT, TSX, TYPESCRIPT
from claude_mem_lite.codemap.languages.go import GO
from claude_mem_lite.codemap.languages.java import JAVA
from claude_mem_lite.codemap.languages.kotlin import KOTLIN
from claude_mem_lite.codemap.languages.php import PHP
from claude_mem_lite.codemap.languages.ruby import RUBY
from claude_mem_lite.codemap.languages.rust import RUST
from claude_mem_lite.codemap.languages.swift import SWIFT
from claude_mem_lite.codemap.languages.tree import TreeLanguage
from claude_mem_lite.installed import with_extras

ALL = 1_000_000  # as `limit`: more definitions than a source has


@dataclass(frozen=True, slots=True)
class Python:
    """Python behind the interface of all languages."""

    name: str = "Python"
    suffixes: tuple[str, ...] = (".py", ".pyi")
    extra: str = ""
    has_calls: bool = True
    is_installed: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One function, method or type that is "new", "modified" or "deleted"."""

    qualified_name: str
    kind: str
    change_type: str


Language = Python | TreeLanguage
PYTHON = Python()

LANGUAGES: tuple[Language, ...] = (
    PYTHON, TYPESCRIPT, TSX, JAVASCRIPT, GO, RUST, JAVA, C, CPP, C_SHARP, KOTLIN, RUBY, PHP, SWIFT,
)  # fmt: skip
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}


def of(path: str) -> Language | None:
    """Return the language of a file by its name; None if it is not mapped here."""
    language = _BY_SUFFIX.get(os.path.splitext(path)[1])
    return language if language is not None and language.is_installed else None


def extract(path: str, source: str, *, limit: int = MAX_FUNCTIONS) -> tuple[Function, ...]:
    """Return what a source defines; nothing for a file in a language that is not mapped.

    Raises: SyntaxError where the language's parser can't read it.
    """
    return _extract(os.path.splitext(path)[1], source, limit) if of(path) is not None else ()


@functools.lru_cache(maxsize=4)  # an edit is read for its changes, docstrings and renames
def _extract(suffix: str, source: str, limit: int) -> tuple[Function, ...]:
    if _BY_SUFFIX[suffix] is PYTHON:
        return python.extract(source, limit=limit)
    return isolation.run(_extract_by_tree, suffix, source, limit)


def _extract_by_tree(suffix: str, source: str, limit: int) -> tuple[Function, ...]:
    language = _BY_SUFFIX[suffix]
    parsed = language.readable(source) if isinstance(language, TreeLanguage) else None
    return rows.describe(parsed, walk.definitions(parsed), limit=limit) if parsed is not None else ()


def diff(before: str | None, after: str | None, *, path: str = "source.py") -> tuple[Change, ...]:
    """Return what was added, changed and removed, by line (removed definitions by their old line).

    None is a file that does not exist; `path` gives the language. Empty where a side cannot be parsed.
    """
    try:
        old, new = (
            {each.qualified_name: each for each in extract(path, source or "", limit=ALL)}
            for source in (before, after)
        )
    except SyntaxError:
        return ()
    # A name that the other side may define in a part that cannot be parsed is neither new nor deleted.
    unclear = unsure(path, after or "", old.keys() - new.keys())
    unclear |= unsure(path, before or "", new.keys() - old.keys())
    old_alone, new_alone = (
        {name for name in one.keys() - other.keys() if name.rpartition(".")[2] not in unclear}
        for one, other in ((old, new), (new, old))
    )
    changes = [
        (each.line, Change(name, each.kind, "deleted")) for name, each in old.items() if name in old_alone
    ]
    for name, each in new.items():
        if name in new_alone:
            changes.append((each.line, Change(name, each.kind, "new")))
        elif name in old and old[name].body_hash != each.body_hash:
            changes.append((each.line, Change(name, each.kind, "modified")))
    return tuple(change for _, change in sorted(changes, key=lambda pair: pair[0]))


def unsure(path: str, source: str, names: Iterable[str]) -> set[str]:
    """Return the last parts of those names that a source may define where it cannot be parsed.

    A source without errors has none, and neither do names that do not occur in it.
    """
    lasts = {name.rpartition(".")[2] for name in names}
    written = {last for last in lasts if re.search(rf"(?<!\w){re.escape(last)}(?!\w)", source)}
    if not written or path.endswith(PYTHON.suffixes) or of(path) is None:
        return set()
    try:
        return written if isolation.run(_has_errors, os.path.splitext(path)[1], source) else set()
    except SyntaxError:
        return written


def _has_errors(suffix: str, source: str) -> bool:
    language = _BY_SUFFIX[suffix]
    return isinstance(language, TreeLanguage) and bool(language.parse(source).root.has_error)


def installed() -> list[str]:
    """Return the names of the languages whose grammar is installed."""
    return [language.name for language in LANGUAGES if language.is_installed]


def missing(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the languages of some files whose grammar is not installed, by extra."""
    found: dict[str, list[str]] = {}
    for suffix in {os.path.splitext(path)[1] for path in paths}:
        language = _BY_SUFFIX.get(suffix)
        if language is not None and not language.is_installed:
            found.setdefault(language.extra, []).append(language.name)
    return {extra: sorted(set(names)) for extra, names in found.items()}


def advice(missing_by_extra: dict[str, list[str]]) -> str:
    """Return what to install for the languages that `missing` returned, "" for none."""
    names = sorted(name for names in missing_by_extra.values() for name in names)
    how = with_extras(*sorted(filter(None, missing_by_extra)))
    return f"{', '.join(names)} not mapped; {how} adds the grammars" if names else ""
