"""Test Gemini CLI and Cursor: their payloads become Claude Code's events, our answers take their format."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.databases import rows, session_row, work_off
from support.hooks import run_hook

from claude_mem_lite.capture import clients
from claude_mem_lite.capture.clients import gemini
from claude_mem_lite.hooks import helper, other_client
from claude_mem_lite.storage import models

RECORDED = Path(__file__).parent / "data" / "clients" / "gemini-0.61.0.jsonl"
PAYLOADS: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
HOOK_OF = {name: entry["hook"] for name, entry in gemini.HOOKS.items()}


def shell(shown: str) -> dict[str, Any]:
    """Return the event of a command that ended with this text."""
    response = {"llmContent": shown, "returnDisplay": ""}
    return gemini.tool_call("run_shell_command", {"command": "make"}, response)


def test_recorded_payloads_become_events_of_claude_code() -> None:
    """Every registered event and tool gets Claude Code's name for it; unregistered events are dropped."""
    told = {
        tuple(said.get(name, "") for said in (each, event) for name in ("hook_event_name", "tool_name"))
        for each in PAYLOADS
        for event in gemini.events(each)
    }

    assert told == {
        ("SessionStart", "", "SessionStart", ""),
        ("BeforeAgent", "", "UserPromptSubmit", ""),
        ("AfterTool", "run_shell_command", "PostToolUse", "Bash"),
        ("AfterTool", "run_shell_command", "PostToolUseFailure", "Bash"),
        ("AfterTool", "write_file", "PostToolUse", "Write"),
        ("AfterTool", "replace", "PostToolUse", "Edit"),
        ("AfterTool", "replace", "PostToolUseFailure", "Edit"),
        ("AfterTool", "read_file", "PostToolUse", "Read"),
        ("AfterTool", "read_file", "PostToolUseFailure", "Read"),
        ("AfterTool", "grep_search", "PostToolUse", "Grep"),
        ("AfterTool", "glob", "PostToolUse", "Glob"),
        ("AfterTool", "list_directory", "PostToolUse", "LS"),
        ("AfterTool", "write_todos", "PostToolUse", "TodoWrite"),
        ("AfterAgent", "", "Stop", ""),
        ("SessionEnd", "", "SessionEnd", ""),
    }
    assert {each["hook_event_name"] for each in PAYLOADS} - set(gemini.HOOKS) == {"PreCompress", "BeforeTool"}


def test_the_recorded_session_is_remembered(memory: Path) -> None:
    """A recorded session becomes observations with files, functions and failures, under its client."""
    for each in PAYLOADS:
        if each["hook_event_name"] in HOOK_OF:
            hook = HOOK_OF[each["hook_event_name"]]
            done = run_hook(hook, each, client="gemini", project_dir="/home/dev/river")
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    work_off()

    found = list(models.Observation.select().order_by(models.Observation.pk))
    assert {row.client for row in found} == {row.client for row in models.Session.select()} == {"gemini"}
    changes = [(row.tool_name, each) for row in found for each in row.functions_changed]
    changed = [(tool, each["qualified_name"], each["change_type"]) for tool, each in changes]
    assert changed == [
        ("Write", "door", "new"), ("Write", "window", "new"), ("Edit", "door", "modified"),
        ("Write", "door", "modified"), ("Write", "window", "deleted"),
    ]  # fmt: skip
    titles = {row.tool_name: row.title for row in found}
    assert titles["UserPromptSubmit"] in {"Put an otter into the river", "Is it there?"}
    assert any("no-such-pond" in row.title for row in found if row.tool_name == "Bash")


def test_a_prompt_is_the_users_words_alone() -> None:
    """The context that our hook put in front of a prompt is not taken for the user's words."""
    heard = [each["prompt"] for each in PAYLOADS if each["hook_event_name"] == "BeforeAgent"]
    assert all(prompt.startswith("<hook_context>") for prompt in heard)

    prompts = [event["prompt"] for each in PAYLOADS for event in gemini.events(each) if "prompt" in event]

    assert prompts == ["Put an otter into the river.", "Is it there?"]
    assert gemini.without_context("What is <hook_context>?") == "What is <hook_context>?"
    assert gemini.without_context(None) == ""


@pytest.mark.parametrize(("shown", "output", "error"), [
    ("<untrusted_context>\nOutput: done\nProcess Group PGID: 1\n</untrusted_context>", "done", None),
    ("Output: (empty)", "", None),
    ("Output: a\nb\nExit Code: 2\nProcess Group PGID: 1", None, "Exit code 2\na\nb"),
    ("Output: (empty)\nExit Code: 1\nSignal: 9", None, "Exit code 1\n"),
    ("Output: Exit Code: 3\nmore", "Exit Code: 3\nmore", None),
    ("", "", None),
])  # fmt: skip
def test_a_command_ends_as_the_model_was_shown(shown: str, output: str | None, error: str | None) -> None:
    """Output and exit status are split from one text; an exit status that the command printed is output."""
    call = shell(shown)

    assert call.get("error") == error
    assert call.get("tool_response", {}).get("stdout") == output


