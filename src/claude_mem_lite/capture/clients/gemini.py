"""Gemini CLI: its events and tools have other names than Claude Code's, and its calls have no id.

Measured with 0.61.0. A payload has the text before and after an edit; the exit status of a failed command is
only in the text shown to the model. The output of hooks at a session's start recurs in front of the prompt.
`PreCompress` is sent before every request to the model, compacted or not, so it is not registered.
"""

from __future__ import annotations

from claude_mem_lite.capture.clients import patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TIMEOUT = {"timeout": 10_000}  # milliseconds
HOOKS: dict[str, dict[str, Any]] = {
    "SessionStart": {"hook": "session_start", **_TIMEOUT},
    "BeforeAgent": {"hook": "user_prompt_submit", **_TIMEOUT},
    "AfterTool": {"hook": "post_tool_use", **_TIMEOUT},
    "AfterAgent": {"hook": "stop", **_TIMEOUT},
    "SessionEnd": {"hook": "session_end", **_TIMEOUT},
}
# The events that we answer; the client appends the answer to the prompt or to the tool's output.
ANSWERS = frozenset({"BeforeAgent", "AfterTool"})
# The event whose answer has the block of a session's start. In headless mode the client puts an answer to the
# start itself in front of the prompt, and a resumed session leaves out every message that begins with it.
BRINGS_START = "BeforeAgent"
# No limit was found; our blocks stay far below.
MOST_CONTEXT_BYTES = 64 << 10
_NAMES = {"BeforeAgent": "UserPromptSubmit", "AfterTool": "PostToolUse", "AfterAgent": "Stop"}
_COMMON = ("session_id", "transcript_path", "cwd")
_CONTEXT, _CONTEXT_END = "<hook_context>", "</hook_context>"
_UNTRUSTED, _UNTRUSTED_END = "<untrusted_context>", "</untrusted_context>"
# What follows a command's output.
_AFTER_OUTPUT = ("Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ")
_CUT_OFF = "IMPORTANT: The file content has been truncated"


