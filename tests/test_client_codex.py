"""Test Codex CLI: its hook payloads become Claude Code's events, and our answers take its format.

The payloads were recorded from Codex CLI 0.169.0 against a model API on loopback.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from support.databases import rows, work_off
from support.hooks import edit, run_hook
from typer.testing import CliRunner

from claude_mem_lite.capture import clients
from claude_mem_lite.capture.clients import codex, patches
from claude_mem_lite.cli.app import app
from claude_mem_lite.storage import models
from claude_mem_lite.upkeep import exchange

RECORDED = Path(__file__).parent / "data" / "clients" / "codex-0.169.0.jsonl"
PAYLOADS: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
HOOK_OF = {name: entry["hook"] for name, entry in codex.HOOKS.items()}
DOOR = "*** Begin Patch\n*** Update File: lodge.py\n@@ def door():\n-    return 'south'\n+    return 'north'\n*** End Patch\n"  # noqa: E501
BEFORE = "def door():\n    return 'south'\n\n\ndef window():\n    return 1\n"


def payload(event_name: str, **fields: Any) -> dict[str, Any]:
    """Return a payload with the fields that all of Codex's have."""
    common = {"session_id": "s1", "turn_id": "t1", "transcript_path": None, "cwd": "/p", "model": "gpt-5.5"}
    return {**common, "hook_event_name": event_name, "permission_mode": "default", **fields}


def patched(patch: str, cwd: str = "/p") -> dict[str, Any]:
    """Return the payload of a patch that was applied."""
    given = {"command": patch}
    done = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n"
    fields = {"tool_name": "apply_patch", "tool_input": given, "tool_response": done, "tool_use_id": "c1"}
    return payload("PostToolUse", cwd=cwd, **fields)


def test_recorded_payloads_become_events_of_claude_code() -> None:
    """Shell calls become Bash, patches become edits of single files, and a sub-agent's prompt is dropped."""
    told = [
        tuple(said.get(name, "") for said in (each, event) for name in ("hook_event_name", "tool_name"))
        for each in PAYLOADS
        for event in codex.events(each)
    ]

    assert set(told) == {
        ("SessionStart", "", "SessionStart", ""),
        ("UserPromptSubmit", "", "UserPromptSubmit", ""),
        ("PreToolUse", "spawn_agent", "PreToolUse", "Agent"),
        ("PostToolUse", "Bash", "PostToolUse", "Bash"),
        ("PostToolUse", "apply_patch", "PostToolUse", "Write"),
        ("PostToolUse", "apply_patch", "PostToolUse", "Edit"),
        ("PostToolUse", "apply_patch", "PostToolUse", "Bash"),
        ("PostToolUse", "spawn_agent", "PostToolUse", "Agent"),
        ("PreCompact", "", "PreCompact", ""),
        ("PostCompact", "", "PostCompact", ""),
        ("SubagentStart", "", "SubagentStart", ""),
        ("Stop", "", "Stop", ""),
        ("SessionEnd", "", "SessionEnd", ""),
    }
    prompts = [each["prompt"] for each in PAYLOADS if each["hook_event_name"] == "UserPromptSubmit"]
    heard = [event["prompt"] for each in PAYLOADS for event in codex.events(each) if "prompt" in event]
    assert "Why does the door face south?" in prompts
    assert "Why does the door face south?" not in heard


def test_every_recorded_event_has_a_hook_that_takes_it(memory: Path) -> None:
    """Each recorded payload is stored under its client by the hook registered for it, with no output."""
    for each in PAYLOADS:
        if each["hook_event_name"] in HOOK_OF:
            done = run_hook(HOOK_OF[each["hook_event_name"]], each, client="codex")
            assert (done.returncode, done.stderr) == (0, b"")
    work_off()

    stored = [clients.client_of(text) for (text,) in rows("SELECT raw_output FROM pending_queue")]
    assert set(stored) == {"codex"}
    assert len(stored) > len(PAYLOADS) / 2
    assert {row.client for row in models.Session.select()} == {"codex"}
    assert {row.client for row in models.Observation.select()} == {"codex"}


