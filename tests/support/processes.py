"""Run the commands, start the services, and wait for them."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from claude_mem_lite import keys
from claude_mem_lite.capture import client, spool
from claude_mem_lite.storage import queries

ABOUT_KEY = f"{keys.about('', keys.NONE)}\n"
STARTED = f"Services started.\n{ABOUT_KEY}"
RUNNING = f"Services are already running.\n{ABOUT_KEY}"
RESTARTED = f"Services restarted.\n{ABOUT_KEY}"


def claude_mem(
    *arguments: str, timeout_s: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does, without a terminal."""
    program = (sys.executable, "-m", "claude_mem_lite.cli")
    everything = {**os.environ, **environment}
    return finished(*program, *arguments, stdin=subprocess.DEVNULL, env=everything, timeout=timeout_s)


def finished(*command: Any, check: bool = False, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return its exit code and text output."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **options)


@contextlib.contextmanager
def running(*command: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program for the length of the block, then kill it."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=60)


def end(process: subprocess.Popen[Any]) -> int:
    """Terminate a program as its supervisor does and return its status."""
    process.terminate()
    return process.wait(timeout=60)


@contextlib.contextmanager
def web_process() -> Iterator[subprocess.Popen[bytes]]:
    """Run a web process on the data directory."""
    with running(sys.executable, "-I", "-m", "claude_mem_lite.web") as process:
        wait_until(web_answers)
        yield process
        assert end(process) in {0, -signal.SIGTERM}


def alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def web_answers() -> bool:
    """Return whether the web process answers."""
    try:
        return client.get("/api/health", {}, timeout_s=1) is not None
    except client.UnreachableError:
        return False


def wait_until(condition: Callable[[], Any], *, timeout_s: float = 120) -> Any:
    """Return the first true value of `condition`, or fail after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)
    return value


def is_queue_empty() -> bool:
    """Return whether queue and spool are empty; on a busy machine hooks write to the spool."""
    return not spool.waiting() and queries.queue_stats()["messages"] == 0
