"""Reads fields of a captured event, whatever their shape: a missing or odd one is empty, never an error."""

from typing import Any

from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.text import CUT, clean, relative

_COUNTABLE = 10**15


def value(source: object, *keys: str) -> Any:
    """Return what stands under the keys, one inside the other; None where it doesn't."""
    for key in keys:
        source = source.get(key) if isinstance(source, dict) else None
    return source


def text(source: object, *keys: str) -> str:
    """Return the string under the keys, cleaned; "" where there is none."""
    found = value(source, *keys)
    return clean(found) if isinstance(found, str) else ""


def number(source: object, *keys: str) -> int:
    """Return the whole number under the keys; 0 where there is none, or one that counts nothing."""
    found = value(source, *keys)
    return found if type(found) is int and 0 <= found < _COUNTABLE else 0


def items(source: object, *keys: str) -> list[Any]:
    """Return the list under the keys; empty where there is none."""
    found = value(source, *keys)
    return found if isinstance(found, list) else []


def texts(source: object, *keys: str) -> list[str]:
    """Return the strings of the list under the keys, cleaned."""
    return [clean(item) for item in items(source, *keys) if isinstance(item, str)]


def argument(capture: Capture, key: str) -> str:
    """Return a string the tool was called with."""
    return text(capture.payload, "tool_input", key)


def answer(capture: Capture) -> str:
    """Return what the tool answered, where that is text: a bare string, or the text blocks of a message."""
    response = value(capture.payload, "tool_response")
    if isinstance(response, str):
        return clean(response)
    blocks = response if isinstance(response, list) else items(response, "content")
    found = [text(block, "text") for block in blocks if value(block, "type") == "text"]
    return "\n".join(part for part in found if part) or text(response, "content")


def path(capture: Capture, key: str) -> str:
    """Return a path the tool was called with, relative to the project."""
    return relative(argument(capture, key), capture.project_dir)


def whole(source: object, *keys: str) -> str | None:
    """Return the string under the keys, or None where the queue cut it: what is left is no faithful text."""
    found = text(source, *keys)
    return None if CUT.search(found) else found
