"""What is remembered of a shell command."""

import pytest

from claude_mem_lite.distill.local import observe
from claude_mem_lite.distill.local.runners import TestRun, test_run
from claude_mem_lite.distill.local.shell import is_lookup, on_one_line, steps
from claude_mem_lite.distill.local.writes import changed_files
from claude_mem_lite.distill.observation import Capture, Observation, Skip

PYTEST_OUTPUT = """\
.F.                                                                      [100%]
=================================== FAILURES ===================================
______________________________ test_total[empty] _______________________________

    def test_total(basket):
>       assert total(basket) == 0
E       assert 7 == 0
E        +  where 7 = total([])

tests/test_basket.py:14: AssertionError
=========================== short test summary info ============================
FAILED tests/test_basket.py::test_total[empty] - assert 7 == 0
1 failed, 2 passed in 0.02s
"""
JEST_OUTPUT = """\
 FAIL  src/sum.test.js
  ● adds numbers

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: 4

      at Object.<anonymous> (src/sum.test.js:4:21)

Tests:       1 failed, 14 passed, 15 total
"""
VITEST_OUTPUT = """\
 FAIL  src/a.test.ts > adds
AssertionError: expected 4 to be 3

 ❯ src/a.test.ts:5:20

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
"""  # noqa: RUF001 - vitest prints this sign
GO_OUTPUT = """\
--- FAIL: TestAdd (0.00s)
    add_test.go:8: Add(1, 2) = 4, want 3
FAIL
FAIL\texample.com/calc\t0.003s
ok  \texample.com/other\t0.002s
"""
CARGO_OUTPUT = """\
test tests::adds ... FAILED
test tests::ok ... ok

thread 'tests::adds' panicked at src/lib.rs:12:9:
assertion `left == right` failed
  left: 4
 right: 3

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
UNITTEST_OUTPUT = """\
FAIL: test_add (test_calc.TestCalc.test_add)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/p/test_calc.py", line 6, in test_add
    self.assertEqual(add(1, 2), 4)
AssertionError: 3 != 4

----------------------------------------------------------------------
Ran 2 tests in 0.001s

FAILED (failures=1)
"""
COMMIT_COMMAND = """\
git add -A && git commit -m "$(cat <<'EOF'
Add basket

It was missing.

Co-Authored-By: C <c@example.com>
EOF
)"
"""


def _bash(command: str, stdout: str = "", description: str = "") -> Capture:
    arguments = {"command": command, "description": description}
    response = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}
    payload = {"tool_input": arguments, "tool_response": response, "cwd": "/p"}
    return Capture("PostToolUse", "Bash", payload, "/p")


def _failed(command: str, error: str, description: str = "") -> Capture:
    arguments = {"command": command, "description": description}
    payload = {"tool_input": arguments, "error": error, "is_interrupt": False, "cwd": "/p"}
    return Capture("PostToolUseFailure", "Bash", payload, "/p")


def _title(capture: Capture) -> str:
    observation = observe(capture)
    assert isinstance(observation, Observation)
    return observation.title


def test_a_failed_test_run_tells_what_failed_and_why() -> None:
    """Verdict, names and the decisive lines; no dots, no frames, no source of the test."""
    capture = _failed(
        "python3 -m pytest -q tests/test_basket.py", f"Exit code 1\n{PYTEST_OUTPUT}", "Run the tests"
    )

    assert observe(capture, prompt="Make an empty basket cost nothing.") == Observation(
        title="test_total[empty] failed: “assert 7 == 0”",
        summary="Run the tests: `python3 -m pytest -q tests/test_basket.py`. pytest: 1 failed, 2 passed; "
        "failing: tests/test_basket.py::test_total[empty]. Failed with exit code 1.",
        detail="test_total[empty]:\nassert 7 == 0\n+  where 7 = total([])\n"
        "tests/test_basket.py:14: AssertionError",
        files_touched=(),
        functions_changed=(),
    )


@pytest.mark.parametrize(
    ("output", "runner", "verdict", "failing", "reason"),
    [
        (
            PYTEST_OUTPUT,
            "pytest",
            "1 failed, 2 passed",
            ("tests/test_basket.py::test_total[empty]",),
            "assert 7 == 0",
        ),
        ("3 passed, 1 skipped, 2 warnings in 0.10s", "pytest", "3 passed, 1 skipped", (), ""),
        ("==== no tests ran in 0.01s ====", "pytest", "no tests ran", (), ""),
        (JEST_OUTPUT, "jest", "1 failed, 14 passed", ("adds numbers",), "Expected: 3"),
        (
            VITEST_OUTPUT,
            "vitest",
            "1 failed, 1 passed",
            ("src/a.test.ts > adds",),
            "AssertionError: expected 4 to be 3",
        ),
        (GO_OUTPUT, "go test", "1 failed, 1 passed", ("TestAdd",), "add_test.go:8: Add(1, 2) = 4, want 3"),
        (
            CARGO_OUTPUT,
            "cargo test",
            "1 failed, 1 passed",
            ("tests::adds",),
            "thread 'tests::adds' panicked at src/lib.rs:12:9:\nassertion `left == right` failed",
        ),
        (
            UNITTEST_OUTPUT,
            "unittest",
            "1 failed, 1 passed",
            ("test_add (test_calc.TestCalc.test_add)",),
            "AssertionError: 3 != 4",
        ),
        (
            "  12 passing (40ms)\n  1 failing\n\n  1) cart adds:\n",
            "mocha",
            "1 failed, 12 passed",
            ("cart adds:",),
            "",
        ),
        (
            "5 examples, 1 failure\n\nrspec ./a_spec.rb:3 # A b",
            "rspec",
            "1 failed, 4 passed",
            ("./a_spec.rb:3",),
            "",
        ),
        ("Tests: 5, Assertions: 9, Failures: 1.", "phpunit", "1 failed, 4 passed", (), ""),
        ("Failed!  - Failed:     1, Passed:     4, Skipped: 0", "dotnet test", "1 failed, 4 passed", (), ""),
        (
            "[ERROR] Tests run: 5, Failures: 0, Errors: 1, Skipped: 1",
            "maven",
            "1 error, 3 passed, 1 skipped",
            (),
            "",
        ),
        ("# pass 3\n# fail 1", "node --test", "1 failed, 3 passed", (), ""),
        (" 3 pass\n 0 fail\n", "bun test", "3 passed", (), ""),
    ],
)
def test_every_runner_has_its_verdict(
    output: str, runner: str, verdict: str, failing: tuple[str, ...], reason: str
) -> None:
    """Counts, names of what failed and the first reason are read from each runner's own output."""
    run = test_run(output)

    assert isinstance(run, TestRun)
    assert (run.runner, run.verdict, run.failing, run.reason) == (runner, verdict, failing, reason)
    assert run.has_failed == ("failed" in verdict or "error" in verdict)


