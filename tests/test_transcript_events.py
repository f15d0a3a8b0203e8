"""Transcripts of any client version become the events that its hooks would have sent."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.recorded import events as hook_events
from support.transcripts_on_disk import FOLDER, SESSION, Lines, recorded

from claude_mem_lite.capture import inbox
from claude_mem_lite.importers import lines, sessions
from claude_mem_lite.importers.sessions import Telling

NOW = inbox.unix_time("2026-12-01T00:00:00.000000Z")
TOLD = (
    "prompt", "last_assistant_message", "source", "trigger", "tool_name", "tool_input", "error", "agent_id",
)  # fmt: skip


def told(root: Path, *, now: float = NOW) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the events of all sessions in a folder by time, and the counts of what was left out."""
    left_out: Counter[str] = Counter()
    found = [seen for each in sessions.find(str(root), left_out) if (seen := sessions.looked_at(each))]
    found.sort(key=lambda session: session.began_at)
    return [
        event.payload for session in found for event in Telling(session, left_out, now).events(after={})
    ], left_out


def names(events: list[dict[str, Any]]) -> list[str]:
    """Return event names without the session's start and end."""
    return [event["hook_event_name"] for event in events][1:-1]


def comparable(event: dict[str, Any]) -> str:
    """Return an event's comparable part; a sub-agent's Bash has only stdout in its transcript."""
    response = event.get("tool_response")
    if event.get("agent_id") and event.get("tool_name") == "Bash" and isinstance(response, dict):
        response = response["stdout"]
    fields = [event["session_id"], event["hook_event_name"], *(event.get(name) for name in TOLD), response]
    return json.dumps(fields, sort_keys=True)


@pytest.mark.parametrize("version", ["2.1.50", "2.1.197", "2.1.329"])
def test_transcripts_tell_what_the_hooks_were_sent(version: str, tmp_path: Path) -> None:
    """Recorded transcripts give exactly the events that the hooks stored.

    PostCompact is left out, because no hook was registered for it in the recordings.
    """
    recorded(version, tmp_path)
    hooks = hook_events("all" if version == "2.1.329" else version)
    sent = [event for event in hooks if event["hook_event_name"] != "PreToolUse"]
    sent = [event for event in sent if event.get("agent_type") != ""]

    events, left_out = told(tmp_path)

    events = [event for event in events if event["hook_event_name"] != "PostCompact"]
    assert Counter(map(comparable, events)) == Counter(map(comparable, sent))
    assert [event["hook_event_name"] for event in events] == [event["hook_event_name"] for event in sent]
    assert left_out == Counter()


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("<local-command-stdout>opus</local-command-stdout>", {}),
        ("<command-name>/model</command-name><command-args>opus</command-args>", {}),
        ("[Request interrupted by user]", {}),
        ("Caveat: the messages below", {"isMeta": True}),
        ("This session is being continued", {"isCompactSummary": True}),
        ("A sub-agent's task", {"isSidechain": True}),
        ("Somebody else's", {"forkedFrom": {"sessionId": "s0", "messageUuid": "u0"}}),
        ("", {}),
        ([{"type": "image", "source": {}}], {}),
    ],
)
def test_what_the_user_has_not_said_is_no_prompt(text: Any, fields: dict[str, Any], tmp_path: Path) -> None:
    """Text that the client writes as the user is no prompt, nor is a command the model never gets."""
    told_lines = Lines().user("Fix it").said("I look.").user(text, **fields)
    told_lines.user("<local-command-stdout>set</local-command-stdout>").write(tmp_path)

    events, _ = told(tmp_path)

    assert [event["prompt"] for event in events if "prompt" in event] == ["Fix it"]


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ([{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}], "one\ntwo"),
        (
            [
                {"type": "text", "text": "<ide_opened_file>The user opened a.py.</ide_opened_file>"},
                {"type": "text", "text": "Go"},
            ],
            "Go",
        ),
        ("<command-name>/review</command-name>\n<command-args>the last\ncommit</command-args>", None),
        ("<task-notification>\n<task-id>a1</task-id>", "<task-notification>\n<task-id>a1</task-id>"),
    ],
)
def test_prompts_are_what_the_hook_gets(text: Any, prompt: str | None, tmp_path: Path) -> None:
    """A prompt's text blocks are joined, and a command appears as the user typed it."""
    Lines().user(text).said("Done.").write(tmp_path)

    events, _ = told(tmp_path)

    assert events[1]["prompt"] == (prompt or "/review the last\ncommit")


