"""Describe the memory for `claude-mem status`: queue, rows, search, what Claude wrote, and damage.

The web process answers, as it has the libraries loaded; if it is down, the command reads the databases.
"""

import dataclasses
import os
import time
from typing import Any

from claude_mem_lite import config, keys, settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import damage, facts, files, ledger, models, projects, queries, rebuild, rewrites
from claude_mem_lite.storage import learnings as learning_rows

_TOLD_S = 7 * 24 * 3600
_looked: dict[str, Any] = {}


def read() -> dict[str, Any]:
    """Open the databases and return `state`; without a memory return only the parts that need none."""
    if not os.path.exists(config.memory_path()):
        return _always()
    models.open_databases(read_only=True)
    found = state()
    models.close_databases()
    return found


def state() -> dict[str, Any]:
    """Return each part by its name, and why a part cannot be read. Needs open databases."""
    found = {**_always(), "unreadable": ""}
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
            cure = "claude-mem doctor looks for the cause" if os.path.exists(path) else "claude-mem up"
            found["unreadable"] = f"{path} cannot be read ({error}): {cure}"
    return found


def _always() -> dict[str, Any]:
    """Return the parts that need no open database: sizes, a problem of the settings, damaged files."""
    return {"bytes": files.sizes(), "settings_problem": settings.problem(), "damaged": _damaged()}


def _damaged() -> list[str]:
    """Return `damage.told`, cached until a file changes, because it reads the files as a whole."""
    looks = [os.stat(path) for path in files.paths() if os.path.exists(path)]
    files_are = tuple((look.st_ino, look.st_mtime_ns, look.st_size) for look in looks)
    if _looked.get("at") != files_are:
        _looked.update(at=files_are, found=list(damage.told()))
    return list(_looked["found"])


def _rebuild() -> dict[str, Any] | None:
    """Return how far the rebuild of a lost claude-mem.db is; None without one."""
    found = rebuild.state()
    return {**dataclasses.asdict(found), "told": found.told} if found else None


def _moved() -> dict[str, str] | None:
    """Return the last project whose folder was found moved, if that was in the last week."""
    found = projects.moved()
    return found if found and inbox.unix_time(found["at"]) > time.time() - _TOLD_S else None


def about_key() -> str:
    """Return in one line which key the running consumer uses for Claude, and how to change that."""
    models.open_databases(read_only=True)
    source = facts.read("consumer").get("credential", "")
    models.close_databases()
    return keys.about(source, settings.load().api_key_from)


def _claude() -> dict[str, Any]:
    """Return the model and key, how much Claude has written, what waits, today's cost, and any pause."""
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
            "cure": "claude-mem doctor --fix tries it again",
        }
        for row in queries.last_errors()
    ]
