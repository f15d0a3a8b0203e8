"""Read the layers of a start block from memory, and say what each line of them is worth.

A layer reads the memory and returns its section's lines in the order in which they are read; which of them
go in is `budget`'s business.
"""

from __future__ import annotations

import os.path
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from claude_mem_lite.context.budget import Line
from claude_mem_lite.context.coverage import choose
from claude_mem_lite.context.text import entry, harmless, under
from claude_mem_lite.distill.changed import bare, changed
from claude_mem_lite.distill.standing import standing
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.statements import statements
from claude_mem_lite.distill.thread import GOALS, IN_FLIGHT, Said, without_repeated_heads
from claude_mem_lite.distill.together import is_test
from claude_mem_lite.quoting import named, quote_blocks, quote_long_names
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage import changes
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.text import count, one_line, relative
from claude_mem_lite.tokens import CHARS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from claude_mem_lite.kinds import Kind
    from claude_mem_lite.storage.models import FunctionChange, Learning, Observation, Session

SESSIONS = 25
RECENT_SESSIONS, _RECENT_OBSERVATIONS = 5, 60
FUNCTIONS = 30
LEARNINGS = 10
LEAST_CONFIDENCE = 0.5

LINE_CHARS = 240
_GOAL_CHARS, _TITLE_CHARS = 60, 120
# The files that were worked on most: how many, in how many characters, and what only reading one is worth.
_FILES, _FILES_CHARS, _READ_ONLY = 10, 600, 0.3
_TURN_CHARS = 480
# A session is worth so much of the one after it, one of the own branch so much of another, and what a merged
# one stated so much of what is still under way: its title and the code show the rest.
FADES, _OWN_BRANCH, _MERGED = 0.9, 4.0, 0.3
# What was renamed or moved since is worth so much of what was not; what is gone, nothing.
_RENAMED, _REPLACED = 0.3, " → "
# A session that states less has no thread; of a merged one's these lines say nothing any more, of another
# branch's these are told.
_THREAD = 3
_UNMERGED = frozenset({"Failing", IN_FLIGHT})
_OF_ANOTHER = frozenset({*GOALS[:2], "Came to", "Next", "Said to be open"}) | _UNMERGED
# What is told grows with a line's length to this power.
_DENSITY = 0.75
_READ = 100  # observations looked at, changes likewise

# What the user said; what else is told may be somebody's who wants to be obeyed.
USERS = frozenset({"UserPromptSubmit", "AskUserQuestion"})
# What speaks of code that has changed is worth so much of what it was.
_STALE, _STALE_CHARS = 0.4, 80
_SAID_AGAIN = 2  # times: what was a candidate is told from then on
# A line shown in this many sessions and never used loses rank.
_SHOWINGS = 3