def test_a_prompt_that_was_queued_is_one(tmp_path: Path) -> None:
    """A prompt queued while the assistant works counts as one."""
    queued = {"type": "queued_command", "prompt": "And the tests", "commandMode": "prompt"}
    Lines().user("Go").add("attachment", attachment=queued).write(tmp_path)

    events, _ = told(tmp_path)

    assert [event["prompt"] for event in events if "prompt" in event] == ["Go", "And the tests"]


def test_a_prompt_beside_a_result_is_one(tmp_path: Path) -> None:
    """A prompt typed while a tool runs counts; the client's reminder beside it does not."""
    beside = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "[]"},
        {"type": "text", "text": "<system-reminder>The date has changed.</system-reminder>"},
        {"type": "text", "text": "and use pagination"},
    ]
    read = Lines().user("Go").said("I look.").call("Bash", {"command": "gh api x"}, call_id="toolu_1")
    read.user(beside).said("Well.").write(tmp_path)

    events, _ = told(tmp_path)

    assert names(events) == ["UserPromptSubmit", "PostToolUse", "UserPromptSubmit", "Stop"]
    assert [event["prompt"] for event in events if "prompt" in event] == ["Go", "and use pagination"]


def test_a_turn_ends_with_the_last_words(tmp_path: Path) -> None:
    """A turn ends with its last text, not with text before a tool call or an API error."""
    told_lines = Lines().user("Go").said("First I look.").call("Read", {"file_path": "/p/a"}).result("1\ta")
    told_lines.said("It is").said("done.", same=True).user("More").said("API Error", isApiErrorMessage=True)
    told_lines.user("Again").said("Well.").add("system", subtype="turn_duration").write(tmp_path)

    events, _ = told(tmp_path)

    ends = [event["last_assistant_message"] for event in events if event["hook_event_name"] == "Stop"]
    assert ends == ["It is\ndone.", "Well."]


def test_what_the_client_said_at_a_compaction_is_told(tmp_path: Path) -> None:
    """A compaction's summary becomes an event; a sub-agent's does not."""
    summary = "This session is being continued.\nSummary:\n1. Current Work: the parser."
    written = Lines().user("Go").said("Well.").add("system", subtype="turn_duration")
    written = written.add("system", subtype="compact_boundary")
    written.user("Not mine", isCompactSummary=True, isSidechain=True)
    written.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True).user("More").write(tmp_path)

    events, _ = told(tmp_path)

    assert names(events)[-3:] == ["SessionStart", "PostCompact", "UserPromptSubmit"]
    assert [event["compact_summary"] for event in events if "compact_summary" in event] == [summary]


def test_a_turn_that_the_api_ended_is_told(tmp_path: Path) -> None:
    """A turn ended by an API error is a failure, unless a retry answered."""
    error = {"isApiErrorMessage": True, "error": "overloaded"}
    Lines().user("Go").said("API Error: 529", **error).user("Again").said("API Error: 529", **error).said(
        "Well."
    ).user("More").said("API Error: 400", isApiErrorMessage=True).write(tmp_path)

    events, _ = told(tmp_path)

    ends = [event for event in events if event["hook_event_name"] in {"Stop", "StopFailure"}]
    assert [(each["hook_event_name"], each["last_assistant_message"]) for each in ends] == [
        ("StopFailure", "API Error: 529"), ("Stop", "Well."), ("StopFailure", "API Error: 400"),
    ]  # fmt: skip
    assert [each["error"] for each in ends if "error" in each] == ["overloaded", "unknown"]


