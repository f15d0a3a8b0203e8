"""sync: start a process that syncs with the hub, if one is set up."""

import logging
import random
import subprocess
import sys
import threading
import time

from huey import crontab

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync import setup
from claude_mem_lite.tasks.app import huey

log = logging.getLogger(__name__)

_LISTENS_FOR_S = 60.0  # before a listener checks that the hub is still the same
_AT_ONCE_S = 1.0  # over which the machines of a team, all notified at once, spread their syncs
_listeners: dict[str, threading.Thread] = {}


def sync_in_background() -> bool:
    """Start a sync, unless no hub is set up; return whether one was started.

    It runs in a process of its own: a slow hub then blocks no worker, and the sync can stop the consumer
    while it forgets what another machine has forgotten. It ends at once if another sync is running.
    """
    hubs = [of for of in (setup.OWN, setup.TEAM) if setup.is_set_up(of)]
    if not hubs:
        return False
    for of in hubs:
        _start_listener(of)
    _start_sync()
    return True


def _start_sync() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-m", "claude_mem_lite.cli", "sync", "--quiet"]
    return subprocess.Popen(
        command,
        cwd=config.home(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # `sync status` says what went wrong
        start_new_session=True,
    )


def _start_listener(of: str) -> None:
    """Start a thread that listens to a hub with notifications, unless one is running.

    A listener that loses its connection ends, and the next sync starts another.
    """
    chosen, before = setup.load(of), _listeners.get(of)
    if chosen is None or not chosen.hub.startswith("postgres:") or (before and before.is_alive()):
        return
    thread = threading.Thread(target=_listen, args=(of, chosen), name=f"{of}-listener", daemon=True)
    _listeners[of] = thread
    thread.start()


def _listen(of: str, chosen: setup.Setup) -> None:
    """Sync whenever another machine has published, as long as this hub is set up."""
    from claude_mem_lite.sync.hubs import Listening, hub_at
    from claude_mem_lite.sync.team.run import project_digests

    try:
        hub = hub_at(chosen.hub, is_team=of == setup.TEAM)
        while isinstance(hub, Listening) and setup.load(of) == chosen:
            projects = project_digests() if of == setup.TEAM else None
            has_news = hub.wait(chosen.machine, timeout_s=_LISTENS_FOR_S, projects=projects)
            if has_news and projects is not None:
                time.sleep(random.uniform(0, _AT_ONCE_S))  # noqa: S311  (no secret)
            if has_news and _start_sync().wait():
                time.sleep(1)  # another sync was at work and may have looked too early
                _start_sync().wait()
    except ClaudeMemError as error:
        log.info("no longer listening to the hub: %s", error)


@huey.periodic_task(crontab(minute="*/3"))
def sync_now_and_then() -> None:
    """Sync every three minutes."""
    sync_in_background()
