"""Derive a guard from a rule's text: what it forbids or demands, as far as a tool call shows it. Pure."""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from claude_mem_lite.capture.guards import ASK, BRANCH, REMIND, Guard
from claude_mem_lite.learnings.rule_words import things

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_mem_lite.learnings.rule_words import Seen, Thing

_COMMITS = re.compile(r"\bcommit", re.IGNORECASE)
_CONVENTIONAL = re.compile(r"\bconventional[\s-]commits?\b|\btype\(scope\)", re.IGNORECASE)
_LONG = re.compile(r"\b(\d{2,3})\s*-?(?:char|zeichen|caract|carat|teken|znak|символ|字)", re.IGNORECASE)
_TICKET = re.compile(r"\b([A-Z][A-Z0-9]+)-(?:\d+|[NX#]+\b)(:?)")
_PREFIX = re.compile(r"(?<![\w:/])([a-z]+)(?:\([\w*-]*\))?:(?=[\s/,`\"'“”]|$)")
_CALL = re.compile(r"\w\(\)")
_ASKS = re.compile(r"\b(?:without|unless|until|before) (?:asking|i|me|my|we|you|the user)\b", re.IGNORECASE)
_BETWEEN = 8  # characters, of what two in a list have between them


def derive(text: str, seen: Seen) -> Guard | None:
    """Return the guard that a rule's text comes to, None where nothing in it can be seen in a call."""
    named = things(text, seen)
    if _COMMITS.search(text):
        said = [each.words[0].rstrip(":") for each in named if each.kind == "text" and each.is_forbidden]
        if said:
            return Guard(commands=["git commit"], without=said)
        if subject := _subject(text):
            return Guard(message=subject)
    guard = Guard()
    for _, same in groupby(named, key=lambda thing: thing.sentence):
        _take(guard, list(same), seen, is_of_code=_CALL.search(text) is not None)
    if guard.without:
        guard.needs = []  # what is said beside it is how to do it instead
    guard.mode = ASK if _ASKS.search(text) else REMIND
    return Guard(**guard.as_json()) if guard.commands or guard.files else None


def _subject(text: str) -> str:
    """Return the pattern of a commit's first line that a rule asks for, "" for none."""
    if _CONVENTIONAL.search(text):
        return r"^[a-z]+(\([^)]*\))?!?: \S"
    found = list(_PREFIX.finditer(text))  # in a list: "feat: / fix: / docs:"
    pairs = [
        (one[1], other[1])
        for one, other in pairwise(found)
        if 0 < len(text[one.end() : other.start()].strip()) <= _BETWEEN
    ]
    if pairs:
        return rf"^({'|'.join(dict.fromkeys(sum(pairs, ())))})(\([^)]*\))?!?: ?\S"
    if ticket := _TICKET.search(text):
        return rf"{'^' if ticket[2] else ''}\b{ticket[1]}-\d+{ticket[2]}"
    long = _LONG.search(text)
    return f"^.{{1,{long[1]}}}$" if long else ""


def _take(guard: Guard, named: list[Thing], seen: Seen, *, is_of_code: bool) -> None:
    """Add to a guard what one sentence forbids or demands; what code says is not what files are changed."""
    options = [thing for thing in named if thing.kind == "option"]
    commands = [thing for thing in named if thing.kind == "command"]
    commands = commands or [thing for thing in named if thing.kind == "sub"]
    forbidden = [thing.words[0] for thing in options if thing.is_forbidden]
    needed = _needed(thing for thing in options if not thing.is_forbidden)
    files = [thing for thing in named if thing.kind == "file"]
    for command in commands:
        own = [word for word in command.words if word.startswith("-")]
        plain = [word for word in command.words if not word.startswith("-")]
        known = {*seen.programs, *seen.programs.get(plain[0], ())}
        subs = [word for word in plain[1:3] if word in known]
        is_kept_out = plain == ["git", "commit"] and any(
            each.is_forbidden for each in (*files, command) if files
        )
        if command.is_forbidden or is_kept_out:
            forbidden = own + forbidden
            if not forbidden and not needed and len(plain) == len(subs) + 2:
                *plain, operand = plain
                forbidden = [operand]
            elif not forbidden and not needed:
                to_branch = BRANCH if plain[1:2] in (["commit"], ["push"]) else ""
                forbidden = [
                    f"{to_branch if thing.kind == 'operand' else ''}{thing.words[0]}"
                    for thing in named
                    if thing.kind in {"operand", "text", "file"}
                ]
            if forbidden or needed or command.kind == "command" or command.is_alone:
                guard.commands += [*(["git add"] if is_kept_out else []), " ".join(plain)]
        elif own or needed or forbidden:
            needed = own + needed
            guard.commands.append(" ".join([plain[0], *subs]))
        else:
            guard.allowed.append(" ".join(plain))
        guard.without += forbidden
        guard.needs += needed
        forbidden, needed = [], []
    if not is_of_code and not guard.without and not any(command.is_forbidden for command in commands):
        guard.files += [thing.words[0] for thing in files if thing.is_forbidden]


def _needed(options: Iterable[Thing]) -> list[str]:
    """Return the options that a sentence demands, those of which one is enough as "-n|--name"."""
    needed: list[str] = []
    for option in options:
        either = f"{needed.pop()}|" if option.joined and needed else ""
        needed.append(f"{either}{option.words[0]}")
    return needed
