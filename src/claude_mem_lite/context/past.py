"""A project's past work, and the wording and value of lines about it."""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from claude_mem_lite.context.budget import Line
from claude_mem_lite.context.text import entry, harmless, under
from claude_mem_lite.distill.retired import code_names
from claude_mem_lite.distill.settling import called
from claude_mem_lite.distill.standing import standing
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.statements import mark, statements
from claude_mem_lite.distill.thread import ASKS, GOALS, IN_FLIGHT, Said, joined
from claude_mem_lite.kinds import RULE
from claude_mem_lite.quoting import named, quote_blocks, quote_long_names
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import retired
from claude_mem_lite.text import estimate_tokens, one_line, relative

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from claude_mem_lite.kinds import Kind
    from claude_mem_lite.storage.models import FailedCall, Learning, Observation, Session

SESSIONS = 25
RECENT_SESSIONS, _RECENT_OBSERVATIONS = 5, 60
LINE_CHARS = 240
_GOAL_CHARS = (80, 200)  # of a session's goal: in a heading of earlier work, in that of the thread
_COMMIT = re.compile(r"(?:Commit|Amend) (“.+”)")
_EDITS_CHARS = 480
# Weight of a session relative to the next one, and of one on the own branch relative to another branch.
FADES, _OWN_BRANCH = 0.9, 4.0
# Weight of a statement about something renamed or moved since; one about something gone weighs nothing.
_RENAMED, _REPLACED = 0.3, " → "
# Weight of a statement about code that was edited since, and how many edits are read.
_EDITED, _EDITS = 0.6, 300
_CODE = re.compile(r"`([^`]+)`")
# Least number of statements in a session that counts as work.
THREAD = 3
# A line's value grows with its length to this power.
_DENSITY = 0.75
_READ = 100  # most observations that are read of a session

# Observations of the user's own words; any other text may be an injected instruction.
USERS = frozenset({"UserPromptSubmit", "AskUserQuestion"})
# Weight of a stale learning, and the most characters of the reason.
_STALE, _STALE_CHARS = 0.4, 80
# A line shown in this many sessions and never used loses rank.
_SHOWINGS = 3


