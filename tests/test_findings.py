"""Test how recurring failures of calls become findings, and what later sessions are shown of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import cases, events
from support.blocks import hook, told_in_time
from support.databases import session_row, work_on
from support.web import get
from typer.testing import CliRunner

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.app import app
from claude_mem_lite.context import blocks, builder, failure
from claude_mem_lite.context.shown import Shown
from claude_mem_lite.distill import record
from claude_mem_lite.distill.calls import told
from claude_mem_lite.distill.failing import error_of, read_calls
from claude_mem_lite.distill.findings import findings as told_findings
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.forget import store
from claude_mem_lite.forget.marking import mark
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.learnings import session as learning
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage import findings, models

CASES = cases.load("findings")


def call(command: str, *, error: str = "", output: str = "done") -> Capture:
    """Return a command that worked, or one that failed with `error`."""
    return cases.of_event(events.ran(command, output, error=error, description=""), "/p")


def tool(name: str, given: dict[str, Any], *, error: str = "") -> Capture:
    """Return a call of a tool other than Bash."""
    event = events.failed(name, given, error) if error else events.tool(name, given, "fine")
    return cases.of_event(event, "/p")


def happen(capture: Capture, *, session: str) -> None:
    """Record an event of project /p."""
    work_on(inbox.append(json.dumps({**capture.payload, "session_id": session}), "/p"))


def session(name: str, *calls: Capture) -> None:
    """Play a session with these calls, end it and learn from it."""
    for each in calls:
        happen(each, session=name)
    record.summarize_session(name)
    learning.learn(name)


FAILS = call(
    "tool run build --fast", error="unknown option: --fast\n\nUsage: tool run [options]\n  --slow  x"
)
WORKS = call("tool run build --slow")


@pytest.mark.parametrize(("command", "error", "signature"), CASES["failures"])
def test_a_failure_goes_by_the_line_that_tells_it(command: str, error: str, signature: str) -> None:
    """A failure's signature is its decisive line without paths and numbers, or a linter's rule."""
    found = error_of(call(command, error=error))

    assert found.signature == signature


@pytest.mark.parametrize(
    "capture",
    [
        call("pytest -q", error="FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed in 0.1s"),
        call("make", error="}"),
        call("curl http://localhost:9/x", error="curl: (7) Failed to connect to localhost port 9"),
        call("make build"),
        tool("WebFetch", {"url": "http://a.b"}, error="Request failed with status code 404"),
        tool("Edit", {"file_path": "/p/a"}, error="String to replace not found in file."),
    ],
)
def test_code_at_work_and_the_world_outside_are_no_findings(capture: Capture) -> None:
    """Failed tests, mistaken edits and unreachable pages are no findings."""
    assert read_calls([capture, call("git status"), EDIT, call("tool check it")]).failed == []


def test_an_exit_code_that_a_pipe_hides_is_seen() -> None:
    """A linter's output through `tail` is a failure although the command exits 0."""
    found = error_of(call("make lint 2>&1 | tail -5", output="a.go:1:2: value is not checked (errcheck)"))

    assert (found.rule, found.line) == ("errcheck", "a.go: value is not checked (errcheck)")


GLOBS = call("grep -rn shelf lib --include=*.py | head", output="(eval):1: no matches found: --include=*.py")
QUOTED = call('grep -rn shelf lib --include="*.py" | head', output="lib/a.py:1: shelf")


def test_what_zsh_rejects_is_one_failure_whatever_it_expands(memory: Path) -> None:
    """An error of zsh is found behind a pipe, without the words it expanded, and told also of a lookup."""
    others = call("grep -rn book . --include=*.md", error="(eval):1: no matches found: --include=*.md")
    line = call("cat a.md; echo ====; cat b.md", error="# A\n(eval):1: ==== not found")
    session("s1", GLOBS, QUOTED, line)
    odd = call("grep -rn shelf README", output="the shelf")
    session("s2", others, odd, call("cat a.md; echo ==; cat c.md", error="# A\n(eval):1: == not found"))

    told = builder.build("/p", session_id="new").text

    assert "failed in 2 sessions: “(eval):1: no matches found: --include=*.py”" in told
    assert """What worked: `grep -rn shelf lib --include="*.py"`""" in told
    assert "failed in 2 sessions: “(eval):1: == not found”." in told


def test_a_program_that_bash_does_not_find_is_a_failure_behind_a_pipe(memory: Path) -> None:
    """An error of bash itself counts, whatever the exit status; a program's long path is shown whole."""
    old, new = (f"'/mnt/c/Program Files/Big Shelf Tools/v6.{n}/gnuBins/Win32/bin/make.exe'" for n in (2, 3))
    error = f"/bin/bash: line 1: {old.strip(chr(39))}: No such file or directory"
    session("s1", call(f"{old} -f all.mk build 2>&1 | tail -5", output=error), call(f"{new} -f all.mk build"))

    (found,) = told_findings(findings.known("/p"))

    assert (found.command, found.works) == (f"{old} -f all.mk build", f"{new} -f all.mk build")


def test_a_program_that_is_not_found_is_one_failure_in_every_shell(memory: Path) -> None:
    """Shells word it differently; the program's path is a cure, another call of it is none."""
    session("s1", call("adb devices", error="(eval):1: command not found: adb"), call("/sdk/adb devices -l"))
    session("s2", call("adb shell x", error="bash: adb: command not found"), call("/sdk/adb pull /a /b"))

    (found,) = told_findings(findings.known("/p"))

    assert (len(found.sessions), found.command, found.works) == (2, "adb devices", "/sdk/adb devices -l")


