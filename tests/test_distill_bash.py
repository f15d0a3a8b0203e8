"""Test the wording of commands and edits."""

from difflib import SequenceMatcher
from typing import Any

import pytest
from support import cases, events

from claude_mem_lite.codemap.languages import Change
from claude_mem_lite.distill.observation import Capture, Observation, Skip
from claude_mem_lite.distill.rules import failures, observe
from claude_mem_lite.distill.rules.runners import test_run
from claude_mem_lite.distill.rules.shell import changed_files, is_lookup, on_one_line, steps

CASES = cases.load("distill/bash")
RUNNERS = cases.load("distill/runners")["case"]
COMMANDS = cases.load("distill/commands")
PYTEST_OUTPUT = RUNNERS[0]["output"]
COMMIT_COMMAND = CASES["commit_command"]


def _bash(command: str, stdout: str = "", description: str = "") -> Capture:
    return cases.of_event(events.ran(command, stdout, description=description), "/p")


def _failed(command: str, error: str, description: str = "") -> Capture:
    given = {"command": command, "description": description}
    return cases.of_event(events.failed("Bash", given, error), "/p")


def _title(capture: Capture) -> str:
    observation = observe(capture)
    return observation.title


def test_a_failed_test_run_tells_what_failed_and_why() -> None:
    """A failed test run gives verdict, failing tests and the decisive lines, without dots or frames."""
    command, error = "python3 -m pytest -q tests/test_basket.py", f"Exit code 1\n{PYTEST_OUTPUT}"
    capture = _failed(command, error, "Run the tests")

    assert observe(capture, prompt="Make an empty basket cost nothing.") == Observation(
        title="test_total[empty] failed: “assert 7 == 0”",
        summary="Run the tests: `python3 -m pytest -q tests/test_basket.py`. pytest: 1 failed, 2 passed; "
        "failing: tests/test_basket.py::test_total[empty]. Failed with exit code 1.",
        detail="test_total[empty]:\nassert 7 == 0\n+  where 7 = total([])\n"
        "tests/test_basket.py:14: AssertionError",
        files_touched=(),
        functions_changed=(),
    )


@pytest.mark.parametrize("case", RUNNERS, ids=lambda case: case["runner"])
def test_every_runner_has_its_verdict(case: dict[str, Any]) -> None:
    """Each test runner's output gives its counts, failing tests and first reason."""
    run = test_run(case["output"])

    assert (run.runner, run.verdict) == (case["runner"], case["verdict"])
    assert (list(run.failing), run.reason) == (case["failing"], case["reason"])
    assert run.has_failed == ("failed" in run.verdict or "error" in run.verdict)


@pytest.mark.parametrize(("command", "output", "title"), COMMANDS["short"])
def test_title_says_what_was_run_and_what_came_of_it(command: str, output: str, title: str) -> None:
    """A command without a description gets a title from the command and its output."""
    assert _title(_bash(command, output)) == title


@pytest.mark.parametrize("case", [*COMMANDS["ran"], *COMMANDS["outcome"]], ids=lambda case: case["title"])
def test_title_says_what_was_run_and_how_it_ended(case: dict[str, str]) -> None:
    """A title ends with the outcome: a test verdict, a decisive line, git's result or the output."""
    title, how = case["title"], _failed if "error" in case else _bash

    printed = case.get("error", case.get("output", ""))
    observation = observe(how(case["command"], printed, case.get("description", "")))

    assert observation.title == title
    if case in COMMANDS["outcome"] and ": " in title:
        assert title.partition(": ")[2] not in observation.summary


def test_a_commit_message_says_why_without_its_trailers() -> None:
    """A commit's body is kept, its trailers are not."""
    printed = "[main 1a2b3c4] Add basket\n 2 files changed, 3 insertions(+)"
    observation = observe(_bash(COMMIT_COMMAND, printed))

    says = "Committed “Add basket” as 1a2b3c4 (2 files changed, 3 insertions(+)). “It was missing.”"
    assert observation.summary.endswith(says)
    assert observation.detail is None


def test_a_failed_commit_is_no_commit() -> None:
    """A failed command that contains `git commit` is not taken for a commit."""
    command = "pytest -q && git commit -m 'Add basket'"
    capture = _failed(command, "Exit code 1\nboom: failed", "Test and commit")

    observation = observe(capture)

    assert observation.title == "Test and commit: “boom: failed”"
    assert "Committed" not in observation.summary


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cd /p && ls -la", "total 3\n-rw-r--r-- 1 a a 3 Nov 21 03:00 a.py"),
        ("grep -rn nothing .", ""),
        ("git add -A", ""),
        ("mkdir -p a/b", ""),
        ("", "output of nothing"),
    ],
)
def test_a_command_that_tells_nothing_is_skipped(command: str, output: str) -> None:
    """Listings, empty searches and staging become no observation."""
    assert isinstance(observe(_bash(command, output)), Skip)


