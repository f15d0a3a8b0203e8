"""Forget what the user names: remove it from every file of the data directory.

The consumer and the web process are stopped meanwhile. A lock would not be enough: the consumer holds events
in its memory and stores them later; the web process caches vectors and answers; both write logs, and keep
LanceDB's old versions and SQLite's WAL from being emptied. Hooks keep running: each opens queue.db for one
transaction, and an event that finds it locked goes to the spool.

After an interruption the same command continues: the rows that show what to forget are deleted last, and
`forget.store` keeps a note until their bytes are purged, which any later forget or prune completes.
"""

import contextlib
import logging
import os
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.codemap import file_index
from claude_mem_lite.distill.record import local_summary
from claude_mem_lite.distill.rules import conversation
from claude_mem_lite.forget import store, traces
from claude_mem_lite.forget.marking import Marked, mark
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.search import vectors, write_lock
from claude_mem_lite.search.vectors import VectorsError
from claude_mem_lite.storage import embeddings, forgotten, queries, team
from claude_mem_lite.upkeep.backup import staging

log = logging.getLogger(__name__)

_MOST_KEY_FILES = 8
_PROMPT = "UserPromptSubmit"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Counts of what is or was forgotten. `retold` sessions stay, with a new summary of what is left of them.

    `shared_lines` come from colleagues.
    """

    sessions: int
    observations: int
    learnings: int
    raw_events: int
    functions: int
    function_changes: int
    calls: int
    log_entries: int
    messages: int
    log_lines: int
    spool_files: int
    shared_lines: int
    retold: int


def forgettable(wanted: Wanted) -> Forgotten:
    """Return the counts of what `forget` would delete."""
    marked = mark(wanted)
    lines = traces.clear_lines(wanted, marked.ids, dry_run=True)
    return _counted(marked, lines, len(traces.spooled(wanted, marked.ids)), len(_shared(wanted)))


def forget(wanted: Wanted, *, paused: AbstractContextManager[list[str]]) -> tuple[Forgotten, list[str]]:
    """Forget what is wanted while the services are `paused`; return counts and problems, one per line.

    A problem means that rows are deleted but their bytes may be left, or comes from `paused`.
    Raises: ClaudeMemError.
    """
    # `run` keeps others from writing vectors; `staging` deletes what a killed backup left.
    with write_lock.run(), staging(), paused as late:
        marked = mark(wanted)
        quotes = _quotes(marked)
        shared = _shared(wanted)
        team.forget(shared)
        store.note()
        forgotten.note(marked.events, marked.observations)
        _forget_vectors(marked, quotes)
        lines = traces.clear_lines(wanted, marked.ids)
        spooled = set()
        # A hook renames its file when it is done writing, so look again until none is found.
        while found := traces.spooled(wanted, marked.ids):
            spooled.update(found)
            for path in found:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
        store.clear_queue(marked)
        with store.transaction():
            store.clear_memory(marked, wanted)
            for row_id, words in quotes.items():
                store.reword(row_id, **words)
            for session_id in marked.retell:
                _retell(session_id, wanted)
        _read_code_anew(marked, wanted)
        problems = [
            f"{problem}: forgotten bytes may still be there; to finish: claude-mem prune"
            for problem in store.purge()
        ]
    done = _counted(marked, lines, len(spooled), len(shared))
    log.info("forgotten: %s", done)
    return done, [*problems, *late]


def _counted(marked: Marked, lines: int, spooled: int, shared: int) -> Forgotten:
    rows: tuple[Collection[Any], ...] = (
        marked.sessions, marked.observations, marked.learnings, marked.events, marked.functions,
        marked.changes, marked.edges, marked.entries, marked.messages,
    )  # fmt: skip
    told = {"log_lines": lines, "spool_files": spooled, "shared_lines": shared, "retold": len(marked.retell)}
    return Forgotten(*map(len, rows), **told)


def _quotes(marked: Marked) -> dict[str, dict[str, str | None]]:
    """Return new texts, by id, for observations that stay but quote a prompt that goes.

    The local distiller adds the user's request to the observations of what was done for it.
    """
    found: dict[str, dict[str, str | None]] = {}
    for session_id in marked.retell:
        rows = queries.observations_of(session_id)
        gone = [row for row in rows if row.tool_name == _PROMPT and row.id in marked.observations]
        asked = {conversation.asked(prompt.summary).rstrip("…") for prompt in gone}
        for row in rows:
            if row.id in marked.observations:
                continue
            before = {"title": row.title, "summary": row.summary, "detail": row.detail}
            words = {name: _without(text, asked - {""}) for name, text in before.items()}
            words["title"] = words["title"] or row.tool_name
            if words != before:
                found[row.id] = words
    return found


def _without(text: str | None, quotes: set[str]) -> str | None:
    """Return a text without the lines that contain one of the quotes."""
    if text is None or not any(quote in text for quote in quotes):
        return text
    return "\n".join(line for line in text.split("\n") if not any(quote in line for quote in quotes))


def _shared(wanted: Wanted) -> list[str]:
    """Return the ids of colleagues' shared lines that match."""
    key = team.key_of(wanted.project_dir) if wanted.project_dir else ""
    return team.wanted(
        lambda row_id, project, line: row_id in wanted.ids or project == (key or None) or wanted.holds(line)
    )


def _forget_vectors(marked: Marked, quotes: dict[str, Any]) -> None:
    """Delete the vectors of rows that go or get new texts; if vectors cannot be read, delete all of them."""
    try:
        vectors.forget({
            "observation": marked.observations | quotes.keys(),
            "session": marked.sessions | marked.retell,
            "learning": marked.learnings,
            "function": marked.functions,
        })  # fmt: skip
    except VectorsError as error:
        log.info("the vectors will be computed again: %s", error)
        vectors.discard()
        embeddings.forget_vectors()


def _retell(session_id: str, wanted: Wanted) -> None:
    rows = queries.observations_of(session_id)
    summary, files = local_summary(rows)
    if wanted.holds(summary):
        summary = ""
    files = [path for path in files if not wanted.holds(path)]
    up_to = max((row.pk for row in rows), default=0)
    store.retell(session_id, summary, files[:_MOST_KEY_FILES], up_to=up_to)


def _read_code_anew(marked: Marked, wanted: Wanted) -> None:
    """Rescan the files whose functions were deleted, attributing their code to no session.

    Otherwise their code would be attributed to the project's next session.
    """
    if wanted.project_dir or wanted.files:
        return
    for project_dir in {project_dir for project_dir, _ in marked.files}:
        paths = [path for project, path in marked.files if project == project_dir]
        paths = [path for path in paths if not _has(os.path.join(project_dir, path), wanted)]
        if paths:
            file_index.rescan(project_dir, file_index.Seen(), paths=paths)


def _has(path: str, wanted: Wanted) -> bool:
    """Tell whether a file is missing or contains the forgotten text."""
    try:
        with open(path, "rb") as file:
            return wanted.holds(file.read())
    except OSError:
        return True
