"""Calls: 207 small programs with their truth written by hand, in `tests/data/codemap/<category>.txt`."""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import call_cases

CASES = call_cases.cases()
FLOOR = 0.9  # of recall and of precision, in each category


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.category}: {case.name}")
def test_edges_are_those_written_by_hand(case: call_cases.Case) -> None:
    """The map finds the calls that a case makes, and no others."""
    assert {(edge.caller, edge.callee) for edge in call_cases.edges(case)} == case.calls


def test_cases_are_many_and_varied() -> None:
    """There are at least 150 cases, in at least 16 categories of ten or more."""
    by_category = defaultdict(list)
    for case in CASES:
        by_category[case.category].append(case)

    assert len(CASES) >= 150
    assert len(by_category) >= 16
    assert min(map(len, by_category.values())) >= 10


@pytest.mark.parametrize("category", sorted({case.category for case in CASES}))
def test_each_category_holds_its_floor(category: str) -> None:
    """Recall and precision over a category's edges stay above the floor."""
    found, true = set(), set()
    for number, case in enumerate(each for each in CASES if each.category == category):
        true |= {(number, *pair) for pair in case.calls}
        found |= {(number, edge.caller, edge.callee) for edge in call_cases.edges(case)}

    assert len(found & true) >= FLOOR * len(true)
    assert len(found & true) >= FLOOR * len(found)
