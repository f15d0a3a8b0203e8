"""Tell whether a text, a time or a path is of what the user wants forgotten. Pure."""

import functools
import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_WORD = re.compile(r"[\w-]{6,}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One of these: whole ids, a session, a project, a file (its possible absolute paths), a time, a text.

    `folders` are those of the project, its own among them. Times are UTC text as the databases write it,
    `until` excluded; of a text the case does not matter.
    """

    ids: tuple[str, ...] = ()
    session_id: str = ""
    project_dir: str = ""
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    text: str = ""

    @property
    def is_time(self) -> bool:
        """Whether a time is wanted."""
        return bool(self.since or self.until)

    def was(self, at: str) -> bool:
        """Tell whether something of a time is wanted."""
        return self.is_time and at >= self.since and not (self.until and at >= self.until)

    def is_project(self, folder: str) -> bool:
        """Tell whether a folder is one of the project."""
        return bool(self.project_dir) and folder in {self.project_dir, *self.folders}

    def is_file(self, project_dir: str, path: str) -> bool:
        """Tell whether a path, absolute or relative to its project, is that of the file."""
        return bool(self.files) and os.path.normpath(os.path.join(project_dir, path)) in self.files

    def holds(self, *values: Any) -> bool:
        """Tell whether the text stands in one of some columns, as it is or as JSON spells it."""
        return bool(self.text) and any(_is_in(self.text, value) for value in values if value)

    def in_packed(self, packed: bytes) -> bool:
        """Tell whether the text stands in what the code map keeps of a file."""
        try:
            return bool(self.text) and _is_in(self.text, zlib.decompress(packed))
        except zlib.error:
            return False


def strings(value: Any) -> Iterator[str]:
    """Yield the strings of a JSON value, the names of its fields among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def loaded(text: str) -> Any:
    """Return a JSON text's value, None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def names(text: str, ids: frozenset[str]) -> bool:
    """Tell whether a line, of JSON or not, names one of some ids: as a value, or as a longer word."""
    if not ids.isdisjoint(_WORD.findall(text)):
        return True
    return not ids.isdisjoint(strings(loaded(text)))


def _is_in(wanted: str, value: Any) -> bool:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return False
    folded = value.casefold()
    if any(form in folded for form in _forms(wanted)):
        return True
    # JSON can spell one text in many ways.
    return "\\" in value and any(_is_in(wanted, each) for each in strings(loaded(value)))


@functools.lru_cache(maxsize=8)
def _forms(wanted: str) -> tuple[str, ...]:
    """Return a text as it is and as JSON spells it, in a JSON text inside a JSON text, too."""
    forms = [wanted]
    for _ in range(2):
        forms += [
            json.dumps(form, ensure_ascii=ensure_ascii)[1:-1]
            for form in list(forms)
            for ensure_ascii in (True, False)
        ]
    return tuple(dict.fromkeys(form.casefold() for form in forms))
