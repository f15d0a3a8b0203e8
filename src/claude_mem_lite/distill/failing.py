"""Finds in a session's tool calls what failed and what worked instead, whatever was said of it. Pure.

A failure goes by the line that tells it, without what is this call's alone: numbers, hashes and, unless the
call only looked for something, paths. Of a message about a place in the code the rule's name alone counts:
without one it is about code at work, as failed tests are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.attempts import is_probe
from claude_mem_lite.distill.local import bash, fields, runners, shell, versions
from claude_mem_lite.distill.local.failures import exit_code, last_line
from claude_mem_lite.distill.local.problems import first_problem
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.text import one_line

COMMAND_CHARS, ERROR_CHARS = 160, 200
# So many calls after a failure may be what was tried next.
_TRIED = 15
_INPUT_CHARS, _INPUTS = 60, 3
_SHORTEST_WORD = 3
# What says less is no signature.
_FEWEST_WORDS = 3

_LOOKING = frozenset({"Glob", "Grep", "LS", "Read"})
_PATHS = ("file_path", "path")
_OUTSIDE = frozenset({"WebFetch", "WebSearch"})  # what fails out there says nothing of this project
_PATH = re.compile(
    r"(?:[A-Za-z]:|~|\.{1,2})?/[^\s'\"`,;:()\[\]]+|[\w.@-]+(?:/[\w.@*-]+)+/?|\b[\w-]+\.[a-z]{1,4}\b(?!\()"
)
_NUMBER = re.compile(r"\b(?=\w*\d)[0-9a-f]{6,}\b|\d+")
_POSITION = re.compile(r"^(?:\w+: )?\S*?[\w)][:(]\d+(?:[:,]\d+)?\)?(?::| -)? +")
_SHELL = re.compile(r"^(?:\(eval\)|[\w/.-]*sh):(?: ?(?:line )?\d+:)? ?|^\(eval\):(?=\w+:\d)")
# How linters and compilers name the rule, at the end of a message or in it.
_RULE = re.compile(
    r"\((?P<round>[a-z][\w/-]{2,})\)$|\[(?P<square>[\w@/-]{3,})\]$|\s{2,}(?P<last>@?[a-z][\w-]*(?:/[\w-]+)*)$"
    r"|\b(?P<code>[A-Z]{1,6}\d{3,5})\b"
)
_CUTTING = frozenset({"cat", "head", "tail"})
_MARK = re.compile(r"//|#|/\*|--|<!--|;;?")
_PLAIN = re.compile(r"[^\W\d_]{2,}")
_WORD = re.compile(r"\w{4,}")


class Error(NamedTuple):
    """How a call failed: in a line, and what that line has in common with others of its kind.

    `rule` is a linter's or a compiler's name for it, where the line is about a place in the code.
    """

    line: str
    signature: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed call, as it can be made again, and what worked instead, "" where nothing is known to.

    Of a message about code that is a line that an edit put in and that names the rule. `at` is the call's
    place among those that were read, `works_at` that of what worked.
    """

    at: int
    command: str
    error: Error
    works: str
    works_at: int


class Read(NamedTuple):
    """What a session's calls come to: what failed, and by shape the place of the last call that worked."""

    failed: list[Failed]
    worked: dict[str, int]


def read_calls(captures: Iterable[Capture]) -> Read:
    """Return which calls of a session failed, in their order; none that worked later just as it was.

    `captures` are the session's tool calls in order: at least commands, edits and what failed.
    """
    tried: list[_Tried] = []
    worked: dict[str, int] = {}
    for at, capture in enumerate(captures):
        error = error_of(capture)
        has_worked = error is None and capture.event_name == "PostToolUse"
        call = _Call(capture)
        if has_worked:
            worked[shape(call.command)] = at
        for each in takewhile(lambda each: at - each.at <= _TRIED, reversed(tried)):  # noqa: B023  (used at once)
            each.hear(at, call, has_worked=has_worked)
        if error is not None:
            tried.append(_Tried(at, call, error))
    found = [
        Failed(each.at, each.call.command, each.error, each.works, each.works_at)
        for each in tried
        if not each.passed
    ]
    return Read(found, worked)


class _Call:
    """A call, with what it is told and compared by; the payload is not kept."""

    def __init__(self, capture: Capture) -> None:
        self.tool, self.command = capture.tool_name, told(capture)
        self.only_looks = only_looks(self.command)
        self.words = _words(capture)
        self.added = _added(capture)


@dataclass(slots=True)
class _Tried:
    """A failed call on the way to what works: `passed` once the same call has worked as it was."""

    at: int
    call: _Call
    error: Error
    works: str = ""
    works_at: int = 0
    passed: bool = False

    def hear(self, at: int, other: _Call, *, has_worked: bool) -> None:
        """Take in a later call of the session, and its place."""
        if has_worked and not self.error.rule:
            self.passed |= shape(other.command) == shape(self.call.command)
        if not self.works and (works := self._cure(other, has_worked=has_worked)):
            self.works, self.works_at = works, at

    def _cure(self, other: _Call, *, has_worked: bool) -> str:
        if self.error.rule:
            return _naming(self.error.rule, other.added)
        mine, shared = self.call, self.call.words & other.words
        if not has_worked or other.tool not in {"Bash", mine.tool} or other.only_looks > mine.only_looks:
            return ""
        if mine.tool in _LOOKING:  # for the same thing
            return other.command if 2 * len(shared) >= max(1, len(mine.words)) else ""
        return other.command if shared or other.tool == mine.tool != "Bash" else ""


