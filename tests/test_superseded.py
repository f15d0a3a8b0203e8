"""What is gone from the code is told as gone: names that edits took out, and values that are others now."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.commands import command

from claude_mem_lite import inbox
from claude_mem_lite.context import builder
from claude_mem_lite.context.superseded import Superseded
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.distill.record import look_for_names, record_event, summarize_session
from claude_mem_lite.distill.retired import Retired, taken_out
from claude_mem_lite.storage import models, queries


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    """Return the event of a replacement in a file."""
    return {
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": path, "old_string": old, "new_string": new},
        "tool_response": {},
    }


def take_in(event: dict[str, Any], *, session_id: str, project_dir: str = "/p", at: str = "") -> None:
    """Have an event of some time become what it becomes."""
    event_id = inbox.append(json.dumps({**event, "session_id": session_id}), project_dir)
    with inbox.Transaction() as connection:
        if at:
            connection.execute("UPDATE pending_queue SET created_at = ? WHERE id = ?", (at, event_id))
    row = queries.pending_event(event_id)
    assert row is not None
    record_event(row)


def gone(event: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what an event took out: name, what stands there now, and the setting."""
    found = taken_out(Capture("PostToolUse", event["tool_name"], event, "/p"))
    return [(each.name, each.replacement, each.beside) for each in found[0]] if found else []


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("a.go", "func loadBook() {", "func openBook() {", [("loadBook", "openBook", "")]),
        ("a.ts", "const n = readAll(path);", "const n = 1;", [("readAll", "", "")]),
        ("a.rs", "fn old_name() {}\nfn kept_name() {}", "fn kept_name() {}", [("old_name", "", "")]),
        ("a.py", "save_book(load_book())", "load_book()", [("save_book", "", "")]),
        ("c.toml", 'journal_mode = "WAL"', 'journal_mode = "DELETE"', [("WAL", "DELETE", "journal_mode")]),
        ("c.yaml", "  retries: 3", "  retries: 5", [("3", "5", "retries")]),
        ("a.go", "maxCommits := 50", "maxCommits := 200", [("50", "200", "maxCommits")]),
        ("a.js", "let total = count", "let total = sum", []),  # a variable is no setting
        ("a.md", "The book was long.", "The book is short.", []),
    ],
)
def test_an_edit_says_what_it_took_out(path: str, old: str, new: str, expected: list[Any]) -> None:
    """Names of code in any language, and literal values of settings; no plain words."""
    assert gone(edit(f"/p/{path}", old, new)) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git mv src/summarize.go src/summarise.go", [("summarize.go", "summarise.go", "")]),
        ("rm -f docs/old_plan.md && ls", [("old_plan.md", "", "")]),
        ("mv a b", []),
        ("rm -rf build", []),
    ],
)
def test_a_command_says_which_files_it_took_away(command: str, expected: list[Any]) -> None:
    """By their names, where these are names of files."""
    event = {"tool_name": "Bash", "tool_input": {"command": command}}

    assert gone(event) == expected


def test_a_definition_that_is_removed_is_gone_at_once() -> None:
    """A call that is removed says nothing of the function; the work tree is asked."""
    removed = taken_out(Capture("PostToolUse", "Edit", edit("/p/a.go", "func loadBook() {}\n", ""), "/p"))
    called = taken_out(Capture("PostToolUse", "Edit", edit("/p/a.go", "x := loadBook()", "x := 1"), "/p"))

    assert removed
    assert called
    assert removed[0] == [Retired("loadBook", was_defined=True)]
    assert [each.as_row()["is_gone"] for each in (*removed[0], *called[0])] == [True, False]


def test_what_the_work_tree_has_is_not_gone(memory: Path, tmp_path: Path) -> None:
    """Of two calls that were removed one function is elsewhere; what comes back is told as it was."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "b.go").write_text("func keptBook() {}\n")
    file, place = f"{tmp_path}/a.go", {"session_id": "s1", "project_dir": str(tmp_path)}
    take_in(edit(file, "keptBook(); lostBook()", ""), **place)

    look_for_names(str(tmp_path))
    told = Superseded(str(tmp_path))

    assert told("`lostBook` reads, `keptBook` writes.", "") == " (`lostBook` is gone)"
    take_in(edit(file, "x", "lostBook()"), **place)
    assert Superseded(str(tmp_path))("`lostBook` reads.", "") == ""


def test_the_next_session_is_told_what_has_come_instead(memory: Path) -> None:
    """What was stated before is told with what replaced it; a report on another thing stays as it is."""
    say = {"hook_event_name": "Stop"}
    report = "`loadBook` reads the book. `saveBook` writes it to disk."
    take_in(say | {"last_assistant_message": report}, session_id="s1")
    summarize_session("s1")
    take_in(edit("/p/a.go", "func loadBook() {", "func openBook() {"), session_id="s2")
    summarize_session("s2")

    block = builder.build("/p", session_id="s3").text

    assert "`loadBook` reads the book; `saveBook` writes it to disk. (`loadBook` → `openBook`)" in block


def test_what_is_gone_belongs_to_its_session(memory: Path) -> None:
    """An older edit that is imported late does not bring back what a newer one took out."""
    take_in(edit("/p/a.go", "func loadBook() {}", ""), session_id="s2", at="2026-05-02T10:00:00Z")
    take_in(edit("/p/a.go", "", "func loadBook() {}"), session_id="s1", at="2026-05-01T10:00:00Z")

    assert [row.session_id for row in models.RetiredName.select()] == ["s2"]


def test_a_search_says_what_is_gone(memory: Path) -> None:
    """The row is found as it was written; a field, and a line of the command, say what has become of it."""
    report = "`loadBook` reads the book from its file."
    take_in({"hook_event_name": "Stop", "last_assistant_message": report}, session_id="s1")
    take_in(edit("/p/a.go", "func loadBook() {", "func openBook() {"), session_id="s2")

    found = command("search", "who reads the book from its file", "--project", "/p", "--json")
    shown = command("search", "who reads the book from its file", "--project", "/p")

    result = json.loads(found.stdout)["results"][0]
    assert (result["text"], result["gone"]) == (report, "`loadBook` → `openBook`")
    assert "no longer: `loadBook` → `openBook`" in shown.stdout
