"""Load the instance with all its tasks, for `huey_consumer claude_mem_lite.tasks.consumer.huey`."""

from claude_mem_lite.tasks import compress, embed, heal, learn, periodic, rewrite, shown, summarize, sync
from claude_mem_lite.tasks.app import huey

__all__ = ["compress", "embed", "heal", "huey", "learn", "periodic", "rewrite", "shown", "summarize", "sync"]
