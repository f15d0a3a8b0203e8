"""import transcripts --from gemini: chat files become the memory that the hooks would have made.

The chat was recorded from Gemini CLI 0.61.0, of the session whose payloads `test_client_gemini` has.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.hooks import run_hook
from support.transcripts_on_disk import take_in
from test_client_gemini import HOOK_OF, PAYLOADS
from test_import_rollouts import LONG_AGO, remembered

from claude_mem_lite.importers import chats
from claude_mem_lite.storage import models

CHAT = Path(__file__).parent / "data" / "clients" / "gemini-chat-0.61.0.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in CHAT.read_text("utf-8").splitlines()]
SESSION: str = LINES[0]["sessionId"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return Gemini's folder of a project, without chats."""
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    folder = tmp_path / ".gemini" / "tmp" / "river"
    (folder / "chats").mkdir(parents=True)
    (folder / ".project_root").write_text("/home/dev/river")
    return folder


def write(project: Path, lines: list[dict[str, Any]], name: str = "one") -> Path:
    """Write a chat file that nobody has touched for long."""
    path = project / "chats" / f"session-{name}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def test_a_chat_becomes_a_session(memory: Path, project: Path) -> None:
    """Prompts, commands, edits with their functions, failures and reports, once, as Gemini's."""
    write(project, LINES)
    write(project, [{**LINES[0], "sessionId": "other", "kind": "subagent"}, *LINES[1:]], "two")
    write(project, LINES[:2], "three")  # a resumed session begins another file

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
    assert (session.id, session.client, session.project_dir) == (SESSION, "gemini", "/home/dev/river")


def test_a_session_that_hooks_captured_is_left_out(memory: Path, project: Path) -> None:
    """Its calls have no id in hooks, so that they could not be told from those of the chat."""
    for payload in PAYLOADS:
        if payload["hook_event_name"] in HOOK_OF:
            hook = HOOK_OF[payload["hook_event_name"]]
            run_hook(hook, payload, client="gemini", project_dir="/home/dev/river")
    before = models.PendingEvent.select().count()
    write(project, LINES)

    taken = take_in("--from", "gemini")

    assert before > 10
    assert taken["left_out"] == {"already known session": 1}
    assert models.PendingEvent.select().count() == before


def test_nothing_in_a_chat_stops_an_import(project: Path) -> None:
    """Whatever stands in its lines is passed over or told, never an error."""
    odd: list[Any] = [None, 1, "x", [], {}, [[]], [{}], {"a": []}]
    lines: list[dict[str, Any]] = []
    for line in LINES:
        lines += [{**line, name: value} for name in line for value in odd]
        for at, call in enumerate(line.get("toolCalls", ())):
            for name in call:
                wrong = [{**call, "id": f"{at}{name}{number}", name: each} for number, each in enumerate(odd)]
                lines += [{**line, "toolCalls": [each]} for each in wrong]
    path = write(project, lines)

    told = list(chats.read(str(path), Counter(), now="9"))

    assert len(lines) > 2_000
    assert len(told) > 100
