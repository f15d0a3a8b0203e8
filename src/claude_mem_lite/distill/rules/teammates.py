"""Recognize what the agents of a team say to each other: messages received as prompts, and reports sent."""

import json
import re
from dataclasses import replace

from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.distill.rules import fields

# The name of an event and of its observation: a prompt that another agent wrote.
RECEIVED = "TeammateMessage"
_MESSAGE = re.compile(r"<teammate-message\b[^<>]*>(.*?)(?:</teammate-message>|\Z)", re.DOTALL)


def as_spoken(capture: Capture, prompt: str | None) -> Capture:
    """Return a capture as what it is between agents; all others as they are.

    A prompt from another agent becomes a `RECEIVED` event. A message that answers such a `prompt`, the last
    one before the event, becomes the report of its turn: a teammate reports by message, and not to a user.
    """
    if capture.event_name == "UserPromptSubmit" and (words := _received(capture.payload.get("prompt"))):
        return replace(capture, event_name=RECEIVED, payload={**capture.payload, "prompt": words})
    sent = fields.argument(capture, "content") or fields.argument(capture, "message")
    if capture.tool_name == "SendMessage" and sent and _received(prompt):
        return replace(capture, event_name="Stop", tool_name="", payload={"last_assistant_message": sent})
    return capture


def _received(prompt: object) -> str:
    """Return what other agents say in a prompt, "" for nothing; of a structured message only its task."""
    found = _MESSAGE.findall(prompt) if isinstance(prompt, str) else []
    return "\n\n".join(filter(None, (_task(each.strip()) for each in found)))


def _task(message: str) -> str:
    try:
        told = json.loads(message) if message.startswith("{") else None
    except ValueError:
        return message
    if not isinstance(told, dict):
        return message
    return "\n".join(filter(None, (fields.text(told, "subject"), fields.text(told, "description"))))
