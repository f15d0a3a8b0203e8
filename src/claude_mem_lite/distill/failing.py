"""Find a session's failed tool calls and the calls that worked instead, whatever was said of them. Pure.

The signature of a failure is its error line without numbers, hashes and (except for read-only calls) paths.
For a message about a place in the code, the signature is the name of the linter's or compiler's rule. Without
a rule name such a message, like a failed test, is about work in progress, unless another command did the same
successfully before anything was edited: then the command was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.attempts import is_probe
from claude_mem_lite.distill.calls import (
    COMMAND_CHARS,
    LINE_CHARS,
    LOOKING,
    PART,
    brief,
    in_line,
    only_looks,
    shape,
    steps_of,
    whole,
    without_numbers,
    words_of,
)  # fmt: skip
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.distill.retired import code_names
from claude_mem_lite.distill.rules import bash, edits, fields, runners, shell
from claude_mem_lite.distill.rules.failures import below, exit_code, first_problem, is_error, last_line
from claude_mem_lite.text import one_line

# This many calls after a failure are examined for a cure.
_TRIED = 15
_NAMED = 0.01  # minimum likeness of a call to a program that the error names
_RED = 1e-3  # factor on likeness: any call that worked ranks above one that only reached other failures
_HIDDEN_LINES = 10  # of an output that may show a known error
# A line with fewer words makes no signature; a shell's says more: "== not found".
_FEWEST_WORDS, _FEWEST_OF_SHELL = 3, 2
NAMELESS = "-"  # the rule, as stored, of a problem in the code that names none
# The end of a call whose exit status says nothing: "… || true", "…; echo done". And what throws work away:
# it may have worked, but is no advice.
_HIDES = re.compile(r"(?:\|\||[;\n])\s*(?:true|:|echo\b[^;&|\n]*)\s*$")
_DISCARDS = re.compile(
    r"\bgit(?: -C \S+)? (?:reset\b[^;&|]* --hard|clean\b[^;&|]* -\w*f|push\b[^;&|]* (?:-f|--force)\b(?!-)"
    r"|(?:checkout|restore)(?: --)? \.(?=\s|$)|stash (?:drop|clear))"
)
VERSIONING = frozenset({"git", "gh", "jj", "hg"})

_PATHS = ("file_path", "path")
_OUTSIDE = frozenset({"WebFetch", "WebSearch"})  # failures on the web say nothing about this project
_PATH = re.compile(
    r"(?:[A-Za-z]:|~|\.{1,2})?/[^\s'\"`,;:()\[\]]+|[\w.@-]+(?:/[\w.@*-]+)+/?|\b[\w-]+\.[a-z]{1,4}\b(?!\()"
)
_POSITION = re.compile(r"^(?:\w+: )?(?P<file>\S*?[\w)])[:(]\d+(?:[:,]\d+)?\)?(?::| -)? +")
# The shell's own error, which a pipe hides; zsh's says `eval`, by which Claude Code runs a command.
BY_SHELL = re.compile(
    r"^(?:\(eval\):|(?:/[\w/]*/)?(?:ba|da)?sh: (?:-c: )?(?:line )?)\d+: (?!cd: )\S.*", re.MULTILINE
)
# A word that zsh expands: a pattern, or "=name" for the path of a program.
_EXPANDED = re.compile(r"(?<!\S)=\S*|\S*[*?\[]\S*")
_SHELL = re.compile(r"^(?:\(eval\)|[\w/.-]*sh):(?: ?(?:line )?\d+:)? ?|^\(eval\):(?=\w+:\d)")
# The forms in which shells say that there is no such program.
_NOT_FOUND = re.compile(r"^(?:command not found: (\S+)|(\S+): (?:command )?not found)$")
# A linter's or compiler's rule name, at the end of a message or inside it.
_RULE = re.compile(
    r"\((?P<round>[a-z][\w/-]{2,})\)$|\[(?P<square>[\w@/-]{3,})\]$|\s{2,}(?P<last>@?[a-z][\w-]*(?:/[\w-]+)*)$"
    r"|\b(?P<code>[A-Z]{1,6}\d{3,5})\b"
)
_STAMP = re.compile(r"^(?:\[?\d{4}-\d\d-\d\d[T ][^\s\]]+\]?\s+)?(?:Caused by: )?")  # begins a log line
_PASTED_LINES = 200
_MARK = re.compile(r"//|#|/\*|--|<!--|;;?")
_PLAIN = re.compile(r"[^\W\d_]{2,}")


class Error(NamedTuple):
    """The error of a call: its line, and the signature that similar errors share.

    `rule` is the linter's or compiler's rule name if the line is about a place in the code, else "".
    """

    line: str
    signature: str
    rule: str = ""
    is_about_code: bool = False
    is_of_tests: bool = False

    @property
    def signatures(self) -> list[str]:
        """The signatures that may identify it: its own, and its line with and without paths."""
        own = [self.signature, _signature(self.line), without_numbers(self.line)]
        return list(dict.fromkeys(own))

    @property
    def by_its_line(self) -> Error:
        """The same error identified by its line alone, without a rule."""
        return Error(self.line, _signature(self.line))


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed call, as it can be run again, and its cure `works` ("" if none is known).

    The cure of a linter's message may be a line that an edit added and that names the rule. `at` and
    `works_at` are the indexes of the failed call and of the cure among the calls that were read.
    """

    at: int
    command: str
    error: Error
    works: str
    works_at: int


