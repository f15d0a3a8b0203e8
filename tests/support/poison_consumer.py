"""The consumer's tasks plus one that kills the process, for test_inbox."""

import os

from claude_mem_lite.tasks.consumer import huey

__all__ = ["die", "huey"]


@huey.task()
def die(_event_id: str) -> None:
    """End the process at once, as a fault in a C library would."""
    os._exit(9)
