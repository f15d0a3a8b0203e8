"""Change one place of a JSON text and leave every other byte as it was.

For files that people edit by hand: parsing and dumping would reformat them. Pure.
"""

import json
import re
from typing import NamedTuple

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"[ \t]*")
_NEW_LINE = re.compile(r"\r?\n[ \t]*\Z")


class Item(NamedTuple):
    """A member of an object, or an element of an array (`key` None), as a span of the text."""

    key: str | None
    start: int
    value_start: int
    end: int


def items(text: str, start: int) -> list[Item]:
    """Return the members or elements of the object or array that begins at `start`.

    Raises: ValueError: there is no valid object or array at `start`.
    """
    container, end = _DECODER.raw_decode(text, start)
    if not isinstance(container, (dict, list)):
        raise ValueError(f"neither an object nor an array begins at character {start}")  # noqa: TRY004
    found = []
    at = _skip(text, start + 1)
    while at < end - 1:
        item_start, key = at, None
        if isinstance(container, dict):
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, item_end = _DECODER.raw_decode(text, at)
        found.append(Item(key, item_start, at, item_end))
        at = _skip(text, item_end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def member(text: str, start: int, key: str) -> Item | None:
    """Return the last member with a key in the object at `start`: the one that JSON parsers take."""
    return next((item for item in reversed(items(text, start)) if item.key == key), None)


def append(text: str, start: int, value: object, *, key: str | None = None) -> str:
    """Return the text with one more member or element at the end of the container at `start`.

    Its layout is that of the container's last item, or of the whole text if the container is empty.
    """
    present = items(text, start)
    unit = _indent_unit(text)
    if present:
        match = _NEW_LINE.search(text, start + 1, present[-1].start)
        new_line, closing = match[0] if match else "", ""
        before, after = text[: present[-1].end] + ("," if new_line else ", "), text[present[-1].end :]
    else:
        closing = ("\r\n" if "\r\n" in text else "\n") + _indent_at(text, start) if unit else ""
        new_line = closing + unit
        before, after = text[: start + 1], text[_skip(text, start + 1) :]
    block = json.dumps(value, indent=(unit or None) if new_line else None, ensure_ascii=False)
    if key is not None:
        block = f"{json.dumps(key, ensure_ascii=False)}: {block}"
    return before + new_line + block.replace("\n", new_line) + closing + after


def remove(text: str, start: int, item: Item) -> str:
    """Return the text without one member or element of the container at `start`."""
    present = items(text, start)
    index = present.index(item)
    if len(present) == 1:
        return text[: start + 1] + text[_skip(text, item.end) :]
    if index == 0:
        return text[: item.start] + text[present[1].start :]
    return text[: present[index - 1].end] + text[item.end :]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _indent_unit(text: str) -> str:
    """Return the white space of the first indented line, "" for a text on one line."""
    match = re.search(r"\n([ \t]+)\S", text)
    if match:
        return match[1]
    return "" if items(text, _skip(text, 0)) and "\n" not in text.strip() else "  "


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line that contains the position `at`."""
    match = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return match[0] if match else ""
