"""Two learnings are compared by their words and their cosine: same, near, rivals or replacing."""

import pytest
from support import cases

from claude_mem_lite.distill.sameness import relation, terms

CASES = cases.load("sameness")
PAIRS = cases.load("learnings/relations").values()
TOLD_APART = {"same": {"same"}, "contradicts": {"rivals", "replaces"}, "other": {"other"}}


@pytest.mark.parametrize(("kind", "share"), [("same", 0.8), ("contradicts", 0.8), ("other", 0.85)])
def test_most_pairs_are_told_apart_by_words(kind: str, share: float) -> None:
    """Words alone tell at least 80 % of restatements and contradictions, 85 % of unrelated pairs."""
    pairs = [pair for half in PAIRS for pair in half[kind]]

    wrong = [(old, new) for old, new in pairs if relation(old, new) not in TOLD_APART[kind]]

    assert len(wrong) <= (1 - share) * len(pairs), wrong


def test_nothing_is_replaced_by_what_can_stand_beside_it() -> None:
    """No restatement or unrelated learning replaces another."""
    beside = [pair for half in PAIRS for pair in (*half["same"], *half["other"])]

    assert [(old, new) for old, new in beside if relation(old, new) == "replaces"] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Class names are PascalCase", "function names are snake_case"),
        ("Unit tests live next to the code", "Integration tests live in tests/integration"),
        ("Write tests first", "Write docs last"),
        ("The worker listens on port 9090", "The web process listens on port 8000"),
    ],
)
def test_rules_on_two_things_stand_together(old: str, new: str) -> None:
    """Rules with the same wording on different subjects are unrelated."""
    assert relation(old, new) == relation(new, old) == "other"


@pytest.mark.parametrize(("old", "new", "expected"), CASES["replaces"])
def test_only_who_says_so_replaces(old: str, new: str, expected: str) -> None:
    """Contradicting learnings are rivals; one replaces the other only if it says so."""
    assert relation(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lines stop at column 88", "a line may have 120 characters"),
        ("wrap long lines, tests too", "do not wrap anything in tests"),
        ("test first, then the code", "the code comes first, tests after it"),
        ("styles live in SCSS", "we dropped Sass for plain CSS"),
    ],
)
def test_who_is_on_one_matter_may_tell_it_otherwise(old: str, new: str) -> None:
    """Other numbers, orders or scopes on one subject are not restatements."""
    assert relation(old, new, 0.55) in {"near", "rivals"}
    assert relation(old, old.replace("S", "s") + " as well", 0.55) in {"same", "again"}


@pytest.mark.parametrize(("old", "new", "cosine", "expected"), CASES["by_cosine"])
def test_a_cosine_joins_other_words_but_not_a_denial(
    old: str, new: str, cosine: float, expected: str
) -> None:
    """A high cosine makes a restatement, except for a prohibition or another name."""
    assert relation(old, new, cosine) == expected


def test_terms_are_words_that_tell_of_a_matter_and_pairs_of_characters() -> None:
    """A common word is a term only in backticks; Chinese text is split into character pairs."""
    assert (terms("never use any"), terms("never use `any`")) == ([], ["any"])
    assert terms("测试数据库") == ["测试", "试数", "数据", "据库"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit", ["a", "no a ", "(", "`", "\n", "a-", "not ", "é", "instead of ", "不", ", x "]
)
def test_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    """100 kB of hostile text are compared within the time limit."""
    text = unit * (100_000 // len(unit))

    assert relation(text, text) == "same"
    assert relation(text, f"x{text}") in {"same", "rivals", "replaces", "near", "again", "other"}
