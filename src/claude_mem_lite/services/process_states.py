"""Ask which services run, and which code they are: light enough for `status`, which waits for its imports."""

from typing import Any, NamedTuple

from claude_mem_lite import config, installed
from claude_mem_lite.services import agents, instance, supervisor_calls
from claude_mem_lite.services.programs import NAMES

_ANSWER_S = 10.0


class Program(NamedTuple):
    """A service as supervisord sees it: `state` is its word (RUNNING, STARTING, BACKOFF, …) or DOWN."""

    name: str
    state: str
    pid: int | None
    uptime_s: int


def programs() -> list[Program]:
    """Return both services with what supervisord says of them, or whether launchd or systemd runs them."""
    if agents.installed():
        return [_unsupervised(name) for name in NAMES]
    known = {row["name"]: row for row in ask("getAllProcessInfo") or []}
    found = []
    for name in NAMES:
        row = known.get(name)
        if row is None:
            found.append(Program(name, "DOWN", None, 0))
        else:
            running = row["statename"] == "RUNNING"
            uptime_s = row["now"] - row["start"] if running else 0
            found.append(Program(name, row["statename"], row["pid"] or None, uptime_s))
    return found


def _unsupervised(name: str) -> Program:
    pid = instance.pid_of(name) if instance.is_running(name) else None
    return Program(name, "RUNNING" if pid else "DOWN", pid, instance.uptime_s(name) if pid else 0)


def outdated() -> list[str]:
    """Return the services that run other code than this installation has."""
    running = [name for name in NAMES if instance.is_running(name)]
    if not running:
        return []
    code = installed.expected() or installed.started()
    return [name for name in running if instance.code_of(name) != code]


def told_of(old: list[str]) -> str:
    """Return what is wrong with services that are outdated, in words."""
    return f"{' and '.join(old)} run other code than this installation, {installed.PACKAGE}"


def ask(method: str, *arguments: Any) -> Any:
    """Call supervisord, or return None when it does not run, False when it refuses, as while it ends."""
    try:
        path = f"{config.home()}/supervisor.sock"
        return supervisor_calls.call(path, method, *arguments, timeout_s=_ANSWER_S)
    except supervisor_calls.FaultError:
        return False
    except OSError:
        return None
