"""What a session gets that goes on: resumed, forked, compacted, cleared, or beside another one."""

from __future__ import annotations

import calendar
import json
import time
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.databases import NOW, change, observe, session_row

from claude_mem_lite.capture import inbox
from claude_mem_lite.context import builder
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import models

CASES = cases.load("context_sources")

AT = calendar.timegm(time.strptime(NOW[:19], "%Y-%m-%dT%H:%M:%S")) + 7200


def at(minutes: int) -> str:
    """Return a time of the memory so many minutes after NOW."""
    return inbox.utc_text(AT - 7200 + 60 * minutes)


def shown(session_id: str, via: str, *ids: str, minutes: int = 0) -> None:
    """Note that a session was shown a block."""
    context_rows.note_shown(session_id, {"via": via, "ids": list(ids), "tokens": 9}, at=at(minutes))


def lines(block: builder.ContextBlock, layer: str) -> list[str]:
    """Return the lines of a layer without age."""
    return [
        line.text.removeprefix("  - ") if line.text.startswith("  - ") else line.text.partition("] ")[2]
        for section in block.sections
        if section.name == layer
        for line in section.lines
    ]


def test_a_resumed_session_gets_only_what_is_new(memory: Path) -> None:
    """What others did since its last block, and not a byte when they did nothing."""
    session_row("s1", summary="Before.", last_event_at=at(-50))
    session_row("me", started_at=at(-20))
    shown("me", "startup", "s1", minutes=-20)
    assert builder.build("/p", session_id="me", source="resume", now=AT).text == ""
    assert "Before" in builder.build("/p", session_id="me2", source="startup", now=AT).text

    session_row("s2", summary="Meanwhile.", last_event_at=at(-5))
    observe("b" * 32, "Stop", "Said meanwhile.", session_id="s2", created_at=at(-5))
    observe("c" * 32, "Stop", "My own.", session_id="me", created_at=at(-5))
    block = builder.build("/p", session_id="me", source="resume", now=AT)

    assert lines(block, "thread") == ["s2", "bbbbbbbb Came to: Said meanwhile."]


def test_a_resumed_session_is_told_what_became_of_another(memory: Path) -> None:
    """One that was shown as still open and went on since has its line again, nothing else has."""
    session_row("s1", last_event_at=at(-30), status="active")
    observe("a" * 32, "UserPromptSubmit", "Mend the parser.", created_at=at(-30))
    session_row("me", started_at=at(-20))
    shown("me", "startup", "s1", "a" * 32, minutes=-20)
    models.Session.update(summary="The parser is mended.", last_event_at=at(-5)).where(
        models.Session.id == "s1"
    ).execute()

    block = builder.build("/p", session_id="me", source="resume", now=AT)

    assert block.ids == ["s1"]
    assert lines(block, "earlier") == ["s1 Mend the parser.", "s1 The parser is mended."]


def test_a_fork_gets_what_came_after_its_parent(memory: Path) -> None:
    """Its conversation has a block already; `idle_s` says how long ago it ended."""
    session_row("s1", summary="Long before.", last_event_at=at(-50))
    session_row("s2", summary="Meanwhile.", last_event_at=at(-5))
    session_row("parent", summary="Its own parent.", last_event_at=at(-1))
    observe("a" * 32, "Stop", "The last answer.", session_id="parent", created_at=at(-10))
    soon_after = inbox.utc_text(AT - 7200 - 600 + 2)
    observe("b" * 32, "Stop", "Another's answer.", session_id="s2", created_at=soon_after)
    now = AT - 7200

    assert builder.build("/p", session_id="fork", source="fork", now=now).text == ""
    block = builder.build("/p", session_id="fork", source="fork", idle_s=600, now=now)

    assert lines(block, "thread") == ["s2", "bbbbbbbb Came to: Another's answer."]


def test_a_second_window_is_told_of_the_first(memory: Path) -> None:
    """A session that is still open is told by what it was asked last."""
    session_row("s1")
    observe("b" * 32, "UserPromptSubmit", "Mend the parser.", created_at=at(0))
    observe("c" * 32, "UserPromptSubmit", "Then the lexer.", created_at=at(1))

    block = builder.build("/p", session_id="second", now=AT)

    assert lines(block, "thread") == [
        "s1 still open: Mend the parser.",
        "cccccccc Asked last: Then the lexer.",
        "bbbbbbbb Asked first: Mend the parser.",
    ]


