"""The layers of a session's block: which lines each could have, and what a line of it is worth.

A layer reads the memory and returns its section's lines in the order in which they are read; which of them
go in is `budget`'s business.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from claude_mem_lite.context.budget import Kind, Line
from claude_mem_lite.context.text import SESSION_CHARS, entry, harmless, session_line
from claude_mem_lite.distill.attempts import is_commit, settled
from claude_mem_lite.distill.local.conversation import without_reason
from claude_mem_lite.distill.observation import join, one_line, relative
from claude_mem_lite.distill.quoting import named, quote_blocks, quoted
from claude_mem_lite.search.words import words
from claude_mem_lite.storage import context as storage
from claude_mem_lite.tokens import estimate_tokens
from claude_mem_lite.triage import EDITORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claude_mem_lite.storage.models import FunctionChange, Learning, Observation, Session

SESSIONS = 10
RECENT_SESSIONS, _RECENT_OBSERVATIONS = 5, 60
FUNCTIONS = 30
LEARNINGS = 10
OBSERVATIONS = 10
LEAST_CONFIDENCE = 0.5

LINE_CHARS = 240
_SPOKEN_CHARS = 400
# The newest session's line also says what was left open.
_NEWEST_CHARS = 480
# What is told grows with a line's length to this power.
_DENSITY = 0.75
_READ = 100  # observations looked at, changes likewise
_NAMES = 6  # functions named of a file

# What a line tells by what it is about: what was decided and what failed before what was done.
_WEIGHTS = {"Stop": 1.5, "SubagentStop": 1.2, "UserPromptSubmit": 0.9, "Bash": 0.7}
_EDIT, _OTHER, _COMMIT, _FAILURE, _IMPORT = 1.0, 0.5, 1.3, 1.3, 0.2
_DECISION = re.compile(
    r"\b(because|instead of|so that|decided|decision|never|always|must|no longer|from now on|reversed|why)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\bFailed with |\b[1-9]\d* (?:failed|errors?)\b")
# What the user said; what else is told may be somebody's who wants to be obeyed.
USERS = frozenset({"UserPromptSubmit", "AskUserQuestion"})
_SPOKEN = frozenset({"Stop", "SubagentStop"})
_EDITED = re.compile(r"^(?:Edited|Rewrote|Created) [^\n]*? \([^()\n]*lines?\)\.\s*")
# How a summary begins to list what became of functions, which a short title lists too.
_CHANGES = frozenset({"new", "modified", "removed"})
_FADES = 0.85  # a session's worth of the one after it
# What speaks of code that has changed is worth so much of what it was.
_STALE, _STALE_CHARS = 0.4, 80
# A line shown in this many sessions and never used loses rank.
_SHOWINGS = 3
_SIGNATURE_CHARS = 60
_STRING = re.compile(r"[\"']")  # a default value can be a sentence


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be told of a project: what `sessions`, newest first, did after a time (`since`, "" for all).

    `now` is in Unix seconds; `uses` says in how many sessions an id was shown and in how many used.
    """

    project_dir: str
    now: float
    sessions: Sequence[Session] = ()
    since: str = ""
    uses: Mapping[str, tuple[int, int]] = field(default_factory=dict)

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
        weight *= self._use(row_id)
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

    def learned(self, row: Learning, *, weight: float, reason: str) -> Line:
        """Return the line of a learning; one whose code has changed says so, and is worth less."""
        says = f"{row.category}: {row.content}"
        if row.stale:
            says = f"{row.category}, may be outdated ({one_line(row.stale, _STALE_CHARS)}): {row.content}"
            weight, reason = _STALE * weight, f"{reason}, stale"
        return self.line(row.id, "learning", row.updated_at, says, weight=weight, reason=reason)

    def _use(self, row_id: str) -> float:
        shown, used = self.uses.get(row_id, (0, 0))
        return min(1.0, (2 * used + _SHOWINGS) / shown) if shown > _SHOWINGS else 1.0


def session_index(scope: Scope) -> list[Line]:
    """Return the sessions, newest first; one that is still open is told by what it was asked last."""
    lines: list[Line] = []
    for row in scope.sessions:
        told = row.summary or _open_session(scope, row)
        if not told:
            continue
        chars = SESSION_CHARS if lines else _NEWEST_CHARS
        told = harmless(told, chars=chars)
        at = len(lines)
        lines.append(
            Line(
                id=row.id,
                kind="session",
                text=session_line(row.id, row.last_event_at, told, now=scope.now, chars=chars),
                value=estimate_tokens(told) * _FADES**at * (4 if at == 0 else 1),
                says=told,
                reason=_place(at),
            )
        )
    return lines


def function_map(scope: Scope) -> list[Line]:
    """Return the files whose functions the last sessions changed, the newest change first, one line each."""
    recent = scope.recent
    files: dict[str, list[FunctionChange]] = {}
    places: set[tuple[str, str]] = set()
    for row in storage.changes(scope.project_dir, list(recent), since=scope.since, limit=_READ):
        places.add((row.file_path, row.qualified_name))
        if len(places) > FUNCTIONS:
            break
        if row.observation_id:
            files.setdefault(row.file_path, []).append(row)
    lines = []
    for path, rows in files.items():
        told = changed(rows)
        if not told:
            continue
        newest, rank = rows[0], recent[rows[0].session_id]
        ids = list(dict.fromkeys(row.observation_id for row in rows if row.observation_id))
        lines.append(
            scope.line(
                ids[0],
                "function",
                newest.created_at,
                f"{named(path)}: {told}",
                weight=_FADES**rank * min(2.0, 1 + 0.2 * (len(ids) - 1)),
                reason=f"edits: {len(ids)}, the last in {_place(rank)}",
                stands_for=ids,
            )
        )
    return lines


