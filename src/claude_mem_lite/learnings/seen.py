"""Collects the commands of a project's past calls, by which a rule's words are known for programs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from claude_mem_lite.capture.simple_commands import Script
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.search.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

# What a project that has hardly run a command is likely to run: programs with their sub-commands.
USUAL = {
    "git": "add branch checkout cherry-pick clean clone commit diff fetch log merge pull push rebase reset"
    " restore revert rm show stash status switch tag",
    "gh": "create issue merge pr release repo",
    "npm": "ci install publish run test", "yarn": "add install run test",
    "pnpm": "add install run test", "bun": "add install run test", "pip": "install uninstall",
    "pip3": "install uninstall", "uv": "add pip run sync", "poetry": "add install run", "pytest": "",
    "cargo": "build publish run test", "go": "build generate get install mod run test vet", "sudo": "",
    "docker-compose": "down up",
    "docker": "build compose down exec prune push rm run system up volume", "kubectl": "apply delete exec",
    "rm": "",
    "terraform": "apply destroy plan", "helm": "install upgrade", "curl": "", "wget": "", "npx": "",
    "ssh": "", "scp": "",
    "rake": "", "brew": "install", "make": "build clean deploy install lint test", "psql": "",
    "alembic": "",
}  # fmt: skip
# Programs that are words, too: without a sub-command or an option they are none.
WORDS = STOP_WORDS | {"git", "go", "make"}
SUBS = frozenset(sub for subs in USUAL.values() for sub in subs.split())


@dataclass(frozen=True, slots=True)
class Seen:
    """What a project's past calls show: programs with sub-commands, operands, options' values; its folder."""

    programs: dict[str, set[str]]
    root: str = "/"
    operands: set[str] = field(default_factory=lambda: set(SHARED_BRANCHES) - {""})
    values: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, lines: Iterable[str], root: str = "/") -> Seen:
        """Return what command lines show."""
        seen = cls({name: set(subs.split()) for name, subs in USUAL.items()}, root)
        for each in (command for line in lines for command in Script(line).commands):
            given = [word for word in each.operands if re.fullmatch(r"[a-z][\w.:-]*", word)]
            if re.fullmatch(r"[a-z][\w.-]+", each.program) and each.program not in STOP_WORDS:
                seen.programs.setdefault(each.program, set()).update(given[:1])
            seen.operands.update({*given[1:]} - STOP_WORDS)
            seen.values.update(zip(each.words, each.words[1:], strict=False))
        return seen
