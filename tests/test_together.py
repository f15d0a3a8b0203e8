"""Tests that what was often changed together is told at a start, and with the file that it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.databases import change, observation_row, session_row

from claude_mem_lite.context import builder, touch
from claude_mem_lite.context.budget import Said
from claude_mem_lite.context.together import Place, Together, changed_together
from claude_mem_lite.storage import queries

if TYPE_CHECKING:
    from pathlib import Path

BOOK, LOAD, SAVE = Place("book.go", "Book"), Place("store.go", "load"), Place("store.go", "save")


def works(*changed: tuple[Place, ...]) -> list[tuple[str, Place]]:
    """Return the changes of one piece of work each."""
    return [(str(at), place) for at, places in enumerate(changed) for place in places]


def test_three_times_together_is_a_rule() -> None:
    """Two may be chance; who stands beside all of its own partners has no line."""
    both = (BOOK, LOAD, SAVE)

    told = [changed_together(works(*[both] * times)) for times in (2, 3)]

    assert told == [[], [Together(BOOK, 3, ((LOAD, 3), (SAVE, 3)))]]


def test_what_changes_alone_as_often_has_no_rule() -> None:
    """A book changes for many reasons, and `load` with it each time."""
    told = changed_together(works(*[(BOOK, LOAD)] * 3, *[(BOOK,)] * 3))

    assert told == [Together(LOAD, 3, ((BOOK, 3),))]


def test_neighbours_tests_and_sweeps_are_no_evidence() -> None:
    """In one file everybody sees it, a test changes with what it tests, and a sweep changes everything."""
    test = Place("store_test.go", "TestLoad")
    sweep = (BOOK, LOAD, *(Place(f"{at}.go", "f") for at in range(60)))

    for changed in ((LOAD, SAVE), (LOAD, test), (LOAD, Place("src/test/LoadIT.java", "it")), sweep):
        assert changed_together(works(*[changed] * 3)) == []
    assert changed_together(works(*[(LOAD, Place("latest.go", "f"))] * 3))


def test_only_the_places_of_a_file() -> None:
    """The file that a session has opened asks for its own."""
    told = changed_together(works(*[(BOOK, LOAD, SAVE)] * 3), path="store.go")

    assert [each.place for each in told] == [LOAD]


def remember(branches: str, *, last: str = "modified") -> None:
    """Let a session on each branch change a type and the functions that copy it; the last one may differ."""
    for number, branch in enumerate(branches):
        session, at = f"s{number}", f"2026-05-0{number + 1}T10:00:00Z"
        session_row(session, branch=branch, last_event_at=at, observation_count=3)
        for place in (BOOK, LOAD, SAVE):
            row = f"{number}{place.name}".ljust(32, "0")
            queries.save_observation(
                {**observation_row(row, session_id=session), "title": place.name, "created_at": at}
            )
            kind = last if number == len(branches) - 1 else "modified"
            own = {"file_path": f"lib/{place.file}", "session_id": session, "created_at": at}
            change(place.name, kind, row, **own)


def test_a_start_tells_what_goes_together(memory: Path) -> None:
    """With how often of how often; on one branch it is one piece of work, on `main` each session is one."""
    remember("abc")

    told = builder.build("/p", session_id="new").text

    assert "## What is changed together" in told
    assert "Book (lib/book.go): 3 of 3 times with load and save (lib/store.go)" in told


def test_one_branch_is_one_piece_of_work(memory: Path) -> None:
    """Its sessions go on with the same thing."""
    remember("aaaa")

    assert "changed together" not in builder.build("/p", session_id="new").text


def test_what_is_gone_goes_with_nothing(memory: Path) -> None:
    """Its newest change took it out."""
    remember("abcd", last="deleted")

    assert "changed together" not in builder.build("/p", session_id="new").text


def test_a_file_is_told_of_with_what_changes_with_it(memory: Path) -> None:
    """At the moment at which it is opened or edited."""
    remember("abc")

    section = touch.about("/p", "lib/store.go", said=Said(), without="new", now=0.0)

    assert (
        section.lines[0].says
        == "load (lib/store.go): 3 of 3 times with Book (lib/book.go), save (lib/store.go)"
    )
