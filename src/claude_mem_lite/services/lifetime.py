"""Decide when the services end by themselves: after idle time, or for another version."""

import logging
import os
import signal
import time

from claude_mem_lite import installed, settings
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.services import agents, instance, process_states
from claude_mem_lite.services.programs import NAMES
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import facts, migrations, queries

log = logging.getLogger(__name__)

_MINUTE_S = 60


def look(*, now: float | None = None) -> str:
    """Stop idle services, or restart them after an upgrade; return "stop", "restart" or "" for neither.

    They stop, too, if a newer version has changed the schema. Only supervisord is told to stop: launchd and
    systemd were chosen to keep them running. This does not wait for the end, which includes this process.
    """
    now = time.time() if now is None else now
    kind = agents.installed()
    if installed.is_changed():
        log.info("the package has changed: the services start anew")
        if kind is None:
            process_states.ask("restart" if installed.stamp() else "shutdown")
        else:
            for name in reversed(NAMES):
                if (pid := instance.pid_of(name)) and instance.is_running(name):
                    os.kill(pid, signal.SIGTERM)
        return "restart"
    if kind is not None:
        return ""
    if migrations.schema() > len(migrations.MIGRATIONS):
        log.error("another installation has upgraded the schema beyond this version: the services stop")
    elif is_idle(settings.load(), now=now):
        log.info("nobody has needed the services: they stop until the next session")
    else:
        return ""
    process_states.ask("shutdown")
    return "stop"


def is_idle(chosen: Settings, *, now: float) -> bool:
    """Tell whether nothing has happened for as long as the settings say, and nothing is left to do."""
    idle_s = chosen.idle_stop_minutes * _MINUTE_S
    if not idle_s:
        return False
    until = inbox.utc_text(now)
    started_at = facts.read("consumer").get("started_at", "")
    # A time after now is of a clock that was set back since: it does not tell how long ago that was.
    latest = max(queries.last_event_at(until=until), started_at if started_at <= until else "")
    if now - inbox.unix_time(latest) < idle_s or _web_idle_s() < idle_s:
        return False
    return not queries.has_work(now=time.time())  # work that is due later does not count


def _web_idle_s() -> float:
    try:
        answer = client.get("/api/health", {}, timeout_s=2)
    except client.UnreachableError:
        return float("inf")
    return float(answer["idle_s"]) if answer else 0.0
