"""Write to a terminal or a pipe with the standard library alone: width, one palette, cut and wrapped lines.

For the commands that are used all day: rich and Typer take longer to load than these take to answer.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The whole palette: colour says good, careful and wrong; everything else is weight.
PALETTE = {"bold": "1", "dim": "2", "match": "1;36", "good": "32", "careful": "33", "wrong": "31"}
_MOST_COLUMNS = 120
_STYLED = re.compile(r"\x1b\[[0-9;]*m")


def is_terminal() -> bool:
    """Tell whether a person reads this: stdout is a terminal."""
    return sys.stdout.isatty()


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def columns() -> int:
    """Return how wide the lines are to be, at most 120."""
    chosen = os.environ.get("COLUMNS", "")
    found = int(chosen) if chosen.isdecimal() else 0
    if not found:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # no terminal, or no stdout
            found = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return max(20, min(_MOST_COLUMNS, found or 80))


def style(text: str, name: str) -> str:
    """Return text in a style of the palette; as it is in a pipe, and where NO_COLOR is set."""
    if not text or not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{PALETTE[name]}m{text}\x1b[0m"


def highlight(text: str, words: Iterable[str]) -> str:
    """Return text with the words, and what begins with them, in the style of matches."""
    wanted = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    if not wanted:
        return text
    return re.sub(rf"\b(?:{wanted})\w*", lambda match: style(match[0], "match"), text, flags=re.IGNORECASE)


def width(text: str) -> int:
    """Return how many columns text takes."""
    text = _STYLED.sub("", text)
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def cut(text: str, most: int) -> str:
    """Return text that takes at most so many columns, with an ellipsis where it was cut."""
    if width(text) <= most:
        return text
    taken = text[: max(most - 1, 0)]
    while width(taken) > most - 1:
        taken = taken[:-1]
    return f"{taken.rstrip()}…"


def wrapped(text: str, most: int) -> Iterator[str]:
    """Yield the lines of a text that is broken at spaces, and within longer words."""
    line = ""
    for word in text.split():
        while width(word) > most:
            if line:
                yield line
                line = ""
            head = word[:most]
            while width(head) > most:
                head = head[:-1]
            yield head
            word = word[len(head) :]  # noqa: PLW2901
        if line and width(line) + 1 + width(word) > most:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line


def pairs(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield names with their values, each value in a style ("" for none).

    On a terminal values are aligned and wrapped; in a pipe each pair is a line with a tab.
    """
    found = list(rows)
    if not is_terminal():
        yield from (f"{name}\t{value}" for name, value, _ in found)
        return
    indent = max((width(name) for name, _, _ in found), default=0) + 2
    for name, value, look in found:
        first = f"{name}{' ' * (indent - width(name))}"
        for line in wrapped(value, max(columns() - indent, 10)):
            yield f"{style(first, 'dim')}{style(line, look) if look else line}"
            first = " " * indent


def fitted(widths: Sequence[int], most: int) -> list[int]:
    """Return widths of columns whose sum is at most so much: the widest give way first."""
    found = list(widths)
    while sum(found) > most and max(found, default=0) > 1:
        found[found.index(max(found))] -= 1
    return found