def test_a_known_error_that_a_pipe_hides_is_met_again(memory: Path) -> None:
    """A line in the output of a pipe that exits 0 counts if it failed a call before, except in lookups."""
    error = "pattern ./...: directory prefix . does not contain main module"
    session("s1", call("shelf build ./...", error=error), call("cd lib && shelf build ./..."))
    piped = call("shelf build ./... 2>&1 | tail -5", output=error)
    session("s2", piped, call("cat build.log | head", output=error))

    (found,) = told_findings(findings.known("/p"))

    assert (len(found.sessions), found.times) == (2, 2)


EDIT = tool("Edit", {"file_path": "/p/a.py", "old_string": "a = 1\n", "new_string": "a = 2\n"})
UNSET = "E   app.errors.Unconfigured: Set the SHELF_URL variable\n1 failed in 0.1s"
WRONG = "E   assert 1 == 2\n1 failed in 0.1s"
NOT_THERE = "connect: Connection refused by shelf"
OFF = "no such service: api, or it is off"


TITLE = f'--title "{"The shelf " * 9}"'
VARIABLES = f"HOST=unix:///run/{'a' * 50}.sock SOCKET=/var/run/{'b' * 30}.sock"
LINTED = call("make lint", error="a.go:1:2: error is not nil but it returns nil (nilerr)")
SETTLED = "x := 1\nreturn nil //nolint:nilerr // the file may be missing\n"


@pytest.mark.parametrize(
    ("calls", "works"),
    [
        # By a shared program or operand; calls between them and lookups do not count.
        ([FAILS, call("ls -la build"), call("git status"), WORKS, call("tool run build")],
         "tool run build --slow"),
        # By the program alone, if it runs with the same arguments.
        ([call("python -m shelf -q", error="python: No module named shelf"), call("uv run tool"),
          call("uv run shelf -q")],
         "uv run shelf -q"),
        # Quoted text is left out of a command that is too long.
        ([call(f"gh pr create --fill {TITLE}", error="Head sha cannot be blank"),
          call(f"gh pr create {TITLE} --base main --head shelf")],
         'gh pr create --title "…" --base main --head shelf'),
        # A line that is too long loses the steps before it that share nothing with the call.
        ([call("shelf load books", error=NOT_THERE),
          call(f"docker compose stop && {VARIABLES} shelf load books")],
         f"{VARIABLES} shelf load books"),
        # A comment that names a linter's rule settles it; other edits between belong to the code.
        ([LINTED, cases.of_event(events.edited("/p/a.go", "return nil\n", SETTLED), "/p"), call("make lint")],
         "//nolint:nilerr // the file may be missing"),
    ],
)  # fmt: skip
def test_what_worked_is_the_next_call_that_is_like_it(calls: list[Capture], works: str) -> None:
    """A failure's cure is the next similar call, however long the calls are and whatever is between them."""
    (found,) = read_calls(calls).failed

    assert (found.command, found.works) == (told(calls[0]), works)


@pytest.mark.parametrize(
    ("calls", "works"),
    [
        # The same tests pass by another command without an edit, so the command was wrong.
        (["pytest tests/a.py", "SHELF_URL=x pytest tests/a.py"], "SHELF_URL=x pytest tests/a.py"),
        # If the same call works later, its failure had a passing cause.
        (["shelf load", "shelf load --now", "shelf load"], None),
        # Fewer tests pass, or they pass after an edit: the code was wrong, not the call.
        (["pytest tests", "pytest tests/a.py"], None),
        (["pytest tests/a.py", EDIT, "SHELF_URL=x pytest tests/a.py"], None),
        # Another command run in between may have settled it.
        (["pytest a.py", "shelf prepare", "A=1 pytest a.py"], "shelf prepare && A=1 pytest a.py"),
        # A command run before made it work.
        (["shelf load", "docker compose up -d", "shelf load"], "docker compose up -d && shelf load"),
        (["shelf load", EDIT, "docker compose up -d", "shelf load"], None),
        # The call works again later; or it gets as far as the code, which fails for its own reasons.
        (
            ["shelf load", "docker compose up -d", "shelf load", "shelf load"],
            "docker compose up -d && shelf load",
        ),
        (
            ["pytest a.py", "docker compose up -d", call("pytest a.py", error=WRONG)],
            "docker compose up -d && pytest a.py",
        ),
        (["shelf load", call("A=1 shelf load", error=WRONG)], "A=1 shelf load"),
        (["pytest a.py", call("pytest a.py", error=WRONG)], None),
        (
            ["shelf load books", "up && shelf load", call("A=1 shelf load books", error=WRONG)],
            "up && shelf load",
        ),
        # Committing a file is no way to run it; a program that the error names may be.
        (["shelf load a/b.py", "git add a/b.py && git commit -m load"], ""),
        (["pack load", "shelf load --now"], "shelf load --now"),
        # The most similar call wins, by more than its program.
        (["shelf load --all", "shelf fmt", "shelf pack all", "A=1 shelf load --all"], "A=1 shelf load --all"),
    ],
)
def test_what_worked_without_an_edit_tells_what_was_wrong(
    calls: list[str | Capture], works: str | None
) -> None:
    """If a call, or tests, work without an edit in between, the difference of the calls is the cure."""
    first, *others = calls
    fails = call(str(first), error=UNSET if "pytest" in str(first) else NOT_THERE)

    later = [each if isinstance(each, Capture) else call(each) for each in others]
    found = read_calls([fails, *later]).failed

    assert [each.works for each in found] == ([] if works is None else [works])


def test_a_call_that_works_after_an_edit_was_the_codes_fault() -> None:
    """After an edit, a call that works beside other commands is cured by the edit, not by those."""
    fails = call("python -m shelf list", error="ImportError: cannot import name 'rows' from 'shelf'")
    again = call("pytest -q && python -m shelf list | head -3")

    assert read_calls([fails, EDIT, again]).failed == []
    assert [each.works for each in read_calls([fails, again]).failed] == [told(again)]


