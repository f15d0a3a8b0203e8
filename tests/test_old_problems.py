"""A problem that checks report in session after session is told as an old one, until a check passes."""

from pathlib import Path

import pytest
from test_findings import EDIT, call, happen, session

from claude_mem_lite.context import blocks, builder
from claude_mem_lite.distill.failing import error_of

MISSING = "app/_layout.tsx({},69): error TS2307: Cannot find module '../contexts/Panel'."
OLD = "Old problem, met in 2 sessions: `npx tsc --noEmit` reports “app/_layout.tsx: error TS2307: Cannot find"
CHECK = "npx tsc --noEmit 2>&1 | head -40"


def start() -> str:
    """Return the block of a new session."""
    return builder.build("/p", session_id="new").text


def test_a_problem_that_two_sessions_met_is_old(memory: Path) -> None:
    """The same message about the same file is told from the second session on, though its line has moved."""
    session("s1", call(CHECK, output=MISSING.format(13)), EDIT)
    after_one = start()
    session("s2", call(CHECK, output=MISSING.format(14)), EDIT)

    assert "TS2307" not in after_one
    assert OLD in start()


@pytest.mark.parametrize(
    "second",
    [
        "app/main.tsx(3,1): error TS2307: Cannot find module '../contexts/Panel'.",
        "app/_layout.tsx(13,69): error TS2307: Cannot find module '../contexts/Board'.",
    ],
)
def test_another_file_or_message_is_another_problem(memory: Path, second: str) -> None:
    """Two sessions with the same rule of a compiler have no old problem in common."""
    session("s1", call(CHECK, output=MISSING.format(13)))
    session("s2", call(CHECK, output=second))

    assert "Old problem" not in start()


def test_a_problem_without_a_rules_name_may_be_old(memory: Path) -> None:
    """A compiler's message needs no code."""
    for name in ("s1", "s2"):
        session(name, call("go vet ./...", error=r"cache\map.go:204:13: possible misuse of unsafe.Pointer"))

    assert r"`go vet ./...` reports “cache\map.go: possible misuse of unsafe.Pointer”" in start()


def test_a_check_that_has_passed_has_no_old_problem(memory: Path) -> None:
    """Once the same command has worked, the problem is gone; met once more, it is not old again."""
    for name in ("s1", "s2"):
        session(name, call("npx tsc --noEmit", error=MISSING.format(13)))
    session("s3", call("npx tsc --noEmit", output=""))
    after = start()
    session("s4", call("npx tsc --noEmit", error=MISSING.format(20)))

    assert "Old problem" not in after
    assert "Old problem" not in start()


def test_one_old_problem_is_told_of_a_command(memory: Path) -> None:
    """Of several problems that a command reports in turn the one that most sessions met is told."""
    other = "app/a.tsx(1,2): error TS2345: Argument of type 'Space' is not assignable."
    for name in ("s1", "s2", "s3"):
        session(name, call("npx tsc --noEmit", error=MISSING.format(1)))
    for name in ("s4", "s5"):
        session(name, call("npx tsc --noEmit", error=other))

    assert start().count("Old problem") == 1
    assert "Old problem, met in 3 sessions" in start()


def test_what_another_session_met_without_a_cure_is_told_at_the_next_failure(memory: Path) -> None:
    """A call that fails as one did before is told so, even if nothing that worked is known."""
    failed = call(
        "dock compose config -q", error="The command 'dock' could not be found in this WSL 2 distro."
    )
    session("s1", failed, EDIT)
    error = error_of(failed)
    assert error is not None

    told = blocks.for_failure("/p", error.signatures, "dock compose config -q", session_id="s2").text

    assert "`dock compose config -q` failed in 1 session: “The command 'dock' could not be found" in told


def test_a_check_that_meets_an_old_problem_is_told_so(memory: Path) -> None:
    """The block for a failed call says that the problem is older; a new problem gets no block."""
    for name in ("s1", "s2"):
        session(name, call("npx tsc --noEmit", error=MISSING.format(13)))
    failed = call("npx tsc --noEmit", error=MISSING.format(15))
    new = call("npx tsc --noEmit", error="app/_layout.tsx(1,1): error TS2307: Cannot find module './x'.")
    happen(failed, session="s3")

    told, untold = (
        blocks.for_failure("/p", error.signatures, "npx tsc --noEmit", session_id="s3").text
        for error in map(error_of, (failed, new))
        if error
    )

    assert OLD in told
    assert untold == ""
