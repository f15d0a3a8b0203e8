"""Allow one instance of a service per data directory, and end it with its supervisor or a database."""

import contextlib
import fcntl
import logging
import os
import signal
import threading
import time
from typing import NoReturn

from claude_mem_lite import config, installed, locks

_LOOK_AGAIN_S = 1.0


def become_the_only(name: str) -> None:
    """Take a lock for the life of the process, waiting for a predecessor; write pid and code hash into it.

    An orphan of a killed supervisor ends within seconds; failing at once would make the new supervisor
    give up on this service.
    """
    code = installed.started()
    lock = os.open(os.path.join(config.home(), f"{name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _log().warning("another %s serves %s: waiting until it has stopped", name, config.home())
        fcntl.flock(lock, fcntl.LOCK_EX)
    os.truncate(lock, 0)
    os.write(lock, f"{os.getpid()} {code}".encode())


def is_running(name: str) -> bool:
    """Tell whether a service of that name is alive."""
    return locks.is_held(f"{name}.lock")


def pid_of(name: str) -> int | None:
    """Return the pid that holds, or held last, the lock of a service; None if there is none."""
    written = _written(name)
    return int(written[0]) if written else None


def code_of(name: str) -> str:
    """Return the hash of the code that a service runs, see `installed`; "" if it has written none."""
    return "".join(_written(name)[1:2])


def _written(name: str) -> list[str]:
    """Return the words in the lock file of a service: pid and code hash; none if it is unreadable."""
    try:
        with open(os.path.join(config.home(), f"{name}.lock"), encoding="ascii") as lock:
            found = lock.read().split()
    except (OSError, ValueError):
        return []
    return found if found and found[0].isdigit() else []


def uptime_s(name: str) -> int:
    """Return how many seconds ago a service took its lock; 0 if it never did."""
    try:
        return max(0, round(time.time() - os.stat(os.path.join(config.home(), f"{name}.lock")).st_mtime))
    except OSError:
        return 0


def end_if_moved() -> None:
    """End this process and its supervisord at once if the data directory was moved or replaced.

    supervisord runs in the data directory, so its children keep that working folder even if it was deleted.
    Call this before anything is created: what is at the path now belongs to others.
    """
    if not _is_supervised():
        return
    try:
        is_there = os.path.samestat(os.stat(os.curdir), os.stat(config.home())) and _supervisor_socket()
    except OSError:
        is_there = False
    if not is_there:
        _end_all()


def stop_when_orphaned() -> None:
    """Send this process SIGTERM, its graceful stop, as soon as its parent or a database has changed.

    A file that was deleted or moved away stays open: a process that kept using it would miss what hooks write
    to the new one. If the data directory or supervisord's control socket is gone or replaced, supervisord and
    this process end at once: nobody can use what they would finish, and the next `up` cannot find them.
    """
    parent = os.getppid()
    # Kept open, so that its inode number is not reused for the next folder.
    folder = os.stat(os.open(config.home(), os.O_RDONLY))
    supervisor_socket = _supervisor_socket()

    def is_moved() -> bool:
        try:
            is_same = os.path.samestat(folder, os.stat(config.home()))
        except OSError:
            return True
        return not is_same or _supervisor_socket() != supervisor_socket

    def watch() -> None:
        seen: dict[str, int] = {}
        while os.getppid() == parent and seen.items() <= (files := _databases()).items():
            if is_moved():
                _end_all()
            seen = files
            time.sleep(_LOOK_AGAIN_S)
        if is_moved():
            _end_all()
        for path in sorted(path for path in seen if seen[path] != files.get(path)):
            _log().error(
                "%s was deleted, emptied or replaced: restarting with the files that are there now", path
            )
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="orphan-watch", daemon=True).start()


def _log() -> logging.Logger:
    import logging

    return logging.getLogger(__name__)


def _is_supervised() -> bool:
    """Tell whether the supervisord of this data directory has started this process."""
    return os.environ.get("SUPERVISOR_SERVER_URL") == f"unix://{config.home()}/supervisor.sock"


def _supervisor_socket() -> tuple[int, int] | None:
    """Return the inode and time by which to recognize our supervisord's socket; None without supervisord."""
    if not _is_supervised():
        return None
    with contextlib.suppress(OSError):
        found = os.stat(os.path.join(config.home(), "supervisor.sock"))
        return found.st_ino, found.st_mtime_ns
    return None


def _end_all() -> NoReturn:
    """Kill supervisord and this process: a graceful stop would delete the files that have its paths now."""
    # supervisord leads the session that its children are in; an orphan's parent does not.
    supervisor = os.getppid()
    if _is_supervised() and supervisor == os.getsid(0):
        with contextlib.suppress(ProcessLookupError):
            os.kill(supervisor, signal.SIGKILL)
    os._exit(1)


def _databases() -> dict[str, int]:
    """Return the inode of each database that is there, by path."""
    found = {}
    for path in (config.memory_path(), config.queue_path()):
        with contextlib.suppress(OSError):
            stat = os.stat(path)
            if stat.st_size:  # an emptied file counts as gone
                found[path] = stat.st_ino
    return found
