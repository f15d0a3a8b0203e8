"""Group the failed calls of a project's sessions into findings, and put these into words. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from claude_mem_lite.distill.calls import only_looks, shape
from claude_mem_lite.distill.failing import BY_ZSH, VERSIONING, is_prepared
from claude_mem_lite.distill.rules.hunks import same_start
from claude_mem_lite.distill.rules.shell import steps
from claude_mem_lite.quoting import quoted
from claude_mem_lite.text import count, join, one_line

RECURS = 2  # sessions that have met a failure before it is reported unasked
_CALL_CHARS, _CURE_CHARS, _ERROR_CHARS, _WORKS_CHARS = 110, 160, 60, 60
_KEPT = 2  # words of a long call that stay at its start, and before the first difference
_RULES = 6
_BARE = re.compile(r"[\w-]+")
_PROGRAM, _NAMED, _VARIABLE = re.compile(r"[\w.+-]+"), re.compile(r"[^\s'\"`,;()]+"), re.compile(r"\w+=")
# A finding of several sessions shows the words with which at least 80 % of the last 5 sessions' calls begin.
_LAST, _MOST = 5, 0.8
_TELLING = 6  # letters; two calls that share a word of this length are akin
_SKIPS, _FILE, _AND = "--no-verify", "…", " && "
_LAST_FILE = re.compile(r" (?![-@])(?:\S*/\S*|[\w-]+\.[a-z]{1,4})$")
# Errors of a failed `cd`: "bash: line 1: cd: src: No such file …", "(eval):cd:1: no such file …"
_BY_CD, _QUOTE = re.compile(r"\bcd\b\W"), re.compile(r"[\"']")


class Row(Protocol):
    """A failed call as stored."""

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
    """A failure that several calls share; `command`, `error` and `works` are those of one of them.

    `works` is the cure ("" if none is known); `rule` is a linter's rule name ("" for other failures); `forms`
    are the words with which the calls and their cures begin, where these show the difference, else ("", "");
    `sessions` are ids, times are UTC text.
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
        """Whether at least two sessions have met it."""
        return len(self.sessions) >= RECURS

    @property
    def is_sure(self) -> bool:
        """Whether it is likely to recur: it did, or the cure is the same call with something added.

        An added variable, option or first step is how the call has to be made in this project.
        """
        is_more = not self.rule and set(self.command.split()) < set(self.works.split())
        return self.recurs or is_more

    @property
    def is_close(self) -> bool:
        """Whether the cure shares at least half of the call's words and differs from the call."""
        return _is_close(self)

    @property
    def is_slip(self) -> bool:
        """Whether the call only looked for something, or a `cd` failed; what zsh rejects is no slip."""
        by_cd = self.command.startswith("cd ") and _BY_CD.search(self.error) is not None
        return by_cd or (only_looks(self.command) and not BY_ZSH.match(self.error))

    @property
    def in_general(self) -> "Finding":
        """The same finding with `forms` in place of `command` and `works`, where it has them."""
        command, works = self.forms
        return replace(self, command=command, works=works) if command else self

    @property
    def says(self) -> str:
        """A sentence with the call, the number of sessions, the error and the cure."""
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
    """Group failed calls by signature; sort by number of sessions, then newest first.

    Each finding shows the failed call that is most like `command`, among those with a cure if there are any.
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
    """Return updated commands and cures of failed calls that later calls changed: columns by event id.

    A cure is updated if it has failed itself since. Or if one of its words (a service, a folder, a version)
    was replaced: the same program failed later with the old word, which the error names, and worked with the
    new one. Or if it sets a variable that the error of a later call names, and that call worked without it.
    """
    now: dict[str, tuple[str, str]] = {}
    cures: defaultdict[str, set[str]] = defaultdict(set)  # event ids by the shape of their cure
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
        if row.works:  # without a newer cure the old one stays
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
    """Return failed calls that have worked since: columns by event id.

    `worked` maps commands that succeeded to their times. A call is cured once it has worked unchanged. Calls
    that failed alike and differ only in the file at their end are cured once one with any file has worked. If
    one worked with an option in place of the file, that command becomes the cure. A failure that several
    sessions met and solved by running something else first is left alone.
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
    """Return the shape of a call with "…" for a file or folder at its end."""
    return _LAST_FILE.sub(f" {_FILE}", shape(command))


