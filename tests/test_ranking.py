"""Each part of a row's score, by small examples whose numbers are worked out here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases
from support.strategies import mixed

from claude_mem_lite.search import ranking
from claude_mem_lite.search.candidates import Candidate, Profile, Query
from claude_mem_lite.search.ranking import analyze
from claude_mem_lite.search.results import Hit, best
from claude_mem_lite.storage.search import Row

CASES = cases.load("ranking")

EXAMPLES = 100
# Of ten rows two have a word: log(1 + (10 - 2 + 0.5) / (2 + 0.5)).
TWO_OF_TEN = log(4.4)
PROFILE = Profile(row_count=10, sampled=10, counts={"ledger": 2, "float": 2, "cent": 2, "round": 2})


def scored(
    query: str, *candidates: Candidate, profile: Profile = PROFILE, meaning: float = 0.0
) -> list[dict]:
    """Return the parts of each candidate's score, in the order of the candidates."""
    ranked = {row.id: row for row in ranking.rank(analyze(query), candidates, profile, meaning=meaning)}
    return [
        {name: getattr(ranked[each.id], name) for name in ranked[each.id].__slots__} for each in candidates
    ]


def order(query: str, *candidates: Candidate, profile: Profile = PROFILE, meaning: float = 0.0) -> str:
    """Return the ids, best first."""
    return "".join(row.id for row in ranking.rank(analyze(query), candidates, profile, meaning=meaning))


# --- what a query asks for -------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "exact", "is_exact_only"), CASES["names"])
def test_names_are_found_in_a_query(text: str, exact: list[str], is_exact_only: bool) -> None:  # noqa: FBT001
    """Identifiers, paths, options and quoted phrases are names; stop words beside them say nothing."""
    query = analyze(text)

    assert (list(query.exact), query.exact_only) == (exact, is_exact_only)


def test_a_query_is_lemmas_and_their_pairs() -> None:
    """Stop words go, unless there is nothing else; a word asked for twice is one term."""
    query = analyze("Why did the ledger round cents, ledger?")

    assert [term.lemma for term in query.terms] == ["ledger", "round", "cent"]
    assert query.pairs == ((0, 1), (1, 2), (2, 0))
    assert [term.lemma for term in analyze("to be").terms] == ["to", "be"]
    assert analyze("\0 .,; _").terms == ()
    assert analyze("go going went").pairs == ()
    assert analyze("wrote").terms[0].words == ("wrote", "write", "written")
    assert len(analyze(" ".join(f"w{number}" for number in range(999))).terms) == 400


def test_a_long_query_is_reduced_to_its_most_telling_terms() -> None:
    """Rare terms, early ones and parts of names are kept, in their order, with the pairs among them."""
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
    """The rest is counted in what they find."""
    query = analyze(" ".join(f"w{number}" for number in range(32)))

    match = ranking.match_expression(query, Profile(9))

    assert match == " OR ".join(f'"w{number}"' for number in range(16))


def test_a_long_query_keeps_the_names_it_begins_with() -> None:
    """Each is looked for in every candidate."""
    query = analyze(" ".join(f"name_{number}" for number in range(50)))

    assert ranking.focused(query, Profile(9)).exact == tuple(f"name_{number}" for number in range(8))


# --- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"title": "Ledger"}, 2.0),
        ({"title": "", "summary": "ledger"}, 1.0),
        ({"title": "", "detail": "ledgers"}, 0.5),
        ({"title": "", "files": ("ledger.txt",)}, 0.2),
        ({"title": "ledger", "summary": "ledger", "detail": "ledger", "files": ("a", "b/ledger")}, 3.7),
    ],
)
def test_a_word_counts_by_its_field(fields: dict, count: float) -> None:
    """The weights of the fields are added before the count saturates: c * 2.2 / (c + 1.2)."""
    [row] = scored("ledger", Candidate("a", **fields))

    assert row["words"] == pytest.approx(TWO_OF_TEN * count * 2.2 / (count + 1.2) * 1.2)
    assert (row["order"], row["exact"], row["meaning"], row["coverage"]) == (0, 0, 0, 1)
    assert row["score"] == row["words"]


