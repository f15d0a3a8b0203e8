"""Read a transcript's lines, one JSON object at a time, whatever the client's version.

What is broken, too long or unknown is counted and left out. What the lines mean stands in `events`.
"""

import datetime as dt
import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from claude_mem_lite.capture import own_file

LONGEST_LINE_BYTES = 64 << 20
# What clients from 2.1.50 to 2.1.329 write and no event comes of, beside user, assistant, system, attachment.
_SILENT = frozenset({
    "agent-name", "ai-title", "api-request", "atis-latch", "cost-state", "custom-title",
    "file-history-snapshot", "last-prompt", "mode", "permission-mode", "pr-link", "progress",
    "queue-operation", "summary", "tag", "tools-used",
})  # fmt: skip
TOLD = frozenset({"user", "assistant", "system", "attachment"})


class Line(NamedTuple):
    """One line: where in its file it starts and ends, in bytes; its time (UTC text); what it says."""

    start: int
    end: int
    at: str
    said: dict[str, Any]


def read(path: str, left_out: Counter[str], *, now: str, most_bytes: int | None = None) -> Iterator[Line]:
    """Yield what a transcript of Claude Code says, as `objects` does. Raises: OSError."""
    for line in objects(path, left_out, now=now, most_bytes=most_bytes):
        kind = str(line.said.get("type"))
        if kind in TOLD:
            yield line
        elif kind not in _SILENT:
            left_out["unknown line"] += 1


def objects(path: str, left_out: Counter[str], *, now: str, most_bytes: int | None = None) -> Iterator[Line]:
    """Yield the JSON objects of a file, a line each; no line is later than `now`. Raises: OSError.

    A line without a time has that of the line before it, "" where there is none. With `most_bytes` only the
    end of the file is read, and the line that it begins in may count as broken.
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
    """Yield the two lines that Claude Code writes of a tool's call; `call` is as a hook's event has it."""
    use = {"type": "tool_use", "id": call_id, "name": call["tool_name"], "input": call["tool_input"]}
    yield {"type": "assistant", "message": {"content": [use]}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": call.get("error", "")}
    told = {"message": {"content": [{**result, "is_error": "error" in call}]}}
    yield {"type": "user", **told, "toolUseResult": call.get("tool_response")}


def message(text: str, message_id: str = "") -> dict[str, Any]:
    """Return the message of a line in which somebody says a text."""
    return {"message": {"id": message_id, "content": [{"type": "text", "text": text}]}}


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _time(text: object) -> str:
    """Return a time as the memory writes it; "" for none."""
    try:
        at = dt.datetime.fromisoformat(str(text)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return ""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if at.year > 2000 else ""  # noqa: PLR2004  (no clock was set)
