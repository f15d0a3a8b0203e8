"""Remember which events were forgotten, so that an import of their transcript leaves them out.

What is kept says nothing of them: digests of random ids, and of texts so little that many texts share it.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from claude_mem_lite.storage import facts
from claude_mem_lite.storage.models import Observation, PendingEvent

STATE = "forgotten "
# The mark of an observation whose raw event was gone, so that its event cannot be recognized.
WITHOUT_RAW = "*"
_ID_DIGITS = 32
# Of a text only 16 bits: enough to find it among a session's new events, too few to confirm a guess.
_TEXT_DIGITS = 4
_TEXTS = {
    "UserPromptSubmit": "prompt", "Stop": "last_assistant_message", "SubagentStop": "last_assistant_message",
    "StopFailure": "last_assistant_message",
}  # fmt: skip


def note(event_ids: Iterable[str], observation_ids: Iterable[str]) -> None:
    """Note events and observations that are about to be forgotten, if they are still stored."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for event_id in event_ids:
        if row := PendingEvent.get_or_none(PendingEvent.id == event_id):
            found[row.session_id] |= _noted(row.session_id, event_id, row.raw_output)
    for observation_id in observation_ids:
        told = Observation.get_or_none(Observation.id == observation_id)
        if told and not PendingEvent.select().where(PendingEvent.id == observation_id).exists():
            found[told.session_id][_digest(observation_id)[:_ID_DIGITS]] = WITHOUT_RAW
    for session_id, noted in found.items():
        name = _state(session_id)
        facts.write(name, facts.read(name) | noted)


def marks(session_id: str) -> Counter[str]:
    """Return the marks of what was forgotten of a session, see `mark`, with how often each was noted."""
    return Counter(facts.read(_state(session_id)).values())


def mark(session_id: str, payload: dict[str, Any]) -> str:
    """Return what is noted of an event, the same whether a hook or a transcript told of it."""
    if isinstance(call_id := payload.get("tool_use_id"), str):
        return _digest(session_id, call_id)[:_ID_DIGITS]
    return _digest(session_id, *heard(payload))[:_TEXT_DIGITS]


def heard(payload: dict[str, Any]) -> tuple[str, str]:
    """Return the key of an event other than a tool call within its session: its name and its text."""
    name = str(payload.get("hook_event_name"))
    return name, str(payload.get(_TEXTS.get(name, ""), ""))


def _noted(session_id: str, event_id: str, text: str) -> dict[str, str]:
    """Return an event's mark under a digest of its id, so that a repeated `forget` notes it once."""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {_digest(event_id)[:_ID_DIGITS]: mark(session_id, payload)} if isinstance(payload, dict) else {}


def _state(session_id: str) -> str:
    return STATE + _digest(session_id)[:_ID_DIGITS]


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(("forgotten", *texts)).encode("utf-8", "replace")).hexdigest()
