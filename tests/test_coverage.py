"""Test which statements a block tells, and in how much room."""

from __future__ import annotations

from typing import Any

import pytest
from support import cases

from claude_mem_lite.context.coverage import choose
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.thread import Said

CASES = cases.load("coverage")


def state(*says: str) -> State:
    """Return the state of a session whose turns stated that, the newest first; each names something."""
    told = [Said(str(at), f"2026-05-01T00:00:0{9 - at}Z", each) for at, each in enumerate(says)]
    return State(statements=told, names=dict.fromkeys(("load_book", "save_book", "sort_book"), 1))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_says_most_in_the_room_is_told(case: dict[str, Any]) -> None:
    """Of what one session stated."""
    chosen = choose([(state(*case["says"]), 1), (State(), 1)], chars=case["chars"])

    assert [said.says for _, said in chosen] == [case["says"][at] for at in case["told"]]


def test_what_a_session_of_more_worth_speaks_of_goes_first() -> None:
    """A name is worth what the sessions that speak of it are."""
    told = [
        State(
            [], [Said(name, "2026-05-01T00:00:00Z", f"`{name}` takes the lock before it reads.")], {name: 1}
        )
        for name in ("load_book", "save_book")
    ]

    chosen = choose(list(zip(told, (1, 4), strict=True)), chars=150)

    assert [said.row_id for _, said in chosen] == ["save_book"]


def test_what_speaks_of_the_branch_goes_first() -> None:
    """By words of its name and its ticket, not by whose it is."""
    says = [
        "`sort_book` was rewritten to take the lock before it reads the list of authors.",
        "`save_book` was rewritten to keep the loans when two readers return one book.",
        "`load_book` was rewritten for LIB-12, so that readers see the shelf of a book.",
    ]
    told = [(state(*says), 1.0), (State(), 1.0)]

    on = {
        branch: choose(told, chars=180, branch=branch)[0][1].says
        for branch in ("", "authors/keep-loans", "me/lib-12")
    }

    assert list(on.values()) == says


def test_what_stands_under_a_heading_of_many_sessions_gives_way() -> None:
    """A formula such as "Changes made", under which finished edits are listed."""
    says = "`sort_book` takes the lock before it reads the list of authors."
    lists = [Said("0", "2026-05-01T00:00:09Z", says, head=head) for head in ("Changes made", "How it locks")]
    told = [(State(statements=[said], names={"sort_book": 1}), 1.0) for said in lists]
    others = [(State(statements=[Said("1", "", "Nothing.", head="Changes made")]), 1.0)] * 2

    assert [said.head for _, said in choose([*told, *others], chars=200)] == ["How it locks"]
    assert {said.head for _, said in choose([told[0], *others], chars=200)} == {""}