def test_a_patch_becomes_an_edit_with_its_functions(memory: Path, tmp_path: Path) -> None:
    """A patch's changed functions are known, because the text before it is rebuilt from the file."""
    (tmp_path / "lodge.py").write_text(BEFORE.replace("south", "north"))

    run_hook("post_tool_use", patched(DOOR, str(tmp_path)), client="codex", project_dir=str(tmp_path))
    work_off()

    [row] = models.Observation.select()
    [change] = row.functions_changed
    assert (row.tool_name, row.files_touched, row.client) == ("Edit", ["lodge.py"], "codex")
    assert (change["qualified_name"], change["change_type"]) == ("door", "modified")
    assert row.title == "door in lodge.py: “return 'south' → 'north'”"


def test_a_patch_of_several_files_becomes_several_events() -> None:
    """A patch of several files gives one event per file; removals and moves become `rm` and `mv` commands."""
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+def new():\n+    pass\n*** Delete File: old file.txt\n"
        "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n@@\n-1\n+2\n*** End of File\n*** End Patch"
    )

    events = codex.events(patched(patch))

    assert [(event["tool_name"], event["tool_use_id"]) for event in events] == [
        ("Write", "c1"), ("Bash", "c1#1"), ("Bash", "c1#2"), ("MultiEdit", "c1#3"),
    ]  # fmt: skip
    assert events[0]["tool_input"] == {"file_path": "/p/new.py", "content": "def new():\n    pass\n"}
    assert [events[at]["tool_input"]["command"] for at in (1, 2)] == [
        "rm '/p/old file.txt'", "mv /p/a.txt /p/b.txt",
    ]  # fmt: skip
    assert events[3]["tool_input"]["edits"] == [
        {"old_string": "x", "new_string": "y"}, {"old_string": "1", "new_string": "2"},
    ]  # fmt: skip


@pytest.mark.parametrize(("after", "before", "starts"), [
    ("a\nNEW\nc\nd\ne\nf", "a\nold\nc\nd\nf", [1, 5]),
    ("z\na\nNEW\nc\nd\ne\nf\n", "z\na\nold\nc\nd\nf\n", [2, 6]),
    ("a\nchanged since\nc", None, [0, 0]),
    (None, None, [0, 0]),
])  # fmt: skip
def test_the_text_before_a_patch_is_rebuilt(after: str | None, before: str | None, starts: list[int]) -> None:
    """The text before a patch is rebuilt only if the file is as the patch left it; nothing is made up."""
    patch = "*** Update File: f.txt\n@@\n a\n-old\n+NEW\n c\n@@\n+e\n f\n"

    [change] = patches.parse(patch)
    [call] = patches.calls(change, "/p", lambda _path: after)

    response = call["tool_response"]
    assert response.get("originalFile") == before
    assert [hunk["oldStart"] for hunk in response["structuredPatch"]] == starts


def test_a_patch_of_too_many_files_is_stored_as_it_is_too() -> None:
    """If a patch has too many files, the first become edits and the whole patch is stored too."""
    patch = "".join(f"*** Add File: {number}.py\n+x\n" for number in range(codex.MOST_FILES + 1))

    events = codex.events(patched(patch))

    assert [event["tool_name"] for event in events] == ["Write"] * codex.MOST_FILES + ["apply_patch"]
    assert f"{codex.MOST_FILES}.py" in events[-1]["tool_input"]["command"]


def test_a_command_that_failed_is_a_failure(memory: Path, tmp_path: Path) -> None:
    """A failed command is stored as a failure, its exit code read from the client's rollout file."""
    rollout = tmp_path / "rollout.jsonl"
    item = {"type": "CommandExecution", "id": "c9", "exit_code": 3, "aggregated_output": "boom\n"}
    line = {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}
    rollout.write_text("not JSON\n" + json.dumps(line, separators=(",", ":")) + "\n")
    ran = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "c9"}
    ran["tool_response"] = "boom\n"

    run_hook("post_tool_use", payload("PostToolUse", transcript_path=str(rollout), **ran), client="codex")
    link = tmp_path / "link.jsonl"
    link.symlink_to(rollout)
    run_hook("post_tool_use", payload("PostToolUse", transcript_path=str(link), **ran), client="codex")

    stored = rows("SELECT event_name, json_extract(raw_output, '$.error') FROM pending_queue ORDER BY seq")
    assert stored == [("PostToolUseFailure", "Exit code 3\nboom\n"), ("PostToolUse", None)]


