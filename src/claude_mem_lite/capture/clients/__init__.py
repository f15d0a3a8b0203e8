"""Translate the hook payloads of other clients into Claude Code's events, and our answers into theirs.

Standard library only, one module per client; a hook loads it only when another client started it. A module
has `HOOKS`, the hooks to register; `events`, which translates a payload; `ANSWERS`, the client's events that
get an answer; `BRINGS_START`, the event whose answer also has the block of a session's start; and
`MOST_CONTEXT_BYTES`, the size limit of a context. The first key of a translated event names its client.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

CLAUDE_CODE, CODEX, GEMINI, CURSOR = "claude-code", "codex", "gemini", "cursor"
# Their names for display.
NAMES = {CLAUDE_CODE: "Claude Code", CODEX: "Codex", GEMINI: "Gemini CLI", CURSOR: "Cursor"}
_FIRST_KEY = re.compile(r'\s*\{\s*"client"\s*:\s*"([a-z-]{1,20})"')


def client_of(event: str) -> str:
    """Return the client that an event came from: a translated event names it in its first key."""
    found = _FIRST_KEY.match(event)
    return found[1] if found and found[1] in NAMES else CLAUDE_CODE


def module(client: str) -> ModuleType | None:
    """Return the module of another client, None for Claude Code or an unknown client."""
    # Not by `importlib`, which a hook would have to load.
    return __import__(f"{__name__}.{client}", fromlist=["*"]) if client in {CODEX, GEMINI, CURSOR} else None


def fitted(text: str, most_bytes: int) -> str:
    """Return a block without its last entries, as many as exceed `most_bytes`; the closing line stays."""
    lines = text.split("\n")
    while len(lines) > 2 and len("\n".join(lines).encode("utf-8", "replace")) > most_bytes:  # noqa: PLR2004
        del lines[-2]  # the last one closes the block
    return "\n".join(lines)
