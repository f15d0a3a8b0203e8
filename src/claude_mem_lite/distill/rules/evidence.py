"""Choose the lines of a file or an output that are worth keeping as evidence."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from claude_mem_lite.distill.rules.failures import FRAME, is_error

# Worth of a line of code to a reader without the file: that of the first matching row, 1 without a match.
_CODE_WORTH = (
    (re.compile(r"^\W*$"), 0),
    (re.compile(r"^\s*(?:import\b|from\s+\S+\s+import\b|#include\b|use\s|package\s|require\b)"), 0),
    (re.compile(r"^(?:export\s+)?(?:const\s+|final\s+|static\s+)?[A-Z_][A-Z0-9_]+\s*(?::[^=]+)?=(?!=)"), 5),
    (re.compile(r'^\s*(?:"""|\'\'\'|#|//|/\*|\*\s|--\s|<!--)'), 5),
    (re.compile(r"\s(?:#|//)\s+\w"), 5),
    (re.compile(r"^\s*(?:raise|throw|panic|assert)\b|Error\("), 4),
    (
        re.compile(
            r"^\s*(?:export\s+|pub\s+|public\s+|private\s+|static\s+|async\s+|default\s+|abstract\s+)*"
            r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|CREATE)\b"
        ),
        4,
    ),
    (re.compile(r"^\s*(?:return|yield|except|catch|if|elif|with)\b|PRAGMA|BEGIN|https?://"), 2),
)
_PLAIN_WORTH = ((re.compile(r"^\W*$"), 0), (re.compile(r"^\s*#{1,6}\s"), 1), (re.compile(r"\w"), 2))
# Worth of a line of output: results first, then positions and messages. Alternatives that begin with
# different characters are separate rows: the regex engine searches a combined one ten times slower.
_OUTPUT_WORTH = (
    (re.compile(r"^[\W_]*$"), 0),
    (
        re.compile(
            r"\d (?:passed|failed|passing|failing|errors?|failures?|warnings?|skipped|tests?|examples?"
            r"|problems?|packages?|files? changed)\b"
        ),
        5,
    ),
    (
        re.compile(
            r"^\s*(?:OK|FAIL|FAILED|ERROR|PASS|BUILD|Tests?|Ran|Success\w*|Finished|TOTAL|test result"
            r"|All checks passed|0 issues)\b"
            r"|^\[\S+ (?:\(root-commit\) )?[0-9a-f]{7,40}\] "
        ),
        5,
    ),
    (re.compile(r"exit (?:status|code) \d"), 5),
    (re.compile(r"^(?:E  |> |_{3,} .+ _{3,}$)"), 4),
    (re.compile(r"[Ww]arning\b"), 4),
    (re.compile(r"deprecated\b"), 4),
    (re.compile(r"^(?:\S+:\d+:|\s*File \"(?!<frozen))"), 3),
    (re.compile(r"https?://"), 3),
)

# Lines of output that say nothing: progress, listings, timings, frames.
_NOISE = re.compile(
    r"^[\W_]*$|^[.FEsxX]+\s*(?:\[\s*\d+%\])?$|^total \d+$|^[-dlbcps][-rwxsStT]{9}[.+@]?\s"
    r"|^(?:real|user|sys)\s+\d+m|^\s*\d+%\s"
    r"|^\s*(?:remote: )?(?:Counting|Compressing|Enumerating|Receiving|Resolving|Writing|Unpacking) objects"
    r"|^Traceback \(most recent call last\):$|^\s+File \"<frozen "
    # the command that a task runner starts, and the client's note on the shell's folder
    r"|^(?:\[[\w:.-]+\] )?\$ |^> \S+@\S+ |^Shell cwd was reset to "
    r"|^\s*[|/\\-]$|^(?:Downloading|Collecting|Using cached|Requirement already satisfied|Get:\d|Hit:\d)\b"
)


def code_worth(line: str) -> int:
    """Rate a line of code by itself, 0 (worthless) to 5."""
    return _worth(line, _CODE_WORTH)


def plain_worth(line: str) -> int:
    """Rate a line of prose or configuration by itself, 0 to 2."""
    return _worth(line, _PLAIN_WORTH)


def output_worth(line: str) -> int:
    """Rate a line of a command's output by itself, 0 to 5; errors and verdicts are highest."""
    points = _worth(line, _OUTPUT_WORTH)
    return 5 if 0 < points < 5 and is_error(line[:500]) else points  # noqa: PLR2004 - the most


def best_lines(lines: Sequence[str], limit: int, worth: Callable[[str], int]) -> str:
    """Return the highest-rated lines that fit into `limit` characters, in order; none rated 0."""
    ranked = sorted((-points, index) for index, line in enumerate(lines[:5_000]) if (points := worth(line)))
    chosen: list[int] = []
    room = limit
    for _, index in ranked:
        cost = len(lines[index].rstrip()) + 1
        if cost <= room:
            chosen.append(index)
            room -= cost
        if room < 20:  # noqa: PLR2004 - no line worth having is shorter
            break
    return "\n".join(lines[index].rstrip() for index in sorted(chosen))


def telling_lines(output: str) -> list[str]:
    """Return the lines of a command's output without progress, listings and frames."""
    return [FRAME.sub("", line).rstrip() for line in output.splitlines() if not _NOISE.match(line)]


def collapsed(lines: Iterable[str]) -> list[str]:
    """Return the lines with each run of equal ones as one line with a count: "retrying × 12"."""
    runs = ((line, sum(1 for _ in run)) for line, run in groupby(lines))
    return [f"{line} × {times}" if times > 1 and line.strip() else line for line, times in runs]


def _worth(line: str, table: Iterable[tuple[re.Pattern[str], int]]) -> int:
    line = line[:500]
    for pattern, points in table:
        if pattern.search(line):
            return points
    return 1
