"""The code that a learning speaks of, and whether it is still what it was when the learning was made.

An anchor is a file, or a function of one with the hash of its body, as the code map had it. Comments,
docstrings and whitespace change no hash; who moves a file as it is takes its anchors along.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from claude_mem_lite.storage import code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_mem_lite.storage.models import FunctionMapEntry

MOST = 12
_OF_ONE_NAME = 4  # functions; a name of more is one of many
_READ = 1_000

_PATH = re.compile(r"[\w.-]*(?:/[\w.-]+)*\w\.\w{1,8}\b(?!\()")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_CALLED = re.compile(r"([^\W\d][\w.]*)\(")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
# What makes a name of a word that stands without a mark: get_user, Entry.post, camelCase, JsonStore.
_INNER = re.compile(r"\w_+\w|\w\.\w|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A file, or one of its functions (`name`, `body_hash`); the path is relative to the project."""

    file: str
    name: str = ""
    body_hash: str = ""


def anchors_of(row: Any) -> list[Anchor]:
    """Return the anchors that a learning's row has."""
    return [Anchor(**each) for each in row.code]


def as_json(anchors: Iterable[Anchor]) -> list[dict[str, str]]:
    """Return anchors as a learning's row has them."""
    return [asdict(each) for each in anchors]


def speaks_of(
    project_dir: str | None, text: str, *, about: Iterable[str] = (), near: Iterable[str] = ()
) -> list[Anchor]:
    """Return the files and functions of a project that a text names, as they are now, at most 12.

    `about` are names that somebody says it speaks of; of several functions of one name those in the files
    `near` are meant. What the code map does not know is no code.
    """
    if not project_dir:
        return []
    text = text[:_READ]
    paths = dict.fromkeys([*_PATH.findall(text), *(name for name in about if "." in name or "/" in name)])
    found_at = {path: _files(project_dir, path) for path in paths}
    files = [file for found in found_at.values() for file in found]
    preferred = {*files, *near}
    found: dict[Anchor, None] = {}
    for name in _names(text, about):
        if found_at.get(name):
            continue
        rows = code.find_functions(project_dir, name)
        rows = [row for row in rows if row.file_path in preferred] or rows
        if len(rows) <= _OF_ONE_NAME and not _is_plain(name, rows, text, about):
            found |= {Anchor(row.file_path, row.qualified_name, row.body_hash): None for row in rows}
    functions_in = {each.file for each in found}
    found |= {Anchor(file): None for file in files if file not in functions_in}
    return list(found)[:MOST]


def moved(project_dir: str, anchors: Iterable[Anchor]) -> list[Anchor]:
    """Return anchors where they are now: those of a file that was moved as it was go with it."""
    now = []
    for anchor in anchors:
        file = _moved_to(project_dir, anchor) if _is_gone(project_dir, anchor.file) else ""
        now.append(Anchor(file or anchor.file, anchor.name, anchor.body_hash))
    return now


def why_stale(project_dir: str, anchors: Iterable[Anchor]) -> str:
    """Return what has become of the code since, in a line; "" while all of it is as it was."""
    return "; ".join(dict.fromkeys(filter(None, (_change(project_dir, each) for each in anchors))))


def _change(project_dir: str, anchor: Anchor) -> str:
    if not anchor.name:
        return f"{anchor.file} is gone" if _is_gone(project_dir, anchor.file) else ""
    rows = code.functions_in(project_dir, anchor.file)
    for row in rows:
        if row.qualified_name == anchor.name:
            return "" if row.body_hash == anchor.body_hash else f"{anchor.name} has changed"
    for row in rows:
        if row.body_hash == anchor.body_hash:
            return f"{anchor.name} is now called {row.qualified_name}"
    elsewhere = [
        row for row in code.find_functions(project_dir, anchor.name) if row.qualified_name == anchor.name
    ]
    if len(elsewhere) == 1:
        return f"{anchor.name} is now in {elsewhere[0].file_path}"
    return f"{anchor.name} is gone"


def _moved_to(project_dir: str, anchor: Anchor) -> str:
    """Return where the file of an anchor has gone with all that was in it, "" where it has not."""
    left = code.deleted_with(project_dir, anchor.file)
    names = left | {anchor.name} - {""}
    if not names:
        return ""
    first = next(iter(sorted(names)))
    for row in code.find_functions(project_dir, first):
        there = {
            each.qualified_name: each.body_hash for each in code.functions_in(project_dir, row.file_path)
        }
        if names <= there.keys() and (not anchor.name or there[anchor.name] == anchor.body_hash):
            return row.file_path
    return ""


def _is_gone(project_dir: str, path: str) -> bool:
    """Tell whether a file is no more; of a project whose folder is not here only the map knows."""
    if path.endswith((".py", ".pyi")):
        return code.source_file(project_dir, path) is None
    return os.path.isdir(project_dir) and not os.path.exists(os.path.join(project_dir, path))


def _files(project_dir: str, path: str) -> list[str]:
    """Return the files that a path, or the end of one, means: one of the map, or another on the disk."""
    path = os.path.normpath(path).lstrip("/")
    known = code.source_files(project_dir)
    found = [each for each in known if each == path or each.endswith(f"/{path}")]
    if len(found) == 1 or path in found:
        return [path if path in found else found[0]]
    full = os.path.join(project_dir, path)
    is_other = not found and not path.startswith("..") and os.path.isfile(full)
    return [path] if is_other else []


def _names(text: str, about: Iterable[str]) -> Iterator[str]:
    """Yield the names of code in a text, the marked ones first, each once."""
    marked = [name for quoted in _QUOTED.findall(text) for name in _NAME.findall(quoted)]
    plain = [name for name in _NAME.findall(text) if _INNER.search(name) or name[:1].isupper()]
    said = [name.removesuffix("()") for name in about]
    yield from dict.fromkeys([*marked, *_CALLED.findall(text), *said, *plain])


def _is_plain(name: str, rows: Sequence[FunctionMapEntry], text: str, about: Iterable[str]) -> bool:
    """Tell whether a word is likely to be one of English: capitalized, unmarked, and no class."""
    is_marked = (
        f"`{name}" in text or f"{name}(" in text or name in {each.removesuffix("()") for each in about}
    )
    is_named = _INNER.search(name) or all(row.kind == "class" and row.qualified_name == name for row in rows)
    return not (is_marked or is_named)
