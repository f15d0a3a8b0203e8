"""Each part of a row's score, checked on small examples with the arithmetic shown."""

from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases

from claude_mem_lite.search import ranking
from claude_mem_lite.search.candidates import Candidate, Profile, Query
from claude_mem_lite.search.ranking import analyze

CASES = cases.load("ranking")

EXAMPLES = 100
# Weight of a word that two of ten rows have: log(1 + (10 - 2 + 0.5) / (2 + 0.5)).
TWO_OF_TEN = log(4.4)
PROFILE = Profile(row_count=10, sampled=10, counts={"ledger": 2, "float": 2, "cent": 2, "round": 2})


def scored(
    query: str, *candidates: Candidate, profile: Profile = PROFILE, meaning: float = 0.0
) -> list[dict]:
    """Return the parts of each candidate's score, in the candidates' order."""
    ranked = {row.id: row for row in ranking.rank(analyze(query), candidates, profile, meaning=meaning)}
    return [
        {name: getattr(ranked[each.id], name) for name in ranked[each.id].__slots__} for each in candidates
    ]


def order(query: str, *candidates: Candidate, profile: Profile = PROFILE, meaning: float = 0.0) -> str:
    """Return the ids as one string, best first."""
    return "".join(row.id for row in ranking.rank(analyze(query), candidates, profile, meaning=meaning))


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
    """Field weights add up to a count c, which saturates as c * 2.2 / (c + 1.2)."""
    [row] = scored("ledger", Candidate("a", **fields))

    assert row["words"] == pytest.approx(TWO_OF_TEN * count * 2.2 / (count + 1.2) * 1.2)
    assert (row["order"], row["exact"], row["meaning"], row["coverage"]) == (0, 0, 0, 1)
    assert row["score"] == row["words"]


def test_long_rows_count_less() -> None:
    """Lengths 1 and 3 have the mean 2: the count saturates against 0.75 and 1.65."""
    short, long = scored("ledger", Candidate("a", "", "ledger"), Candidate("b", "", "ledger it is"))

    assert short["words"] == pytest.approx(TWO_OF_TEN * 2.2 / 1.75 * 1.2)
    assert long["words"] == pytest.approx(TWO_OF_TEN * 2.2 / 2.65 * 1.2)


def test_a_row_with_all_words_gains() -> None:
    """A row with all of the evidence gains a fifth, one with half of it a tenth."""
    rows = Candidate("a", "", "round ledger"), Candidate("b", "", "ledger now")
    both, one = scored("ledger rounding", *rows)

    assert both["words"] == pytest.approx(2 * TWO_OF_TEN * 1.2)
    assert one["words"] == pytest.approx(TWO_OF_TEN * 1.1)
    assert (both["coverage"], one["coverage"]) == (1, 0.5)


def test_rare_words_count_more() -> None:
    """A word in 1 of 100 rows weighs log(1 + 99.5 / 1.5), one in 50 of 100 only log(2)."""
    profile = Profile(row_count=100, sampled=100, counts={"ledger": 1, "cent": 50})

    rows = Candidate("a", "", "ledger"), Candidate("b", "", "cents")
    rare, common = scored("ledger cents", *rows, profile=profile)

    assert rare["coverage"] == pytest.approx(log(1 + 99.5 / 1.5) / (log(1 + 99.5 / 1.5) + log(2)))
    assert rare["words"] / common["words"] > 6
    assert rare["words"] == pytest.approx(log(1 + 99.5 / 1.5) * (1 + 0.2 * rare["coverage"]))


def test_without_a_sample_the_candidates_tell_how_rare_a_word_is() -> None:
    """Without a sample, rarity comes from the candidates: one of four rows gives log(1 + 3.5 / 1.5)."""
    row, _ = scored("ledger", Candidate("a", "", "ledger"), Candidate("b", "", "other"), profile=Profile(4))

    assert row["words"] == pytest.approx(log(1 + 3.5 / 1.5) * 1.2)


