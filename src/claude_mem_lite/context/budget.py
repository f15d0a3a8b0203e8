"""Choose the lines of a block: the best by value per token, without duplicates, each one whole. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from claude_mem_lite.context.text import vetted
from claude_mem_lite.search.words import function_words, words
from claude_mem_lite.text import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from claude_mem_lite.kinds import Kind

# A session's line is the heading of the lines about its work.
HEADING: Kind = "session"
LEARNING: Kind = "learning"

# A line repeats another one that has at least this share of its words.
SAID = 0.85
# A line of fewer words is too short to be compared by its words.
_FEW_WORDS = 4
# What each line costs beside its text: "- " and the line end.
_MARKS = "- \n"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a block: `id` is the row that it opens, `value` its worth in a unit shared by its layer.

    `says` is the text without age and id, `reason` explains the value, and `stands_for` are ids of rows that
    the line makes redundant. `is_users` marks the user's own words, which cannot be someone else's orders. A
    line with `says_more` is shown even if its row was shown before. One with `is_one_of_many` may stand
    beside other lines of its row in the block. `stated` are the marks of the statements it contains.
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
        """The cost of the line, with list mark and line end."""
        return estimate_tokens(self.text + _MARKS)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that is not in the block, and the reason."""

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
        """The cost of the section with its title, 0 without lines."""
        if not self.lines:
            return 0
        return estimate_tokens(f"## {self.title}\n\n") + sum(line.tokens for line in self.lines)


class Said:
    """What a block and a session's earlier blocks have said already."""

    def __init__(self, ids: Collection[str] = ()) -> None:
        self._ids, self._here = set(ids), set[str]()
        self._words: list[tuple[Kind, frozenset[str]]] = []

    def has(self, row_id: str) -> bool:
        """Tell whether a row was shown before this block."""
        return row_id in self._ids

    def add(self, line: Line) -> None:
        """Record a line of this block."""
        self._here |= {line.id, *line.stands_for}
        self._words.append((line.kind, _words(line)))

    def why(self, line: Line) -> str:
        """Return why a line would be redundant, "" if it would not."""
        before = self._ids if line.is_one_of_many else self._ids | self._here
        if line.id in before and not line.says_more:
            return "already shown"
        # A learning is shown as a learning, even if a line of another kind says the same.
        others = (said for kind, said in self._words if line.kind != LEARNING or kind == LEARNING)
        told = _words(line)
        return "another line says the same" if any(_repeats(told, other) for other in others) else ""


def added(line: Line, note: str) -> Line:
    """Return a line with a note, already made harmless, appended."""
    return replace(line, text=line.text + note, says=line.says + note) if note else line


def vet(line: Line, section: Section) -> Line | None:
    """Return a line without withheld parts, None if nothing is left; the section records what is withheld."""
    says, why = (line.says, "") if line.kind == LEARNING else vetted(line.says, is_users=line.is_users)
    if why:
        section.left_out.append(LeftOut(line, f"withheld{' in part' if says else ''}: {why}"))
    if says == line.says:
        return line
    return replace(line, says=says, text=line.text.removesuffix(line.says) + says) if says else None


def fill(section: Section, lines: Sequence[Line], *, budget_tokens: int, said: Said, most: int = 100) -> int:
    """Add the lines with the best value per token to a section, in the given order; return the tokens left.

    `budget_tokens` is the limit for the section with its title, `most` the limit for its lines. Each added
    line is recorded in `said`.
    """
    left = budget_tokens - Section(section.name, section.title, [_NOTHING]).tokens
    chosen: dict[int, tuple[Line, frozenset[str]]] = {}
    for at in sorted(range(len(lines)), key=lambda at: -lines[at].value / lines[at].tokens):
        line, told = lines[at], _words(lines[at])
        if len(chosen) >= most:
            why = f"not among the {most} best lines"
        elif line.tokens > left:
            why = "no room"
        elif any(_repeats(told, other) for _, other in chosen.values()):
            why = "another line says the same"
        else:
            why = said.why(line)
        if why:
            section.left_out.append(LeftOut(line, why))
        elif (line_told := vet(line, section)) is not None:
            chosen[at] = line_told, told
            left -= line_told.tokens
    told_lines = [chosen[at][0] for at in sorted(chosen)]
    # Drop headings without lines under them.
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
    """Return the words that a line is compared by; none for a heading, whose words other lines may repeat."""
    return frozenset() if line.kind == HEADING else frozenset(words(line.says)) - function_words()


_NOTHING = Line("", HEADING, "", 0, "")