def test_a_command_that_its_own_timeout_ended_has_worked() -> None:
    """`timeout 5 server` that is ended by its own timeout has worked."""
    ended = tool("Bash", {"command": "timeout 5 shelf serve"}, error="Exit code 124\nready")

    assert read_calls([ended]).failed == []
    (served,) = read_calls([call("shelf serve --port 1", error=NOT_THERE), ended]).failed
    assert served.works == "timeout 5 shelf serve"


def test_other_tools_are_told_by_their_inputs() -> None:
    """Calls of other tools are described by their inputs."""
    given, error = {"team": "Red", "body": "x" * 300}, "Argument Validation Error"
    wrong = tool("mcp__tracker__create", given, error=error)
    right = tool("mcp__tracker__create", {"team": "Blue", "body": "x" * 300})

    (found,) = read_calls([wrong, right]).failed

    red, blue = (f"mcp__tracker__create(team: {team})" for team in ("Red", "Blue"))
    assert (found.command, found.works) == (red, blue)


def test_a_start_tells_what_failed_in_two_sessions(memory: Path) -> None:
    """A start shows failures of two sessions, in a young project of one, until they work."""
    unlike = [call("load the shelf of books", error="all books are wet today"), call("load cellar books")]
    session("s1", *unlike, FAILS, WORKS, call("pack it", error="it is all broken today"))
    once = builder.build("/p", session_id="new")
    session("s2", FAILS, WORKS)
    twice = builder.build("/p", session_id="new")
    session("s3", call("tool run build --fast"))
    cured = builder.build("/p", session_id="new")

    says = (
        "`tool run build --fast` failed in 2 sessions: “unknown option: --fast”."
        " What worked: `tool run build --slow`"
    )
    assert "failed in 1 session: “unknown option: --fast”. What worked: `tool run build --slow`" in once.text
    open_ones = [
        "`pack it` failed in 1 session: “it is all broken today”.",
        "`load the shelf of books` failed in 1 session: “all books are wet today”.",
    ]
    assert open_ones[1] in once.text  # the other one is shown as where the work stands
    lines = [line for each in twice.sections for line in each.lines if each.name == "failures"]
    assert [line.says for line in lines[:2]] == ["Run most here: `tool run build --slow`", says]
    assert sorted(line.says for line in lines[2:]) == sorted(open_ones)
    assert says not in cured.text


def test_what_three_sessions_met_is_told_by_how_their_calls_begin(memory: Path) -> None:
    """Calls of three sessions are shown by their common beginning, if that shows what made the difference."""
    for name, what in (("s1", "load a.csv"), ("s2", "load b.csv"), ("s3", "pack -q")):
        session(
            name, call(f"shelf exec app {what}", error="the input is not a terminal"),
            call(f"shelf exec -T app {what}"), call(f"tape {what} --now", error="there is no tape at all"),
            call(f"reel {what} --now"), call(f"rack add && rack {what}", error="there is no label on it"),
            call(f"rack {what} --label 1"),
        )  # fmt: skip

    told = builder.build("/p", session_id="new").text

    assert "What worked: `rack pack -q --label 1`" in told
    assert "`shelf exec app …` failed in 3 sessions" in told
    assert "What worked: `shelf exec -T app …`" in told
    assert "`tape pack -q --now` failed in 3 sessions" in told


def test_a_failure_with_a_cure_is_told_with_it(memory: Path) -> None:
    """A failure with a cure is shown with it, even if the last session left it failing."""
    for name in ("s1", "s2"):
        session(name, FAILS, WORKS)
    report = "`a.py` writes cents. `b.py` reads `a.py`. `c.py` is gone, because `b.py` does it."
    asked, told = cases.of_event(events.prompt("Write the cents")), cases.of_event(events.stop(report))
    session("s3", asked, FAILS, told)

    block = builder.build("/p", session_id="new").text

    assert "Where the work stands" in block
    assert "Failing: " not in block
    assert "failed in 3 sessions: “unknown option: --fast”. What worked: `tool run build --slow`" in block


def test_a_call_that_has_to_be_made_with_more_is_told_at_once(memory: Path) -> None:
    """One session is enough for a cure that is the same call with a variable or a step before it."""
    session("s1", call("shelf load", error=NOT_THERE), call("docker compose up -d"), call("shelf load"))

    says = (
        "`shelf load` failed in 1 session: “connect: Connection refused by shelf”."
        " What worked: the same after `docker compose up -d`"
    )
    assert says in builder.build("/p", session_id="new").text
    session("s2", call("shelf load"))
    assert says not in builder.build("/p", session_id="newer").text


def test_a_failure_without_a_cure_gives_way(memory: Path) -> None:
    """A failure without a cure ranks below one of fewer sessions that has a cure."""
    for name in ("s1", "s2", "s3"):
        session(name, call("tape run app", error="the input is not a terminal"), FAILS, WORKS)
        load = [call("shelf load", error=NOT_THERE), call(f"shelf load -p {name}")]
        session(f"{name}b", *load * (name != "s1"))

    found = [line.says for each in builder.build("/p", session_id="new").sections for line in each.lines]

    told = [says.split("` failed")[0] for says in found if " failed in " in says]
    assert (told[0], len(told)) == ("`shelf load", 3)


def test_an_old_project_tells_of_one_session_only_what_has_to_be_made_with_more(memory: Path) -> None:
    """With twenty sessions, a finding of one counts only if its cure is the same call with something more."""
    for at in range(20):
        session_row(f"s{at}", summary="Moved the book.", project_dir="/p")
    session("t1", FAILS, WORKS, call("shelf load", error=NOT_THERE), call("HOST=x shelf load"))

    told = builder.build("/p", session_id="new").text

    assert "`tool run build --fast` failed" not in told
    assert "`shelf load` failed in 1 session" in told


