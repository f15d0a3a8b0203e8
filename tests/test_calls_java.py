"""Calls in Java: small programs with their truth written by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import call_cases

FOLDER = Path(__file__).parent / "data" / "calls" / "java"
EXPECTED_FAILURES: dict[str, str] = {}
CASES = call_cases.marked(call_cases.cases(str(FOLDER), first="Main.java"), EXPECTED_FAILURES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.category}: {case.name}")
def test_edges_are_those_written_by_hand(case: call_cases.Case) -> None:
    """The map finds the calls that a case makes, and no others."""
    assert call_cases.named_calls(case, first="") == case.calls
