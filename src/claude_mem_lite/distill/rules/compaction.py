"""Extract what is worth keeping from the client's summary of a compacted session. Pure.

The model wrote it for itself, from a conversation that also held files, pages and outputs, so it is passed on
as the model's words. `distill.summary` marks what the record contradicts.
"""

import re

from claude_mem_lite.text import clean, clip, one_line, sentences

NAME = "PostCompact"
LEAD = "In the model's words: "
CHARS, LASTING_CHARS = 1_000, 6_000
OBSERVATION_CHARS = CHARS + LASTING_CHARS  # a compaction stands for a whole conversation

# The sections to keep, in this order: label, pattern of the heading, most characters.
_SECTIONS = (
    ("Asked", re.compile(r"request|intent|goal", re.IGNORECASE), 200),
    ("Now", re.compile(r"current|progress|state", re.IGNORECASE), 200),
    ("Decided", re.compile(r"deci(?:sion|ded)", re.IGNORECASE), 220),
    ("Open", re.compile(r"pending|open|to-?do|remaining", re.IGNORECASE), 160),
    ("Failing", re.compile(r"fail|what works", re.IGNORECASE), 160),
    ("Next", re.compile(r"next", re.IGNORECASE), 120),
    ("Errors", re.compile(r"error", re.IGNORECASE), 160),
    ("Solved", re.compile(r"problem", re.IGNORECASE), 120),
)
_ANALYSIS = re.compile(
    r"<analysis>.*?(?:</analysis>|\Z)|\A\s*Analysis:.*?(?=^Summary:)", re.DOTALL | re.MULTILINE
)
_TAGS = re.compile(r"</?summary>|^Summary:\s*$", re.MULTILINE)
# Text that the client adds around the summary in a transcript.
_AROUND = re.compile(
    r"<system-reminder>(?s:.*?)</system-reminder>|"
    r"\A\s*This session is being continued from a previous conversation[^\n]*"
    r"|^\s*(?:Please c|C)ontinue the conversation from where(?s:.*)\Z"
    r"|^\s*If you need specific details from before compaction[^\n]*"
    r"|^\s*Recent messages are preserved verbatim\.[^\n]*",
    re.MULTILINE,
)
_CODE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^(?:#{1,4}[ \t]+|\d{1,2}\.[ \t]+)?(?:\*\*)?(?P<says>[A-Z][^\n:*]{2,60}?)(?:\*\*)?:(?:\*\*)?"
    r"(?P<rest>[^\n]*)$"
    r"|^#{1,4}[ \t]+(?P<title>[^\n]{3,60})$",
    re.MULTILINE,
)
# Sections about what stays true after the session, and the longest item that is kept as one sentence.
_LASTING = re.compile(r"concept|deci(?:sion|ded)|error|problem", re.IGNORECASE)
_ITEM_CHARS = 320
_LINE = re.compile(r"(?P<mark>[ \t]*(?:(?:[-*+•]|\d+[.)])[ \t]+)?)(?P<says>.+)")
_NONE = re.compile(r"^(?:none|n/a|nothing|no (?:pending|open|failing)\b.*)\W*$", re.IGNORECASE)


def condensed(summary: str) -> str:
    """Return the client's summary condensed to about 1,000 characters; "" for nothing worth keeping."""
    text = _own(summary)
    sections = _sections(text)
    parts: dict[str, str] = {}
    for label, heading, chars in _SECTIONS:
        for says, told in sections:
            if heading.search(says) and label not in parts and (short := _short(told, chars)):
                parts[label] = short
                sections = [each for each in sections if each != (says, told)]
                break
    if not parts:
        return _short(text, CHARS)
    whole = ""
    for label, told in parts.items():
        part = f"{label}: {told if told.endswith(('.', '?', '!', '…', '”')) else f'{told}.'}"
        if len(whole) + len(part) < CHARS:
            whole = f"{whole} {part}".strip()
    return whole


def lasting(summary: str) -> str:
    """Return the sections of the client's summary about concepts, decisions, errors and problems.

    An item of several sentences becomes one sentence, since its later ones refer to the first.
    """
    kept: list[str] = []
    for heading, told in _sections(_own(summary)):
        if _LASTING.search(heading):
            lines = filter(str.strip, told.splitlines())
            kept += [_LINE.sub(_as_one, line) if len(line) <= _ITEM_CHARS else line for line in lines]
            kept.append("")
    return clip("\n".join(kept), LASTING_CHARS)


def _as_one(line: re.Match[str]) -> str:
    """Return a line with its sentences joined to one."""
    return line["mark"] + " — ".join(each.rstrip(".") for each in sentences(line["says"]))


def _own(summary: str) -> str:
    """Return the summary without the client's text around it, the model's analysis and code."""
    return _CODE.sub("", _TAGS.sub("", _ANALYSIS.sub("", _AROUND.sub("", clean(summary))))).strip()


def _sections(text: str) -> list[tuple[str, str]]:
    """Return the sections of a text as (heading, text)."""
    headings = list(_HEADING.finditer(text))
    ends = [match.start() for match in headings[1:]] + [len(text)]
    return [
        (match["says"] or match["title"], f"{match['rest'] or ''}\n{text[match.end() : end]}")
        for match, end in zip(headings, ends, strict=False)
    ]


def _short(text: str, chars: int) -> str:
    """Return the first sentences of a text that fit into `chars` characters."""
    told = ""
    for sentence in sentences(text):
        if _NONE.match(sentence):
            continue
        if told and len(told) + len(sentence) >= chars:
            break
        end = "" if sentence.endswith((".", "?", "!", ":", ";", "…", "”")) else "."
        told = f"{told} {one_line(sentence, chars)}{end}".strip()
    return told