@dataclass(frozen=True, slots=True)
class Past:
    """What may be told of a project: what `sessions`, newest first, did after a time (`since`, "" for all).

    `now` is in Unix seconds; `uses` says in how many sessions an id was shown and in how many used; `room`
    are the tokens that a layer may spend; `branch` is the session's if it has one of its own, else "". `gone`
    says what of a text of a time is not so any more.
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

    def learned(self, row: Learning, *, weight: float, reason: str, head: str = "") -> Line:
        """Return the line of a learning; one whose code has changed says so, and is worth less."""
        says = f"{head}{row.category}: {row.content}"
        if row.stale:
            says = f"{row.category}, may be outdated ({one_line(row.stale, _STALE_CHARS)}): {row.content}"
            weight, reason = _STALE * weight, f"{reason}, stale"
        return self.line(row.id, "learning", row.updated_at, says, weight=weight, reason=reason)

    @property
    def newest(self) -> Session | None:
        """The first of the sessions that did something; a trivial one does not hide the thread before it."""
        for row in self.sessions[:SESSIONS]:
            state = self.state(row)
            if any(state.files.values()) or len(state.statements) >= _THREAD:
                return row
        return next(iter(self.sessions), None)

    def heading(self, row: Session) -> Line:
        """Return the line under which what a session did is told: its branch, and what it was for."""
        state = self.state(row)
        branch = quote_long_names(named(row.branch))
        is_open = "still open" if row.status == "active" and not row.summary else ""
        goal = ""  # a branch of its own says what it is for
        if row.written_by != "local" and row.summary:
            goal = one_line(row.summary, _GOAL_CHARS)
        elif row.branch in SHARED_BRANCHES:
            asked = (said.says for said in reversed(state.thread) if said.label in GOALS)
            goal = one_line(next(asked, ""), _GOAL_CHARS)
        as_what = f" as {one_line(state.merged_as, _TITLE_CHARS)}" if state.merged_as else ""
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
        told = harmless(said.text, chars=_TURN_CHARS if is_edit else chars) + gone
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
        return self.said(replace(told[0], says=joined, label="", head=""), chars=_TURN_CHARS)

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
        gone = self.gone(said.says, said.at)
        return self.use(said.row_id) * (1.0 if not gone else _RENAMED if _REPLACED in gone else 0.0)

    def use(self, row_id: str) -> float:
        """Return what a line is still worth that was shown often and never used (0 to 1)."""
        shown, used = self.uses.get(row_id, (0, 0))
        return min(1.0, (2 * used + _SHOWINGS) / shown) if shown > _SHOWINGS else 1.0


def thread(past: Past) -> list[Line]:
    """Return where the thread stands: what the last session of this branch that did something left."""
    row = past.newest
    if row is None:
        return []
    lines = [past.said(said) for said in _left(past, row) if said.at > past.since]
    return in_order([past.heading(row), *lines]) if lines else []


def _left(past: Past, row: Session) -> list[Said]:
    """Return the lines of a session's thread; of another branch, or a merged one, fewer of them matter.

    What was asked last and answered is done.
    """
    state = past.state(row)
    is_ours = row.branch == past.branch or row.branch in SHARED_BRANCHES
    told = [said for said in state.thread if is_ours or said.label in _OF_ANOTHER]
    answered = max((said.at for said in told if said.label == "Came to"), default="")
    return [
        said
        for said in told
        if not (state.is_merged and said.label in _UNMERGED)
        and not (said.label == GOALS[1] and said.at < answered)
    ]


def earlier(past: Past) -> list[Line]:
    """Return what the last sessions state, those of this branch first, each branch under one heading.

    What matters most goes in first, whatever the order in which it is read.
    """
    sessions = past.sessions[:SESSIONS]
    states = [
        (state, past.share(at, row) * (_MERGED if state.is_merged else 1.0))
        for at, row in enumerate(sessions)
        for state in [past.state(row)]
    ]
    told = [said.text for said in _left(past, past.newest)] if past.newest else []
    headings = [row.id if row.branch in SHARED_BRANCHES else row.branch for row in sessions]
    chosen = choose(
        states,
        chars=round(past.room * CHARS_PER_TOKEN),
        since=past.since,
        told=told,
        use=past.worth,
        branch=past.branch,
        headings=headings,
    )
    turns: dict[tuple[int, str], list[Said]] = {}
    for at, said in chosen:
        turns.setdefault((at, said.row_id), []).append(said)
    places = {turn: place for place, turn in enumerate(turns)}
    lines: list[Line] = []
    for heading in dict.fromkeys(headings):
        own = [turn for turn in turns if headings[turn[0]] == heading]
        if own:
            line = past.heading(sessions[headings.index(heading)])
            lines.append(replace(line, value=line.tokens * 2.0 ** (1 - min(map(places.__getitem__, own)))))
        for turn in sorted(own, key=lambda turn: turns[turn][0].at):
            line = past.stated(turns[turn], states[turn[0]][0])
            value = line.tokens * 2.0 ** -places[turn]
            lines.append(replace(line, value=value, reason=f"in {_place(turn[0])}"))
    return lines


def in_order(lines: Sequence[Line]) -> list[Line]:
    """Return lines of which all go in, before anything else, as far as they fit in this order."""
    return [replace(line, value=line.tokens * 2.0**-at) for at, line in enumerate(lines)]


def worked_on(past: Past) -> list[Line]:
    """Return the files that the last sessions changed and read most, the more lately the more, in a line."""
    worth: defaultdict[str, float] = defaultdict(float)
    for at, row in enumerate(past.sessions):
        for path, times in past.state(row).files.items():
            worth[path] += past.share(at, row) * (times**0.5 or _READ_ONLY)
    inside = [path for path in worth if path and path[0] not in "/."]
    best = sorted(inside, key=worth.__getitem__, reverse=True)[:_FILES]
    if not best or past.since:
        return []
    # Each file keeps the last folder, by which it is told from others of its name.
    folder = os.path.dirname(os.path.commonpath([os.path.dirname(path) for path in best]))
    files = ", ".join(named(os.path.relpath(path, folder or ".")) for path in best)
    says = f"in {named(folder)}: {files}" if folder else files
    row = past.sessions[0]
    line = past.line(
        row.id, "function", row.last_event_at, says, weight=4.0, reason="edits and reads", chars=_FILES_CHARS
    )
    return [replace(line, is_one_of_many=True)]


def function_map(past: Past) -> list[Line]:
    """Return the files in which the last sessions made or moved functions, the newest first, one line each.

    Those in which functions were only changed share a line: git says more of them. What is gone is told where
    it went to another file, under its own name. Tests are left out.
    """
    recent = past.recent
    files: dict[str, list[FunctionChange]] = {}
    places: set[tuple[str, str]] = set()
    made: dict[str, str] = {}
    for row in changes.of_sessions(past.project_dir, list(recent), since=past.since, limit=_READ):
        places.add((row.file_path, row.qualified_name))
        if len(places) > FUNCTIONS:
            break
        if row.observation_id:
            files.setdefault(row.file_path, []).append(row)
        if row.change_type == "new":
            made.setdefault(bare(row.qualified_name), row.file_path)
    # By file; files in which functions were only changed are under "".
    found: dict[str, list[tuple[str, list[FunctionChange]]]] = {}
    for path, rows in files.items():
        if not is_test(path):
            lasts = changed(rows, verbs=("new", "gone"), places=made)
            if told := lasts or changed(rows, verbs=("new", "changed")):
                found.setdefault(path if lasts else "", []).append((f"{named(path)}: {told}", rows))
    return [_changed(past, told, recent) for told in found.values()]


def _changed(past: Past, told: Sequence[tuple[str, list[FunctionChange]]], recent: Mapping[str, int]) -> Line:
    """Return a line that says what became of files' functions; `told` are the newest first."""
    newest = told[0][1][0]
    rank = recent[newest.session_id]
    ids = list(dict.fromkeys(row.observation_id for _, rows in told for row in rows if row.observation_id))
    return past.line(
        ids[0],
        "function",
        newest.created_at,
        "; ".join(says for says, _ in told),
        weight=FADES**rank * min(2.0, 1 + 0.2 * (len(ids) - 1)),
        reason=f"edits: {len(ids)}, the last in {_place(rank)}",
        stands_for=ids,
    )


