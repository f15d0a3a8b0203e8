"""Memory records which lines a session was shown and used, and avoids showing them twice."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.blocks import COMMIT, EDIT, READ, hook, remember, told_in_time, told_lines
from support.databases import NOW, observe, rows, session_row
from support.hooks import run_hook
from support.processes import wait_until
from typer.testing import CliRunner

from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.output import console
from claude_mem_lite.context import blocks, builder
from claude_mem_lite.context.shown import Shown, measure_use
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import models


def use_of(**did: Any) -> dict[str, str]:
    """Show session `me` two rows, store another observation, and return what it used."""
    remember()
    session_row("me")
    context_rows.note_shown("me", {"via": "startup", "ids": [EDIT, COMMIT]}, at=NOW)
    row = {"tool": "Stop", "summary": "Done.", **did}
    observe("9" * 32, **row, session_id="me", created_at="2027-01-01T00:00:00Z")
    return measure_use("me")


@pytest.mark.parametrize(
    ("did", "used"),
    [
        ({}, {}),
        ({"summary": "As cccccccc says, they are exact."}, {COMMIT: "named"}),
        ({"summary": "I changed allocate once more."}, {EDIT: "named"}),
        ({"tool": "Edit", "files_touched": ["money.py"]}, {EDIT: "touched"}),
        ({"tool": "Read", "files_touched": ["money.py"]}, {}),
    ],
)
def test_use_is_measured(memory: Path, did: dict[str, Any], used: dict[str, str]) -> None:
    """A row is used if its id or function is named or its file edited; reading the file is no use."""
    assert use_of(**did) == used
    assert context_rows.used_in("me") == used


def test_what_came_with_a_file_is_not_used_by_touching_it(memory: Path) -> None:
    """Editing a file does not count as use of what was shown with it."""
    remember()
    session_row("me")
    context_rows.note_shown("me", {"via": "touch", "ids": [EDIT]}, at=NOW)
    assert (measure_use("me"), context_rows.measured_sessions(None)) == ({}, [])
    later = {"session_id": "me", "created_at": "2027-01-01T00:00:00Z"}
    observe("9" * 32, "Edit", "Once more.", files_touched=["money.py"], **later)

    assert (measure_use("me"), context_rows.measured_sessions(None)) == ({}, ["me"])


def test_a_line_that_was_opened_is_used(memory: Path) -> None:
    """A row whose id a command opens counts as opened."""
    event = {
        "session_id": "me", "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "m observation/cccccccc"},
    }  # fmt: skip
    run_hook("post_tool_use", event, project_dir="/p")

    assert use_of() == {COMMIT: "opened"}


def run(*arguments: str) -> str:
    """Return a command's output."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_prints_what_a_session_would_get(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`context` prints the block; with --explain, each line's reason and what was left out."""
    monkeypatch.setattr(console, "width", 200)
    remember()
    block = builder.build("/p")

    assert run("context", "--project", "/p") == block.text + "\n"
    explained = json.loads(run("context", "--project", "/p", "--explain", "--json"))
    assert explained["context"] == block.text
    assert [line["id"] for line in explained["lines"]] == ["s1", EDIT, "s1", "s1", COMMIT]
    assert all(line["reason"] and line["tokens"] for line in explained["lines"])
    assert explained["left_out"] == []
    assert "in the newest session" in run("context", "--project", "/p", "--explain")
    assert "called by cli.py:7 split" in run("context", "--project", "/p", "--file", "/p/money.py")
    assert "Commit" in run("context", "--project", "/p", "--prompt", "Which commit made the amounts exact?")
    assert context_rows.shown_in("me") == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--project", "/nowhere"], "memory has nothing about /nowhere"),
        (["--project", "/p", "--prompt", ""], "memory has nothing about this prompt in /p"),
        (["--project", "/p", "--file", "/etc/passwd"], "/etc/passwd is not in /p"),
        (["--project", "/p", "--file", "/p/new.py"], "memory has nothing to show for /p/new.py"),
        (["--project", "/p", "--source", "fork"], "memory has nothing new about /p for this session"),
    ],
)
def test_the_command_says_of_what_there_is_nothing(memory: Path, options: list[str], why: str) -> None:
    """`context` without a block says why there is none."""
    remember()

    assert run("context", *options) == f"Nothing would be shown: {why}.\n"


def test_captured_text_is_no_markup_of_the_command(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured text that looks like rich markup is printed unchanged."""
    monkeypatch.setenv("COLUMNS", "200")
    session_row("s1", summary="Made [/x] and [red] exact.")

    assert "Made [/x] and [red] exact." in run("context", "--project", "/p", "--explain").partition("\nIn")[2]


