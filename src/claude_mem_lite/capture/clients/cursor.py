"""Cursor: it runs Claude Code's hooks if the user allows it, and sends them payloads of its own.

No argument names it, so its fields identify it. Its event names begin in lower case, `Shell` is Bash, and a
tool's answer is JSON text. Not tested in Cursor itself. Source: payloads that others captured in August 2026
(`conversation_id`, `generation_id`, `cursor_version`, `workspace_roots`, `user_email`); cursor.com/docs.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# None to register: Cursor starts the hooks of Claude Code.
HOOKS: dict[str, dict[str, Any]] = {}
_NAMES = {
    "sessionStart": "SessionStart", "beforeSubmitPrompt": "UserPromptSubmit", "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse", "postToolUseFailure": "PostToolUseFailure", "preCompact": "PreCompact",
    "stop": "Stop", "subagentStop": "SubagentStop", "sessionEnd": "SessionEnd",
}  # fmt: skip
ANSWERS = frozenset({"sessionStart", "beforeSubmitPrompt", "postToolUse", *_NAMES.values()})
BRINGS_START = ""
MOST_CONTEXT_BYTES = 64 << 10
_KEPT = (
    "transcript_path", "cwd", "source", "reason", "prompt", "tool_name", "tool_input", "tool_use_id",
    "tool_response", "error", "stop_hook_active", "last_assistant_message", "agent_id", "agent_type",
    "trigger",
)  # fmt: skip


def events(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Translate a payload into an event of Claude Code, if it has one, without the user's email address."""
    name = payload["hook_event_name"]
    if name not in _NAMES and name not in _NAMES.values():
        return []
    roots = payload.get("workspace_roots")
    event: dict[str, Any] = {
        "session_id": payload.get("session_id") or payload.get("conversation_id"),
        "hook_event_name": _NAMES.get(name, name),
        "cwd": roots[0] if isinstance(roots, list) and roots else None,
    }
    event |= {each: payload[each] for each in _KEPT if each in payload}
    if event.get("tool_name") == "Shell":
        event["tool_name"] = "Bash"
    if "error_message" in payload:
        event["error"] = payload["error_message"]
    if "tool_output" in payload:
        event |= _answered(event, payload["tool_output"])
    return [event]


def _answered(event: dict[str, Any], output: Any) -> dict[str, Any]:
    """Return the event fields for a tool's answer."""
    try:
        answer = json.loads(output)
    except (TypeError, ValueError, RecursionError):
        answer = output
    if event.get("tool_name") == "Bash" and isinstance(answer, dict):
        from claude_mem_lite.capture.clients import patches

        told = answer.get("stdout", answer.get("output"))
        return patches.command(event.get("tool_input"), told, answer.get("exitCode"))
    return {"tool_response": answer}