class Read(NamedTuple):
    """The result of reading a session: its failures, and for each command the index of its last success."""

    failed: list[Failed]
    worked: dict[str, int]


def read_calls(captures: Iterable[Capture], known: Collection[str] = ()) -> Read:
    """Return the failed calls of a session in order, and its calls that worked.

    Leaves out calls that later worked unchanged, and failed tests without a cure.
    `captures` are the session's tool calls in order: at least the commands, edits and failures. `known` are
    signatures of earlier failures, which are recognized in the output of a pipe that succeeds, too.
    """
    tried: list[_Tried] = []
    worked: dict[str, int] = {}
    for at, capture in enumerate(captures):
        error = error_of(capture) or _as_before(capture, known)
        call = _Call(capture, error, has_worked=error is None and _has_worked(capture))
        open_ones = list(takewhile(lambda each: at - each.at <= _TRIED, reversed(tried)))  # noqa: B023  (used at once)
        for each in open_ones:
            each.hear(at, call)
        # A call that needed another one before it does not work by itself.
        if call.has_worked and not any(each.works_at == at and each.is_same(call) for each in open_ones):
            worked[call.command] = at
        if error is not None:
            tried.append(_Tried(at, call, error))
    found = [
        Failed(each.at, each.call.command, each.told, each.works, each.works_at)
        for each in tried
        if not each.passed and (each.works or not each.error.is_of_tests)
    ]
    return Read(found, worked)


class _Call:
    """A call reduced to what comparison and output need; the payload is not kept."""

    def __init__(self, capture: Capture, error: Error | None, *, has_worked: bool) -> None:
        self.tool, self.has_worked, self.error = capture.tool_name, has_worked, error
        self.is_red = bool(error and error.is_about_code)
        command = fields.argument(capture, "command")
        self.may_cure = has_worked and not (_HIDES.search(command) or _DISCARDS.search(command))
        if not (error or has_worked) and self.tool == "Bash":
            self.is_red = runners.test_run(bash.output(capture)) is not None
        self.whole = whole(capture)
        self.command = one_line(self.whole, COMMAND_CHARS)
        self.only_looks = only_looks(self.command)
        self.words = words_of(capture)
        edit = edits.edit_of(capture)
        self.added = edit.added if edit else ()
        steps = steps_of(capture)
        self.runs = {step.program: step.words[1:] for step in steps}
        self.steps = {step.words for step in steps}
        self.programs = set(self.runs)
        self.has_edited = has_worked and (self.tool in EDITORS or any(step.changed for step in steps))