def test_more_candidates_than_rows_known_are_no_harm() -> None:
    """A profile older than the project's growth gives small weights, never negative ones."""
    rows = [Candidate(str(number), "", "ledger") for number in range(5)]

    parts = scored("ledger", *rows, profile=Profile(row_count=2, sampled=2, counts={"ledger": 2}))

    assert [each["words"] for each in parts] == pytest.approx([log(1 + 0.5 / 5.5) * 1.2] * 5)


def test_only_the_beginning_of_a_detail_counts() -> None:
    """Words after the first 2,000 characters of a detail are ignored."""
    rows = Candidate("a", "t", detail="ledger"), Candidate("b", "t", detail=" " * 2000 + "ledger")
    early, late = scored("ledger", *rows)

    assert (early["coverage"], late["coverage"]) == (1, 0)


@pytest.mark.parametrize(("fields", "pairs"), CASES["together"])
def test_words_that_stand_together_count_more(fields: dict[str, Any], pairs: int) -> None:
    """A pair in query order, within three words of one field, adds 0.4 of its commoner word's weight."""
    files = tuple(fields.get("files", ()))

    [row] = scored("ledger rounding", Candidate("a", "", **fields | {"files": files}))

    assert row["order"] == pytest.approx(0.4 * TWO_OF_TEN * pairs)


def test_a_pair_says_what_its_commoner_word_says() -> None:
    """A pair weighs what its commoner word does: in five of ten rows, log(1 + 5.5 / 5.5)."""
    profile = replace(PROFILE, counts={"ledger": 2, "round": 5})

    [row] = scored("ledger rounding", Candidate("a", "ledger rounding"), profile=profile)

    assert row["order"] == pytest.approx(0.4 * log(2))


@pytest.mark.parametrize(("name", "text", "is_there"), CASES["written"])
def test_a_name_is_found_as_it_was_written(name: str, text: str, is_there: bool) -> None:  # noqa: FBT001
    """A name matches in any case and across line breaks, but not inside a longer name."""
    rows = [Candidate("a", text), Candidate("b", "", detail=text), Candidate("c", "", files=(text,))]

    found = scored(name, *rows)

    query = analyze(name)
    assert [row["exact_found"] for row in found] == [query.exact if is_there else ()] * 3
    assert [row["exact"] for row in found] == [1.0 * is_there] * 3
    assert [row["named_first"] for row in found] == [1 * is_there] * 3


def test_what_is_asked_for_by_name_alone_comes_first() -> None:
    """For a query of names alone, rows with more full names come first, those with parts last."""
    rows = (
        Candidate("a", "get user by id, get user by id", "get user by id", cosine=1.0),
        Candidate("b", "Rename", "x " * 50 + "get_user_by_id", cosine=-1.0),
        Candidate("c", "Rename", "x " * 50 + "get_user_by_id in src/db.py", cosine=-1.0),
    )

    assert order("get_user_by_id src/db.py", *rows, meaning=9.0) == "cba"
    assert order("why get_user_by_id src/db.py", *rows, meaning=9.0) == "cba"
    assert order("rewrote get_user_by_id src/db.py", *rows, meaning=9.0)[0] == "a"


def vectors(*rows: tuple[float, float]) -> np.ndarray:
    """Return the given rows as an (n, 2) float32 array."""
    return np.array(rows, dtype=np.float32).reshape(-1, 2)


HERE, NOWHERE = np.array([1, 0], dtype=np.float32), np.zeros(2, dtype=np.float32)


def test_cosines_are_of_what_is_not_common_to_all() -> None:
    """Query and rows are centred first, so the query (2, 1) seen from (1, 1) points along (1, 0)."""
    centre = np.array([1, 1], dtype=np.float32)

    from_centre = ranking.cosines(np.array([2, 1], dtype=np.float32), vectors((3, 1), (1, 5)), centre)
    same_place = ranking.cosines(centre, vectors((3, 1), (1, 5)), centre)

    assert from_centre == pytest.approx([1, 0])
    assert same_place == pytest.approx([0, 0])


