"""Answer a hook of another client: its payload becomes Claude Code's events, our answer becomes its own."""

from __future__ import annotations

import json
import time

from claude_mem_lite.capture import clients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    # Stores an event, given whether to answer it and how long its redaction may take, and returns the answer.
    Handle = Callable[[bytes, bool, float], bytes]


def respond(client: str, raw: bytes, handle: Handle, redaction_s: float) -> bytes:
    """Have each event of a payload handled, the first one answered; return what to print for the client."""
    known, payload = clients.module(client), json.loads(raw.decode("utf-8", "replace"))
    if known is None or not isinstance(payload, dict) or not isinstance(payload.get("hook_event_name"), str):
        return b""
    ends, answer = time.monotonic() + redaction_s, b""
    for at, event in enumerate(known.events(payload)):
        text = json.dumps({"client": client, **event}, ensure_ascii=False)
        left_s = max(0.1, ends - time.monotonic())
        answered = handle(text.encode("utf-8", "replace"), not at, left_s)
        answer = answer or answered
    return _answer(known, payload, answer)


def _answer(known: ModuleType, payload: dict[str, Any], answer: bytes) -> bytes:
    """Return an answer under the client's own name of the event, b"" where that takes no context."""
    name = payload.get("hook_event_name")
    if name not in known.ANSWERS or not answer.startswith(b"{"):
        return b""
    text = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    told = {"hookEventName": name, "additionalContext": clients.fitted(text, known.MOST_CONTEXT_BYTES)}
    return json.dumps({"hookSpecificOutput": told}).encode()
