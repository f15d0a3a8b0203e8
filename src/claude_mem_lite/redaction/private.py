"""Take the `<private>` passages out of what the user or Claude wrote."""

from __future__ import annotations

import re

from claude_mem_lite.redaction.strings import change_strings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Fields that the user or Claude writes, and tools that are made of nothing else.
_WRITTEN = (
    "prompt", "custom_instructions", "last_assistant_message", "compact_summary", "command_args",
    "description", "message", "plan",
)  # fmt: skip
_TALK = ("AskUserQuestion", "Agent", "Task", "SendMessage", "ExitPlanMode")


def without_private(tree: dict[str, Any]) -> dict[str, Any]:
    """Return an event without the private passages of the fields that somebody wrote."""
    return dict(
        change_strings(tree, lambda text, field: _without_passages(text) if field in _WRITTEN else text)
    )


def without_private_talk(call: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call without private passages in any field, if its tool is made of what is said."""
    if call.get("tool_name") not in _TALK:
        return call
    return dict(change_strings(call, lambda text, _: _without_passages(text)))


def _without_passages(text: str) -> str:
    if "<private" not in text.lower():
        return text
    parts, done, depth = [], 0, 0
    for tag in re.finditer(r"<(/?)private(?:\s[^<>]*)?>", text, re.IGNORECASE):
        if not tag[1]:
            parts += [] if depth else [text[done : tag.start()], "[redacted: private]"]
            depth += 1
        elif depth:
            depth -= 1
            done = tag.end()
    return "".join(parts if depth else [*parts, text[done:]])
