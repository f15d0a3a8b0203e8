"""Import transcripts into the memory like events from hooks, in the calling process and without tasks.

An import can be repeated safely: an event always gets the same id, the position reached in each file is
noted once its events are processed, and what an interrupted import leaves waits in the queue for the next.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.clients import CLAUDE_CODE, CODEX, GEMINI
from claude_mem_lite.distill.looks import look_at
from claude_mem_lite.distill.record import record_import, summarize_session
from claude_mem_lite.importers import store
from claude_mem_lite.importers.events import Event, call_key, digest
from claude_mem_lite.importers.sessions import (
    Session,
    Telling,
    find,
    find_chats,
    find_rollouts,
    looked_at,
)
from claude_mem_lite.redaction.events import scrub_as_set
from claude_mem_lite.storage import facts, forgotten, projects, rewrites
from claude_mem_lite.storage.models import PendingEvent

_FINDERS = {CLAUDE_CODE: find, CODEX: find_rollouts, GEMINI: find_chats}
# Most events and characters in one transaction, so that neither hooks nor the consumer wait long.
_EVENTS_AT_ONCE, _CHARS_AT_ONCE = 100, 4_000_000
_OF_A_SESSION = frozenset({"SessionStart", "SessionEnd", "PreCompact", "PostCompact"})


@dataclass(slots=True)
class Plan:
    """Plan of an import: sessions, oldest first; how many have nothing new; counts of what is left out."""

    sessions: list[Session] = field(default_factory=list)
    known: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Taken:
    """Result of an import: sessions with something new, their projects, counts of new calls and events."""

    sessions: list[str] = field(default_factory=list)
    projects: set[str] = field(default_factory=set)
    tool_calls: int = 0
    events: int = 0


def plan(
    folder: str,
    *,
    client: str = CLAUDE_CODE,
    project_dir: str | None = None,
    since: str = "",
    has_memory: bool = True,
) -> Plan:
    """Return the plan for one project or for all (None), with sessions that began at or after `since`.

    `folder` holds the transcripts of `client`. The databases must be open if `has_memory`.
    """
    found, looked = Plan(), []
    for session in _FINDERS[client](folder, found.left_out):
        noted = _noted(session) if has_memory else {}
        if noted.get("ended") and noted["sizes"] == _sizes(session):
            is_wanted = project_dir in {None, noted["project"]} and noted["began"] >= since
            found.known += is_wanted
            continue
        seen = looked_at(session)
        if seen is None:
            found.left_out["empty session"] += 1
            continue
        if config.is_off(seen.project_dir, seen.work_tree):
            found.left_out["session of a project that is off"] += 1
            continue
        if seen.began_at >= since:
            looked.append(seen)
    met: dict[str, str] = {}
    for seen in sorted(looked, key=by_time):
        project = projects.foresee(seen.project_dir, seen.work_tree, met, has_memory=has_memory)
        found.sessions.append(in_project(seen, project))
    if project_dir is not None:
        project = projects.foresee(project_dir, "", met, has_memory=has_memory)
        found.sessions = [each for each in found.sessions if each.project_dir == project]
    return found


def by_time(session: Session) -> tuple[str, int, str]:
    """Return the key that sorts sessions into the order of their import."""
    return session.began_at, session.size_bytes, session.path


def in_project(session: Session, project: str) -> Session:
    """Return a session of a project; a folder that is not the project's own becomes its work tree."""
    folder = session.work_tree or session.project_dir
    return replace(session, project_dir=project, work_tree="" if folder == project else folder)


