"""Locks that allow one vector writer at a time: a step of the consumer, or a whole reembed."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from claude_mem_lite import config, locks
from claude_mem_lite.errors import ClaudeMemError

# A process that checks whether a run is alive holds the run's lock for microseconds.
_TRIES, _PAUSE_S = 20, 0.01
_RUN = "reembed.lock"


def step(*, wait: bool = False) -> AbstractContextManager[bool]:
    """Hold the lock on the vectors that search reads; without `wait` yield False if it is taken."""
    return locks.hold("embed.lock", wait=wait)


@contextlib.contextmanager
def run() -> Iterator[Callable[[str], None]]:
    """Hold the lock for a run of reembed; yield a function that records the key of the run's model.

    An interrupted run leaves its key behind, so that its vectors are not dropped before the next run resumes.
    A finished run records "". Raises: ClaudeMemError when another run is at work.
    """
    with open(_run_path(), "a", encoding="utf-8") as lock:
        if not _taken(lock.fileno()):
            raise ClaudeMemError(
                "another claude-mem reembed is running: try again when it has finished, or stop it"
            )

        def say(key: str) -> None:
            lock.truncate(0)
            lock.write(key)
            lock.flush()

        yield say


def in_the_making() -> str:
    """Return the key of the model whose vectors a run is making, or has left incomplete; "" for none."""
    try:
        with open(_run_path(), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def is_run_of(key: str) -> bool:
    """Tell whether a run is at work on a model's vectors."""
    return in_the_making() == key and locks.is_held(_RUN)


def _taken(lock: int) -> bool:
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_PAUSE_S)
    return False


def _run_path() -> str:
    return os.path.join(config.home(), _RUN)
