"""Hold what may be told of a project's past work; word a line about it, and say what the line is worth."""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from claude_mem_lite.context.budget import Line
from claude_mem_lite.context.text import entry, harmless, under
from claude_mem_lite.distill.findings import called
from claude_mem_lite.distill.retired import code_names
from claude_mem_lite.distill.standing import standing
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.statements import mark, statements
from claude_mem_lite.distill.thread import ASKS, GOALS, IN_FLIGHT, Said, without_repeated_heads
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
_GOAL_CHARS = (80, 200)  # of what a session was for, of the thread's
_COMMIT = re.compile(r"(?:Commit|Amend) (“.+”)")
_EDITS_CHARS = 480
# A session is worth so much of the one after it, one of the own branch so much of another.
FADES, _OWN_BRANCH = 0.9, 4.0
# What was renamed or moved since is worth so much of what was not; what is gone, nothing.
_RENAMED, _REPLACED = 0.3, " → "
# What is told of code that was edited since is worth so much of what is told of other code.
_EDITED, _EDITS = 0.8, 300
_CODE = re.compile(r"`([^`]+)`")
# A session that states less has no thread.
THREAD = 3
# What is told grows with a line's length to this power.
_DENSITY = 0.75
_READ = 100  # observations looked at

# What the user said; what else is told may be somebody's who wants to be obeyed.
USERS = frozenset({"UserPromptSubmit", "AskUserQuestion"})
# What speaks of code that has changed is worth so much of what it was.
_STALE, _STALE_CHARS = 0.4, 80
# A line shown in this many sessions and never used loses rank.
_SHOWINGS = 3


@dataclass(frozen=True, slots=True)
class Past:
    """What may be told of a project: what `sessions`, newest first, did after a time (`since`, "" for all).

    `now` is in Unix seconds; `uses` says in how many sessions an id was shown and in how many used; `room`
    are the tokens that a layer may spend, `told` what the block says before it; `branch` is the session's if
    it has one of its own, else ""; `known` are the marks of statements that the session has been told. `gone`
    says what of a text of a time is not so any more; `failed` are the calls that failed, `missed`
    is what a program did not find in them, and when, `edited` which names of code were last edited when.
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
        """The ids of the last sessions, of more where they did little, with how many came after each."""
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
        """Return a line that says something of a row; a longer one is worth more, but not by as much."""
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
        """Return a line that says something of an observation."""
        return self.line(
            row.id, "observation", row.created_at, says,
            weight=weight, reason=reason, chars=chars, stands_for=stands_for,
            is_users=row.tool_name in USERS,
        )  # fmt: skip

    def learned(self, row: Learning, *, weight: float, reason: str, note: str = "") -> Line:
        """Return the line of a learning, a rule's without age; one whose code has changed is worth less."""
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
        """The first of the sessions that did something; a trivial one does not hide the thread before it."""
        for row in self.sessions[:SESSIONS]:
            state = self.state(row)
            if any(state.files.values()) or len(state.statements) >= THREAD:
                return row
        return next(iter(self.sessions), None)

    def heading(self, row: Session, *, of_thread: bool = False) -> Line:
        """Return the line under which what a session did is told: its branch, and what it was for.

        On a shared branch that is its last commit, else what was asked first; of a thread that, at length.
        """
        state = self.state(row)
        branch = quote_long_names(named(row.branch))
        is_open = "still open" if row.status == "active" and not row.summary else ""
        goal = ""  # a branch of its own says what it is for
        if row.written_by != "local" and row.summary:
            goal = one_line(row.summary, _GOAL_CHARS[of_thread])
        elif row.branch in SHARED_BRANCHES:
            goal = _goal(state.thread, of_thread=of_thread)
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
        """Return a line under the heading of its session."""
        # What an edit removed is told by the line itself.
        is_edit = said.label == IN_FLIGHT
        gone = "" if is_edit else self.gone(said.text, said.at)
        told = harmless(said.text, chars=_EDITS_CHARS if is_edit else chars) + gone
        return Line(
            said.row_id, "observation", under(said.row_id, told), 1.0, told, reason=said.label or "stated",
            stands_for=said.stands_for, is_users=said.is_users, is_one_of_many=not said.is_deed,
        )  # fmt: skip

    def stated(self, told: Sequence[Said], state: State) -> Line:
        """Return a line with some of what a row states, in its order."""
        order = {(said.row_id, said.says): at for at, said in enumerate(state.statements)}
        in_order = sorted(told, key=lambda said: order[said.row_id, said.says])
        texts = without_repeated_heads((said.head, said.says) for said in in_order)
        joined = "; ".join([*(text.rstrip(".") for text in texts[:-1]), *texts[-1:]])
        line = self.said(replace(told[0], says=joined, label="", head=""), chars=len(joined))
        return replace(line, stated=tuple(mark(said.text) for said in told))

    def state(self, row: Session) -> State:
        """Return where a session stands; of one that is not told yet by what it did so far.

        What Claude has told of it is stated, too, and of one that has stated nothing its summary.
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
        """Return what the words and files of a session are worth that so many came after."""
        return FADES**at * (_OWN_BRANCH if self.branch and row.branch == self.branch else 1.0)

    def worth(self, said: Said) -> float:
        """Return what a statement is worth beside one that still holds and is used (0 to 1)."""
        if mark(said.text) in self.known or (self.missed and self._has_failed(said)):
            return 0.0
        gone = self.gone(said.says, said.at)
        share = _EDITED if any(self.edited.get(name, "") > said.at for name in code_names(said.says)) else 1.0
        return self.use(said.row_id) * (share if not gone else _RENAMED if _REPLACED in gone else 0.0)

    def _has_failed(self, said: Said) -> bool:
        """Tell whether a command in a statement has missed something since, and no arrow tells what came."""
        commands = () if _REPLACED in said.says else _CODE.findall(said.says)
        return any(self.missed.get(each, "") > said.at for told in commands for each in called(told))

    def is_renamed(self, path: str) -> bool:
        """Tell whether a file has another name now; one that is only gone may be there on its branch."""
        return _REPLACED in self.gone(os.path.basename(path), "")

    def use(self, row_id: str) -> float:
        """Return what a line is still worth that was shown often and never used (0 to 1)."""
        shown, used = self.uses.get(row_id, (0, 0))
        return min(1.0, (2 * used + _SHOWINGS) / shown) if shown > _SHOWINGS else 1.0


def edited(project_dir: str, sessions: Collection[str]) -> dict[str, str]:
    """Return the names of code in what some sessions edited, each with the last time (UTC text)."""
    found: dict[str, str] = {}
    for at, told in retired.edits(project_dir, sessions, limit=_EDITS):
        for name in code_names(told):
            found.setdefault(name, at)
    return found


def _goal(thread: Sequence[Said], *, of_thread: bool) -> str:
    """Return what a session was for, by the lines of its thread: a question names no work."""
    asked = [said.says for said in thread if said.label in GOALS][::-1]
    tasks = [each for each in asked if each[-1:] not in ASKS]
    commits = [found[1] for said in thread if (found := _COMMIT.match(said.says))]
    told = [*tasks, *commits] if of_thread else [*commits, *tasks]
    return one_line("".join(told[:1]), _GOAL_CHARS[of_thread])


def asked_in(prompt: str) -> str:
    """Return the user's words, with the blocks of somebody else's in them quoted."""
    return quote_blocks(prompt, fences=True)


def in_project(path: str, project_dir: str) -> str:
    """Return a path relative to the project, "" for one outside of it."""
    inside = relative(path, project_dir)
    return "" if inside.startswith(("/", "..")) else inside
