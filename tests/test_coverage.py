"""Test which statements a block tells, and in how much room."""

from __future__ import annotations

import pytest

from claude_mem_lite.context.coverage import choose
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.thread import Said


def state(*says: str) -> State:
    """Return the state of a session whose turns stated that, the newest first; each names something."""
    told = [Said(str(at), f"2026-05-01T00:00:0{9 - at}Z", each) for at, each in enumerate(says)]
    return State(statements=told, names=dict.fromkeys(("load_book", "save_book", "sort_book"), 1))


# Statements in the order of their turns, the newest first, and which of them a little room is for.
SAYS = {
    "the newest of those of one worth": (
        [
            "`sort_book` was rewritten to take the lock before it reads the list of authors.",
            "`save_book` was rewritten to take the lock before it reads the list of authors.",
            "`load_book` was rewritten to take the lock before it reads the list of authors.",
        ],
        260, [0, 1],
    ),
    "a whole one rather than a few words beside a name, however cheap they are": (
        [
            "`sort_book` has been simplified in the same way as well.",
            "`save_book` takes the lock before it sorts the authors, or a loan is lost.",
        ],
        200, [1],
    ),
    "what begins with what it is about": (
        [
            "The function that reads it now takes the lock, which is what `save_book` does too.",
            "`sort_book` takes the lock before it reads, which is what the other two do as well.",
        ],
        180, [1],
    ),
    "no list of what was changed file by file, which the code and its history tell": (
        [
            "`library/shelf.py:154` - Added `sort_book`, which takes the lock before it reads.",
            "`save_book` in `library/shelf.py` takes the lock, or a loan is lost on the way.",
        ],
        150, [1],
    ),
    "nothing on tests, which say that themselves": (
        [
            "`test_load.py` has a case for `load_book` on an empty shelf, which nobody reads.",
            "`load_book` drops whatever stands on a shelf that nobody has read from since.",
        ],
        180, [1],
    ),
    "the cause that was found, not what held for a moment or was only supposed": (
        [
            "With the new lock of `load_book` the tests for it and for the shelf of books all pass.",
            "The cause might be that `sort_book` reads the shelf before the lock is taken there.",
            "`save_book` drops the loans because it writes the shelf before the lock is taken.",
        ],
        150, [2],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("says", "chars", "told"), SAYS.values(), ids=SAYS)
def test_what_says_most_in_the_room_is_told(says: list[str], chars: int, told: list[int]) -> None:
    """Of what one session stated."""
    chosen = choose([(state(*says), 1), (State(), 1)], chars=chars)

    assert [said.says for _, said in chosen] == [says[at] for at in told]


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
