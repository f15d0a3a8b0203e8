"""Derive from a rule the form that it asks of a commit's message, as a regular expression. Pure."""

from __future__ import annotations

import re
from itertools import pairwise

from claude_mem_lite.distill.phrases import NOT

_CONVENTIONAL = re.compile(r"\bconventional[\s-]commits?\b|\b(?:type|typ|tipo)\(\w+\)", re.IGNORECASE)
_MENTIONS = re.compile(
    r"(?:mention|refer to|credit|erwähn|nenn|cite|mencion)\w*\s+(\w+)(?:\s+(?:or|and|oder|und|ou|et"
    r"|o|y)\s+(\w+))?"
    r"|\b([A-Z]{2,})[ -]commits?\b",
    re.IGNORECASE,
)
_LONG = re.compile(
    r"\b(\d{2,3})\s*-?(?:char|column|letter|zeichen|buchstab|caract|carat|signe|lettre|letra|teken"
    r"|znak|символ|字)",
    re.IGNORECASE,
)
_TICKET = re.compile(r"\b([A-Z][A-Z0-9]+)-(?:\d+|[NX#]+\b)(:?)")
_PREFIX = re.compile(r"(?<![\w:/])([a-z]+)(?:\([\w*-]*\))?:(?=[\s/,`\"'“”]|$)")
_BETWEEN = 8  # characters, of what two in a list have between them
_ISSUE = re.compile(r"#(?:\d+|[NX]+\b)")
_GIVEN = re.compile(r"[`\"“”]([^`\"“”]+)[`\"“”]")
# A form is given by an example, what comes before the text itself is all there is without one.
_SCOPED = re.compile(r"<?\w+>?\(<?[\w-]+>?\)!?: ?\S")
_NAMED = re.compile(r"<?[\w/-]+>?: ?\S")
_IN_BRACKETS = re.compile(r"\[[^\]]+\]\s*\S")
_BARE_PREFIX = re.compile(r"\[[^\]]+\]|[\w/-]+:")
_STARTS = re.compile(
    r"\b(?:start|begin|beginn|prefix|präfix|commenc|préfix|empie|empez|comien|prefij)\w*", re.IGNORECASE
)
_EMOJI = "(?:[\u2600-\u27bf\U0001f000-\U0001faff]|:[a-z0-9_]+:)"
_NO_CAPITAL, _CAPITAL = "^(?![A-ZÀ-ÖØ-Þ])", "^(?![a-zß-öø-ÿ])"
_NO_STOP = r"[^.\s]\s*$"
# What a rule may ask of a message in words, and its pattern where that is wanted and where it is not.
_WORDS = (
    (r"emojis?|gitmojis?", f"^{_EMOJI}", f"^(?!.*{_EMOJI})"),
    (r"lower[- ]?cased?|klein\w*|minuscules?|minúsculas?", _NO_CAPITAL, _CAPITAL),
    (r"upper[- ]?cased?|capital\w*|groß(?:en|em|er)?\w*|majuscules?|mayúsculas?", _CAPITAL, _NO_CAPITAL),
    (r"full stops?|periods?|trailing dots?|punkt|points?(?: final)?|puntos?(?: final)?", "", _NO_STOP),
)  # fmt: skip


def pattern(text: str) -> str:
    """Return the pattern of a commit's message that a rule asks for, "" for none; "^" starts a subject."""
    if _CONVENTIONAL.search(text):
        return r"^[a-z]+(\([^)]*\))?!?: \S"
    found = list(_PREFIX.finditer(text))  # in a list: "feat: / fix: / docs:"
    pairs = [
        (one[1], other[1])
        for one, other in pairwise(found)
        if 0 < len(text[one.end() : other.start()].strip()) <= _BETWEEN
    ]
    if pairs:
        return rf"^({'|'.join(dict.fromkeys(sum(pairs, ())))})(\([^)]*\))?!?: ?\S"
    if (ticket := _TICKET.search(text)) and text[ticket.start() - 1] == "[":
        return rf"{'^' if _STARTS.search(text) else ''}\[{ticket[1]}-\d+\]"
    if ticket:
        return rf"{'^' if ticket[2] else ''}\b{ticket[1]}-\d+{ticket[2]}"
    if long := _LONG.search(text):
        return rf"^.{{1,{long[1]}}}$"
    return _by_example(text) or _in_words(text)


def unwanted(text: str) -> list[str]:
    """Return the words that a commit's message is not to have."""
    found = [(each.start(), word) for each in _MENTIONS.finditer(text) for word in each.groups() if word]
    return [word for at, word in found if word[0].isupper() and NOT.search(text[:at])]


def _by_example(text: str) -> str:
    if NOT.search(text):
        return ""
    for given in _GIVEN.findall(text):
        for form, asked in (
            (_SCOPED, r"^[\w./-]+\([^)]+\)!?: ?\S"), (_IN_BRACKETS, r"^\[[^\]]+\]\s*\S"),
            (_NAMED, r"^[\w./-]+(\([^)]*\))?!?: ?\S"),
        ):  # fmt: skip
            if form.match(given):
                return asked
    bare = [given for given in _GIVEN.findall(text) if _BARE_PREFIX.fullmatch(given)]
    if bare and _STARTS.search(text):
        return f"^(?:{'|'.join(map(re.escape, bare))})"
    return r"#\d+" if _ISSUE.search(text) else ""


def _in_words(text: str) -> str:
    for words, wanted, unwanted in _WORDS:
        if found := re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE):
            return unwanted if NOT.search(text[: found.start()]) else wanted
    return ""
