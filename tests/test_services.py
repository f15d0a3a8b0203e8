"""The services under their supervisor, driven by the commands."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from support.hooks import run_hook, tool_event
from support.processes import RESTARTED, RUNNING, STARTED, alive, claude_mem, finished, wait_until

from claude_mem_lite import __version__, config
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import memory_state, process_states, supervise
from claude_mem_lite.storage import models, queries

pytestmark = pytest.mark.usefixtures("claude_dir")


def test_a_tool_call_becomes_memory(services: Path) -> None:
    """A hook's event can be searched over the socket and appears in the next start block."""
    response = {"stdout": "2 failed, 3 passed in 0.1s\nFAILED tests/test_a.py::test_otter - assert 1 == 2"}
    run_hook("post_tool_use", tool_event(tool_input={"command": "pytest -q"}, tool_response=response))

    found = wait_until(
        lambda: (client.get("/api/search", {"q": "test_otter"}, timeout_s=5) or {}).get("results")
    )
    event = {"session_id": "s2", "hook_event_name": "SessionStart", "source": "startup"}
    printed = run_hook("session_start", event)

    assert found[0]["tool_name" if "tool_name" in found[0] else "kind"] in {"Bash", "observation"}
    output = json.loads(printed.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert found[0]["id"][:8] in output["additionalContext"]


def test_status_asks_the_web_process(services: Path) -> None:
    """With the web process up, status loads no database library and reports the same state."""
    asked = finished(sys.executable, "-X", "importtime", "-m", "claude_mem_lite.cli", "status")
    read = memory_state.read()

    assert "memory\t" in asked.stdout
    assert "services.state" in asked.stderr
    for heavy in ("peewee", "typer", "rich", "dataclasses"):
        assert f" {heavy}\n" not in asked.stderr
    answered = client.get("/api/status", {}, timeout_s=5)
    assert answered is not None
    assert answered | {"bytes": {}} == read | {"bytes": {}}


def test_up_and_down_are_idempotent_and_leave_nothing(services: Path) -> None:
    """Repeated up and down change nothing more, and down leaves no process."""
    pids = [program.pid for program in process_states.programs()]

    outputs = [claude_mem(command).stdout for command in ("up", "down", "down", "up")]

    assert outputs == [RUNNING, "Services stopped.\n", "Services were not running.\n", STARTED]
    assert [alive(pid) for pid in pids if pid] == [False, False]


def test_up_waits_for_services_that_end(services: Path) -> None:
    """`up` waits for a supervisor that is shutting down, then starts new services."""
    before = {program.pid for program in process_states.programs()}
    process_states.ask("shutdown")

    done = claude_mem("up")

    assert (done.returncode, done.stdout, done.stderr) == (0, STARTED, "")
    assert before.isdisjoint({program.pid for program in process_states.programs()})


def test_restart_replaces_both_processes(services: Path) -> None:
    """Restart replaces both processes, and the new ones answer."""
    before = {program.pid for program in process_states.programs()}

    done = claude_mem("restart")

    assert (done.returncode, done.stdout) == (0, RESTARTED)
    assert before.isdisjoint({program.pid for program in process_states.programs()})
    assert client.get("/api/health", {}, timeout_s=5) is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_service_that_ends_comes_back(services: Path, number: int) -> None:
    """The supervisor restarts a service that is terminated or killed."""
    before = {program.name: program.pid for program in process_states.programs()}
    for pid in before.values():
        assert pid is not None
        os.kill(pid, number)

    wait_until(
        lambda: all(p.state == "RUNNING" and p.pid != before[p.name] for p in process_states.programs())
    )

    assert wait_until(supervise._web_answers)


def test_status_survives_what_it_shows(home: Path) -> None:
    """Status reports a damaged database and prints markup-like text without failing."""
    claude_mem("search", "x")
    models.open_databases()
    event_id = inbox.append(json.dumps(tool_event()), "/p")
    inbox.finish(event_id, status="error", note="KeyError: [/x]")
    models.close_databases()
    shown = claude_mem("status")
    (home / "queue.db").write_bytes(b"no database " * 1000)
    damaged = claude_mem("status")

    assert (shown.returncode, damaged.returncode) == (1, 1)
    assert "KeyError: [/x] → claude-mem doctor --fix tries it again" in shown.stdout
    assert "move it aside" in damaged.stdout
    assert shown.stderr + damaged.stderr == ""


def test_no_service_outlives_a_killed_supervisor(services: Path) -> None:
    """Services end if their supervisor is killed, and `up` starts them again."""
    pids = [program.pid for program in process_states.programs() if program.pid]
    os.kill(int((services / "supervisord.pid").read_text()), signal.SIGKILL)

    wait_until(lambda: not any(alive(pid) for pid in pids))

    assert claude_mem("up").stdout == STARTED


def test_status_tells_all_in_text_and_json(services: Path) -> None:
    """Status reports missing hooks with the fix, and exits 1, in text and JSON."""
    text, as_json = claude_mem("status"), claude_mem("status", "--json")

    found = json.loads(as_json.stdout)
    assert (text.returncode, as_json.returncode) == (1, 1)
    assert found["problems"] == ["hooks not installed: claude-mem install-hooks"]
    states = {name: service["state"] for name, service in found["services"].items()}
    assert states == {"consumer": "RUNNING", "web": "RUNNING"}
    assert (found["version"], found["home"]) == (__version__, str(services))
    assert found["problems"][0] in text.stdout
    assert found["bytes"]["queue.db"] > 0
    assert "queue.db" in next(line for line in text.stdout.splitlines() if line.startswith("sizes"))
    assert (found["hooks"], found["hooks_run_by"]) == ({}, [])


def test_everything_in_the_data_directory_is_the_users_alone(services: Path) -> None:
    """No other user can read a file, pipe or socket of ours."""
    run_hook("post_tool_use", tool_event("Read"))
    wait_until(lambda: (models.open_databases(read_only=True), queries.queue_stats()["done"])[1])

    modes = {path.name: path.stat().st_mode & 0o077 for path in services.rglob("*") if path.exists()}

    assert {name for name, mode in modes.items() if mode} <= {"config.toml"}


def test_a_session_start_starts_the_services(home: Path) -> None:
    """A session's start starts stopped services in the background."""
    (home / "config.toml").unlink()

    run_hook("session_start", {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"})

    wait_until(lambda: all(program.state == "RUNNING" for program in process_states.programs()))
    assert claude_mem("down").stdout == "Services stopped.\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [("50%", "cannot use a path with a %"), ("d" * 100, "set CLAUDE_MEM_HOME to a shorter path")],
)
def test_a_data_directory_that_cannot_serve_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    """A path that supervisord or a socket cannot use is refused with the way out."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(home / name))

    with pytest.raises(ClaudeMemError, match=says):
        supervise.up()


@pytest.mark.process
def test_why_the_supervisor_does_not_start_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed start reports supervisord's own error, not its usage hint."""
    monkeypatch.setattr(supervise, "CONF", str(home / "gone.conf"))

    with pytest.raises(ClaudeMemError, match=r"supervisord did not start: .*could not find config file"):
        supervise.up()


def test_a_data_directory_may_have_spaces_and_umlauts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Services start and stop in a path with spaces and accents."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(home / "my mémoire"))

    assert claude_mem("up").stdout == STARTED
    assert claude_mem("down").stdout == "Services stopped.\n"


@pytest.mark.parametrize("command", [["up"], ["status"], ["search", "x"], ["install-hooks"]])
def test_a_foreign_database_stops_every_command(home: Path, command: list[str]) -> None:
    """Another program's database stops every command with one line, untouched."""
    Path(config.memory_path()).write_bytes(b"SQLite format 3\0" + b"\1" * 200)
    before = sorted(home.rglob("*"))

    done = claude_mem(*command)

    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "another program's database" in done.stderr
    assert "CLAUDE_MEM_HOME" in done.stderr
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        (["serach"], 2, "No such command"),
        (["search"], 2, "Missing argument"),
        (["search", "x", "--limit", "0"], 2, "--limit"),
        (["search", "x"], 1, "nothing is remembered yet"),
        (["search", ""], 2, "give a word to search for"),
        (["project", "off", "/no/such/folder"], 1, "there is no folder /no/such/folder"),
        (["down"], 0, "Services were not running."),
        (["--version"], 0, f"claude-mem {__version__}"),
    ],
)
def test_a_command_says_what_is_wrong(home: Path, command: list[str], status: int, says: str) -> None:
    """Wrong usage exits 2, a failed request 1, each with its reason."""
    done = claude_mem(*command)

    assert done.returncode == status
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
