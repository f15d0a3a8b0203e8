"""Check the call on stdin against the guards of its project; nothing is stored."""

from __future__ import annotations

import os
import sys

from claude_mem_lite import config, guards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from claude_mem_lite.guards import Guard

# Whatever a call holds, a regular expression or a disk takes, the call is not kept waiting for longer.
_MOST_S = 1.5
_MOST_BYTES = 16 << 20
_RULE_CHARS, _CALL_CHARS = 300, 160
_FIELDS = (
    "hook_event_name", "tool_name", "tool_input.command", "tool_input.file_path", "tool_input.notebook_path",
    "cwd",
)  # fmt: skip


def answer() -> bytes:
    """Return what to print on the call on stdin, b"" where no guard speaks against it."""
    import _signal  # type: ignore[import-not-found]  # `signal` takes 3 ms

    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
    _signal.setitimer(_signal.ITIMER_REAL, _MOST_S)
    return respond(sys.stdin.buffer.read(_MOST_BYTES + 1))


def respond(raw: bytes) -> bytes:
    """Return the answer to an event, b"" for none. Raises: whatever is wrong with it."""
    if len(raw) > _MOST_BYTES or not guards.may_be_broken(raw):
        return b""
    from claude_mem_lite.fast_sqlite3 import open_read_only, sqlite3

    project, tree, branch = config.place()
    if config.foreign_memory() or config.is_off(project, tree):
        return b""
    try:
        memory = open_read_only(config.memory_path())
        try:
            held = guards.holding(memory, project)
            columns = ", ".join(f"json_extract(:event, '$.{name}')" for name in _FIELDS)
            event = {"event": raw.decode("utf-8", "replace")}
            row = memory.execute(f"SELECT {columns} WHERE json_valid(:event)", event).fetchone()
        finally:
            memory.close()
    except sqlite3.Error:  # no memory, one of another version, or one that is busy
        return b""
    name, tool, command, file, notebook, folder = (
        value if isinstance(value, str) else "" for value in row or [""] * len(_FIELDS)
    )
    if name != "PreToolUse" or tool not in guards.TOOLS:
        return b""
    place = {"folder": folder or tree, "root": tree, "branch": branch}
    broken = [
        (row_id, says, guard, found)
        for row_id, says, guard in held
        if (found := guard.broken_by(tool, command, file or notebook, **place))
    ]
    return _printed(broken) if broken else b""


def _printed(broken: list[tuple[str, str, Guard, str]]) -> bytes:
    """Return the answer that names each broken rule, how its call was understood, and the way to end it."""
    import json

    from claude_mem_lite.context.text import ID_CHARS, TAG, harmless

    lines = [
        f"The user's rule “{harmless(says, chars=_RULE_CHARS)}” speaks against this call: "
        f"`{harmless(found, chars=_CALL_CHARS).replace('`', chr(39))}`. The user has switched this guard on; "
        f"`claude-mem learnings guard {row_id[:ID_CHARS]} --off` ends it."
        for row_id, says, _, found in broken
    ]
    output = {"hookEventName": "PreToolUse"}
    if any(guard.mode == guards.ASK for _, _, guard, _ in broken):
        output |= {"permissionDecision": "ask", "permissionDecisionReason": "\n".join(lines)}
    output["additionalContext"] = "\n".join([f"<{TAG}>", *lines, f"</{TAG}>"])
    return json.dumps({"hookSpecificOutput": output}).encode()