def test_a_row_that_is_like_its_fellows_loses() -> None:
    """A cosine loses a tenth of the row's mean cosine to its ten nearest other rows."""
    apart = ranking.cosines(HERE, vectors((1, 0), (0, 1)), NOWHERE)
    twins = ranking.cosines(HERE, vectors((1, 0), (2, 0)), NOWHERE)
    three = ranking.cosines(HERE, vectors((1, 0), (1, 0), (0, 1)), NOWHERE)
    crowd = ranking.cosines(HERE, vectors(*[(1, 0)] * 11, *[(-1, 0)] * 20), NOWHERE)

    assert apart == pytest.approx([1, 0])
    assert twins == pytest.approx([0.9, 0.9])
    assert three == pytest.approx([1 - 0.1 * 0.5, 1 - 0.1 * 0.5, 0])
    assert crowd[:11] == pytest.approx([0.9] * 11)  # the 20 opposite rows are not among the nearest ten
    assert crowd[11:] == pytest.approx([-1.1] * 20)


def test_one_row_or_none_has_no_fellows() -> None:
    """A single row keeps its cosine, a row at the centre gets 0, and no rows give none."""
    one = ranking.cosines(HERE, vectors((1, 1)), NOWHERE)
    central = ranking.cosines(HERE, vectors((0, 0)), NOWHERE)

    assert one == pytest.approx([sqrt(0.5)])
    assert central == pytest.approx([0])
    assert ranking.cosines(HERE, vectors(), NOWHERE).shape == (0,)


def test_meaning_is_a_number_of_points_per_cosine() -> None:
    """The cosine times `meaning` is added to the score; the words' part stays the same."""
    rows = Candidate("a", "ledger", cosine=0.5), Candidate("b", "ledger", cosine=-0.25)
    near, far = scored("ledger", *rows, meaning=8)

    assert (near["meaning"], far["meaning"]) == (4, -2)
    assert near["words"] == far["words"]
    assert near["score"] == near["words"] + 4


def test_a_row_without_a_vector_is_taken_for_a_usual_one() -> None:
    """A row without a vector gets the median of rows that match words, else of all rows, else 0."""
    with_words = [Candidate(str(at), "ledger", cosine=cosine) for at, cosine in enumerate((0.1, 0.2, 0.6))]
    without = [Candidate(f"w{at}", "x", cosine=cosine) for at, cosine in enumerate((0.9, 1.0))]
    new = Candidate("new", "ledger")

    assert scored("ledger", *with_words, *without, new, meaning=10)[-1]["meaning"] == pytest.approx(2)
    assert scored("ledger", *without, new, meaning=10)[-1]["meaning"] == pytest.approx(9.5)
    assert scored("ledger", new, meaning=10)[-1]["meaning"] == 0
    assert scored("ledger", new, meaning=10)[-1]["cosine"] is None


def test_equals_stay_in_the_order_given() -> None:
    """Rows of equal score keep the caller's order."""
    rows = [Candidate(each, "Move the ledger") for each in "cabd"]

    assert order("ledger", *rows) == "cabd"
    assert order("ledger", *rows, Candidate("z", "ledger ledger")) == "zcabd"


def test_no_candidates_are_no_rows() -> None:
    """No candidates, no terms, or a row without text are handled without an error."""
    empty = Query((), (), (), exact_only=False)

    assert ranking.rank(analyze("ledger"), [], PROFILE, meaning=1) == []
    assert [row.score for row in ranking.rank(empty, [Candidate("a", "")], Profile(0), meaning=1)] == [0]
    assert [row.score for row in ranking.rank(analyze("x"), [Candidate("a", "")], Profile(0), meaning=1)] == [
        0
    ]


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
    """Ranking returns each row once, best first, and input order changes no score."""
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
    """Repeating the query word in a row's title never lowers the row's score."""
    at = data.draw(st.integers(0, len(rows) - 1))
    more = [replace(row, title=f"{row.title} {word}") if row is rows[at] else row for row in rows]

    assert scored(word, *more)[at]["words"] > scored(word, *rows)[at]["words"] - 1e-9
