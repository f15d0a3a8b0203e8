"""What both services are: alone in their data directory, and gone when their supervisor is."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import threading
import time

from claude_mem_lite import config, locks

log = logging.getLogger(__name__)


def become_the_only(name: str) -> None:
    """Hold a lock for the life of the process, waiting for a predecessor to end.

    An orphan of a killed supervisor ends within seconds; failing at once would make the new supervisor
    give up on us.
    """
    lock = os.open(os.path.join(config.home(), f"{name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.warning("another %s serves %s: waiting until it has stopped", name, config.home())
        fcntl.flock(lock, fcntl.LOCK_EX)


def is_running(name: str) -> bool:
    """Tell whether a service of that name is alive."""
    return locks.is_held(f"{name}.lock")


def stop_when_orphaned(*, poll_s: float = 1.0) -> None:
    """Send this process SIGTERM, its graceful stop, as soon as its parent has changed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(poll_s)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="orphan-watch", daemon=True).start()
