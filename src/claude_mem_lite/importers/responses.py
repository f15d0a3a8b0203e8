"""Rebuild a tool's response when the transcript has only the text that the model was shown."""

import re
from typing import Any

from claude_mem_lite.distill.rules.fields import items, value

# An error that begins like this comes from the client or the user, not the tool; no hook is called for it.
_REFUSALS = (
    "The user doesn't want to", "Permission to use ", "Claude requested permissions to ",
    "[Request interrupted", "This command requires approval", "Permission for this ",
    "InputValidationError", "Permission denied: ",
)  # fmt: skip
# The client's own errors. From a tool in _MEETING such an error says that the project lacks something.
_CLIENTS_ERROR = "<tool_use_error>"
_MEETING = frozenset({"Glob", "Grep", "LS", "Read", "Skill"})
_CALLED_WRONG = ("InputValidationError", "Sibling tool call errored", "File content (", "No such tool")
_NUMBERED = re.compile(r" *(\d+)(?:\t|→)(.*)", re.DOTALL)
# The queue's mark for cut text: rules draw no conclusions from a text that contains it.
_UNKNOWN = "[… 0 characters cut …]"
# The client shows at most this many lines of a file, and cuts lines longer than this.
_MOST_LINES, _LONGEST_LINE_CHARS = 2_000, 2_000
# Larger files are not tracked: a hostile transcript could make one grow with each edit.
_MOST_CHARS = 1_000_000


class Files:
    """The text of each file that a transcript has shown in full, as the last call on it left it."""

    def __init__(self) -> None:
        """Start without files: a transcript is read from its first line."""
        self._texts: dict[str, str] = {}

    def completed(self, tool_name: str, given: Any, response: Any) -> Any:
        """Return a call's response; add `originalFile` to an edit's response if the client left it out.

        The client leaves it out for sub-agents. The tracked text is exact: the client edits no changed file.
        """
        path = value(given, "file_path")
        if not isinstance(path, str) or not isinstance(response, dict):
            return response
        if tool_name == "Read":
            if isinstance(file := response.get("file"), dict) and isinstance(file.get("content"), str):
                self._note(path, file["content"] if _is_whole(given, file) else None)
            return response
        if tool_name not in {"Write", "Edit", "MultiEdit"}:
            return response
        before = response.get("originalFile")
        if before == _UNKNOWN or (before is None and tool_name != "Write"):
            before = self._texts.get(path)
            response = response if before is None else response | {"originalFile": before}
        after = given.get("content") if tool_name == "Write" else _replaced(before, given)
        self._note(path, after)
        return response

    def _note(self, path: str, content: Any) -> None:
        self._texts.pop(path, None)
        if isinstance(content, str) and len(content) <= _MOST_CHARS:
            self._texts[path] = content


def is_refusal(error: str, tool_name: str) -> bool:
    """Tell whether a call was refused or never made; a read or search that found nothing was made."""
    if error.startswith(_CLIENTS_ERROR):
        says = error.removeprefix(_CLIENTS_ERROR)
        return tool_name not in _MEETING or says.startswith(_CALLED_WRONG)
    return error.startswith(_REFUSALS)


def text(content: Any) -> str:
    """Return the text of a message's or a result's content."""
    if isinstance(content, str):
        return content
    found = [value(block, "text") for block in items(content) if value(block, "type") == "text"]
    return "\n".join(part for part in found if isinstance(part, str))


def rebuilt(tool_name: str, given: Any, content: Any, told: Any) -> Any:
    """Return a tool's response, rebuilt from what the model was shown; sub-agents' lines have no more."""
    shown = text(content)
    path = value(given, "file_path")
    if tool_name == "Bash":
        return {"stdout": shown, "stderr": "", "interrupted": False, "isImage": False}
    if tool_name == "Read":
        return _file_read(path, shown)
    if tool_name == "Write":
        is_new = "created" in shown
        before = None if is_new else _UNKNOWN
        kind = "create" if is_new else "update"
        return {
            "type": kind, "filePath": path, "content": value(given, "content"), "structuredPatch": [],
            "originalFile": before,
        }  # fmt: skip
    if tool_name in {"Edit", "MultiEdit"}:
        return {
            "filePath": path,
            "oldString": value(given, "old_string"),
            "newString": value(given, "new_string"),
        }
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


def _is_whole(given: dict[str, Any], file: dict[str, Any]) -> bool:
    """Tell whether a Read has certainly shown all of a file."""
    lines = file["content"].split("\n")
    is_part = given.get("offset") or given.get("limit") or file.get("numLines") != file.get("totalLines")
    return not is_part and len(lines) < _MOST_LINES and max(map(len, lines)) < _LONGEST_LINE_CHARS


def _replaced(before: Any, given: dict[str, Any]) -> str | None:
    """Return a file's text after an Edit or a MultiEdit; None where it cannot be computed."""
    if not isinstance(before, str):
        return None
    after, edits = before, given.get("edits")
    for each in edits if isinstance(edits, list) else [given]:
        old, new = value(each, "old_string"), value(each, "new_string")
        if not isinstance(old, str) or not isinstance(new, str) or not old or old not in after:
            return None
        times = after.count(old) if value(each, "replace_all") is True else 1
        if len(after) + times * (len(new) - len(old)) > _MOST_CHARS:
            return None
        after = after.replace(old, new, times)
    return after
