"""Express what other clients' tools did as calls of Claude Code's tools, and parse `apply_patch` patches.

A patch has no line numbers. If the patched file is still as the patch left it, the text before the patch is
rebuilt; else the edit has only the lines that changed. The removal or move of a file becomes the equivalent
shell command.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"

# The most lines that the search for the place of a hunk compares.
_MOST_COMPARED = 2_000_000
MOST_DIGITS = 9


class Change:
    """The change of one file by a patch; a hunk is a list of lines, each with its mark " ", "+" or "-"."""

    def __init__(self, kind: str, path: str) -> None:
        self.kind, self.path, self.moved_to = kind, path, ""
        self.hunks: list[list[str]] = []


def parse(patch: str) -> list[Change]:
    """Return the changes of a patch, file by file; lines that are no part of a patch are skipped."""
    found: list[Change] = []
    for line in patch.split("\n"):
        kind = next((kind for kind in (_ADD, _DELETE, _UPDATE) if line.startswith(kind)), "")
        if kind:
            found.append(Change(kind, line.removeprefix(kind).strip()))
        elif found and not line.startswith(_END_OF_FILE):
            _read(line, found[-1])
    for hunk in (hunk for change in found for hunk in change.hunks):
        while hunk and hunk[-1] == " ":
            hunk.pop()  # the line break at the patch's end
    return found


def of_diff(path: str, moved_to: str, diff: str) -> Change:
    """Return the change of a file by a unified diff."""
    change = Change(_UPDATE, path)
    change.moved_to = moved_to
    for line in diff.removesuffix("\n").split("\n"):
        if change.hunks or not line.startswith(("--- ", "+++ ")):
            _read(line, change)
    return change


def structured(diff: str) -> list[dict[str, Any]]:
    """Return the hunks of a unified diff as Claude Code's tools report them."""
    found: list[dict[str, Any]] = []
    for line in diff.split("\n"):
        if line.startswith("@@ -"):
            start = line.removeprefix("@@ -").partition(" ")[0].partition(",")[0]
            number = int(start) if start.isdecimal() and len(start) <= MOST_DIGITS else 0
            found.append({"oldStart": number, "lines": []})
        elif found and line[:1] in {"+", "-", " "}:
            found[-1]["lines"].append(line)
    return found


def of_file(path: str, content: str, *, is_new: bool) -> Change:
    """Return the change that creates or deletes a file."""
    change = Change(_ADD if is_new else _DELETE, path)
    if is_new and content:
        change.hunks = [[f"+{line}" for line in content.removesuffix("\n").split("\n")]]
    return change


def _read(line: str, change: Change) -> None:
    """Add a line of a patch to the change of its file."""
    if line.startswith(_MOVE):
        change.moved_to = line.removeprefix(_MOVE).strip()
    elif line.startswith("@@"):
        change.hunks.append([])
    elif line[:1] in {"+", "-", " "}:
        change.hunks = change.hunks or [[]]
        change.hunks[-1].append(line)
    elif not line and change.hunks and change.kind == _UPDATE:
        change.hunks[-1].append(" ")  # an empty line whose mark was trimmed away


def calls(change: Change, cwd: str, text_of: Callable[[str], str | None]) -> list[dict[str, Any]]:
    """Return the calls of Claude Code's tools that are equivalent to a change, each as fields of an event.

    `text_of` returns a file's current text, None if it cannot be read.
    """
    path = os.path.join(cwd, change.path)
    if change.kind == _DELETE:
        return [_shell("rm", path)]
    if change.kind == _ADD:
        content = "".join(f"{line[1:]}\n" for hunk in change.hunks for line in hunk if line[0] == "+")
        return [created(path, content)]
    moved = os.path.join(cwd, change.moved_to) if change.moved_to else ""
    found = [_shell("mv", path, moved)] if moved else []
    hunks = [hunk for hunk in change.hunks if any(line[0] != " " for line in hunk)]
    if hunks:
        found.append(_edit(moved or path, hunks, text_of(moved or path)))
    return found


def _edit(path: str, hunks: list[list[str]], after: str | None) -> dict[str, Any]:
    edits = [
        {"old_string": "\n".join(_side(hunk, "-")), "new_string": "\n".join(_side(hunk, "+"))}
        for hunk in hunks
    ]
    before, starts = _before(hunks, after)
    patch = [
        {
            "oldStart": start, "oldLines": len(_side(hunk, "-")), "newLines": len(_side(hunk, "+")),
            "lines": hunk,
        }
        for hunk, start in zip(hunks, starts, strict=True)
    ]  # fmt: skip
    response = {"filePath": path, "structuredPatch": patch}
    if before is not None:
        response["originalFile"] = before
    if len(edits) == 1:
        given = {"file_path": path, **edits[0]}
        named = {"oldString": edits[0]["old_string"], "newString": edits[0]["new_string"]}
        return call("Edit", given, response | named)
    return call("MultiEdit", {"file_path": path, "edits": edits}, response)


def _before(hunks: list[list[str]], after: str | None) -> tuple[str | None, list[int]]:
    """Return the text before a patch and the line, from 1, where each hunk begins; None and 0s if unknown."""
    unknown = (None, [0] * len(hunks))
    if after is None:
        return unknown
    lines, starts, at, shift = after.split("\n"), [], 0, 0
    before: list[str] = []
    for hunk in hunks:
        old, new = _side(hunk, "-"), _side(hunk, "+")
        found = _find(lines, new, at) if new else -1
        if found < 0:
            return unknown
        before += lines[at:found] + old
        starts.append(found + shift + 1)
        shift += len(old) - len(new)
        at = found + len(new)
    return "\n".join(before + lines[at:]), starts


def _find(lines: list[str], wanted: list[str], start: int) -> int:
    """Return the index of the next occurrence of the wanted lines, -1 for none."""
    compared = 0
    while start + len(wanted) <= len(lines) and compared < _MOST_COMPARED:
        try:
            start = lines.index(wanted[0], start)
        except ValueError:
            return -1
        if lines[start : start + len(wanted)] == wanted:
            return start
        start, compared = start + 1, compared + len(wanted)
    return -1


def _side(hunk: list[str], mark: str) -> list[str]:
    """Return a hunk's lines on the old side ("-") or the new one ("+"), without their marks."""
    return [line[1:] for line in hunk if line[0] in {" ", mark}]


def _shell(*words: str) -> dict[str, Any]:
    import shlex

    return command({"command": shlex.join(words)}, "", 0)


def call(tool: str, given: Any, response: Any) -> dict[str, Any]:
    """Return the event fields of a call that succeeded."""
    return {"tool_name": tool, "tool_input": given, "tool_response": response}


def failed(tool: Any, given: Any, error: str) -> dict[str, Any]:
    """Return the event fields of a call that failed."""
    return {"hook_event_name": "PostToolUseFailure", "tool_name": tool, "tool_input": given, "error": error}


def command(given: Any, output: Any, exit_code: Any) -> dict[str, Any]:
    """Return the event fields of a command; `exit_code` is None if unknown, which counts as success."""
    told = output if isinstance(output, str) else ""
    if isinstance(exit_code, int) and exit_code:
        return failed("Bash", given, f"Exit code {exit_code}\n{told}")
    return call("Bash", given, {"stdout": told, "stderr": "", "interrupted": False, "isImage": False})


def created(path: str, content: str) -> dict[str, Any]:
    """Return the event fields of a call that wrote a new file."""
    told: dict[str, Any] = {"type": "create", "structuredPatch": [], "originalFile": None}
    given = {"file_path": path, "content": content}
    return call("Write", given, {**told, "filePath": path, "content": content})
