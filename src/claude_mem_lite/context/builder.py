"""Build the block for a session's start: choose its layers by how the session began."""

import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from claude_mem_lite import config, repository, settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.context import FRESH, SOURCES, failure, layers, shared, text, together
from claude_mem_lite.context.budget import LeftOut, Line, Said, Section, fill
from claude_mem_lite.context.past import SESSIONS, Past, edited
from claude_mem_lite.context.shown import shown_to
from claude_mem_lite.context.superseded import Superseded
from claude_mem_lite.distill import auto_memory
from claude_mem_lite.distill.sameness import names_differ, relation, terms
from claude_mem_lite.distill.standing import standing
from claude_mem_lite.kinds import CATEGORIES
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage import DatabaseError, queries
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.text import CHARS_PER_TOKEN, estimate_tokens, unique

# A layer that takes longer is left out: the hook waits half a second for all layers together.
LAYER_S = 0.1
# /clear ends one session and starts the next at once.
_CLEARED_S = 60.0
_SESSIONS_READ = 30
_READ = 300
_STATE_LINES, _EARLIER_LINES = 20, 100
# Claude Code rounds the seconds since the last answer, and the Stop hook runs a moment after it.
_ROUNDED_S = 3.0
FUNCTION_MAP = "function_map"
# Tokens of the fence of a short block.
SHORT_FENCE_TOKENS = 42
_MARKS = re.compile(r"^\s*(?:[-*+]|\d+[.)]|#{1,6})\s+")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_LONGEST_NOTE = 600


@dataclass(frozen=True, slots=True)
class Budget:
    """Token limits of the whole block and of each layer; `reserve` is for the fence.

    The last layer, earlier work, gets what the others leave.
    """

    total: int = 2_000
    reserve: int = 160
    working_state: int = 600
    files: int = 150
    thread: int = 400
    learnings: int = 600
    function_map: int = 150
    together: int = 120
    failures: int = 250
    team: int = 150
    earlier: int = 2_000


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The text for the model and its parts; `skipped` are layers that could not be read in time.

    `branch` is the branch whose state of work the block was built for, None for none.
    """

    text: str
    tokens: int = 0
    layers: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    build_ms: float = 0.0
    sections: tuple[Section, ...] = ()
    branch: str | None = None

    @property
    def ids(self) -> list[str]:
        """The ids of the lines, each once."""
        return list(dict.fromkeys(line.id for section in self.sections for line in section.lines))

    @property
    def also(self) -> list[str]:
        """Further ids of rows that the lines cover."""
        lines = [line for section in self.sections for line in section.lines]
        return sorted({row_id for line in lines for row_id in line.stands_for} - set(self.ids))

    @property
    def named(self) -> list[str]:
        """The ids of changes that a line only names, without the reason or the callers affected."""
        names: set[str] = set()
        told: set[str] = set()
        for section in self.sections:
            for line in section.lines:
                (names if section.name == FUNCTION_MAP else told).update((line.id, *line.stands_for))
        return sorted(names - told)

    @property
    def parts(self) -> list[str]:
        """The ids of rows that are shown only in part."""
        lines = [line for section in self.sections for line in section.lines]
        return sorted({line.id for line in lines if line.is_one_of_many} - {*self.named, *self.also})

    @property
    def stated(self) -> list[str]:
        """The marks of the statements in the lines."""
        lines = (line for section in self.sections for line in section.lines)
        return sorted({mark for line in lines for mark in line.stated})

    def as_json(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the fields for a JSON answer; `explain` adds each line, shown or left out, with a reason."""
        found: dict[str, Any] = {
            "context": self.text,
            "tokens": self.tokens,
            "layers": list(self.layers),
            "skipped": list(self.skipped),
            "build_ms": self.build_ms,
        }
        if explain:
            found["lines"] = [_told(section, line) for section in self.sections for line in section.lines]
            found["left_out"] = [
                _told(section, out.line) | {"why": out.why}
                for section in self.sections
                for out in section.left_out
            ]
        return found


@dataclass(frozen=True, slots=True)
class _Layer:
    """A section to build: `name` is also its field in `Budget`, `most` its limit of lines."""

    name: str
    title: str
    lines: Callable[[Past], list[Line]]
    most: int


