"""Track what a session was shown, so that nothing is shown twice, and measure what of it was used."""

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
    """The ids and files that a session has in its context, and the tokens it has spent per `via`.

    `named` are ids that were only named, so that a later block about a file may say more. `parts` are ids
    that were shown in part, so that recall may show the rest. `causes` are the signatures of failures that
    were answered, `branches` the branches whose state of work was shown, `stated` the marks of statements.
    """

    ids: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    causes: set[str] = field(default_factory=set)
    branches: set[str] = field(default_factory=set)
    stated: set[str] = field(default_factory=set)
    tokens: Counter[str] = field(default_factory=Counter)
    owed: dict[str, Any] | None = None  # the fallback block of a start whose full block is due
    late: tuple[Line, ...] = ()  # the answer to the last prompt, if it came too late

    def add(self, block: dict[str, Any]) -> None:
        """Add a block, as stored in `context.shown`; a startup or a compaction clears what was shown before.

        A sub-agent's block is ignored, because it is in another context.
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
    """Return what a session was shown, from `event_log` and the messages waiting to be recorded there."""
    shown = Shown()
    if session_id:
        waiting = context_rows.shown_waiting(session_id)  # before `event_log`: one may move there meanwhile
        for block in (*(row.data for row in context_rows.shown_in(session_id)), *waiting):
            shown.add(block)
    return shown


class ShownSessions:
    """What each session was shown, kept in memory ahead of `event_log`, which the consumer writes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, tuple[threading.Lock, Shown]] = OrderedDict()

    @contextmanager
    def turn(self, session_id: str) -> Iterator[Shown]:
        """Lock a session and yield what it was shown, to read and to extend.

        Claude Code runs tools in parallel: without the lock, two hooks at once would get the same lines.
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
        """Drop a session's state so that it is read again: its hook got its answer from another process."""
        with self._lock:
            self._sessions.pop(session_id, None)


def measure_use(session_id: str) -> dict[str, str]:
    """Record and return which of the shown ids a session used afterwards, and how.

    "opened": a command contains the id. "named": the assistant wrote the id or the name of a function of the
    row. "touched": a file of the row was changed, unless the line was shown because of that file. A session
    that neither used anything nor edited a file is not recorded, as it says nothing about the lines' use.
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
