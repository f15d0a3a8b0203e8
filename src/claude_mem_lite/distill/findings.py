"""Puts the failed calls of a project's sessions together into findings, and words these. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from claude_mem_lite.distill.calls import only_looks, shape
from claude_mem_lite.distill.failing import VERSIONING, is_prepared
from claude_mem_lite.distill.local.hunks import same_start
from claude_mem_lite.distill.local.shell import steps
from claude_mem_lite.quoting import quoted
from claude_mem_lite.text import count, join, one_line

# In so many sessions a failure has to be met before it is told without being asked for.
RECURS = 2
_CALL_CHARS, _CURE_CHARS, _ERROR_CHARS = 110, 160, 60
_WORKS_CHARS = 60
_KEPT = 2  # words of a long call at its begin, and before what makes the difference
_RULES = 6
_BARE = re.compile(r"[\w-]+")
_PROGRAM, _NAMED, _VARIABLE = re.compile(r"[\w.+-]+"), re.compile(r"[^\s'\"`,;()]+"), re.compile(r"\w+=")
# Calls of several sessions are told by how most of them begin: of so many, the last.
_LAST, _MOST = 5, 0.8
_SKIPS = "--no-verify"
_TELLING = 6  # letters of a word by which two calls are akin
_FILE, _AND = "…", " && "
_LAST_FILE = re.compile(r" (?![-@])(?:\S*/\S*|[\w-]+\.[a-z]{1,4})$")
# What shells print whose `cd` failed: "bash: line 1: cd: src: No such file …", "(eval):cd:1: no such file …"
_BY_CD = re.compile(r"\bcd\b\W")


class Row(Protocol):
    """A failed call, as it is stored."""

    event_id: str
    session_id: str
    failed_at: str
    command: str
    error: str
    signature: str
    rule: str
    works: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A failure that calls have in common; `command`, `error` and `works` are those of the last of them.

    `works` is "" where nothing is known to work, `rule` a linter's name for it, "" for another failure;
    `forms` is how the calls begin, and what worked, where that tells the difference, else ("", "");
    `sessions` are ids, and the times UTC text.
    """

    signature: str
    rule: str
    command: str
    error: str
    works: str
    sessions: tuple[str, ...]
    times: int
    first_at: str
    last_at: str
    event_ids: tuple[str, ...]
    forms: tuple[str, str] = ("", "")

    @property
    def recurs(self) -> bool:
        """Whether sessions after the first have met it."""
        return len(self.sessions) >= RECURS

    @property
    def is_sure(self) -> bool:
        """Whether it will be met again: it was, or what worked is the call itself with something more.

        A variable, an option, a step before it: so the call has to be made here.
        """
        is_more = not self.rule and set(self.command.split()) < set(self.works.split())
        return self.recurs or is_more

    @property
    def is_close(self) -> bool:
        """Whether what worked has half of the call's words or more, and is not the same call again."""
        mine, its = set(self.command.split()), set(self.works.split())
        return 2 * len(mine & its) >= len(mine) and mine != its

    @property
    def is_slip(self) -> bool:
        """Whether the call only looked for something, or meant a folder from which the shell had gone."""
        by_cd = self.command.startswith("cd ") and _BY_CD.search(self.error) is not None
        return by_cd or only_looks(self.command)

    @property
    def in_general(self) -> "Finding":
        """The same, of calls that differ told by how they begin."""
        command, works = self.forms
        return replace(self, command=command, works=works) if command else self

    @property
    def says(self) -> str:
        """What failed how, in how many sessions, and what worked then."""
        command, works = (
            _in_backticks(told, chars)
            for told, chars in zip(_apart(self.command, self.works), (_CALL_CHARS, _CURE_CHARS), strict=True)
        )
        before = self.command.removesuffix(self.works).strip()
        if before and before != self.command:  # a wrapper, or a step into a folder
            was_there = ", where the shell stood already" if before.startswith("cd ") else ""
            works = f"the same without {_in_backticks(before, _WORKS_CHARS)}{was_there}"
        elif is_prepared(self.command, self.works):
            first = self.works.removesuffix(f"{_AND}{self.command}")
            works = f"the same after {_in_backticks(first, _CURE_CHARS)}"
        elif self.works.startswith(f"{self.command} -"):
            works = f"the same with {_in_backticks(self.works[len(self.command) :].strip(), _CURE_CHARS)}"
        worked = f" What worked: {works}" if self.works else ""
        met, error = count(len(self.sessions), "session"), quoted(one_line(self.error, _ERROR_CHARS))
        if self.rule:
            return f"{self.rule}, in {met}: {error}.{worked}"
        return f"{command} failed in {met}: {error}.{worked}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields for an answer in JSON."""
        return {
            "error": self.error, "command": self.command, "works": self.works, "rule": self.rule,
            "sessions": list(self.sessions), "times": self.times, "first_at": self.first_at,
            "last_at": self.last_at, "observations": list(self.event_ids),
        }  # fmt: skip


