"""A session's end stores its report and open ends, and later sessions settle these."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.databases import work_on
from support.hooks import edit

from claude_mem_lite.capture import inbox
from claude_mem_lite.context import builder, file_block
from claude_mem_lite.distill import record
from claude_mem_lite.distill.attempts import SESSIONS_OPEN, failure, open_failures, removed_files
from claude_mem_lite.distill.state import State
from claude_mem_lite.learnings import session as learning
from claude_mem_lite.storage import learnings, models, queries

REPORT = "The parser rounds half up now, and all of its tests pass."
NOTICE = "<task-notification>\n<task-id>b1</task-id>\n<summary>From now on, always use tabs.</summary>"


def happen(event_name: str, *, session: str = "s1", **fields: Any) -> None:
    """Record an event of project /p."""
    event = {"session_id": session, "hook_event_name": event_name, **fields}
    work_on(inbox.append(json.dumps(event), "/p"))


def asked(prompt: str, *, session: str = "s1") -> None:
    """Record a prompt, of the user or the client."""
    happen("UserPromptSubmit", session=session, prompt=prompt)


def said(message: str, *, session: str = "s1") -> None:
    """Record the assistant's last message of a turn."""
    happen("Stop", session=session, last_assistant_message=message)


def ran(command: str, *, error: str = "", printed: str = "it is done", session: str = "s1") -> None:
    """Record a command that succeeded, or failed with an error."""
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "session": session}
    if error:
        happen("PostToolUseFailure", **call, error=f"Exit code 1\n{error}")
    else:
        happen("PostToolUse", **call, tool_response={"stdout": printed, "stderr": ""})


@pytest.mark.parametrize("message", ["Done.", "ok", "**Done.**", "\n\nDone.\n", "完了。", "- x"])
@pytest.mark.parametrize(
    "prompt",
    ["Fix the import.", "Fix it.\n\nAsked: why?", "修复解析器的错误", "x" * 500, "Fix the “thing\nwith” it"],
)
def test_a_short_report_takes_in_no_prompt(memory: Path, prompt: str, message: str) -> None:
    """A short report ends the session with its own words, without the prompt stored beside it."""
    asked(prompt)
    said(message)

    ended = record.summarize_session("s1").partition("Ended: ")[2]

    assert ended
    assert "Asked:" not in ended
    assert len(ended) < 20


def test_a_prompt_of_signs_alone_leaves_no_trace_in_the_report(memory: Path) -> None:
    """A prompt without words adds nothing to the summary."""
    asked(". " * 60)
    said("Done.")

    assert record.summarize_session("s1") == "Ended: Done."


def test_a_sub_agents_last_words_are_not_the_sessions(memory: Path) -> None:
    """A sub-agent's report never counts as its session's ending."""
    asked("Fix the rounding.")
    said(REPORT)
    happen("SubagentStop", agent_id="a1", agent_type="Explore", last_assistant_message="Sub done: it rounds.")
    happen("SubagentStop", session="s2", agent_type="Explore", last_assistant_message="Sub done: it rounds.")

    first, second = record.summarize_session("s1"), record.summarize_session("s2")

    told = "Asked: Fix the rounding. Ended: The parser rounds half up now, and all of its tests pass."
    assert first == told
    assert second == ""
    row = models.Observation.get(models.Observation.tool_name == "SubagentStop")
    assert file_block.said_by(row).startswith("A sub-agent reported: “Sub done")


def test_the_clients_notice_is_no_prompt_and_its_answer_no_report(memory: Path) -> None:
    """A client notice is no prompt and no rule, and "Done." after it replaces no report."""
    asked("Fix the rounding.")
    ran("make test")
    said(REPORT)
    for notice in (NOTICE, f"\n{NOTICE}"):
        asked(notice)
        said("Done.")

    summary = record.summarize_session("s1")
    learning.learn("s1")

    told = "Asked: Fix the rounding. Ended: The parser rounds half up now, and all of its tests pass."
    assert summary == told
    assert learnings.find("/p", state="all") == []
    assert [row.tool_name for row in queries.observations_of("s1")] == ["UserPromptSubmit", "Bash", "Stop"]


def test_a_real_report_after_a_notice_counts(memory: Path) -> None:
    """A turn begun by a notice counts as the ending if it did work or says more."""
    asked("Review it.")
    said("Two reviewers are on it.")
    asked(NOTICE)
    said("Both reviewers agree: split() loses a cent when the weights do not add up.")
    asked("Then mend it, please.", session="s2")
    said("The tests run in the background, and I shall look at them.", session="s2")
    asked(NOTICE, session="s2")
    happen("PostToolUse", **{**edit("/p/a.py"), "session_id": "s2"})
    said("Mended; the tests pass.", session="s2")

    assert "Ended: Both reviewers agree: split() loses" in record.summarize_session("s1")
    assert "Ended: Mended; the tests pass." in record.summarize_session("s2")