class Import:
    """A running import; it calls `learn` and `make_room` after each session that brought something."""

    def __init__(
        self, found: Plan, *, now: float, learn: Callable[[str], Any], make_room: Callable[[], Any]
    ) -> None:
        self.taken = Taken()
        self._plan, self._now, self._learn, self._make_room = found, now, learn, make_room
        self._calls = {call_key(*each) for each in store.tool_use_ids()}

    def take(self, session: Session) -> None:
        """Import what is new in a session by local rules, without asking Claude; search finds it then."""
        telling = Telling(session, self._plan.left_out, self._now)
        by_hooks = store.captured(session.id)
        session = in_project(session, _seen_project(session))
        self._store(self.news(telling, by_hooks), session)
        # If an import stopped after its last event, the session still lacks its summary and learnings.
        has_news = not _noted(session) and store.is_imported(session.id)
        for events in store.events_to_import(session.id):
            record_import(events)
            has_news = True
        if has_news:
            with facts.transaction():
                summarize_session(session.id)
                if not by_hooks:
                    rewrites.leave_to_user(session.id)
            self._learn(session.id)
            self.taken.sessions.append(session.id)
            self.taken.projects.add(session.project_dir)
            self._make_room()
        if telling.read_to:
            _note(session, telling)

    def finish(self) -> None:
        """Check once per project what became of the names and branches that imported sessions mention."""
        for project_dir in self.taken.projects:
            look_at(project_dir)

    def news(self, telling: Telling, by_hooks: Sequence[PendingEvent]) -> Iterator[Event]:
        """Yield the session's events that neither a hook nor an earlier import has stored."""
        session = telling.session
        noted, gone = _noted(session), forgotten.marks(session.id)
        # Gemini's hooks send no ids of calls, so its calls cannot be matched.
        is_captured = bool(by_hooks or gone) and session.client == GEMINI
        lacks_raw = forgotten.WITHOUT_RAW in gone or store.is_remembered_without_raw(session.id)
        if is_captured or (not noted and lacks_raw):
            self._plan.left_out["already known session"] += 1
            return
        heard = Counter(forgotten.heard(json.loads(row.raw_output)) for row in by_hooks if not row.tool_name)
        first: Event | None = None
        for event in telling.events(after=noted.get("read_to", {})):
            if not self._is_new(event, session.id, heard, gone):
                continue
            if (by_hooks or gone) and event.payload["hook_event_name"] in _OF_A_SESSION:
                first = first or event  # the hooks stored it; repeated only to separate theirs from ours
                continue
            if first:
                yield first
                first = None
            self.taken.tool_calls += "tool_use_id" in event.payload
            yield event

    def _is_new(
        self, event: Event, session_id: str, heard: Counter[tuple[str, str]], gone: Counter[str]
    ) -> bool:
        """Tell whether an event is neither stored nor forgotten; count it off `heard` and `gone` if it is."""
        payload, call_id = event.payload, event.payload.get("tool_use_id")
        if call_id is not None:
            key = call_key(session_id, call_id)
            is_new = key not in self._calls
            self._calls.add(key)
        elif heard or gone:
            payload = json.loads(scrub_as_set(_dumps(payload)))
            said = forgotten.heard(payload)
            heard[said] -= 1
            is_new = heard[said] < 0
        else:
            return True
        mark = forgotten.mark(session_id, payload)
        if is_new and gone[mark] > 0 and payload["hook_event_name"] not in _OF_A_SESSION:
            gone[mark] -= 1
            self._plan.left_out["forgotten event"] += 1
            return False
        return is_new

    def _store(self, events: Iterator[Event], session: Session) -> None:
        rows: list[tuple[str, str, tuple[str, str, str], str]] = []
        for event in events:
            try:
                text = scrub_as_set(_dumps(event.payload))
            except ValueError:
                self._plan.left_out["unreadable event"] += 1
                continue
            place = (session.project_dir, session.work_tree, event.branch or session.branch)
            rows.append((event.id, event.at, place, text))
            self.taken.events += 1
            if len(rows) == _EVENTS_AT_ONCE or sum(len(row[-1]) for row in rows) > _CHARS_AT_ONCE:
                inbox.append_import(rows)
                rows = []
        inbox.append_import(rows)


def _seen_project(session: Session) -> str:
    """Record the folder that a session worked in and return its project."""
    folder, tree, _ = config.place(session.work_tree or session.project_dir)
    return projects.see(folder, "" if tree == folder else tree)


def _noted(session: Session) -> dict[str, Any]:
    return facts.read(_state(session))


def _note(session: Session, telling: Telling) -> None:
    """Note how far a session has been imported, so that no later import restores what was forgotten."""
    value = {
        "sizes": _sizes(session),
        "read_to": telling.read_to,
        "ended": telling.has_ended,
        "project": session.project_dir,
        "began": session.began_at,
    }
    facts.write(_state(session), value)


def _sizes(session: Session) -> list[int]:
    return sorted(session.files.values())


def _state(session: Session) -> str:
    return f"transcript {digest(session.id + session.path)}"


def _dumps(payload: dict[str, Any]) -> str:
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()
