"""Words and times of a query: words match SQLite's index, and a time boosts its rows."""

import datetime as dt
import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import cases
from support.databases import observation_row, session_row
from support.strategies import mixed, parted

from claude_mem_lite.context.budget import Said
from claude_mem_lite.context.recall import recall
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.ranking import analyze
from claude_mem_lite.search.results import Found
from claude_mem_lite.search.times import read
from claude_mem_lite.search.words import STOP_WORDS, forms, is_prefix, lemma, stem, words
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.search import Scope

CASES = cases.load("words")
# The standard library's modules: 28,000 different words, most of them English.
SOURCES = Path(json.__file__).parent.parent
EXAMPLES = 100
# Suffixes, among them all that Porter's steps remove.
ENDINGS = """
    s ed ing eed ies sses ational tional enci izer alli ousli ization ator alism iveness fulness biliti logi
    icate ative alize ical ful ness al ance ement ment ent ion ate iti ous ive ize ll y e
""".split()  # noqa: SIM905  (reads as words)
parts = st.text("abcdeioulmnstwxyz", min_size=1, max_size=5) | st.sampled_from(ENDINGS)
derived = st.builds("".join, st.lists(parts, min_size=1, max_size=5))
anything = st.text(st.characters(codec=None), max_size=80)


def indexed(texts: Sequence[str]) -> list[list[str]]:
    """Return the terms that SQLite indexes for each text."""
    terms: list[list[str]] = [[] for _ in texts]
    with closing(sqlite3.connect(":memory:")) as connection:
        table = "CREATE VIRTUAL TABLE t USING fts5 (text, tokenize='porter unicode61 remove_diacritics 2')"
        connection.execute(table)
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
        connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(texts))
        for text, term in connection.execute("SELECT doc, term FROM v ORDER BY doc, offset"):
            terms[text].append(term)
    return terms


def ours(text: str) -> list[str]:
    """Return the stems of a text's words."""
    return [stem(word) for word in words(text)]


def test_the_words_of_a_library_are_those_of_the_index() -> None:
    """Every word in the standard library's modules is stemmed as SQLite does."""
    texts = (path.read_text(errors="replace") for path in SOURCES.glob("*.py"))
    found = {word for text in texts for word in re.findall(r"\w+", text)}
    all_words = sorted(found)

    terms = indexed(all_words)

    assert len(all_words) > 20_000
    assert [(word, index) for word, index in zip(all_words, terms, strict=True) if ours(word) != index] == []


@example(["yyed", "buyying", "stuffed"])
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(derived, min_size=20, max_size=20))
def test_made_up_words_have_the_stems_of_the_index(texts: list[str]) -> None:
    """Words with stacked endings, all of Porter's among them, are stemmed as SQLite does."""
    assert [ours(text) for text in texts] == indexed(texts)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(parted, min_size=20, max_size=20))
def test_texts_of_all_alphabets_have_the_words_of_the_index(texts: list[str]) -> None:
    """Text of any script that separates words is split and folded as SQLite does."""
    assert [ours(text) for text in texts] == indexed(texts)


@pytest.mark.parametrize(("text", "expected"), CASES["split"])
def test_words_are_split_and_folded(text: str, expected: list[str]) -> None:
    """Latin letters lose their diacritics; other scripts keep them: й is not и, が is not か."""
    assert words(text) == expected


def test_words_are_stemmed_by_bytes() -> None:
    """Words of 3 to 64 bytes are stemmed, and bytes of non-ASCII letters are never vowels."""
    texts = ["as", "ass", "ies", "eed", "жs", "straßing", "straßed", "æsing"]
    texts += ["ab" * 30 + "ings", "ab" * 30 + "xings", "ж" * 31 + "s", "ж" * 32 + "s"]

    assert [ours(text) for text in texts] == indexed(texts)


@pytest.mark.parametrize(("word", "others"), CASES["lemmas"])
def test_the_forms_of_a_word_are_one_lemma(word: str, others: list[str]) -> None:
    """All forms of a word share a lemma, and the index is searched for each of them."""
    asked_for = {stem(form) for form in forms(word)}

    assert {lemma(other) for other in others} == {lemma(word)}
    assert {stem(other) for other in [word, *others]} <= asked_for


@pytest.mark.parametrize(("name", "family"), CASES["slavic"])
def test_the_endings_of_slavic_words_do_not_count(name: str, family: list[str]) -> None:
    """Cases, numbers and persons of a word share a lemma, with which the index's words begin."""
    assert {lemma(word) for word in family} == {name}
    assert all(word.startswith(name) for word in family)
    assert is_prefix(name)


@pytest.mark.parametrize(("asked", "terms"), CASES["foreign"])
def test_function_words_of_other_languages_are_no_terms(asked: str, terms: list[str]) -> None:
    """A question in another language is asked of the memory without its function words."""
    assert [term.lemma for term in analyze(asked).terms] == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [("write", "right"), ("left", "leave"), ("bit", "bite"), ("rose", "rise"), ("author", "authentication")],
)
def test_other_words_stay_apart(one: str, other: str) -> None:
    """Words that merely look like forms of each other keep separate lemmas."""
    assert lemma(one) != lemma(other)
    assert other not in forms(one)


