"""Lock the vectors for one writer at a time: the consumer step by step, or a whole reembed."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from claude_mem_lite import config, locks
from claude_mem_lite.errors import ClaudeMemError

# Who looks whether a run is alive holds its lock for microseconds.
_TRIES, _PAUSE_S = 20, 0.01
_RUN = "reembed.lock"


def step(*, wait: bool = False) -> AbstractContextManager[bool]:
    """Hold the lock on what search reads; without `wait` give False when another has it."""
    return locks.hold("embed.lock", wait=wait)


@contextlib.contextmanager
def run() -> Iterator[Callable[[str], None]]:
    """Be the only run of reembed; yield what says of which model (by its key) vectors are being made.

    The key stays behind when the run is cut short: nobody is to drop what the next one goes on with. A run
    that is through says "". Raises: ClaudeMemError when another one is at work.
    """
    with open(_run_path(), "a", encoding="utf-8") as lock:
        if not _taken(lock.fileno()):
            raise ClaudeMemError(
                "another claude-mem reembed is at work: wait until it is through, or stop it"
            )

        def say(key: str) -> None:
            lock.truncate(0)
            lock.write(key)
            lock.flush()

        yield say


def in_the_making() -> str:
    """Return the key of the model whose vectors a run is making, or has left half made; "" for none."""
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
