"""SessionStart: the block of what came before, from the web process or, without it, from SQLite."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WEB_TIMEOUT_S = 0.5
_FALLBACK_SESSIONS = 5
_FALLBACK_TOKENS = 400


def answer(event: str, project_dir: str) -> str:
    """Return what Claude Code expects on stdout, or "" when nothing is remembered."""
    import json

    from claude_mem_lite import client, inbox

    start: dict[str, Any] = json.loads(event)
    parameters = {
        "project_path": project_dir,
        "session_id": str(start.get("session_id", "")),
        "source": str(start.get("source", "startup")),
    }
    try:
        block = (client.get("/api/context", parameters, timeout_s=WEB_TIMEOUT_S) or {}).get("context")
        down = False
    except client.UnreachableError:
        block, down = None, True
    if block is None:
        block = session_index(project_dir, without=parameters["session_id"])
    if down or not inbox.ring():
        start_services()
    if not block:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": block}})


def session_index(project_dir: str, *, without: str = "") -> str:
    """Return the block with the session index alone, read by the standard library from the memory."""
    import sqlite3
    import time

    from claude_mem_lite import client, config
    from claude_mem_lite.context import layers

    try:
        path = client.quote(config.memory_path())
        memory = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.1)
        rows = memory.execute(
            "SELECT id, last_event_at, summary FROM sessions"
            " WHERE project_dir = ? AND summary != '' AND id != ? ORDER BY last_event_at DESC LIMIT ?",
            (project_dir, without, _FALLBACK_SESSIONS),
        ).fetchall()
    except sqlite3.Error:
        return ""
    lines = [layers.session_line(*row, now=time.time()) for row in rows]
    section = layers.section("Recent sessions", lines, budget_tokens=_FALLBACK_TOKENS)
    return layers.fence([section], socket_path=config.socket_path())


def start_services() -> None:
    """Have the services started in the background, unless the user does not want it."""
    import os
    import sys

    from claude_mem_lite import config

    if not config.autostart():
        return
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    command = [sys.executable, "-I", "-m", "claude_mem_lite.cli", "up", "--quiet"]
    # A process group of its own: what Claude Code kills at a timeout is the hook's.
    os.posix_spawn(command[0], command, os.environ, file_actions=[null, *nowhere], setpgroup=0)


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(answer)