def test_an_output_sent_twice_is_counted_once() -> None:
    """Claude Code 2.1.50 repeats the output of a failed command."""
    assert _title(_failed("pytest", f"Exit code 1\n{PYTEST_OUTPUT.strip()}\n\n{PYTEST_OUTPUT.strip()}")) == (
        "test_total[empty] failed: “assert 7 == 0”"
    )


@pytest.mark.parametrize(
    ("capture", "title"),
    [
        (_bash("python3 -m pytest -q", "..   [100%]\n2 passed in 0.01s"), "Run pytest: 2 passed"),
        (
            _bash("sed -i s/a/b/ x.py && pytest -q", "2 passed in 0.01s", "Rename and test"),
            "Rename and test: 2 passed",
        ),
        (
            _bash("./deploy.sh", "uploaded 3 files", "Deploy to staging."),
            "Deploy to staging: “uploaded 3 files”",
        ),
        (_bash("./deploy.sh --now", "uploaded 3 files"), "Run ./deploy.sh --now: “uploaded 3 files”"),
        (
            _bash("pip install 'typer>=0.15' rich", "Successfully installed rich-14"),
            "Install typer>=0.15 and rich with pip",
        ),
        (_bash("npm ci", "added 120 packages in 3s"), "Install dependencies with npm"),
        (_bash("cargo remove serde", "    Removing serde from dependencies"), "Uninstall serde with cargo"),
        (
            _bash("mypy -p x", "Success: no issues found in 3 source files"),
            "Run mypy -p x: “Success: no issues found in 3 source files”",
        ),
        (
            _bash(
                "mypy -p x && ruff check", "Success: no issues found in 3 source files\nAll checks passed!"
            ),
            "Run mypy -p x && ruff check: “All checks passed!”",
        ),
        (
            _bash(
                "ruff check && mypy -p x", "All checks passed!\nSuccess: no issues found in 3 source files"
            ),
            "Run ruff check && mypy -p x: “Success: no issues found in 3 source files”",
        ),
        (
            _failed("ruff check src", "Exit code 1\nsrc/a.py:1:8: F401 unused\nFound 1 error."),
            "Run ruff check src: “a.py:1:8: F401 unused”",
        ),
        (
            _failed(
                "python3 -m shop",
                "Exit code 1\nTraceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'x'",
            ),
            "Run python3 -m shop: “KeyError: 'x'”",
        ),
        (
            _failed("make build", "Exit code 2\na.c:3:5: error: expected ';'\nmake: *** [build] Error 1"),
            "Run make build: “a.c:3:5: error: expected ';'”",
        ),
        (
            _failed("frob", "Exit code 127\n/bin/bash: line 1: frob: command not found"),
            "Run frob: “bash: line 1: frob: command not found”",
        ),
        (
            _failed("git push origin main", "Exit code 128\nfatal: no such remote\nfatal: gone", "Push"),
            "Push: “fatal: no such remote”",
        ),
        (_failed("./check", "Exit code 1", "Is x there?"), "Is x there? exit code 1"),
    ],
)
def test_title_says_what_was_run_and_how_it_ended(capture: Capture, title: str) -> None:
    """Tests by their verdict, failures by their decisive line, the rest by Claude's own description."""
    assert _title(capture) == title