@pytest.mark.parametrize(
    "error",
    [
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        "The user doesn't want to proceed with this tool use.",
    ],
)
def test_a_call_that_was_refused_is_no_event(error: str, tmp_path: Path) -> None:
    """A refused call is no event; a failed one is, with its error."""
    refused = Lines().user("Go").call("Bash", {"command": "x"}).result(error, is_error=True)
    refused.call("Bash", {"command": "y"}).result("Exit code 2\nboom", is_error=True).write(tmp_path)

    events, _ = told(tmp_path)

    failures = [event for event in events if event["hook_event_name"] == "PostToolUseFailure"]
    expected = [("y", "Exit code 2\nboom")]
    assert [(event["tool_input"]["command"], event["error"]) for event in failures] == expected
    assert "PostToolUse" not in names(events)


@pytest.mark.parametrize(
    ("tool", "given", "shown", "response"),
    [
        ("Bash", {"command": "ls"}, "a\nb", {
            "stdout": "a\nb", "stderr": "", "interrupted": False, "isImage": False}),
        (
            "Read", {"file_path": "/p/a"}, "     3→x = 1\n     4→\n\n<system-reminder>no</system-reminder>",
            {"type": "text", "file": {
                "filePath": "/p/a", "content": "x = 1\n", "numLines": 2, "startLine": 3, "totalLines": 4}},
        ),
        ("Write", {"file_path": "/p/a", "content": "1"}, "File created successfully at: /p/a", {
            "type": "create", "filePath": "/p/a", "content": "1", "structuredPatch": [],
            "originalFile": None}),
        ("Edit", {"file_path": "/p/a", "old_string": "1", "new_string": "2"}, "updated", {
            "filePath": "/p/a", "oldString": "1", "newString": "2"}),
        ("mcp__tickets__get", {}, [{"type": "text", "text": "open"}], [{"type": "text", "text": "open"}]),
        ("Read", {"file_path": "/p/a"}, 5, {"type": "text", "file": {
            "filePath": "/p/a", "content": "", "numLines": 0}}),
    ],
)  # fmt: skip
def test_an_answer_without_its_object_is_told_from_what_was_shown(
    tool: str, given: dict[str, Any], shown: Any, response: Any, tmp_path: Path
) -> None:
    """A sub-agent's tool results are rebuilt from the text that the model saw."""
    agent = Lines(agent_id="a17").user("Look").call(tool, given).result(shown).said("Seen.")
    Lines().user("Go").write(tmp_path)
    agent.write(tmp_path, name=f"{SESSION}/subagents/agent-a17.jsonl")

    events, _ = told(tmp_path)

    (call,) = (event for event in events if "tool_name" in event)
    assert (call["tool_response"], call["agent_id"]) == (response, "a17")
    assert "SubagentStop" in names(events)


def test_old_clients_kept_their_sub_agents_beside_the_session(tmp_path: Path) -> None:
    """An old client's sub-agent file joins the session it names; orphans are counted."""
    Lines().user("Go").write(tmp_path)
    beside = Lines(agent_id="b2c4").call("Bash", {"command": "ls"}).result("x")
    beside.write(tmp_path, name="agent-b2c4.jsonl")
    Lines(agent_id="acompact-1f").said("Summary").write(tmp_path, name="agent-acompact-1f.jsonl")
    Lines(session_id="gone").said("x").write(tmp_path, name="agent-c3.jsonl")

    events, left_out = told(tmp_path)

    assert names(events) == ["UserPromptSubmit", "PostToolUse"]
    assert left_out == {"orphaned sub-agent": 1}


