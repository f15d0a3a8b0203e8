"""What of the assistant's report is somebody else's words: what it quotes, and what it repeats. Pure.

A report is told as the assistant's own words. What a page or a file said is none of them, however it is
passed on: between quotation marks, as a block of its own, or word for word without saying so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from claude_mem_lite.distill.observation import clean
from claude_mem_lite.distill.quoting import parts, quote_blocks, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# So many words in a row that were read before are repeated; fewer are how things are called.
REPEATED_WORDS = 7
# Any run of so many words has a window of these that begins at a multiple of their number.
_WINDOW = (REPEATED_WORDS + 1) // 2

_WORD = re.compile(r"\w+")
# Three words or more; two are a name.
_QUOTATION = re.compile(r'"((?:[^"\s]+[ \t]+){2,}[^"\s]+)"')
_FROM_OUTSIDE = ("tool_response", "error", "last_assistant_message")


def quote_others(report: str, heard: Iterable[str]) -> str:
    """Return a report with quotation marks around what it quotes and what it repeats of texts read before."""
    report = quote_blocks(clean(report))
    report = "".join(
        part if is_apart else _QUOTATION.sub(lambda found: quoted(found[1]), part)
        for is_apart, part in parts(report)
    )
    told = []
    end = 0
    for start, stop in _repeated(report, heard):
        if start >= end:
            told += [report[end:start], quoted(report[start:stop])]
            end = stop
    return "".join([*told, report[end:]])


def from_outside(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of an event that neither the user nor the assistant has written."""
    left = [payload.get(name) for name in _FROM_OUTSIDE]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        left += [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []


def _repeated(report: str, heard: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where runs of words begin and end that were heard before, with the quotations that they touch."""
    found = list(_WORD.finditer(report))
    words = [match[0].lower() for match in found]
    texts = "\n".join(f" {' '.join(_WORD.findall(text.lower()))} " for text in heard)
    whole = list(_apart(report))
    end = 0
    for at in range(0, len(words) - _WINDOW + 1, _WINDOW):
        first, last = at, at + _WINDOW
        if first < end or f" {' '.join(words[first:last])} " not in texts:
            continue
        while last < len(words) and f" {' '.join(words[first : last + 1])} " in texts:
            last += 1
        while first > end and f" {' '.join(words[first - 1 : last])} " in texts:
            first -= 1
        if last - first >= REPEATED_WORDS:
            start, stop = found[first].start(), found[last - 1].end()
            inside = [place for place in whole if place[0] < stop and start < place[1]]
            yield min([start, *(place[0] for place in inside)]), max([stop, *(place[1] for place in inside)])
            end = last


def _apart(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for is_apart, part in parts(text):
        if is_apart:
            yield start, start + len(part)
        start += len(part)
