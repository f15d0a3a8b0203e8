"""Blocks of context at a fixed time: rows to store before, and the lines of the block."""

import calendar
import re
import time

from claude_mem_lite.capture import inbox
from claude_mem_lite.context import builder
from claude_mem_lite.storage import context as context_rows
from support.databases import NOW

AT = calendar.timegm(time.strptime(NOW[:19], "%Y-%m-%dT%H:%M:%S")) + 7200


def at(minutes: int) -> str:
    """Return the time `minutes` after NOW, as the memory writes it."""
    return inbox.utc_text(AT - 7200 + 60 * minutes)


def shown(session_id: str, via: str, *ids: str, minutes: int = 0) -> None:
    """Record that a session was shown a block."""
    context_rows.note_shown(session_id, {"via": via, "ids": list(ids), "tokens": 9}, at=at(minutes))


def lines(block: builder.ContextBlock, layer: str) -> list[str]:
    """Return the lines of a layer without their ages."""
    return [
        line.text.partition("] ")[2] if line.text.startswith("[") else line.text.removeprefix("  - ")
        for section in block.sections
        if section.name == layer
        for line in section.lines
    ]


def is_fenced(block: str) -> bool:
    """Return whether a block holds nothing but lines in our format, inside one fence."""
    inner = block.removeprefix("<claude-mem>\n").removesuffix("\n</claude-mem>")
    is_ours = re.compile(r"- \[|(?:  )?- \S{1,8} |## |Record|More:").match
    no_tags = "<" not in inner and ">" not in inner.replace("->", "").replace("=>", "")
    return no_tags and all(map(is_ours, filter(None, inner.split("\n"))))
