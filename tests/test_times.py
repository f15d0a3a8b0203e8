"""Dates and relative times in a query: what they mean, what is only a word, and what they do to a search."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from support import cases
from support.databases import observation_row, session_row

from claude_mem_lite.context.budget import Said
from claude_mem_lite.context.recall import recall
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.ranking import analyze
from claude_mem_lite.search.results import Found
from claude_mem_lite.search.times import read
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.search import Scope

CASES = cases.load("times")

WEDNESDAY = dt.datetime(2026, 11, 18, 15, 30, tzinfo=dt.UTC)
AT = WEDNESDAY.timestamp()


@pytest.mark.parametrize(("text", "since", "until"), CASES["spans"])
def test_a_time_is_a_span(text: str, since: str, until: str) -> None:
    """Seen from a Wednesday in November; its words are taken out of the query, wherever they stand."""
    rest, [span] = read(f"why {text}, otters?", now=WEDNESDAY)

    assert rest == "why  , otters?"
    assert (span.since, span.until) == (_full(since), _full(until))
    assert span.said == text.lower()


def _full(at: str) -> str:
    date, _, time = at.partition("T")
    return f"{date}T{time or '00:00'}:00.000000Z"


@pytest.mark.parametrize(
    "text",
    [
        "it may fail", "python 3 may break", "march through the code", "every Tuesday", "on Tuesdays", "2024",
        "keep the last 30 days", "the last hour", "version 2021.4.4", "docs/2026-03-14.md", "v2026-03-14",
        "1999-13-45", "on 31 June", '"yesterday" was wrong', "todays", "10.0.2026.1", "in 2048 bytes",
        "999999 years ago", "last commit", "the weekday", "decide", "on mars", "",
    ],
)  # fmt: skip
def test_a_word_is_no_time(text: str) -> None:
    """Without a preposition, a day or a year may and march are words; a version or a path has no date."""
    assert read(text, now=WEDNESDAY) == (text, ())


def test_the_end_of_a_long_text_is_not_read() -> None:
    """A time far down in a paste is not what is asked for, and looking for it costs."""
    text = "otters " * 150

    assert read(f"{text}yesterday", now=WEDNESDAY) == (f"{text}yesterday", ())
    assert read(f"yesterday {text}", now=WEDNESDAY)[0] == f"  {text}"


def test_days_are_those_of_the_zone() -> None:
    """At half past midnight in Berlin yesterday is not over yet in UTC."""
    berlin = dt.datetime(2026, 11, 18, 0, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))

    _, [span] = read("yesterday", now=berlin)

    assert (span.since, span.until) == ("2026-11-16T23:00:00.000000Z", "2026-11-17T23:00:00.000000Z")
    assert span.has("2026-11-16T23:00:00.000000Z")
    assert not span.has("2026-11-17T23:00:00.000000Z")


def test_time_words_are_no_terms_unless_there_are_no_others() -> None:
    """A date is no name to be found as written; in quotes it is; without a clock nothing is a time."""
    dated = analyze("why did the otters leave on 2026-03-14?", now=WEDNESDAY)
    alone = analyze("what did we do yesterday", now=WEDNESDAY)

    assert ([term.lemma for term in dated.terms], dated.exact) == (["otter", "leav"], ())
    assert ([term.lemma for term in alone.terms], len(alone.spans)) == (["yesterdai"], 1)
    assert analyze('"2026-03-14"', now=WEDNESDAY).exact == ("2026-03-14",)
    assert (analyze("2026-03-14").exact, analyze("2026-03-14").spans) == (("2026-03-14",), ())


@pytest.fixture
def diary(memory: Path) -> Path:
    """Return a memory with one row a day from the 1st of September to the 18th of November."""
    session_row("s1")
    for number in range(79):
        day = dt.date(2026, 9, 1) + dt.timedelta(days=number)
        row = observation_row(f"{day:%Y%m%d}", title="Fed the otters", summary=f"Bucket {number} was empty.")
        queries.save_observation({**row, "created_at": f"{day}T12:00:00.000000Z"})
    return memory


def asked(text: str, **scope: str) -> Found:
    """Search by words on the Wednesday."""
    searcher = Searcher(by_meaning=False)
    return searcher.search(text, type="observation", scope=Scope(**scope), limit=9, now=0.0, at=AT)


def test_rows_of_the_time_come_first(diary: Path) -> None:
    """A boost: other rows with the words come after them; the reasons say so."""
    found = asked("otters bucket on 2026-09-05").hits

    assert found[0].row.id == "20260905"
    assert len(found) == 9
    first, second = found[0].why, found[1].why
    assert first is not None
    assert second is not None
    assert (first.times_found, second.times_found) == (("on 2026-09-05",), ())
    assert first.explain()["time"] == pytest.approx(3 * 3.977, abs=0.01)  # 3 log(1 + 78.5 / 1.5)
    assert first.score - second.score == pytest.approx(first.time)
    assert second.time == 0


def test_a_time_alone_finds_its_rows(diary: Path) -> None:
    """No word is left to look for: newest first; a filter still filters."""
    assert [hit.row.id for hit in asked("what did we do last weekend?").hits] == ["20261115", "20261114"]
    within = asked("what did we do last weekend?", since="2026-11-15")
    assert [hit.row.id for hit in within.hits] == ["20261115"]
    assert asked("what did we do last weekend?", until="2026-11-01").hits == []


def test_recall_prefers_the_time_of_the_prompt(diary: Path) -> None:
    """As search does, seen from when the prompt was written."""
    section = recall(
        Searcher(by_meaning=False),
        "/p",
        "why was the otters' bucket empty on 2026-09-05?",
        said=Said(),
        budget_tokens=600,
        now=AT,
    )

    offered = [*section.lines, *(out.line for out in section.left_out)]
    assert [line.id for line in offered if "matches on 2026-09-05" in line.reason] == ["20260905"]
