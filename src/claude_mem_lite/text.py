"""Prepare captured text for storage and display: clean it, cut it, join its lines, count tokens. Pure."""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

from claude_mem_lite.quoting import OPEN, balanced, named, pieces, quote_long_names, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TITLE_CHARS = 100

# For character classes in regular expressions. UNPARTED: the characters of Chinese and Japanese, which do not
# separate words. SIGNS adds Korean, which does: all characters that say more than a letter.
UNPARTED = "\u3040-\u30ff\u3400-\u9fff"
SIGNS = UNPARTED + "\uac00-\ud7af"

# Mark that the queue leaves where it cut the middle out of a long field; `clean` leaves the same.
CUT = re.compile(r"\[… [\d,]+ characters cut …\]")

# Longest text that rules look at, so that every rule takes only milliseconds, whatever was captured.
_TEXT_CHARS = 200_000

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device control and privacy strings
    r"|\x1b[ -/]*[0-~]?"
)
# Controls but tab and newline, C1, bidi overrides, line and paragraph separators, invisible tags, surrogates.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
# After a number a full stop may make it an ordinal or a date: "until the 10. of May".
ORDINAL = r"(?<=\d\.)\s+[a-z\u00df-\u00ff]"
_SENTENCE_END = re.compile(
    rf"(?<=[.!?])(?!{ORDINAL})\s+(?=\S)|"
    r"(?<=[.!?][)\"'»”])\s+(?=\S)|(?<=[\u3002\uff01\uff1f])|\n\s*\n|\n(?=\s*(?:[-*+•]|\d+[.)])\s)"
)
_CODE, _IN_CODE = re.compile(r"`[^`\n]+`"), "\0"  # stands for a space in code, which ends no sentence
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|max|min|fig|no|nr|dr|mr|ms|st|bzw|z\.b|d\.h|ca|ggf|evtl|ex|ej|напр)\.|^\d+\.)$",
    re.IGNORECASE,
)
_FULL_STOP = re.compile(r"[ .:;]+(?=”?$)")
_MARKDOWN_LEAD = re.compile(r"^\s*(?:#{1,6}\s+|[-*+•]\s+|\d+[.)]\s+|>\s+)+")
CHARS_PER_TOKEN = 3.5
_PATH_CHARS, _PATH_PARTS = 40, 3  # a path with more characters and more parts is shortened


def clean(text: str) -> str:
    """Return the text without escape sequences, control and invisible characters; newlines and tabs stay.

    In a text of more than 200,000 characters, a line that says so replaces the middle (see `CUT`).
    """
    if len(text) > _TEXT_CHARS:
        half = _TEXT_CHARS // 2
        text = f"{text[:half]}\n[… {len(text) - 2 * half:,} characters cut …]\n{text[-half:]}"
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        # A progress bar rewrites its line: only the text after the last carriage return was visible.
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _INVISIBLE.sub("", text)


def one_line(text: str, limit: int = TITLE_CHARS) -> str:
    """Return the text on one line of at most `limit` characters, cut after a word."""
    line = " ".join(text[: 20 * limit].split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1 - (OPEN in line)]
    space = cut.rfind(" ")
    return balanced((cut[:space] if space > limit / 2 else cut).rstrip(" ,;:-(") + "…")


def clip(text: str, limit: int) -> str:
    """Return at most `limit` characters of the text; the middle is left out, in whole lines if possible."""
    text = text.strip("\n")
    if len(text) <= limit:
        return text
    mark = "\n[…]\n"
    limit -= 2 * (OPEN in text)
    head = max(0, (limit - len(mark)) * 2 // 3)
    tail = max(0, limit - len(mark) - head)
    start, end = text[:head], text[len(text) - tail :]
    if "\n" in start[head // 2 :]:
        start = start[: start.rfind("\n")]
    if "\n" in end:
        end = end[end.find("\n") + 1 :]
    return f"{balanced(start.rstrip())}{mark}{balanced(end.lstrip())}"


def first_sentence(text: str) -> str:
    """Return the first sentence of more than two words, without Markdown marks and without its full stop."""
    for sentence in sentences(text):
        bare = _FULL_STOP.sub("", sentence)
        if len(bare.split()) > 2:  # noqa: PLR2004 - "Done." or "Good point!" is no headline
            return bare
    return _FULL_STOP.sub("", one_line(text, 200))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line; list items and paragraphs end a sentence too."""
    found: list[str] = []
    open_sentence = ""
    joined = _CODE.sub(lambda code: code[0].replace(" ", _IN_CODE), text[:4_000])
    for piece in _SENTENCE_END.split(joined):
        open_sentence = f"{open_sentence} {piece}".strip()
        if not _ABBREVIATION.search(open_sentence):
            found.append(open_sentence)
            open_sentence = ""
    plain = (
        " ".join(_MARKDOWN_LEAD.sub("", part).replace("**", "").replace(_IN_CODE, " ").split())
        for part in (*found, open_sentence)
    )
    return [sentence for sentence in pieces(plain) if sentence]


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values without empty ones and repetitions, in the order of their first appearance."""
    return tuple(dict.fromkeys(value for value in values if value))


def join(names: Sequence[str], limit: int = 3, separator: str = ", ") -> str:
    """Return an enumeration in English: "a, b and c", or "a, b and 4 more"."""
    whole = max(1, limit - 1)
    shown = list(names) if len(names) <= limit else [*names[:whole], f"{len(names) - whole} more"]
    return " and ".join(filter(None, [separator.join(shown[:-1]), *shown[-1:]]))


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 file", "2 files", "3 matches"."""
    plural = f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def relative(path: str, project_dir: str) -> str:
    """Return the path relative to the project's folder if it lies inside, else the path itself."""
    path, root = clean(path).strip(), project_dir.rstrip("/")
    if not path:
        return ""
    path = os.path.normpath(path)
    if root and path.startswith(root + "/"):
        return path[len(root) + 1 :]
    return path


def estimate_tokens(text: str) -> int:
    """Return the estimate `len / 3.5`, at least 1; within 10 to 15 % of Claude's tokenizer on prose.

    Source: the project's requirements, context budget.
    """
    return max(1, int(len(text) / CHARS_PER_TOKEN))


def named_path(path: str) -> str:
    """Return a path, a long one as "api/…/hold/HoldService.kt", quoted if it could be a sentence."""
    parts = path.split("/")
    is_long = len(path) > _PATH_CHARS and len(parts) > _PATH_PARTS
    brief = "/".join([parts[0], "…", *parts[-2:]]) if is_long else path
    return named(brief) if quote_long_names(path) == path else quoted(brief)