def test_forms_begin_with_the_word_itself_and_name_each_once() -> None:
    """A word's forms begin with itself and have no duplicates, for stop words too."""
    assert (forms("ledger"), forms("wrote")) == (("ledger",), ("wrote", "write", "written"))
    assert forms("write") == ("write", "wrote", "written")
    assert all(forms(word)[0] == word and len(set(forms(word))) == len(forms(word)) for word in STOP_WORDS)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    anything | mixed | st.text(st.sampled_from("ab\u0301é \ud800"), min_size=1).map(lambda text: text * 40)
)
def test_any_text_has_words(text: str) -> None:
    """Any text gives non-empty words, each of which is its own only word."""
    found = words(text)

    assert all(found)
    assert [words(word) for word in found] == [[word] for word in found]
    assert all(lemma(word) and stem(word) and forms(word)[0] == word for word in found)


SPANS = cases.load("times")
WEDNESDAY = dt.datetime(2026, 11, 18, 15, 30, tzinfo=dt.UTC)
AT = WEDNESDAY.timestamp()


@pytest.mark.parametrize(("text", "since", "until"), SPANS["spans"])
def test_a_time_is_a_span(text: str, since: str, until: str) -> None:
    """A time expression becomes a span and is removed from the query."""
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
    """The words "may" and "march" alone are no time, and versions and paths have no dates."""
    assert read(text, now=WEDNESDAY) == (text, ())


def test_the_end_of_a_long_text_is_not_read() -> None:
    """A time far down in a long text is ignored, because the search for it costs time."""
    text = "otters " * 150

    assert read(f"{text}yesterday", now=WEDNESDAY) == (f"{text}yesterday", ())
    assert read(f"yesterday {text}", now=WEDNESDAY)[0] == f"  {text}"


def test_days_are_those_of_the_zone() -> None:
    """Days are those of the user's time zone, not of UTC."""
    berlin = dt.datetime(2026, 11, 18, 0, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))

    _, [span] = read("yesterday", now=berlin)

    assert (span.since, span.until) == ("2026-11-16T23:00:00.000000Z", "2026-11-17T23:00:00.000000Z")
    assert span.has("2026-11-16T23:00:00.000000Z")
    assert not span.has("2026-11-17T23:00:00.000000Z")


def test_time_words_are_no_terms_unless_there_are_no_others() -> None:
    """Time words are no search terms, unless quoted, alone, or without a clock."""
    dated = analyze("why did the otters leave on 2026-03-14?", now=WEDNESDAY)
    alone = analyze("what did we do yesterday", now=WEDNESDAY)

    assert ([term.lemma for term in dated.terms], dated.exact) == (["otter", "leav"], ())
    assert ([term.lemma for term in alone.terms], len(alone.spans)) == (["yesterdai"], 1)
    assert analyze('"2026-03-14"', now=WEDNESDAY).exact == ("2026-03-14",)
    assert (analyze("2026-03-14").exact, analyze("2026-03-14").spans) == (("2026-03-14",), ())


@pytest.fixture
def diary(memory: Path) -> Path:
    """Return a memory with one row a day from 1 September to 18 November."""
    session_row("s1")
    for number in range(79):
        day = dt.date(2026, 9, 1) + dt.timedelta(days=number)
        row = observation_row(f"{day:%Y%m%d}", title="Fed the otters", summary=f"Bucket {number} was empty.")
        queries.save_observation({**row, "created_at": f"{day}T12:00:00.000000Z"})
    return memory


def asked(text: str, **scope: str) -> Found:
    """Search by full text as of that Wednesday."""
    searcher = Searcher(by_meaning=False)
    return searcher.search(text, type="observation", scope=Scope(**scope), limit=9, now=0.0, at=AT)


def test_rows_of_the_time_come_first(diary: Path) -> None:
    """Rows in the query's span get a boost, with the time in their reasons; others follow."""
    found = asked("otters bucket on 2026-09-05").hits

    assert (found[0].row.id, len(found)) == ("20260905", 9)
    first, second = found[0].why, found[1].why
    assert (first.times_found, second.times_found) == (("on 2026-09-05",), ())
    assert first.explain()["time"] == pytest.approx(3 * 3.977, abs=0.01)  # 3 log(1 + 78.5 / 1.5)
    assert first.score - second.score == pytest.approx(first.time)
    assert second.time == 0


def test_a_time_alone_finds_its_rows(diary: Path) -> None:
    """A query of a time alone finds its rows, newest first, within other filters."""
    assert [hit.row.id for hit in asked("what did we do last weekend?").hits] == ["20261115", "20261114"]
    within = asked("what did we do last weekend?", since="2026-11-15")
    assert [hit.row.id for hit in within.hits] == ["20261115"]
    assert asked("what did we do last weekend?", until="2026-11-01").hits == []


def test_recall_prefers_the_time_of_the_prompt(diary: Path) -> None:
    """Recall boosts rows of the prompt's time, seen from when it was written."""
    prompt = "why was the otters' bucket empty on 2026-09-05?"
    section = recall(Searcher(by_meaning=False), "/p", prompt, said=Said(), budget_tokens=600, now=AT)

    offered = [*section.lines, *(out.line for out in section.left_out)]
    assert [line.id for line in offered if "matches on 2026-09-05" in line.reason] == ["20260905"]