@pytest.mark.parametrize(
    ("command", "output", "title"),
    [
        (
            "git commit -m 'Add basket'",
            "[main 1a2b3c4] Add basket\n 1 file changed",
            "Commit “Add basket” as 1a2b3c4",
        ),
        (
            "git commit -qam 'Add basket' && git log --oneline | head -1",
            "1a2b3c4 Add basket",
            "Commit “Add basket” as 1a2b3c4",
        ),
        ("git commit -qm 'Add basket'", "", "Commit “Add basket”"),
        (
            COMMIT_COMMAND,
            "[main (root-commit) 1a2b3c4] Add basket",
            "Commit “Add basket” as 1a2b3c4",
        ),
        (
            "git commit -qm 'Version 2' && git tag -a v2 -m 'shop 2' && git log --oneline --decorate",
            "1a2b3c4 (HEAD -> main, tag: v2) Version 2",
            "Commit “Version 2” as 1a2b3c4, tag “v2”",
        ),
        ("git checkout -b fix", "Switched to a new branch 'fix'", "Create branch “fix”"),
        ("git -C /p switch main", "Switched to branch 'main'", "Switch to “main”"),
        ("git push -u origin fix", " * [new branch]      fix -> fix", "Push “fix” to origin"),
        ("git merge --no-ff fix", "Merge made by the 'ort' strategy.", "Merge “fix”"),
        ("git branch -d fix", "Deleted branch fix (was 1a2b3c4).", "Delete branch “fix”"),
    ],
)
def test_git_is_told_by_what_it_did(command: str, output: str, title: str) -> None:
    """Hash and subject of a commit, the tag, the branch: from the command and its output."""
    assert _title(_bash(command, output)) == title


def test_a_commit_message_says_why_without_its_trailers() -> None:
    """The body of a commit message is kept, signatures are not."""
    observation = observe(
        _bash(COMMIT_COMMAND, "[main 1a2b3c4] Add basket\n 2 files changed, 3 insertions(+)")
    )

    assert isinstance(observation, Observation)
    assert observation.summary.endswith(
        "Committed “Add basket” as 1a2b3c4 (2 files changed, 3 insertions(+)). “It was missing.”"
    )
    assert observation.detail is None


def test_a_failed_commit_is_no_commit() -> None:
    """What the output doesn't prove did not happen."""
    capture = _failed(
        "pytest -q && git commit -m 'Add basket'", "Exit code 1\nboom: failed", "Test and commit"
    )

    observation = observe(capture)

    assert isinstance(observation, Observation)
    assert observation.title == "Test and commit: “boom: failed”"
    assert "Committed" not in observation.summary


def test_a_failed_command_line_pushed_nothing() -> None:
    """Which of several commands failed is not known, so none of them is said to have worked."""
    observation = observe(_failed("git push origin main && ./deploy", "Exit code 1\nboom: failed"))

    assert isinstance(observation, Observation)
    assert "Push" not in observation.summary


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
    """Listings, empty searches and staging leave no trace."""
    assert isinstance(observe(_bash(command, output)), Skip)


def test_an_error_sent_twice_is_told_once() -> None:
    """Claude Code 2.1.50 repeats the output of a failed command, whatever it is."""
    observation = observe(_failed("./deploy", "Exit code 3\nno route to host\n\nno route to host"))

    assert isinstance(observation, Observation)
    assert observation.detail == "no route to host"


def test_a_look_that_fails_is_no_error() -> None:
    """A search without a hit exits with 1; what another part of it printed is not the error."""
    assert observe(_failed("grep -rn nothing .", "Exit code 1")) == Skip("a look that found nothing")
    assert _title(_failed("git status -s && grep x a", "Exit code 1\n?? deploy/", "Is it tracked?")) == (
        "Is it tracked? exit code 1"
    )


def test_an_interrupted_command_is_skipped() -> None:
    """The user stopped it before it said anything."""
    payload = {"tool_input": {"command": "sleep 99"}, "error": "", "is_interrupt": True}

    assert observe(Capture("PostToolUseFailure", "Bash", payload, "/p")) == Skip("interrupted by the user")


