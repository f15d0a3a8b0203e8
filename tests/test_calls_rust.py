"""Calls in Rust: small crates with their truth checked by the compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import call_cases

from claude_mem_lite.codemap.project import Project

FOLDER = Path(__file__).parent / "data" / "calls" / "rust"
CASES = call_cases.cases(str(FOLDER), first="src/lib.rs")


def _found(case: call_cases.Case, folder: Path) -> set[tuple[str, str]]:
    """Return the edges of a case that is written to a folder, as its file writes them, guesses left out."""
    for path, source in case.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(source, encoding="utf-8")
    project = Project(str(folder))
    project.scan()

    def written(name: str) -> str:
        path = max((each for each in project.files if f"{name}.".startswith(f"{each}.")), key=len)
        rest = name[len(path) + 1 :] or "<module>"
        return rest if path == "src/lib.rs" else f"{path}:{rest}"

    return {(written(edge.caller), written(edge.callee)) for edge in project.edges(guesses=False)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.category}: {case.name}")
def test_edges_are_those_of_the_compiler(case: call_cases.Case, tmp_path: Path) -> None:
    """The map finds the calls that a case makes, and no others."""
    assert _found(case, tmp_path) == case.calls


def test_globs_of_other_crates_are_read_in_bounded_time(tmp_path: Path) -> None:
    """Modules that import all of many crates, or of each other, are resolved."""
    globs = "".join(f"use a{at}::*;\n" for at in range(60))
    circle = "".join(
        f"mod m{at} {{ use super::m{(at * 7 + 1) % 60}::*; use super::*; }}\n" for at in range(60)
    )
    source = f"{globs}{circle}fn f() {{ g(); unknown(); m1::lost(); }}\nfn g() {{}}\n"
    case = call_cases.Case("globs", "circle", {"src/lib.rs": source}, frozenset())

    assert _found(case, tmp_path) == {("f", "g")}
