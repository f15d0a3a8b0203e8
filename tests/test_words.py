"""The words and stems of ranking are those of the index: what SQLite's own tokenizer makes of a text."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases
from support.strategies import mixed

from claude_mem_lite.search.words import STOP_WORDS, forms, lemma, stem, words

CASES = cases.load("words")

# Modules of the standard library beside `json`: 28,000 different words, most of them English.
SOURCES = Path(json.__file__).parent.parent
EXAMPLES = 100
# Letters, marks and signs of many alphabets, all as old as SQLite's tables (Unicode 6.1).
ENDINGS = """
    s ed ing eed ies sses ational tional enci izer alli ousli ization ator alism iveness fulness biliti logi
    icate ative alize ical ful ness al ance ement ment ent ion ate iti ous ive ize ll y e
""".split()  # noqa: SIM905  (reads as words)


derived = st.builds(
    "".join,
    st.lists(
        st.text("abcdeioulmnstwxyz", min_size=1, max_size=5) | st.sampled_from(ENDINGS),
        min_size=1,
        max_size=5,
    ),
)
anything = st.text(st.characters(codec=None), max_size=80)


def indexed(texts: Sequence[str]) -> list[list[str]]:
    """Return the terms that SQLite puts into the index for each text."""
    terms: list[list[str]] = [[] for _ in texts]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5 (text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
        connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(texts))
        for text, term in connection.execute("SELECT doc, term FROM v ORDER BY doc, offset"):
            terms[text].append(term)
    return terms


def ours(text: str) -> list[str]:
    """Return the stems of a text's words."""
    return [stem(word) for word in words(text)]


def test_the_words_of_a_library_are_those_of_the_index() -> None:
    """All words and identifiers of Python's own modules have the stems that SQLite gives them."""
    found = {
        word for path in SOURCES.glob("*.py") for word in re.findall(r"\w+", path.read_text(errors="replace"))
    }
    all_words = sorted(found)

    terms = indexed(all_words)

    assert len(all_words) > 20_000
    assert [(word, index) for word, index in zip(all_words, terms, strict=True) if ours(word) != index] == []


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(derived, min_size=20, max_size=20))
def test_made_up_words_have_the_stems_of_the_index(texts: list[str]) -> None:
    """Endings piled on one another, among them all that Porter's steps know, are taken off as SQLite does."""
    assert [ours(text) for text in texts] == indexed(texts)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(mixed, min_size=20, max_size=20))
def test_texts_of_all_alphabets_have_the_words_of_the_index(texts: list[str]) -> None:
    """Letters, marks and signs are joined, split and folded as SQLite does."""
    assert [ours(text) for text in texts] == indexed(texts)


@pytest.mark.parametrize(("text", "expected"), CASES["split"])
def test_words_are_split_and_folded(text: str, expected: list[str]) -> None:
    """Latin letters lose their diacritics; in other alphabets й is no и, and が no か."""
    assert words(text) == expected


def test_words_are_stemmed_by_bytes() -> None:
    """SQLite stems words of 3 to 64 bytes, and no byte of a letter beyond ASCII is a vowel."""
    texts = [
        "as",
        "ass",
        "ies",
        "eed",
        "ab" * 30 + "ings",
        "ab" * 30 + "xings",
        "ж" * 31 + "s",
        "ж" * 32 + "s",
    ]
    texts += ["жs", "straßing", "straßed", "æsing"]

    assert [ours(text) for text in texts] == indexed(texts)


@pytest.mark.parametrize(("word", "others"), CASES["lemmas"])
def test_the_forms_of_a_word_are_one_lemma(word: str, others: list[str]) -> None:
    """Inflected, irregular and short forms count as one, and the index is asked for all of them."""
    asked_for = {stem(form) for form in forms(word)}

    assert {lemma(other) for other in others} == {lemma(word)}
    assert {stem(other) for other in [word, *others]} <= asked_for


@pytest.mark.parametrize(
    ("one", "other"),
    [("write", "right"), ("left", "leave"), ("bit", "bite"), ("rose", "rise"), ("author", "authentication")],
)
def test_other_words_stay_apart(one: str, other: str) -> None:
    """What is more often another word is no form."""
    assert lemma(one) != lemma(other)
    assert other not in forms(one)


def test_forms_begin_with_the_word_itself_and_name_each_once() -> None:
    """A word without a family is its only form, stop words too."""
    assert forms("ledger") == ("ledger",)
    assert forms("wrote") == ("wrote", "write", "written")
    assert forms("write") == ("write", "wrote", "written")
    assert all(forms(word)[0] == word and len(set(forms(word))) == len(forms(word)) for word in STOP_WORDS)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    anything | mixed | st.text(st.sampled_from("ab\u0301é \ud800"), min_size=1).map(lambda text: text * 40)
)
def test_any_text_has_words(text: str) -> None:
    """Lone surrogates, NUL and whatever else break nothing; a word is never empty, and is its own word."""
    found = words(text)

    assert all(found)
    assert [words(word) for word in found] == [[word] for word in found]
    assert all(lemma(word) and stem(word) and forms(word)[0] == word for word in found)
