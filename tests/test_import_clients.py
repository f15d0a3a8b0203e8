"""Test `import transcripts --from` codex and gemini: it gives the memory that hooks would have made."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.hooks import run_hook
from support.transcripts_on_disk import take_in
from test_client_codex import HOOK_OF, PAYLOADS
from test_client_gemini import HOOK_OF as GEMINI_HOOKS
from test_client_gemini import PAYLOADS as GEMINI_PAYLOADS
from typer.testing import CliRunner

from claude_mem_lite.cli.app import app
from claude_mem_lite.importers import chats, rollouts
from claude_mem_lite.storage import models

ROLLOUT = Path(__file__).parent / "data" / "clients" / "codex-rollout-0.169.0.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in ROLLOUT.read_text("utf-8").splitlines()]
SESSION: str = LINES[0]["payload"]["id"]
LONG_AGO = 1_795_000_000


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return Codex's empty folder of rollouts."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    folder = tmp_path / "codex" / "sessions" / "2026" / "11" / "23"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, lines: list[dict[str, Any]], name: str = SESSION) -> Path:
    """Write a rollout whose last change was long ago."""
    path = folder / f"rollout-2026-11-23T19-10-01-{name}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def remembered() -> list[tuple[str, str, list[str], list[str]]]:
    """Return tool, title, files and changed functions of all observations, in order."""
    rows = models.Observation.select().order_by(models.Observation.pk)
    changed = [[each["qualified_name"] for each in row.functions_changed] for row in rows]
    both = zip(rows, changed, strict=True)
    return [(row.tool_name, row.title, row.files_touched, names) for row, names in both]


def test_a_rollout_becomes_a_session(memory: Path, sessions: Path) -> None:
    """A Codex rollout is imported once, with prompt, commands, edited functions, a failure and the report."""
    write(sessions, LINES)

    first = take_in("--from", "codex")
    again = take_in("--from", "codex")

    assert (first["sessions"], first["left_out"], again["sessions"], again["sessions_known"]) == (1, {}, 0, 1)
    told = remembered()
    assert [tool for tool, *_ in told] == [
        "UserPromptSubmit", "Write", "Write", "Bash", "Edit", "Edit", "Bash", "Bash", "Write", "Stop",
    ]  # fmt: skip
    assert ("Write", "Create lodge.py with door and window", ["lodge.py"], ["door", "window"]) in told
    assert ("Edit", "door in lodge.py: “return 'south' → 'north'”", ["lodge.py"], ["door"]) in told
    assert any(tool == "Bash" and "No module named 'nope'" in title for tool, title, *_ in told)
    [session] = models.Session.select()
    assert (session.id, session.client, session.project_dir) == (SESSION, "codex", "/home/dev/river")
    assert {row.client for row in models.Observation.select()} == {"codex"}


def test_what_the_hooks_have_told_is_not_told_again(memory: Path, sessions: Path) -> None:
    """Importing a session that hooks captured adds nothing: calls are matched by id, messages by text."""
    for payload in PAYLOADS:
        if payload["session_id"] == SESSION and payload["hook_event_name"] in HOOK_OF:
            hook = HOOK_OF[payload["hook_event_name"]]
            run_hook(hook, payload, client="codex", project_dir="/home/dev/river")
    before = models.PendingEvent.select().count()
    # A command made this patch, so that the client started no hook for it.
    lines = [line for line in LINES if "viashell.py" not in json.dumps(line)]
    write(sessions, lines)

    taken = take_in("--from", "codex")

    assert before > 8
    assert (taken["tool_calls"], models.PendingEvent.select().count()) == (0, before)


def test_a_rollout_without_items_is_told_by_the_messages(memory: Path, sessions: Path) -> None:
    """A rollout of a client that wrote no items is imported from its messages, calls and outputs."""
    said = [
        {"type": "event_msg", "timestamp": LINES[0]["timestamp"], "payload": {"type": kind, "message": text}}
        for kind, text in (("user_message", "Turn the door"), ("agent_message", "The door faces north now."))
    ]
    without = [line for line in LINES if line["payload"].get("type") != "item_completed"]
    write(sessions, [without[0], said[0], *without[1:], said[1]])

    take_in("--from", "codex")

    tools = Counter(tool for tool, *_ in remembered())
    assert tools == {"UserPromptSubmit": 1, "Write": 2, "Edit": 2, "Bash": 4, "Stop": 1}
    assert any("No module named 'nope'" in title for tool, title, *_ in remembered() if tool == "Bash")


def test_a_sub_agents_rollout_belongs_to_its_parent(memory: Path, sessions: Path) -> None:
    """A sub-agent's rollout belongs to its parent's session, without its prompt; an orphan is counted."""
    write(sessions, LINES)
    child = json.loads(
        json.dumps(LINES).replace(SESSION, "child").replace("call_", "other_").replace("msg_", "m_")
    )
    child[0]["payload"] |= {"parent_thread_id": SESSION, "agent_role": "explorer"}
    write(sessions, child, "child")
    orphan = json.loads(json.dumps(child).replace('"child"', '"orphan"').replace(SESSION, "gone"))
    write(sessions, orphan, "orphan")

    taken = take_in("--from", "codex")

    assert (taken["sessions"], taken["left_out"]) == (1, {"orphaned sub-agent": 1})
    tools = Counter(tool for tool, *_ in remembered())
    assert (tools["UserPromptSubmit"], tools["Stop"], tools["SubagentStop"]) == (1, 1, 1)
    assert {row.session_id for row in models.Observation.select()} == {SESSION}


def test_without_rollouts_the_command_says_so(memory: Path, tmp_path: Path) -> None:
    """Without rollouts one message names the variable that chooses another folder."""
    done = CliRunner().invoke(app, ["import", "transcripts", "--from", "codex"])

    assert done.exception is not None
    assert "If Codex uses another one, set CODEX_HOME" in str(done.exception)


def test_nothing_in_a_rollout_stops_an_import(tmp_path: Path) -> None:
    """Malformed rollout lines are skipped or read, and never raise an error."""
    odd: list[Any] = [None, 1, "x", [], {}, [[]], {"a": []}, "*** Update File: x\n@@\n-a"]
    kinds = ("session_meta", "turn_context", "event_msg", "response_item", "compacted", "nonsense")
    names = ("type", "item", "message", "call_id", "name", "arguments", "input", "output", "cwd", "git")
    lines = [{"type": kind, "payload": value} for kind in kinds for value in odd]
    lines += [{"type": kind, "payload": {name: value}} for kind in kinds for name in names for value in odd]
    for line in LINES:
        payload = line["payload"]
        for name in payload:
            lines += [{**line, "payload": {**payload, name: value}} for value in odd]
        if isinstance(item := payload.get("item"), dict):
            for name in item:
                wrong = [{**payload, "item": {**item, name: value}} for value in odd]
                lines += [{**line, "payload": each} for each in wrong]
    path = write(tmp_path, lines)

    told = list(rollouts.read(str(path), Counter(), now="9"))

    assert len(lines) > 2_000
    assert len(told) > 100


CHAT = Path(__file__).parent / "data" / "clients" / "gemini-chat-0.61.0.jsonl"
CHAT_LINES: list[dict[str, Any]] = [json.loads(line) for line in CHAT.read_text("utf-8").splitlines()]
CHAT_SESSION: str = CHAT_LINES[0]["sessionId"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return Gemini's folder of a project, without chats."""
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    folder = tmp_path / ".gemini" / "tmp" / "river"
    (folder / "chats").mkdir(parents=True)
    (folder / ".project_root").write_text("/home/dev/river")
    return folder