def test_what_several_sessions_had_to_prepare_for_is_not_cured_by_a_success(memory: Path) -> None:
    """A success does not cure what several sessions had to prepare: the service may have been up already."""
    prepared = [call("shelf load", error=NOT_THERE), call("docker compose up -d"), call("shelf load")]
    for name in ("s1", "s2"):
        session(name, *prepared)
    session("s3", call("shelf load"))

    assert "`shelf load` failed in 2 sessions" in builder.build("/p", session_id="new").text


@pytest.mark.parametrize(
    ("later", "works"),
    [
        ("shelf test books/d.go", []),
        ("shelf test ./books", []),
        ("shelf test --all", ["shelf test --all"]),
        ("shelf test", ["shelf -C books test"]),
        ("shelf pack books/d.go", ["shelf -C books test"]),
        ("SHELF=1 shelf test books/d.go", ["shelf -C books test"]),
    ],
)
def test_what_failed_with_several_files_is_cured_by_another_one(
    memory: Path, later: str, works: list[str]
) -> None:
    """A call that failed with several files is cured by another file's success; an option is a new cure."""
    for name, file in (("s1", "books/a.go"), ("s2", "./cellar/...")):
        session(name, call(f"shelf test {file}", error=NOT_THERE), call("shelf -C books test"))
    session("s3", call(later))

    assert [each.works for each in told_findings(findings.known("/p"))] == works


API = [call("shelf load", error=NOT_THERE), call("shelf exec api load")]
ONE_FILE = [call("shelf test books/a.go", error=NOT_THERE), call("shelf -C books test")]


@pytest.mark.parametrize(
    ("sessions", "works"),
    [
        # A cure that failed later without a replacement stays: it may fail for another reason.
        ([[FAILS, WORKS], [call("tool run build --slow", error="the disk is full again")]],
         {"tool run build --fast": "tool run build --slow"}),
        # The cure failed later, and something else worked.
        ([API, [call("shelf exec api load", error=OFF), call("shelf up && shelf exec api load")]],
         {"shelf load": "shelf up && shelf exec api load"}),
        # A word of the cure failed in another call, and another in its place worked: the service was renamed.
        ([API, [call("shelf exec api pack", error=OFF), call("shelf exec app pack")]],
         {"shelf load": "shelf exec app load"}),
        ([API, [call("cat api pack", error=OFF), call("cat app pack")]],
         {"shelf load": "shelf exec api load"}),
        # A script is shown by its new name once an error says that the old one is missing.
        ([[call("shelf load", error=NOT_THERE), call("./do load")],
          [call("./do pack all.md", error="bash: ./do: No such file or directory"), call("just pack")],
          [call("just pack -q", error="just: there is no such recipe"), call("make pack -q")]],
         {"shelf load": "just load", "just pack -q": "make pack -q"}),
        # An option missing from `shelf diff` says nothing about `shelf view`.
        ([[call("shelf view 1", error=NOT_THERE), call("shelf view 1 --json title")],
          [call("shelf diff 1 --json", error="unknown flag: --json"), call("shelf diff 1 --names")]],
         {"shelf view 1": "shelf view 1 --json title"}),
        # A short word that both calls share may be chance.
        ([[call("shelf load all of my books", error=NOT_THERE), call("pack the load")]],
         {"shelf load all of my books": ""}),
        # Success with another file says nothing: the file itself may be the cause.
        ([ONE_FILE, ONE_FILE, [call("shelf test books/b.go")]],
         {"shelf test books/a.go": "shelf -C books test"}),
    ],
)  # fmt: skip
def test_a_cure_gives_way_to_what_is_known_since(
    memory: Path, sessions: list[list[Capture]], works: dict[str, str]
) -> None:
    """A cure is replaced by what later sessions found, unless that has little to do with it."""
    for number, calls in enumerate(sessions):
        session(f"s{number}", *calls)

    found = told_findings(findings.known("/p"))

    cures = sorted((each.command, each.works) for each in found if each.command in works)
    assert cures == sorted(works.items())


def test_a_call_goes_by_the_name_that_a_service_has_now(memory: Path) -> None:
    """A renamed service is shown by its new name, in the failed call and in its cure."""
    once = [call("shelf exec api load", error=NOT_THERE), call("shelf up && shelf exec api load")]
    pack = [call("shelf exec api pack", error="all the books are wet"), call("shelf exec api pack -q")]
    session("s1", *once, *pack)
    session("s2", call("shelf exec api load", error=OFF), call("shelf exec app load"))

    found = {each.error: (each.command, each.works) for each in told_findings(findings.known("/p"))}

    assert found == {
        NOT_THERE: ("shelf exec app load", "shelf up && shelf exec app load"),
        "all the books are wet": ("shelf exec app pack", "shelf exec app pack -q"),
        OFF: ("shelf exec api load", "shelf exec app load"),
    }


@pytest.mark.parametrize(
    ("works", "instead", "told"),
    [
        ("JDK=/opt/jdk-21 shelf load", "./shelf-wrapper load", "./shelf-wrapper load"),
        ("JDK=/opt/jdk-21 shelf load", "pack it all and go", ""),  # unrelated to the call
        ("JDK=/opt/jdk-25 shelf load", "./shelf-wrapper load", "JDK=/opt/jdk-25 shelf load"),
    ],
)
def test_a_cure_by_what_an_error_has_named_since_gives_way(
    memory: Path, works: str, instead: str, told: str
) -> None:
    """A cure gives way if a later error named its variable and a call without it worked."""
    both = [call("JDK=/opt/jdk-21 shelf fmt", error="all is wet"), call("JDK=/opt/jdk-21 shelf fmt --dry")]
    session("s1", call("shelf load", error=NOT_THERE), call(works), *both)
    fails = call("JDK=/opt/jdk-21 shelf pack it all", error="JDK is an invalid directory: /opt/jdk-21")
    session("s2", fails, call(instead))

    found = {each.command: each.works for each in told_findings(findings.known("/p"))}

    assert (found["shelf load"], found["shelf fmt"]) == (told, "shelf fmt --dry")


