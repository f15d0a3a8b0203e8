"""Keep a service alone in its data directory, and end it with its supervisor or a database."""

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
    """Hold a lock for the life of the process, waiting for a predecessor to end; write pid and code into it.

    An orphan of a killed supervisor ends within seconds; failing at once would make the new supervisor
    give up on us.
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
    """Return the process that holds, or held last, the lock of a service."""
    written = _written(name)
    return int(written[0]) if written else None


def code_of(name: str) -> str:
    """Return the code that a service runs, see `installed`; "" where an older version told none."""
    return "".join(_written(name)[1:2])


def _written(name: str) -> list[str]:
    """Return what stands in the lock of a service: pid and code."""
    try:
        with open(os.path.join(config.home(), f"{name}.lock"), encoding="ascii") as lock:
            found = lock.read().split()
    except (OSError, ValueError):
        return []
    return found if found and found[0].isdigit() else []


def uptime_s(name: str) -> int:
    """Return how long ago a service took its lock."""
    try:
        return max(0, round(time.time() - os.stat(os.path.join(config.home(), f"{name}.lock")).st_mtime))
    except OSError:
        return 0


def end_if_moved() -> None:
    """End at once, and our supervisord too, when the data directory is another than it was started for.

    supervisord works in the data directory, so the folder is its children's working folder even when it was
    deleted. To be called before anything is created: what lies at the path now belongs to others.
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

    A file that was deleted or moved away stays open: whoever went on with it would see nothing of what the
    hooks write to the new one. When the data directory itself is gone or another has its path, or the socket
    by which supervisord is told to stop, supervisord and this process end at once: what they would finish is
    nobody's, and the next `up` knows nothing of them.
    """
    parent = os.getppid()
    # Held open, so that its inode number is not given to the next folder.
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
                "%s was deleted, emptied or replaced meanwhile: starting anew with what is there", path
            )
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="orphan-watch", daemon=True).start()


def _log() -> logging.Logger:
    import logging  # 3 ms, that a command which only asks need not wait

    return logging.getLogger(__name__)


def _is_supervised() -> bool:
    """Tell whether the supervisord of this data directory has started this process."""
    return os.environ.get("SUPERVISOR_SERVER_URL") == f"unix://{config.home()}/supervisor.sock"


def _supervisor_socket() -> tuple[int, int] | None:
    """Return what tells our supervisord's socket from another at its path; None without supervisord."""
    if not _is_supervised():
        return None
    with contextlib.suppress(OSError):
        found = os.stat(os.path.join(config.home(), "supervisor.sock"))
        return found.st_ino, found.st_mtime_ns
    return None


def _end_all() -> NoReturn:
    """End supervisord and this process by force: in peace supervisord deletes what has its paths now."""
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
            if stat.st_size:  # what was emptied is as good as gone
                found[path] = stat.st_ino
    return found
