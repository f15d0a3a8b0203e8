"""Build the Huey instance on queue.db, and mark events whose task fails for good."""

import sqlite3

from huey.api import Task
from huey.signals import SIGNAL_ERROR

from claude_mem_lite.capture import inbox
from claude_mem_lite.services import instance
from claude_mem_lite.storage import DatabaseError
from claude_mem_lite.tasks.broker import ClaimHuey

instance.end_if_moved()  # before queue.db is created
huey = ClaimHuey()

# Retries 5, 10 and 20 s after a failure; then the row is in error.
RETRIES = {"retries": 3, "retry_delay": 5, "retry_backoff": 2}


@huey.signal(SIGNAL_ERROR)
def give_up(_signal: str, task: Task, error: Exception) -> None:
    """Mark the row of an event whose last attempt failed.

    A fault of the disk or of a database says nothing about the event: its row stays raw, and the
    periodic task tries again.
    """
    if task.retries or task.name != "compress" or isinstance(error, (OSError, sqlite3.Error, DatabaseError)):
        return
    inbox.finish(task.args[0], status="error", note=f"{type(error).__name__}: {error}")