def test_another_service_is_no_new_name(memory: Path) -> None:
    """Another service that worked is no new name unless an error says that the old one is gone."""
    session("s1", call("shelf load", error=NOT_THERE), call("shelf start web && shelf load"))
    session("s2", call("shelf start web", error="the port of it is taken"), call("shelf start api"))
    before = {each.command: each.works for each in told_findings(findings.known("/p"))}
    error = "npm error No such service:\nnpm error   --service=web"
    session("s3", call("shelf start web", error=error), call("shelf start api"))
    known = told_findings(findings.known("/p"))

    assert before["shelf load"] == "shelf start web && shelf load"
    assert [each.works for each in known if each.command == "shelf load"] == ["shelf start api && shelf load"]
    assert "npm error No such service: --service=web" in {each.error for each in known}


@pytest.mark.parametrize(
    "works",
    [
        "tool run e2e --slow || true",
        "tool run e2e --slow; echo done",
        "git reset --hard origin/main && tool run e2e --slow",
        "git clean -fd && tool run e2e --slow",
        "git push --force && tool run e2e --slow",
    ],
)
def test_what_hides_its_exit_status_or_discards_work_is_no_cure(works: str) -> None:
    """A cure has shown that it works, and throws no work away."""
    found = read_calls([call("tool run e2e --fast", error=NOT_THERE), call(works)])

    assert [each.works for each in found.failed] == [""]


def test_the_same_command_before_a_filter_is_no_cure() -> None:
    """The exit status of a pipeline is its filter's, so the command may have failed again."""
    found = read_calls(
        [call("tool run e2e -v", error=NOT_THERE), call("tool run e2e -v 2>&1 | grep -i fail")]
    )

    assert [each.works for each in found.failed] == [""]


@pytest.mark.parametrize(
    ("fails", "works", "is_cure"),
    [
        ("shelf load --on 'Reader 16,v=1'", "shelf load --on 'Reader 17,v=2'", True),
        ("URL=pg://host:5433/x shelf load", "URL=pg://host:5434/x shelf load", True),
        ("shelf +1.78 load", "shelf +1.82 load", True),
        ("shelf load 12", "shelf load 13", False),
        ("shelf load books/12/pages", "shelf load books/13/pages", False),
        ("shelf load 1a2b3c4d", "shelf load 5a6b7c8d", False),
    ],
)
def test_a_number_in_a_word_is_a_part_of_the_call(fails: str, works: str, *, is_cure: bool) -> None:
    """A number inside a word, such as a version or port, makes calls differ; a number alone does not."""
    found = read_calls([call(fails, error=NOT_THERE), call(works)]).failed

    assert [each.works for each in found] == ([works] if is_cure else [])


@pytest.mark.parametrize("file", ["prepare-all.sh", "cellar/rack.ini"])
def test_a_cure_by_what_is_gone_is_not_told(memory: Path, file: str) -> None:
    """A cure that names a removed script or file is not shown."""
    for name in ("s1", "s2"):
        prepare = "sh prepare-all.sh --to=cellar/rack.ini"
        session(name, call("shelf load", error=NOT_THERE), call(f"{prepare} && shelf load"))
    before = builder.build("/p", session_id="new").text
    session("s3", call(f"git rm -q {file}"))

    assert "What worked: the same after `sh prepare-all.sh --to=cellar/rack.ini`" in before
    assert "prepare-all" not in builder.build("/p", session_id="new").text.partition("## Fails here")[2]


OPTION = [
    call("shelf load --all", error=NOT_THERE), call("shelf load --all --vault ~/key"),
    call("tape run app", error="the input is not a terminal"), call("tape run -T app"),
]  # fmt: skip
BEGINS = f"shelf load --from {'a/long/way/' * 8}books"
LONG = [
    call(f"set -o pipefail; {BEGINS} --on 'kind=reader,name=Reader Red,version=1'", error=NOT_THERE),
    call(f"{BEGINS} --on 'kind=reader,name=Reader Blue,version=2'"),
]
NO_SHELF = call("pack test", error="No shelf is found in the folder")


@pytest.mark.parametrize(
    ("sessions", "says"),
    [
        # An option added at the end is shown alone; in the middle the whole call shows where it belongs.
        ([OPTION, OPTION], ["What worked: the same with `--vault ~/key`", "What worked: `tape run -T app`"]),
        # Long calls are cut to their difference, with quoted options and without the shell's own.
        ([LONG, LONG],
         ["`shelf load … --on 'kind=reader,name=Reader Red,version=1'` failed in 2 sessions",
          "What worked: `shelf load … --on 'kind=reader,name=Reader Blue,version=2'`"]),
        # A later session did other work that shares a short word with the call.
        ([[NO_SHELF, call("pack -C web test --run")], [NO_SHELF, call("./build web:test")]],
         ["What worked: `pack -C web test --run`"]),
    ],
)  # fmt: skip
def test_the_cure_is_told_by_its_difference(
    memory: Path, sessions: list[list[Capture]], says: list[str]
) -> None:
    """A cure is shown by how it differs from the call that failed."""
    for number, calls in enumerate(sessions):
        session(f"s{number}", *calls)

    told = builder.build("/p", session_id="new").text

    assert [each for each in says if each not in told] == []