def missing(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return the (program, operand) pairs of calls whose error names the operand, each with the last time.

    The first operand may be a sub-command, which an error can name for other reasons. It counts only if the
    cure has another word in its place: `pnpm seed`, `pnpm db:seed`.
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
    """Return the (program, operand) pairs of a command."""
    return frozenset((step.program, word) for step in steps(command) for word in step.operands)


def _replaced(row: Row) -> tuple[str, str]:
    """Return the one word of a call that its error names and its cure replaces, and the new one; else "", "".

    It is no option, since another sub-command may accept that, and no program except a script of the
    project's own. The cure may have more options.
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
    """Return the variable assignments of a call that its cure lacks and whose values its error names."""
    named, its = _named_by(row.error), set(row.works.split())
    given = {word for word in row.command.split() if its and _VARIABLE.match(word)} - its
    return {word for word in given if word.partition("=")[2] in named}


def _named_by(error: str) -> set[str]:
    """Return the words of an error, and also the value of each "--option=value" and the like."""
    words = [word.strip(":").rstrip(".") for word in _NAMED.findall(error)]
    return {part for word in words for part in (word, word.partition("=")[2])} - {""}


def _without(given_up: set[str], command: str, works: str, instead: str) -> tuple[str, str]:
    """Return a call and its cure without given-up words; if only the cure has one, `instead` as its cure."""
    if given_up & set(works.split()) <= set(command.split()):
        command, works = (" ".join(w for w in told.split() if w not in given_up) for told in (command, works))
        return command, works
    return command, instead if _is_akin(command, instead, "") else ""


def _renamed(told: str, command: str, old: str, new: str) -> str:
    """Replace a word of `told` if the same program has it in `command` too."""
    if old not in told:
        return told
    mine, its = ({step.program for step in steps(each) if old in step.words} for each in (told, command))
    # A git branch is replaced for one call only, not for good.
    is_same = not mine.isdisjoint(its - VERSIONING)
    return " ".join(new if word == old else word for word in told.split()) if is_same else told


def rules_told(found: Sequence[Finding]) -> str:
    """Return one line with the linters' and compilers' rules and the number of sessions that met each."""
    told = [f"{each.rule} ({count(len(each.sessions), 'session')})" for each in found]
    return f"Rules that code here breaks most: {join(told, _RULES)}" if told else ""


def _apart(command: str, works: str) -> tuple[str, str]:
    """Shorten two calls, if one is too long to show, by most of the words with which both begin."""
    mine, its = command.split(), works.split()
    same = same_start(mine, its)
    if same <= 2 * _KEPT or (len(command) <= _CALL_CHARS and len(works) <= _CURE_CHARS):
        return command, works
    mine, its = ([*words[:_KEPT], "…", *words[same - _KEPT :]] for words in (mine, its))
    return " ".join(mine), " ".join(its)


def _in_backticks(told: str, chars: int) -> str:
    """Return a call or a comment between backticks, with its own backticks replaced."""
    return f"`{one_line(told, chars).replace('`', chr(39))}`"


def _with_cure(rows: Sequence[Row], command: str) -> Row:
    """Return the row most like a command, the last of equals; rows with a close cure or any come first."""
    wanted = set(command.split())
    cured = [row for row in rows if _cure(row)] or rows
    close = [row for row in cured if _is_close(row)] or cured
    return max(reversed(close), key=lambda row: len(wanted & set(row.command.split())))


def _forms(rows: Sequence[Row]) -> tuple[str, str]:
    """Return the words with which the failed calls, and their cures, of the last sessions begin.

    Returns ("", "") with too few sessions, or if the words do not show what makes the difference.
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
    """Return the words with which at least 80 % of the calls begin."""
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
    """Return what worked, if it is akin to the failed call by half of its words, a program, or the error.

    What zsh rejects needs a close cure. No cure are the call's own steps without the last, which failed, and
    a command that skips a check.
    """
    if row.rule:
        return row.works
    its = set(row.works.split())
    if its <= set(row.command.split()):
        given = {step.words for step in steps(row.command)[:-1]}
        is_cure = any(step.words not in given for step in steps(row.works))
    else:
        is_cure = _SKIPS not in its
    is_akin = _is_close(row) if BY_ZSH.match(row.error) else _is_akin(row.command, row.works, row.error)
    return row.works if is_cure and is_akin else ""


def _is_close(failed: Row | Finding) -> bool:
    mine, its = (set(_QUOTE.sub("", told).split()) for told in (failed.command, failed.works))
    return 2 * len(mine & its) >= len(mine) and failed.command != failed.works


def _is_akin(command: str, works: str, error: str) -> bool:
    mine, its = set(command.split()), set(works.split())
    if 2 * len(mine & its) >= len(mine) or any(len(word) >= _TELLING and word in works for word in mine):
        return True
    programs, others = ({step.program for step in steps(told)} for told in (command, works))
    return not others.isdisjoint(programs | set(_PROGRAM.findall(error)))