def test_a_script_leaves_its_telling_lines() -> None:
    """An inline script is left out of the command, what it says best and what it wrote are kept."""
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
    """A cut output, a background task and a time-out are facts of their own."""
    capture = _bash("./serve", "up", "Start the server")
    more = {"persistedOutputSize": 120_000, "backgroundTaskId": "b1", "timedOutAfterMs": 120_000}
    capture.payload["tool_response"].update(more)

    observation = observe(capture)

    assert isinstance(observation, Observation)
    assert observation.summary == (
        "Ran `./serve`. It printed 120,000 characters. It goes on in the background. Timed out after 120 s."
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls", [("ls",)]),
        ("A=1 B='2 3' python3.11 -m pytest -q", [("pytest", "-q")]),
        ("a && b || c; d | e & f\ng", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",)]),
        ("echo 'a && b' \"c | d\" e\\ f", [("echo", "a && b", "c | d", "e f")]),
        ("time sudo -E timeout 5 make", [("make",)]),
        ("uv run pytest", [("pytest",)]),
        ("for f in a b; do cat $f; done", [("cat", "$f")]),
        ("# a comment's quote\necho x", [("echo", "x")]),
        (
            'curl -H "A: $(python3 -c "print((1, (2, 3)))")" http://x',
            [("curl", "-H", 'A: $(python3 -c "print((1, (2, 3)))")', "http://x")],
        ),
        ("git --no-pager -C /p log", [("git", "log")]),
        ("echo 'unclosed", [("echo", "unclosed")]),
        ('python3 -c \'a\n# b\' | xargs rm "\\"c\\"" # d', [("python3", "-c", "a\n# b"), ("rm", '"c"')]),
        ("", []),
    ],
)
def test_steps_are_the_simple_commands(command: str, words: list[tuple[str, ...]]) -> None:
    """Lists, pipelines, quotes, wrappers and loops are taken apart; nothing is expanded."""
    assert [step.words for step in steps(command)] == words


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("grep -rn 'a|b' . | head -3", True),
        ("git log --oneline", True),
        ("python3 --version", True),
        ("sed -n 1,20p a.py", True),
        ("sed -i s/a/b/ a.py", False),
        ("find . -name x -delete", False),
        ("cat a > b", False),
        ("cat a 2>/dev/null", True),
        ("git checkout main", False),
        ("python3 - <<'EOF'\nprint(1)\nEOF", False),
        ("frobnicate", False),
    ],
)
def test_is_lookup_in_doubt_is_false(command: str, looks: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only commands that are known to look count as looks."""
    assert all(is_lookup(step) for step in steps(command)) is looks


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("echo x > a.txt; echo y >> sub/b.txt", ("/p/a.txt", "/p/sub/b.txt")),
        ("make 2>/dev/null >&2 > /dev/null", ()),
        ("sed -i -e s/a/b/ -e s/c/d/ a.py b.py", ("/p/a.py", "/p/b.py")),
        ("sed -i 's/a/b/' a.py", ("/p/a.py",)),
        ("mv a.py b.py && cp b.py c.py d/", ("/p/a.py", "/p/b.py", "/p/d/b.py", "/p/d/c.py")),
        ("rm -f *.pyc $X ~/y z.txt", ("/p/z.txt",)),
        ("cd sub && touch a && cd $HOME && touch b && touch /abs/c", ("/p/sub/a", "/abs/c")),
        ("git mv old.py new.py && git rm gone.py", ("/p/old.py", "/p/new.py", "/p/gone.py")),
        ("cat <<EOF | tee conf.toml\nx > y\nEOF", ("/p/conf.toml",)),
        ("grep '>' a.txt", ()),
        ("git checkout main; git checkout HEAD -- a; git -C /q restore b", ("/p/a", "/p/b")),
        ("python3 - <<E\nopen('o.csv', 'w')\nPath('p.txt').write_text('')\nE", ("/p/o.csv", "/p/p.txt")),
    ],
)
def test_changed_files_are_certain(command: str, files: tuple[str, ...]) -> None:
    """Redirects, moves, copies, removals and inline scripts; a name known only at run time is left out."""
    assert changed_files(command, "/p") == files


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("a\nb &&\nc\n", "a; b && c"),
        ("python3 - <<'EOF'\nprint(1)\nEOF\nls", "python3 - <<EOF; ls"),
        ('git commit -m "one\ntwo"', 'git commit -m "one two"'),
    ],
)
def test_on_one_line_shows_the_command_without_scripts(command: str, line: str) -> None:
    """Lines become a list that the shell would still understand."""
    assert on_one_line(command) == line


def test_ansi_and_controls_never_reach_an_observation() -> None:
    """Whatever a terminal was made to show, an observation is plain text."""
    observation = observe(_bash("./x", "\x1b[31mred\x1b[0m\x07\u202e end", "Show colours"))

    assert isinstance(observation, Observation)
    assert observation.title == "Show colours: “red end”"
