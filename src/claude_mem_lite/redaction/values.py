"""Find where a value begins and ends: quotes, escapes, YAML blocks, here-documents, padding."""

from __future__ import annotations

from claude_mem_lite.redaction.vocabulary import LONGEST, REACH
from claude_mem_lite.redaction.weights import LOOK, RANDOM, weigh

_ASCII_NAME = "".join(filter(str.isalnum, map(chr, range(128)))) + "_"
_CONTINUED = (3, 6)  # backslashes of one before a newline, both escaped once or twice
_LINE_ENDS = frozenset(("", "\n", "\r", "\\", '"'))
_NO_TYPE = frozenset("\\\"'`;(){}:/@\n")
_ASCII = "".join(map(chr, range(33, 127)))
SHELL_WORD = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`")))  # characters of a shell word
VALUE = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`,;&<>(){}[]|=")))


def opening(text: str, at: int, *, typed: bool) -> tuple[int, str]:
    """Return where the value after a sign begins, and its quote with the backslashes before it, "" for none.

    With `typed`, a type or the head of a YAML block may precede the value.
    """
    window = text[at : at + REACH].replace("\\t", "  ")
    plain = window.lstrip(" \t")
    if plain[:2] == "<<" or plain[:1] == "\\":
        plain = _below(plain)
    elif typed and plain[:1] in ("|", ">"):
        plain = _block(plain)
    start = at + len(window) - len(plain)
    quoted = plain.lstrip("bfru")  # b"", rf""
    quote = quoted[: len(quoted) - len(quoted.lstrip("\\")) + 1]
    if quote[-1:] in ('"', "'", "`"):
        start += len(plain) - len(quoted) + len(quote)
        if text.startswith(2 * quote, start):  # three quotes
            rest = text[start + 2 * len(quote) : start + REACH]
            start += 2 * len(quote) + len(rest) - len(_after_newline(rest) or rest)
        return start, quote
    before, equals, _ = plain.partition("=")
    if typed and equals and _is_type(before):  # name: type = "value"
        inner = opening(text, start + len(before) + 1, typed=False)
        return inner if inner[1] else (start, "")
    return start, ""


def _block(plain: str) -> str:
    """Return a YAML block from its first line on, without its head; other text unchanged."""
    rest = plain.lstrip("|>+-").lstrip("\r ")
    below = rest.lstrip("\\").removeprefix("\n" if rest[:1] == "\n" else "n")
    is_block = rest[:1] in ("\n", "\\") and below != rest.lstrip("\\")
    return below.rpartition("→")[2].lstrip(" +") if is_block else plain


def _below(plain: str) -> str:
    """Return what is below `<<TAG` or a backslash that ends a line; other text unchanged."""
    if plain[0] == "<":
        return _after_newline(plain.lstrip("<-~'\"\\").lstrip(_ASCII_NAME).lstrip("'\"")) or plain
    slashes = len(plain) - len(plain.lstrip("\\"))
    is_last = slashes == 1 if plain[1:2] in ("\n", "\r") else slashes in _CONTINUED
    return (_after_newline(plain) or plain) if is_last else plain


def _after_newline(text: str) -> str:
    """Return the line below from its first word on, if `text` begins with a newline, also an escaped one."""
    rest = text.lstrip("\\\r")
    is_newline = rest[:1] == "\n" or (rest[:1] == "n" and text[:1] == "\\")
    return rest[1:].lstrip(" \t+") if is_newline else ""


def is_continued(text: str, end: int) -> bool:
    """Tell whether a backslash at `end` continues a value on the next line."""
    window = text[end : end + LOOK]
    return window[:1] == "\\" and _below(window) != window


def block_end(text: str, end: int) -> int:
    """Return where a value in a block ends of which the first line ends at `end`: random lines follow it."""
    while below := _after_newline(window := text[end : end + REACH]):
        start = end + len(window) - len(below)
        stop = value_end(text, start, "", VALUE)
        if text[stop : stop + 1] not in _LINE_ENDS or weigh(text[start:stop] or "x") < RANDOM:
            break
        end = whole_end(text, start, stop, VALUE)
    return end


def _is_type(before: str) -> bool:
    """Tell whether the text before an equals sign may be a type, rather than base64 before its padding."""
    is_apart = before[-1:] == " " or before.isalpha()
    return before.strip() != "" and is_apart and _NO_TYPE.isdisjoint(before)


def value_end(text: str, start: int, quote: str, made_of: str) -> int:
    """Return where a value ends: at its closing quote, or after its run of `made_of` and base64 padding."""
    at = text.find(quote[-1], start, start + LONGEST) if quote else -1
    while at >= 0 and text[at - len(quote) : at] == "\\" * len(quote):  # an escaped quote in the value
        at = text.find(quote[-1], at + 1, start + LONGEST)
    if at >= 0:
        return start + len(text[start:at].rstrip("\\"))
    end = run_end(text, start, made_of)
    padded = end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))  # base64
    return padded if not text[padded : padded + 1].strip(" \t\r\n\\&,;)]}\"'`") else end


def run_end(text: str, start: int, made_of: str, most: int = LOOK) -> int:
    """Return where the run of `made_of` and non-ASCII characters ends, at most `most` characters on."""
    window = text[start : start + most]
    rest = window.lstrip(made_of)
    while rest[:1] > "\x7f":  # other alphabets
        rest = rest[1:].lstrip(made_of)
    return start + len(window) - len(rest)


def whole_end(text: str, start: int, end: int, made_of: str) -> int:
    """Return the real end of a value of which only the first `LOOK` characters were read."""
    while end >= start + LOOK and (more := run_end(text, end, made_of)) > end:
        end = more
    return end
