"""Query analysis, the full-text expressions made from it, and folding of equal hits."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases
from support.strategies import parted

from claude_mem_lite.search import ranking
from claude_mem_lite.search.candidates import Profile
from claude_mem_lite.search.ranking import analyze
from claude_mem_lite.search.results import Hit, best
from claude_mem_lite.storage.search import Row

CASES = cases.load("ranking")
BUDGETED = Profile(row_count=10_000, sampled=100, counts={"rare": 1, "some": 40, "cent": 10, "common": 90})
HOSTILE = (
    'NEAR("a" b, 3)', "title: x", "a AND b OR NOT c", 'un"balanced', '"', '""""a""""', "a*", "^a", "{a b}: c",
    "-a", "a + b", "(((", "x'); DROP TABLE t; --", "%s %", "col\\umn", "a\0b", "a_b'c\"d_e", "it's", "--",
    '"it\'s a_b" c', "AND", "NOT NOT", "a\u0301\u0308 🦊 \u202eabc", "x" * 2_000, "é" * 300, "\ufeffa",
    " ".join(f"n{n}_{n}" for n in range(300)), '"quoted phrase" \'single\' `tick`', "__x__ --y /z/",
    "../../../etc/passwd\0.txt",
)  # fmt: skip


EXAMPLES = 100


@pytest.mark.parametrize(("text", "exact", "is_exact_only"), CASES["names"])
def test_names_are_found_in_a_query(text: str, exact: list[str], is_exact_only: bool) -> None:  # noqa: FBT001
    """Identifiers, paths, options and quoted phrases are names; stop words beside them don't count."""
    query = analyze(text)

    assert (list(query.exact), query.exact_only) == (exact, is_exact_only)


def test_a_query_is_lemmas_and_their_pairs() -> None:
    """A query becomes distinct lemmas and adjacent pairs; stop words count only if alone."""
    query = analyze("Why did the ledger round cents, ledger?")

    assert [term.lemma for term in query.terms] == ["ledger", "round", "cent"]
    assert query.pairs == ((0, 1), (1, 2), (2, 0))
    assert [term.lemma for term in analyze("to be").terms] == ["to", "be"]
    assert (analyze("\0 .,; _").terms, analyze("go going went").pairs) == ((), ())
    assert analyze("wrote").terms[0].words == ("wrote", "write", "written")
    assert len(analyze(" ".join(f"w{number}" for number in range(999))).terms) == 400


def test_a_long_query_is_reduced_to_its_most_telling_terms() -> None:
    """A long query keeps rare terms, early terms and parts of names, in order, with their pairs."""
    common = [f"c{number}" for number in range(60)]
    text = " ".join(["otter", *common[:30], "pond_filter", "rare", *common[30:]])
    profile = Profile(100, sampled=100, counts=dict.fromkeys([*common, "pond", "filter"], 40) | {"otter": 5})

    query = ranking.focused(analyze(text), profile)

    lemmas = [term.lemma for term in query.terms]
    assert lemmas == ["otter", *common[:28], "pond", "filter", "rare"]
    assert query.pairs == (*((at, at + 1) for at in range(28)), (29, 30), (30, 31))
    assert query.exact == ("pond_filter",)
    assert ranking.focused(analyze("otter pond"), profile) == analyze("otter pond")


def test_the_index_is_asked_for_few_terms() -> None:
    """The index is searched for 16 terms at most."""
    query = analyze(" ".join(f"w{number}" for number in range(32)))

    match = ranking.match_expression(query, Profile(9))

    assert match == " OR ".join(f'"w{number}"' for number in range(16))


def test_a_long_query_keeps_the_names_it_begins_with() -> None:
    """A long query keeps its first eight names."""
    query = analyze(" ".join(f"name_{number}" for number in range(50)))

    assert ranking.focused(query, Profile(9)).exact == tuple(f"name_{number}" for number in range(8))


def test_a_profile_estimates_rows_from_a_sample() -> None:
    """A word in two of three sampled texts is estimated at 20 of 30 rows, all forms counted."""
    told = map(ranking.vocabulary, ["Ledger ledgers", "floats", "the ledger wrote"])
    made = ranking.profile(told, row_count=30, share=0.5)

    assert (made.sampled, made.share) == (3, 0.5)
    assert [made.rows_with(name) for name in ("ledger", "float", "write", "wrote")] == [20, 10, 10, 0]
    assert Profile(row_count=30).rows_with("ledger") == 0


