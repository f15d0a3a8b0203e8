"""Match texts, times and paths against what the user wants forgotten. Pure."""

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
    """What to forget, one of: full ids, a session, a project, a file, a time, a text.

    `folders` are the project's folders, including `project_dir`; `files` are the possible absolute paths of
    the file. Times are UTC text as the databases store it, `until` excluded. Case is ignored in the text.
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
        """Whether a time is to be forgotten."""
        return bool(self.since or self.until)

    def was(self, at: str) -> bool:
        """Tell whether a time falls into the time to forget."""
        return self.is_time and at >= self.since and not (self.until and at >= self.until)

    def is_project(self, folder: str) -> bool:
        """Tell whether a folder is one of the project's."""
        return bool(self.project_dir) and folder in {self.project_dir, *self.folders}

    def is_file(self, project_dir: str, path: str) -> bool:
        """Tell whether a path, absolute or relative to its project, names the file."""
        return bool(self.files) and os.path.normpath(os.path.join(project_dir, path)) in self.files

    def holds(self, *values: Any) -> bool:
        """Tell whether one of the values contains the text, as it is or escaped as JSON."""
        return bool(self.text) and any(_is_in(self.text, value) for value in values if value)

    def in_packed(self, packed: bytes) -> bool:
        """Tell whether the compressed data that the code map keeps of a file contains the text."""
        try:
            return bool(self.text) and _is_in(self.text, zlib.decompress(packed))
        except zlib.error:
            return False


def strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, including the names of fields."""
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
    """Return the value of a JSON text, None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def names(text: str, ids: frozenset[str]) -> bool:
    """Tell whether a line names one of the ids: as a word of 6 or more characters, or as a JSON string."""
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
    # JSON can escape the same text in many ways, so compare the decoded strings too.
    return "\\" in value and any(_is_in(wanted, each) for each in strings(loaded(value)))


@functools.lru_cache(maxsize=8)
def _forms(wanted: str) -> tuple[str, ...]:
    """Return the text in lower case: as it is, escaped as JSON, and escaped twice (JSON inside JSON)."""
    forms = [wanted]
    for _ in range(2):
        forms += [
            json.dumps(form, ensure_ascii=ensure_ascii)[1:-1]
            for form in list(forms)
            for ensure_ascii in (True, False)
        ]
    return tuple(dict.fromkeys(form.casefold() for form in forms))
