"""Replay a folder of transcripts, oldest first, to measure what memory would have told each session.

A session's start block and the block for its first prompt are built from earlier sessions; then its
transcript is imported. All of it happens in a temporary memory, by full text alone.
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.context import blocks, builder
from claude_mem_lite.context.shown import Shown
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.evals.temporary import temporary_memory
from claude_mem_lite.importers import store
from claude_mem_lite.importers.importing import Import, Plan, by_time, in_project
from claude_mem_lite.importers.sessions import Session, Telling, find_in, looked_at
from claude_mem_lite.learnings import session as learnings
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage import projects
from claude_mem_lite.text import relative

MEMORY, START = "memory", "start"
BASELINES = ("most_edited", "last_edited", "prompt")
# Only the first files that a block names count: nobody looks at more.
MOST_FILES = 10
LEAST_SESSIONS = 3
# A shorter prompt says little about a session.
_PROMPT_CHARS = 25
# A shorter file name without its folder may be an ordinary word.
_NAME_CHARS = 6


@dataclass(slots=True)
class _Past:
    """A project's sessions so far: files edited or read, edits per file, and files by their last edit."""

    known: set[str] = field(default_factory=set)
    edits: Counter[str] = field(default_factory=Counter)
    last: dict[str, None] = field(default_factory=dict)

    def add(self, used: Iterable[tuple[str, str]]) -> None:
        """Add the (tool, file) pairs that a session used."""
        for tool_name, path in used:
            self.known.add(path)
            if tool_name in EDITORS:
                self.edits[path] += 1
                self.last.pop(path, None)
                self.last[path] = None


def sessions_in(folder: str) -> Plan:
    """Return the sessions of a folder of transcripts, oldest first. Raises: ClaudeMemError for too few."""
    if not os.path.isdir(folder):
        raise ClaudeMemError(
            f"there are no transcripts: {os.path.abspath(folder)} is not a folder. "
            "To use others: claude-mem eval replay DIR"
        )
    found = Plan()
    told = (looked_at(session) for session in find_in(folder, found.left_out))
    found.sessions = sorted((session for session in told if session), key=by_time)
    if not found.sessions:
        raise ClaudeMemError(f"there are no transcripts (*.jsonl) in {os.path.abspath(folder)}")
    if len(found.sessions) < LEAST_SESSIONS:
        raise ClaudeMemError(
            f"{os.path.abspath(folder)} has {len(found.sessions)} of the {LEAST_SESSIONS} sessions that a "
            "replay needs: try again when there are more"
        )
    return found


def evaluate(
    found: Plan, *, last: int | None = None, advance: Callable[[Session], object] = lambda _: None
) -> dict[str, Any]:
    """Replay sessions, measure the `last` ones (None: all), and return the figures.

    `advance` is called with each finished session. A session's share is, of its edited files that an earlier
    session had edited or read, the part among the first ten that are named; the figures are means.
    """
    first = 0 if last is None else max(0, len(found.sessions) - last)
    past: defaultdict[str, _Past] = defaultdict(_Past)
    rows: list[dict[str, Any]] = []
    tokens: list[int] = []
    with temporary_memory():
        taking = Import(found, now=time.time(), learn=learnings.learn, make_room=lambda: None)
        for number, each in enumerate(found.sessions):
            session = in_project(each, projects.of(each.work_tree or each.project_dir))
            before = past[session.project_dir]
            offers: dict[str, list[str]] = {}
            if number >= first:
                offers, start_tokens = _offers(session, before)
                tokens.append(start_tokens)
            taking.take(session)
            used = list(_used(session))
            wanted = {path for tool_name, path in used if tool_name in EDITORS} & before.known
            if wanted and number >= first:
                rows.append({"session_id": session.id, "began_at": session.began_at, "files": len(wanted),
                             **{name: _share(wanted, files) for name, files in offers.items()}})  # fmt: skip
            before.add(used)
            advance(each)
    budget = builder.Budget().total
    return {
        "sessions": len(found.sessions),
        "measured": len(tokens),
        "with_known_files": len(rows),
        "files": {name: _mean([row[name] for row in rows]) for name in (MEMORY, START, *BASELINES)},
        "start_tokens": _mean(tokens, 1),
        "budget_tokens": budget,
        "share_of_budget": _mean([each / budget for each in tokens]),
        "left_out": dict(found.left_out),
        "rows": rows,
    }


def files_named(text: str, known: Collection[str]) -> list[str]:
    """Return the known files that a text names, in the order of their first mention.

    By path or, if no other known file matches, by last folder and name, or by a name that is long enough.
    """
    endings = Counter(ending for path in known for ending in _endings(path))
    at: dict[str, int] = {}
    for path in known:
        for ending in _endings(path):
            is_only = endings[ending] == 1
            if ending == path or (is_only and ("/" in ending or len(ending) > _NAME_CHARS)):
                place = _place(text, ending, within_path=is_only)
                if place >= 0:
                    at[path] = min(at.get(path, place), place)
    return sorted(at, key=lambda path: (at[path], path))


def _offers(session: Session, past: _Past) -> tuple[dict[str, list[str]], int]:
    """Return the files that each method names before a session, and the tokens of its start block."""
    began, prompt = inbox.unix_time(session.began_at), _first_prompt(session)
    start = builder.build(session.project_dir, session_id=session.id, now=began, branch=session.branch)
    shown = Shown(
        {*start.ids, *start.also},
        set(start.named),
        set(start.parts),
        branches={start.branch or ""},
        stated=set(start.stated),
    )
    by_words = Searcher(by_meaning=False)
    recall = blocks.for_prompt(by_words, session.project_dir, prompt, session_id=session.id, shown=shown)
    in_start, in_recall = (files_named(block.text, past.known) for block in (start, recall))
    return {
        MEMORY: list(dict.fromkeys((*in_recall, *in_start))),
        START: in_start,
        "most_edited": [path for path, _ in past.edits.most_common(MOST_FILES)],
        "last_edited": list(reversed(past.last)),
        "prompt": files_named(prompt, past.known),
    }, start.tokens


def _first_prompt(session: Session) -> str:
    """Return the first prompt that is long enough to say something, "" for none."""
    for event in Telling(session, Counter(), time.time()).events(after={}):
        prompt = event.payload.get("prompt")
        if event.payload["hook_event_name"] == "UserPromptSubmit" and len(str(prompt)) > _PROMPT_CHARS:
            return str(prompt)
    return ""


def _used(session: Session) -> Iterable[tuple[str, str]]:
    """Yield (tool, file) for each edit and read of a file in the session's project, in order."""
    for tool_name, path in store.files_used(session.id):
        inside = relative(path, session.work_tree or session.project_dir)
        if (tool_name in EDITORS or tool_name == "Read") and not inside.startswith(("/", "..")):
            yield tool_name, inside


def _endings(path: str) -> set[str]:
    return {path, "/".join(path.split("/")[-2:]), os.path.basename(path)}


def _place(text: str, name: str, *, within_path: bool) -> int:
    """Return where a text has a name on its own, or with `within_path` at the end of a path; else -1."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(name) : at + len(name) + 1]
        if not (_is_of_name(before) or _is_of_name(after) or (before == "/" and not within_path)):
            return at
        at = text.find(name, at + 1)
    return -1


def _is_of_name(character: str) -> bool:
    return character.isalnum() or character in {"_", "-"}


def _share(wanted: Collection[str], files: Sequence[str]) -> float:
    return len(set(files[:MOST_FILES]) & set(wanted)) / len(wanted)


def _mean(values: Sequence[float], digits: int = 3) -> float | None:
    return round(sum(values) / len(values), digits) if values else None
