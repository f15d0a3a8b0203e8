"""Derive a guard from a rule's text: what it forbids or demands, as far as a tool call shows it. Pure."""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from claude_mem_lite.guards import ASK, BRANCH, REMIND, Guard
from claude_mem_lite.learnings.rule_words import things

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.learnings.rule_words import Seen, Thing

_COMMITS = re.compile(r"\bcommit", re.IGNORECASE)
_CONVENTIONAL = re.compile(r"\bconventional[\s-]commits?\b|\btype\(scope\)", re.IGNORECASE)
_LONG = re.compile(r"\b(\d{2,3})\s*-?(?:char|zeichen|caract|carat|teken|znak|символ|字)", re.IGNORECASE)
_TICKET = re.compile(r"\b([A-Z][A-Z0-9]+)-(?:\d+|[NX#]+\b)(:?)")
_PREFIX = re.compile(r"(?<![\w:/])([a-z]+)(?:\([\w*-]*\))?:(?=[\s/,`\"'“”]|$)")
_CALL = re.compile(r"\w\(\)")
_ANY_TYPE = r"^[a-z]+(\([^)]*\))?!?: \S"
_BETWEEN = 8  # characters, of what two in a list have between them


def derive(text: str, seen: Seen) -> Guard | None:
    """Return the guard that a rule's text comes to, None where nothing in it can be seen in a call."""
    named = things(text, seen)
    if _COMMITS.search(text) and (guard := _of_messages(text, named)):
        return guard
    found = _Found(seen)
    for _, same in groupby(named, key=lambda thing: thing.sentence):
        found.take(list(same), is_of_code=_CALL.search(text) is not None)
    return found.guard() if found.commands or found.files else None


def _of_messages(text: str, named: Sequence[Thing]) -> Guard | None:
    """Return the guard of a rule on the form of commit messages."""
    forbidden = [thing.words[0].rstrip(":") for thing in named if thing.kind == "text" and thing.is_forbidden]
    if forbidden:
        return Guard(commands=("git commit",), without=forbidden)
    prefixes, ticket, long = _listed_prefixes(text), _TICKET.search(text), _LONG.search(text)
    if _CONVENTIONAL.search(text):
        return Guard(message=_ANY_TYPE)
    if prefixes:
        return Guard(message=rf"^({'|'.join(prefixes)})(\([^)]*\))?!?: ?\S")
    if ticket:
        return Guard(message=rf"{'^' if ticket[2] else ''}\b{ticket[1]}-\d+{ticket[2]}")
    return Guard(message=f"^.{{1,{long[1]}}}$") if long else None


def _listed_prefixes(text: str) -> list[str]:
    """Return words with a colon that stand in a list: "feat: / fix: / docs:"."""
    found = list(_PREFIX.finditer(text))
    pairs = [
        (one, other)
        for one, other in pairwise(found)
        if 0 < len(text[one.end() : other.start()].strip()) <= _BETWEEN
    ]
    return list(dict.fromkeys(match[1] for pair in pairs for match in pair))


class _Found:
    """What the sentences of a rule forbid and demand."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self.commands: list[str] = []
        self.without: list[str] = []
        self.needs: list[str] = []
        self.allowed: list[str] = []
        self.files: list[str] = []
        self.is_for_user = False  # whether they said it depends on them

    def guard(self) -> Guard:
        """Return the guard; where something is forbidden, what is said beside it is how to do it instead."""
        self.allowed = [
            each for each in self.allowed if each.endswith(tuple(f" {command}" for command in self.commands))
        ]
        lists = {
            name: tuple(dict.fromkeys(values))
            for name, values in vars(self).items()
            if isinstance(values, list) and not (name == "needs" and self.without)
        }
        return Guard(ASK if self.is_for_user else REMIND, "", **lists)

    def take(self, named: list[Thing], *, is_of_code: bool) -> None:
        """Add what one sentence forbids or demands; what code says is not what files are changed."""
        options = [thing for thing in named if thing.kind == "option"]
        commands = [thing for thing in named if thing.kind == "command"]
        commands = commands or [thing for thing in named if thing.kind == "sub"]
        forbidden = [thing.words[0] for thing in options if thing.is_forbidden]
        needed: list[str] = []
        for thing in options:
            if not thing.is_forbidden and thing.joined and needed:
                needed[-1] += f"|{thing.words[0]}"
            elif not thing.is_forbidden:
                needed.append(thing.words[0])
        for command in commands:
            self._take_command(command, named, forbidden, needed)
            forbidden, needed = [], []
        if not is_of_code and not self.without and not any(command.is_forbidden for command in commands):
            self.files += [thing.words[0] for thing in named if thing.kind == "file" and thing.is_forbidden]

    def _take_command(
        self, command: Thing, named: list[Thing], forbidden: list[str], needed: list[str]
    ) -> None:
        """Add a command with the options that its sentence names beside it."""
        own = [word for word in command.words if word.startswith("-")]
        plain = [word for word in command.words if not word.startswith("-")]
        program, known = plain[0], self._seen.programs.get(plain[0], ())
        subs = [word for word in plain[1:3] if word in known or word in self._seen.programs]
        files = [thing for thing in named if thing.kind == "file"]
        is_kept_out = plain == ["git", "commit"] and any(
            thing.is_forbidden for thing in (*files, command) if files
        )
        if command.is_forbidden or is_kept_out:
            forbidden = own + forbidden
            kinds = {"operand"} if command.kind == "command" else {"operand", "text", "file"}
            after = named[named.index(command) :]
            is_to_branch = plain[1:2] in (["commit"], ["push"])
            beside = [
                f"{BRANCH}{thing.words[0]}" if is_to_branch and thing.kind == "operand" else thing.words[0]
                for thing in (*files, *after)
                if thing.kind in kinds
            ]
            if not forbidden and not needed:
                if len(plain) == len(subs) + 2:
                    plain, beside = plain[:-1], [plain[-1]]
                forbidden = beside
            if forbidden or needed or command.kind == "command" or command.is_alone:
                self.commands += ["git add"] if is_kept_out else []
                self.commands.append(" ".join(plain))
                self.is_for_user |= command.on_condition and not needed
        elif own + needed + forbidden:
            self.commands.append(" ".join([program, *subs]))
            needed = own + needed
        else:
            self.allowed.append(" ".join(plain))
        self.without += forbidden
        self.needs += needed
