"""What a tool answered, as its hook had it, where the transcript has only what the model was shown."""

from __future__ import annotations

import re
from typing import Any

# Such an answer came from the client or the user instead of the tool; no hook hears of it.
_REFUSALS = (
    "<tool_use_error>", "The user doesn't want to", "Permission to use ", "Claude requested permissions to ",
    "[Request interrupted", "This command requires approval", "Permission for this ",
    "InputValidationError", "Permission denied: ",
)  # fmt: skip
_NUMBERED = re.compile(r" *(\d+)(?:\t|→)(.*)", re.DOTALL)
# The queue's own mark of a text that is not whole: nobody concludes anything from it.
_UNKNOWN = "[… 0 characters cut …]"


def is_refusal(error: str) -> bool:
    """Tell whether a call was refused or never made."""
    return error.startswith(_REFUSALS)


def text(content: Any) -> str:
    """Return the text of a message's or a result's content."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    found = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(part for part in found if isinstance(part, str))


def rebuilt(tool_name: str, given: Any, content: Any, told: Any) -> Any:
    """Return a tool's answer as far as what the model was shown tells it; sub-agents' lines have no more."""
    shown = text(content)
    named = given if isinstance(given, dict) else {}
    path = named.get("file_path")
    if tool_name == "Bash":
        return {"stdout": shown, "stderr": "", "interrupted": False, "isImage": False}
    if tool_name == "Read":
        return _file_read(path, shown)
    if tool_name == "Write":
        is_new = "created" in shown
        before = None if is_new else _UNKNOWN
        kind = "create" if is_new else "update"
        return {
            "type": kind, "filePath": path, "content": named.get("content"), "structuredPatch": [],
            "originalFile": before,
        }  # fmt: skip
    if tool_name in {"Edit", "MultiEdit"}:
        return {"filePath": path, "oldString": named.get("old_string"), "newString": named.get("new_string")}
    if told is not None:
        return told
    return shown if isinstance(content, str) else content


def _file_read(path: Any, shown: str) -> dict[str, Any]:
    matches = [_NUMBERED.fullmatch(line) for line in shown.split("\n")]
    numbered = [match for match in matches if match]
    if not numbered:
        return {"type": "text", "file": {"filePath": path, "content": "", "numLines": 0}}
    start, count = int(numbered[0][1][:9]), len(numbered)
    return {
        "type": "text",
        "file": {
            "filePath": path,
            "content": "\n".join(match[2] for match in numbered),
            "numLines": count,
            "startLine": start,
            "totalLines": start + count - 1,
        },
    }
