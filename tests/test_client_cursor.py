"""Cursor, which starts Claude Code's hooks with payloads of its own, is known by its fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.databases import rows
from support.hooks import run_hook

from claude_mem_lite.capture import clients

# Source: a payload of Cursor CLI 2026.08.11, as it was captured by others.
COMMON = {
    "conversation_id": "c1", "generation_id": "g1", "model": "grok", "session_id": "c1",
    "cursor_version": "2026.08.11", "workspace_roots": ["/home/dev/river"], "transcript_path": None,
    "user_email": "otter@river.example",
}  # fmt: skip


def payload(name: str, **fields: Any) -> dict[str, Any]:
    """Return a payload, in Cursor's order: the event's own fields before its name."""
    first = {each: COMMON[each] for each in ("conversation_id", "generation_id", "model")}
    return {**first, **fields, "hook_event_name": name, **COMMON}


@pytest.mark.parametrize(("hook", "event", "stored"), [
    ("session_start", payload("sessionStart", is_background_agent=False), ("SessionStart", "", None)),
    ("user_prompt_submit", payload("beforeSubmitPrompt", prompt="Go on."), ("UserPromptSubmit", "", None)),
    ("stop", payload("stop", status="completed", loop_count=0), ("Stop", "", None)),
    ("post_tool_use", payload(
        "postToolUse", tool_name="Shell", tool_input={"command": "ls"},
        tool_output=json.dumps({"exitCode": 0, "stdout": "otter"}),
    ), ("PostToolUse", "Bash", None)),
    ("post_tool_use", payload(
        "postToolUse", tool_name="Shell", tool_input={"command": "ls"},
        tool_output='{"exitCode":2,"output":"x"}',
    ), ("PostToolUseFailure", "Bash", "Exit code 2\nx")),
    ("post_tool_use", payload(
        "postToolUseFailure", tool_name="Read", tool_input={"file_path": "/x"}, error_message="gone",
    ), ("PostToolUseFailure", "Read", "gone")),
])  # fmt: skip
def test_a_payload_of_cursors_becomes_an_event(
    home: Path, hook: str, event: dict[str, Any], stored: tuple[str, str, str | None]
) -> None:
    """It has Claude Code's names and Cursor's as its client; the user's address is not kept."""
    done = run_hook(hook, event)

    [(text, *found)] = rows(
        "SELECT raw_output, event_name, tool_name, json_extract(raw_output, '$.error') FROM pending_queue"
    )
    assert (done.returncode, done.stderr, tuple(found)) == (0, b"", stored)
    assert clients.client_of(text) == "cursor"
    assert json.loads(text)["session_id"] == "c1"
    assert "otter@river.example" not in text


def test_a_field_alone_does_not_make_it_cursors(home: Path) -> None:
    """Without `cursor_version` it is Claude Code's event, whatever its first field is called."""
    event = {
        "conversation_id": "c1",
        "session_id": "s1",
        "hook_event_name": "Stop",
        "last_assistant_message": "x",
    }

    run_hook("stop", event)
    run_hook("stop", {"session_id": "s1", "hook_event_name": "Stop", "tool_input": COMMON})

    stored = [
        (clients.client_of(text), name)
        for text, name in rows("SELECT raw_output, event_name FROM pending_queue")
    ]
    assert stored == [("claude-code", "Stop")] * 2
