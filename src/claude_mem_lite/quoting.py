"""Put quotation marks, “…”, around text from a file, a page, an output, a commit or a name. Pure.

Rules quote the captured text that they show, so that no reader takes it for instructions.
"""

from __future__ import annotations

import re
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks load this module, and importing `typing` would take longer than all the rest
    from collections.abc import Iterable, Iterator

OPEN, CLOSE = "“", "”"

_INNER = str.maketrans(dict.fromkeys("“”„‟", '"'))
_BLOCK = re.compile(r"(?:^[ \t]*>.*(?:\n|\Z))+", re.MULTILINE)
_BLOCK_MARK = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```.*\n((?:.*\n?)*?)(?:^[ \t]*```|\Z)", re.MULTILINE)
# Text that the client or an editor adds to a prompt: <local-command-stdout>…</local-command-stdout>.
_TAGGED = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)(?:\s[^<>]{0,200})?>((?>[^<]*(?:<(?!/\1>)[^<]*){0,50}))</\1>")
_PARTS = re.compile(r"“[^”]*”?|```(?:[^`]|`(?!``))*(?:```)?|`[^`]*`?")
# A name of this many words, or a path of this many parts, could be a sentence.
_LONG_NAME, _LONG_PATH = 5, 9
_TOKEN = re.compile(r"[^\s“”`(),;]+")
_SEGMENT = re.compile(r"/|::|\.\w{1,5}(?=$|:)")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HEX = frozenset("abcdefABCDEF")


def quoted(text: str) -> str:
    """Return captured text in quotation marks that nothing inside can close; "" for an empty text."""
    text = text.strip()
    return f"{OPEN}{text.translate(_INNER)}{CLOSE}" if text else ""


def quote_blocks(text: str, *, fences: bool = False) -> str:
    """Return a text with its ">" blocks quoted; with `fences`, quote fenced and tagged blocks too."""
    text = _BLOCK.sub(lambda block: f"{quoted(_BLOCK_MARK.sub('', block[0]))}\n", text)
    if not fences:
        return text
    text = _FENCE.sub(lambda block: quoted(block[1]), text)
    return "".join(
        part if is_apart else _TAGGED.sub(lambda block: quoted(block[2]), part)
        for is_apart, part in parts(text)
    )


def named(name: str) -> str:
    """Return a name, quoted if it contains white space."""
    return quoted(name) if any(map(str.isspace, name)) else name


def quote_long_names(text: str) -> str:
    """Quote each name that could be a sentence, except inside quotations and commands."""
    return "".join(
        part if is_apart else _TOKEN.sub(lambda token: _long_name_quoted(token[0]), part)
        for is_apart, part in parts(text)
    )


def words_of(name: str) -> list[str]:
    """Return the words in a name such as dropAll_tables, without those that could be hexadecimal digits."""
    return [word for word in _WORD.findall(name) if not _HEX.issuperset(word)]


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """Yield a text's parts in order: (True, a quotation or `command` with its marks), (False, other text)."""
    ends = [0, *(end for match in _PARTS.finditer(text) for end in match.span()), len(text)]
    for start, end in pairwise(ends):
        if start < end:
            yield text[start] in "“`", text[start:end]


def balanced(text: str) -> str:
    """Return a piece of a text with the opening or closing quotation mark that cutting removed."""
    opened, closed = text.find(OPEN), text.find(CLOSE)
    if closed >= 0 and not 0 <= opened < closed:
        text = OPEN + text
    return text + CLOSE if text.rfind(OPEN) > text.rfind(CLOSE) else text


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """Yield the pieces of a text that was split, each with the quotation marks that splitting removed."""
    is_open = False
    for text in texts:
        piece = f"{OPEN}{text}" if is_open else text
        is_open = piece.rfind(OPEN) > piece.rfind(CLOSE)
        yield balanced(piece)


def _long_name_quoted(token: str) -> str:
    name = token.rstrip(".:!?'\"")
    segments = _SEGMENT.split(name)
    is_long = len(segments) >= _LONG_PATH or any(len(words_of(each)) >= _LONG_NAME for each in segments)
    return f"{quoted(name)}{token[len(name) :]}" if is_long else token
