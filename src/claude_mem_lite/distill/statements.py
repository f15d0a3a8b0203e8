"""What a report states: its sentences, without what only holds it together, and the names in them. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from claude_mem_lite.distill.observation import sentences
from claude_mem_lite.distill.quoting import balanced

STATEMENT_CHARS = 240
_SHORTEST, _WORDS = 10, 2
_NO_STATEMENT = (":", "?", "\uff1f")

_CODE = re.compile(r"^[ \t]*“?```.*?(?:^[ \t]*```”?[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\s]+\)")
# What a list or a table puts before its entries.
_LEAD = re.compile(r"^[^\w`'\"“./$#@<(\[-]+")
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t].*|\*\*[^*\n]+\*\*:?)[ \t]*$", re.MULTILINE)
# What code, files, flags, tickets and measured figures look like in any language: `…`, a/path, file.ext,
# camelCase, PascalCase, snake_case, #12, ABC-12, --flag, 15 ms.
_NAME = re.compile(
    r"`(?P<code>[^`\n]{2,60})`|(?<![\w/])[\w.-]*(?:/[\w.-]+)+|\b\w+\.[a-z]{1,4}\b|\b[a-z]+[A-Z]\w+"
    r"|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+_\w+\b|#\d+|\b[A-Z]{2,}-\d+\b|--[a-z][\w-]+"
    r"|\b\d+(?:\.\d+)? ?(?:ms|s|%|MB|kB|x)\b"
)

_PLAIN = re.compile(r"[^\W\d_]{3,}|[\u3040-\u9fff]{2}")


def statements(report: str) -> list[str]:
    """Return what a report states, a line each; no code, tables, headings, questions or lists of names."""
    text = _ROW.sub("\n", _HEADING.sub("\n", _CODE.sub("\n\n", report)))
    found = (_LEAD.sub("", _LINK.sub(r"\1", sentence)).strip() for sentence in sentences(text))
    return list(dict.fromkeys(balanced(told) for told in found if _says_something(told)))


def _says_something(told: str) -> bool:
    if (
        not _SHORTEST <= len(told) <= STATEMENT_CHARS
        or told.endswith(_NO_STATEMENT)
        or "```" in told
        or "[…]" in told
    ):
        return False
    return len(_PLAIN.findall(_NAME.sub(" ", told))) >= _WORDS


@lru_cache(maxsize=8_192)
def names(text: str) -> frozenset[str]:
    """Return the names in a text, of code and what is written like it, and its figures; in lower case."""
    found = ((match["code"] or match[0]).lower() for match in _NAME.finditer(text))
    return frozenset(filter(None, (name.strip("().,:;'\" ") for name in found)))