def work_in_flight() -> None:
    """Store a session `me` amid its work."""
    session_row("s0", summary="Long before.", last_event_at=at(-90))
    session_row("me", last_event_at=at(9))
    say = {"session_id": "me"}
    observe("1" * 32, "UserPromptSubmit", "Add a split command.", **say)
    observe("2" * 32, "Edit", "Edit b.py", **say, created_at=at(1), files_touched=["b.py"])
    observe("3" * 32, "Bash", "Commit 'b' as 1234567", **say, created_at=at(2))
    observe(
        "4" * 32, "Stop", "It stores cents because floats round. Next is the help.", **say, created_at=at(3)
    )
    observe("5" * 32, "Edit", "Edit split in a.py", **say, created_at=at(5), files_touched=["a.py"])
    change("split", "new", "5" * 32, session_id="me", created_at=at(5))
    observe("6" * 32, "Bash", "Run pytest: 1 failed, 2 passed; failing: test_split", **say, created_at=at(6))
    observe("7" * 32, "Bash", "Ran `git push`. Failed with exit code 1: no origin", **say, created_at=at(7))
    observe("8" * 32, "UserPromptSubmit", "Now the docs.", **say, created_at=at(8))


def test_after_a_compaction_the_own_state_comes_first(memory: Path) -> None:
    """Goal, next step, what fails, what is not committed, what was decided; what was shown before is gone."""
    work_in_flight()
    shown("me", "startup", "s0", minutes=-60)

    block = builder.build("/p", session_id="me", source="compact", now=AT)

    assert block.layers[:2] == ("working_state", "earlier")
    assert lines(block, "working_state") == [
        "88888888 Asked last: Now the docs.",
        "11111111 Asked first: Add a split command.",
        "44444444 Said to be open: Next is the help.",
        "77777777 Failing: git push: “no origin”",
        "66666666 Failing: 1 failed, 2 passed; failing: test_split",
        "55555555 Changed, not committed: a.py (new split(x))",
        "33333333 Commit 'b' as 1234567",
        "44444444 Decided: It stores cents because floats round.",
    ]
    assert lines(block, "earlier") == ["s0", "s0 Long before."]


def test_what_was_said_is_told_as_it_was_meant(memory: Path) -> None:
    """The only prompt is the goal; what waits for nobody is not open; items of a list are kept apart."""
    session_row("me")
    observe("1" * 32, "UserPromptSubmit", "Add a backup.", session_id="me")
    observe(
        "2" * 32, "Stop", session_id="me", created_at=at(1),
        summary="- It writes a sum next to it, so both wait for each other\n- no tar because of Windows\n"
        "- cents instead of floats",
    )  # fmt: skip

    block = builder.build("/p", session_id="me", source="compact", now=AT)

    assert lines(block, "working_state") == [
        "11111111 Goal: Add a backup.",
        "22222222 Came to: It writes a sum next to it, so both wait for each other",
        "22222222 Decided: no tar because of Windows; cents instead of floats",
    ]


@pytest.mark.parametrize(
    "events",
    CASES["plans"]
)  # fmt: skip
def test_the_plan_says_what_is_next(memory: Path, events: list[Any]) -> None:
    """Open steps of a to-do list or of tasks, the one in progress first."""
    work_in_flight()
    for tool, asked, answer in events:
        inbox.append(json.dumps({
            "session_id": "me", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": asked,
            "tool_response": answer,
        }), "/p")  # fmt: skip

    block = builder.build("/p", session_id="me", source="compact", now=AT)

    assert "88888888 Next: c and b" in lines(block, "working_state")


def test_after_clear_the_cleared_session_comes_first(memory: Path) -> None:
    """It is the project's session that ended by /clear just now, whether it is summarized yet or not."""
    work_in_flight()
    inbox.append('{"session_id": "me", "hook_event_name": "SessionEnd", "reason": "clear"}', "/p")
    inbox.append('{"session_id": "s0", "hook_event_name": "SessionEnd", "reason": "other"}', "/p")
    inbox.append('{"session_id": "far", "hook_event_name": "SessionEnd", "reason": "clear"}', "/q")

    block = builder.build("/p", session_id="new", source="clear")

    assert block.sections[0].title == "The session before /clear"
    assert lines(block, "working_state")[0] == "88888888 Asked last: Now the docs."