def test_an_edit_has_the_text_before_it() -> None:
    """A replacement becomes an Edit with the client's hunks, an overwrite a Write with the text before it."""
    told = [event for each in PAYLOADS for event in gemini.events(each)]
    calls = {event["tool_name"]: event for event in told if event["hook_event_name"] == "PostToolUse"}

    edit, write = calls["Edit"], calls["Write"]
    assert edit["tool_input"]["old_string"] == "'south'"
    before = "def door():\n    return 'south'\n\n\ndef window():\n    return 1\n"
    assert edit["tool_response"]["originalFile"] == before
    [hunk] = edit["tool_response"]["structuredPatch"]
    assert (hunk["oldStart"], hunk["lines"][1:3]) == (1, ["-    return 'south'", "+    return 'north'"])
    assert (write["tool_response"]["type"], write["tool_input"]["content"]) == (
        "update", "def door():\n    return 'up'\n",
    )  # fmt: skip


def test_context_goes_back_under_the_clients_own_name(memory: Path) -> None:
    """A block answers `AfterTool`, the client's own event, and not the event it was mapped to."""
    ran = {"tool_name": "run_shell_command", "tool_input": {"command": "x"}, "tool_response": {}}
    payload = {"session_id": "s1", "hook_event_name": "AfterTool", **ran}

    def handle(raw: bytes, _is_asked: bool, _within_s: float) -> bytes:  # noqa: FBT001
        return helper.printed("<claude-mem>\nx\n</claude-mem>", json.loads(raw)["hook_event_name"])

    told = json.loads(other_client.respond("gemini", json.dumps(payload).encode(), handle, 4.0))

    assert told == {"hookSpecificOutput": {
        "hookEventName": "AfterTool", "additionalContext": "<claude-mem>\nx\n</claude-mem>",
    }}  # fmt: skip
    assert clients.NAMES["gemini"] == "Gemini CLI"
    assert rows("SELECT 1 FROM pending_queue") == []


def test_the_first_prompt_brings_the_block_of_the_start(memory: Path) -> None:
    """The start's block comes once, with the first prompt: at a resumed start it would cost the prompt."""
    session_row("earlier", project_dir="/p", summary="Built a dam of willow.", summarized_pk=1)
    common = {"session_id": "s1", "cwd": "/p"}
    started = {**common, "hook_event_name": "SessionStart", "source": "startup"}
    prompts = [{**common, "hook_event_name": "BeforeAgent", "prompt": text} for text in ("Go on.", "And on.")]

    def told(hook: str, payload: dict[str, Any]) -> str:
        return run_hook(hook, payload, client="gemini", project_dir="/p").stdout.decode()

    assert told("session_start", started) == ""
    first, second = (told("user_prompt_submit", each) for each in prompts)

    answer = json.loads(first)["hookSpecificOutput"]
    assert answer["hookEventName"] == "BeforeAgent"
    assert "dam of willow" in answer["additionalContext"]
    assert "dam of willow" not in second


# Source: a payload of Cursor CLI 2026.08.11, as it was captured by others.
COMMON = {
    "conversation_id": "c1", "generation_id": "g1", "model": "grok", "session_id": "c1",
    "cursor_version": "2026.08.11", "workspace_roots": ["/home/dev/river"], "transcript_path": None,
    "user_email": "otter@river.example",
}  # fmt: skip


def payload(name: str, **fields: Any) -> dict[str, Any]:
    """Return a payload in Cursor's order: the event's own fields before its name."""
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
    """A Cursor payload is stored with Claude Code's names, as Cursor's, without the user's email address."""
    done = run_hook(hook, event)

    [(text, *found)] = rows(
        "SELECT raw_output, event_name, tool_name, json_extract(raw_output, '$.error') FROM pending_queue"
    )
    assert (done.returncode, done.stderr, tuple(found)) == (0, b"", stored)
    assert (clients.client_of(text), json.loads(text)["session_id"]) == ("cursor", "c1")
    assert "otter@river.example" not in text


def test_a_field_alone_does_not_make_it_cursors(home: Path) -> None:
    """Without `cursor_version` an event is Claude Code's, whatever its first field."""
    event = {"conversation_id": "c1", "session_id": "s1", "hook_event_name": "Stop"}
    event["last_assistant_message"] = "x"

    run_hook("stop", event)
    run_hook("stop", {"session_id": "s1", "hook_event_name": "Stop", "tool_input": COMMON})

    found = rows("SELECT raw_output, event_name FROM pending_queue")
    stored = [(clients.client_of(text), name) for text, name in found]
    assert stored == [("claude-code", "Stop")] * 2
