"""Test how a session's state is made of its reports and of what the user settled."""

from __future__ import annotations

from typing import Any

import pytest
from support import cases

from claude_mem_lite.distill.state import state_of
from claude_mem_lite.distill.statements import statements
from claude_mem_lite.distill.thread import decisions
from claude_mem_lite.storage.models import Observation

KNOWN = cases.load("distill/state")


def rows(*told: tuple[str, str]) -> list[Observation]:
    """Return observations of a session, each by its tool's name and what it says."""
    return [
        Observation(
            id=str(at), tool_name=tool, title="", summary=says, files_touched=[], written_by="local",
            created_at=f"2026-05-0{at + 1}T00:00:00Z",
        )
        for at, (tool, says) in enumerate(told)
    ]  # fmt: skip


@pytest.mark.parametrize("case", KNOWN["statements"], ids=cases.promise)
def test_a_report_is_told_in_statements_that_stand_by_themselves(case: dict[str, Any]) -> None:
    """Each with the head, the question, the row or the sentence without which it says nothing."""
    assert [each.text for each in statements(case["report"])] == case["states"]


@pytest.mark.parametrize("case", KNOWN["state"], ids=cases.promise)
def test_a_session_is_told_by_what_it_came_to_and_left_open(case: dict[str, Any]) -> None:
    """In many languages; what was overtaken, passed, or still holds is neither."""
    state = state_of(rows(*map(tuple, case["happened"])))

    for label, says in case.get("thread", {}).items():
        assert [said.says for said in state.thread if said.label == label] == says
    if "states" in case:
        assert [said.text for said in state.statements if not said.is_deed] == case["states"]


def test_a_decision_in_a_few_words_is_told_with_its_question() -> None:
    """A go-ahead, a question back and a request after a report without a question settle nothing."""
    told = rows(
        ("UserPromptSubmit", "Keep the rates"),
        ("Stop", "Both would work. Which one do you prefer?\n- A) a column\n- B) a table"),
        ("UserPromptSubmit", "a table, the column is gone on purpose"),
        ("Stop", "It is done. Shall I commit it?"),
        ("UserPromptSubmit", "yes"),
        ("Stop", "Shall I remove the flag as well?"),
        ("UserPromptSubmit", "who else is using that flag?"),
        ("Stop", "Nobody uses it."),
        ("UserPromptSubmit", "then write the release notes please"),
    )

    assert decisions(told) == ["“Which one do you prefer?” a table, the column is gone on purpose"]


def test_a_list_stands_under_the_end_of_the_line_above_it() -> None:
    """What else that line says is told by itself, once."""
    told = rows(
        ("Stop", "Version 0.3.0 is tagged.\n\nIt has two parts. Since 0.1.0:\n\n- a backup with checksums")
    )

    assert "Since 0.1.0: a backup with checksums" in [said.text for said in state_of(told).statements]


def test_edits_under_way_are_one_line() -> None:
    """Each file of the project with what became of its functions, the newest first, for all of the edits."""
    edited = rows(("Edit", "Edit a.py"), ("Write", "Create a plan"), ("Edit", "Edit b.py"))
    for row, path in zip(edited, ("a.py", "/home/dev/.claude/plans/a.md", "b.py"), strict=True):
        row.files_touched = [path]

    thread = state_of(edited, changes={"a.py": "new load"}).thread

    assert [(said.label, said.says, len(said.stands_for)) for said in thread] == [
        ("Changed, not committed", "b.py, a.py (new load)", 3)
    ]
