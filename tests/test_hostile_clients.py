"""Whatever another client sends: exit 0, nothing on stderr, and on stdout its own protocol or nothing."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.hooks import run_hook
from test_hostile_input import inputs, only_ours, scalars, values

from claude_mem_lite.capture import clients
from claude_mem_lite.hooks import event as hook_event
from claude_mem_lite.hooks import other_client
from claude_mem_lite.services import other_clients

# Each client's inputs, spread over its hooks; so many of them are sent to processes.
INPUTS, TO_PROCESSES = 2_000, 60
HOOKS = sorted({
    (name, entry["hook"])
    for name, client in other_clients.CLIENTS.items()
    for entry in client.events.values()
})  # fmt: skip
PATCH = st.lists(
    st.sampled_from([
        "*** Begin Patch", "*** End Patch", "*** Add File: ", "*** Add File: /etc/x", "*** End of File",
        "*** Delete File: ../../y", "*** Update File: a.py", "*** Update File: \0", "*** Move to: b\ud800",
        "@@", "@@ def f():", "+x", "-x", " ", "", "\r", "+", "é" * 500,
    ]),
    max_size=30,
).map("\n".join)  # fmt: skip
PATHS = st.sampled_from(["/dev/zero", "/dev/stdin", "/proc/self/mem", "/", "", "\0", "../x", "/etc/hostname"])
LIKELY: dict[str, Any] = {
    "session_id": scalars, "transcript_path": PATHS | scalars, "cwd": PATHS | scalars, "prompt": scalars,
    "tool_input": st.fixed_dictionaries({}, optional={
        "command": PATCH | scalars, "message": values, "file_path": PATHS, "old_string": scalars,
        "new_string": scalars, "content": scalars, "absolute_path": PATHS, "dir_path": values,
    }) | values,
    "tool_response": values, "tool_use_id": scalars, "agent_id": scalars, "agent_type": scalars,
    "source": scalars, "last_assistant_message": scalars, "prompt_response": values, "trigger": values,
}  # fmt: skip
TOOLS = st.sampled_from([
    "Bash", "apply_patch", "spawn_agent", "mcp__a__b", "", "replace", "write_file", "read_file",
    "run_shell_command", "write_todos", "activate_skill",
])  # fmt: skip


def payloads(client: str) -> Any:
    """Return what a client could send, and what it could not."""
    names = [*other_clients.CLIENTS[client].events, "Nonsense", ""]
    known = {"hook_event_name": st.sampled_from(names), "tool_name": TOOLS | values}
    told = st.fixed_dictionaries(known, optional=LIKELY).map(lambda said: json.dumps(said).encode())
    return told | inputs


def valid(output: bytes, client: str) -> bool:
    """Tell whether a client is told nothing, or context of an event of its own that takes some."""
    if not output:
        return True
    printed = json.loads(output)
    inner = printed["hookSpecificOutput"]
    known = clients.module(client)
    assert known is not None
    is_ours = list(printed) == ["hookSpecificOutput"] and set(inner) == {"hookEventName", "additionalContext"}
    return is_ours and inner["hookEventName"] in known.ANSWERS


@pytest.mark.parametrize(("client", "hook"), HOOKS)
def test_no_payload_disturbs_a_hook(home: Path, client: str, hook: str) -> None:
    """2,000 payloads a client are answered with its protocol or nothing, and only ours is written."""
    ask = getattr(importlib.import_module(f"claude_mem_lite.hooks.{hook}"), "ask", None)
    of_client = [name for name, _ in HOOKS].count(client)

    def handle(raw: bytes, is_asked: bool, _within_s: float) -> bytes:  # noqa: FBT001
        return hook_event.respond(raw, ask if is_asked else None)

    @settings(max_examples=INPUTS // of_client + 1, deadline=None, suppress_health_check=list(HealthCheck))
    @given(raw=payloads(client))
    def disturb(raw: bytes) -> None:
        try:
            output = other_client.respond(client, raw, handle, 4.0)
        except (ValueError, RecursionError):  # what is no JSON; `event.end` logs it
            output = b""
        assert valid(output, client)
        assert only_ours(home)

    disturb()


@pytest.mark.parametrize(("client", "hook"), HOOKS)
def test_no_payload_disturbs_a_hook_process(home: Path, tmp_path: Path, client: str, hook: str) -> None:
    """As processes: exit 0, silent on stderr, nothing but the data directory touched."""
    of_client = [name for name, _ in HOOKS].count(client)

    @settings(max_examples=TO_PROCESSES // of_client, deadline=None, suppress_health_check=list(HealthCheck))
    @given(raw=payloads(client))
    def disturb(raw: bytes) -> None:
        done = run_hook(hook, raw, project_dir=str(tmp_path), client=client)
        assert (done.returncode, done.stderr) == (0, b"")
        assert valid(done.stdout, client)
        assert list(tmp_path.iterdir()) == []
        assert only_ours(home)

    disturb()
