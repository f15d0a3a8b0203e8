"""Group the failed calls of a project's sessions into findings, and put these into words. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from claude_mem_lite.distill.calls import only_looks, without_numbers
from claude_mem_lite.distill.failing import BY_SHELL, NAMELESS, is_prepared
from claude_mem_lite.distill.rules.hunks import same_start
from claude_mem_lite.distill.rules.shell import steps
from claude_mem_lite.quoting import quoted
from claude_mem_lite.text import count, join, one_line

RECURS = 2  # sessions that have met a failure before it is reported unasked
_CALL_CHARS, _CURE_CHARS, _ERROR_CHARS, _OLD_CHARS, _WORKS_CHARS = 110, 160, 100, 140, 60
_KEPT = 2  # words of a long call that stay at its start, and before the first difference
_RULES = 6
# A finding of several sessions shows the words with which at least 80 % of the last 5 sessions' calls begin.
_LAST, _MOST = 5, 0.8
_SKIPS, _AND = "--no-verify", " && "
# Errors of a failed `cd`: "bash: line 1: cd: src: No such file …", "(eval):cd:1: no such file …"
_BY_CD, _QUOTE, _FOLDER = re.compile(r"\bcd\b\W"), re.compile(r"[\"']"), re.compile(r"\S*/(?=[^/\s])")


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
    is_cured: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """A failure that several calls share; `command`, `error` and `works` are those of one of them.

    `works` is the cure ("" if none is known); `rule` is a linter's rule name ("" for other failures); `forms`
    are the words with which the calls and their cures begin, where these show the difference, else ("", "");
    `sessions` are ids, times are UTC text. `is_old` marks a problem in the code that no session has solved.
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
    is_old: bool = False

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
        return shares_half(self.command, self.works)

    @property
    def is_slip(self) -> bool:
        """Whether the call only looked for something, or a `cd` failed; what the shell rejects is no slip."""
        by_cd = self.command.startswith("cd ") and _BY_CD.search(self.error) is not None
        return by_cd or (only_looks(self.command) and not BY_SHELL.match(self.error))

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
        if dropped := _dropped(self.command, self.works):
            was_there = ", where the shell stood already" if dropped.startswith("cd ") else ""
            works = f"the same without {_in_backticks(dropped, _WORKS_CHARS)}{was_there}"
        elif is_prepared(self.command, self.works):
            first = self.works.removesuffix(f"{_AND}{self.command}")
            works = f"the same after {_in_backticks(first, _CURE_CHARS)}"
        elif self.works.startswith(f"{self.command} -"):
            works = f"the same with {_in_backticks(self.works[len(self.command) :].strip(), _CURE_CHARS)}"
        worked = f" What worked: {works}" if self.works else ""
        met, error = count(len(self.sessions), "session"), quoted(one_line(self.error, _ERROR_CHARS))
        if self.is_old:
            return f"Old problem, met in {met}: {command} reports {quoted(one_line(self.error, _OLD_CHARS))}"
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
    """Group failed calls by signature, and add old problems; sort by number of sessions, then newest first.

    Each finding shows the failed call that is most like `command`, among those with a cure if there are any.
    """
    alike: dict[str, list[Row]] = {}
    rows = sorted(rows, key=lambda row: row.failed_at)
    for row in rows:
        if row.works or row.rule != NAMELESS:
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
    found += _old_problems(rows)
    found.sort(key=lambda each: each.last_at, reverse=True)
    return sorted(found, key=lambda each: -len(each.sessions))


def _old_problems(rows: Iterable[Row]) -> Iterable[Finding]:
    """Return the problems that several sessions met and none solved, at most one for each command.

    Numbers in a message do not count, since lines move. Of a command's problems the one that most sessions
    met is returned, of equals the first.
    """
    alike: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.rule and not (row.works or row.is_cured):
            alike[without_numbers(row.error)].append(row)
    best: dict[str, Finding] = {}
    for signature, same in alike.items():
        last, sessions = same[-1], tuple(dict.fromkeys(row.session_id for row in same))
        most = len(best[last.command].sessions) if last.command in best else RECURS - 1
        if len(sessions) > most:
            best[last.command] = Finding(
                signature, last.rule, last.command, last.error, "", sessions, len(same), same[0].failed_at,
                last.failed_at, tuple(row.event_id for row in reversed(same)), is_old=True,
            )  # fmt: skip
    return best.values()


def rules_told(found: Sequence[Finding]) -> str:
    """Return one line with the linters' and compilers' rules and the number of sessions that met each."""
    told = [f"{each.rule} ({count(len(each.sessions), 'session')})" for each in found]
    return f"Rules that code here breaks most: {join(told, _RULES)}" if told else ""


def _dropped(command: str, works: str) -> str:
    """Return the words of a call without which it works, if they follow each other; else ""."""
    mine, its = command.split(), works.split()
    at = same_start(mine, its)
    after = at + len(mine) - len(its)
    return " ".join(mine[at:after]) if its and mine[:at] + mine[after:] == its else ""


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
    close = [row for row in cured if shares_half(row.command, row.works)] or cured
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
    """Return what worked, if it has half of the failed call's words; for a linter's rule, whatever worked.

    No cure are the call's own steps without the last, which failed, and a command that skips a check.
    """
    if row.rule:
        return row.works
    its = set(row.works.split())
    if its <= set(row.command.split()):
        given = {step.words for step in steps(row.command)[:-1]}
        is_cure = any(step.words not in given for step in steps(row.works))
    else:
        is_cure = _SKIPS not in its
    return row.works if is_cure and shares_half(row.command, row.works) else ""


def shares_half(command: str, works: str) -> bool:
    """Tell whether a call that worked differs from a failed one, but has half of its words or no others.

    A program or a file has the same name in another folder.
    """
    mine, its = (_FOLDER.sub("", _QUOTE.sub("", told)).split() for told in (command, works))
    shared = {*mine} & {*its}
    return command != works and bool(its) and ({*its} <= shared or 2 * len(shared) >= len({*mine}))
