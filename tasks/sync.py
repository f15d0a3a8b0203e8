"""sync: have a process of its own sync with the hub that is set up, if one is."""

from __future__ import annotations

import logging
import subprocess
import sys

from huey import crontab

from claude_mem_lite import config
from claude_mem_lite.sync import setup
from claude_mem_lite.tasks.app import huey

log = logging.getLogger(__name__)


def sync_in_background() -> bool:
    """Start a sync, unless no hub is set up; return whether one was started.

    In a process of its own: a slow hub keeps no worker waiting, and to forget what another machine has
    forgotten it stops the consumer for the moment. One that finds another at work ends at once.
    """
    if not setup.is_set_up():
        return False
    command = [sys.executable, "-I", "-m", "claude_mem_lite.cli", "sync", "--quiet"]
    subprocess.Popen(
        command,
        cwd=config.home(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # `sync status` says what went wrong
        start_new_session=True,
    )
    return True


@huey.periodic_task(crontab(minute="*/3"))
def sync_now_and_then() -> None:
    """Sync every three minutes."""
    sync_in_background()