def events(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Translate a payload into an event of Claude Code; return [] for an event that is not registered."""
    name: str = payload["hook_event_name"]
    if name not in HOOKS:
        return []
    event = {each: payload[each] for each in _COMMON if each in payload}
    event["hook_event_name"] = _NAMES.get(name, name)
    if name == "AfterTool":
        told = (payload.get(name) for name in ("tool_name", "tool_input", "tool_response"))
        return [event | tool_call(*told)]
    if name == "BeforeAgent":
        event["prompt"] = without_context(payload.get("prompt"))
    elif name == "AfterAgent":
        event["stop_hook_active"] = payload.get("stop_hook_active") is True
        event["last_assistant_message"] = payload.get("prompt_response")
    else:
        event |= {each: payload[each] for each in ("source", "reason") if each in payload}
    return [event]


def without_context(text: Any) -> str:
    """Return a text without the context that hooks have put before and after it."""
    if not isinstance(text, str):
        return ""
    if text.startswith(_CONTEXT):
        text = text.partition(_CONTEXT_END)[2].lstrip("\n")
    if text.endswith(_CONTEXT_END) and _CONTEXT in text:
        text = text[: text.rindex(_CONTEXT)].rstrip("\n")
    return str(text)


def tool_call(tool: Any, given: Any, response: Any) -> dict[str, Any]:
    """Return a call as the equivalent one of Claude Code's tools; that of an unknown tool stays unchanged."""
    given, told = given if isinstance(given, dict) else {}, response if isinstance(response, dict) else {}
    shown, path = text_of(told.get("llmContent")), _str(given.get("file_path") or given.get("absolute_path"))
    error = told.get("error")
    name = _TOOLS.get(tool, tool) if isinstance(tool, str) else ""
    if isinstance(error, dict):
        return patches.failed(name, _named(name, given, path), _str(error.get("message")) or shown)
    if name == "Bash":
        return patches.command(given, *_output(shown))
    display = told.get("returnDisplay")
    if name in {"Write", "Edit"} and isinstance(display, dict):
        return _edited(name, given, path, display)
    return patches.call(name, _named(name, given, path), _answer(name, path, given, shown, display))


def _answer(name: Any, path: str, given: dict[str, Any], shown: str, display: Any) -> Any:
    """Return the answer that Claude Code's Read, Grep or Glob would give, else what the model was shown."""
    if name == "Read":
        return _read(path, given, shown)
    if name == "Grep":
        return {"mode": "content", "content": shown, **_matches(display)}
    if name == "Glob":
        found = shown.split("\n")[1:] if shown.startswith("Found") else []
        return {"filenames": found, "numFiles": len(found)}
    return shown


def text_of(content: Any) -> str:
    """Return the text shown to the model: that of a string, of a part, or of several parts."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    return _str(content["text"] if isinstance(content, dict) and "text" in content else content)


_TOOLS = {
    "run_shell_command": "Bash", "write_file": "Write", "replace": "Edit", "read_file": "Read",
    "grep_search": "Grep", "search_file_content": "Grep", "glob": "Glob", "list_directory": "LS",
    "write_todos": "TodoWrite", "google_web_search": "WebSearch", "web_fetch": "WebFetch",
    "invoke_agent": "Agent",
}  # fmt: skip


def _named(name: Any, given: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the input of a tool under the field names of Claude Code's tool."""
    if name in {"Write", "Edit", "Read"}:
        return {**given, "file_path": path}
    folder = given.get("dir_path") or given.get("path")
    if name in {"Grep", "Glob", "LS"}:
        return {**given, "path": folder}
    if name == "TodoWrite" and isinstance(todos := given.get("todos"), list):
        named = [{**each, "content": each.get("description")} for each in todos if isinstance(each, dict)]
        return {"todos": named}
    if name == "Agent":
        return {"prompt": given.get("prompt"), "subagent_type": given.get("agent_name"), "description": ""}
    return given


def _edited(name: str, given: dict[str, Any], path: str, display: dict[str, Any]) -> dict[str, Any]:
    """Return a Write or an Edit, with the text before it."""
    before, after = _str(display.get("originalContent")), _str(display.get("newContent"))
    if name == "Write" and display.get("isNewFile") is True:
        return patches.created(path, after)
    patch = patches.structured(_str(display.get("fileDiff")))
    told = {"filePath": path, "originalFile": before, "structuredPatch": patch}
    if name == "Write":
        given = {"file_path": path, "content": after}
        return patches.call(name, given, {**told, "type": "update", "content": after})
    old, new = _str(given.get("old_string")), _str(given.get("new_string"))
    if not old or not before:  # a file that was not there, or was empty
        return patches.created(path, after)
    is_all = given.get("allow_multiple") is True
    edit = {"file_path": path, "old_string": old, "new_string": new, "replace_all": is_all}
    return patches.call(name, edit, {**told, "oldString": old, "newString": new})


def _read(path: str, given: dict[str, Any], shown: str) -> dict[str, Any]:
    """Return the answer of Read: a file, or the part of it that was read."""
    is_part = shown.lstrip().startswith(_CUT_OFF) or any(
        given.get(each) for each in ("start_line", "end_line", "offset", "limit")
    )
    count = shown.count("\n") + 1
    file = {"filePath": path, "content": shown, "numLines": count, "startLine": 1}
    return {"type": "text", "file": file if is_part else {**file, "totalLines": count}}


def _matches(display: Any) -> dict[str, Any]:
    matches = display.get("matches") if isinstance(display, dict) else None
    found = matches if isinstance(matches, list) else []
    paths = (each.get("filePath") for each in found if isinstance(each, dict))
    names = list(dict.fromkeys(path for path in paths if isinstance(path, str)))
    return {"filenames": names, "numFiles": len(names)}


def _output(shown: str) -> tuple[str, int | None]:
    """Return the output of a command and its exit status, 0 if the model was shown none."""
    lines = shown.rstrip().removesuffix(_UNTRUSTED_END).rstrip("\n").split("\n")
    exit_code = 0
    while len(lines) > 1 and lines[-1].startswith(_AFTER_OUTPUT):
        line = lines.pop()
        number = line.removeprefix("Exit Code: ")
        if number != line and number.isdecimal() and len(number) <= patches.MOST_DIGITS:
            exit_code = int(number)
    output = "\n".join(lines).removeprefix(f"{_UNTRUSTED}\n").removeprefix("Output: ")
    return "" if output == "(empty)" else output, exit_code


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
