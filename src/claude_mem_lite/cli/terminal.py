"""Write to a terminal or a pipe with the standard library alone: width, one palette, cut and wrapped lines.

For everyday commands: rich and Typer take longer to load than these commands take to answer.
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

# The whole palette: colours mark matches and what is good, careful or wrong; the rest is weight.
PALETTE = {"bold": "1", "dim": "2", "match": "1;36", "good": "32", "careful": "33", "wrong": "31"}
_MOST_COLUMNS = 120
_STYLED = re.compile(r"\x1b\[[0-9;]*m")


def is_terminal() -> bool:
    """Tell whether stdout is a terminal."""
    return sys.stdout.isatty()


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def columns() -> int:
    """Return the line width, 20 to 120: COLUMNS, else the terminal's, else 80."""
    chosen = os.environ.get("COLUMNS", "")
    found = int(chosen) if chosen.isdecimal() else 0
    if not found:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # no terminal, or no stdout
            found = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return max(20, min(_MOST_COLUMNS, found or 80))


def style(text: str, name: str) -> str:
    """Return text in a style of the palette; unstyled in a pipe, with NO_COLOR or on a dumb terminal."""
    if not text or not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{PALETTE[name]}m{text}\x1b[0m"


def highlight(text: str, words: Iterable[str]) -> str:
    """Return text with the words, and longer words that begin with them, styled as matches."""
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
    """Return text cut to at most `most` columns; an ellipsis marks a cut."""
    if width(text) <= most:
        return text
    taken = text[: max(most - 1, 0)]
    while width(taken) > most - 1:
        taken = taken[:-1]
    return f"{taken.rstrip()}…"


def wrapped(text: str, most: int) -> Iterator[str]:
    """Yield text in lines of at most `most` columns, broken at spaces and within longer words."""
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
    """Yield the lines of a list of (name, value, style of the value or "").

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
    """Shrink column widths until their sum is at most `most`, the widest first, none below 1."""
    found = list(widths)
    while sum(found) > most and max(found, default=0) > 1:
        found[found.index(max(found))] -= 1
    return found
