"""SessionStart: the block of what came before, from the web process or, without it, from SQLite."""

from __future__ import annotations

WEB_TIMEOUT_S = 0.5
# What else a client may come to name is answered as a startup.
_SOURCES = frozenset({"startup", "resume", "clear", "compact", "fork"})
# These conversations have a block from when they began.
_HAVE_ONE = frozenset({"resume", "fork"})
# Of at most 200 characters each: well below the index's share of a block.
_FALLBACK_SESSIONS = 5

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Ask for the block of a session's start; what is returned waits for it, b"" for nothing."""
    from claude_mem_lite import client, inbox

    started = {"source": fields["source"]} if fields["source"] in _SOURCES else {}
    if fields["source"] == "fork" and fields["idle_s"]:
        started["idle_s"] = fields["idle_s"]
    asked = client.block("/api/context", fields, project_dir, timeout_s=WEB_TIMEOUT_S, **started)

    def answer() -> bytes:
        printed = asked.read()
        if asked.is_down or not inbox.ring():
            from claude_mem_lite.hooks import start

            start.start_services()
        if printed is None and fields["source"] not in _HAVE_ONE:
            printed = _without_web(project_dir, fields["session_id"])
        return printed or b""

    return answer


def _without_web(project_dir: str, session_id: str) -> bytes:
    block = session_index(project_dir, without=session_id)
    if not block:
        return b""
    import json

    output = {"hookEventName": "SessionStart", "additionalContext": block}
    return json.dumps({"hookSpecificOutput": output}).encode()


def session_index(project_dir: str, *, without: str = "") -> str:
    """Return the block with the session index alone, read by the standard library from the memory."""
    import sqlite3
    import time

    from claude_mem_lite import client, config
    from claude_mem_lite.context import text

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
    section = text.titled("Recent sessions", (text.session_line(*row, now=time.time()) for row in rows))
    return text.fence([section], socket_path=config.socket_path())


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask)
