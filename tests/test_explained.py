"""Tests that what the assistant explained in several sessions is told with their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.databases import observe, session_row

from claude_mem_lite.context import builder
from claude_mem_lite.context.failure import explained
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.thread import Said

if TYPE_CHECKING:
    from pathlib import Path

COPIED = "A new field of `BookState` is lost unless `ShelfState` has it too."


def states(*told: tuple[str, str]) -> list[tuple[str, State]]:
    """Return sessions of a branch each, in which that was said; each has edited `shelf.py`."""
    return [
        (branch, State(statements=[Said(str(at), "2026-05-01T00:00:00Z", says)], files={"lib/shelf.py": 1}))
        for at, (branch, says) in enumerate(told)
    ]


def test_what_three_sessions_joined_is_an_explanation() -> None:
    """Two of them are chance; and on one branch it is one piece of work that repeats itself."""
    again = "`ShelfState` needs the field of `BookState` as well."
    two = states(("a", COPIED), ("b", again))
    three = [*two, *states(("b", again))]
    on_one_branch = [("a", state) for _, state in three]

    told = [[(said.says, times) for said, times in explained(each)] for each in (two, three, on_one_branch)]

    assert told == [[], [(COPIED, 3)], []]


def test_names_that_stand_elsewhere_too_explain_nothing() -> None:
    """What everybody speaks of is joined with everything, and a file with what is in it."""
    elsewhere = [
        ("c", "`BookState` is frozen now."),
        ("d", "`BookState` has slots."),
        ("d", "`ShelfState` too, now."),
    ]
    in_a_file = [(branch, "`shelf.py` has `sort_shelf` now.") for branch in "abc"]

    assert explained(states(*[(branch, COPIED) for branch in "abc"], *elsewhere)) == []
    assert explained(states(*in_a_file)) == []


def test_an_explanation_is_told_at_a_start(memory: Path) -> None:
    """As said, with its sessions."""
    for number, branch in enumerate("abcd"):  # the last one stands above, as where the work stands
        session_row(f"s{number}", branch=branch, last_event_at=f"2026-05-0{number + 1}T10:00:00Z")
        said = COPIED if branch != "d" else "The lid is closed. It was open before. Nobody knows why."
        observe(f"{number}" * 32, "Stop", said, session_id=f"s{number}")
        summarize_session(f"s{number}")

    assert f"Said in 3 sessions: {COPIED}" in builder.build("/p", session_id="new").text
