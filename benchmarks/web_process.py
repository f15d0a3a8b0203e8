"""Run the web process of the data directory while something is measured."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from claude_mem_lite.capture import client

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def running() -> Iterator[int]:
    """Start the web process, wait until it answers, and yield its pid; it ends with the block."""
    process = subprocess.Popen([sys.executable, "-I", "-m", "claude_mem_lite.web"], stderr=subprocess.DEVNULL)
    try:
        while not answers():
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def answers() -> bool:
    """Tell whether the web process is up."""
    with contextlib.suppress(client.UnreachableError):
        return client.get("/api/health", {}, timeout_s=1) is not None
    return False
