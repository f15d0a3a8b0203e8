"""Build the calls of Claude Code's tools that say what another client's tools did, as fields of an event."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call(tool: str, given: Any, response: Any) -> dict[str, Any]:
    """Return a call that succeeded."""
    return {"tool_name": tool, "tool_input": given, "tool_response": response}


def failed(tool: Any, given: Any, error: str) -> dict[str, Any]:
    """Return a call that failed."""
    return {"hook_event_name": "PostToolUseFailure", "tool_name": tool, "tool_input": given, "error": error}


def command(given: Any, output: Any, exit_code: Any) -> dict[str, Any]:
    """Return a command that ended; `exit_code` is None where it is not known."""
    told = output if isinstance(output, str) else ""
    if isinstance(exit_code, int) and exit_code:
        return failed("Bash", given, f"Exit code {exit_code}\n{told}")
    return call("Bash", given, {"stdout": told, "stderr": "", "interrupted": False, "isImage": False})


def created(path: str, content: str) -> dict[str, Any]:
    """Return that a file was written that was not there."""
    told: dict[str, Any] = {"type": "create", "structuredPatch": [], "originalFile": None}
    given = {"file_path": path, "content": content}
    return call("Write", given, {**told, "filePath": path, "content": content})
