"""The local summary of a session."""

from dataclasses import dataclass

import pytest

from claude_mem_lite.distill.summary import summarize


@dataclass(frozen=True, slots=True)
class _Noted:
    title: str
    summary: str = ""
    files_touched: tuple[str, ...] = ()
    tool_name: str = "Bash"


def _ran(command: str, outcome: str = "", title: str = "Run it") -> _Noted:
    return _Noted(title, f"Ran `{command}`. {outcome}\nAsked: Do it")


PROMPTS = ["Move the basket to SQLite. JSON is slow.", "yes", "Let the command line use typer."]
MESSAGES = ["The basket is SQLite now.\n- one file", "cli.py is a typer app. All commands work."]
OBSERVATIONS = [
    _Noted("Edit Basket in shop/basket.py", files_touched=("shop/basket.py",), tool_name="Edit"),
    _Noted("Read shop/cli.py", files_touched=("shop/cli.py",), tool_name="Read"),
    _ran("pytest -q", "pytest: 2 failed, 1 passed. Failed with exit code 1: KeyError: 'x'."),
    _Noted("Edit Basket in shop/basket.py", files_touched=("shop/basket.py",), tool_name="Edit"),
    _Noted("Rewrite shop/cli.py", files_touched=("shop/cli.py",), tool_name="Write"),
    _ran(
        "pytest -q && git commit -qm 'Basket in SQLite'",
        "pytest: 3 passed.",
        "Commit 'Basket in SQLite' as 1a2b3c4",
    ),
    _ran("git commit -qm 'Typer'", "", "Commit “Typer” as 2b3c4d5"),
    _ran("git push origin main", "Failed with exit code 128: “fatal: no such remote”."),
]


def test_a_session_is_told_by_request_result_and_what_is_left() -> None:
    """What was asked and committed, how the tests stand, what is left open, the key files."""
    summary = summarize(prompts=PROMPTS, observations=OBSERVATIONS, last_messages=MESSAGES)

    assert summary == (
        "Asked: Move the basket to SQLite. Committed: “Basket in SQLite”; “Typer”. Tests: 3 passed. "
        "Ended with: cli.py is a typer app. Left open: git push: “fatal: no such remote”. "
        "Files: shop/basket.py; shop/cli.py. Commits: 2b3c4d5 “Typer”; 1a2b3c4 “Basket in SQLite”. "
        "Also asked: Let the command line use typer. Before that: The basket is SQLite now."
    )


def test_without_a_commit_the_last_message_says_how_it_ended() -> None:
    """The first line of the index never lacks an end."""
    summary = summarize(
        prompts=["Why is the import slow?"],
        observations=[_Noted("Read shop/importer.py", tool_name="Read")],
        last_messages=["It parses every line twice. I changed nothing."],
    )

    assert summary == "Asked: Why is the import slow? Ended: It parses every line twice."


def test_failing_tests_stand_in_the_first_line() -> None:
    """A session that ended red says so where the index shows it."""
    summary = summarize(prompts=["Fix the basket. " * 9], observations=OBSERVATIONS[:3], last_messages=[])

    assert summary.startswith("Asked: Fix the basket. Ended: Run it. Tests: 2 failed, 1 passed.")
    assert "Left open: pytest: “KeyError: 'x'”." in summary


@pytest.mark.parametrize(
    ("observations", "open_failures"),
    [
        ([_ran("git push", "Failed with exit code 1: fatal: x."), _ran("git push")], 0),
        ([_ran("git push", "Failed with exit code 1: fatal: x."), _ran("git fetch")], 1),
        ([_ran("grep -n x a", "Failed with exit code 1.")], 0),
        ([_ran("./deploy", "Failed with exit code 1.")], 1),
        ([_ran("./deploy", "Failed with exit code 1: error: x."), _ran("./deploy --now && ls")], 0),
    ],
)
def test_a_failure_is_open_until_the_same_command_succeeds(
    observations: list[_Noted], open_failures: int
) -> None:
    """A later success of the same program settles it; a search that found nothing was no failure."""
    summary = summarize(prompts=["Do it now please."], observations=observations, last_messages=[])

    assert summary.count("Left open") == open_failures


def test_a_long_session_keeps_to_its_length() -> None:
    """However much happened, 900 characters at most, the first 200 of them a whole account."""
    prompts = [
        f"Please change the number {number} of the many things that are wrong with it today"
        for number in range(30)
    ]
    commits = [
        _ran("git commit", "", f"Commit “A subject of some length {number}” as 1a2b3c{number}")
        for number in range(9)
    ]

    summary = summarize(
        prompts=prompts, observations=commits, last_messages=[f"Changed {prompt}." for prompt in prompts]
    )

    assert 600 < len(summary) <= 900
    assert "Committed: “A subject" in summary[:200]
    assert summary.index("Ended with") <= 201


def test_nothing_gives_nothing() -> None:
    """An empty session has no summary, nor has one that only consented."""
    assert summarize(prompts=[], observations=[], last_messages=[]) == ""
    assert summarize(prompts=["ok"], observations=[], last_messages=[""]) == ""
