"""Translate what other clients send to their hooks into Claude Code's events, and our answers into theirs.

Standard library only, one module a client; a hook loads it only when another client started it. A module has
`HOOKS`, what is registered; `events`, which turns a payload into our events; `ANSWERS`, the client's events
that get an answer; `BRINGS_START`, the one whose answer has the block of a session's start, too; and
`MOST_CONTEXT_BYTES`, what a context may have. Every translated event begins with its client.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

CLAUDE_CODE, CODEX, GEMINI, CURSOR = "claude-code", "codex", "gemini", "cursor"
# What a person calls them.
NAMES = {CLAUDE_CODE: "Claude Code", CODEX: "Codex", GEMINI: "Gemini CLI", CURSOR: "Cursor"}
_FIRST_KEY = re.compile(r'\s*\{\s*"client"\s*:\s*"([a-z-]{1,20})"')


def client_of(event: str) -> str:
    """Return which client an event came from: one that we have translated says so in its first key."""
    found = _FIRST_KEY.match(event)
    return found[1] if found and found[1] in NAMES else CLAUDE_CODE


def module(client: str) -> ModuleType | None:
    """Return the module that knows a client, None for a client that nobody knows."""
    # Not by `importlib`, which a hook would have to load.
    return __import__(f"{__name__}.{client}", fromlist=["*"]) if client in {CODEX, GEMINI, CURSOR} else None


def fitted(text: str, most_bytes: int) -> str:
    """Return a block without as many of its last lines as are too much for the client."""
    lines = text.split("\n")
    while len(lines) > 2 and len("\n".join(lines).encode("utf-8", "replace")) > most_bytes:  # noqa: PLR2004
        del lines[-2]  # the last one closes the block
    return "\n".join(lines)
