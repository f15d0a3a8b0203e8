"""Find the first error in any tool's output: a position with a message, or the reverse.

Compilers, linters and runners share a handful of shapes, so there is one finder for all of them.
"""

import re

from claude_mem_lite.text import one_line

_LINES = 4_000
_LINE_CHARS = 300
_NEAR = 4
_FRAME = re.compile(r"[\u2500-\u257f]+ ?")
_PATH = r"(?:file://)?(?:[A-Za-z]:)?[^\s:()\[\]'\"`,]*[./\\][^\s:()\[\]'\"`,]*\w|Makefile|Dockerfile"
# gcc, go, tsc, javac, maven, kotlinc, dotnet, ruff, mypy, golangci-lint: a path, a line, a message.
_AT = re.compile(
    rf"^\s*(?:\[\w+\] +|[A-Za-z]{{1,8}}: +)?(?:{_PATH})(?::\[?|\()\d+(?:[:,]\s?\d+)?[\])]?(?::|\s-)?\s+"
    r"(?P<says>[^\s:#].*)$"
)
# A cheap test for the line number that _AT needs: without one it tries every split of a long line.
_NUMBERED = re.compile(r"[:(]\[?\d")
_MINOR = re.compile(r"^\W*(?:warning|warn|note|info|debug|hint|help)\b", re.IGNORECASE)
_IN = re.compile(r"in [\w<>.]+$")  # a frame of pytest's
# rustc, terraform, node, java, vitest: a message, and below it where.
_SAYS = re.compile(r"^(?:error(?:\[\w+\])?: |Error: |(?:[\w.]+(?:Error|Exception)): )\S")
_BELOW = re.compile(
    r"^\s*(?:-->|\u276f|at|on|in)\s(?:.*[\s(])?"
    r"(?P<place>[\w@+/-][\w.@+/-]*\.\w+(?::\d+(?::\d+)?|,? line \d+))"
)
# eslint, stylelint: a path, and below it positions.
_FILE = re.compile(r"^\S*[\w-]\.\w+$")
_UNDER_FILE = re.compile(r"^\s+(?P<at>\d+:\d+)\s+(?:error|\u2716|\u00d7)\s+(?P<says>\S.*)$")
_TRACEBACK = "Traceback (most recent call last):"


def first_problem(output: str) -> str:
    """Return the first error of an output with its place, on one line; "" where no line has that shape."""
    lines = [_FRAME.sub("", line).rstrip() for line in output.splitlines()[:_LINES]]
    if _TRACEBACK in lines:
        return ""
    file = ""
    for index, line in enumerate(lines):
        near = lines[index + 1 : index + 1 + _NEAR]
        if _FILE.match(line):
            file = line
        elif file and (found := _UNDER_FILE.match(line)):
            return _fit(f"{file}:{found['at']}: {found['says']}")
        elif _SAYS.match(line):
            if place := next((found["place"] for each in near if (found := _BELOW.match(each))), ""):
                return _fit(f"{line} ({place})")
        elif (found := _at(line[:1_000])) and not (_MINOR.match(found["says"]) or _IN.match(found["says"])):
            # A rule's name alone: what it says follows.
            said = next((each for each in near if each.strip()), "") if " " not in found["says"] else ""
            return _fit(f"{line} {said.strip(' ×✖')}")
    return ""


def count_problems(output: str) -> int:
    """Return how many lines name a place and an error."""
    found = map(_at, dict.fromkeys(output.splitlines()[:_LINES]))
    return sum(1 for each in found if each and not _MINOR.match(each["says"]))


def _at(line: str) -> re.Match[str] | None:
    return _AT.match(line) if _NUMBERED.search(line) else None


def _fit(line: str) -> str:
    return one_line(" ".join(line.split()), _LINE_CHARS)
