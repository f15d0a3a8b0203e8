"""Finds in a session's tool calls what failed and what worked instead, whatever was said of it. Pure.

A failure goes by the line that tells it, without what is this call's alone: numbers, hashes and, unless the
call only looked for something, paths. Of a message about a place in the code the rule's name alone counts.
Without one it is about code at work, as failed tests are, unless the same worked by another command before
anything was edited: then the command was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.distill.attempts import is_probe
from claude_mem_lite.distill.local import bash, fields, runners, shell, versions
from claude_mem_lite.distill.local.failures import exit_code, is_error, last_line
from claude_mem_lite.distill.local.problems import first_problem
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.text import one_line

COMMAND_CHARS, ERROR_CHARS, _READ_CHARS = 160, 200, 2_000
# A title or a message is not what makes a command work, and leaves no room in so many characters for what is.
_BRIEF = 100
_LONG_TEXT = re.compile(r"([\"'])(?:(?!\1).){20,}\1")
# So many calls after a failure may be what was tried next.
_TRIED = 15
_INPUT_CHARS, _INPUTS = 60, 3
_NAMED = 0.01  # likeness of a program that the error names
# What says less is no signature.
_FEWEST_WORDS = 3
_VERSIONING = frozenset({"git", "gh", "jj", "hg"})

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
_STAMP = re.compile(r"^(?:\[?\d{4}-\d\d-\d\d[T ][^\s\]]+\]?\s+)?(?:Caused by: )?")  # before a line of a log
_PASTED_LINES = 200
_MARK = re.compile(r"//|#|/\*|--|<!--|;;?")
_PLAIN = re.compile(r"[^\W\d_]{2,}")
_WORD = re.compile(r"\w{4,}")
_PART = re.compile(r"[^\W\d]\w+")  # of an operand or an option


class Error(NamedTuple):
    """How a call failed: in a line, and what that line has in common with others of its kind.

    `rule` is a linter's or a compiler's name for it, where the line is about a place in the code.
    """

    line: str
    signature: str
    rule: str = ""
    is_about_code: bool = False
    is_of_tests: bool = False

    @property
    def signatures(self) -> list[str]:
        """What it may be known by: its rule, and what the line says."""
        return list(dict.fromkeys([self.signature, _signature(self.line)]))

    @property
    def by_its_line(self) -> Error:
        """The same, known by its line alone: no rule of the code."""
        return Error(self.line, _signature(self.line))


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
        call = _Call(capture, has_worked=error is None and _has_worked(capture))
        open_ones = list(takewhile(lambda each: at - each.at <= _TRIED, reversed(tried)))  # noqa: B023  (used at once)
        for each in open_ones:
            each.hear(at, call)
        # What had to be prepared for does not work as it is.
        if call.has_worked and not any(each.works_at == at and each.is_same(call) for each in open_ones):
            worked[shape(call.command)] = at
        if error is not None:
            tried.append(_Tried(at, call, error))
    found = [
        Failed(each.at, each.call.command, each.told, each.works, each.works_at)
        for each in tried
        if not each.passed and (each.works or each.error.rule or not each.error.is_about_code)
    ]
    return Read(found, worked)


class _Call:
    """A call, with what it is told and compared by; the payload is not kept."""

    def __init__(self, capture: Capture, *, has_worked: bool) -> None:
        self.tool, self.command, self.has_worked = capture.tool_name, told(capture), has_worked
        self.only_looks = only_looks(self.command)
        self.words = _words(capture)
        self.added = _added(capture)
        self.programs = {step.program for step in _steps(capture)}
        self.has_edited = has_worked and (
            self.tool in EDITORS or any(step.changed for step in _steps(capture))
        )


@dataclass(slots=True)
class _Tried:
    """A failed call on the way to what works: `passed` once the same call has worked as it was.

    `likeness` is that of what worked, `before` the last command that worked since, `is_edited` whether an
    edit came after the failure, `is_wrong` whether another command worked and no edit was needed.
    """

    at: int
    call: _Call
    error: Error
    works: str = ""
    works_at: int = -1
    passed: bool = False
    likeness: float = 0.0
    before: str = ""
    is_edited: bool = False
    is_wrong: bool = False

    @property
    def told(self) -> Error:
        """How it failed: what is a rule of the code only where an edit settled it."""
        return self.error.by_its_line if self.is_wrong else self.error

    def is_same(self, other: _Call) -> bool:
        """Tell whether another call is this one again."""
        return shape(other.command) == shape(self.call.command)

    def hear(self, at: int, other: _Call) -> None:
        """Take in a later call of the session, and its place."""
        self.is_edited |= other.has_edited
        if other.has_edited and self.error.rule and not self.works:
            self._take(at, _naming(self.error.rule, other.added))
        elif other.has_worked and self.is_same(other):
            self._pass(at, other)
        elif not (self.passed or (self.is_edited and self.error.is_about_code)):
            # Of what is about code, what else was run since may be what settled it.
            works = (
                f"{self.before} && {other.command}"
                if self.error.is_about_code and self.before
                else other.command
            )
            if len(works) <= COMMAND_CHARS and (likeness := self._likeness(other)) > self.likeness:
                self.likeness, self.is_wrong = likeness, self.error.is_about_code
                self._take(at, works)
            if other.has_worked and other.tool == "Bash" and not other.only_looks:
                is_code = self.error.is_about_code and not _VERSIONING.isdisjoint(other.programs)
                self.before = "" if is_code else other.command

    def _take(self, at: int, works: str) -> None:
        self.works, self.works_at = works, at if works else -1

    def _pass(self, at: int, other: _Call) -> None:
        """Take in that the same has worked: as it was, or since something else was run before."""
        together = f"{self.before} && {other.command}"
        if self.before and not (self.works or self.is_edited) and len(together) <= COMMAND_CHARS:
            self.is_wrong = self.error.is_about_code
            self._take(at, together)
        elif self.is_wrong or not self.error.rule:
            self.passed = True

    def _likeness(self, other: _Call) -> float:
        """Return how much of this call is in another that worked (0 to 1); 0 for one that is no cure."""
        mine, shared = self.call, self.call.words & other.words
        if (
            not other.has_worked
            or other.tool not in {"Bash", mine.tool}
            or other.only_looks > mine.only_looks
        ):
            return 0.0
        if self.error.is_about_code:
            return float(_does_the_same(mine.command, other.command, is_test=self.error.is_of_tests))
        if _VERSIONING.issuperset(other.programs) and not _VERSIONING.issuperset(mine.programs):
            return 0.0
        likeness = len(shared) / max(1, len(mine.words))
        if mine.tool in _LOOKING:  # for the same thing
            return max(likeness, 0.01) if 2 * likeness >= 1 or not mine.words else 0.0
        if other.tool == mine.tool != "Bash":
            return max(likeness, 0.01)
        is_like = bool(shared - (mine.programs & other.programs))
        is_named = not set(_PART.findall(self.error.line)).isdisjoint(other.programs - mine.programs)
        return max(likeness, _NAMED) if is_like or is_named else 0.0


def _does_the_same(command: str, other: str, *, is_test: bool) -> bool:
    """Tell whether another command does all that one does; of the same tests it ends in the same words."""
    mine, its = command.split(), other.split()
    if not is_test:
        return set(mine) <= set(its)
    half = -(-len(mine) // 2)
    return mine[-half:] == its[-half:]


def _has_worked(capture: Capture) -> bool:
    """Tell whether a call without an error has succeeded."""
    code, _ = exit_code(bash.output(capture))
    return capture.event_name == "PostToolUse" or bash.is_cut_short(_steps(capture), code)


def error_of(capture: Capture) -> Error | None:
    """Return how a call failed; None where it did not, and where it says nothing."""
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
    if bash.is_cut_short(steps, code):
        return None
    tests = runners.test_run(output)
    if tests and tests.has_failed:
        failed = _error(tests.reason or bash.error_line(steps, output), capture, is_look=False)
        return failed and failed._replace(is_about_code=True, is_of_tests=True)
    if problem:
        line = _of(capture, problem)
        rule = _RULE.search(line)
        name = next(filter(None, rule.groups()), "") if rule else ""
        says = _POSITION.sub("", line)
        return Error(says, name or _signature(says), name, is_about_code=True)
    line = bash.error_line(steps, output) or last_line(output)
    return _error(line, capture, is_look=only_looks)


def signatures_in(text: str) -> set[str]:
    """Return what the errors may be known by that somebody has pasted, each a line of its own."""
    pasted = (_STAMP.sub("", line.strip()) for line in text.splitlines()[:_PASTED_LINES])
    lines = (one_line(line, ERROR_CHARS) for line in pasted)
    return {_signature(_POSITION.sub("", _SHELL.sub("", line))) for line in lines if is_error(line)}


def told(capture: Capture) -> str:
    """Return a call as it can be made again."""
    if capture.tool_name == "Bash":
        command = _uncut(_of(capture, bash.shown(capture, _READ_CHARS), chars=_READ_CHARS))
        brief = _LONG_TEXT.sub(r"\1…\1", command) if len(command) > _BRIEF else command
        return one_line(brief, COMMAND_CHARS)
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
    signature = shape(says) if is_look else _signature(says)
    if capture.tool_name in _LOOKING:
        looked_at = next(
            (_of(capture, path) for name in _PATHS if (path := fields.argument(capture, name))), ""
        )
        found = _PATH.search(says)
        signature = f"{capture.tool_name} {looked_at or (found[0] if found else '')}: {_PATH.sub('…', says)}"
    return Error(line, signature) if len(_PLAIN.findall(signature)) >= _FEWEST_WORDS else None


def _signature(says: str) -> str:
    return shape(_PATH.sub("…", says))


def _of(capture: Capture, line: str, *, chars: int = ERROR_CHARS) -> str:
    """Return a line with its paths relative to the project."""
    root = capture.project_dir.rstrip("/")
    return one_line(line.replace(f"{root}/", "").replace(root, "."), chars) if root else line


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
    steps = (step for step in _steps(capture) if not shell.is_idle(step))
    words = (word for step in steps for word in (step.program, *step.words[1:]))
    return {part.lower().rstrip("s") for word in words for part in _PART.findall(word)}


def _steps(capture: Capture) -> tuple[Command, ...]:
    return shell.steps(fields.argument(capture, "command")) if capture.tool_name == "Bash" else ()


def _inputs(capture: Capture) -> Iterator[tuple[str, str]]:
    """Yield the short inputs of a call by name, paths relative to the project."""
    given = fields.value(capture.payload, "tool_input")
    for name, value in given.items() if isinstance(given, dict) else ():
        if isinstance(value, str) and 0 < len(said := _of(capture, value)) <= _INPUT_CHARS:
            yield name, said
