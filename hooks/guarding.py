"""Check the call on stdin against the guards of its project; nothing is stored."""

from __future__ import annotations

import os
import sys

from claude_mem_lite import config
from claude_mem_lite.capture import guards
from claude_mem_lite.capture.visible import TAG, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The longest delay of a call, however large it is and however slow a regular expression or the disk is.
_MOST_S = 1.5
_MOST_BYTES = 16 << 20
_RULE_CHARS, _CALL_CHARS, _ID_CHARS = 300, 160, 8
_PLAIN = str.maketrans({"<": "‹", ">": "›", "`": "'", "“": '"', "”": '"'})
_READ = f"SELECT {guards.columns(':event')}"
_PRINT = "SELECT json_object('hookSpecificOutput', json_object('hookEventName', 'PreToolUse', "


def answer() -> bytes:
    """Return what to print for the call on stdin, b"" if it breaks no guard."""
    import _signal  # type: ignore[import-not-found]  # `signal` takes 3 ms

    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
    _signal.setitimer(_signal.ITIMER_REAL, _MOST_S)
    return respond(sys.stdin.buffer.read(_MOST_BYTES + 1))


def respond(raw: bytes) -> bytes:
    """Return the answer to an event, b"" for none. Raises: any error but sqlite3.Error."""
    if len(raw) > _MOST_BYTES or not guards.may_be_broken(raw):
        return b""
    from claude_mem_lite.capture.fast_sqlite3 import open_read_only, sqlite3

    project, tree, branch = config.place()
    if config.foreign_memory() or config.is_off(project, tree):
        return b""
    try:
        memory = open_read_only(config.memory_path())
        try:
            return _answer(memory, raw.decode("utf-8", "replace"), project, tree, branch)
        finally:
            memory.close()
    except sqlite3.Error:  # no event, no memory, one of another version, or one that is busy
        return b""


def _answer(memory: Any, event: str, project: str, tree: str, branch: str) -> bytes:
    """Return an answer that names each broken rule, the part of the call that breaks it, and how to end it.

    SQLite reads and writes the JSON: `import json` costs as much as all the rest.
    """
    call = guards.Call(memory.execute(_READ, {"event": event}).fetchone(), tree, branch)
    lines, asks = [], False
    for row_id, says, guard in guards.holding(memory, project) if call.tool in guards.TOOLS else ():
        if found := guard.broken_by(call):
            asks |= guard.mode == guards.ASK
            lines.append(
                f"This call breaks the user's rule “{_told(says, _RULE_CHARS)}”:"
                f" `{_told(found, _CALL_CHARS)}`. The user has switched this guard on;"
                f" `claude-mem learnings guard {row_id[:_ID_CHARS]} --off` switches it off."
            )
    if not lines:
        return b""
    told = {"reason": "\n".join(lines), "block": "\n".join([f"<{TAG}>", *lines, f"</{TAG}>"])}
    decision = "'permissionDecision', 'ask', 'permissionDecisionReason', :reason, " if asks else ""
    (printed,) = memory.execute(f"{_PRINT}{decision}'additionalContext', :block))", told).fetchone()
    return str(printed).encode()


def _told(text: str, chars: int) -> str:
    """Return a text as one line of at most `chars` characters, without quotes or tags that could end ours."""
    line = visible(text[: 20 * chars])
    return (line if len(line) <= chars else f"{line[: chars - 1]}…").translate(_PLAIN)
