"""What a session has been shown, and what of it may come again: more of it, or all of it to an old client."""

from __future__ import annotations

from pathlib import Path

from support.blocks import COMMIT, EDIT, READ, hook, remember, told_lines
from support.databases import NOW, observe, session_row
from support.processes import wait_until

from claude_mem_lite.context import blocks
from claude_mem_lite.context.shown import Shown
from claude_mem_lite.storage import context as context_rows


def test_a_file_says_more_of_what_was_only_named(memory: Path) -> None:
    """The change that a start named comes with what was done; what it told in full does not; then neither."""
    session_row("s1")
    observe(EDIT, "Edit", "Edit allocate: the largest remainder gets the cent", files_touched=["money.py"])
    observe(COMMIT, "Edit", "Edit split: the cents must add up", files_touched=["money.py"])
    start = {"via": "startup", "ids": [EDIT, COMMIT], "named": [EDIT], "also": []}
    context_rows.note_shown("me", start, at=NOW)

    first = blocks.for_file("/p", "money.py", session_id="me")
    context_rows.note_shown("me", {"via": "touch", "ids": first.ids, "named": first.named}, at=NOW)
    second = blocks.for_file("/p", "money.py", session_id="me")

    assert told_lines(first.text) == ["eeeeeeee Edit allocate: the largest remainder gets the cent"]
    assert second.text == ""


def test_what_was_told_in_full_is_not_only_named_later() -> None:
    """A change stays told when a later block names it, until a start begins with nothing."""
    shown = Shown()

    shown.add({"via": "recall", "ids": ["a"]})
    shown.add({"via": "resume", "ids": ["a", "b"], "also": ["c"], "named": ["a", "b", "c"]})
    later = set(shown.named)
    shown.add({"via": "touch", "ids": ["b"]})

    assert later == {"b", "c"}
    assert (shown.ids, shown.named) == ({"a", "b", "c"}, {"c"})
    shown.add({"via": "startup", "ids": ["a"], "named": ["a"]})
    assert (shown.ids, shown.named) == ({"a"}, {"a"})


def test_an_old_client_is_told_again_when_it_resumes(web_and_consumer: Path) -> None:
    """It keeps nothing of what hooks print, so start and file come again; a newer client gets neither."""
    remember()
    start = wait_until(lambda: hook("session_start", "SessionStart", source="startup", agent=""))
    file = hook("post_tool_use", "PostToolUse", **READ)

    kept = (
        hook("session_start", "SessionStart", source="resume"),
        hook("post_tool_use", "PostToolUse", **READ),
    )
    again = hook("session_start", "SessionStart", source="resume", agent="")
    file_again = hook("post_tool_use", "PostToolUse", **READ)

    assert kept == ("", "")
    assert (again, file_again) == (start, file)
    assert "cli.py:7 split" in file


def test_an_old_client_is_told_again_without_the_web_process(memory: Path) -> None:
    """The session index comes from SQLite then, as at a startup."""
    remember()

    assert "Made amounts exact." in hook("session_start", "SessionStart", source="resume", agent="")
