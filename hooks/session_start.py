"""SessionStart: print the start block, from the web process or, while that is down, from a helper.

Without either it prints a short block, read from SQLite by itself; the first prompt brings the whole one.
"""

from __future__ import annotations

WEB_TIMEOUT_S = 0.5
# Any other source is answered as a startup.
_SOURCES = frozenset({"startup", "resume", "clear", "compact", "fork"})
# These conversations already have the block from their beginning.
_HAVE_ONE = frozenset({"resume", "fork"})
# Of at most 200 characters each: well below the index's share of a block.
_FALLBACK_SESSIONS = 5

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def ask(fields: dict[str, str], project_dir: str) -> Callable[[], bytes]:
    """Ask for the block of a session's start; the function returned waits for it, b"" for nothing."""
    from claude_mem_lite import installed
    from claude_mem_lite.capture import client, inbox

    if fields["source"] in _HAVE_ONE and not _keeps_blocks():
        fields = {**fields, "source": "startup"}
    started: dict[str, Any] = {"source": fields["source"]} if fields["source"] in _SOURCES else {}
    if fields["source"] == "fork" and fields["idle_s"]:
        started["idle_s"] = fields["idle_s"]
    asked = client.block("/api/context", fields, project_dir, timeout_s=WEB_TIMEOUT_S, **started)
    read = asked.read
    if asked.is_down:
        from claude_mem_lite.hooks import helper

        read = helper.ask("/api/context", fields, project_dir, **started)

    def answer() -> bytes:
        code = installed.expected()  # while the web process works
        printed = read()
        is_old = asked.code is not None and (code is None or code not in {"", asked.code})
        if asked.is_down or asked.is_error or is_old or not inbox.ring():
            from claude_mem_lite.hooks import helper

            helper.start_services()
        return _without_web(fields, started, project_dir) if printed is None else printed

    return answer


def _keeps_blocks() -> bool:
    """Tell whether the client stores hook output in the transcript, so that a resumed session has it.

    Claude Code 2.1.100 and later do, 2.1.90 and earlier do not. Only since 2.1.120 the environment names the
    client: versions between are shown the block again. Other clients, named by an argument, store it.
    """
    import os
    import sys

    return len(sys.argv) > 1 or "AI_AGENT" in os.environ or "CLAUDE_CODE_SESSION_ID" in os.environ


def _without_web(fields: dict[str, str], started: dict[str, str], project_dir: str) -> bytes:
    """Return the session index as a block; the note of it makes the first prompt bring the whole block."""
    import os
    import time

    from claude_mem_lite import config
    from claude_mem_lite.hooks import helper

    if not os.path.exists(config.memory_path()):
        return b""
    block, ids = "", list[str]()
    if fields["source"] not in _HAVE_ONE:
        block, ids = session_index(project_dir, without=fields["session_id"])
    note: dict[str, Any] = {
        "via": "fallback",
        "ids": ids,
        "tokens": round(len(block) / 3.5),
        "at": time.time(),
        "source": started.get("source", "startup"),
    }
    if "idle_s" in started:
        note["idle_s"] = float(started["idle_s"])
    helper.note(fields["session_id"], note)
    return helper.printed(block, fields["event_name"])


def session_index(project_dir: str, *, without: str = "") -> tuple[str, list[str]]:
    """Return a block with only the session index, and the ids in it, by the standard library alone."""
    import time

    from claude_mem_lite import config
    from claude_mem_lite.capture.fast_sqlite3 import open_read_only, sqlite3
    from claude_mem_lite.context import text

    try:
        memory = open_read_only(config.memory_path())
        try:
            rows = memory.execute(
                "SELECT id, last_event_at, summary FROM sessions WHERE summary != '' AND id != ?"
                " AND project_dir = coalesce((SELECT project_dir FROM project_folders WHERE folder = ?), ?)"
                " ORDER BY last_event_at DESC LIMIT ?",
                (without, project_dir, config.project_dir(project_dir), _FALLBACK_SESSIONS),
            ).fetchall()
        finally:
            memory.close()
    except sqlite3.Error:
        return "", []
    lines, ids = [], []
    for row_id, at, summary in rows:
        told, _ = text.vetted(text.harmless(summary, chars=text.SESSION_CHARS))
        if told:
            lines.append(text.entry(row_id, at, told, now=time.time()))
            ids.append(row_id)
    section = text.titled("Recent sessions", lines)
    return text.fence([section], socket_path=config.socket_path(), project_dir=project_dir), ids


if __name__ == "__main__":
    import sys

    sys.path.append(__file__.rsplit("/", 3)[0])  # started with -S, which leaves site-packages out
    from claude_mem_lite.hooks import event

    event.run(ask)