def error_of(capture: Capture) -> Error | None:
    """Return how a call failed; None where it did not, where it says nothing, and for failed tests."""
    has_failed = capture.event_name == "PostToolUseFailure"
    if capture.tool_name != "Bash":
        is_here = has_failed and capture.tool_name not in _OUTSIDE | EDITORS
        line = _first_line(fields.text(capture.payload, "error")) if is_here else ""
        return _error(line, capture, is_look=capture.tool_name in _LOOKING)
    command = fields.argument(capture, "command")
    steps = shell.steps(command)
    code, output = exit_code(bash.output(capture))
    only_looks = all(map(shell.is_lookup, steps))
    problem = "" if only_looks else first_problem(output)
    if not steps or not (has_failed or code or (problem and "|" in command)) or any(map(is_probe, steps)):
        return None
    tests = runners.test_run(output)
    if tests and tests.has_failed:
        return None
    if problem:
        line = _of(capture, problem)
        rule = _RULE.search(line)
        name = next(filter(None, rule.groups()), "") if rule else ""
        return Error(_POSITION.sub("", line), name, name) if name else None
    line = bash.error_line(steps, output) or last_line(output)
    return _error(line, capture, is_look=only_looks)


def told(capture: Capture) -> str:
    """Return a call as it can be made again."""
    if capture.tool_name == "Bash":
        return _uncut(_of(capture, bash.shown(capture, 2 * COMMAND_CHARS)))[:COMMAND_CHARS]
    inputs = ", ".join(f"{name}: {value}" for name, value in list(_inputs(capture))[:_INPUTS])
    return one_line(f"{capture.tool_name}({inputs})", COMMAND_CHARS)


def _uncut(command: str) -> str:
    """Return a command without what only cuts its output, at its end."""
    parts = command.split("|")
    while len(parts) > 1 and parts[-2].strip() and set(parts[-1].split()[:1]) <= _CUTTING:
        if not parts[-1].strip() or not {"&", ";"}.isdisjoint(parts[-1]):
            break
        parts.pop()
    return "|".join(parts).rstrip().removesuffix("2>&1").rstrip()


def shape(command: str) -> str:
    """Return what a call has in common with itself at another time: all but its numbers and hashes."""
    return _NUMBER.sub("#", command)


def _error(line: str, capture: Capture, *, is_look: bool) -> Error | None:
    line = _of(capture, line)
    if not line:
        return None
    says = _POSITION.sub("", _SHELL.sub("", line))
    signature = shape(says if is_look else _PATH.sub("…", says))
    if capture.tool_name in _LOOKING:
        looked_at = next(
            (_of(capture, path) for name in _PATHS if (path := fields.argument(capture, name))), ""
        )
        found = _PATH.search(says)
        signature = f"{capture.tool_name} {looked_at or (found[0] if found else '')}: {_PATH.sub('…', says)}"
    return Error(line, signature) if len(_PLAIN.findall(signature)) >= _FEWEST_WORDS else None


def _of(capture: Capture, line: str) -> str:
    """Return a line with its paths relative to the project."""
    root = capture.project_dir.rstrip("/")
    return one_line(line.replace(f"{root}/", "").replace(root, "."), ERROR_CHARS) if root else line


def _first_line(text: str) -> str:
    bare = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    return next((line.strip() for line in bare.splitlines() if line.strip()), "")


def _added(capture: Capture) -> tuple[str, ...]:
    """Return the lines that an edit put in."""
    edit = versions.edit_of(capture)
    return edit.added if edit else ()


def _naming(rule: str, added: Sequence[str]) -> str:
    """Return the first line with a rule's name, "" for none."""
    line = next((line for line in added if rule in line), "")
    return one_line(_comment(line, rule), COMMAND_CHARS) if line else ""


def _comment(line: str, rule: str) -> str:
    """Return the comment of a line of code that names a rule, else the line."""
    marks = [match.start() for match in _MARK.finditer(line, 0, line.index(rule))]
    return line[max(marks, default=0) :].strip()


def only_looks(command: str) -> bool:
    """Tell whether a call, as it is told, only looks for something."""
    tool, opens, _ = command.partition("(")
    return (bool(opens) and tool in _LOOKING) or all(map(shell.is_lookup, shell.steps(command)))


def _words(capture: Capture) -> set[str]:
    """Return the words by which a call is like another: programs and operands, or those of its inputs."""
    if capture.tool_name != "Bash":
        return {word for _, value in _inputs(capture) for word in _WORD.findall(value)}
    steps = shell.steps(fields.argument(capture, "command"))
    words = (word for step in steps if not shell.is_idle(step) for word in (step.program, *step.operands))
    return {word for word in words if len(word) >= _SHORTEST_WORD}


def _inputs(capture: Capture) -> Iterator[tuple[str, str]]:
    """Yield the short inputs of a call by name, paths relative to the project."""
    given = fields.value(capture.payload, "tool_input")
    for name, value in given.items() if isinstance(given, dict) else ():
        if isinstance(value, str) and 0 < len(said := _of(capture, value)) <= _INPUT_CHARS:
            yield name, said