def test_long_rows_count_less() -> None:
    """Of the lengths 1 and 3 the mean is 2: the count is held against 0.75 and 1.65."""
    short, long = scored("ledger", Candidate("a", "", "ledger"), Candidate("b", "", "ledger it is"))

    assert short["words"] == pytest.approx(TWO_OF_TEN * 2.2 / 1.75 * 1.2)
    assert long["words"] == pytest.approx(TWO_OF_TEN * 2.2 / 2.65 * 1.2)


def test_a_row_with_all_words_gains() -> None:
    """A fifth for all of the evidence, a tenth for half of it; equal lengths, equally rare words."""
    both, one = scored(
        "ledger rounding", Candidate("a", "", "round ledger"), Candidate("b", "", "ledger now")
    )

    assert both["words"] == pytest.approx(2 * TWO_OF_TEN * 1.2)
    assert one["words"] == pytest.approx(TWO_OF_TEN * 1.1)
    assert (both["coverage"], one["coverage"]) == (1, 0.5)


def test_rare_words_count_more() -> None:
    """One row of 100 against 50 of 100, log(1 + 99.5 / 1.5) against log(2)."""
    profile = Profile(row_count=100, sampled=100, counts={"ledger": 1, "cent": 50})

    rare, common = scored(
        "ledger cents", Candidate("a", "", "ledger"), Candidate("b", "", "cents"), profile=profile
    )

    assert rare["coverage"] == pytest.approx(log(1 + 99.5 / 1.5) / (log(1 + 99.5 / 1.5) + log(2)))
    assert rare["words"] / common["words"] > 6
    assert rare["words"] == pytest.approx(log(1 + 99.5 / 1.5) * (1 + 0.2 * rare["coverage"]))


def test_without_a_sample_the_candidates_tell_how_rare_a_word_is() -> None:
    """In one of two candidates, out of four rows: log(1 + 3.5 / 1.5)."""
    row, _ = scored("ledger", Candidate("a", "", "ledger"), Candidate("b", "", "other"), profile=Profile(4))

    assert row["words"] == pytest.approx(log(1 + 3.5 / 1.5) * 1.2)


def test_more_candidates_than_rows_known_are_no_harm() -> None:
    """A profile made when the project was smaller gives small weights, never negative ones."""
    rows = [Candidate(str(number), "", "ledger") for number in range(5)]

    parts = scored("ledger", *rows, profile=Profile(row_count=2, sampled=2, counts={"ledger": 2}))

    assert [each["words"] for each in parts] == pytest.approx([log(1 + 0.5 / 5.5) * 1.2] * 5)


def test_only_the_beginning_of_a_detail_counts() -> None:
    """What stands after 2,000 characters is not looked at."""
    early, late = scored(
        "ledger", Candidate("a", "t", detail="ledger"), Candidate("b", "t", detail=" " * 2000 + "ledger")
    )

    assert (early["coverage"], late["coverage"]) == (1, 0)


# --- order -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fields", "pairs"), CASES["together"])
def test_words_that_stand_together_count_more(fields: dict[str, Any], pairs: int) -> None:
    """Within three words, in the order of the query, in one field; 0.4 of what the commoner word says."""
    files = tuple(fields.get("files", ()))

    [row] = scored("ledger rounding", Candidate("a", "", **fields | {"files": files}))

    assert row["order"] == pytest.approx(0.4 * TWO_OF_TEN * pairs)


def test_a_pair_says_what_its_commoner_word_says() -> None:
    """Five of ten rows have one word: log(1 + 5.5 / 5.5) is less than what two of ten say."""
    profile = replace(PROFILE, counts={"ledger": 2, "round": 5})

    [row] = scored("ledger rounding", Candidate("a", "ledger rounding"), profile=profile)

    assert row["order"] == pytest.approx(0.4 * log(2))


