"""SubagentStart: print a short block for a sub-agent; PreToolUse of the tool that starts it: store its task.

SubagentStart names no task, but the call before it does. That is stored like every event, and looked up in
the queue.
"""

from __future__ import annotations

WEB_TIMEOUT_S = 0.15

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Return a function that asks for the block of a sub-agent and waits for it, b"" for nothing.

    It asks after the start is stored: sub-agents that start together get their tasks by the order of starts.
    The client's own sub-agents, which have no type, get no block.
    """
    if fields["event_name"] != "SubagentStart" or not fields["agent_type"]:
        return bytes
    return lambda: _answer(fields, project_dir)


def _answer(fields: dict[str, str], project_dir: str) -> bytes:
    from claude_mem_lite.capture import client

    agent: dict[str, Any] = {name: fields[name] for name in ("agent_id", "agent_type")}
    asked = client.block("/api/subagent", fields, project_dir, timeout_s=WEB_TIMEOUT_S, **agent)
    read = asked.read
    if asked.is_down:
        from claude_mem_lite.hooks import helper

        read = helper.ask("/api/subagent", fields, project_dir, **agent)
    return read() or b""


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask)
