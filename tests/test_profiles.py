"""How common words are in a project: known at once after work, and counted seldom where counting costs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.databases import observation_row, session_row

from claude_mem_lite.search.profiles import Profiles
from claude_mem_lite.storage import models


def remember(first: int, last: int, summary: str = "Fed the otters.") -> None:
    """Store rows of a project."""
    some = [
        {**observation_row(f"o{number}", title=f"Row {number}", summary=summary)}
        for number in range(first, last)
    ]
    rows = [{"session": row.pop("session_id"), **row} for row in some]
    for start in range(0, len(rows), 500):
        models.Observation.insert_many(rows[start : start + 500]).execute()


def test_a_project_that_has_grown_by_half_is_known_at_once(memory: Path) -> None:
    """The search that comes right after the rows sees them; so after most of them are gone."""
    session_row("s1")
    profiles = Profiles()

    empty = profiles.get("observation", "/p", now=0.0)
    remember(0, 10)
    new = profiles.get("observation", "/p", now=0.0)
    remember(10, 20)
    grown = profiles.get("observation", "/p", now=0.0)
    models.Observation.delete().where(models.Observation.id != "o1").execute()
    shrunk = profiles.get("observation", "/p", now=0.0)

    assert [each.row_count for each in (empty, new, grown, shrunk)] == [0, 10, 20, 1]
    assert [each.rows_with("otter") for each in (empty, new, grown, shrunk)] == [0, 10, 20, 1]


def test_a_project_that_has_grown_by_more_than_a_tenth_is_known_soon(memory: Path) -> None:
    """No search waits for it; a row more is not worth the work."""
    session_row("s1")
    remember(0, 20)
    profiles = Profiles()
    first = profiles.get("observation", "/p", now=0.0)
    remember(20, 22)

    unchanged = profiles.get("observation", "/p", now=0.0)
    remember(22, 23)
    at_once = profiles.get("observation", "/p", now=0.0)
    deadline = time.monotonic() + 10
    while (soon := profiles.get("observation", "/p", now=0.0)) is first and time.monotonic() < deadline:
        time.sleep(0.01)

    assert unchanged is first
    assert at_once.row_count in {20, 23}  # the thread may have been faster
    assert (soon.row_count, soon.rows_with("otter")) == (23, 23)


@pytest.mark.parametrize(("later_s", "row_count"), [(4.9, 2_001), (5.0, 4_002)])
def test_a_large_project_is_counted_seldom(memory: Path, later_s: float, row_count: int) -> None:
    """Above 2,000 rows at most every five seconds."""
    session_row("s1")
    remember(0, 2_001)
    profiles = Profiles()
    profiles.get("observation", "/p", now=100.0)
    remember(2_001, 4_002)

    later = profiles.get("observation", "/p", now=100.0 + later_s)

    assert later.row_count == row_count