def write_chat(project: Path, lines: list[dict[str, Any]], name: str = "one") -> Path:
    """Write a chat file whose last change was long ago."""
    path = project / "chats" / f"session-{name}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def test_a_chat_becomes_a_session(memory: Path, project: Path) -> None:
    """A Gemini chat is imported once, with prompts, commands, edited functions, failures and reports."""
    write_chat(project, CHAT_LINES)
    write_chat(project, [{**CHAT_LINES[0], "sessionId": "other", "kind": "subagent"}, *CHAT_LINES[1:]], "two")
    write_chat(project, CHAT_LINES[:2], "three")  # a resumed session starts another file

    first = take_in("--from", "gemini")
    again = take_in("--from", "gemini")

    assert (first["sessions"], first["left_out"]) == (1, {"sub-agent's chat": 1})
    assert (again["sessions"], again["sessions_known"]) == (0, 1)
    told = remembered()
    prompts = [title for tool, title, *_ in told if tool == "UserPromptSubmit"]
    assert prompts == ["Put an otter into the river", "Is it there?"]
    changed = [(tool, name) for tool, _, _, names in told for name in names]
    assert changed == [
        ("Write", "door"), ("Write", "window"), ("Edit", "door"), ("Write", "door"), ("Write", "window"),
    ]  # fmt: skip
    assert any(tool == "Bash" and "no-such-pond" in title for tool, title, *_ in told)
    assert [tool for tool, *_ in told].count("Stop") == 2
    [session] = models.Session.select()
    assert (session.id, session.client, session.project_dir) == (CHAT_SESSION, "gemini", "/home/dev/river")


def test_a_session_that_hooks_captured_is_left_out(memory: Path, project: Path) -> None:
    """A Gemini session that hooks captured is not imported, because hook calls have no ids to match."""
    for payload in GEMINI_PAYLOADS:
        if payload["hook_event_name"] in GEMINI_HOOKS:
            hook = GEMINI_HOOKS[payload["hook_event_name"]]
            run_hook(hook, payload, client="gemini", project_dir="/home/dev/river")
    before = models.PendingEvent.select().count()
    write_chat(project, CHAT_LINES)

    taken = take_in("--from", "gemini")

    assert before > 10
    assert taken["left_out"] == {"already known session": 1}
    assert models.PendingEvent.select().count() == before


def test_nothing_in_a_chat_stops_an_import(project: Path) -> None:
    """Malformed chat lines are skipped or read, and never raise an error."""
    odd: list[Any] = [None, 1, "x", [], {}, [[]], [{}], {"a": []}]
    lines: list[dict[str, Any]] = []
    for line in CHAT_LINES:
        lines += [{**line, name: value} for name in line for value in odd]
        for at, call in enumerate(line.get("toolCalls", ())):
            for name in call:
                wrong = [{**call, "id": f"{at}{name}{number}", name: each} for number, each in enumerate(odd)]
                lines += [{**line, "toolCalls": [each]} for each in wrong]
    path = write_chat(project, lines)

    told = list(chats.read(str(path), Counter(), now="9"))

    assert len(lines) > 2_000
    assert len(told) > 100
