"""Track the processes of tests: which tests start one, by code and at run time, and which are left."""

import contextlib
import functools
import inspect
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.fake_messages import serving

OURS = ("conftest", "support", "test_")
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}

_started: list[str] = []


def starts_process(item: pytest.Function) -> bool:
    """Return whether a test or its fixtures start a process or server, or it is marked `meaning`."""
    fixtures = [found[-1].func for found in item._fixtureinfo.name2fixturedefs.values()]
    code = map(reaches_subprocess, (item.function, *fixtures))
    return item.get_closest_marker("meaning") is not None or any(code)


def watch() -> None:
    """Record every process start in this process from here on; an audit hook cannot be removed."""
    sys.addaudithook(lambda event, given: _started.append(str(given[:2])) if event in STARTS else None)


def started() -> list[str]:
    """Return the process starts since the last call."""
    found = _started.copy()
    _started.clear()
    return found


def left_running(mark: str, *, timeout_s: float = 10) -> dict[int, str]:
    """Return pid and command of the processes with `mark` in their environment that outlive the timeout."""
    deadline = time.monotonic() + timeout_s
    while (found := _running(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


@functools.cache
def reaches_subprocess(function: Callable[..., Any]) -> bool:
    """Return whether a function's code names subprocess, a server, or something of ours that does."""
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        if value is subprocess or value is serving:
            return True
        module = str(getattr(value, "__module__", ""))
        if id(value) not in seen and module.startswith(OURS) and module != __name__:
            seen.add(id(value))
            waiting += _named_by(value)
    return False


def _named_by(value: Any) -> Iterator[Any]:
    """Yield the globals that a function or a class's methods name, and named members of our modules."""
    if isinstance(value, type):
        yield from vars(value).values()
        return
    drawn_for = getattr(value, "hypothesis", None)
    function = inspect.unwrap(drawn_for.inner_test if drawn_for else value)
    names = set(_names(getattr(function, "__code__", None)))
    known = getattr(function, "__globals__", {})
    for found in (known[name] for name in names if name in known):
        yield found
        if isinstance(found, types.ModuleType) and found.__name__.startswith(OURS):
            yield from (getattr(found, name) for name in names if hasattr(found, name))


def _names(code: types.CodeType | None) -> Iterator[str]:
    if code is not None:
        yield from code.co_names
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from _names(constant)


def _running(mark: str) -> dict[int, str]:
    """Find them in /proc, or with ps where there is none; both show a process as it was started."""
    if not os.path.isdir("/proc/self"):
        shown = subprocess.run(
            ["ps", "axeww", "-o", "pid=,command="], capture_output=True, text=True, check=True, timeout=60
        )
        lines = (line.split(None, 1) for line in shown.stdout.splitlines() if mark in line)
        return {int(pid): command for pid, command in lines if int(pid) != os.getpid()}
    found = {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            environment, command = (Path("/proc", pid, name).read_bytes() for name in ("environ", "cmdline"))
            if mark.encode() in environment:
                found[int(pid)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found
