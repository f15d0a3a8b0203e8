"""Guards of a project: those that are on, rules that could have one, and what one would have noticed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from claude_mem_lite.capture.guards import REMIND, Guard
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.learnings.guarding import derive
from claude_mem_lite.learnings.rule_words import Seen
from claude_mem_lite.storage import learnings as learning_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.capture.guards import Call
    from claude_mem_lite.storage.models import Learning

_EVIDENCE, _PAST = 1_000, 20_000  # calls, the newest
# Of a regular expression that is asked before each commit.
_MOST_QUANTIFIERS = 4
_QUANTIFIER = re.compile(r"(?<!\\)[*+{]")
_REPEATED_GROUP = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=")


def guard_of(row: Learning) -> Guard:
    """Return the guard of a learning that has one."""
    return Guard(**json.loads(row.guard))


def on(project_dir: str) -> list[Learning]:
    """Return the rules told in a project with a guard that is on."""
    return [row for row in learning_rows.find(project_dir, state="current") if row.guard]


def possible(project_dir: str) -> list[tuple[Learning, Guard]]:
    """Return the rules told in a project that could have a guard, with what their words come to."""
    rows, seen = [row for row in learning_rows.find(project_dir) if not row.guard], _seen_in(project_dir)
    return [(row, guard) for row in rows if (guard := derive(row.content, seen))]


def understood(row: Learning, project_dir: str) -> Guard:
    """Return what a rule's words come to. Raises: ClaudeMemError where that is nothing that a call shows."""
    if guard := derive(row.content, _seen_in(project_dir)):
        return guard
    raise ClaudeMemError(
        f"nothing in {row.id[:8]}'s words can be seen in a call: say what to look for with --command,"
        " --file, --text or --message"
    )


def _seen_in(project_dir: str) -> Seen:
    return Seen.of(
        (call.line for _, call in learning_rows.past_calls(project_dir, limit=_EVIDENCE)), project_dir
    )


def noticed(guard: Guard, project_dir: str) -> tuple[list[tuple[str, Call, str]], int]:
    """Return the past calls that a guard would have noticed, with time and what of each, and their number."""
    calls = learning_rows.past_calls(project_dir, limit=_PAST)
    return [(at, call, found) for at, call in calls if (found := guard.broken_by(call))], len(calls)


def given(message: str, **lists: Sequence[str]) -> Guard:
    """Return the guard that the user describes. Raises: ClaudeMemError where it cannot be checked."""
    if (lists["without"] or lists["needs"]) and not lists["commands"]:
        raise ClaudeMemError("--without and --with are of a command: say which with --command")
    if any(not word.strip() or "\n" in word for words in lists.values() for word in words):
        raise ClaudeMemError("what a guard looks for is empty, or has several lines")
    try:
        re.compile(message)
    except re.error as error:
        raise ClaudeMemError(f"{message!r} is no regular expression: {error}") from error
    if len(_QUANTIFIER.findall(message)) > _MOST_QUANTIFIERS or _REPEATED_GROUP.search(message):
        raise ClaudeMemError(
            f"{message!r} may take too long before each commit: repeat no group, and at most"
            f" {_MOST_QUANTIFIERS} times something else"
        )
    return Guard(REMIND, message, **lists)
