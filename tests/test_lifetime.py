"""Test when services end by themselves, and the files for launchd and systemd."""

import json
import os
import plistlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.hooks import run_hook, tool_event
from support.processes import STARTED, alive, claude_mem, finished, is_queue_empty, wait_until

from claude_mem_lite import installed, settings
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.services import agents, instance, lifetime, process_states, programs
from claude_mem_lite.storage import facts, models, queries

HALF_AN_HOUR_S = 30 * 60


def down() -> bool:
    """Return whether no service runs."""
    return not any(map(instance.is_running, programs.NAMES))


@pytest.mark.usefixtures("services")
def test_the_services_stay_while_they_may_be_needed(home: Path) -> None:
    """Services stay for half an hour after the last event or question to the web process."""
    models.open_databases(read_only=True)
    now, later = time.time(), time.time() + HALF_AN_HOUR_S + 60
    wait_until(is_queue_empty)

    early = lifetime.look(now=now + HALF_AN_HOUR_S / 2)
    web_was_asked = lifetime.look(now=later)  # the web process was asked a moment ago

    assert (early, web_was_asked) == ("", "")
    assert not down()


def test_who_is_idle_is_told_by_events_work_and_settings(memory: Path) -> None:
    """Idle means no event for half an hour and no work left; a setting of 0 never stops the services."""
    chosen, now = settings.load(), time.time() + 3_600

    idle = lifetime.is_idle(chosen, now=now)
    event_id = inbox.append(json.dumps(tool_event()), "/p")
    with_work = lifetime.is_idle(chosen, now=now)
    inbox.finish(event_id)
    with inbox.Transaction() as connection:
        connection.execute("DELETE FROM task")
    after = lifetime.is_idle(chosen, now=now)
    (memory / "config.toml").write_text("[services]\nidle_stop_minutes = 0\n")

    assert (idle, with_work, after) == (True, False, True)
    assert not lifetime.is_idle(chosen, now=time.time() + 60)
    assert not lifetime.is_idle(settings.load(), now=now)


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("at", ["2099-01-01T00:00:00.000000Z", "not-a-time"])
def test_a_time_from_the_future_keeps_no_services_running(at: str) -> None:
    """A time yet to come, of an event or the consumer's start, or text that is none, does not count."""
    chosen, now = settings.load(), time.time()
    inbox.finish(inbox.append(json.dumps(tool_event()), "/p"))
    inbox.finish(inbox.append(json.dumps(tool_event()), "/p"))
    with inbox.Transaction() as connection:
        connection.execute("DELETE FROM task")
        connection.execute("UPDATE pending_queue SET created_at = ? WHERE seq = 2", (at,))
    facts.write("consumer", {"started_at": at})

    early = lifetime.is_idle(chosen, now=now + HALF_AN_HOUR_S - 60)
    later = lifetime.is_idle(chosen, now=now + HALF_AN_HOUR_S + 60)

    assert (early, later) == (False, True)


@pytest.mark.usefixtures("services")
def test_an_idle_memory_is_stopped_and_a_prompt_starts_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle services stop without leaving work, and the next prompt starts them again."""
    monkeypatch.setattr(lifetime, "_web_idle_s", lambda: float("inf"))
    models.open_databases(read_only=True)
    later = time.time() + HALF_AN_HOUR_S + 60

    wait_until(lambda: lifetime.look(now=later) == "stop")  # "" while work of the start is left
    wait_until(down)
    (home / "config.toml").write_text("")
    event = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on"}
    run_hook("user_prompt_submit", event)

    wait_until(lambda: all(program.state == "RUNNING" for program in process_states.programs()))
    wait_until(lambda: queries.queue_stats()["done"] == 1)


@pytest.mark.usefixtures("services")
def test_an_upgrade_starts_both_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the package on disk changes, both programs restart from it."""
    before = {program.pid for program in process_states.programs()}
    monkeypatch.setattr(installed, "_started", ["another", ""])

    done = lifetime.look()

    assert done == "restart"
    wait_until(
        lambda: (
            all(program.state == "RUNNING" for program in process_states.programs())
            and before.isdisjoint({program.pid for program in process_states.programs()})
        ),
        timeout_s=60,
    )