@pytest.mark.parametrize(
    "slip",
    [
        tool("Grep", {"path": "/p/lib"}, error="Path does not exist: /p/lib"),
        call("cd lib && make it", error="bash: line 1: cd: lib: No such file or directory"),
    ],
)
def test_who_looks_for_what_is_not_there_is_not_told_at_a_start(memory: Path, slip: Capture) -> None:
    """A path that was mistyped in two sessions is not shown at a start."""
    for name in ("s1", "s2"):
        session(name, slip, call("make it"))

    assert "failed in" not in builder.build("/p", session_id="new").text
    assert len(findings.known("/p")) == 2


def test_a_start_names_what_sessions_run(memory: Path) -> None:
    """A start lists commands that worked in two sessions, without lookups, git, one-off places or failures.

    The step into a folder is kept for the next session even if one shell stood there already. Of a variable's
    values the last is shown.
    """
    for name in ("s1", "s2"):
        session(
            name, call("cd lib && make check 2>&1 | tail -3"), call("make check"),
            call("cd web && PORT=4011 CI=1 npx vitest"), call("HOME=/tmp/x bin/rails test"),
            call("JAVA_HOME=/usr/lib/java-17 gradle check"),
            call("export JAVA_HOME=$(/usr/libexec/java_home -v 17) && ./gradlew test"),
            call("~/sdk/adb shell x"),
            call("git push"), call("cat notes.md"),
            call("make x > /tmp/out"), call("/tmp/try.sh"),  # noqa: S108 - a word
            call("make x || exit 1"),
            call("'/mnt/c/Big Tools/make.exe' CONF=all build -j$(nproc)"),
            call("python3 - <<E\nprint(1)\nE"), call("make broken", error="it is all broken"),
        )  # fmt: skip
    session("s3", call("make once"), call("cd web && PORT=4012 CI=1 npx vitest"))

    (line,) = [
        line.says for section in builder.build("/p", session_id="new").sections for line in section.lines
        if section.name == "failures" and line.says.startswith("Run")
    ]  # fmt: skip

    assert line == (
        "Run most here: `cd lib && make check`, `cd web && PORT=4012 CI=1 npx vitest`, `bin/rails test`,"
        " `JAVA_HOME=/usr/lib/java-17 gradle check`,"
        " `JAVA_HOME=$(/usr/libexec/java_home -v 17) ./gradlew test`, `make x`, `~/sdk/adb …`,"
        " `'/mnt/c/Big Tools/make.exe' …`"
    )


def test_a_start_names_what_the_forge_is_run_with(memory: Path) -> None:
    """What stands before `gh` in several sessions is named, even if its commands only read."""
    for name in ("s1", "s2"):
        session(
            name, call(f"env -u TOKEN gh issue view {name[1]} --json title"), call("timeout 9 gh pr list")
        )

    assert "Run most here: `env -u TOKEN gh …`\n" in builder.build("/p", session_id="new").text


def test_a_start_names_how_pull_requests_are_made_and_merged(memory: Path) -> None:
    """Commands on pull requests that several sessions ran are named, with N for the numbers."""
    for name, number in (("one", 241), ("two", 242)):
        merged = f"gh pr merge -R us/shelf {number} --squash --delete-branch"
        made = f'gh pr create --draft --head x-{number} --title "Sort the {name}" --body "$(cat x)"'
        checked = call(f"cd .worktrees/x-{number} && tool check")
        session(name, checked, call(made), call(merged), call(f"gh pr view {number} --comments"))

    text = builder.build("/p", session_id="new").text

    merged = "`gh pr merge -R us/shelf N --squash --delete-branch`"
    assert f"Run most here: `tool check`, `gh pr create --draft`, {merged}\n" in text


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (["gradle check"], "gradle check"),
        (["JAVA=21 gradle check"], "JAVA=21 gradle check"),
        (["JAVA=21 gradle check", "gradle check"], "gradle check"),
        (["gradle build"], "JAVA=17 CI=1 gradle check"),
    ],
)
def test_what_is_run_most_has_the_variables_of_its_last_session(
    memory: Path, last: list[str], told: str
) -> None:
    """A command most run has its last session's variables, or none if it worked without them."""
    for name in ("s1", "s2"):
        session(name, call("JAVA=17 CI=1 gradle check"))
    session("s3", *map(call, last))

    assert f"Run most here: `{told}`" in builder.build("/p", session_id="new").text


def test_what_names_a_thing_that_was_missed_since_is_not_told(memory: Path) -> None:
    """A command or statement that names a missing service is not shown until it works again."""
    checks = call("dock exec app check")
    report = events.stop("All checks run with `dock exec app check`, in `app.toml` of lib.")
    report = cases.of_event(report, "/p")
    for name in ("s1", "s2"):
        session(name, checks, report)

    def told() -> tuple[bool, bool]:
        block = builder.build("/p", session_id="new").text
        return "Run most here: `dock exec app check`" in block, "All checks run with" in block

    assert told() == (True, True)

    missed = call("dock exec app check -v", error='service "app" is not running')
    session("s3", missed, call("dock exec web check -v"))
    assert told() == (False, False)

    session("s4", checks)
    assert told() == (True, True)


@pytest.mark.parametrize(
    ("works", "is_told"),
    [("shelf db:seed --all", False), ("shelf run seed --all", True), ("shelf load", True)],
)
def test_a_sub_command_is_missed_where_another_has_its_place(
    memory: Path, works: str, *, is_told: bool
) -> None:
    """A subcommand counts as missing only if another one in its place worked."""
    report = events.stop("All books come back with `shelf seed --wipe`, says `app.toml`.")
    report = cases.of_event(report, "/p")
    session("s1", report)
    session("s2", call("shelf seed --all", error='Command "seed" not found in shelf'), call(works))

    assert ("All books come back" in builder.build("/p", session_id="new").text) == is_told


