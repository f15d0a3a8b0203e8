"""Describe the installation: services, queue, memory, cost and hooks, and what is wrong with it."""

import contextlib
import os
from typing import Any

from claude_mem_lite import __version__, config
from claude_mem_lite.capture import client, spool
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install, other_clients, plugin, process_states

_ANSWER_S = 2.0
# What the user can do about a pause; an outage passes by itself.
_MENDABLE = {
    "setup": "fix that, then claude-mem restart",
    "budget": "waiting work continues at 00:00 UTC, or raise [claude] daily_budget_usd",
}


def state() -> dict[str, Any]:
    """Return all that `claude-mem status` shows; `problems` has a line for each that the user can mend."""
    programs = process_states.programs()
    found: dict[str, Any] = {
        "version": __version__,
        "home": config.home(),
        "services": {
            program.name: {"state": program.state, "pid": program.pid, "uptime_s": program.uptime_s}
            for program in programs
        },
        "sleeping": False,
        **dict.fromkeys(("queue", "memory", "learnings", "search", "claude")),
        "last_errors": [],
        **dict.fromkeys(("rebuild", "moved")),
        "spooled": len(spool.waiting()),
        "lost": len(spool.lost_files()),
        "bytes": {},
        "hooks": {},
        "hooks_run_by": [],
        "clients": {},
        "plugin": None,
        "settings_problem": "",
        "unreadable": "",
        "damaged": [],
        "problems": [],
    }
    old = process_states.outdated()
    found |= _memory(may_ask=not old)
    found["lost"] += found["queue"]["lost"] if found["queue"] else 0
    hooks_problem = _look_at_hooks(found)
    is_down = all(service["state"] == "DOWN" for service in found["services"].values())
    has_hooks = bool(found["hooks"] or any(found["clients"].values()))
    # Not a problem: the hook of the next session starts them.
    found["sleeping"] = is_down and config.autostart() and has_hooks
    found["problems"] = _problems(found, old, hooks_problem)
    return found


def _memory(*, may_ask: bool) -> dict[str, Any]:
    """Return the state of the memory from the web process, or read it here."""
    if may_ask:
        with contextlib.suppress(client.UnreachableError):
            if found := client.get("/api/status", {}, timeout_s=_ANSWER_S):
                return found
    from claude_mem_lite.services import memory_state

    return memory_state.read()


def _look_at_hooks(found: dict[str, Any]) -> str:
    """Fill in the registered hooks and what runs them; return what is wrong with them, "" for nothing."""
    installed = plugin.enabled(install.claude_dir())
    found["plugin"] = installed.plugin_id if installed else None
    try:
        found["hooks"] = install.registered_events()
        found["hooks_run_by"] = sorted(set(map(install.interpreter, found["hooks"].values())))
        found["clients"] = {each.name: other_clients.registered(each) for each in other_clients.here()}
        twice = install.registered_twice()
    except ClaudeMemError as error:
        return str(error)
    if twice:
        return f"{twice}: claude-mem uninstall-hooks"
    if not found["hooks"] and not any(found["clients"].values()):
        return "hooks not installed: claude-mem install-hooks"
    others = (command for each in found["clients"].values() for command in each.values())
    run_by = [*found["hooks_run_by"], *map(install.interpreter, others)]
    gone = [path for path in run_by if not _can_run(path)]
    cure = "put Python on the PATH" if installed else "claude-mem install-hooks"
    return f"the hooks are run by {gone[0]}, which is missing or not executable: {cure}" if gone else ""


def _can_run(program: str) -> bool:
    if os.path.isabs(program):
        return os.access(program, os.X_OK)
    import shutil

    return shutil.which(program) is not None


def _problems(found: dict[str, Any], old: list[str], hooks_problem: str) -> list[str]:
    """Return one line for each problem that the user can mend, with its cure."""
    problems = [*filter(None, [found["settings_problem"]]), *found["damaged"]]
    unwritable, cure = config.unwritable()
    if unwritable:
        problems.append(f"{unwritable}: {cure}")
    elif found["unreadable"] and not found["damaged"]:
        problems.append(found["unreadable"])
    down_now = [name for name, service in found["services"].items() if service["state"] != "RUNNING"]
    if down_now and not (found["sleeping"] or unwritable):
        problems.append(f"{' and '.join(down_now)} not running: claude-mem up")
    if old:
        problems.append(f"{process_states.told_of(old)}: claude-mem up")
    if hooks_problem:
        problems.append(hooks_problem)
    if found["search"] and found["search"]["problem"] and found["search"]["setting"] != "none":
        problems.append("no search by meaning: see claude-mem model list")
    paused = found["claude"] and found["claude"]["paused"]
    if paused and paused["kind"] in _MENDABLE:
        problems.append(f"Claude writes nothing: {paused['reason']}; {_MENDABLE[paused['kind']]}")
    if found["rebuild"] and not found["rebuild"]["at"]:
        problems.append(f"{found['rebuild']['told']}: claude-mem restart")
    if found["queue"] and found["queue"]["set_aside"]:
        problems.append(f"{found['queue']['set_aside']} messages set aside: see claude-mem doctor")
    return problems
