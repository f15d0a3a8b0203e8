"""Codex CLI: its hooks have Claude Code's events and fields, but its tools differ.

Measured with 0.169.0. No payload has a command's exit status: the client writes it to the session's rollout
before the hook runs. `apply_patch` may change several files at once; each of them becomes an event.
Source: the JSON schemas of the hooks in the client's binary.
"""

from __future__ import annotations

from claude_mem_lite.capture import own_file
from claude_mem_lite.capture.clients import patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The hooks to register, by event. A timeout is in seconds; the session's end may have no longer one.
HOOKS: dict[str, dict[str, Any]] = {
    "SessionStart": {"hook": "session_start"},
    "UserPromptSubmit": {"hook": "user_prompt_submit"},
    "PreToolUse": {"hook": "subagent_start", "matcher": "spawn_agent"},
    "PostToolUse": {"hook": "post_tool_use"},
    "PreCompact": {"hook": "pre_compact"},
    "PostCompact": {"hook": "pre_compact"},
    "Stop": {"hook": "stop"},
    "SubagentStart": {"hook": "subagent_start"},
    "SubagentStop": {"hook": "stop"},
    "SessionEnd": {"hook": "session_end", "timeout": 3},
}
# The events whose answer reaches the model as a message of its own.
ANSWERS = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart"})
BRINGS_START = ""  # the start itself is answered
# The client cuts the middle out of a longer context: its limit is 2,500 tokens of four bytes each.
MOST_CONTEXT_BYTES = 10_000
# Fields that every event has.
_COMMON = (
    "session_id", "transcript_path", "cwd", "hook_event_name", "permission_mode", "agent_id", "agent_type",
)  # fmt: skip
_OWN = (
    "source", "prompt", "stop_hook_active", "last_assistant_message", "agent_transcript_path", "trigger",
    "reason",
)  # fmt: skip
_MOST_FILE_BYTES = 512 << 10
_TAIL_BYTES = 4 << 20
# Files of one patch that become edits; a patch of more files is also stored unchanged.
MOST_FILES = 100


def events(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Translate a payload into events of Claude Code; return [] if it is not worth an event."""
    event = {name: payload[name] for name in (*_COMMON, *_OWN) if name in payload}
    name = payload.get("hook_event_name")
    if name == "UserPromptSubmit" and payload.get("agent_id"):
        return []  # written by the session that started the sub-agent
    if name == "PreToolUse":
        return [event | _agent(payload)] if payload.get("tool_name") == "spawn_agent" else []
    if name == "PostToolUse":
        return [event | call for call in _calls(payload)]
    if name == "PostCompact":
        event["compact_summary"] = summary(_written(payload, b'"compacted"').get("message"))
    return [event]


def edits(changes: list[patches.Change], cwd: str, call_id: str, text_of: Any) -> list[dict[str, Any]]:
    """Return calls equivalent to a patch; the first has the patch's id, each other that id and a number."""
    found = [call for change in changes[:MOST_FILES] for call in patches.calls(change, cwd, text_of)]
    return [{**call, "tool_use_id": f"{call_id}#{at}" if at else call_id} for at, call in enumerate(found)]


def summary(message: Any) -> str:
    """Return the summary of a compaction without the client's own first line, which introduces it."""
    return message.partition("\n")[2].strip() if isinstance(message, str) else ""


def _calls(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a call as calls of Claude Code's tools: name, input, response and id of each."""
    tool, given, call_id = payload.get("tool_name"), payload.get("tool_input"), payload.get("tool_use_id")
    as_it_is = {
        "tool_name": tool, "tool_input": given, "tool_response": payload.get("tool_response"),
        "tool_use_id": call_id,
    }  # fmt: skip
    patch = given.get("command") if isinstance(given, dict) else None
    if tool == "apply_patch" and isinstance(patch, str):
        changes, cwd = patches.parse(patch), str(payload.get("cwd") or "/")
        found = edits(
            changes, cwd, str(call_id), lambda path: own_file.text(path, most_bytes=_MOST_FILE_BYTES)
        )
        is_whole = found and len(changes) <= MOST_FILES
        return found if is_whole else [*found, {**as_it_is, "tool_use_id": f"{call_id}#"}]
    if tool == "Bash":
        exit_code = _completed(payload, str(call_id)).get("exit_code")
        return [{"tool_use_id": call_id, **patches.command(given, payload.get("tool_response"), exit_code)}]
    if tool == "spawn_agent":
        return [{**as_it_is, **_agent(payload), "tool_response": {"isAsync": True}}]
    return [as_it_is]


def _agent(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the start of a sub-agent as a call of Claude Code's `Agent` tool."""
    given = payload.get("tool_input")
    given = given if isinstance(given, dict) else {}
    wanted = {
        "description": given.get("task_name") or "", "prompt": given.get("message") or "",
        "subagent_type": given.get("agent_type") or "",
    }  # fmt: skip
    return {"tool_name": "Agent", "tool_input": wanted, "tool_use_id": payload.get("tool_use_id")}


def _completed(payload: dict[str, Any], call_id: str) -> dict[str, Any]:
    """Return the client's record of a completed call, {} for none."""
    item = _written(payload, b'"item_completed"', call_id.encode("utf-8", "replace")).get("item")
    return item if isinstance(item, dict) and item.get("id") == call_id else {}


def _written(payload: dict[str, Any], *words: bytes) -> dict[str, Any]:
    """Return the payload of the last line of the rollout that contains all `words`; {} for none."""
    import json

    path = payload.get("transcript_path")
    tail = own_file.tail(path, most_bytes=_TAIL_BYTES) if isinstance(path, str) else b""
    for line in reversed(tail.split(b"\n")):
        if all(word in line for word in words):
            try:
                found = json.loads(line).get("payload")
            except (ValueError, AttributeError, RecursionError):
                continue
            return found if isinstance(found, dict) else {}
    return {}