_LAYERS = (
    _Layer("files", "Files worked on most lately", layers.worked_on, 1),
    _Layer("thread", "Where the work stands", layers.thread, _STATE_LINES),
    _Layer("learnings", "Learned", layers.learnings, layers.LEARNINGS),
    _Layer(FUNCTION_MAP, "Functions made, and what for", layers.function_map, layers.FUNCTIONS),
    _Layer("together", "What is changed together", together.changed_with, together.LINES),
    _Layer("failures", "Fails here, and what works", failure.recurring, failure.LINES),
    _Layer("team", shared.TITLE, shared.shared, shared.LINES),
    _Layer("earlier", "Earlier work, by branch", layers.earlier, _EARLIER_LINES),
)


def build(  # noqa: PLR0913  (all of them say what started)
    project_dir: str,
    *,
    session_id: str = "",
    source: str = "startup",
    idle_s: float | None = None,
    shown: Collection[str] | None = None,
    budget: Budget | None = None,
    now: float | None = None,
    branch: str = "",
) -> ContextBlock:
    """Return the block for the start of a session; its text is empty if there is nothing to show.

    `source` is "startup", "resume", "clear", "compact" or "fork", as given by Claude Code. `idle_s` is how
    many seconds ago a forked conversation had its last answer. `shown` are the ids already in the session's
    context (default: as recorded), which are left out. `branch` is the session's branch (default: from the
    queue, else from the project's folder).
    """
    started = time.monotonic()
    now = time.time() if now is None else now
    if not settings.load().start:
        return ContextBlock("", build_ms=_ms_since(started))
    budget = budget or Budget()
    if shown is None:
        shown = () if source in FRESH else shown_to(session_id).ids
    try:
        past = _scope(project_dir, session_id, source, idle_s, now)
        branch = branch or context_rows.branch_of(session_id) or repository.place(project_dir)[2]
        past = failure.with_failed(replace(past, gone=Superseded(project_dir, branch=branch)))
        past = replace(past, edited=edited(project_dir, [row.id for row in past.sessions[:SESSIONS]]))
    except DatabaseError:
        return ContextBlock("", skipped=("all",), build_ms=_ms_since(started))
    if branch not in SHARED_BRANCHES:
        ours_first = sorted(past.sessions, key=lambda row: row.branch != branch)
        past = replace(past, sessions=ours_first, branch=branch)
    # Sessions that have gone on since are shown again.
    went_on = {row.id for row in past.sessions} if past.since else ()
    said = Said(set(shown).difference(went_on))
    sections, skipped = [], []
    left = budget.total - budget.reserve
    for layer in (*_state(session_id, source), *_LAYERS):
        section = Section(layer.name, _title(layer, past))
        sections.append(section)
        allowed = min(left, getattr(budget, layer.name))
        told = [line.says for each in sections for line in each.lines]
        try:
            with context_rows.time_limit(LAYER_S):
                lines = _without_told(layer.lines(replace(past, room=allowed, told=told)), project_dir)
        except DatabaseError:
            skipped.append(layer.name)
            continue
        fill(section, lines, budget_tokens=allowed, said=said, most=layer.most)
        left -= section.tokens
    block = assemble(
        sections, project_dir=project_dir, skipped=skipped, most_tokens=budget.total, started=started
    )
    return replace(block, branch=branch)


def assemble(
    sections: list[Section],
    *,
    most_tokens: int,
    started: float,
    skipped: Collection[str] = (),
    project_dir: str = "",
) -> ContextBlock:
    """Fence the sections, dropping the last lines until the block is within its tokens and UTF-16 units.

    `started` is when the work began, by `time.monotonic`. Without `project_dir` the fence is short: it omits
    what the first block of a session has explained.
    """
    while True:
        filled = [section for section in sections if section.lines]
        titled = (text.titled(section.title, (line.text for line in section.lines)) for section in filled)
        block = text.fence(
            titled, socket_path=config.socket_path() if project_dir else "", project_dir=project_dir
        )
        if (
            len(block) <= most_tokens * CHARS_PER_TOKEN and text.utf16_units(block) <= text.MAX_BLOCK_UNITS
        ) or not filled:
            break
        filled[-1].left_out.append(LeftOut(filled[-1].lines.pop(), "the block is full"))
    return ContextBlock(
        text=block,
        tokens=estimate_tokens(block) if block else 0,
        layers=tuple(section.name for section in filled),
        skipped=tuple(skipped),
        build_ms=_ms_since(started),
        sections=tuple(sections),
    )


