"""Write a tool call as one line that can be run again, and normalize it for comparison with others. Pure."""

import re
from collections.abc import Iterator

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.distill.rules import bash, fields, shell
from claude_mem_lite.text import one_line

COMMAND_CHARS, LINE_CHARS, _READ_CHARS = 160, 300, 2_000
# Read-only tools.
LOOKING = frozenset({"Glob", "Grep", "LS", "Read"})
# A command longer than this many characters shows "…" for long texts: messages are not why it works.
_BRIEF = 100
_LONG, _SENTENCE, _SCRIPT = 20, 3, 60  # characters; spaces in a long text, or characters
_SET = re.compile(r"^(?:set [-+]\w+(?: pipefail)?\s*(?:;|&&)\s*)+")
_QUOTED = re.compile(r"([\"'])((?:(?!\1).)*)\1")
_OPENS_PATH = re.compile(r"[/~]|[A-Za-z]:")
_STEP = re.compile(r".*?(?:&&|;) ")
_INPUT_CHARS, _INPUTS = 60, 3
_NUMBER = re.compile(r"\b(?=\w*\d)[0-9a-f]{6,}\b|\d+")
# A number that is a word, a path segment or a date, such as a pull request. Inside a word it names a version.
_ALONE = re.compile(r"\b(?=\w*\d)[0-9a-f]{7,}\b|\d{4}-\d\d-\d\d|(?<![^\s/#'\"-])\d+(?![^\s/'\";|&)])")
_CUTTING = frozenset({"cat", "head", "tail"})
_WORD = re.compile(r"\w{4,}")
PART = re.compile(r"[^\W\d]\w+")  # of an operand or an option


def told(capture: Capture) -> str:
    """Return a call on one line, as it can be run again, in at most 160 characters."""
    return one_line(whole(capture), COMMAND_CHARS)


def whole(capture: Capture) -> str:
    """Return a call without `| head` and the like; in a long one "…" stands for long texts."""
    if capture.tool_name == "Bash":
        command = _uncut(in_line(capture, bash.shown(capture, _READ_CHARS), chars=_READ_CHARS))
        return _QUOTED.sub(_without_long_text, command) if len(command) > _BRIEF else command
    inputs = ", ".join(f"{name}: {value}" for name, value in list(_inputs(capture))[:_INPUTS])
    return f"{capture.tool_name}({inputs})"


def _without_long_text(quoted: re.Match[str]) -> str:
    """Return a quoted text, or "…" in its quotes for a sentence or a script."""
    mark, text = quoted.groups()
    is_long = len(text) >= _LONG and (text.count(" ") >= _SENTENCE or len(text) >= _SCRIPT)
    return f"{mark}…{mark}" if is_long and not _OPENS_PATH.match(text) else quoted[0]


def brief(works: str, failed: str) -> str:
    """Return a working command in at most 160 characters, if need be without unrelated first steps."""
    words = set(failed.split())
    while len(works) > COMMAND_CHARS and (step := _STEP.match(works)):
        rest = works[step.end() :]
        if not words.isdisjoint(step[0].split()) or words.isdisjoint(rest.split()):
            break
        works = rest
    return one_line(works, COMMAND_CHARS)


def _uncut(command: str) -> str:
    """Return a command without a trailing `| head`, `| tail` or `2>&1`, and without a leading `set -e`."""
    parts = _SET.sub("", command).split("|")
    while len(parts) > 1 and parts[-2].strip() and set(parts[-1].split()[:1]) <= _CUTTING:
        if not parts[-1].strip() or not {"&", ";"}.isdisjoint(parts[-1]):
            break
        parts.pop()
    return "|".join(parts).rstrip().removesuffix("2>&1").rstrip()


def shape(command: str) -> str:
    """Return a call with "#" for lone numbers, dates and hashes, so that its repetitions compare equal."""
    return _ALONE.sub("#", command)


def without_numbers(line: str) -> str:
    """Return a line of output with "#" for numbers and hashes, so that similar lines compare equal."""
    return _NUMBER.sub("#", line)


def in_line(capture: Capture, line: str, *, chars: int = LINE_CHARS) -> str:
    """Return a line with its paths relative to the project, in at most `chars` characters."""
    root = capture.project_dir.rstrip("/")
    if not root:
        return line
    return one_line(re.sub(rf"{re.escape(root)}(?![\w.-])", ".", line.replace(f"{root}/", "")), chars)


def only_looks(command: str) -> bool:
    """Tell whether a call, in the form that `told` returns, is read-only."""
    tool, opens, _ = command.partition("(")
    return (bool(opens) and tool in LOOKING) or all(map(shell.is_lookup, shell.steps(command)))


def words_of(capture: Capture) -> set[str]:
    """Return the words for comparing calls: programs, operands and options, or the words of its inputs."""
    if capture.tool_name != "Bash":
        return {word for _, value in _inputs(capture) for word in _WORD.findall(value)}
    steps = (step for step in steps_of(capture) if not shell.is_idle(step))
    words = (word for step in steps for word in (step.program, *step.words[1:]))
    return {part.lower().rstrip("s") for word in words for part in PART.findall(word)}


def steps_of(capture: Capture) -> tuple[Command, ...]:
    """Return the simple commands of a Bash call; () for another tool."""
    return shell.steps(fields.argument(capture, "command")) if capture.tool_name == "Bash" else ()


def _inputs(capture: Capture) -> Iterator[tuple[str, str]]:
    """Yield names and values of a call's short text inputs, with paths relative to the project."""
    given = fields.value(capture.payload, "tool_input")
    for name, value in given.items() if isinstance(given, dict) else ():
        if isinstance(value, str) and 0 < len(said := in_line(capture, value)) <= _INPUT_CHARS:
            yield name, said
