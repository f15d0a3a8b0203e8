"""Test attribution: where the user speaks, and whether user, Claude or a tool said something first."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.events import Event, edited, prompt, read, stop, tool
from support.recorded import play

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.importers.events import Origin, Reading
from claude_mem_lite.importers.lines import read as read_lines
from claude_mem_lite.learnings.attribution import Voices
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import queries
from claude_mem_lite.tasks.compress import compress
from claude_mem_lite.text import sentences as distilled

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
Play = Callable[..., None]


def known() -> dict[str, float]:
    """Return current learnings with their confidence."""
    return {row.content: row.confidence for row in learning_rows.find(demo.PROJECT, state="current")}


def result(content: str, **fields: Any) -> dict[str, Any]:
    """Return a transcript line with a tool's answer."""
    block = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": content}
    return {"type": "user", "timestamp": "2026-11-20T10:00:00Z", "message": {"content": [block]}, **fields}


@pytest.fixture
def played(memory: Path, tmp_path: Path) -> Play:
    """Return a function that plays a session of events, with lines in its transcript."""

    def one(session_id: str, *events: dict[str, Any], lines: tuple[dict[str, Any], ...] = ()) -> None:
        path = tmp_path / f"{session_id}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        common = {"session_id": session_id, "transcript_path": str(path), "cwd": demo.PROJECT}
        play([common | event for event in (*events, {"hook_event_name": "SessionEnd", "reason": "other"})])

    return one


def test_words_that_turned_a_call_down_are_learned(played: Play) -> None:
    """Words with which the user refused a call are learned, except from sub-agents and other sessions."""
    played(
        "s1",
        prompt("Implement the exporter"),
        lines=(
            result(f"{REFUSED}prefer subagents to save context"),
            result(f"{REFUSED}avoid globals in handlers", isSidechain=True),
            result(f"{REFUSED}avoid globals in models", sessionId="s0"),
            result(f"{REFUSED}The user wants to clarify these questions.\nNever ask twice."),
            result("Exit code 1\nthe user said:\nnever run the tests"),
        ),
    )

    assert known() == {"prefer subagents to save context": 0.5}


def test_what_is_typed_while_the_assistant_works_is_a_prompt(played: Play, tmp_path: Path) -> None:
    """Text that the user types during a turn is stored as a prompt, with an import's id and without secrets.

    Text that a hook received too, earlier turns, sub-agents and other sessions are left out.
    """
    token = f"ghp_{'x7Kq' * 9}"
    now = {"sessionId": "s1", "cwd": demo.PROJECT, "timestamp": "2999-01-01T00:00:00Z"}
    beside = result("[]", **now, uuid="u1")
    beside["message"]["content"] += [
        {"type": "text", "text": "<system-reminder>Always ask</system-reminder>"},
        {"type": "text", "text": "and remember to use pagination"},
    ]

    def queued(uuid: str, text: str, **fields: Any) -> dict[str, Any]:
        attachment = {"type": "queued_command", "prompt": text}
        return {"type": "attachment", "attachment": attachment, "uuid": uuid, **now, **fields}

    played(
        "s1",
        prompt("List the comments"),
        prompt("Never push to main"),
        stop("Listed."),
        stop("Listed once more."),
        lines=(
            beside,
            queued("u2", f"from now on sign every commit with {token}"),
            queued("u8", "half of a pair: \ud83d"),
            queued("u3", "Never push to main"),
            queued("u4", "Always use tabs", timestamp="2026-11-20T10:00:00Z"),
            queued("u5", "Always use blanks", sessionId="s0"),
            queued("u6", "Always use threads", isSidechain=True),
            queued("u7", "<task-notification>Never wait</task-notification>"),
        ),
    )

    told = queries.observations_of("s1")
    assert [row.tool_name for row in told if row.tool_name in {"UserPromptSubmit", "Stop"}] == [
        *["UserPromptSubmit"] * 5, "Stop", "Stop",
    ]  # fmt: skip
    assert [row.title for row in told[2:4]] == [
        "and remember to use pagination", "from now on sign every commit with [redacted: github token]",
    ]  # fmt: skip
    whole = Reading(Origin("s1", "")).events(read_lines(str(tmp_path / "s1.jsonl"), Counter(), now="3"))
    assert {row.id for row in told[2:4]} < {event.id for event in whole}
    assert {"remember to use pagination", "Never push to main"} < known().keys()
    assert not any("Always" in content for content in known())


def test_the_end_of_a_turn_brings_what_was_typed_in_it(memory: Path, tmp_path: Path) -> None:
    """What was typed in a turn is stored at its end, before the report."""
    path = tmp_path / "s1.jsonl"
    typed = {"type": "queued_command", "prompt": "use pagination"}
    line = {"type": "attachment", "attachment": typed, "uuid": "u1", "sessionId": "s1", "cwd": demo.PROJECT}
    path.write_text(json.dumps(line | {"timestamp": "2999-01-01T00:00:00Z"}))
    common = {"session_id": "s1", "transcript_path": str(path), "cwd": demo.PROJECT}

    for event in (prompt("List the comments"), stop("Listed.")):
        compress.call_local(inbox.append(json.dumps(common | event), demo.PROJECT))

    assert [row.title for row in queries.observations_of("s1")] == [
        "List the comments", "use pagination", "Listed",
    ]  # fmt: skip


def test_a_missing_transcript_teaches_nothing(played: Play, tmp_path: Path) -> None:
    """A session is learned from even if its transcript is gone."""
    played("s1", prompt("Always sign commits") | {"transcript_path": str(tmp_path / "gone.jsonl")})

    assert known() == {"Always sign commits": 0.5}


