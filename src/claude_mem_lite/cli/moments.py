"""Print the moments of a demo: what happens in a session, and what memory tells Claude then."""

import re
from itertools import pairwise

from claude_mem_lite.cli import terminal
from claude_mem_lite.cli.terminal import say, style

_LINES_TOLD = 3
# A line of a block: its age and its id stand before what it tells.
_LINE = re.compile(r" *- (?:\[[^\]]*\] )?(?:[0-9a-f]{8} )?(.*)")


def show_moment(title: str, cost: str, happens: str, told: list[str]) -> None:
    """Print one moment: a title with the cost at the right, what happens, and what Claude is told."""
    most = terminal.columns()
    gap = most - terminal.width(title) - terminal.width(cost)
    say("")
    if cost and gap > 1:
        say(f"{style(title, 'bold')}{' ' * gap}{style(cost, 'dim')}")
    else:
        say(style(terminal.cut(title, most), "bold"))
    if happens:
        say(f"   {terminal.cut(happens, most - 3)}")
    for each in told:
        lines = list(terminal.wrapped(each, most - 5))
        if len(lines) > _LINES_TOLD:
            lines = [*lines[: _LINES_TOLD - 1], terminal.cut(f"{lines[_LINES_TOLD - 1]} …", most - 5)]
            lines[-1] = lines[-1] if lines[-1].endswith("…") else f"{lines[-1]}…"
        for line in lines:
            say(f"   {style('│', 'good')} {line}")


def lines_of(block: str, *sections: str) -> list[str]:
    """Return the lines of a block, or of some of its sections, without their ids and ages.

    A line with lines of its own below it is a title, and left out.
    """
    found, is_in = [], not sections
    for line, below in pairwise([*block.splitlines(), ""]):
        if line.startswith("## "):
            is_in = not sections or line[3:].startswith(sections)
        elif line.startswith("- ") and below.startswith("  - "):
            continue
        elif is_in and (match := _LINE.match(line)):
            found.append(match[1])
    return found
