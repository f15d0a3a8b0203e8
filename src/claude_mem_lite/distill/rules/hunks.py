"""Describe a hunk of an edit in one line: `retries = 3 → 5`, or the line that was added or removed."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from claude_mem_lite.distill.rules import fields
from claude_mem_lite.text import one_line

ARROW = " → "

# An old and a new line that share this part of the longer one are the same line, changed.
_SHARED = 0.4
_PAIRED_LINES = 40
_BEFORE_CHARS = 36
# Added to the worth of a changed line: it tells more than an added or a removed one.
_CHANGED = 6

_WORDS = re.compile(
    r"\s+|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`"
    r"|[-+*/%&|^!<>:?=]*=>?|[^\s,;:=()\[\]{}\"'`]+|."
)
_MARKS = re.compile(r"^\s*(?:(?:[-*+>]|#{1,6})\s+)+")
_ENDS = ",;{[( "
_SAYS = re.compile(r"\w")
_STARTS = " ,;:=+.()[]{}"
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*\s|--\s|<!--|\"\"\"|''')")
_DEFINES = re.compile(
    r"^(?P<indent>\s*)(?:(?:export|default|pub(?:\(\w+\))?|public|private|protected|internal|static|async|final"
    r"|abstract|override|unsafe|suspend|open|inline|virtual)\s+)*"
    r"(?:(?:def|function\*?|class|func(?:\s*\([^)]*\))?|fn|fun|interface|struct|enum|trait|impl|type|module"
    r"|object|record)\s+(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?:const|let|var)\s+(?P<bound>[A-Za-z_$][\w$]*)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::[^=]*)?=>|\w+\s*=>))"
)
_READ_LINES = 600


@dataclass(frozen=True, slots=True)
class Hunk:
    """Removed lines and the lines that replaced them; `at` is the number of old lines before it, or -1."""

    removed: tuple[str, ...]
    added: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Told:
    """A hunk's description; `worth` ranks it among other hunks, 0 is worthless."""

    worth: int
    lead: str
    old: str
    new: str

    def text(self, limit: int) -> str:
        """Return "lead old → new", or the parts that exist, in about `limit` characters."""
        if not (self.old and self.new):
            return one_line(self.lead + self.old + self.new, limit)
        lead = self.lead if len(self.lead) + len(self.old) + len(self.new) < limit else ""
        room = limit - len(lead) - len(ARROW)
        old = one_line(self.old, max(room // 2, room - len(self.new)))
        return f"{lead}{old}{ARROW}{one_line(self.new, room - len(old))}"

    @property
    def core(self) -> str:
        """The change without the words before it."""
        return " ".join((ARROW if self.old and self.new else "").join((self.old, self.new)).split())

    @property
    def is_gone(self) -> bool:
        """Whether text was removed without a replacement."""
        return bool(self.old) and not self.new


def of_patch(response: object) -> tuple[Hunk, ...]:
    """Return the hunks of the client's patch without context lines."""
    return tuple(hunk for patch in fields.items(response, "structuredPatch") for hunk in _of_patch(patch))


def telling(hunk: Hunk, worth: Callable[[str], int]) -> Told:
    """Return the most telling line of a code hunk: a changed, an added or a removed one."""
    pairs = list(_pairs(hunk))
    changes = [_told(old, new, worth) for old, new in pairs]
    best = max(changes, key=lambda told: told.worth, default=Told(0, "", "", ""))
    come = [line for line in hunk.added if line not in {new for _, new in pairs}]
    gone = [line for line in hunk.removed if line not in {old for old, _ in pairs}]
    if come and worth(line := max(come, key=worth)) > best.worth:
        best = Told(worth(line), "", "", _bare(line))
    # A removed comment says little about the code removed with it.
    code = [line for line in gone if not _COMMENT.match(line)] or gone
    if code and worth(line := max(code, key=worth)) > best.worth:
        best = Told(worth(line), "", _bare(line), "")
    return best


def whole(hunk: Hunk, worth: Callable[[str], int]) -> Told:
    """Return the whole content of a hunk of prose or configuration."""
    old, new = (
        " | ".join(_bare(line) for line in lines if worth(line)) for lines in (hunk.removed, hunk.added)
    )
    most = max((worth(line) for line in (*hunk.added, *hunk.removed)), default=0)
    if not (old and new):
        return Told(most, "", old, new)
    return Told(most + _CHANGED, *_middle(old, new)) if old != new else Told(0, "", "", "")


def defined(line: str) -> str:
    """Return the name that a line of code defines, in any of many languages; "" if it defines none."""
    match = _DEFINES.match(line)
    return (match["name"] or match["bound"]) if match else ""


def around(source: str | None, hunk: Hunk) -> str:
    """Return the name of the definition around a hunk; "" if it is unknown."""
    line = next((line for line in (*hunk.removed, *hunk.added) if line.strip()), "")
    if source is None or hunk.at < 0 or defined(line):
        return ""
    indent = len(line) - len(line.lstrip())
    before = source.split("\n")[max(0, hunk.at - _READ_LINES) : hunk.at]
    for each in reversed(before):
        match = _DEFINES.match(each)
        if match and len(match["indent"]) < indent:
            return defined(each)
        if each.strip() and not each[0].isspace() and indent and each[0] not in "})]#/*":
            return ""
    return ""


def same_start(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of leading items that two sequences share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _of_patch(patch: object) -> Iterator[Hunk]:
    at = fields.number(patch, "oldStart") - 1
    for is_changed, group in groupby(fields.texts(patch, "lines"), key=lambda line: line[:1] in {"+", "-"}):
        lines = list(group)
        removed = tuple(line[1:] for line in lines if line[:1] == "-")
        if is_changed:
            yield Hunk(removed, tuple(line[1:] for line in lines if line[:1] == "+"), at)
        at += len(removed) if is_changed else len(lines)


def _pairs(hunk: Hunk) -> Iterator[tuple[str, str]]:
    """Yield each changed line as (old, new)."""
    left = list(hunk.added[:_PAIRED_LINES])
    for old in hunk.removed[:_PAIRED_LINES]:
        if len(hunk.removed) == len(hunk.added) == 1:
            yield old, hunk.added[0]
            return
        best = max(left, key=lambda new: _likeness(old, new), default=None)
        if best is not None and _likeness(old, best) >= _SHARED:
            left.remove(best)
            yield old, best


def _likeness(old: str, new: str) -> float:
    """Return the part of the longer line that both share at their start and end, 0 to 1."""
    old, new = old.strip()[:500], new.strip()[:500]
    start = same_start(old, new)
    end = same_start(old[start:][::-1], new[start:][::-1])
    return (start + end) / max(len(old), len(new), 1)


def _told(old: str, new: str, worth: Callable[[str], int]) -> Told:
    if "".join(old.split()) == "".join(new.split()):
        return Told(0, "", "", "")  # another indentation
    told = max(worth(old), worth(new))
    is_said = bool(_COMMENT.match(old) and _COMMENT.match(new))
    return Told((told + (0 if is_said else _CHANGED)) if told else 0, *_middle(_bare(old), _bare(new)))


def _middle(old: str, new: str) -> tuple[str, str, str]:
    """Return the words before a change, the old words and the new words."""
    one, other = _WORDS.findall(old[:2_000]), _WORDS.findall(new[:2_000])
    start = same_start(one, other)
    end = same_start(one[start:][::-1], other[start:][::-1])
    stop, last = len(one) - end, len(other) - end
    while start and not all(_SAYS.search("".join(each)) for each in (one[start:stop], other[start:last])):
        start -= 1
    if not all("".join(each).strip() for each in (one[start:stop], other[start:last])):
        return "", old, new  # a pure addition or removal at the start
    lead = "".join(one[:start])
    if len(lead) > _BEFORE_CHARS:
        words, lead = one[:start], ""
        while words and len(lead) + len(words[-1]) <= _BEFORE_CHARS:
            lead = words.pop() + lead
    return (
        lead.lstrip(_STARTS),
        "".join(one[start:stop]).strip(" ,;"),
        "".join(other[start:last]).strip(" ,;"),
    )


def _bare(line: str) -> str:
    """Return a line without list marks and without punctuation at its end."""
    return _MARKS.sub("", line).strip().rstrip(_ENDS)