@dataclass(slots=True)
class _Tried:
    """A failed call whose cure is being sought; `passed` once the same call has worked unchanged.

    `likeness` is that of the cure, `before` the last command that worked since, `is_edited` whether an edit
    followed the failure, `is_wrong` whether another command worked without an edit.
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
        """The error to report; without its rule if another command, not an edit, was the cure."""
        return self.error.by_its_line if self.is_wrong else self.error

    def is_same(self, other: _Call) -> bool:
        """Tell whether another call repeats this one, after an edit possibly beside other commands."""
        is_part = self.is_edited and self.call.steps and self.call.steps <= other.steps
        return bool(is_part) or shape(other.command) == shape(self.call.command)

    def hear(self, at: int, other: _Call) -> None:
        """Update the cure from a later call of the session, at index `at`."""
        self.is_edited |= other.has_edited
        if other.has_edited and self.error.rule and not self.works:
            self._take(at, _naming(self.error.rule, other.added))
        elif self.is_same(other) and (other.has_worked or self._is_past(other)):
            self._pass(at, other)
        elif not (self.passed or (self.is_edited and self.error.is_about_code)):
            # For an error about code, another command run since may have been the cure.
            works = (
                f"{self.before} && {other.command}"
                if self.error.is_about_code and self.before
                else brief(other.whole, self.call.command)
            )
            if len(works) <= COMMAND_CHARS and (likeness := self._likeness(other)) > self.likeness:
                self.likeness, self.is_wrong = likeness, self.error.is_about_code
                self._take(at, works)
            if other.may_cure and other.tool == "Bash" and not other.only_looks:
                is_code = self.error.is_about_code and not VERSIONING.isdisjoint(other.programs)
                self.before = "" if is_code else other.command

    def _take(self, at: int, works: str) -> None:
        self.works, self.works_at = works, at if works else -1

    def _is_past(self, other: _Call) -> bool:
        """Tell whether a call got past this failure: it ran the code and failed in another way."""
        signature = other.error.signature if other.error else ""
        return other.is_red and signature not in self.error.signatures

    def _pass(self, at: int, other: _Call) -> None:
        """Record that the same call has worked: unchanged, or after another command."""
        together = f"{self.before} && {other.command}"
        if self.before and not (self.works or self.is_edited) and len(together) <= COMMAND_CHARS:
            self.is_wrong = self.error.is_about_code
            self._take(at, together)
        elif other.has_worked and (self.is_wrong or not self.error.rule):
            self.passed = not is_prepared(self.call.command, self.works)

    def _likeness(self, other: _Call) -> float:
        """Return the share of this call's words in another that worked (0 to 1); 0 if that is no cure."""
        mine, shared = self.call, self.call.words & other.words
        if (
            not (other.may_cure or (self._is_past(other) and not self.error.is_about_code))
            or other.tool not in {"Bash", mine.tool}
            or other.only_looks > mine.only_looks
        ):
            return 0.0
        if self.error.is_about_code:
            return float(_does_the_same(mine.command, other.command, is_test=self.error.is_of_tests))
        is_git = VERSIONING.issuperset(other.programs) and not VERSIONING.issuperset(mine.programs)
        # The exit status of "… | grep x" is the filter's.
        if is_git or other.whole.partition(" | ")[0].removesuffix(" 2>&1") == mine.whole:
            return 0.0
        likeness = len(shared) / max(1, len(mine.words))
        if mine.tool in LOOKING:  # must look for the same thing
            return max(likeness, 0.01) if 2 * likeness >= 1 or not mine.words else 0.0
        if other.tool == mine.tool != "Bash":
            return max(likeness, 0.01)
        both = mine.programs & other.programs
        # "uv run pytest -q" is like "python -m pytest -q".
        is_like = bool(shared - both) or any(mine.runs[each] == other.runs[each] for each in both)
        is_named = not set(PART.findall(self.error.line)).isdisjoint(other.programs - mine.programs)
        found = max(likeness, _NAMED) if is_like or is_named else 0.0
        return found if other.has_worked else _RED * found


def is_prepared(command: str, works: str) -> bool:
    """Tell whether the cure is the same call after another command, which may be why it works."""
    return works.endswith(f" && {command}")


