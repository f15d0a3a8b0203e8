"""Tell what .gitignore files leave out of a folder and those below it; without git.

Source: gitignore(5). The user's own excludes are not read; a tracked file that a pattern fits is left out.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase

_MOST_BYTES, _MOST_RULES, _MOST_ANY = 1 << 16, 1_000, 3


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line of a .gitignore: its parts between slashes, "**" for any number of folders."""

    parts: tuple[str, ...]
    is_folder: bool
    is_kept: bool


class Ignored:
    """Tells whether git would ignore a path below a folder."""

    def __init__(self, root: str) -> None:
        """Take the folder; a .gitignore is read when the first path beside it is asked for."""
        self._root = root
        self._rules = functools.cache(self._read)
        self._folder = functools.cache(self._is_ignored_folder)

    def file(self, path: str) -> bool:
        """Tell whether a file is ignored, or a folder above it; `path` is relative to the root, posix."""
        above = path.rpartition("/")[0]
        return (above != "" and self._folder(above)) or self._fits(path, is_folder=False)

    def folder(self, path: str) -> bool:
        """Tell whether a folder is ignored, or one above it."""
        return self._folder(path)

    def _is_ignored_folder(self, path: str) -> bool:
        above = path.rpartition("/")[0]
        return (above != "" and self._folder(above)) or self._fits(path, is_folder=True)

    def _fits(self, path: str, *, is_folder: bool) -> bool:
        parts = path.split("/")
        is_ignored = False
        for depth in range(len(parts)):
            below = parts[depth:]
            for rule in self._rules("/".join(parts[:depth])):
                if (
                    rule.is_kept == is_ignored
                    and (is_folder or not rule.is_folder)
                    and _match(rule.parts, below)
                ):
                    is_ignored = not is_ignored
        return is_ignored

    def _read(self, folder: str) -> tuple[_Rule, ...]:
        names = [".gitignore"] if folder else [".git/info/exclude", ".gitignore"]
        text = "\n".join(_head(os.path.join(self._root, folder, name)) for name in names)
        rules = (_rule(line) for line in text.splitlines()[:_MOST_RULES])
        return tuple(rule for rule in rules if rule is not None)


def _head(path: str) -> str:
    """Return the start of a file, "" where it can't be read."""
    try:
        if not os.path.isfile(path):  # a pipe would be waited for
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return ""


def _rule(line: str) -> _Rule | None:
    line = line.rstrip()
    if line.startswith("#") or not line.strip("!/"):
        return None
    is_kept = line.startswith("!")
    line = line.removeprefix("!").removeprefix("\\")
    parts = [part for part in line.strip("/").split("/") if part]
    if "/" not in line.rstrip("/"):
        parts.insert(0, "**")
    if parts.count("**") > _MOST_ANY:
        return None
    return _Rule(tuple(parts), line.endswith("/"), is_kept)


def _match(pattern: tuple[str, ...], parts: list[str]) -> bool:
    if not pattern or not parts:
        return not pattern and not parts
    if pattern[0] != "**":
        return fnmatchcase(parts[0], pattern[0]) and _match(pattern[1:], parts[1:])
    if len(pattern) == 1:
        return True
    return any(_match(pattern[1:], parts[at:]) for at in range(len(parts)))