def test_forgetting_takes_the_failures_along(memory: Path) -> None:
    """Forgetting a session, or a text of a command or error, deletes the failures as well."""
    session("s1", FAILS, WORKS)
    session("s2", call("deploy --to hidden", error="no such host as hidden"), call("deploy --to shown"))

    with store.transaction():
        wanted = Wanted(text="hidden")
        store.clear_memory(mark(wanted), wanted)

    assert [row.session_id for row in findings.known("/p")] == ["s1"]


def test_the_command_lists_them(memory: Path) -> None:
    """`findings` lists failures of several sessions; --all adds those of one."""
    session("s1", FAILS, WORKS, call("other --flag", error="unknown option: --flag here"))
    session("s2", FAILS, WORKS)
    models.close_databases()

    (listed,) = json.loads(CliRunner().invoke(app, ["findings", "--project", "/p", "--json"]).stdout)
    everything = CliRunner().invoke(app, ["findings", "--project", "/p", "--all"]).stdout

    assert (listed["sessions"], listed["works"]) == (["s1", "s2"], "tool run build --slow")
    assert "other --flag" in everything


def test_a_command_that_fails_as_before_is_answered_once(web_and_consumer: Path) -> None:
    """A command that fails as in an earlier session is answered with the cure, once, within 200 tokens."""
    session("s1", FAILS, WORKS)
    event = {name: each for name, each in FAILS.payload.items() if name != "hook_event_name"}

    told = told_in_time("--slow", "post_tool_use", "PostToolUseFailure", **event)
    again = hook("post_tool_use", "PostToolUseFailure", **event)
    other = hook(
        "post_tool_use", "PostToolUseFailure", tool_name="Bash", tool_input={"command": "make"},
        error="Exit code 2\nmake: no rule to make this target",
    )  # fmt: skip

    assert "What worked: `tool run build --slow`" in told
    assert len(told) <= 200 * 3.5
    assert (again, other) == ("", "")
    _, answer = get(web_and_consumer, "/api/findings?project=/p")
    (found,) = answer["findings"]
    assert found["works"] == "tool run build --slow"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("make lint 2>&1 | head -50", "make lint"),
        ("make lint | grep x | tail", "make lint | grep x"),
        ("make lint || head log", "make lint || head log"),
        ("make" + " | cat 2>&1" * 80, "make"),
    ],
)
def test_what_only_cuts_an_output_is_no_part_of_a_command(command: str, says: str) -> None:
    """`head`, `tail` and `cat` at a pipe's end are no part of a command, however often repeated."""
    assert told(call(command)).startswith(says)
    assert says != "make lint" or told(call(command)) == says


def test_a_missing_file_is_a_failure_of_its_own() -> None:
    """Reads of different missing files are different failures; a later read of the same name is the cure."""
    note = "File does not exist. Note: your current working directory is /p/src/web."
    one, two = (tool("Read", {"file_path": f"/p/{name}.txt"}, error=note) for name in ("alpha", "gamma"))
    there, found = (tool("Read", {"file_path": f"/p/{name}"}) for name in ("README.md", "src/alpha.txt"))

    first, second = read_calls([one, two, there, found]).failed

    assert first.error.signature != second.error.signature
    assert (first.works, second.works) == ("Read(file_path: src/alpha.txt)", "")


def test_forgetting_what_worked_takes_the_failure_along(memory: Path) -> None:
    """Forgetting the call that worked deletes its failure; learning a session twice stores it once."""
    session("s1", FAILS, WORKS)
    learning.learn("s1")
    (row,) = findings.known("/p")

    with store.transaction():
        wanted = Wanted(ids=(row.works_id,))
        store.clear_memory(mark(wanted), wanted)

    assert findings.known("/p") == []


