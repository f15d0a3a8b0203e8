"""Read a transcript's lines, one JSON object at a time, whatever the client's version.

Broken, overlong and unknown lines are counted and left out. `events` interprets the lines.
"""

import datetime as dt
import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from claude_mem_lite.capture import own_file

LONGEST_LINE_BYTES = 64 << 20
# Types of lines that clients from 2.1.50 to 2.1.329 write and that make no event.
_SILENT = frozenset({
    "agent-name", "ai-title", "api-request", "atis-latch", "cost-state", "custom-title",
    "file-history-snapshot", "last-prompt", "mode", "permission-mode", "pr-link", "progress",
    "queue-operation", "summary", "tag", "tools-used",
})  # fmt: skip
TOLD = frozenset({"user", "assistant", "system", "attachment"})


class Line(NamedTuple):
    """One line: the offsets in bytes where it starts and ends, its time (UTC text) and its JSON object."""

    start: int
    end: int
    at: str
    said: dict[str, Any]


def read(path: str, left_out: Counter[str], *, now: str, most_bytes: int | None = None) -> Iterator[Line]:
    """Yield the lines of a Claude Code transcript that can make events; see `objects`. Raises: OSError."""
    for line in objects(path, left_out, now=now, most_bytes=most_bytes):
        kind = str(line.said.get("type"))
        if kind in TOLD:
            yield line
        elif kind not in _SILENT:
            left_out["unknown line"] += 1


def objects(path: str, left_out: Counter[str], *, now: str, most_bytes: int | None = None) -> Iterator[Line]:
    """Yield the JSON objects of a file, one per line; times after `now` become `now`. Raises: OSError.

    A line without a time gets the time of the line before it, or "" if there is none. With `most_bytes` only
    the end of the file is read, and a line cut at its start may be counted as broken.
    """
    end, at = 0, ""
    with own_file.opened(path) as file:
        if most_bytes is not None:
            end = file.seek(max(0, file.seek(0, os.SEEK_END) - most_bytes))
        while text := file.readline(LONGEST_LINE_BYTES + 1):
            start, end = end, end + len(text)
            if len(text) > LONGEST_LINE_BYTES:
                while text and not text.endswith(b"\n"):
                    text = file.readline(LONGEST_LINE_BYTES)
                    end += len(text)
                left_out["overlong line"] += 1
                continue
            said = _object(text)
            if said is None:
                if text.strip():
                    left_out["broken line"] += 1
                continue
            at = min(_time(said.get("timestamp")) or at, now)
            yield Line(start, end, at, said)


def of_call(call_id: str, call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the two lines that Claude Code writes for a tool call; `call` has a hook event's fields."""
    use = {"type": "tool_use", "id": call_id, "name": call["tool_name"], "input": call["tool_input"]}
    yield {"type": "assistant", "message": {"content": [use]}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": call.get("error", "")}
    told = {"message": {"content": [{**result, "is_error": "error" in call}]}}
    yield {"type": "user", **told, "toolUseResult": call.get("tool_response")}


def message(text: str, message_id: str = "") -> dict[str, Any]:
    """Return the `message` field of a line with one block of text."""
    return {"message": {"id": message_id, "content": [{"type": "text", "text": text}]}}


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _time(text: object) -> str:
    """Return a time as the databases store it; "" for anything that is not a time."""
    try:
        at = dt.datetime.fromisoformat(str(text)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return ""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if at.year > 2000 else ""  # noqa: PLR2004  (no clock was set)