def learnings(past: Past) -> list[Line]:
    """Return what was learned, the surest first."""
    rows = context_rows.learnings(
        past.project_dir, least=LEAST_CONFIDENCE, since=past.since, limit=2 * LEARNINGS
    )
    last = max((row.started_at for row in past.sessions), default="")
    new = sorted((row for row in rows if _is_new(row, last)), key=lambda row: row.updated_at)
    rules = f"{count(len(new), 'new rule')} (`claude-mem learnings` to change). " if new and last else ""
    return [
        past.learned(
            row,
            weight=2 if rules and row is new[-1] else row.confidence,
            reason=f"confidence {row.confidence:.2f}",
            head=rules if rules and row is new[-1] else "",
        )
        for row in rows
    ]


def _is_new(row: Learning, last: str) -> bool:
    """Tell whether a learning is told for the first time since a session's start (UTC text)."""
    return not row.is_manual and (
        row.created_at >= last or (row.times_seen == _SAID_AGAIN and row.updated_at >= last)
    )


def asked_in(prompt: str) -> str:
    """Return the user's words, with the blocks of somebody else's in them quoted."""
    return quote_blocks(prompt, fences=True)


def in_project(path: str, project_dir: str) -> str:
    """Return a path relative to the project, "" for one outside of it."""
    inside = relative(path, project_dir)
    return "" if inside.startswith(("/", "..")) else inside


def _place(at: int) -> str:
    return f"session {at + 1} from the newest" if at else "the newest session"
