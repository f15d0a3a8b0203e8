"""Choose the lines of a block: the best by value per token, none twice, none cut in half. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from claude_mem_lite.context.text import vetted
from claude_mem_lite.search.words import STOP_WORDS, words
from claude_mem_lite.text import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from claude_mem_lite.kinds import Kind

# A session's line stands over those of what it did.
HEADING: Kind = "session"
LEARNING: Kind = "learning"

# A line of which so large a share of the words stands in lines above says nothing new.
SAID = 0.85
# Below this many words a line is too short to be told from others by its words.
_FEW_WORDS = 4
# "- " and the end of the line.
_MARKS = "- \n"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a block: `id` opens it, `value` (any unit, one layer's lines share it) is what it is worth.

    `says` is what it tells, without age and id; `stands_for` are the ids of what need not be told beside it;
    `reason` says where the value comes from; what `is_users`, in their own words, is nobody else's order.
    What `says_more` of its row than any line of another kind comes although the row was shown; what
    `is_one_of_many` lines of a row comes beside the others of its block. `stated` are marks of the statements
    that it tells.
    """

    id: str
    kind: Kind
    text: str
    value: float
    says: str
    reason: str = ""
    stands_for: tuple[str, ...] = ()
    is_users: bool = False
    says_more: bool = False
    is_one_of_many: bool = False
    stated: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """What the line costs."""
        return estimate_tokens(self.text + _MARKS)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that is not in the block, and why."""

    line: Line
    why: str


@dataclass(slots=True)
class Section:
    """Lines under one title, in the order in which they are read."""

    name: str
    title: str
    lines: list[Line] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """What the section costs with its title."""
        if not self.lines:
            return 0
        return estimate_tokens(f"## {self.title}\n\n") + sum(line.tokens for line in self.lines)


class Said:
    """What a block, or a session's earlier blocks, have told already."""

    def __init__(self, ids: Collection[str] = ()) -> None:
        self._ids, self._here = set(ids), set[str]()
        self._words: list[tuple[Kind, frozenset[str]]] = []

    def has(self, row_id: str) -> bool:
        """Tell whether a row was told before this block."""
        return row_id in self._ids

    def add(self, line: Line) -> None:
        """Note a line."""
        self._here |= {line.id, *line.stands_for}
        self._words.append((line.kind, _words(line)))

    def why(self, line: Line) -> str:
        """Return why a line would be one too many, "" if it would not."""
        before = self._ids if line.is_one_of_many else self._ids | self._here
        if line.id in before and not line.says_more:
            return "already shown"
        # What was learned is told as such, whatever else says it.
        others = (said for kind, said in self._words if line.kind != LEARNING or kind == LEARNING)
        told = _words(line)
        return "another line says it" if any(_repeats(told, other) for other in others) else ""


def added(line: Line, note: str) -> Line:
    """Return a line with a harmless note at its end."""
    return replace(line, text=line.text + note, says=line.says + note) if note else line


def vet(line: Line, section: Section) -> Line | None:
    """Return a line as it may be told, None if nothing of it may; the section notes what is withheld."""
    says, why = (line.says, "") if line.kind == LEARNING else vetted(line.says, is_users=line.is_users)
    if why:
        section.left_out.append(LeftOut(line, f"withheld{' in part' if says else ''}: {why}"))
    if says == line.says:
        return line
    return replace(line, says=says, text=line.text.removesuffix(line.says) + says) if says else None


def fill(section: Section, lines: Sequence[Line], *, budget_tokens: int, said: Said, most: int = 100) -> int:
    """Put the lines with the best value per token into a section, in the order given; return what is left.

    `budget_tokens` is what the section may cost, title included; `most` its lines. `said` hears of each line.
    """
    left = budget_tokens - Section(section.name, section.title, [_NOTHING]).tokens
    chosen: dict[int, tuple[Line, frozenset[str]]] = {}
    for at in sorted(range(len(lines)), key=lambda at: -lines[at].value / lines[at].tokens):
        line, told = lines[at], _words(lines[at])
        if len(chosen) >= most:
            why = f"{most} lines are better"
        elif line.tokens > left:
            why = "no room"
        elif any(_repeats(told, other) for _, other in chosen.values()):
            why = "another line says it"
        else:
            why = said.why(line)
        if why:
            section.left_out.append(LeftOut(line, why))
        elif (line_told := vet(line, section)) is not None:
            chosen[at] = line_told, told
            left -= line_told.tokens
    told_lines = [chosen[at][0] for at in sorted(chosen)]
    # A heading with nothing under it says nothing.
    section.lines += [
        line
        for line, below in pairwise([*told_lines, _NOTHING])
        if line.kind != HEADING or below.kind != HEADING
    ]
    for line in section.lines:
        said.add(line)
    return budget_tokens - section.tokens


def _repeats(told: frozenset[str], said: frozenset[str]) -> bool:
    return len(told) >= _FEW_WORDS and len(told & said) >= SAID * len(told)


def _words(line: Line) -> frozenset[str]:
    """Return the words by which a line says something; a session's is a heading, which others may have."""
    return frozenset() if line.kind == HEADING else frozenset(words(line.says)) - STOP_WORDS


_NOTHING = Line("", HEADING, "", 0, "")
