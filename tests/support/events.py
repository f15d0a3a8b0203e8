"""Events as Claude Code sends them to hooks, without their session."""

from typing import Any

Event = dict[str, Any]


def prompt(text: str) -> Event:
    """Return the event of a prompt."""
    return {"hook_event_name": "UserPromptSubmit", "prompt": text}


def stop(report: str) -> Event:
    """Return the event of the end of a turn."""
    return {"hook_event_name": "Stop", "last_assistant_message": report}


def tool(name: str, given: Event, answer: Any) -> Event:
    """Return the event of a tool call."""
    fields = {"tool_name": name, "tool_input": given, "tool_response": answer}
    return {"hook_event_name": "PostToolUse", **fields}


def failed(name: str, given: Event, error: str) -> Event:
    """Return the event of a tool call that failed."""
    return {"hook_event_name": "PostToolUseFailure", "tool_name": name, "tool_input": given, "error": error}


def ran(command: str, output: str = "", *, error: str = "", description: str = "Do what is next") -> Event:
    """Return the event of a command; with an `error` it failed."""
    given = {"command": command, "description": description}
    if error:
        return failed("Bash", given, f"Exit code 1\n{error}")
    return tool("Bash", given, {"stdout": output, "stderr": "", "interrupted": False})


def edited(path: str, old: str, new: str) -> Event:
    """Return the event of an edit of a file that held nothing but `old`."""
    given = {"file_path": path, "old_string": old, "new_string": new}
    answer = {"filePath": path, "oldString": old, "newString": new, "originalFile": old}
    return tool("Edit", given, answer)


def read(path: str, content: str) -> Event:
    """Return the event of reading a file."""
    lines = content.count("\n")
    file = {"filePath": path, "content": content, "numLines": lines, "startLine": 1, "totalLines": lines}
    return tool("Read", {"file_path": path}, {"type": "text", "file": file})