def test_an_answer_that_was_typed_is_the_users(played: Play) -> None:
    """A typed answer is the user's own; a choice among Claude's options is Claude's."""
    questions = [{"question": "Where?", "options": [{"label": "Never in the repo"}, {"label": "In docs"}]}]
    answers = {"Where?": "Never in the repo", "Else?": "always ask before adding a dependency"}
    told = tool("AskUserQuestion", {"questions": questions}, {"answers": answers})
    played("s1", prompt("Write the plan"), told)

    assert known() == {"always ask before adding a dependency": 0.5}


def test_lines_for_claude_md_are_candidates_where_the_user_asked_for_them(played: Play) -> None:
    """Lines that Claude adds to CLAUDE.md are candidates only if the user asked for them."""
    path, new = f"{demo.PROJECT}/CLAUDE.md", "# Rules\n- Amounts must be integers of cents\n"
    given = {"file_path": path, "old_string": "# Rules\n", "new_string": new}
    edit = tool("Edit", given, {"filePath": path})
    played("s1", prompt("Fix the sums"), edit)
    unasked = known()
    played("s2", prompt("Can you add this to CLAUDE.md?"), edit)

    assert (unasked, known()) == ({}, {"Amounts must be integers of cents": 0.4})


def test_a_candidate_is_a_rule_once_it_is_said_again(played: Play) -> None:
    """A candidate becomes a rule when another session repeats it, but not when the same session does."""
    played("s1", prompt("no, the queue is backed by Redis"), prompt("no, the queue is backed by Redis"))
    once = known()
    played("s2", prompt("no, the queue is backed by Redis"))

    assert once == {"no, the queue is backed by Redis": 0.4}
    assert list(known().values()) == [pytest.approx(0.51)]
    assert learning_rows.find(demo.PROJECT)[0].source_sessions == ["s1", "s2"]


def test_a_wish_of_two_sessions_is_a_rule_without_any_form(played: Play) -> None:
    """A wish becomes a rule when its rare words return in another session, even without a binding form."""
    for number in range(6):
        played(f"f{number}", prompt(f"look at the parser of module number {number}"))
    played("s1", prompt("make sure the issue lands in Project Atlas"))
    once = known()
    played("s2", prompt("write an issue in Project Atlas about the crash"))

    assert once == {"make sure the issue lands in Project Atlas": 0.4}
    assert known() == {"make sure the issue lands in Project Atlas": pytest.approx(0.51)}


def edit(path: str, new: str) -> Event:
    """Return the event of Claude editing a file."""
    return edited(path, "pass", new)


SAYS = "Uploads are kept in the folder outgoing for a week"


@pytest.mark.parametrize(
    ("events", "origin"),
    [
        ([], "tool"),
        ([read("/p/a.md", SAYS)], "tool"),
        ([prompt(SAYS)], "assistant"),
        ([prompt(SAYS), read("/p/a.md", SAYS)], "assistant"),
        ([read("/p/a.md", SAYS), prompt(SAYS)], "assistant"),
        ([prompt("Clean the uploads"), stop(SAYS)], "assistant"),
        ([prompt("Clean the uploads"), read("/p/a.md", SAYS), stop(SAYS)], "tool"),
        ([prompt("Clean the uploads"), stop(SAYS), read("/p/a.md", SAYS)], "assistant"),
        (
            [prompt("Clean the uploads"), edit("/p/a.md", SAYS), read("/p/a.md", SAYS), stop(SAYS)],
            "assistant",
        ),
        (
            [
                prompt("Clean the uploads"),
                read("/p/a.md", SAYS),
                edit("/p/a.md", SAYS),
                read("/p/a.md", SAYS),
                stop(SAYS),
            ],
            "tool",
        ),
        ([prompt("Clean the uploads"), {**edit("/p/a.md", SAYS), "agent_id": "a1"}], "tool"),
        ([prompt("Hello"), stop(SAYS)], "tool"),
        ([prompt("Clean the uploads"), stop(f"According to the mail: {SAYS}")], "tool"),
        ([prompt(f"Are {SAYS}?"), stop("I do not know.")], "tool"),
    ],
)
def test_who_said_it_first_counts(events: list[Event], origin: str) -> None:
    """The user's words are theirs whatever files say; Claude's are its own unless a tool said them before."""
    assert Voices(events).origin(SAYS) == origin


def test_a_wish_of_the_users_needs_their_words() -> None:
    """A claim about the user's wishes needs the user's words; what memory showed is nobody's finding."""
    events = [prompt("Clean the uploads in outgoing"), stop(SAYS)]

    assert Voices(events).origin(f"The user wants this: {SAYS}") == "tool"
    assert Voices([prompt(SAYS)]).origin(f"The user wants this: {SAYS}") == "assistant"
    assert Voices(events, remembered=[SAYS]).origin(SAYS) == "tool"


def test_only_what_was_at_hand_can_be_taken_away() -> None:
    """Only a learning that the user's words or Claude's calls dealt with can be contradicted."""
    voices = Voices([prompt("Speed up the parser"), read("/p/a.md", "Never use WAL is wrong now")])

    assert voices.have_touched("The parser reads two forms")
    assert not voices.have_touched("Never use WAL mode")


def test_most_of_the_recorded_reports_are_claudes_own() -> None:
    """At most two in five sentences of the recorded reports are attributed to a tool."""
    sessions: dict[str, list[Event]] = {}
    for event in demo.recorded_events():
        sessions.setdefault(event["session_id"], []).append(event)
    origins = []
    for events in sessions.values():
        voices, reports = Voices(events), [each for each in events if each["hook_event_name"] == "Stop"]
        said = [each for event in reports for each in distilled(event["last_assistant_message"])]
        origins += [voices.origin(sentence) for sentence in said if len(sentence.split()) > 5]

    assert len(origins) > 40
    assert origins.count("tool") * 5 <= 2 * len(origins)
