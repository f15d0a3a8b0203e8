"""Find the transcripts that Claude Code, Codex and Gemini keep: their sessions, projects and events.

Claude Code writes a session to FOLDER/SESSION.jsonl and its sub-agents to FOLDER/SESSION/subagents; older
clients wrote sub-agents to FOLDER/agent-ID.jsonl. Symbolic links are not followed.
"""

import contextlib
import heapq
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from claude_mem_lite import config
from claude_mem_lite.capture import inbox, own_file
from claude_mem_lite.capture.clients import CLAUDE_CODE, CODEX, GEMINI
from claude_mem_lite.importers import chats, lines, rollouts
from claude_mem_lite.importers.events import Event, Origin, Reading, end_of
from claude_mem_lite.importers.lines import Line

SUFFIX = ".jsonl"
_READERS: dict[str, Callable[..., Iterator[Line]]] = {
    CLAUDE_CODE: lines.read,
    CODEX: rollouts.read,
    GEMINI: chats.read,
}
_AGENT = "agent-"
# Transcripts of agents that the client runs for itself, for example to compact a conversation.
_OWN_AGENT = re.compile(rf"{_AGENT}a[a-z_]+-")
# A hook may still be processing lines younger than RUNNING_S; a session silent for ENDED_S has ended.
RUNNING_S, ENDED_S = 120.0, 3_600.0
_MOST_TYPE_BYTES = 1 << 16
# Lines searched for a session's folder and start time. An import reads the whole file.
_HEAD_LINES = 400


@dataclass(slots=True)
class Session:
    """A session: its files with their sizes in bytes, and what `looked_at` adds: start (UTC text) and place.

    For clients other than Claude Code, `agents` maps a sub-agent's file to the agent's id and type.
    """

    id: str
    path: str
    files: dict[str, int]
    began_at: str = ""
    project_dir: str = ""
    work_tree: str = ""
    branch: str = ""
    client: str = CLAUDE_CODE
    agents: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Total size of the session's files."""
        return sum(self.files.values())


@dataclass(slots=True)
class Telling:
    """A session's events, read from its files. `read_to` and `has_ended` are set after the last event.

    `read_to` maps a file's name to the offset in bytes before which every event has been yielded.
    """

    session: Session
    left_out: Counter[str]
    now: float
    read_to: dict[str, int] = field(default_factory=dict)
    has_ended: bool = False

    def events(self, *, after: dict[str, int]) -> Iterator[Event]:
        """Yield the session's events by time, without those before the offset in `after` of their file."""
        readings = {path: self._reading(path) for path in self.session.files}
        told = [self._of(path, reading) for path, reading in readings.items()]
        last: Event | None = None
        for path, last in heapq.merge(*told, key=lambda each: each[1].at):
            if last.end > after.get(_name(self.session, path), 0):
                yield last
        silent_since = inbox.utc_text(self.now - ENDED_S)
        newest = max((reading.last_at for reading in readings.values()), default="")
        is_still = all(_mtime(path) < self.now - ENDED_S for path in readings) or newest < silent_since
        goes_on = any(reading.goes_on for reading in readings.values())
        if goes_on:
            self.left_out["unfinished turn"] += 1
        self.has_ended = is_still and not goes_on
        self.read_to = {_name(self.session, path): reading.read_to for path, reading in readings.items()}
        if self.has_ended and last is not None:
            yield end_of(last)

    def _reading(self, path: str) -> Reading:
        """Return a reading of a file; of one being written to, only lines that no hook can still hold."""
        origin, until = _origin(self.session, path), self.now - RUNNING_S
        if _mtime(path) <= until:
            return Reading(origin)
        return Reading(origin, inbox.utc_text(until))

    def _of(self, path: str, reading: Reading) -> Iterator[tuple[str, Event]]:
        try:
            lines_of = _READERS[self.session.client]
            for event in reading.events(lines_of(path, self.left_out, now=inbox.utc_text(self.now))):
                yield path, event
        except OSError:
            self.left_out["unreadable file"] += 1


def find(projects_dir: str, left_out: Counter[str]) -> list[Session]:
    """Return the sessions whose transcripts lie in Claude Code's folder `projects`, in no order."""
    folders = _entries(projects_dir, left_out, folders=True)
    return [session for folder in folders for session in find_in(folder.path, left_out)]


def find_rollouts(folder: str, left_out: Counter[str]) -> list[Session]:
    """Return the sessions whose rollouts lie in Codex's folder `sessions`, in no order."""
    found: dict[str, Session] = {}
    agents: list[tuple[str, str, os.DirEntry[str]]] = []
    parents: dict[str, str] = {}
    for entry in _below(folder, left_out):
        told = next((line.said.get("payload") for line in _head(entry.path, lines.objects, 1)), None)
        thread_id = told.get("id") if isinstance(told, dict) else None
        if not isinstance(told, dict) or not isinstance(thread_id, str):
            left_out["empty session"] += 1
        elif isinstance(parent := told.get("parent_thread_id"), str):
            parents[thread_id] = parent
            agents.append((thread_id, str(told.get("agent_role") or ""), entry))
        else:
            files = {entry.path: entry.stat().st_size}
            found[thread_id] = Session(thread_id, entry.path, files, client=CODEX)
    for agent_id, role, entry in agents:
        of = found.get(_root(agent_id, parents))
        if of is None:
            left_out["orphaned sub-agent"] += 1
        else:
            of.files[entry.path] = entry.stat().st_size
            of.agents[entry.path] = (agent_id, role)
    return list(found.values())


