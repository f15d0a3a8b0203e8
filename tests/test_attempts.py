"""Tests which failed commands are still open."""

from dataclasses import dataclass

import pytest
from support import cases

from claude_mem_lite.distill.attempts import SESSIONS_OPEN, failure, open_failures, removed_files

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
    """`exit` only passes a status on; a look that found nothing is no failure."""
    assert _open(_bad(command)) == filed_under


def test_a_later_success_of_the_command_alone_settles_it() -> None:
    """What failed as `X || exit 1` is settled by X."""
    assert _open(_bad("make test || exit 1"), _ok("make test")) == []
    assert _open(_bad("make test || exit 1"), _ok("make lint")) == ["make test"]


def test_a_failed_probe_is_open_until_its_host_answers_or_the_work_goes_on() -> None:
    """The same program with the same host settles it, and so does a commit, or much other work."""
    commit = _ok("git commit -qm x", title="Commit “x” as 1a2b3c4")

    assert _open(_bad(CURL)) == ["curl localhost"]
    assert _open(_bad(CURL), OTHER) == ["curl localhost"]
    assert _open(_bad(CURL), _ok("curl -sf http://localhost:8000/api")) == []
    assert _open(_bad(CURL), _ok("curl http://localhost:9000/")) == ["curl localhost"]
    assert _open(_bad("nc -z localhost 8000"), _ok("nc -z localhost 8001")) == ["nc localhost"]
    assert _open(_bad(CURL), commit) == []
    assert _open(_bad(CURL), *[OTHER] * 10) == []


def test_what_sends_something_is_no_probe() -> None:
    """A failed POST stays open while the session goes on."""
    post = "curl -X POST -d @release.json https://api.example.com/releases"

    assert _open(_bad(post), *[OTHER] * 12) == ["curl"]


def test_a_later_session_settles_what_it_has_done_itself() -> None:
    """A success in a later session counts, whatever failed there before."""
    push = _bad("git push", "fatal: no upstream")

    assert _open(push, later=((OTHER,), (push, _ok("git push -u origin main")))) == []
    assert _open(push, later=((OTHER,), (push,))) == ["git push"]


def test_a_failure_ages_by_the_sessions_that_do_without_it() -> None:
    """A probe is settled by the next session, another command after some of them, unless it fails again."""
    push = _bad("git push", "fatal: no upstream")
    sessions = ((OTHER,),) * SESSIONS_OPEN

    assert _open(_bad(CURL), later=((OTHER,),)) == []
    assert _open(_bad(CURL), later=((_bad(CURL),),)) == ["curl localhost"]
    assert _open(push, later=sessions[1:]) == ["git push"]
    assert _open(push, later=sessions) == []
    assert _open(push, later=(*sessions[1:], (push,))) == ["git push"]


def test_a_file_that_was_written_again_is_not_removed() -> None:
    """Removed is what commands removed, and nothing wrote since."""
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
    """An error that begins with its program's name is not introduced by it; without an error, the command."""
    row = _Ran(f"Ran `{command}`. Failed with exit code {code}.", title)

    failed = failure(row)

    assert failed is not None
    assert failed.error == told


@pytest.mark.parametrize(
    ("error", "blamed"),
    [("b.go:3: declared and not used: x", "make build"), ("error: conflict in stash entry", "git stash")],
)
def test_what_git_does_around_a_command_is_not_what_failed(error: str, blamed: str) -> None:
    """A stash before and after a build, unless git itself complains."""
    assert _open(_bad("git stash && make build; git stash pop", error)) == [blamed]
