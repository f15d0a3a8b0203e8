"""Test resolved calls of small programs against files of tests/data, checked by hand or compiler.

Python programs are in `codemap/<category>.txt`, others in `calls/<language>`.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import call_cases

CASES = call_cases.cases()
DATA = Path(__file__).parent / "data" / "calls"
# The first file of a case in each language, and the file whose functions are named without a path.
FIRST = {"go": ("main.go", ""), "java": ("Main.java", ""), "rust": ("src/lib.rs", "src/lib.rs")}
FIRST["typescript"] = ("main.ts", "main.ts")
WRONG_CASES = {
    "method values and expressions": "the map follows f := t.Tick to the call f(), the case does not"
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.category}: {case.name}")
def test_edges_are_those_written_by_hand(case: call_cases.Case) -> None:
    """The map finds exactly the calls of a Python case."""
    assert {(edge.caller, edge.callee) for edge in call_cases.edges(case)} == case.calls


def of(language: str) -> Iterator[Any]:
    """Yield the cases of a language, each with the file whose functions are named without a path."""
    first, alone = FIRST[language]
    for case in call_cases.cases(str(DATA / language), first=first):
        wrong = WRONG_CASES.get(case.name)
        marks = [pytest.mark.xfail(reason=wrong, strict=True)] if wrong else []
        yield pytest.param(case, alone, id=f"{language}: {case.category}: {case.name}", marks=marks)


@pytest.mark.parametrize(("case", "alone"), [each for language in FIRST for each in of(language)])
def test_edges_beyond_python_are_those_of_the_case(case: call_cases.Case, alone: str) -> None:
    """In each language the map finds exactly the calls of a case."""
    assert call_cases.named_calls(case, first=alone) == case.calls


def test_globs_of_other_crates_are_read_in_bounded_time() -> None:
    """Glob imports of many crates, or of modules in a circle, are resolved in bounded time."""
    globs = "".join(f"use a{at}::*;\n" for at in range(60))
    line = "mod m{} {{ use super::m{}::*; use super::*; }}\n"
    circle = "".join(line.format(at, (at * 7 + 1) % 60) for at in range(60))
    source = f"{globs}{circle}fn f() {{ g(); unknown(); m1::lost(); }}\nfn g() {{}}\n"
    case = call_cases.Case("globs", "circle", {"src/lib.rs": source}, frozenset())

    assert call_cases.named_calls(case, first="src/lib.rs") == {("f", "g")}


def test_cases_are_many_and_varied() -> None:
    """There are at least 150 cases, in at least 16 categories of ten or more."""
    by_category = defaultdict(list)
    for case in CASES:
        by_category[case.category].append(case)

    assert len(CASES) >= 150
    assert len(by_category) >= 16
    assert min(map(len, by_category.values())) >= 10