# --- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "text", "is_there"), CASES["written"])
def test_a_name_is_found_as_it_was_written(name: str, text: str, is_there: bool) -> None:  # noqa: FBT001
    """In any case and over line breaks, but not as a part of a longer name."""
    rows = [Candidate("a", text), Candidate("b", "", detail=text), Candidate("c", "", files=(text,))]

    found = scored(name, *rows)

    query = analyze(name)
    assert [row["exact_found"] for row in found] == [query.exact if is_there else ()] * 3
    assert [row["exact"] for row in found] == [1.0 * is_there] * 3
    assert [row["named_first"] for row in found] == [1 * is_there] * 3


def test_what_is_asked_for_by_name_alone_comes_first() -> None:
    """More names first; a row that only has their parts comes last, however often and however near."""
    rows = (
        Candidate("a", "get user by id, get user by id", "get user by id", cosine=1.0),
        Candidate("b", "Rename", "x " * 50 + "get_user_by_id", cosine=-1.0),
        Candidate("c", "Rename", "x " * 50 + "get_user_by_id in src/db.py", cosine=-1.0),
    )

    assert order("get_user_by_id src/db.py", *rows, meaning=9.0) == "cba"
    assert order("why get_user_by_id src/db.py", *rows, meaning=9.0) == "cba"
    assert order("rewrote get_user_by_id src/db.py", *rows, meaning=9.0)[0] == "a"


# --- the index is asked ----------------------------------------------------------------------------


def test_a_profile_estimates_rows_from_a_sample() -> None:
    """Two of three texts have the word in some form, so 20 of 30 rows do."""
    told = map(ranking.vocabulary, ["Ledger ledgers", "floats", "the ledger wrote"])
    made = ranking.profile(told, row_count=30, share=0.5)

    assert (made.sampled, made.share) == (3, 0.5)
    assert [made.rows_with(name) for name in ("ledger", "float", "write", "wrote")] == [20, 10, 10, 0]
    assert Profile(row_count=30).rows_with("ledger") == 0


BUDGETED = Profile(row_count=10_000, sampled=100, counts={"rare": 1, "some": 40, "cent": 10, "common": 90})


@pytest.mark.parametrize(("query", "share", "match"), CASES["asked"])
def test_the_index_is_asked_for_the_rarest_words(query: str, share: float, match: str) -> None:
    """Until 2,000 rows (of all projects) are found; a first word and names in any case."""
    profile = replace(BUDGETED, share=share)

    assert ranking.match_expression(analyze(query), profile) == match


def test_the_index_is_asked_for_all_forms() -> None:
    """Irregular and short forms, which no stem joins; names are asked for as they were written."""
    assert ranking.match_expression(analyze("ran"), Profile(1)) == '"ran" OR "run"'
    assert ranking.named_expression(analyze('see Foo_Bar "A b"')) == '"a b" OR "foo_bar"'