def learnings(scope: Scope) -> list[Line]:
    """Return what was learned, the surest first."""
    rows = storage.learnings(
        scope.project_dir, least=LEAST_CONFIDENCE, since=scope.since, limit=2 * LEARNINGS
    )
    return [
        scope.learned(row, weight=row.confidence, reason=f"confidence {row.confidence:.2f}") for row in rows
    ]


def observations(scope: Scope) -> list[Line]:
    """Return what the last sessions did and said, newest first."""
    recent = scope.recent
    rows = storage.observations(scope.project_dir, list(recent), since=scope.since, limit=_READ)
    touched = Counter(path for row in rows for path in row.files_touched)
    mended = {row.id for row in settled(rows[::-1])}
    lines = []
    for row in rows:
        weight, why = weigh(row)
        if row.id in mended:
            weight, why = _OTHER, "a failure, settled since"
        again = max((touched[path] for path in row.files_touched), default=1) - 1
        weight *= _FADES ** recent[row.session_id] * (1 + min(0.5, 0.1 * again))
        lines.append(
            scope.told_of(
                row,
                f"{said_by(row)} It has succeeded since." if row.id in mended else said_by(row),
                weight=weight,
                chars=_SPOKEN_CHARS if row.tool_name in _SPOKEN else LINE_CHARS,
                reason=f"{why}, in {_place(recent[row.session_id])}",
            )
        )
    return lines


def weigh(row: Observation) -> tuple[float, str]:
    """Return what an observation is worth by what it tells, with why."""
    if is_commit(row):
        return _COMMIT, "a commit"
    if row.tool_name == "Bash" and _FAILED.search(row.summary):
        return _FAILURE, "a failure"
    if row.title.startswith("Import "):
        return _IMPORT, "an import"
    weight = _WEIGHTS.get(row.tool_name, _EDIT if row.tool_name in EDITORS else _OTHER)
    if _DECISION.search(without_reason(row.summary)[0]):
        return weight * 1.4, f"{row.tool_name} with a reason"
    return weight, row.tool_name


def said_by(row: Observation) -> str:
    """Return what an observation says without what it was asked for, nothing twice."""
    if row.tool_name == "UserPromptSubmit":
        return f"Asked: {asked_in(row.summary)}"
    summary, _ = without_reason(row.summary)
    if row.tool_name == "SubagentStop":
        return f"A sub-agent reported: {summary}"
    if row.tool_name in _SPOKEN or summary.startswith(row.title.rstrip("…”")):
        return summary
    told = _EDITED.sub("", summary)
    if told == summary:
        return f"{row.title}: {summary}"
    if set(words(told)) <= {*words(row.title), *_CHANGES}:
        return row.title
    head, _, said = row.title.partition(": ")
    is_repeated = said.strip("“”").rstrip("…") in told
    return f"{head if is_repeated else row.title}{f'. {told}' if told else ''}"


def asked_in(prompt: str) -> str:
    """Return the user's words, with the blocks of somebody else's in them quoted."""
    return quote_blocks(prompt, fences=True)


def in_project(path: str, project_dir: str) -> str:
    """Return a path relative to the project, "" for one outside of it."""
    inside = relative(path, project_dir)
    return "" if inside.startswith(("/", "..")) else inside


def _place(at: int) -> str:
    return f"session {at + 1} from the newest" if at else "the newest session"


def _open_session(scope: Scope, row: Session) -> str:
    asked = storage.said(scope.project_dir, row.id, "UserPromptSubmit", newest=True)
    return f"Still open. Asked: {asked.summary}" if asked and row.status == "active" else ""


def changed(rows: Sequence[FunctionChange]) -> str:
    """Return what became of a file's functions: "new allocate(total, weights); changed split".

    `rows` are newest first. What was made and changed is new, what was made and removed again is not told.
    """
    last: dict[str, FunctionChange] = {}
    made = {row.qualified_name for row in rows if row.change_type == "new"}
    for row in rows:
        last.setdefault(row.qualified_name, row)
    verbs: dict[str, list[str]] = {"new": [], "changed": [], "gone": []}
    for name, row in sorted(
        last.items(), key=lambda each: each[1].qualified_name.rpartition(".")[2][:1] == "_"
    ):
        is_gone = row.change_type == "deleted"
        if is_gone and name in made:
            continue
        verb = "gone" if is_gone else "new" if name in made else "changed"
        has_room = row.kind == "function" and len(row.signature) <= _SIGNATURE_CHARS
        told = row.signature if verb == "new" and has_room else name
        verbs[verb].append(quoted(told) if _STRING.search(told) else told)
    return "; ".join(f"{verb} {join(names, _NAMES)}" for verb, names in verbs.items() if names)