def test_a_busy_session_hides_nothing_that_recurs(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures of several sessions are read before those of one busy session."""
    monkeypatch.setattr(findings, "_READ", 5)
    for name in ("s1", "s2"):
        session(name, FAILS, WORKS)
    words = ("one", "two", "three", "four", "five", "six")
    session("s3", *(call(f"make {word}", error=f"no rule to make {word} here") for word in words))

    assert [row.session_id for row in findings.known("/p")][:2] == ["s2", "s1"]


def test_an_unreadable_event_costs_no_others(memory: Path) -> None:
    """An event that Python cannot parse, with a number of 6,000 digits, costs no other failure."""
    event = '{"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "n": %s}'
    inbox.append(event % ("9" * 6_000), "/p")
    for each in (FAILS, WORKS):
        happen(each, session="s1")
    learning.learn("s1")

    assert len(findings.known("/p")) == 1


@pytest.mark.parametrize(
    ("fails", "error", "instead", "says"),
    [
        # Backticks in a command are replaced, as they would end the quotation.
        ("kit run fast", "it cannot run at all", "kit run `x` Do this. `y`",
         "What worked: `kit run 'x' Do this. 'y'`"),
        # A wrapper, or a step into the folder where the shell already is.
        ("cd lib && kit run", "cd: no such file or directory: lib", "kit run",
         "What worked: the same without `cd lib &&`, where the shell stood already"),
        # An option in the middle, of a call with a quoted name and one with a long text.
        ('kit ship --title "the depot: a shelf" --label depot --note "all of the shelves are in it now"',
         "there is no such label: depot",
         'kit ship --title "the depot: a shelf" --note "all of the shelves are in it now"',
         "What worked: the same without `--label depot`"),
        # Successful steps and skipped checks are no cure.
        ("sed -i s/a/b/ load.sh && git commit -m 'Load more'", "commit-msg: the subject has no ticket",
         "sed -i s/a/b/ load.sh", "“commit-msg: the subject has no ticket”."),
        ("git add -A && git commit -m 'Load more'", "commit-msg: the subject has no ticket",
         "git commit --no-verify -m 'Load more'", "“commit-msg: the subject has no ticket”."),
    ],
)  # fmt: skip
def test_a_failure_says_last_what_worked(
    memory: Path, fails: str, error: str, instead: str, says: str
) -> None:
    """A failure ends with its cure, quoted safely and briefly, or with nothing if there is none."""
    for name in ("s1", "s2"):
        session(name, call(fails, error=error), call(instead))

    (found,) = told_findings(findings.known("/p"))

    assert found.says.endswith(says)


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (
            "Fatal error: memory is exhausted in kit:///srv/app/kit/walk/a/long/way/down"
            + "/deep" * 25
            + "/walker on line 7",
            "Fatal error: memory is exhausted in kit:///srv/app/kit/walk/scope on line 2231",
            "Fatal error: memory is exhausted in",
        ),
        (
            "lint\nservice \"app\" is not running\nerror: failed to push some refs to 'host:one.git'",
            "service \"app\" is not running\nerror: failed to push some refs to 'host:one.git'",
            'service "app" is not running',
        ),
        # A warning and a check that passed are not what went wrong.
        (
            "Warning: 3 shelves are not empty\ncould not open the shelf named depot",
            "could not open the shelf named depot\nWarning: 2 shelves are not empty",
            "could not open the shelf",
        ),
        (
            "shelves......Passed\nbug: the hook is installed for another shelf\nlabels......Passed",
            "bug: the hook is installed for another shelf\nshelves......Passed",
            "bug: the hook is installed",
        ),
        # PowerShell shows the line with its option, then or before it the message, in any language.
        (
            """In C:\\x\\a.ps1:7 Zeichen:9
+ cd x && kit check --all
+      ~~
Das Zeichen hier trennt keine Befehle.
    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException""",
            """Das Zeichen hier trennt keine Befehle.
At line:1 char:1
+ kit check --all
+ ~~~
    + CategoryInfo          : ObjectNotFound: (x:String) [kit], ItemNotFoundException""",
            "Das Zeichen hier trennt",
        ),
    ],
)
def test_the_line_that_tells_a_failure_is_known_again(memory: Path, one: str, other: str, says: str) -> None:
    """A failure is recognized by its decisive line, whatever the path in it or git's lines about its hook."""
    for name, error in (("s1", one), ("s2", other)):
        session(name, call("kit check --all", error=error), call("kit check --all --more"))

    (found,) = told_findings(findings.known("/p"))

    assert len(found.sessions) == 2
    assert found.error.startswith(says)


REJECTED = call(
    "git push origin main", error="error: remote rejected: pre-push hook declined without a ticket in it"
)
PUSHED = call("git push origin HEAD:main --push-option=ticket.skip")


@pytest.mark.parametrize(
    ("prompt", "is_told"),
    [
        ("push", True),
        ("bitte pushen", True),
        ("commit e push", True),
        ("コミットしてpush", True),
        ("what does the push command of the client do with its second argument?", False),
        ("run the linter", False),
        ("rework the parser of push options", False),
    ],
)
def test_a_bare_command_is_told_what_failed_of_it(memory: Path, prompt: str, *, is_told: bool) -> None:
    """A prompt that only asks for a command is shown how it failed in two sessions; other prompts are not."""
    session("s1", REJECTED, PUSHED)
    session("s2", REJECTED, PUSHED)

    block = blocks.for_prompt(Searcher(by_meaning=False), "/p", prompt, session_id="s3")

    assert ("git push origin main` failed in 2 sessions" in block.text) == is_told
    assert block.tokens <= failure.BUDGET_TOKENS


def test_a_pasted_error_is_told_what_worked(memory: Path) -> None:
    """A pasted error that a session met gets its cure, even after a log's timestamp; others get nothing."""
    session("s1", REJECTED, PUSHED)
    log = "CI is red:\n\n2026-03-10T08:31:44.01Z {}\nI don't get it"
    error = "error: remote rejected: pre-push hook declined without a ticket in it"
    ask = {"session_id": "s2"}

    known = blocks.for_prompt(Searcher(by_meaning=False), "/p", log.format(error), **ask)
    other = blocks.for_prompt(Searcher(by_meaning=False), "/p", log.format("error: disk full"), **ask)

    assert "What worked: `git push origin HEAD:main --push-option=ticket.skip`" in known.text
    assert "What worked" not in other.text


def asked(prompt: str, *, session_id: str = "s3", shown: Shown | None = None) -> builder.ContextBlock:
    """Return the block for a prompt."""
    return blocks.for_prompt(Searcher(by_meaning=False), "/p", prompt, session_id=session_id, shown=shown)


def test_a_bare_command_is_told_once_a_session(memory: Path) -> None:
    """A session that was shown a failure is not shown it again."""
    session("s1", REJECTED, PUSHED)
    session("s2", REJECTED, PUSHED)
    first, shown = asked("push"), Shown()
    shown.ids |= {line.id for each in first.sections for line in each.lines}

    assert (bool(first.text), asked("push", shown=shown).text) == (True, "")


def test_a_bare_command_that_failed_once_or_works_again_is_not_told(memory: Path) -> None:
    """A command that failed in one session only, or works again, is not shown."""
    session("s1", REJECTED)
    once = asked("push").text
    session("s2", REJECTED)
    session("s4", call("git push origin main"))

    assert "This has failed before" not in once + asked("push").text
