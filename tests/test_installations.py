"""Test several installations with one data directory: real processes of each, and whose code serves."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from support.hooks import run_hook
from support.processes import ABOUT_KEY, RUNNING, STARTED, alive, claude_mem, finished, wait_until

from claude_mem_lite import config, installed, keys
from claude_mem_lite.capture import client
from claude_mem_lite.services import lifetime, process_states
from claude_mem_lite.storage import migrations, models

REPLACED = f"Services restarted, with this code and this environment.\n{ABOUT_KEY}"
START = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}


class Installation:
    """A copy of the package in its own environment; `edit` makes it another commit."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "src" / "claude_mem_lite"
        shutil.copytree(installed.PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        venv.create(folder / "venv", symlinks=True)
        self.python = str(folder / "venv" / "bin" / "python")
        (found,) = (folder / "venv").glob("lib/python*/site-packages")
        libraries = [path for path in sys.path if path.endswith("site-packages")]
        (found / "here.pth").write_text("\n".join([str(self.package.parent), *libraries]))

    def edit(self, name: str, before: str, after: str) -> None:
        """Replace text in one of its files."""
        text = (self.package / name).read_text()
        assert before in text
        (self.package / name).write_text(text.replace(before, after, 1))

    def mark(self, word: str) -> None:
        """Make its web process report this word as its status."""
        self.edit("web/app.py", '"status": "ok"', f'"status": "{word}"')

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run its command."""
        command = (self.python, "-m", "claude_mem_lite.cli", *arguments)
        return finished(*command, timeout=120, env={**os.environ, **environment})

    def run_hook(self) -> None:
        """Run its session start hook."""
        hook = [self.python, "-I", "-S", str(self.package / "hooks" / "session_start.py")]
        subprocess.run(hook, input=json.dumps(START).encode(), capture_output=True, check=True, timeout=60)

    def start_session(self) -> None:
        """Run its session start hook and the `up` that this hook may run."""
        self.run_hook()
        self.run("up", "--quiet", **{keys.STARTED_BY: "hook"})


@pytest.fixture
def other(tmp_path: Path) -> Installation:
    """Return an installation with the same code as this one."""
    return Installation(tmp_path / "other")


@pytest.fixture
def running(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """Start this installation's services as its user, and return their process ids."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    started = claude_mem("up")
    assert (started.returncode, started.stdout) == (0, STARTED)
    yield pids()
    assert claude_mem("down", "--quiet").returncode == 0


def pids() -> set[int]:
    """Return the process ids of both services."""
    return {program.pid for program in process_states.programs() if program.pid}


def health() -> dict[str, Any]:
    """Return the web process's answer about its health."""
    with suppress(client.UnreachableError):
        return client.get("/api/health", {}, timeout_s=10) or {}
    return {}


def test_up_after_an_upgrade_replaces_what_is_old(running: set[int], other: Installation) -> None:
    """After an upgrade `up` migrates and replaces the services, and older code cannot take over again."""
    other.mark("newer")
    other.edit("storage/migrations.py", "MIGRATIONS: tuple[str, ...] = (\n", "_BEFORE = (\n")
    with (other.package / "storage" / "migrations.py").open("a") as file:
        file.write("\n\nMIGRATIONS = (*_BEFORE, 'ALTER TABLE sessions ADD COLUMN mood TEXT;\\n')\n")

    before = health()
    replaced, again = other.run("up"), other.run("up")
    new, after = pids(), health()
    older = claude_mem("up")
    installed.claim()
    hook = up_as_hook()

    assert (before["status"], after["status"]) == ("ok", "newer")
    assert (replaced.returncode, replaced.stderr) == (0, "")
    assert (replaced.stdout, again.stdout) == (REPLACED, RUNNING)
    assert (before["schema"] + 1, migrations.schema()) == (after["schema"], after["schema"])
    assert before["code"] != after["code"]
    assert not any(map(alive, running))
    assert (older.returncode, hook) == (1, 1)
    assert "upgrade claude-mem-lite" in older.stderr
    assert pids() == new


def up_as_hook() -> int:
    """Run `up` as this installation's hook does and return its status."""
    return claude_mem("up", "--quiet", **{keys.STARTED_BY: "hook"}).returncode


def test_equal_code_in_two_environments_is_left_alone(running: set[int], other: Installation) -> None:
    """A second environment with equal code replaces nothing, by `up`, session start or doctor."""
    done = other.run("up")
    other.start_session()

    assert (done.returncode, done.stdout) == (0, RUNNING)
    assert pids() == running
    assert "other code" not in other.run("status").stdout


def test_what_the_user_did_last_wins_over_hooks(running: set[int], other: Installation, home: Path) -> None:
    """The installation that the user last ran `up` or install-hooks with serves, whoever's sessions start."""
    (home / "config.toml").unlink()
    other.mark("other")

    other.start_session()
    after_its_hook = (health()["status"], pids())
    assert other.run("install-hooks", "--client", "2.1.50").returncode == 0
    other.start_session()
    after_install = health()["status"]
    mine = pids()
    assert up_as_hook() == 0
    after_my_hook = pids()
    assert claude_mem("up").returncode == 0

    assert (after_its_hook, after_install) == (("ok", running), "other")
    assert (after_my_hook, health()["status"]) == (mine, "ok")


def test_a_sessions_start_replaces_services_of_older_code(home: Path, other: Installation) -> None:
    """When the package on disk changes, the next session restarts the services, which keep their key."""
    (home / "config.toml").unlink()
    key = {"ANTHROPIC_API_KEY": "sk-ant-test", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    other.run("up", "--with-key", **key)
    other.mark("upgraded")
    try:
        before = health()["status"]
        other.run_hook()
        wait_until(lambda: health().get("status") == "upgraded")
        again = other.run("up").stdout
    finally:
        other.run("down")

    assert before == "ok"
    assert again.splitlines() == ["Services are already running.", keys.about(keys.WITH_KEY, keys.NONE)]


def test_services_that_tell_no_code_are_old(running: set[int], home: Path) -> None:
    """Services of a version that records no code count as old for doctor, status and `up`."""
    for lock in (home / "consumer.lock", home / "web.lock"):
        lock.write_text(lock.read_text().split()[0])

    doctor, status = claude_mem("doctor"), claude_mem("status")
    cured = claude_mem("doctor", "--fix")

    said = f"consumer and web run other code than this installation, {installed.PACKAGE}"
    assert said in doctor.stdout
    assert f"{said}: claude-mem up" in status.stdout
    assert f"{said}  (cured)" in cured.stdout
    assert pids().isdisjoint(running)


def test_services_stop_when_a_newer_version_has_changed_the_schema(running: set[int]) -> None:
    """Services stop and stay down when a newer version has migrated the schema and no newer code is here."""
    models.open_databases()
    models.memory_database.execute_sql("PRAGMA user_version = 99")
    models.close_databases()

    done = lifetime.look()
    wait_until(lambda: not any(map(alive, running)))
    refused = claude_mem("up")
    with closing(sqlite3.connect(config.memory_path())) as connection:
        connection.execute(f"PRAGMA user_version = {len(migrations.MIGRATIONS)}")

    assert (done, refused.returncode) == ("stop", 1)
    assert "has schema 99" in refused.stderr


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("200 OK\r\nx-claude-mem-code: {code}", ""),
        ("204 No Content\r\nx-claude-mem-code: {code}", ""),
        ("200 OK\r\nx-claude-mem-code: another", "up --quiet hook\n"),
        ("200 OK", "up --quiet hook\n"),
        ("503 Service Unavailable\r\nx-claude-mem-code: {code}", "up --quiet hook\n"),
    ],
)
def test_a_sessions_start_brings_up_what_is_old_or_in_error(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, said: str
) -> None:
    """The start hook runs `up` if the web process answers with an error, other code or none."""
    called = tmp_path / "called"
    (tmp_path / "claude-mem").write_text(f'#!/bin/sh\necho "$@ $CLAUDE_MEM_STARTED_BY" > {called}\n')
    (tmp_path / "claude-mem").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(tmp_path))
    (home / "config.toml").unlink()
    installed.claim()
    os.mkfifo(config.doorbell_path())
    bell = os.open(config.doorbell_path(), os.O_RDWR)
    head = f"HTTP/1.1 {answer.format(code=installed.code())}\r\n\r\n".encode()

    with answering(head):
        done = run_hook("session_start", START)
    os.close(bell)

    assert (done.returncode, done.stderr) == (0, b"")
    if said:
        assert wait_until(lambda: called.exists() and called.read_text()) == said
    else:
        time.sleep(0.5)  # a shell may take this long to start
        assert not called.exists()


