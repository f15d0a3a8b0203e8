"""Update a project's failed calls by what later calls show: that they work now, or how. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from claude_mem_lite.distill.calls import shape
from claude_mem_lite.distill.failing import VERSIONING, is_prepared
from claude_mem_lite.distill.findings import Row, shares_half
from claude_mem_lite.distill.rules.shell import steps

_FILE = "…"
_LAST_FILE = re.compile(r" (?![-@])(?:\S*/\S*|[\w-]+\.[a-z]{1,4})$")
_BARE = re.compile(r"[\w-]+")
_NAMED, _VARIABLE = re.compile(r"[^\s'\"`,;()]+"), re.compile(r"\w+=")


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
        if row.rule and row.failed_at < again.get(shape(row.command), ""):
            found[row.event_id] = {"is_cured": True}
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
    return command, instead if shares_half(command, instead) else ""


def _renamed(told: str, command: str, old: str, new: str) -> str:
    """Replace a word of `told` if the same program has it in `command` too."""
    if old not in told:
        return told
    mine, its = ({step.program for step in steps(each) if old in step.words} for each in (told, command))
    # A git branch is replaced for one call only, not for good.
    is_same = not mine.isdisjoint(its - VERSIONING)
    return " ".join(new if word == old else word for word in told.split()) if is_same else told
