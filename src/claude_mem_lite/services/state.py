"""How the whole installation is: services, queue, memory, cost and hooks, and what is wrong with it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from claude_mem_lite import __version__, config, inbox, settings, spool
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import doctor, install, supervise
from claude_mem_lite.storage import DatabaseError, models, queries, upgrades
from claude_mem_lite.storage import learnings as known
from claude_mem_lite.storage.sizes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        "queue": None,
        "memory": None,
        "learnings": None,
        "search": None,
        "claude": None,
        "last_errors": [],
        "spooled": len(spool.waiting()),
        "bytes": sizes(),
        "hooks": {},
        "hooks_run_by": [],
        "problems": [],
    }
    if os.path.exists(config.memory_path()):
        models.open_databases(read_only=True)
        for part, ask in (
            ("queue", queries.queue_stats),
            ("memory", queries.counts),
            ("learnings", known.counts),
            ("search", _search),
            ("claude", _claude),
            ("last_errors", _errors),
        ):
            try:
                found[part] = ask()
            except DatabaseError as error:
                path = config.queue_path() if part in {"queue", "last_errors"} else config.memory_path()
                cure = (
                    "if it is damaged, move it aside and restart" if os.path.exists(path) else "claude-mem up"
                )
                found["unreadable"] = f"{path} cannot be read ({error}): {cure}"
        models.close_databases()
    with contextlib.suppress(ClaudeMemError):
        found["hooks"] = install.registered_events()
        found["hooks_run_by"] = sorted(set(map(install.interpreter, found["hooks"].values())))
    found["problems"] = _problems(found)
    return found


def _claude() -> dict[str, Any]:
    """Return what Claude has written, what waits and why, and what it has cost today."""
    chosen, gate = settings.load(), upgrades.read_state("gate")
    is_paused = gate.get("until", 0) > time.time()
    return {
        "model": chosen.model,
        "key": upgrades.read_state("consumer").get("credential", ""),
        **upgrades.upgrade_counts(chosen.tiers),
        "spent_today_usd": round(upgrades.spent_usd(since=inbox.utc_now()[:10]), 6),
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
            "cure": "claude-mem doctor --fix tries it once more"
            if row.event_name
            else "make room on the disk",
        }
        for row in queries.last_errors()
    ]


def _problems(found: dict[str, Any]) -> list[str]:
    """Return one line for each thing the user can mend, with how."""
    problems = list(filter(None, [settings.problem()]))
    damaged = list(_damaged())
    problems += damaged
    if found.get("unreadable") and not damaged:
        problems.append(found["unreadable"])
    down_now = [name for name, service in found["services"].items() if service["state"] != "RUNNING"]
    if down_now:
        problems.append(f"{' and '.join(down_now)} not running: claude-mem up")
    if not found["hooks"]:
        problems.append("hooks not installed: claude-mem install-hooks")
    gone = [path for path in found["hooks_run_by"] if not os.path.exists(path)]
    if gone:
        problems.append(f"the hooks are run by {gone[0]}, which is not there: claude-mem install-hooks")
    if found["search"] and found["search"]["problem"] and found["search"]["setting"] != "none":
        problems.append("no search by meaning: see claude-mem model list")
    paused = found["claude"] and found["claude"]["paused"]
    if paused and paused["kind"] in _MENDABLE:
        problems.append(f"Claude writes nothing: {paused['reason']}; {_MENDABLE[paused['kind']]}")
    if found["queue"] and found["queue"]["set_aside"]:
        problems.append(f"{found['queue']['set_aside']} messages set aside: see claude-mem doctor")
    return problems


def _damaged() -> Iterator[str]:
    """Yield one line for each database that is damaged, with what to do."""
    for name, path in (("memory", config.memory_path()), ("queue", config.queue_path())):
        with contextlib.suppress(sqlite3.OperationalError):
            if os.path.exists(path) and (damage := doctor.damage(path)):
                yield f"{path} is damaged ({damage}): {doctor.CURES[name]}"
