"""What both services are: alone in their data directory, and gone when their supervisor or a database is."""

from __future__ import annotations

import contextlib
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
    os.truncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())


def is_running(name: str) -> bool:
    """Tell whether a service of that name is alive."""
    return locks.is_held(f"{name}.lock")


def pid_of(name: str) -> int | None:
    """Return the process that holds, or held last, the lock of a service."""
    try:
        with open(os.path.join(config.home(), f"{name}.lock"), encoding="ascii") as lock:
            return int(lock.read())
    except (OSError, ValueError):
        return None


def uptime_s(name: str) -> int:
    """Return how long ago a service took its lock."""
    try:
        return max(0, round(time.time() - os.stat(os.path.join(config.home(), f"{name}.lock")).st_mtime))
    except OSError:
        return 0


def stop_when_orphaned(*, poll_s: float = 1.0) -> None:
    """Send this process SIGTERM, its graceful stop, as soon as its parent or a database has changed.

    A file that was deleted or moved away stays open: whoever went on with it would see nothing of what the
    hooks write to the new one.
    """
    parent = os.getppid()

    def watch() -> None:
        seen: dict[str, int] = {}
        while os.getppid() == parent and seen.items() <= (files := _databases()).items():
            seen = files
            time.sleep(poll_s)
        for path in sorted(path for path in seen if seen[path] != files.get(path)):
            log.error("%s was deleted or replaced meanwhile: starting anew with what is there", path)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="orphan-watch", daemon=True).start()


def _databases() -> dict[str, int]:
    """Return the inode of each database that is there, by path."""
    found = {}
    for path in (config.memory_path(), config.queue_path()):
        with contextlib.suppress(OSError):
            found[path] = os.stat(path).st_ino
    return found