@pytest.mark.parametrize(("query", "share", "match"), CASES["asked"])
def test_the_index_is_asked_for_the_rarest_words(query: str, share: float, match: str) -> None:
    """The index is searched for the rarest words until they find 2,000 rows, and for names."""
    assert ranking.match_expression(analyze(query), replace(BUDGETED, share=share)) == match


def test_the_index_is_asked_for_all_forms() -> None:
    """The search covers irregular forms that a stemmer does not join; names stay as written."""
    assert ranking.match_expression(analyze("ran"), Profile(1)) == '"ran" OR "run"'
    assert ranking.named_expression(analyze('see Foo_Bar "A b"')) == '"a b" OR "foo_bar"'


def found_by_index(texts: Iterable[str], match: str) -> list[int]:
    """Return the numbers of the texts that an FTS5 query finds."""
    with closing(sqlite3.connect(":memory:")) as connection:
        table = "CREATE VIRTUAL TABLE t USING fts5 (text, tokenize='porter unicode61 remove_diacritics 2')"
        connection.execute(table)
        connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(texts))
        return [row for (row,) in connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,))]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_query_is_taken_for_syntax(text: str) -> None:
    """FTS5 operators, columns and quotes in a query are plain words that find their own text."""
    query = analyze(text)
    match = ranking.match_expression(query, Profile(2))

    if query.terms:
        assert found_by_index([text.replace("\0", " "), "something else"], match) == [0]
    if query.exact:
        assert 0 in found_by_index([text.replace("\0", " ")], ranking.named_expression(query))
    assert bool(query.terms) == any(character.isalnum() for character in text)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(parted, min_size=10, max_size=10))
def test_every_text_finds_itself(texts: list[str]) -> None:
    """Any text in a script that separates words is found by its own words."""
    for number, text in enumerate(texts):
        query = analyze(text)
        if query.terms:
            assert number in found_by_index(texts, ranking.match_expression(query, Profile(9)))


def hit(row_id: str, score: float, title: str, summary: str = "", **fields: str) -> Hit:
    """Return a hit of a row of project /p."""
    given = {"id": row_id, "title": title, "summary": summary, "project_dir": "/p", **fields}
    usual = {"kind": "observation", "detail": "", "files": (), "session_id": "s1", "tool_name": "Edit"}
    return Hit(Row(**{**usual, "created_at": "2026", **given}), score, None, rank=(0, 0, score))


TEN = "one two three four five six seven eight nine ten"


def answer(*hits: Hit, limit: int = 9) -> dict[str, list[str]]:
    """Return the ids of the best hits, each with the ids folded into it."""
    return {each.row.id: each.folded for each in best(hits, limit=limit)}


def test_what_says_the_same_is_folded_into_the_best() -> None:
    """Hits that share nine in ten words, in any order, are folded into the best of them."""
    hits = [
        hit("a", 1, TEN),
        hit("b", 3, "TEN nine", "eight seven six five four three two one one"),
        hit("c", 2, TEN + " eleven"),
        hit("d", 2.5, TEN + " eleven twelve"),
        hit("e", 0.5, "other"),
    ]

    assert answer(*hits) == {"b": ["c", "a"], "d": [], "e": []}


def test_the_same_words_elsewhere_are_another_thing() -> None:
    """Hits of another project or kind, and hits without words, are never folded."""
    hits = [
        hit("a", 5, TEN),
        hit("b", 4, TEN, project_dir="/q"),
        hit("c", 3, TEN, kind="session"),
        hit("d", 2, ""),
        hit("e", 1, "..."),
    ]

    assert answer(*hits) == {"a": [], "b": [], "c": [], "d": [], "e": []}


def test_folded_hits_do_not_count_for_the_limit() -> None:
    """The limit counts distinct hits; equal ones are folded in order, later ones dropped."""
    hits = [
        *(hit(each, 2, TEN) for each in "abcd"),
        hit("e", 1, "other"),
        hit("f", 0, "third"),
        hit("g", -1, TEN),
    ]

    assert answer(*hits, limit=2) == {"a": ["b", "c", "d"], "e": []}
    assert answer(*hits, limit=0) == answer() == {}


def test_the_first_number_of_the_rank_decides() -> None:
    """A row opened by id precedes a named row, which precedes a higher score."""
    opened, named, high = hit("a", 0, "x"), hit("b", 1, "y"), hit("c", 9, "z")
    opened.rank, named.rank = (1, 0, 0), (0, 1, 1)

    assert list(answer(high, named, opened)) == ["a", "b", "c"]
