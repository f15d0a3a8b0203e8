"""Handle a hook of another client: translate its payload into our events, and our answer into its format."""

from __future__ import annotations

import json
import time

from claude_mem_lite import config
from claude_mem_lite.capture import clients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    # (event, whether to answer it, seconds for its redaction) -> answer; stores the event.
    Handle = Callable[[bytes, bool, float], bytes]
    Ask = Callable[[dict[str, str], str], Callable[[], bytes]]

_NEWEST = (
    "SELECT event_name, json_extract(raw_output, '$.source') FROM pending_queue WHERE session_id = ?"
    " AND event_name IN ('SessionStart', 'UserPromptSubmit') ORDER BY seq DESC LIMIT 1"
)


def respond(
    client: str, raw: bytes, handle: Handle, redaction_s: float, at_start: Callable[[], Ask] | None = None
) -> bytes:
    """Handle each event of a payload, answer the first, and return what to print for the client.

    `at_start` returns the function that asks for the block of a session's start.
    """
    known, payload = clients.module(client), json.loads(raw.decode("utf-8", "replace"))
    name = payload.get("hook_event_name") if isinstance(payload, dict) else None
    if known is None or not isinstance(name, str):
        return b""
    started = _started(str(payload.get("session_id"))) if name == known.BRINGS_START else {}
    if client == clients.CURSOR and "cursor_version" not in payload:
        return handle(raw, True, redaction_s)  # it came from Claude Code after all
    ends, answers = time.monotonic() + redaction_s, list[bytes]()
    for at, event in enumerate(known.events(payload)):
        text = json.dumps({"client": client, **event}, ensure_ascii=False)
        left_s = max(0.1, ends - time.monotonic())
        answers.append(handle(text.encode("utf-8", "replace"), not at and name in known.ANSWERS, left_s))
    if at_start and started:
        answers.insert(0, at_start()(started, config.place()[1])())
    return _answer(known, name, answers)


def _started(session_id: str) -> dict[str, str]:
    """Return the fields of a session's start if no prompt has followed it, else {}."""
    from claude_mem_lite.capture.fast_sqlite3 import open_read_only, sqlite3

    try:
        queue = open_read_only(config.queue_path())
        try:
            found = queue.execute(_NEWEST, (session_id.encode("utf-8", "replace").decode(),)).fetchone()
        finally:
            queue.close()
    except sqlite3.Error:
        return {}
    if not found or found[0] != "SessionStart":
        return {}
    return {"session_id": session_id, "event_name": "SessionStart", "source": str(found[1]), "idle_s": ""}


def _answer(known: ModuleType, name: str, answers: list[bytes]) -> bytes:
    """Join the answers under the client's name of the event; b"" for none, or if that takes no context."""
    told = [
        json.loads(each)["hookSpecificOutput"]["additionalContext"] for each in answers if each[:1] == b"{"
    ]
    if name not in known.ANSWERS or not told:
        return b""
    text = clients.fitted("\n\n".join(told), known.MOST_CONTEXT_BYTES)
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}).encode()