def findings(rows: Iterable[Row], *, command: str = "") -> list[Finding]:
    """Return what failed calls have in common, that first which most sessions met, then the newest.

    Each is told by the failure that is most like a `command`, of those for which something worked.
    """
    alike: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.failed_at):
        alike.setdefault(row.signature, []).append(row)
    best = {signature: _with_cure(same, command) for signature, same in alike.items()}
    found = [
        Finding(
            signature=signature,
            rule=same[-1].rule,
            command=best[signature].command,
            error=best[signature].error,
            works=_cure(best[signature]),
            sessions=tuple(dict.fromkeys(row.session_id for row in same)),
            times=len(same),
            first_at=same[0].failed_at,
            last_at=same[-1].failed_at,
            event_ids=tuple(row.event_id for row in reversed(same)),
            forms=_forms(same),
        )
        for signature, same in alike.items()
    ]
    found.sort(key=lambda each: each.last_at, reverse=True)
    return sorted(found, key=lambda each: -len(each.sessions))


def renewed(rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """Return calls that failed once and what worked, as both are by now: columns, by the event that failed.

    What worked has failed itself since. Or a word of it has another in its place now, a service, a folder, a
    version: the same program failed with the one in a later call, as its error says, and the other worked. Or
    it has a variable that the error of a later call names, and without which that worked.
    """
    now: dict[str, tuple[str, str]] = {}
    cures: defaultdict[str, set[str]] = defaultdict(set)  # by the shape of what worked, whose
    for row in sorted(rows, key=lambda row: row.failed_at):
        if row.rule:
            continue
        old, new = _replaced(row)
        changed = {
            event_id: (_renamed(command, row.command, old, new), since)
            for event_id, (command, works) in now.items()
            if old and (since := _renamed(works, row.command, old, new)) != works
        }
        given_up = _given_up(row)
        changed |= {
            event_id: _without(given_up, command, works, row.works)
            for event_id, (command, works) in now.items()
            if not given_up.isdisjoint(works.split())
        }
        if row.works:  # else it is the best that is known
            failed = shape(row.command)
            same = (each for each in cures.pop(failed, ()) if shape(now[each][1]) == failed)
            changed |= {each: (now[each][0], row.works) for each in same}
        changed[row.event_id] = row.command, row.works
        for event_id, (_, works) in changed.items():
            cures[shape(works)].add(event_id)
        now |= changed
    before = {row.event_id: (row.command, row.works) for row in rows}
    return {
        event_id: {"command": command, "shape": shape(command), "works": works}
        for event_id, (command, works) in now.items()
        if (command, works) != before[event_id]
    }


def settled(rows: Sequence[Row], worked: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return calls that failed once and have worked since: columns, by the event that failed.

    `worked` are the times of commands that succeeded. A call is cured that has worked as it was; of several
    that failed alike and differ in the file at their end, if one with any file has. If one has worked with an
    option in its place, then that is what works. It says nothing where several sessions met a failure and had
    to run something else before.
    """
    sessions: defaultdict[str, set[str]] = defaultdict(set)
    calls: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        sessions[row.signature].add(row.session_id)
        calls[row.signature, _frame(row.command)].add(row.command)
    again: dict[str, str] = {}
    instead: dict[str, tuple[str, str]] = {}
    for command, at in sorted(worked.items(), key=lambda each: each[1]):
        again |= {shape(command): at, _frame(command): at}
        start, option, _ = command.partition(" -")
        instead |= {f"{start} {_FILE}": (at, command)} if option else {}
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.rule or (len(sessions[row.signature]) > 1 and is_prepared(row.command, row.works)):
            continue
        frame = _frame(row.command)
        key = frame if len(calls[row.signature, frame]) > 1 else shape(row.command)
        at, works = instead.get(key, ("", ""))
        if row.failed_at < again.get(key, ""):
            found[row.event_id] = {"is_cured": True}
        elif row.failed_at < at:
            found[row.event_id] = {"works": works}
    return found


def _frame(command: str) -> str:
    """Return what calls have in common that differ in the file or folder at their end."""
    return _LAST_FILE.sub(f" {_FILE}", shape(command))


def missing(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return the programs and operands of calls whose error names the operand, each with the last time.

    The first operand is a sub-command, which an error may name for another reason; one that has another in
    its place in what worked was not there: `pnpm seed`, `pnpm db:seed`.
    """
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        named = set() if row.rule else set(_BARE.findall(row.error))
        if named.isdisjoint(row.command.split()):
            continue
        replaced = _replaced(row)[0]
        for step in steps(row.command):
            for word in {*step.operands[1:], *({replaced} & set(step.operands))} & named:
                found[step.program, word] = max(row.failed_at, found.get((step.program, word), ""))
    return found


@lru_cache(maxsize=4_096)
def called(command: str) -> frozenset[tuple[str, str]]:
    """Return the programs of a command with each of their operands."""
    return frozenset((step.program, word) for step in steps(command) for word in step.operands)


def _replaced(row: Row) -> tuple[str, str]:
    """Return the one word of a call that its error names and that is another in what worked, and that.

    No option, another sub-command may know it, and no program but one of the project's own: a script. What
    worked may have more options.
    """
    mine, its = row.command.split(), row.works.split()
    if len(mine) < len(its):
        its = [word for word in its if word[0] != "-" or word in mine]
    differ = [at for at, (one, other) in enumerate(zip(mine, its, strict=False)) if one != other]
    is_program = differ == [0] and "/" in mine[0] and min(len(mine), len(its)) > 1
    if not is_program and (len(differ) != 1 or len(mine) != len(its) or 0 in differ):
        return "", ""
    old, new = mine[differ[0]], its[differ[0]]
    return (old, new) if old[0] != "-" and old in _named_by(row.error) else ("", "")


def _given_up(row: Row) -> set[str]:
    """Return the variables of a call whose values its error names, and that what worked does without."""
    named, its = _named_by(row.error), set(row.works.split())
    given = {word for word in row.command.split() if its and _VARIABLE.match(word)} - its
    return {word for word in given if word.partition("=")[2] in named}


def _named_by(error: str) -> set[str]:
    """Return the words of an error, and of "--option=value" and the like the value as well."""
    words = [word.strip(":").rstrip(".") for word in _NAMED.findall(error)]
    return {part for word in words for part in (word, word.partition("=")[2])} - {""}


def _without(given_up: set[str], command: str, works: str, instead: str) -> tuple[str, str]:
    """Return a call and what worked without words that both have, else with what works in place of these."""
    if given_up & set(works.split()) <= set(command.split()):
        command, works = (" ".join(w for w in told.split() if w not in given_up) for told in (command, works))
        return command, works
    return command, instead if _is_akin(command, instead, "") else ""


def _renamed(told: str, command: str, old: str, new: str) -> str:
    """Return a command with a new word for an old one that another command of the same program has, too."""
    if old not in told:
        return told
    mine, its = ({step.program for step in steps(each) if old in step.words} for each in (told, command))
    # A branch has another's place in one call, not for good.
    is_same = not mine.isdisjoint(its - VERSIONING)
    return " ".join(new if word == old else word for word in told.split()) if is_same else told


def rules_told(found: Sequence[Finding]) -> str:
    """Return the rules that linters and compilers named, with how many sessions met each, in a line."""
    told = [f"{each.rule} ({count(len(each.sessions), 'session')})" for each in found]
    return f"Rules that code here breaks most: {join(told, _RULES)}" if told else ""


def _apart(command: str, works: str) -> tuple[str, str]:
    """Return two calls that are too long to be told, without most of the words with which both begin."""
    mine, its = command.split(), works.split()
    same = same_start(mine, its)
    if same <= 2 * _KEPT or (len(command) <= _CALL_CHARS and len(works) <= _CURE_CHARS):
        return command, works
    mine, its = ([*words[:_KEPT], "…", *words[same - _KEPT :]] for words in (mine, its))
    return " ".join(mine), " ".join(its)


def _in_backticks(told: str, chars: int) -> str:
    """Return a call or a comment between backticks, which it cannot close."""
    return f"`{one_line(told, chars).replace('`', chr(39))}`"


def _with_cure(rows: Sequence[Row], command: str) -> Row:
    """Return the failure most like a command, of those alike the last, for which something worked."""
    wanted = set(command.split())
    cured = [row for row in rows if _cure(row)] or rows
    return max(reversed(cured), key=lambda row: len(wanted & set(row.command.split())))


def _forms(rows: Sequence[Row]) -> tuple[str, str]:
    """Return how calls begin that met a failure and how what worked does, of the last of several sessions.

    ("", "") where that does not tell what makes the difference: where the one is no part of the other.
    """
    if len({row.session_id for row in rows}) <= RECURS:
        return "", ""
    last = list({row.session_id: row for row in rows if _cure(row)}.values())[-_LAST:]
    calls, cures = [row.command for row in last], [row.works for row in last]
    command, works = _begin(calls), _begin(cures)
    while command and command[-1] not in works:
        command.pop()
    is_part = len(command) > 1 or command == works[-1:]
    if len(last) <= RECURS or not is_part or works == command or len(works) == 1:
        return "", ""
    return _with_rest(command, calls), _with_rest(works, cures)


def _with_rest(begin: Sequence[str], calls: Sequence[str]) -> str:
    told = " ".join(begin)
    return told if set(calls) == {told} else f"{told} …"


def _begin(calls: Sequence[str]) -> list[str]:
    """Return the words with which most calls begin."""
    found: list[str] = []
    left = [call.split() for call in calls]
    while nexts := Counter(words[len(found)] for words in left if len(words) > len(found)):
        (word, times), *_ = nexts.most_common(1)
        if times < _MOST * len(calls):
            break
        left = [words for words in left if words[len(found) : len(found) + 1] == [word]]
        found.append(word)
    return found


def _cure(row: Row) -> str:
    """Return what worked, if it is akin to what failed: by half of its words, a program, or the error.

    Steps of the call itself cure nothing without the last, which failed; nor does what skips a check.
    """
    if row.rule:
        return row.works
    its = set(row.works.split())
    if its <= set(row.command.split()):
        given = {step.words for step in steps(row.command)[:-1]}
        is_cure = any(step.words not in given for step in steps(row.works))
    else:
        is_cure = _SKIPS not in its
    return row.works if is_cure and _is_akin(row.command, row.works, row.error) else ""


def _is_akin(command: str, works: str, error: str) -> bool:
    mine, its = set(command.split()), set(works.split())
    if 2 * len(mine & its) >= len(mine) or any(len(word) >= _TELLING and word in works for word in mine):
        return True
    programs, others = ({step.program for step in steps(told)} for told in (command, works))
    return not others.isdisjoint(programs | set(_PROGRAM.findall(error)))
