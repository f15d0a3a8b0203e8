"""Shared by fault tests: a small disk, the two programs, and the state of the events.

Not a test by itself.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.services import programs
from support import processes
from support.hooks import run_hook, tool_event

PROJECT = "/home/dev/ledger"


@contextlib.contextmanager
def small_disk(folder: Path, *, size_kb: int) -> Iterator[Path]:
    """Mount a small disk of its own over a folder, with the folder's content."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    there = folder.with_name(f"{folder.name}.before")
    shutil.copytree(folder, there, symlinks=True) if folder.exists() else there.mkdir()
    folder.mkdir(exist_ok=True)
    options = f"size={size_kb}k,mode=700"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode:
        shutil.rmtree(there)
        pytest.skip(f"mount: {mounted.stderr.decode().strip()}")
    try:
        shutil.copytree(there, folder, symlinks=True, dirs_exist_ok=True)
        yield folder
    finally:
        shutil.rmtree(there)
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill a disk to its last byte and return the file that does."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return ballast


@contextlib.contextmanager
def running(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of the two programs as the supervisor would start it."""
    program = next(each for each in programs.programs() if each.name == name)
    environment = {**os.environ, **program.environment}
    with (
        open(program.log_path, "ab") as out,
        processes.running(*program.command, stdout=out, stderr=out, env=environment) as process,
    ):
        yield process


def build(number: int, *, output: str = "") -> dict[str, Any]:
    """Return a tool call that becomes an observation."""
    command = {"command": f"make target-{number}", "description": f"Build target {number}"}
    response = {"stdout": output or f"built {number}\n", "stderr": "", "interrupted": False}
    return tool_event(tool_input=command, tool_response=response)


def say(event: dict[str, Any], hook: str = "post_tool_use") -> None:
    """Run a hook with an event and check that it exits 0 and prints nothing."""
    done = run_hook(hook, event, project_dir=PROJECT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def append(event: dict[str, Any]) -> str:
    """Store an event without a hook process."""
    return inbox.append(json.dumps(event), PROJECT)


def queue() -> dict[str, int]:
    """Return the number of events in each state."""
    return dict(rows(config.queue_path(), "SELECT status, count(*) FROM pending_queue GROUP BY status"))


def rows(path: str, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on a connection of its own, [] where it fails."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.Error:
        return []


def titles() -> list[str]:
    """Return the titles of all observations, in order, without their outcome."""
    found = rows(config.memory_path(), "SELECT title FROM observations ORDER BY title")
    return [title.partition(": “")[0] for (title,) in found]


def logged(folder: Path) -> str:
    """Return the content of all logs of a data directory."""
    return "".join(path.read_text(errors="replace") for path in (folder / "logs").iterdir() if path.is_file())