def test_an_error_sent_twice_is_told_once() -> None:
    """An error that is sent twice is kept once: Claude Code 2.1.50 repeats a failed command's output."""
    observation = observe(_failed("./deploy", "Exit code 3\nno route to host\n\nno route to host"))

    assert observation.detail == "no route to host"


def test_a_look_that_fails_is_no_error() -> None:
    """A search that exits 1 without a hit is skipped, and other output of it is not its error."""
    assert observe(_failed("grep -rn nothing .", "Exit code 1")) == Skip("a look that found nothing")
    says = "Is it tracked? exit code 1"
    assert _title(_failed("git status -s && grep x a", "Exit code 1\n?? deploy/", "Is it tracked?")) == says


def test_an_interrupted_command_is_skipped() -> None:
    """A command that the user interrupted is skipped."""
    capture = _failed("sleep 99", "")
    capture.payload["is_interrupt"] = True

    assert observe(capture) == Skip("interrupted by the user")


def test_a_script_leaves_its_telling_lines() -> None:
    """An inline script is left out of the command, and its telling lines and written files are kept."""
    script = "import re\nfrom pathlib import Path\np = Path('a.txt')\n# cents, not euros\np.write_text('x')"
    command = f"python3 - <<'EOF'\n{script}\nEOF"
    assert observe(_bash(command, "done", "Turn prices into cents")) == Observation(
        title="Turn prices into cents: “done”",
        summary="Ran `python3 - <<EOF`. Changed a.txt.",
        detail="p = Path('a.txt')\n# cents, not euros\np.write_text('x')",
        files_touched=("a.txt",),
        functions_changed=(),
    )


def test_what_the_client_says_about_the_run_is_told() -> None:
    """Cut output, a background task and a time-out are each mentioned."""
    capture = _bash("./serve", "up", "Start the server")
    more = {"persistedOutputSize": 120_000, "backgroundTaskId": "b1", "timedOutAfterMs": 120_000}
    capture.payload["tool_response"].update(more)

    observation = observe(capture)

    assert observation.summary == (
        "Ran `./serve`. It printed 120,000 characters. It goes on in the background. Timed out after 120 s."
    )


@pytest.mark.parametrize(("command", "words"), CASES["steps"])
def test_steps_are_the_simple_commands(command: str, words: list[list[str]]) -> None:
    """Lists, pipelines, quotes, wrappers and loops are split into simple commands without expansion."""
    assert [list(step.words) for step in steps(command)] == words


@pytest.mark.parametrize(("command", "looks"), CASES["lookups"])
def test_is_lookup_in_doubt_is_false(command: str, looks: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only commands known to change nothing count as lookups."""
    assert all(is_lookup(step) for step in steps(command)) is looks


@pytest.mark.parametrize(("command", "files"), CASES["changed"])
def test_changed_files_are_certain(command: str, files: list[str]) -> None:
    """Files that redirects, moves, removals and scripts change are found, except names made at run time."""
    assert list(changed_files(command, "/p")) == files


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("a\nb &&\nc\n", "a; b && c"),
        ("python3 - <<'EOF'\nprint(1)\nEOF\nls", "python3 - <<EOF; ls"),
        ('git commit -m "one\ntwo"', 'git commit -m "one two"'),
    ],
)
def test_on_one_line_shows_the_command_without_scripts(command: str, line: str) -> None:
    """A multi-line command becomes one line that the shell would still understand, without inline scripts."""
    assert on_one_line(command) == line


@pytest.mark.parametrize("case", cases.load("distill/errors")["case"], ids=lambda case: case["line"])
def test_one_finder_knows_the_errors_of_all_tools(case: dict[str, str]) -> None:
    """One function finds the first error in every tool's output, wherever its position is printed."""
    assert failures.first_problem(case["output"]) == case["line"]


@pytest.mark.parametrize("case", cases.load("distill/errors")["decisive"], ids=lambda case: case["line"])
def test_the_decisive_line_is_neither_warning_nor_status(case: dict[str, str]) -> None:
    """An error without a place is found among warnings, advice, echoes and frames."""
    assert failures.decisive_line(case["output"]) == case["line"]


def test_a_removed_file_is_said_to_be_removed() -> None:
    """Files that `rm` deleted are listed as removed, others written to as changed."""
    command = "rm -f old.py && git rm -q lib/gone.py && touch new.py"
    observation = observe(_bash(command, description="Clean up"))

    assert observation.summary.endswith("Changed new.py. Removed old.py and lib/gone.py.")


@pytest.mark.parametrize(
    "place", ["src/a.py:3: error: x y", "src/a.ts(3,1): error TS1: x y", "a.kt:[3,1] x y"]
)
def test_an_error_after_a_long_row_of_dots_is_found_with_its_place(place: str) -> None:
    """Lines without a position are skipped, and positions of every compiler's form are found."""
    output = f"{'.' * 4_000}\n{place}\n"

    assert (failures.first_problem(output), failures.count_problems(output)) == (place, 1)


KNOWN = cases.load("distill/edits")
MODULE: str = KNOWN["module"]


def _edit(path: str, old: str, new: str, *, original: str | None = MODULE, **more: Any) -> Capture:
    arguments = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False, **more}
    response = {"filePath": path, "originalFile": original, "structuredPatch": []}
    return cases.of_event(events.tool("Edit", arguments, response))