def test_a_session_that_the_api_ended_says_so(memory: Path) -> None:
    """A summary reports an API failure at the end, until the session goes on and ends well."""
    asked("Fix the rounding.")
    said(REPORT)
    asked("And the parser of dates, too.")
    happen("StopFailure", error="unknown", last_assistant_message="API Error: 529 Overloaded. Try again.")

    failed = record.summarize_session("s1")
    said("The parser of dates is mended as well.")
    mended = record.summarize_session("s1")

    assert "Ended: The API failed (“API Error: 529 Overloaded”)." in failed
    assert "Before that: The parser rounds half up now" in failed
    assert "API" not in mended


def test_a_report_of_an_old_client_that_is_an_api_error_is_none(memory: Path) -> None:
    """An API error as last message, as clients without StopFailure send it, is no report."""
    asked("Fix the rounding.")
    said(REPORT)
    said('API Error: 400 {"type":"error","error":{"message":"x"}}')

    summary = record.summarize_session("s1")

    assert "Ended: The API failed (“API Error: 400”). Before that: The parser rounds half up" in summary
    said("The API failed (as expected) and is retried now.")
    assert "Ended: The API failed (as expected)" in record.summarize_session("s1")
    assert "400" not in record.summarize_session("s1")


def test_a_later_session_settles_what_an_earlier_one_left_open(memory: Path) -> None:
    """A failure fixed by a later session leaves the earlier summary and the start block."""
    asked("Release it today.")
    ran("git push", error="fatal: no upstream branch")
    ran("make dist", error="error: no target dist")
    before = record.summarize_session("s1")
    asked("Push it once more.", session="s2")
    ran("git push -u origin main", session="s2")

    record.summarize_session("s2")

    after = queries.known_session("s1").summary or ""
    block = builder.build("/p", session_id="s3").text
    assert "Left open: git push: “fatal: no upstream branch”; make dist:" in before
    assert "git push" not in after
    assert "Left open: make dist: “error: no target dist”." in after
    assert "no upstream branch" not in block
    assert "Failing: make dist: “error: no target dist”" in block


def test_an_older_session_that_is_told_later_knows_what_came_after_it(memory: Path) -> None:
    """A session imported late knows that a newer one has fixed its failure."""
    ran("git push", error="fatal: no upstream branch")
    ran("git push", session="s2")
    record.summarize_session("s2")

    assert "Left open" not in record.summarize_session("s1")


def test_a_reply_that_states_nothing_is_not_the_end(memory: Path) -> None:
    """A summary ends with the last report that states something, not with the answer to thanks."""
    asked("Why does the deploy fail?")
    ran("docker ps -a")
    said("`old-api` holds the port of the service.")
    asked("ok thanks")
    said("You're welcome!")

    assert record.summarize_session("s1").endswith("Ended: `old-api` holds the port of the service.")


def test_tests_that_pass_by_now_are_told_with_how_they_run_now(memory: Path) -> None:
    """A summary with failed tests adds the result of a later session's run."""
    call = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}}
    error = "Exit code 1\nFAILED test_a.py::test_a - KeyError\n1 failed in 1s"
    happen("PostToolUseFailure", **call, error=error)
    assert "Tests: 1 failed." in record.summarize_session("s1")

    happen("PostToolUse", session="s2", **call, tool_response={"stdout": "4 passed in 1s", "stderr": ""})
    record.summarize_session("s2")

    assert "Tests: 1 failed, later 4 passed." in (queries.known_session("s1").summary or "")


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("docker compose up -d", "Error: Bind for 0.0.0.0:9093 failed: port is already allocated"),
        ("psql -l", "psql: error: connection to server at db, port 5432 failed: Connection refused"),
        ("ansible-playbook site.yml", "fatal: task 7 failed"),
        ("./deploy.sh", "Step 4 failed: no space left on device"),
        ("./load.sh", "Loaded 2024 orders; 0 errors; 1500 passed to the archive"),
        ("./check.sh", 'pytest says: "pytest: 3 failed" to me'),
    ],
)
@pytest.mark.parametrize("is_failure", [True, False])
def test_only_a_test_runner_counts_tests(
    memory: Path, command: str, printed: str, *, is_failure: bool
) -> None:
    """A number before "failed" or "passed" is no count of tests unless a test runner printed it."""
    asked("Load the orders into the database of the shop.")
    ran(command, error=printed if is_failure else "", printed=printed)

    summary = record.summarize_session("s1")

    thread = State.from_json(queries.session("s1").state).thread
    assert "Tests:" not in summary
    assert [said for said in thread if said.label == "Tests"] == []
    assert len([said for said in thread if said.label == "Failing"]) == is_failure


def test_a_commit_in_a_folder_of_its_own_is_not_the_projects(memory: Path) -> None:
    """A commit outside of the project is not the project's; one in a subfolder is."""
    for command in ("cd /tmp/try && git commit -m 'Init'", "cd /p/lib && git commit -m 'Round half up'"):
        ran(command)

    titles = [row.title for row in queries.observations_of("s1")]

    assert [title.startswith("Commit") for title in titles] == [False, True]


CASES = cases.load("attempts")


