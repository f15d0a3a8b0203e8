"""Test hostile input: whatever clients send, hooks exit 0, answer validly or not at all, write only ours."""

import contextlib
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from support.hooks import run_hook

from claude_mem_lite.capture import clients, inbox
from claude_mem_lite.hooks import event as hook_event
from claude_mem_lite.hooks import other_client
from claude_mem_lite.services import install, other_clients

KEYS = (
    "session_id", "hook_event_name", "tool_name", "tool_input", "tool_response", "prompt", "source", "error",
    "last_assistant_message", "agent_type", "stop_hook_active", "cwd", "command", "file_path", "content",
)  # fmt: skip
# What a hook may write to a data directory, including SQLite's files and the spool.
OURS = {"config.toml", "logs", "spool", "queue.db", "queue.db-wal", "queue.db-shm"}
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=80)
    | st.sampled_from(
        ["PostToolUse", "Bash", "Edit", "\ud800", "\0", "../../etc", "</claude-mem>", "ghp_" + "a" * 36]
    )
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner)
    ),
    max_leaves=12,
)


def _broken(text: str) -> SearchStrategy[bytes]:
    return st.integers(0, len(text)).map(lambda end: text[:end].encode("utf-8", "surrogatepass"))


events = st.dictionaries(st.sampled_from(KEYS), values).map(json.dumps)
inputs = (
    events.map(str.encode)
    | events.flatmap(_broken)
    | events.map(lambda text: text.encode("utf-16"))
    | values.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=300)
    | st.integers(500, 3_000).map(lambda depth: b'{"tool_input":' + b"[" * depth + b"]" * depth + b"}")
    | st.integers(0, 70_000).map(
        lambda size: json.dumps({"tool_response": {"stdout": "é\x1b[0m" * size}}).encode()
    )
)


def only_ours(home: Path) -> bool:
    """Return whether the data directory holds only files that a hook may write."""
    names = {path.name for path in home.rglob("*") if path.parent.name != "spool"}
    return names <= OURS | {f"hooks.jsonl.{inbox.utc_now()[:10]}"}


def test_a_hundred_megabytes_are_taken(home: Path) -> None:
    """An event of 100 MB is stored, cut to its cap."""
    event = {"session_id": "s1", "hook_event_name": "PostToolUse"}
    event["tool_response"] = {"stdout": "x = 1\n" * 16_700_000}

    done = run_hook("post_tool_use", event)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (home / "queue.db").stat().st_size < 2_000_000
    assert (home / "queue.db").exists()


# The number of inputs per client, spread over its hooks, and of those sent to processes.
INPUTS, TO_PROCESSES = 1_000, 100
EVENTS_OF = {"": install.hook_events(), **{name: each.events for name, each in other_clients.CLIENTS.items()}}
HOOKS_OF = sorted({(name, entry["hook"]) for name, of in EVENTS_OF.items() for entry in of.values()})
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
    """Return a strategy for possible and impossible payloads of a client ("" for Claude Code)."""
    if not client:
        return inputs
    names = [*other_clients.CLIENTS[client].events, "Nonsense", ""]
    known = {"hook_event_name": st.sampled_from(names), "tool_name": TOOLS | values}
    told = st.fixed_dictionaries(known, optional=LIKELY).map(lambda said: json.dumps(said).encode())
    return told | inputs


def valid(output: bytes, client: str) -> bool:
    """Return whether an output is empty or context for an event of the client that takes some."""
    if not output:
        return True
    printed = json.loads(output)
    inner = printed["hookSpecificOutput"]
    is_ours = list(printed) == ["hookSpecificOutput"] and set(inner) == {"hookEventName", "additionalContext"}
    known = clients.module(client)
    return is_ours and (known is None or inner["hookEventName"] in known.ANSWERS)


@pytest.mark.parametrize(("client", "hook"), HOOKS_OF)
def test_no_payload_disturbs_a_hook(home: Path, client: str, hook: str) -> None:
    """1,000 payloads per client get an answer of its protocol or none, and only our files are written."""
    ask = getattr(importlib.import_module(f"claude_mem_lite.hooks.{hook}"), "ask", None)
    of_client = [name for name, _ in HOOKS_OF].count(client)

    def handle(raw: bytes, is_asked: bool, _within_s: float) -> bytes:  # noqa: FBT001
        return hook_event.respond(raw, ask if is_asked else None)

    @settings(max_examples=INPUTS // of_client + 1, deadline=None, suppress_health_check=list(HealthCheck))
    @given(raw=payloads(client))
    def disturb(raw: bytes) -> None:
        output = b""
        if not client:
            output = hook_event.respond(raw, ask)
        else:
            with contextlib.suppress(ValueError, RecursionError):  # invalid JSON, which `event.end` logs
                output = other_client.respond(client, raw, handle, 4.0)
        assert valid(output, client)
        assert only_ours(home)

    disturb()


@pytest.mark.parametrize(("client", "hook"), HOOKS_OF)
def test_no_payload_disturbs_a_hook_process(home: Path, tmp_path: Path, client: str, hook: str) -> None:
    """Hook processes exit 0 with nothing on stderr, and write only to the data directory."""
    of_client = [name for name, _ in HOOKS_OF].count(client)

    @settings(max_examples=TO_PROCESSES // of_client, deadline=None, suppress_health_check=list(HealthCheck))
    @given(raw=payloads(client))
    def disturb(raw: bytes) -> None:
        done = run_hook(hook, raw, project_dir=str(tmp_path), client=client)
        assert (done.returncode, done.stderr) == (0, b"")
        assert valid(done.stdout, client)
        assert list(tmp_path.iterdir()) == []
        assert only_ours(home)

    disturb()