def _write(path: str, content: str, *, original: str | None = None, **response: Any) -> Capture:
    kind = "create" if original is None else "update"
    answer = {"type": kind, "filePath": path, "structuredPatch": [], "originalFile": original, **response}
    arguments = {"file_path": path, "content": content}
    return cases.of_event(events.tool("Write", arguments, answer))


def _patched(path: str, before: str, after: str) -> Capture:
    """Return an edit with the client's patch from one text to another."""
    old, new = before.splitlines(), after.splitlines()
    patch = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines = []
        for kind, start, end, at, to in group:
            lines += [f" {line}" for line in old[start:end]] if kind == "equal" else []
            lines += [f"-{line}" for line in old[start:end]] if kind in {"replace", "delete"} else []
            lines += [f"+{line}" for line in new[at:to]] if kind in {"replace", "insert"} else []
        patch.append({"oldStart": group[0][1] + 1, "newStart": group[0][3] + 1, "lines": lines})
    capture = _edit(path, before, after, original=before)
    capture.payload["tool_response"]["structuredPatch"] = patch
    return capture


def _capture(case: dict[str, Any]) -> Capture:
    if "diff" in case:
        lines = case["diff"].splitlines(keepends=True)
        versions = ["".join(line[1:] or line for line in lines if line[0] in f"{sign} \n") for sign in "-+"]
        return _patched(case["path"], *versions)
    before = case["before"].replace("{module}", MODULE) if "before" in case else None
    if "content" in case:
        return _write(case["path"], case["content"].replace("{module}", MODULE), original=before)
    original = None if "is_unknown" in case else before or MODULE
    return _edit(case["path"], case["old"], case["new"], original=original)


@pytest.mark.parametrize("case", KNOWN["case"], ids=lambda case: case["promise"])
def test_an_edit_is_told_by_what_changed(case: dict[str, Any]) -> None:
    """An edit is described by function, file, size and the changed line, in any language."""
    observation = observe(_capture(case), prompt=case.get("prompt"))

    told = {name: getattr(observation, name) for name in ("title", "summary", "detail")}
    told["files"] = list(observation.files_touched)
    changed = observation.functions_changed
    told["functions"] = [[each.qualified_name, each.kind, each.change_type] for each in changed]
    expected = {name: case[name] for name in told if name in case}
    assert {name: told[name] for name in expected} == expected


def test_a_patch_counts_before_the_strings() -> None:
    """The client's patch is used instead of the edit's strings, as the user may change the proposal."""
    capture = _edit("/shop/prices.py", "LIMIT = 10", "LIMIT = 20")
    hunk = {"oldStart": 4, "oldLines": 1, "newStart": 4, "newLines": 3}
    lines = ["-LIMIT = 10", "+def limit():", "+    return 30", "+"]
    capture.payload["tool_response"]["structuredPatch"] = [{**hunk, "lines": lines}]

    observation = observe(capture)

    assert observation.title == "Add limit to prices.py"
    assert observation.detail == "- LIMIT = 10\n+ def limit():\n+     return 30"


def test_several_edits_of_a_file_are_one_observation() -> None:
    """A MultiEdit's edits are applied in order and become one observation."""
    edits = [
        {"old_string": "gross / 2", "new_string": "gross / 3"},
        {"old_string": "3", "new_string": "4", "replace_all": True},
    ]
    arguments = {"file_path": "/shop/prices.py", "edits": edits}
    response = {"filePath": "/shop/prices.py", "originalFile": MODULE}

    observation = observe(cases.of_event(events.tool("MultiEdit", arguments, response)))

    assert observation.functions_changed == (Change("net", "function", "modified"),)


def test_a_notebook_cell_is_named() -> None:
    """A changed notebook cell is named, with its old and new source."""
    arguments = {"notebook_path": "/shop/a.ipynb", "cell_id": "b2", "new_source": "x = 2"}
    arguments["edit_mode"] = "replace"
    response = {"old_source": "x = 1", "cell_type": "code", "language": "python", "error": ""}

    assert observe(cases.of_event(events.tool("NotebookEdit", arguments, response))) == Observation(
        title="Edit cell b2 of a.ipynb",
        summary="Edit cell b2 of a.ipynb (code, +1 -1 lines).",
        detail="- x = 1\n+ x = 2",
        files_touched=("a.ipynb",),
        functions_changed=(),
    )


@pytest.mark.parametrize(
    "capture",
    [
        _edit("/shop/a.py", "same", "same", original="same\n"),
        _edit("", "a", "b"),
        _write("/shop/empty.py", ""),
    ],
)
def test_an_edit_without_a_change_is_skipped(capture: Capture) -> None:
    """An edit without a change or without a path is skipped."""
    assert isinstance(observe(capture), Skip)
