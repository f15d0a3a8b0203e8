"""Read fields of a captured event of any shape: a missing or odd field is empty, never an error."""

from typing import Any

from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.text import CUT, clean, relative

_COUNTABLE = 10**15


def value(source: object, *keys: str) -> Any:
    """Return the value under nested keys; None if it is missing."""
    for key in keys:
        source = source.get(key) if isinstance(source, dict) else None
    return source


def text(source: object, *keys: str) -> str:
    """Return the string under the keys, cleaned; "" if there is none."""
    found = value(source, *keys)
    return clean(found) if isinstance(found, str) else ""


def number(source: object, *keys: str) -> int:
    """Return the integer under the keys; 0 if there is none, or one that is negative or too large."""
    found = value(source, *keys)
    return found if type(found) is int and 0 <= found < _COUNTABLE else 0


def items(source: object, *keys: str) -> list[Any]:
    """Return the list under the keys; empty if there is none."""
    found = value(source, *keys)
    return found if isinstance(found, list) else []


def texts(source: object, *keys: str) -> list[str]:
    """Return the strings in the list under the keys, cleaned."""
    return [clean(item) for item in items(source, *keys) if isinstance(item, str)]


def argument(capture: Capture, key: str) -> str:
    """Return a string argument of the tool call."""
    return text(capture.payload, "tool_input", key)


def answer(capture: Capture) -> str:
    """Return the tool's answer if it is text: a bare string, or the text blocks of a message; else ""."""
    response = value(capture.payload, "tool_response")
    if isinstance(response, str):
        return clean(response)
    blocks = response if isinstance(response, list) else items(response, "content")
    found = [text(block, "text") for block in blocks if value(block, "type") == "text"]
    return "\n".join(part for part in found if part) or text(response, "content")


def path(capture: Capture, key: str) -> str:
    """Return a path argument of the tool call, relative to the project."""
    return relative(argument(capture, key), capture.project_dir)


def whole(source: object, *keys: str) -> str | None:
    """Return the string under the keys; None if the queue cut it, since the rest is not faithful."""
    found = text(source, *keys)
    return None if CUT.search(found) else found