def _does_the_same(command: str, other: str, *, is_test: bool) -> bool:
    """Tell whether another command has all words of this one; for tests, whether it ends like this one."""
    mine, its = command.split(), other.split()
    if not is_test:
        return set(mine) <= set(its)
    half = -(-len(mine) // 2)
    return mine[-half:] == its[-half:]


def _has_worked(capture: Capture) -> bool:
    """Tell whether a call without an error has succeeded."""
    code, _ = exit_code(bash.output(capture))
    return capture.event_name == "PostToolUse" or bash.is_cut_short(steps_of(capture), code)


def error_of(capture: Capture) -> Error | None:
    """Return the error of a call; None if it did not fail or printed no usable message."""
    has_failed = capture.event_name == "PostToolUseFailure"
    if capture.tool_name != "Bash":
        is_here = has_failed and capture.tool_name not in _OUTSIDE | EDITORS
        told = fields.text(capture.payload, "error") if is_here else ""
        bare = told.replace("<tool_use_error>", "").replace("</tool_use_error>", "").strip()
        return _error(
            next(iter(bare.splitlines()), "").strip(), capture, is_look=capture.tool_name in LOOKING
        )
    command = fields.argument(capture, "command")
    steps = shell.steps(command)
    code, output = exit_code(bash.output(capture))
    only_looks = all(map(shell.is_lookup, steps))
    problem = "" if only_looks else first_problem(output)
    by_shell = BY_SHELL.search(output)
    is_hidden = by_shell or (problem and "|" in command)
    has_failed = bool(has_failed or code or is_hidden) and not bash.is_cut_short(steps, code)
    if not steps or not has_failed or any(map(is_probe, steps)):
        return None
    if by_shell:
        return _error_of_shell(in_line(capture, by_shell[0]))
    tests = runners.test_run(output)
    if tests and tests.has_failed:
        failed = _error(tests.reason or bash.error_line(steps, output), capture, is_look=False)
        return failed and failed._replace(is_about_code=True, is_of_tests=True)
    if problem:
        line = in_line(capture, problem)
        rule = _RULE.search(line)
        name = next(filter(None, rule.groups()), "") if rule else ""
        says, place = _POSITION.sub("", line), _POSITION.match(line)
        told = f"{place['file']}: {says}" if place else says
        return Error(told, name or _signature(says), name, is_about_code=True)
    line = bash.error_line(steps, output) or last_line(output)
    found = _error(line, capture, is_look=only_looks)
    told = in_line(capture, f"{line} {below(line, output)}".strip())  # the signature needs only `line`
    return found and found._replace(line=told)


def signatures_in(text: str) -> set[str]:
    """Return the signatures of the errors in a pasted text, one per line."""
    pasted = (_STAMP.sub("", line.strip()) for line in text.splitlines()[:_PASTED_LINES])
    lines = (one_line(line, LINE_CHARS) for line in pasted)
    return {_signature(_POSITION.sub("", _SHELL.sub("", line))) for line in lines if is_error(line)}


def _error(line: str, capture: Capture, *, is_look: bool) -> Error | None:
    line = in_line(capture, line)
    if not line:
        return None
    says = _NOT_FOUND.sub(r"\1\2: command not found", _POSITION.sub("", _SHELL.sub("", line)))
    signature = without_numbers(says) if is_look else _signature(_without_operands(says, capture))
    if capture.tool_name in LOOKING:
        given = (fields.argument(capture, name) for name in _PATHS)
        looked_at = in_line(capture, next(filter(None, given), ""))
        found = _PATH.search(says)
        signature = f"{capture.tool_name} {looked_at or (found[0] if found else '')}: {_PATH.sub('…', says)}"
    return Error(line, signature) if len(_PLAIN.findall(signature)) >= _FEWEST_WORDS else None


def _as_before(capture: Capture, known: Collection[str]) -> Error | None:
    """Return the error, known from an earlier failure, in the short output of a pipe with exit status 0."""
    is_piped = known and " | " in fields.argument(capture, "command")
    lines = bash.output(capture).splitlines() if is_piped and not only_looks(whole(capture)) else []
    found = (_error(line.strip(), capture, is_look=False) for line in lines[:_HIDDEN_LINES])
    return next((error for error in found if error and error.signature in known), None)


def _error_of_shell(line: str) -> Error | None:
    """Return the error that the shell itself reports; its signature leaves out the words that zsh expands."""
    says = _NOT_FOUND.sub(r"\1\2: command not found", _SHELL.sub("", line))
    signature = without_numbers(_EXPANDED.sub("…", says))
    return Error(line, signature) if len(_PLAIN.findall(signature)) >= _FEWEST_OF_SHELL else None


def _without_operands(says: str, capture: Capture) -> str:
    """Replace code names that are operands of the call (a test, a service) by "…" in a line."""
    words = (word for step in steps_of(capture) for word in step.operands)
    for name in sorted({name for word in words for name in code_names(word)}, key=len, reverse=True):
        says = says.replace(name, "…")
    return says


def _signature(says: str) -> str:
    return without_numbers(_PATH.sub("…", says))


def _naming(rule: str, added: Sequence[str]) -> str:
    """Return the first added line with a rule's name, from the comment mark before it on; "" for none."""
    line = next((line for line in added if rule in line), "")
    marks = [match.start() for match in _MARK.finditer(line, 0, max(0, line.find(rule)))]
    return one_line(line[max(marks, default=0) :], COMMAND_CHARS)
