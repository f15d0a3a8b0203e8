"""Lock files in the data directory between processes; a lock is released when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from claude_mem_lite import config

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def hold(name: str, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock of this name and yield True; without `wait`, yield False at once if another holds it."""
    with open(os.path.join(config.home(), name), "a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def is_held(name: str) -> bool:
    """Tell whether a living process holds a lock; a zombie process holds none.

    The lock file is not created: there may be no data directory yet.
    """
    try:
        lock = open(os.path.join(config.home(), name), "rb")  # noqa: SIM115  (closed below)
    except FileNotFoundError:
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so two checks do not block each other
        except BlockingIOError:
            return True
    return False