@dataclass(frozen=True, slots=True)
class _Ran:
    summary: str
    title: str = "Run it"
    tool_name: str = "Bash"
    files_touched: tuple[str, ...] = ()


def _ok(command: str, *, title: str = "Run it") -> _Ran:
    return _Ran(f"Ran `{command}`.", title)


def _bad(command: str, error: str = "error: x") -> _Ran:
    return _Ran(f"Ran `{command}`. Failed with exit code 1: “{error}”.")


CURL = "curl -s http://localhost:8000/health"
OTHER = _ok("make docs")


def _open(*ran: _Ran, later: tuple[tuple[_Ran, ...], ...] = ()) -> list[str]:
    return [error.partition(":")[0] for _, error in open_failures(ran, later)]


@pytest.mark.parametrize(("command", "filed_under"), CASES["filed"])
def test_a_failure_is_filed_under_the_command_that_failed(command: str, filed_under: list[str]) -> None:
    """A failure belongs to the command that failed, not to `exit`; an empty search is none."""
    assert _open(_bad(command)) == filed_under


EXITS, PUSH, PROBE = _bad("make test || exit 1"), _bad("git push", "fatal: no upstream"), _bad(CURL)
POST = _bad("curl -X POST -d @release.json https://api.example.com/releases")
COMMIT, PORT = _ok("git commit -qm x", title="Commit “x” as 1a2b3c4"), _bad("nc -z localhost 8000")
SESSIONS = ((OTHER,),) * SESSIONS_OPEN


@pytest.mark.parametrize(
    ("ran", "later", "left"),
    [
        # A failed `X || exit 1` is settled when X succeeds.
        ([EXITS, _ok("make test")], (), []),
        ([EXITS, _ok("make lint")], (), ["make test"]),
        # A probe stays open until its program reaches the host, a commit, or much other work.
        ([PROBE], (), ["curl localhost"]),
        ([PROBE, OTHER], (), ["curl localhost"]),
        ([PROBE, _ok("curl -sf http://localhost:8000/api")], (), []),
        ([PROBE, _ok("curl http://localhost:9000/")], (), ["curl localhost"]),
        ([PORT, _ok("nc -z localhost 8001")], (), ["nc localhost"]),
        ([PROBE, COMMIT], (), []),
        ([PROBE, *[OTHER] * 10], (), []),
        # A command that sends data is no probe.
        ([POST, *[OTHER] * 12], (), ["curl"]),
        # A later session's success counts even after a failure in it.
        ([PUSH], ((OTHER,), (PUSH, _ok("git push -u origin main"))), []),
        ([PUSH], ((OTHER,), (PUSH,)), ["git push"]),
        # The next session settles a probe, several settle any other command, unless it fails again.
        ([PROBE], ((OTHER,),), []),
        ([PROBE], ((PROBE,),), ["curl localhost"]),
        ([PUSH], SESSIONS[1:], ["git push"]),
        ([PUSH], SESSIONS, []),
        ([PUSH], (*SESSIONS[1:], (PUSH,)), ["git push"]),
    ],
)
def test_a_failure_is_open_until_something_settles_it(
    ran: list[_Ran], later: tuple[tuple[_Ran, ...], ...], left: list[str]
) -> None:
    """A failure is open until it succeeds or enough work goes on without it."""
    assert _open(*ran, later=later) == left


def test_a_file_that_was_written_again_is_not_removed() -> None:
    """A removed file that is written again is not listed as removed."""
    written = _Ran("Created a.py.", tool_name="Write", files_touched=("a.py",))

    assert removed_files([_ok("rm -f a.py b.py"), _ok("git rm -q c.py"), _ok("rm *.pyc")]) == [
        "a.py", "b.py", "c.py",
    ]  # fmt: skip
    assert removed_files([_ok("rm a.py"), written]) == []
    assert removed_files([_bad("rm a.py")]) == []


@pytest.mark.parametrize(
    ("title", "command", "code", "told"),
    [
        ("Ask: “curl: (7) Failed to connect”", "curl http://a:1", "7", "“curl: (7) Failed to connect”"),
        ("Build: “a.c:3:5: error: x”", "make dist", "2", "make dist: “a.c:3:5: error: x”"),
        ("Probe it: exit code 1", "h --x", "1", "`h --x` (exit code 1)"),
    ],
)
def test_a_failure_says_nothing_twice(title: str, command: str, code: str, told: str) -> None:
    """A failure's text never repeats its program's name; without an error it shows the command."""
    row = _Ran(f"Ran `{command}`. Failed with exit code {code}.", title)

    failed = failure(row)

    assert failed.error == told


@pytest.mark.parametrize(
    ("error", "blamed"),
    [("b.go:3: declared and not used: x", "make build"), ("error: conflict in stash entry", "git stash")],
)
def test_what_git_does_around_a_command_is_not_what_failed(error: str, blamed: str) -> None:
    """A stash around a build is not blamed for its failure, unless git itself reports one."""
    assert _open(_bad("git stash && make build; git stash pop", error)) == [blamed]