def test_a_memory_that_cannot_be_read_is_an_error(memory: Path) -> None:
    """A damaged memory is an error, not an empty block."""
    models.memory_database.execute_sql("DROP TABLE sessions")

    done = CliRunner().invoke(app, ["context", "--project", "/p"])

    assert done.exit_code == 1
    assert "claude-mem.db is damaged" in str(done.exception)


def test_why_tells_where_a_line_came_from(memory: Path) -> None:
    """`why` shows a row's session, call, prompt and the sessions it was shown to."""
    remember()
    for fields in (
        {"hook_event_name": "UserPromptSubmit", "prompt": "Make it exact."},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "git commit -m x"}},
    ):
        run_hook("post_tool_use", {"session_id": "s1", **fields}, project_dir="/p")
    (event_id,) = rows("SELECT id FROM pending_queue WHERE tool_name = 'Bash'")[0]
    observe(event_id, "Bash", "Commit 'x' as 7654321")
    context_rows.note_shown("me", {"via": "startup", "ids": [event_id]}, at=NOW)
    context_rows.save_used("me", {event_id: "opened"})

    told = json.loads(run("why", event_id[:10], "--json"))
    printed = run("why", event_id)

    assert (told["kind"], told["session_id"], told["prompt"]) == ("observation", "s1", "Make it exact.")
    assert told["call"] == {"command": "git commit -m x"}
    expected = [("me", "startup", "opened")]
    assert [(shown["session_id"], shown["via"], shown["used"]) for shown in told["shown"]] == expected
    assert "git commit -m x" in printed
    assert "via startup, opened" in printed


@pytest.mark.parametrize(
    ("row_id", "message"),
    [
        ("ffffffffff", "nothing has this id"),
        ("eeee", "6 characters or more"),
        ("", "6 characters or more"),
        ("session-1", ""),
        ("session-", "more than one id begins with it"),
    ],
)
def test_why_says_what_is_wrong_with_an_id(memory: Path, row_id: str, message: str) -> None:
    """`why` reports unknown, short and ambiguous ids, and opens a full id that others extend."""
    remember()
    session_row("session-1")
    session_row("session-10")

    done = CliRunner().invoke(app, ["why", row_id])

    assert done.exit_code == (1 if message else 0)
    assert message in str(done.exception)


def test_health_tells_the_share_that_was_used(memory: Path) -> None:
    """`eval health` counts the share of lines used, by kind of block, in ended sessions only."""
    assert "has ended yet" in run("eval", "health")
    models.open_databases()
    use_of(summary="As cccccccc says.")
    context_rows.note_shown("open", {"via": "recall", "ids": ["x"]}, at=NOW)

    found = json.loads(run("eval", "health", "--json"))

    assert (found["sessions"], list(found["via"])) == (1, ["startup"])
    assert found["all"] == {
        "blocks": 1, "tokens": 0, "shown": 2, "opened": 0, "named": 1, "touched": 0, "used": 1, "share": 0.5,
    }  # fmt: skip
    assert "50%" in run("eval", "health", "--project", os.sep + "p")


def test_a_file_says_more_of_what_was_only_named(memory: Path) -> None:
    """A file's block details a change that the start only named, once."""
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
    """A row shown in full stays so when named later, until a new start resets it."""
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
    """A resumed old client, which keeps no blocks, gets them again; a newer one does not."""
    remember()
    start = wait_until(lambda: hook("session_start", "SessionStart", source="startup", agent=""))
    file = told_in_time("allocate", "post_tool_use", "PostToolUse", **READ)

    resumed = hook("session_start", "SessionStart", source="resume")
    kept = (resumed, hook("post_tool_use", "PostToolUse", **READ))
    again = hook("session_start", "SessionStart", source="resume", agent="")
    file_again = hook("post_tool_use", "PostToolUse", **READ)

    assert kept == ("", "")
    assert (again, file_again) == (start, file)
    assert "cli.py:7 split" in file


def test_an_old_client_is_told_again_without_the_web_process(memory: Path) -> None:
    """Without the web process, a resumed old client gets the session index."""
    remember()

    assert "Made amounts exact." in hook("session_start", "SessionStart", source="resume", agent="")