def found_by_index(texts: Iterable[str], match: str) -> list[int]:
    """Return which texts an FTS5 query finds, by number."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5 (text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(texts))
        return [row for (row,) in connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,))]


HOSTILE = (
    'NEAR("a" b, 3)', "title: x", "a AND b OR NOT c", 'un"balanced', '"', '""""a""""', "a*", "^a", "{a b}: c",
    "-a", "a + b", "(((", "x'); DROP TABLE t; --", "%s %", "col\\umn", "a\0b", "a_b'c\"d_e", "it's", "--",
    '"it\'s a_b" c', "AND", "NOT NOT", "a\u0301\u0308 🦊 \u202eabc", "x" * 2_000, "é" * 300, "\ufeffa",
    " ".join(f"n{n}_{n}" for n in range(300)), '"quoted phrase" \'single\' `tick`', "__x__ --y /z/",
    "../../../etc/passwd\0.txt",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_no_query_is_taken_for_syntax(text: str) -> None:
    """What FTS5 understands as an operator, a column or a quote is but a word, and finds itself."""
    query = analyze(text)
    match = ranking.match_expression(query, Profile(2))

    if query.terms:
        assert found_by_index([text.replace("\0", " "), "something else"], match) == [0]
    if query.exact:
        assert 0 in found_by_index([text.replace("\0", " ")], ranking.named_expression(query))
    assert bool(query.terms) == any(character.isalnum() for character in text)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(mixed, min_size=10, max_size=10))
def test_every_text_finds_itself(texts: list[str]) -> None:
    """Whatever its alphabet: the words asked for are those that the index has."""
    for number, text in enumerate(texts):
        query = analyze(text)
        if query.terms:
            assert number in found_by_index(texts, ranking.match_expression(query, Profile(9)))


# --- meaning ---------------------------------------------------------------------------------------


def vectors(*rows: tuple[float, float]) -> np.ndarray:
    """Return rows of two numbers."""
    return np.array(rows, dtype=np.float32).reshape(-1, 2)


HERE, NOWHERE = np.array([1, 0], dtype=np.float32), np.zeros(2, dtype=np.float32)


def test_cosines_are_of_what_is_not_common_to_all() -> None:
    """Both sides lose the centre: seen from (1, 1) the query (2, 1) looks along (2, 1)."""
    centre = np.array([1, 1], dtype=np.float32)

    from_centre = ranking.cosines(np.array([2, 1], dtype=np.float32), vectors((3, 1), (1, 5)), centre)
    same_place = ranking.cosines(centre, vectors((3, 1), (1, 5)), centre)

    assert from_centre == pytest.approx([1, 0])
    assert same_place == pytest.approx([0, 0])


def test_a_row_that_is_like_its_fellows_loses() -> None:
    """A tenth of its mean likeness to the ten nearest, itself not among them."""
    apart = ranking.cosines(HERE, vectors((1, 0), (0, 1)), NOWHERE)
    twins = ranking.cosines(HERE, vectors((1, 0), (2, 0)), NOWHERE)
    three = ranking.cosines(HERE, vectors((1, 0), (1, 0), (0, 1)), NOWHERE)
    crowd = ranking.cosines(HERE, vectors(*[(1, 0)] * 11, *[(-1, 0)] * 20), NOWHERE)

    assert apart == pytest.approx([1, 0])
    assert twins == pytest.approx([0.9, 0.9])
    assert three == pytest.approx([1 - 0.1 * 0.5, 1 - 0.1 * 0.5, 0])
    assert crowd[:11] == pytest.approx([0.9] * 11)  # the others are not among the nearest ten
    assert crowd[11:] == pytest.approx([-1.1] * 20)


def test_one_row_or_none_has_no_fellows() -> None:
    """A single row keeps its cosine, one at the centre has none, and nothing is nothing."""
    one = ranking.cosines(HERE, vectors((1, 1)), NOWHERE)
    central = ranking.cosines(HERE, vectors((0, 0)), NOWHERE)

    assert one == pytest.approx([sqrt(0.5)])
    assert central == pytest.approx([0])
    assert ranking.cosines(HERE, vectors(), NOWHERE).shape == (0,)


def test_meaning_is_a_number_of_points_per_cosine() -> None:
    """Beside the words, which it does not change."""
    near, far = scored(
        "ledger", Candidate("a", "ledger", cosine=0.5), Candidate("b", "ledger", cosine=-0.25), meaning=8
    )

    assert (near["meaning"], far["meaning"]) == (4, -2)
    assert near["words"] == far["words"]
    assert near["score"] == near["words"] + 4


def test_a_row_without_a_vector_is_taken_for_a_usual_one() -> None:
    """It has the median of the rows with words of the query, or of all with a vector; or else nothing."""
    with_words = [Candidate(str(at), "ledger", cosine=cosine) for at, cosine in enumerate((0.1, 0.2, 0.6))]
    without = [Candidate(f"w{at}", "x", cosine=cosine) for at, cosine in enumerate((0.9, 1.0))]
    new = Candidate("new", "ledger")

    assert scored("ledger", *with_words, *without, new, meaning=10)[-1]["meaning"] == pytest.approx(2)
    assert scored("ledger", *without, new, meaning=10)[-1]["meaning"] == pytest.approx(9.5)
    assert scored("ledger", new, meaning=10)[-1]["meaning"] == 0
    assert scored("ledger", new, meaning=10)[-1]["cosine"] is None


# --- all together ----------------------------------------------------------------------------------


def test_equals_stay_in_the_order_given() -> None:
    """Whoever gives the candidates decides between them."""
    rows = [Candidate(each, "Move the ledger") for each in "cabd"]

    assert order("ledger", *rows) == "cabd"
    assert order("ledger", *rows, Candidate("z", "ledger ledger")) == "zcabd"


def test_no_candidates_are_no_rows() -> None:
    """Nor does a query without terms, or a row without text, do harm."""
    empty = Query((), (), (), exact_only=False)

    assert ranking.rank(analyze("ledger"), [], PROFILE, meaning=1) == []
    assert [row.score for row in ranking.rank(empty, [Candidate("a", "")], Profile(0), meaning=1)] == [0]
    assert [row.score for row in ranking.rank(analyze("x"), [Candidate("a", "")], Profile(0), meaning=1)] == [
        0
    ]


def test_explain_says_the_parts() -> None:
    """Rounded, without what only sorts; together they are the score."""
    [row] = ranking.rank(analyze("ledger"), [Candidate("a", "ledger", cosine=0.25)], PROFILE, meaning=4)

    parts = row.explain()

    assert parts == {
        "score": 3.445,
        "words": 2.445,
        "order": 0.0,
        "exact": 0.0,
        "meaning": 1.0,
        "time": 0.0,
        "coverage": 1.0,
        "cosine": 0.25,
        "exact_found": (),
        "times_found": (),
    }


some_words = st.lists(st.sampled_from("ledger round cents the foo_bar src/x.py wrote of".split()), max_size=6)  # noqa: SIM905
some_text = some_words.map(" ".join)
some_rows = st.lists(
    st.builds(
        Candidate,
        st.just("?"),
        some_text,
        some_text,
        some_text,
        some_words.map(tuple),
        st.none() | st.floats(-1, 1),
    ),
    min_size=1,
    max_size=6,
).map(lambda rows: [replace(row, id=str(at)) for at, row in enumerate(rows)])


@settings(max_examples=EXAMPLES, deadline=None)
@given(some_text, some_rows, st.floats(0, 20))
def test_ranking_is_an_order_of_the_rows(query: str, rows: list[Candidate], meaning: float) -> None:
    """Each row once, best first, its parts its score; the order in which they come changes no score."""
    ranked = ranking.rank(analyze(query), rows, PROFILE, meaning=meaning)
    reverse = ranking.rank(analyze(query), rows[::-1], PROFILE, meaning=meaning)

    assert sorted(row.id for row in ranked) == [row.id for row in rows]
    keys = [(-row.named_first, -row.score) for row in ranked]
    assert keys == sorted(keys)
    parts = [row.words + row.order + row.exact + row.meaning + row.time for row in ranked]
    assert [row.score for row in ranked] == pytest.approx(parts, rel=1e-12)  # `sum` rounds less since 3.12
    assert all(row.words >= 0 and row.order >= 0 and 0 <= row.coverage <= 1 + 1e-9 for row in ranked)
    others = {row.id: row.score for row in reverse}
    assert {row.id: row.score for row in ranked} == pytest.approx(others)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from(["ledger", "rounded", "cents"]), some_rows, st.data())
def test_the_word_asked_for_never_harms_in_a_title(
    word: str, rows: list[Candidate], data: st.DataObject
) -> None:
    """Asked for one word, a row with one more of it in its title scores higher."""
    at = data.draw(st.integers(0, len(rows) - 1))
    more = [replace(row, title=f"{row.title} {word}") if row is rows[at] else row for row in rows]

    assert scored(word, *more)[at]["words"] > scored(word, *rows)[at]["words"] - 1e-9


@settings(max_examples=EXAMPLES, deadline=None)
@given(some_text.filter(lambda text: analyze(text).terms), some_rows, st.data())
def test_a_word_of_the_query_never_harms_a_single_row(
    query: str, rows: list[Candidate], data: st.DataObject
) -> None:
    """With no fellows its length is the mean, so one more word of the query in its title can but help."""
    word = data.draw(st.sampled_from(analyze(query).terms)).words[0]
    more = replace(rows[0], title=f"{word} {rows[0].title}")

    assert scored(query, more)[0]["words"] >= scored(query, rows[0])[0]["words"]


@settings(max_examples=EXAMPLES, deadline=None)
@given(some_text, some_rows, st.floats(-1, 1), st.floats(-1, 1))
def test_the_nearer_of_two_equal_rows_comes_first(
    query: str, rows: list[Candidate], one: float, other: float
) -> None:
    """Whatever else is among the candidates."""
    twins = [
        replace(rows[0], id="far", cosine=min(one, other)),
        replace(rows[0], id="near", cosine=max(one, other)),
    ]

    ranked = {row.id: row for row in ranking.rank(analyze(query), [*twins, *rows], PROFILE, meaning=5)}

    assert ranked["near"].score >= ranked["far"].score


# --- one answer ------------------------------------------------------------------------------------


def hit(row_id: str, score: float, title: str, summary: str = "", **fields: str) -> Hit:
    """Return a hit of a row of `/p`."""
    row = Row(
        **{
            "kind": "observation",
            "id": row_id,
            "title": title,
            "summary": summary,
            "detail": "",
            "files": (),
            "project_dir": "/p",
            "session_id": "s1",
            "tool_name": "Edit",
            "created_at": "2026",
            **fields,
        }
    )
    return Hit(row, score, None, rank=(0, 0, score))


TEN = "one two three four five six seven eight nine ten"


def answer(*hits: Hit, limit: int = 9) -> dict[str, list[str]]:
    """Return the ids of the best hits with what is folded into each."""
    return {each.row.id: each.folded for each in best(hits, limit=limit)}


def test_what_says_the_same_is_folded_into_the_best() -> None:
    """From nine of ten words on, whatever their order and number; the best stays, the others are named."""
    hits = [
        hit("a", 1, TEN),
        hit("b", 3, "TEN nine", "eight seven six five four three two one one"),
        hit("c", 2, TEN + " eleven"),
        hit("d", 2.5, TEN + " eleven twelve"),
        hit("e", 0.5, "other"),
    ]

    assert answer(*hits) == {"b": ["c", "a"], "d": [], "e": []}


def test_the_same_words_elsewhere_are_another_thing() -> None:
    """Another project, or another kind of row, is not folded; nor are rows that say nothing."""
    hits = [
        hit("a", 5, TEN),
        hit("b", 4, TEN, project_dir="/q"),
        hit("c", 3, TEN, kind="session"),
        hit("d", 2, ""),
        hit("e", 1, "..."),
    ]

    assert answer(*hits) == {"a": [], "b": [], "c": [], "d": [], "e": []}


def test_folded_hits_do_not_count_for_the_limit() -> None:
    """Two different hits are found where four say the same; equals stay in order, later ones are left."""
    hits = [
        *(hit(each, 2, TEN) for each in "abcd"),
        hit("e", 1, "other"),
        hit("f", 0, "third"),
        hit("g", -1, TEN),
    ]

    assert answer(*hits, limit=2) == {"a": ["b", "c", "d"], "e": []}
    assert answer(*hits, limit=0) == answer() == {}


def test_the_first_number_of_the_rank_decides() -> None:
    """A row opened by its id comes before all, a named one before one with a higher score."""
    opened, named, high = hit("a", 0, "x"), hit("b", 1, "y"), hit("c", 9, "z")
    opened.rank, named.rank = (1, 0, 0), (0, 1, 1)

    assert list(answer(high, named, opened)) == ["a", "b", "c"]
