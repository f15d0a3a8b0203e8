"""Name the clients as options take them."""

from enum import StrEnum

from claude_mem_lite.capture import clients


class Name(StrEnum):
    """A client, as `--for` and `--from` take it."""

    CLAUDE_CODE = clients.CLAUDE_CODE
    CODEX = clients.CODEX
    GEMINI = clients.GEMINI