@pytest.mark.usefixtures("services")
def test_the_web_process_says_how_long_nobody_asked() -> None:
    """The web process reports its idle time; health checks do not count as use."""

    def idle_s() -> float:
        answer = client.get("/api/health", {}, timeout_s=5)
        return float(answer["idle_s"])

    first = idle_s()
    time.sleep(0.3)
    second = idle_s()
    client.get("/api/queue/stats", {}, timeout_s=5)

    assert second >= first + 0.3
    assert idle_s() < second


def test_two_data_directories_do_not_meet(home: Path, tmp_path: Path) -> None:
    """Services of two data directories run side by side, and `down` stops only its own."""
    other = Path(f"{home}-b")
    try:
        for folder in (home, other):
            folder.mkdir(exist_ok=True)
            done = claude_mem("up", "-q", CLAUDE_MEM_HOME=str(folder))
            assert done.returncode == 0, done.stderr
        pids = {program.pid for program in process_states.programs()}

        assert claude_mem("down", "-q", CLAUDE_MEM_HOME=str(other)).returncode == 0

        assert pids == {program.pid for program in process_states.programs()}
        assert all(program.state == "RUNNING" for program in process_states.programs())
    finally:
        claude_mem("down", "-q")
        shutil.rmtree(other, ignore_errors=True)


def pids(home: Path) -> set[int]:
    """Return the process ids of supervisord and both services of a data directory."""
    programs_ = {program.pid for program in process_states.programs() if program.pid}
    return {*programs_, int((home / "supervisord.pid").read_text())}


@pytest.fixture
def old(home: Path) -> Iterator[set[int]]:
    """Start the services, and kill those that a test leaves."""
    assert claude_mem("up").stdout == STARTED
    started = pids(home)
    yield started
    for pid in filter(alive, started):
        os.kill(pid, signal.SIGKILL)


def empty(folder: Path) -> None:
    """Delete a folder's content while services may still write to it."""
    while any(folder.iterdir()):
        for path in folder.iterdir():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def test_services_of_a_folder_that_was_deleted_leave_nothing(home: Path, old: set[int]) -> None:
    """If the data directory is deleted all three processes end and do not create it again."""
    shutil.rmtree(home.rename(f"{home}-gone"))
    wait_until(lambda: not any(map(alive, old)), timeout_s=20)
    is_left = home.exists()
    home.mkdir(exist_ok=True)

    assert not is_left


@pytest.mark.parametrize("deleted", ["the folder", "what is in it"])
def test_services_of_a_deleted_folder_end_and_new_ones_start(home: Path, old: set[int], deleted: str) -> None:
    """After the data directory was deleted `up` and `down` work there, and the old processes end."""
    empty(home)
    if deleted == "the folder":
        home.rmdir()

    started = claude_mem("up")
    new = pids(home)
    wait_until(lambda: not any(map(alive, old)), timeout_s=20)
    answers = client.get("/api/health", {}, timeout_s=5)
    stopped = claude_mem("down")

    assert (started.returncode, started.stdout, started.stderr) == (0, STARTED, "")
    assert len(new) == 3
    assert new.isdisjoint(old)
    assert answers is not None
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "Services stopped.\n", "")
    wait_until(lambda: not any(map(alive, new)), timeout_s=20)


def test_down_ends_a_service_without_a_supervisor(consumer: Callable[[], subprocess.Popen[bytes]]) -> None:
    """`down` ends a service that was started without `up`."""
    process = consumer()
    wait_until(lambda: instance.pid_of("consumer") == process.pid)

    stopped = claude_mem("down")

    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "Services stopped.\n", "")
    assert process.wait(timeout=20) == 0


def test_the_programs_are_those_of_supervisord(home: Path) -> None:
    """The programs' commands, variables and stop times come from supervisord's configuration."""
    consumer, web = programs.programs()

    assert consumer.command[:4] == (sys.executable, "-I", "-m", "huey.bin.huey_consumer")
    assert consumer.environment == {"CLAUDE_MEM_HOME": str(home), "TZ": "UTC", "MALLOC_ARENA_MAX": "2"}
    assert web.command == (sys.executable, "-I", "-m", "claude_mem_lite.web")
    assert (consumer.stop_wait_s, web.stop_wait_s) == (25, 10)
    assert web.log_path == str(home / "logs" / "web.out")