@dataclass(frozen=True, slots=True)
class Past:
    """A project's past as a block may show it: what `sessions`, newest first, did after `since` ("": ever).

    `now` is in Unix seconds; `uses` says in how many sessions an id was shown and in how many used. `room` is
    the number of tokens that a layer may spend, `told` the texts already in the block. `branch` is the
    session's own branch, "" on a shared one; `known` are the marks of statements shown to the session before.
    `gone` returns a note on what no longer holds in a text of a given time. `failed` are the failed calls,
    `missed` maps program and operand to when the operand was not found, `edited` code names to the last edit.
    """

    project_dir: str
    now: float
    sessions: Sequence[Session] = ()
    since: str = ""
    uses: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    gone: Callable[[str, str], str] = lambda _text, _at: ""
    room: int = 0
    branch: str = ""
    told: Sequence[str] = ()
    known: Collection[str] = ()
    failed: Sequence[FailedCall] = ()
    missed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    edited: Mapping[str, str] = field(default_factory=dict)

    @property
    def recent(self) -> dict[str, int]:
        """The ids of the last sessions, more if they did little, with the number of sessions after each."""
        done = list(accumulate((row.observation_count for row in self.sessions), initial=0))
        return {
            row.id: at
            for at, row in enumerate(self.sessions)
            if at < RECENT_SESSIONS or done[at] < _RECENT_OBSERVATIONS
        }

    def line(  # noqa: PLR0913  (the parts of a line)
        self,
        row_id: str,
        kind: Kind,
        at: str,
        says: str,
        *,
        weight: float,
        reason: str,
        chars: int = LINE_CHARS,
        stands_for: Sequence[str] = (),
        is_users: bool = False,
    ) -> Line:
        """Return a line about a row; its value grows with its length, but less than proportionally."""
        told = harmless(says, chars=chars)
        weight *= self.use(row_id)
        return Line(
            id=row_id,
            kind=kind,
            is_users=is_users,
            text=entry(row_id, at, told, now=self.now),
            value=weight * estimate_tokens(told) ** _DENSITY,
            says=told,
            reason=f"{reason}; weight {weight:.2f}",
            stands_for=tuple(stands_for),
        )

    def told_of(  # noqa: PLR0913  (as above)
        self,
        row: Observation,
        says: str,
        *,
        reason: str,
        weight: float = 1.0,
        chars: int = LINE_CHARS,
        stands_for: Sequence[str] = (),
    ) -> Line:
        """Return a line about an observation."""
        return self.line(
            row.id, "observation", row.created_at, says,
            weight=weight, reason=reason, chars=chars, stands_for=stands_for,
            is_users=row.tool_name in USERS,
        )  # fmt: skip

    def learned(self, row: Learning, *, weight: float, reason: str, note: str = "") -> Line:
        """Return the line of a learning; a rule's has no age, and a stale learning weighs less."""
        at, content = row.updated_at, one_line(row.content, LINE_CHARS)
        says = f"{row.category}: {content}"
        if row.stale:
            says = f"{row.category}, may be outdated ({one_line(row.stale, _STALE_CHARS)}): {content}"
            weight, reason, note = _STALE * weight, f"{reason}, stale", ""
        elif row.category == RULE:
            at, says = "", content
        line = self.line(
            row.id, "learning", at, says, weight=weight, reason=reason, chars=LINE_CHARS + len(says)
        )
        return replace(line, text=line.text + note)

    @property
    def newest(self) -> Session | None:
        """The newest session that did some work, so that a trivial one does not hide the work before it."""
        for row in self.sessions[:SESSIONS]:
            state = self.state(row)
            if any(state.files.values()) or len(state.statements) >= THREAD:
                return row
        return next(iter(self.sessions), None)

    def heading(self, row: Session, *, of_thread: bool = False) -> Line:
        """Return the heading of a session's lines: its branch and its goal.

        The goal is a summary by Claude or, on a shared branch, a commit or task (`of_thread`: task first).
        """
        state = self.state(row)
        branch = quote_long_names(named(row.branch))
        is_open = "still open" if row.status == "active" and not row.summary else ""
        goal = ""  # the name of an own branch says its purpose
        if row.written_by != "local" and row.summary:
            goal = one_line(row.summary, _GOAL_CHARS[of_thread])
        elif row.branch in SHARED_BRANCHES:
            goal = goal_in(state.thread, of_thread=of_thread)
        as_what = f" as {state.merged_as}" if state.merged_as else ""
        merged = f"(merged{as_what})" if branch and state.is_merged else ""
        parts = [" ".join(filter(None, [branch, is_open, merged])), goal]
        says = harmless(": ".join(filter(None, parts)), chars=LINE_CHARS)
        says += self.gone(says, row.last_event_at)
        text = entry(row.id, row.last_event_at, says, now=self.now).rstrip()
        return Line(
            row.id, "session", text, 1.0, says, reason="its session", is_users=True, is_one_of_many=True
        )

    def said(self, said: Said, *, chars: int = LINE_CHARS) -> Line:
        """Return the line of a statement, to be placed under the heading of its session."""
        # A line about edits says itself what they removed.
        is_edit = said.label == IN_FLIGHT
        gone = "" if is_edit else self.gone(said.text, said.at)
        told = harmless(said.text, chars=_EDITS_CHARS if is_edit else chars) + gone
        return Line(
            said.row_id, "observation", under(said.row_id, told), 1.0, told, reason=said.label or "stated",
            stands_for=said.stands_for, is_users=said.is_users, is_one_of_many=not said.is_deed,
        )  # fmt: skip

    def stated(self, told: Sequence[Said], state: State) -> Line:
        """Return one line with several statements of a row, in the row's order."""
        order = {(said.row_id, said.says): at for at, said in enumerate(state.statements)}
        in_order = sorted(told, key=lambda said: order[said.row_id, said.says])
        says = joined((said.head, said.says) for said in in_order)
        line = self.said(replace(told[0], says=says, label="", head=""), chars=len(says))
        return replace(line, stated=tuple(mark(said.text) for said in told))

    def state(self, row: Session) -> State:
        """Return the state of a session; one that has none stored yet is built from its observations.

        The summary is added to the statements if Claude wrote it, or if they name only what was done.
        """
        if row.id not in self.states:
            rows = [] if row.state else context_rows.observations(self.project_dir, [row.id], limit=_READ)
            state = (
                State.from_json(row.state) if row.state else standing(self.project_dir, row.id, rows[::-1])
            )
            if row.summary and (row.written_by != "local" or all(said.is_deed for said in state.statements)):
                words = [each.text for each in statements(row.summary)]
                told = [
                    Said(row.id, row.last_event_at, says)
                    for says in words or [one_line(row.summary, LINE_CHARS)]
                ]
                state = replace(state, statements=[*told, *state.statements])
            self.states[row.id] = state
        return self.states[row.id]

    def share(self, at: int, row: Session) -> float:
        """Return the weight of a session's statements and files; `at` is the number of sessions after it."""
        return FADES**at * (_OWN_BRANCH if self.branch and row.branch == self.branch else 1.0)

    def worth(self, said: Said) -> float:
        """Return the weight of a statement (0 to 1), relative to one that still holds and is used."""
        if mark(said.text) in self.known or (self.missed and self._has_failed(said)):
            return 0.0
        gone = self.gone(said.says, said.at)
        share = _EDITED if any(self.edited.get(name, "") > said.at for name in code_names(said.says)) else 1.0
        return self.use(said.row_id) * (share if not gone else _RENAMED if _REPLACED in gone else 0.0)

    def _has_failed(self, said: Said) -> bool:
        """Tell whether a statement's command has missed an operand since, unless it names a replacement."""
        commands = () if _REPLACED in said.says else _CODE.findall(said.says)
        return any(self.missed.get(each, "") > said.at for told in commands for each in called(told))

    def is_renamed(self, path: str) -> bool:
        """Tell whether a file was renamed; one that is only gone may still exist on its branch."""
        return _REPLACED in self.gone(os.path.basename(path), "")

    def use(self, row_id: str) -> float:
        """Return the weight of a row (0 to 1) by how often it was shown and used; unused ones fade."""
        shown, used = self.uses.get(row_id, (0, 0))
        return min(1.0, (2 * used + _SHOWINGS) / shown) if shown > _SHOWINGS else 1.0


def edited(project_dir: str, sessions: Collection[str]) -> dict[str, str]:
    """Return the code names in some sessions' edits, each with the time of its last edit (UTC text)."""
    found: dict[str, str] = {}
    for at, told in retired.edits(project_dir, sessions, limit=_EDITS):
        for name in code_names(told):
            found.setdefault(name, at)
    return found


def goal_in(thread: Sequence[Said], *, of_thread: bool) -> str:
    """Return a session's goal from its thread: a task or a commit; questions are skipped."""
    asked = [said.says for said in thread if said.label in GOALS][::-1]
    tasks = [each for each in asked if each[-1:] not in ASKS]
    commits = [found[1] for said in thread if (found := _COMMIT.match(said.says))]
    told = [*tasks, *commits] if of_thread else [*commits, *tasks]
    return one_line("".join(told[:1]), _GOAL_CHARS[of_thread])


def asked_in(prompt: str) -> str:
    """Return a prompt with pasted blocks quoted, so that only the user's own words stand unquoted."""
    return quote_blocks(prompt, fences=True)


def in_project(path: str, project_dir: str) -> str:
    """Return a path relative to the project, "" if it is outside."""
    inside = relative(path, project_dir)
    return "" if inside.startswith(("/", "..")) else inside