def test_what_is_broken_is_counted_and_the_rest_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken, overlong and unknown lines are counted, and all others still read."""
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 5_000)
    good = Lines().user("Go").call("Bash", {"command": "ls"}).result("a").text()
    odd = [
        "{", "[]", "\xff", '"x"', "[" * 2_000, json.dumps({"type": "user", "message": "x" * 9_000}),
        json.dumps({"type": "new-in-3.0"}), json.dumps({"type": ["user"]}), "{}",
        *(json.dumps({"type": "user", "cwd": "/p", "timestamp": at, "message": {"content": [
            {"type": "tool_result", "tool_use_id": 7}, {"type": "text", "text": {}}, 3, None]}})
          for at in ("yesterday", 7, None, "2026-11-21T03:00:00Z", "0001-01-01T00:00:00+14:00")),
        json.dumps({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": {}}, {"type": "tool_use", "id": "toolu_x", "name": None}]}}),
        json.dumps({"type": "attachment", "attachment": []}), json.dumps({"type": "system", "subtype": {}}),
    ]  # fmt: skip
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / f"{SESSION}.jsonl").write_text("\n".join([*odd, good.rstrip(), '{"type": "us']))

    events, left_out = told(tmp_path)

    assert names(events) == ["UserPromptSubmit", "PostToolUse"]
    assert left_out == {"broken line": 6, "overlong line": 1, "unknown line": 3}


def test_nothing_is_followed_that_leads_elsewhere(tmp_path: Path) -> None:
    """Symlinks and pipes are skipped, and empty files are no sessions."""
    root, folder = tmp_path / "projects", tmp_path / "projects" / FOLDER
    Lines().user("secret").write(tmp_path / "elsewhere")
    Lines().user("Go").write(root)
    (root / "-link").symlink_to(tmp_path / "elsewhere" / FOLDER)
    (folder / "linked.jsonl").symlink_to(tmp_path / "elsewhere" / FOLDER / f"{SESSION}.jsonl")
    (folder / "empty.jsonl").write_text("")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")

    events, left_out = told(root)

    assert [event.get("prompt") for event in events] == [None, "Go", None]
    assert left_out == {"symbolic link": 2}


def test_of_a_session_that_goes_on_only_the_past_is_told(tmp_path: Path) -> None:
    """Events of the last two minutes wait, since a running session may continue its turn."""
    lines_so_far = Lines().user("Go").said("I look.").call("Bash", {"command": "ls"}, after_s=600)
    path = lines_so_far.result("a").write(tmp_path)
    now = inbox.unix_time(lines_so_far.at) + 30
    os.utime(path, (now, now))
    (session,) = (sessions.looked_at(each) for each in sessions.find(str(tmp_path), Counter()))
    assert session is not None

    first = Telling(session, Counter(), now)
    told_first = [event.payload["hook_event_name"] for event in first.events(after={})]
    later = Telling(session, Counter(), now + 10_000)
    told_later = [event.payload["hook_event_name"] for event in later.events(after=first.read_to)]

    assert (told_first, first.has_ended) == (["SessionStart", "UserPromptSubmit"], False)
    assert (told_later, later.has_ended) == (["PostToolUse", "SessionEnd"], True)


def test_a_file_that_edits_let_grow_without_end_is_not_followed(tmp_path: Path) -> None:
    """Edits that double a file are replayed only up to a size limit."""
    lines = Lines().user("Grow it").call("Write", {"file_path": "/a.py", "content": "a"})
    lines.result("File created")
    for _ in range(60):
        given = {"file_path": "/a.py", "old_string": "a", "new_string": "aa", "replace_all": True}
        lines.call("Edit", given).result("Updated.")
    lines.write(tmp_path)

    events, _ = told(tmp_path)

    files = [event["tool_response"].get("originalFile") for event in events if "tool_response" in event]
    assert [len(each) if each else each for each in files[1:]] == [
        *(2**number for number in range(20)), *[None] * 40,
    ]  # fmt: skip
