"""Keeps what a session was shown of memory, lest it be told twice, and tells what of it was of use."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.context import FRESH, SOURCES
from claude_mem_lite.context.text import ID_CHARS
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import queries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.storage.models import LogEntry, Observation

_SESSIONS_KEPT = 200
_SHORTEST_NAME = 5


@dataclass(slots=True)
class Shown:
    """The ids and files that a session has in its context, and what it has spent in tokens, by which way.

    `named` are those of the ids that were only named: a later block about a file may say more of them;
    `parts` are those of which a part was told: recall may tell the rest; `causes` are the failures that
    were told of as they happened; `branches` those of which it was told where the work stands; `stated` the
    marks of statements.
    """

    ids: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    causes: set[str] = field(default_factory=set)
    branches: set[str] = field(default_factory=set)
    stated: set[str] = field(default_factory=set)
    tokens: Counter[str] = field(default_factory=Counter)
    owed: dict[str, Any] | None = None  # the fallback of a start that has not had its whole block yet
    late: tuple[Line, ...] = ()  # the answer to the last prompt, if it came too late

    def add(self, block: dict[str, Any]) -> None:
        """Note a block, as `context.shown` has it; some sources begin with none of those before it.

        A sub-agent's block is in another context.
        """
        via = block.get("via")
        if via == context_rows.SUBAGENT:
            return
        is_fallback = via == context_rows.FALLBACK
        is_rest = self.owed is not None and self.owed.get("source") == via
        if not FRESH.isdisjoint((via, block.get("source"))) and not is_rest:
            self.ids.clear()
            self.named.clear()
            self.parts.clear()
            self.files.clear()
            self.causes.clear()
            self.branches.clear()
            self.stated.clear()
        if is_fallback or via in SOURCES:
            self.owed = block if is_fallback else None
        ids, named = {*block.get("ids", ()), *block.get("also", ())}, set(block.get("named", ()))
        parts = set(block.get("parts", ()))
        self.named |= named - self.ids
        self.named -= ids - named
        self.parts |= parts - self.ids
        self.parts -= ids - parts
        self.ids |= ids
        self.files.update(block.get("files", ()))
        self.causes.update(block.get("causes", ()))
        self.branches.update(block.get("branches", ()))
        self.stated.update(block.get("stated", ()))
        self.tokens[str(via)] += int(block.get("tokens", 0))


def shown_to(session_id: str) -> Shown:
    """Return what a session was shown, by `event_log` and the messages that wait to be noted there."""
    shown = Shown()
    if session_id:
        waiting = context_rows.shown_waiting(session_id)  # before `event_log`: meanwhile one may be noted
        for block in (*(row.data for row in context_rows.shown_in(session_id)), *waiting):
            shown.add(block)
    return shown


class ShownSessions:
    """What each session was shown, ahead of `event_log`, which the consumer writes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, tuple[threading.Lock, Shown]] = OrderedDict()

    @contextmanager
    def turn(self, session_id: str) -> Iterator[Shown]:
        """Give what a session was shown, to read and to add to, to one at a time.

        Claude Code runs tools side by side: two hooks that ask at once would be told the same.
        """
        with self._lock:
            if session_id not in self._sessions:
                self._sessions[session_id] = threading.Lock(), shown_to(session_id)
            self._sessions.move_to_end(session_id)
            turn, shown = self._sessions[session_id]
            if len(self._sessions) > _SESSIONS_KEPT:
                self._sessions.popitem(last=False)
        with turn:
            yield shown

    def forget(self, session_id: str) -> None:
        """Read anew what a session was shown when it asks next: its hook got another answer than ours."""
        with self._lock:
            self._sessions.pop(session_id, None)


def measure_use(session_id: str) -> dict[str, str]:
    """Note, and return, which of the ids that a session was shown it used since, and how.

    "opened": a command asked for the id; "named": the assistant wrote the id, or a function of the row;
    "touched": a file of the row was changed, unless the line came because the file was at hand. A session
    that changed nothing and used nothing says nothing of what it was shown: it is not noted.
    """
    used: dict[str, str] = {}
    blocks = context_rows.shown_in(session_id)
    rows = queries.observations_of(session_id) if blocks else []
    commands = context_rows.commands(session_id) if blocks else []
    for block in blocks:
        ids = [row_id for row_id in block.data.get("ids", ()) if used.get(row_id) != "opened"]
        used |= _used_after(
            block,
            ids,
            [row for row in rows if row.created_at > block.created_at],
            "\n".join(command for at, command in commands if at > block.created_at),
        )
    if used or any(row.tool_name in EDITORS for row in rows):
        context_rows.save_used(session_id, used)
    return used


def _used_after(block: LogEntry, ids: list[str], rows: list[Observation], commands: str) -> dict[str, str]:
    said = "\n".join(row.summary for row in rows if row.tool_name in {"Stop", "SubagentStop"})
    edits = [row for row in rows if row.tool_name in EDITORS and block.data.get("via") != "touch"]
    changed = {path for row in edits for path in row.files_touched}
    used = {}
    for row_id in ids:
        short = row_id[:ID_CHARS]
        about = context_rows.about(row_id)
        names = [name for name in about.functions if len(name) >= _SHORTEST_NAME]
        if short in commands:
            used[row_id] = "opened"
        elif short in said or any(name in said for name in names):
            used[row_id] = "named"
        elif not changed.isdisjoint(about.files):
            used[row_id] = "touched"
    return used