@pytest.mark.parametrize("name", ["plain", 'a b%c"d$e\\f é'])
def test_a_launchd_agent_is_a_property_list_that_runs_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A launchd agent's file has command, data directory and mask, whatever the folder is called."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(tmp_path / name))

    for program in programs.programs():
        read = plistlib.loads(agents.text("launchd", program))
        assert read["ProgramArguments"] == list(program.command)
        assert read["EnvironmentVariables"]["CLAUDE_MEM_HOME"] == str(tmp_path / name)
        assert (read["Umask"], read["KeepAlive"], read["RunAtLoad"]) == (0o077, True, True)
        assert agents.file_name("launchd", program) == f"{read['Label']}.plist"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", ["plain", 'a b%c"d$e é'])
def test_systemd_takes_the_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """`systemd-analyze verify` accepts the units, whatever the folder is called."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(tmp_path / name))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for program in programs.programs():
        (tmp_path / agents.file_name("systemd", program)).write_bytes(agents.text("systemd", program))

    done = finished("systemd-analyze", "--user", "--man=no", "verify", *map(str, tmp_path.glob("*.service")))

    assert (done.returncode, done.stderr) == (0, "")


def test_service_says_who_runs_them_and_refuses_what_is_not_there(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`service status` names supervisord; without launchctl or systemctl install fails in one line."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    said, as_json = claude_mem("service", "status"), claude_mem("service", "status", "--json")
    refused = claude_mem("service", "install")
    nothing = claude_mem("service", "uninstall")

    assert (said.returncode, said.stdout.splitlines()[0]) == (1, "run by supervisord")
    assert json.loads(as_json.stdout)["run_by"] == "supervisor"
    assert refused.returncode == nothing.returncode == 1
    assert "there is no " in refused.stderr
    assert "neither launchd nor systemd" in nothing.stderr
    assert not (tmp_path / "Library").exists()
    assert not (tmp_path / ".config").exists()
    assert down()


def test_a_system_that_takes_the_units_runs_them(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With systemctl, `service` installs, reports and uninstalls units, and `up` and `down` use them."""
    binaries, units = tmp_path / "bin", tmp_path / "systemd" / "user"
    binaries.mkdir()
    (binaries / "systemctl").write_text(SYSTEMCTL.format(python=sys.executable))
    (binaries / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    installed = claude_mem("service", "install")
    running = [program.state for program in process_states.programs()]
    asked = json.loads(claude_mem("service", "status", "--json").stdout)
    stopped, gone = claude_mem("down"), down()
    started = claude_mem("up")
    removed = claude_mem("service", "uninstall")

    assert (installed.returncode, installed.stderr) == (0, "")
    assert running == ["RUNNING", "RUNNING"]
    assert (asked["run_by"], len(asked["files"])) == ("systemd", 2)
    assert stopped.stderr == ""
    assert (stopped.stdout, gone, started.stdout) == ("Services stopped.\n", True, STARTED)
    assert removed.returncode == 0
    wait_until(down)
    assert list(units.iterdir()) == []


SYSTEMCTL = """#!{python}
import json, os, pathlib, shlex, signal, subprocess, sys
folder = pathlib.Path(os.environ["XDG_CONFIG_HOME"], "systemd", "user")
verb, names = sys.argv[2], [name for name in sys.argv[3:] if not name.startswith("-")]
for name in names:
    unit, pid_file = folder / name, folder.parent / (name + ".pid")
    lines = [line.partition("=")[::2] for line in unit.read_text().splitlines() if "=" in line]
    if verb == "enable":
        given = [shlex.split(value)[0] for key, value in lines if key == "Environment"]
        environment = dict(each.split("=", 1) for each in given)
        program = shlex.split(dict(lines)["ExecStart"])
        command = ["/bin/sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *program]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env={{**os.environ, **environment}})
        pid_file.write_text(process.stdout.readline().decode())
    elif pid_file.exists():
        os.kill(int(pid_file.read_text()), signal.SIGTERM)
        pid_file.unlink()
"""
