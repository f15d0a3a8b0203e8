"""Guards of a project: those that are on, rules that could have one, and what one would have noticed."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.guards import Guard
from claude_mem_lite.learnings.guarding import derive
from claude_mem_lite.learnings.rule_words import Seen
from claude_mem_lite.storage import learnings as storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.storage.learnings import PastCall
    from claude_mem_lite.storage.models import Learning

_EVIDENCE, _PAST = 1_000, 20_000  # calls, the newest
_MOST_QUANTIFIERS = 4
_QUANTIFIER = re.compile(r"(?<!\\)[*+{]")
_REPEATED_GROUP = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=")


def guard_of(row: Learning) -> Guard | None:
    """Return the guard of a learning that is on, None for none."""
    return Guard(**json.loads(row.guard)) if row.guard else None


def on(project_dir: str | None) -> list[Learning]:
    """Return the rules of a project (None: of all) with a guard that is on."""
    return [row for row in storage.find(project_dir, state="current") if row.guard]


def possible(project_dir: str) -> list[tuple[Learning, Guard]]:
    """Return the rules told in a project that could have a guard, with what their words come to."""
    seen = seen_in(project_dir)
    rows = [row for row in storage.find(project_dir) if not row.guard]
    return [(row, guard) for row in rows if (guard := derive(row.content, seen))]


def understood(row: Learning, project_dir: str) -> Guard:
    """Return what a rule's words come to. Raises: ClaudeMemError where that is nothing that a call shows."""
    guard = derive(row.content, seen_in(project_dir))
    if guard is None:
        raise ClaudeMemError(
            f"nothing in {row.id[:8]}'s words can be seen in a call: say what to look for with --command,"
            " --file or --message"
        )
    return guard


def seen_in(project_dir: str) -> Seen:
    """Return what the past calls of a project show."""
    calls = storage.past_calls(project_dir, limit=_EVIDENCE)
    files = {f"{os.path.relpath(call.file, call.root)}/" for call in calls if call.file}

    @cache
    def has_file(path: str) -> bool:
        start = f"{path.rstrip('/')}/"
        return os.path.exists(os.path.join(project_dir, path)) or any(
            each.startswith(start) for each in files
        )

    return Seen.of((call.command for call in calls if call.command), has_file, project_dir)


def noticed(guard: Guard, project_dir: str | None) -> tuple[list[tuple[PastCall, str]], int]:
    """Return the past calls that a guard would have noticed, with what of each, and how many there are."""
    calls = storage.past_calls(project_dir, limit=_PAST)
    return [(call, found) for call in calls if (found := _broken_by(guard, call))], len(calls)


def _broken_by(guard: Guard, call: PastCall) -> str:
    return guard.broken_by(
        call.tool,
        call.command,
        call.file,
        folder=call.folder or call.root,
        root=call.root,
        branch=call.branch,
    )


def given(  # noqa: PLR0913  (the options of the command)
    *,
    mode: str,
    commands: Sequence[str],
    without: Sequence[str],
    needs: Sequence[str],
    files: Sequence[str],
    message: str,
) -> Guard:
    """Return the guard that the user describes. Raises: ClaudeMemError where it cannot be checked."""
    if (without or needs) and not commands:
        raise ClaudeMemError("--without and --with are of a command: say which with --command")
    lists: dict[str, Any] = {
        "commands": [" ".join(each.split()) for each in commands],
        "without": without,
        "needs": needs,
        "files": files,
    }
    words = [*lists["commands"], *without, *needs, *files]
    if any(not word.strip() or "\n" in word for word in words):
        raise ClaudeMemError("what a guard looks for is empty, or has several lines")
    if message:
        _check(message)
    return Guard(mode, message, **lists)


def _check(pattern: str) -> None:
    """Refuse a regular expression that is none, or that may take for ever. Raises: ClaudeMemError."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ClaudeMemError(f"{pattern!r} is no regular expression: {error}") from error
    if len(_QUANTIFIER.findall(pattern)) > _MOST_QUANTIFIERS or _REPEATED_GROUP.search(pattern):
        raise ClaudeMemError(
            f"{pattern!r} may take too long before each commit: repeat no group, and at most"
            f" {_MOST_QUANTIFIERS} times something else"
        )