@contextmanager
def answering(answer: bytes) -> Iterator[None]:
    """Answer the first request at the web process's socket."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(config.socket_path())
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield
    thread.join(timeout=10)
    listener.close()


@pytest.mark.parametrize(
    ("left", "command"),
    [
        ("", "pip install"),
        ("uv-receipt.toml", "uv tool install"),
        ("pipx_metadata.json", "pipx install --force"),
    ],
)
def test_an_extra_is_installed_as_the_package_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str, command: str
) -> None:
    """An extra comes from the clone, by the installer of the environment and from the folder it took."""
    if left:
        (tmp_path / left).touch()
    whole = installed.with_extras("browse", "sync", prefix=str(tmp_path))
    about = tmp_path / "claude_mem_lite-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: claude-mem-lite\nVersion: 0.1.0\n")
    (about / "direct_url.json").write_text('{"url": "file:///home/dev/clone/small", "dir_info": {}}')
    monkeypatch.syspath_prepend(tmp_path)

    assert whole == f"in the clone, {command} '.[browse,sync]'"
    assert installed.with_extras("claude", prefix="/") == "in the clone, pip install './small[claude]'"
    assert (
        installed.with_extras("browse", prefix=str(tmp_path)) == f"in the clone, {command} './small[browse]'"
    )
    assert installed.with_extras(prefix=str(tmp_path)) == f"in the clone, {command} './small'"
