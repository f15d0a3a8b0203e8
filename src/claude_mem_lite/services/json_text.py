"""Change one place of a JSON text and leave every other byte as it was.

For files that a person keeps by hand: parsing and dumping would reformat them. Pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object, or an element of an array (`key` None), as a span of the text."""

    key: str | None
    start: int
    value_start: int
    end: int


def items(text: str, start: int) -> list[Item]:
    """Return the members or elements of the object or array that begins at `start`.

    Raises:
        ValueError: there is no valid object or array at `start`.
    """
    closing = {"{": "}", "[": "]"}[text[start]]
    found = []
    at = _skip(text, start + 1)
    while text[at] != closing:
        item_start, key = at, None
        if closing == "}":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        found.append(Item(key, item_start, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def member(text: str, start: int, key: str) -> Item | None:
    """Return the last member of that key in the object at `start`: the one that counts."""
    return next((item for item in reversed(items(text, start)) if item.key == key), None)


def append(text: str, start: int, value: object, *, key: str | None = None) -> str:
    """Return the text with one more member or element at the end of the container at `start`."""
    indent = _indent_unit(text)
    outer = _indent_at(text, start)
    block = json.dumps(value, indent=indent or None, ensure_ascii=False)
    if key is not None:
        block = f"{json.dumps(key, ensure_ascii=False)}: {block}"
    present = items(text, start)
    if not indent:
        piece = f", {block}" if present else block
        at = present[-1].end if present else start + 1
        return text[:at] + piece + text[at:]
    newline = "\r\n" if "\r\n" in text else "\n"
    piece = (newline + outer + indent) + block.replace("\n", newline + outer + indent)
    if present:
        return text[: present[-1].end] + "," + piece + text[present[-1].end :]
    end = _skip(text, start + 1)
    return text[: start + 1] + piece + newline + outer + text[end:]


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
    """Return the indentation of the line on which `at` stands."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    match = _SPACE.match(line)
    return re.sub(r"[\r\n]", "", match[0]) if match else ""
