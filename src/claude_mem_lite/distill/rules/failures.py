"""Find the error in a command's output.

Compilers, linters and runners share a handful of formats, so one function finds the first error of any.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from claude_mem_lite.distill.rules.hunks import same_start
from claude_mem_lite.text import one_line

_MARK = re.compile(r"^(?:E  +|│ )")  # pytest's, and the box that terraform draws
# Gradle's closing report, used if nothing above it is an error: the innermost cause counts.
_AT_LAST = re.compile(r"^FAILURE: Build failed with an exception\.$", re.MULTILINE)
_CAUSE = re.compile(r"^\* What went wrong:\n(?P<says>(?:.+\n)+)", re.MULTILINE)
# PowerShell's, in any language: its message is above the place, or below the line if that cannot be parsed;
# from version 7 on below a frame.
_POWERSHELL = re.compile(
    r"(?:^(?P<above>.*)\n)?^.*\d\n\+ .*\n\+ +~+ *\n(?P<below>(?! ).*\S)?[^+]*\+ CategoryInfo +:"
    r"|^Line \|\n +\d+ \|.*\n +\| +~+ *\n +\| (?P<framed>.*)",
    re.MULTILINE,
)
_EXIT_CODE = re.compile(r"\AExit code (-?\d{1,9})\n?")

# An exception's line comes last, after its traceback; among plain errors the first causes the others.
_EXCEPTION = re.compile(
    r"^(?:[\w.:]*(?:Error|Exception|Exit|Interrupt|Unknown\w+)|[\w.:]+Warning)\b(?::.*|$)"
    r"|^(?:\w+\.)+[A-Z]\w*[a-z]\w*: \S"
)
# `_ONLY_CODE`: a runner's note that its command failed; the command's own error, or a git hook's, says more.
# `_ADVICE`: a hint, not an error.
_ONLY_CODE = re.compile(
    r"(?:.*\W)?(?:error|exit(?:ed)?(?: with)?(?: code| status)?|errno|code):? \d+(?: \(error\))?\W*$"
    r"|error: failed to push some refs to |fatal: Could not read from remote repository",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")
_ADVICE = re.compile(r"\W*(?:hint|help|note|usage|tip|see|try|run)\b", re.IGNORECASE)
_PLAIN = (
    re.compile(
        r"^\s*(?:fatal|error|panic|bug|ERROR|Fatal error|npm (?:ERR!|error))\b(?:\[\w+\])?:?\s+\S"
        r"|^\S+:\s*(?:fatal )?(?:error|ERROR)\b"
    ),
    re.compile(
        r": (?:command not found|No such file or directory|Permission denied|not found)|No module named"
    ),
    re.compile(
        r"\b(?:[Cc]annot|[Cc]ould ?n[o']t|[Rr]efused|[Ff]ailed|[Dd]enied|[Ii]nvalid|[Tt]imed out)\b"
        r"|\b(?:CONFLICT|rejected)\b"
    ),
    re.compile(
        r"^[X\u2715-\u2718\u00d7\u274c]\s+(?!.*\b\d+ (?:problem|error|warning|failed))\S"
    ),  # a cross before anything but a count
)


# A program reports an unknown option before it prints its usage.
_USAGE_LINES, _USAGE_CHARS = 60, 240
_LINES = 4_000
_LINE_CHARS = 300
_NEAR = 4
FRAME = re.compile(r"[\u2500-\u257f]+ ?")
_PATH = r"(?:file://)?(?:[A-Za-z]:)?[^\s:()\[\]'\"`,]*[./\\][^\s:()\[\]'\"`,]*\w|Makefile|Dockerfile"
# gcc, go, tsc, javac, maven, kotlinc, dotnet, ruff, mypy, golangci-lint: a path, a line, a message.
_AT = re.compile(
    rf"^\s*(?:\[\w+\] +|[A-Za-z]{{1,8}}: +)?(?:{_PATH})(?::\[?|\()\d+(?:[:,]\s?\d+)?[\])]?(?::|\s-)?\s+"
    r"(?P<says>[^\s:#].*)$"
)
# A cheap test for the line number that `_AT` needs; without one `_AT` would try every split of a long line.
_NUMBERED = re.compile(r"[:(]\[?\d")
_MINOR = re.compile(r"^\W*(?:warning|warn|note|info|debug|hint|help)\b", re.IGNORECASE)
_IN = re.compile(r"in [\w<>.]+$")  # a frame in pytest's output
# rustc, terraform, node, java, vitest: a message, with its place below.
_SAYS = re.compile(r"^(?:error(?:\[\w+\])?: |Error: |(?:[\w.]+(?:Error|Exception)): )\S")
_BELOW = re.compile(
    r"^\s*(?:-->|\u276f|at|on|in)\s(?:.*[\s(])?"
    r"(?P<place>[\w@+/-][\w.@+/-]*\.\w+(?::\d+(?::\d+)?|,? line \d+))"
)
# eslint, stylelint, next: a path, with positions below; next and webpack: a place, with the message below.
_FILE = re.compile(r"^\S*[\w-]\.\w+$")
_UNDER_FILE = re.compile(r"^\s*(?P<at>\d+:\d+)\s+(?:error|Error:|\u2716|\u00d7)\s+(?P<says>\S.*)$")
_PLACE = re.compile(r"^(?:ERROR in )?\S*[\w-]\.\w+[: ]\d+:\d+(?:-\d+(?::\d+)?)?$")
# dart and flutter analyze: message, place and rule, or place, message and rule.
_DART = re.compile(r"^\s*error (?P<mark>[•-]) (?P<parts>.*)$")
_TRACEBACK = "Traceback (most recent call last):"


def exit_code(error: str) -> tuple[int | None, str]:
    """Split a failed command's text into the exit code at its start (None for none) and the output."""
    match = _EXIT_CODE.match(error)
    output = error[match.end() :] if match else error
    # Source: Claude Code 2.1.50 sends a failed command's output twice, with an empty line in between.
    once, twice = output[: len(output) // 2 - 1], output[len(output) // 2 + 1 :]
    if once and once == twice and output[len(once) : len(once) + 2] == "\n\n":
        output = once
    return (int(match[1]), output) if match else (None, output)


def decisive_line(output: str) -> str:
    """Return the line of an output that says what went wrong; "" for none."""
    if problem := first_problem(output):
        return problem
    if said := _POWERSHELL.search(output):
        return one_line(said["framed"] or said["below"] or said["above"], 300)
    output, *below = _AT_LAST.split(output, maxsplit=1)
    lines = _telling(_MARK.sub("", line.strip()) for line in output.splitlines() if line.strip())
    exceptions = [line for line in lines if _EXCEPTION.match(line)]
    if exceptions:
        return one_line(exceptions[-1], 300)
    for pattern in _PLAIN:
        for line in lines:
            if pattern.search(line):
                return _without_folder(line)
    cause = _CAUSE.search(below[0]) if below else None
    return _innermost(cause["says"].splitlines()) if cause else ""


def _innermost(causes: list[str]) -> str:
    """Return the last of the causes that Gradle lists, each after ">", with the line below it."""
    at = max(at for at, line in enumerate(causes) if line.lstrip().startswith(">") or not at)
    return one_line(" ".join(line.lstrip("> \t") for line in causes[at : at + 2]), 300)


def below(line: str, output: str) -> str:
    """Return the line below a line that ends in a colon, without the words that both begin with."""
    if not line.endswith(":"):
        return ""
    lines = [each.strip() for each in output.splitlines() if each.strip()]
    at = next((at for at, each in enumerate(lines[:-1]) if each.endswith(line)), None)
    if at is None:
        return ""
    its, more = lines[at].split(), lines[at + 1].split()
    return " ".join(more[same_start(its, more) :])


def about_option(options: Collection[str], output: str) -> str:
    """Return the line of an output that mentions one of the `options`, but does not begin with it."""
    for line in output.splitlines()[:_USAGE_LINES]:
        words = [word.strip("'\"`.,:;") for word in line[:_USAGE_CHARS].split()]
        # A line that begins with "+" shows the command itself.
        if not set(words[1:]).isdisjoint(options) and words[0] not in {*options, "+"}:
            return one_line(line.strip(), 300)
    return ""


def first_problem(output: str) -> str:
    """Return the first error of an output with its place, on one line; "" if no line has a known format."""
    lines = [FRAME.sub("", line).rstrip() for line in output.splitlines()[:_LINES]]
    return "" if _TRACEBACK in lines else one_line(next(_problems(lines), ""), _LINE_CHARS)


def _problems(lines: Sequence[str]) -> Iterator[str]:
    file = ""
    for index, line in enumerate(lines):
        near = lines[index + 1 : index + 1 + _NEAR]
        if _FILE.match(line):
            file = line
        elif file and (found := _UNDER_FILE.match(line)):
            yield f"{file}:{found['at']}: {found['says']}"
        elif _PLACE.match(line) and (said := "".join(near[:1])) and ": " in said:
            yield f"{line}: {said.strip()}"
        elif found := _DART.match(line):
            parts = sorted(
                found["parts"].split(f" {found['mark']} "), key=lambda part: not _PLACE.match(part)
            )
            yield f"{': '.join(parts[:-1])} ({parts[-1]})"
        elif _SAYS.match(line):
            if place := next((found["place"] for each in near if (found := _BELOW.match(each))), ""):
                yield f"{line} ({place})"
        elif (found := _at(line[:1_000])) and not (_MINOR.match(found["says"]) or _IN.match(found["says"])):
            # A rule's name alone: its message is on the next line.
            said = next((each for each in near if each.strip()), "") if " " not in found["says"] else ""
            yield f"{line} {said.strip(' ×✖')}"


def count_problems(output: str) -> int:
    """Return the number of distinct lines with a place and an error."""
    found = map(_at, dict.fromkeys(output.splitlines()[:_LINES]))
    return sum(1 for each in found if each and not _MINOR.match(each["says"]))


def is_error(line: str) -> bool:
    """Tell whether a line reads as an error by itself."""
    bare = _MARK.sub("", line.strip())
    return bool(_EXCEPTION.match(bare)) or any(pattern.search(bare) for pattern in _PLAIN)


def last_line(output: str) -> str:
    """Return the last line that is neither empty nor a bare status nor advice; else the last line."""
    lines = _telling(line.strip() for line in output.splitlines() if line.strip())
    said = (line for line in reversed(lines) if not _ADVICE.match(line))
    return _without_folder(next(said, *lines[-1:] or [""]))


def _telling(lines: Iterable[str]) -> list[str]:
    """Return the lines without warnings, addresses and bare status lines, unless there are no others."""
    told = list(lines)
    told = [line for line in told if not (_MINOR.match(line) or _ADDRESS.fullmatch(line))] or told
    return [line for line in told if not _ONLY_CODE.match(line)] or told


def _without_folder(line: str) -> str:
    """Return "python3: No module named x" for "/opt/venv/bin/python3: No module named x"."""
    return one_line(re.sub(r"^/\S*/(?=[^/\s]+: )", "", line), 300)


def _at(line: str) -> re.Match[str] | None:
    return _AT.match(line) if _NUMBERED.search(line) else None