def test_what_the_client_does_not_take_is_not_printed(home: Path) -> None:
    """For Codex, a hook prints nothing where Codex takes no context, as at a compaction."""
    assert run_hook("pre_compact", payload("PreCompact", trigger="auto")).stdout != b""

    done = run_hook("pre_compact", payload("PreCompact", trigger="auto"), client="codex")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert rows("SELECT event_name FROM pending_queue") == [("PreCompact",), ("PreCompact",)]


def test_a_client_that_nobody_knows_is_silent(home: Path) -> None:
    """A hook called for an unknown client exits 0, prints nothing and stores nothing."""
    done = run_hook("session_start", payload("SessionStart", source="startup"), client="nobody")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (home / "queue.db").exists()


def test_a_block_is_cut_to_what_the_client_takes() -> None:
    """A block is cut, line by line from its end, to Codex's byte limit and stays closed."""
    lines = [f"line {number} {'🦫' * 100}" for number in range(40)]
    block = "\n".join(["<claude-mem>", *lines, "</claude-mem>"])

    cut = clients.fitted(block, codex.MOST_CONTEXT_BYTES)

    assert len(cut.encode()) <= codex.MOST_CONTEXT_BYTES < len(f"{cut}\n{lines[-1]}".encode())
    assert cut.startswith(f"<claude-mem>\n{lines[0]}")
    assert cut.endswith("\n</claude-mem>")
    assert clients.fitted("short", 10) == "short"


@pytest.mark.parametrize(("event", "client"), [
    ('{"client":"codex","session_id":"s"}', "codex"),
    ('{"client": "codex", "session_id": "s"}', "codex"),
    ('{"client":"nobody","session_id":"s"}', "claude-code"),
    ('{"session_id":"s","client":"codex"}', "claude-code"),
    ('{"tool_input":{"client":"codex"}}', "claude-code"),
    ("[]", "claude-code"),
])  # fmt: skip
def test_only_the_first_key_names_the_client(event: str, client: str) -> None:
    """Only an event's first key names its client, so that tool input or output cannot forge it."""
    assert clients.client_of(event) == client


def test_why_names_the_client(memory: Path, tmp_path: Path) -> None:
    """`why` names the client of the session that a row came from."""
    (tmp_path / "lodge.py").write_text(BEFORE.replace("south", "north"))
    run_hook("post_tool_use", patched(DOOR, str(tmp_path)), client="codex", project_dir=str(tmp_path))
    run_hook("post_tool_use", {**edit("/p/a.py"), "session_id": "s2"})
    work_off()

    found = list(models.Observation.select())
    told = {row.client: CliRunner().invoke(app, ["why", row.id]).stdout.splitlines() for row in found}

    assert [line.split() for line in told["codex"] if line.startswith("client")] == [["client", "Codex"]]
    expected = [["client", "Claude", "Code"]]
    assert [line.split() for line in told["claude-code"] if line.startswith("client")] == expected


def test_an_export_keeps_the_client(memory: Path) -> None:
    """An export keeps each row's client; rows of an export without clients are Claude Code's."""
    run_hook("post_tool_use", patched(DOOR), client="codex")
    work_off()
    models.Session.update(project_dir="/p").execute()
    lines = [json.loads(line) for line in exchange.export(None)]
    assert {line["client"] for line in lines if "client" in line} == {"codex"}
    older = [{name: line[name] for name in line if name != "client"} for line in lines]

    for said, client in ((lines, "codex"), (older, "claude-code")):
        models.Observation.delete().execute()
        models.Session.delete().execute()
        lines_of = (json.dumps(line).encode() for line in said)
        exchange.take_in(lines_of, suspicions=lambda _: [], progress=lambda _: None)

        assert {row.client for row in models.Observation.select()} == {client}
        assert {row.client for row in models.Session.select()} == {client}