def find_chats(folder: str, left_out: Counter[str]) -> list[Session]:
    """Return the sessions whose chats lie in Gemini's folder `tmp`, unsorted; each start wrote a file."""
    found: dict[str, Session] = {}
    for project in _entries(folder, left_out, folders=True):
        for entry in _below(os.path.join(project.path, "chats"), left_out):
            told = next((line.said for line in _head(entry.path, lines.objects, 1)), {})
            session_id = told.get("sessionId")
            if not isinstance(session_id, str):
                left_out["empty session"] += 1
            elif told.get("kind") not in {"main", None}:
                left_out["sub-agent's chat"] += 1
            else:
                session = found.setdefault(session_id, Session(session_id, entry.path, {}, client=GEMINI))
                session.files[entry.path] = entry.stat().st_size
                session.agents[entry.path] = ("", "")
    return list(found.values())


def _root(thread_id: str, parents: dict[str, str]) -> str:
    """Return the id of the session at the top of a sub-agent's chain of parents."""
    seen: set[str] = set()
    while thread_id in parents and thread_id not in seen:  # malformed files may form a cycle
        seen.add(thread_id)
        thread_id = parents[thread_id]
    return thread_id


def find_in(folder: str, left_out: Counter[str]) -> list[Session]:
    """Return the sessions whose transcripts lie in one folder, in no order."""
    found: dict[str, Session] = {}
    agents: list[tuple[str, int]] = []
    for entry in _entries(folder, left_out):
        name, size = entry.name.removesuffix(SUFFIX), entry.stat().st_size
        if name.startswith(_AGENT):
            agents.append((entry.path, size))
        else:
            found[entry.path] = Session(name, entry.path, {entry.path: size})
    for session in found.values():
        for entry in _below(os.path.join(session.path.removesuffix(SUFFIX), "subagents"), left_out):
            session.files[entry.path] = entry.stat().st_size
    for path, size in agents:
        said = next((line.said for line in _head(path, lines.read) if line.said.get("sessionId")), {})
        of = found.get(os.path.join(folder, f"{said.get('sessionId')}{SUFFIX}"))
        if of is None:
            left_out["orphaned sub-agent"] += 1
        else:
            of.files[path] = size
    for session in found.values():
        for path in [path for path in session.files if _OWN_AGENT.match(os.path.basename(path))]:
            del session.files[path]
    return list(found.values())


def looked_at(session: Session) -> Session | None:
    """Return a session with its start time and its project; None when nothing has happened in it."""
    began_at = ""
    for line in _head(session.path, _READERS[session.client]):
        began_at = began_at or line.at
        cwd = line.said.get("cwd")
        if began_at and isinstance(cwd, str) and cwd.startswith("/"):
            project, tree, branch = config.place(cwd)
            branch = str(line.said.get("gitBranch") or branch)
            tree = "" if tree == project else tree
            return replace(session, began_at=began_at, project_dir=project, work_tree=tree, branch=branch)
    return None


def _entries(folder: str, left_out: Counter[str], *, folders: bool = False) -> list[os.DirEntry[str]]:
    """Return a folder's transcripts sorted by name, or with `folders` its sub-folders."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        left_out["unreadable folder"] += 1
        return []
    kept = []
    for entry in found:
        if not folders and not entry.name.endswith(SUFFIX):
            continue
        if entry.is_symlink():
            left_out["symbolic link"] += 1
        elif entry.is_dir() if folders else entry.is_file():
            if entry.stat().st_uid == os.geteuid():
                kept.append(entry)
            else:
                left_out["foreign file"] += 1
    return kept


def _below(folder: str, left_out: Counter[str]) -> list[os.DirEntry[str]]:
    """Return the transcripts in a folder and its sub-folders."""
    if not os.path.isdir(folder) or os.path.islink(folder):
        return []
    found = _entries(folder, left_out)
    for inner in _entries(folder, left_out, folders=True):
        found += _below(inner.path, left_out)
    return found


def _origin(session: Session, path: str) -> Origin:
    if path == session.path:
        return Origin(session.id, session.path, client=session.client)
    if session.client != CLAUDE_CODE:
        return Origin(session.id, session.path, *session.agents[path], session.client)
    agent_id = os.path.basename(path).removesuffix(SUFFIX).removeprefix(_AGENT)
    return Origin(session.id, session.path, agent_id, _agent_type(path))


def _agent_type(path: str) -> str:
    try:
        with own_file.opened(f"{path.removesuffix(SUFFIX)}.meta.json") as file:
            told = json.loads(file.read(_MOST_TYPE_BYTES)).get("agentType")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return told if isinstance(told, str) else ""


def _head(path: str, read: Callable[..., Iterator[Line]], most: int = _HEAD_LINES) -> Iterator[Line]:
    """Yield the first lines of a file; nothing if it cannot be read."""
    with contextlib.suppress(OSError):
        yield from itertools.islice(read(path, Counter(), now="9"), most)


def _name(session: Session, path: str) -> str:
    """Return a file's path relative to its session's folder, so that nothing stored reveals the machine."""
    return os.path.relpath(path, os.path.dirname(session.path))


def _mtime(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
