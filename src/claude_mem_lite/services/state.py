"""Describe the installation: services, queue, memory, cost and hooks, and what is wrong with it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from typing import Any

from claude_mem_lite import __version__, config, keys, settings
from claude_mem_lite.capture import inbox, spool
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install, other_clients, plugin, supervise
from claude_mem_lite.storage import damage, facts, ledger, models, projects, queries, rebuild, rewrites
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.sizes import sizes

_TOLD_S = 7 * 24 * 3600
# What the user can do about a pause; an outage passes by itself.
_MENDABLE = {
    "setup": "mend it, then claude-mem restart",
    "budget": "what waits goes on at 00:00 UTC, or raise [claude] daily_budget_usd",
}


def state() -> dict[str, Any]:
    """Return all that `claude-mem status` tells; `problems` has a line for each thing the user can mend."""
    programs = supervise.programs()
    found: dict[str, Any] = {
        "version": __version__,
        "home": config.home(),
        "services": {
            program.name: {"state": program.state, "pid": program.pid, "uptime_s": program.uptime_s}
            for program in programs
        },
        "sleeping": False,
        "queue": None,
        "memory": None,
        "learnings": None,
        "search": None,
        "claude": None,
        "last_errors": [],
        "rebuild": None,
        "moved": None,
        "spooled": len(spool.waiting()),
        "lost": len(spool.lost_files()),
        "bytes": sizes(),
        "hooks": {},
        "hooks_run_by": [],
        "clients": {},
        "plugin": None,
        "problems": [],
    }
    if os.path.exists(config.memory_path()):
        models.open_databases(read_only=True)
        for part, ask in (
            ("queue", queries.queue_stats),
            ("memory", queries.counts),
            ("learnings", learning_rows.counts),
            ("search", _search),
            ("claude", _claude),
            ("last_errors", _errors),
            ("rebuild", _rebuild),
            ("moved", _moved),
        ):
            try:
                found[part] = ask()
            except Exception as error:
                if not damage.explains(error):
                    raise
                path = config.queue_path() if part in {"queue", "last_errors"} else config.memory_path()
                cure = (
                    "if it is damaged, move it aside and restart" if os.path.exists(path) else "claude-mem up"
                )
                found["unreadable"] = f"{path} cannot be read ({error}): {cure}"
        models.close_databases()
    found["lost"] += found["queue"]["lost"] if found["queue"] else 0
    hooks_problem = _look_at_hooks(found)
    found["sleeping"] = _is_sleeping(found)
    found["problems"] = _problems(found, hooks_problem)
    return found


def _look_at_hooks(found: dict[str, Any]) -> str:
    """Fill in which hooks are registered, and by whom; return what is wrong with them, "" for nothing."""
    installed = plugin.enabled(install.claude_dir())
    found["plugin"] = installed.plugin_id if installed else None
    try:
        found["hooks"] = install.registered_events()
        found["hooks_run_by"] = sorted(set(map(install.interpreter, found["hooks"].values())))
        found["clients"] = {each.name: other_clients.registered(each) for each in other_clients.here()}
        problem, cure = install.plugin_problem()
    except ClaudeMemError as error:
        return str(error)
    if problem:
        return f"{problem}: {cure}"
    if not found["hooks"] and not any(found["clients"].values()):
        return "hooks not installed: claude-mem install-hooks"
    others = (command for each in found["clients"].values() for command in each.values())
    run_by = [*found["hooks_run_by"], *map(install.interpreter, others)]
    gone = [path for path in run_by if shutil.which(path) is None]
    cure = "put it on the PATH" if installed else "claude-mem install-hooks"
    return f"the hooks are run by {gone[0]}, which is not there: {cure}" if gone else ""


def _is_sleeping(found: dict[str, Any]) -> bool:
    """Tell whether no service runs and that is no fault: the hook of the next session starts them."""
    is_down = all(service["state"] == "DOWN" for service in found["services"].values())
    return is_down and config.autostart() and bool(found["hooks"] or any(found["clients"].values()))


def _rebuild() -> dict[str, Any] | None:
    """Return what is made anew after claude-mem.db was lost, and how far that is."""
    found = rebuild.state()
    return {**dataclasses.asdict(found), "told": found.told} if found else None


def _moved() -> dict[str, str] | None:
    """Return which project's folder was found moved last, for a week."""
    found = projects.moved()
    return found if found and inbox.unix_time(found["at"]) > time.time() - _TOLD_S else None


def about_key() -> str:
    """Return in one line which key the running consumer asks Claude with, and how to change that."""
    models.open_databases(read_only=True)
    source = facts.read("consumer").get("credential", "")
    models.close_databases()
    return keys.about(source, settings.load().api_key_from)


def _claude() -> dict[str, Any]:
    """Return what Claude has written, what waits and why, and what it has cost today."""
    chosen, gate = settings.load(), facts.read("gate")
    source = facts.read("consumer").get("credential", "")
    is_paused = gate.get("until", 0) > time.time()
    return {
        "model": chosen.model,
        "key": source,
        "about_key": keys.about(source, chosen.api_key_from),
        **rewrites.counts(chosen.tiers),
        "spent_today_usd": round(ledger.spent_usd(since=inbox.utc_now()[:10]), 6),
        "daily_budget_usd": chosen.daily_budget_usd,
        "paused": {name: gate[name] for name in ("kind", "reason", "until")} if is_paused else None,
    }


def _search() -> dict[str, Any]:
    from claude_mem_lite.search import inventory

    return inventory.state()


def _errors() -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "tool_name": row.tool_name,
            "note": row.note,
            "cure": "claude-mem doctor --fix tries it once more",
        }
        for row in queries.last_errors()
    ]


def _problems(found: dict[str, Any], hooks_problem: str) -> list[str]:
    """Return one line for each thing the user can mend, with how."""
    problems = list(filter(None, [settings.problem()]))
    damaged = list(damage.told())
    problems += damaged
    if found.get("unreadable") and not damaged:
        problems.append(found["unreadable"])
    down_now = [name for name, service in found["services"].items() if service["state"] != "RUNNING"]
    if down_now and not found["sleeping"]:
        problems.append(f"{' and '.join(down_now)} not running: claude-mem up")
    if old := supervise.outdated():
        problems.append(f"{supervise.told_of(old)}: claude-mem up")
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