def _scope(project_dir: str, session_id: str, source: str, idle_s: float | None, now: float) -> Past:
    """Return the past to show: what is new after a resume or a fork, else all but the session's own."""
    since = ""
    if source == "resume":
        at = [
            block.created_at
            for block in context_rows.shown_in(session_id)
            if block.data.get("via") in SOURCES
        ]
        session = queries.session(session_id)
        since = at[-1] if at else session.started_at if session else ""
    elif source == "fork":
        # A fork has its parent's blocks in context. It lacks what others did after the parent's last answer.
        forked_at = now - (idle_s or 0.0)
        since = inbox.utc_text(forked_at)
        session_id = _answered_at(project_dir, forked_at) or session_id
    rows = context_rows.sessions(project_dir, without=session_id, limit=_SESSIONS_READ)
    uses = context_rows.uses([row.id for row in rows])
    new = [row for row in rows if row.last_event_at > since]
    return Past(project_dir, now, new, since, uses)


def _answered_at(project_dir: str, at: float) -> str:
    """Return the session with an answer nearest to a time in Unix seconds, "" if none is within 3 s."""
    span = inbox.utc_text(at - _ROUNDED_S), inbox.utc_text(at + _ROUNDED_S)
    answers = context_rows.answers_between(project_dir, *span)
    return (
        min(answers, key=lambda row: abs(inbox.unix_time(row.created_at) - at)).session_id if answers else ""
    )


def _state(session_id: str, source: str) -> list[_Layer]:
    """Return the layer with the working state of a compacted or cleared session; none for other sources."""

    def cleared(past: Past) -> list[Line]:
        since = inbox.utc_text(past.now - _CLEARED_S)
        whose = context_rows.cleared_session(past.project_dir, since=since)
        return _working_state(past, whose) if whose else []

    if source == context_rows.COMPACT:
        title = "This session, before it was compacted"
        return [_Layer("working_state", title, lambda past: _working_state(past, session_id), _STATE_LINES)]
    if source == "clear":
        return [_Layer("working_state", "The session before /clear", cleared, _STATE_LINES)]
    return []


def _title(layer: _Layer, past: Past) -> str:
    """Return a layer's title; the thread's says so when it is about another branch than the session's."""
    is_others = past.branch and past.newest and past.newest.branch != past.branch
    return (
        f"{layer.title}, on other branches than this" if layer.name == "thread" and is_others else layer.title
    )


def _working_state(past: Past, session_id: str) -> list[Line]:
    rows = context_rows.observations(past.project_dir, [session_id], limit=_READ)[::-1]
    state = standing(past.project_dir, session_id, rows)
    return layers.in_order([past.said(said) for said in state.thread])


def _told(section: Section, line: Line) -> dict[str, Any]:
    return {
        "layer": section.name,
        "id": line.id,
        "kind": line.kind,
        "tokens": line.tokens,
        "text": line.text,
        "says": line.says,
        "reason": line.reason,
    }


def _ms_since(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 1)


def _without_told(lines: Sequence[Line], project_dir: str) -> list[Line]:
    """Return the lines without the learnings that are clearly in the client's own index of notes, too."""
    if all(line.kind != "learning" for line in lines):
        return list(lines)
    told = [text for line in auto_memory.index_lines(project_dir) for text in _texts(line)]
    return [line for line in lines if line.kind != "learning" or not _is_told(line.says, told)]


def _is_told(says: str, told: Sequence[str]) -> bool:
    """Tell whether one text makes the same claim as a learning and has all of its terms."""
    category, _, content = says.partition(": ")
    content = content if category.partition(",")[0] in CATEGORIES else says
    wanted = set(terms(content))
    return bool(wanted) and any(
        wanted <= set(terms(text)) and relation(text, content) == "same" and not names_differ(text, content)
        for text in told
    )


def _texts(line: str) -> tuple[str, ...]:
    """Return the texts of an index line: all of it without its list marks, and the part after its link."""
    text = _MARKS.sub("", line[:_LONGEST_NOTE]).strip()
    behind = re.split(r"\s[–—-]\s|:\s", text, maxsplit=1)[-1]
    return unique((_LINK.sub(r"\1", text), behind if _LINK.search(text) else ""))
