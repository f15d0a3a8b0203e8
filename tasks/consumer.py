"""The front door of `huey_consumer claude_mem_lite.tasks.consumer.huey`: the instance with all its tasks."""

from claude_mem_lite.tasks import compress, embed, heal, learn, periodic, shown, summarize, upgrade
from claude_mem_lite.tasks.app import huey

__all__ = ["compress", "embed", "heal", "huey", "learn", "periodic", "shown", "summarize", "upgrade"]
