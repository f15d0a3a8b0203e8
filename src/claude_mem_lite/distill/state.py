"""Build a session's state: its thread, its statements, and the names, files and commands in it. Pure.

The state is built at the session's end and again after each compaction; later sessions see it at their start.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.attempts import at_forge, by_path, has_merged, is_commit, ran
from claude_mem_lite.distill.rules import compaction
from claude_mem_lite.distill.rules.conversation import report_of, says_nothing
from claude_mem_lite.distill.statements import names, statements
from claude_mem_lite.distill.thread import (
    ASKS,
    Row,
    Said,
    settled,
    thread_of,
    without_overtaken,
    without_replies,
)
from claude_mem_lite.distill.typed import ways
from claude_mem_lite.text import one_line

_STATEMENTS = 100
_NAMES, _COMMANDS = 400, 60
_QUESTION_CHARS = 120
_CODE = re.compile(r"`([^`]+)`")
_REPORTS = frozenset({"Stop", compaction.NAME})


@dataclass(frozen=True, slots=True)
class State:
    """The state in which a session ended.

    `thread` holds its lines, most important first, and `statements` what its turns stated, newest first.
    `names` counts the rows that mention each name, `commands` the runs of each command, and `files` the edits
    of each file (0 if it was only read). `is_merged` is whether its branch has been merged since, `merged_as`
    the pull request with its title.
    """

    thread: Sequence[Said] = ()
    statements: Sequence[Said] = ()
    names: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    commands: Mapping[str, int] = field(default_factory=dict)
    is_merged: bool = False
    merged_as: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the fields in the form in which they are stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> State:
        """Return the state that `as_json` stored."""
        thread, stated = (
            [Said(**{**each, "stands_for": tuple(each["stands_for"])}) for each in stored.get(name, ())]
            for name in ("thread", "statements")
        )
        names, files, commands = (stored.get(name, {}) for name in ("names", "files", "commands"))
        return cls(
            thread, stated, names, files, commands,
            is_merged=stored.get("is_merged", False), merged_as=stored.get("merged_as", ""),
        )  # fmt: skip


def state_of(
    rows: Sequence[Row],
    *,
    plan: Iterable[dict[str, Any]] = (),
    quote: Callable[[str], str] = str,
    changes: Mapping[str, str] | None = None,
    later: Sequence[Sequence[Row]] = (),
) -> State:
    """Return a session's state from its observations, oldest first.

    `plan` holds the events of its to-do list or tasks; `quote` puts quotation marks around what their steps
    repeat from texts read before; `changes` describes the function changes of each file; `later` holds the
    observations of each session after it, which may have settled what it left open.
    """
    thread = thread_of(rows, plan=plan, quote=quote, changes=changes, later=later)
    counted: Counter[str] = Counter()
    for row in rows:
        counted.update(names(f"{row.title}\n{report_of(row.tool_name, row.summary, row.detail)}"))
    files = Counter({path: 0 for row in rows for path in row.files_touched})
    files.update(path for row in rows if row.tool_name in EDITORS for path in row.files_touched)
    by_user = {said.row_id: [said] for said in settled(rows)}
    lasting = without_overtaken(without_replies(rows))
    commands = [command for row in rows for command in ran(row)]
    worked = {command.words for command in commands}
    run = [*map(str, commands), *(command for row in rows for command in (*at_forge(row), *by_path(row)))]
    questions = _questions(rows)
    stated = [
        said
        for row in reversed(lasting)
        for said in by_user.get(row.id) or _stated(row, questions.get(row.id, ""), worked)
    ]
    if not stated:  # without a report, list commits or else edits
        commits = [row for row in reversed(rows) if is_commit(row)]
        done = commits or [row for row in reversed(rows) if row.tool_name in EDITORS]
        stated = [Said(row.id, row.created_at, _deed(row), is_deed=True) for row in done]
    return State(
        thread, stated[:_STATEMENTS], dict(counted.most_common(_NAMES)), dict(files),
        dict(Counter(run).most_common(_COMMANDS)), is_merged=_has_merged(rows),
    )  # fmt: skip


def _has_merged(rows: Sequence[Row]) -> bool:
    """Tell whether a session merged its pull request and edited nothing afterwards."""
    last = next((row for row in reversed(rows) if row.tool_name in EDITORS or has_merged(row)), None)
    return last is not None and has_merged(last)


def _stated(row: Row, question: str, commands: set[str]) -> list[Said]:
    """Return what a row states, of a prompt only its working rules; `question` is the default first head.

    A list of `commands` that the session ran is left out: it only says that they succeeded.
    """
    if row.tool_name == "UserPromptSubmit":
        return [Said(row.id, row.created_at, each, is_users=True) for each in ways(row.summary)]
    if row.tool_name not in _REPORTS and row.written_by == "local":
        return []
    says = statements(report_of(row.tool_name, row.summary, row.detail))
    stated = [each for each in says if not says_nothing(each.says)]
    lists = [each for each in stated if len(own := _CODE.findall(each.says)) > 1 and commands >= {*own}]
    found = [each for each in stated if each not in lists]
    heads = [found[0].head or question, *(each.head for each in found[1:])] if found else []
    paired = zip(found, heads, strict=True)
    return [Said(row.id, row.created_at, each.says, head=head) for each, head in paired]


def _questions(rows: Sequence[Row]) -> dict[str, str]:
    """Return the questions that reports answer, by the reports' ids: short prompts with a question mark."""
    asked, found = "", {}
    for row in rows:
        if row.tool_name == "UserPromptSubmit":
            text = row.summary.strip()
            is_short = text[-1:] in ASKS and len(text) <= _QUESTION_CHARS
            asked = f"“{one_line(text, _QUESTION_CHARS)}”" if is_short else ""
        elif row.tool_name == "Stop":
            found[row.id], asked = asked, ""
    return found


def _deed(row: Row) -> str:
    """Return a row's title, with the first statement of its summary that adds something."""
    beside = [each.text for each in statements(row.summary) if each.says.rstrip(".") not in row.title]
    return ". ".join([row.title.rstrip("."), *beside[:1]])
