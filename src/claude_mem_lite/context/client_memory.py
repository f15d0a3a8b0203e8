"""Leave out what Claude Code's own memory tells a session: it loads its index of notes at every start."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claude_mem_lite.distill import auto_memory
from claude_mem_lite.distill.sameness import names_differ, relation, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.context.budget import Line

_MARKS = re.compile(r"^\s*(?:[-*+]|\d+[.)]|#{1,6})\s+")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_LONGEST = 600


def without_told(lines: Sequence[Line], project_dir: str) -> list[Line]:
    """Return the lines without the learnings that the client's index of notes surely says as well."""
    if all(line.kind != "learning" for line in lines):
        return list(lines)
    told = [text for line in auto_memory.index_lines(project_dir) for text in _texts(line)]
    return [line for line in lines if line.kind != "learning" or not _is_told(line.says, told)]


def _is_told(says: str, told: Sequence[str]) -> bool:
    """Tell whether one text surely says all that a learning says: the same claim, and no word less."""
    content = says.partition(": ")[2]
    wanted = set(terms(content))
    return bool(wanted) and any(
        wanted <= set(terms(text)) and relation(text, content) == "same" and not names_differ(text, content)
        for text in told
    )


def _texts(line: str) -> list[str]:
    """Return what a line of the index says: all of it without its marks, and what stands behind its link."""
    text = _MARKS.sub("", line[:_LONGEST]).strip()
    behind = re.split(r"\s[–—-]\s|:\s", text, maxsplit=1)[-1]
    return list(dict.fromkeys(filter(None, (_LINK.sub(r"\1", text), behind if _LINK.search(text) else ""))))
