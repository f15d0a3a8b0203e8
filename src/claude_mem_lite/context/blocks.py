"""Build the small blocks of a session: for a prompt, a file, a failed command or a sub-agent."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from claude_mem_lite import settings
from claude_mem_lite.context import failure, file_block, layers
from claude_mem_lite.context.budget import HEADING, Said, Section, fill
from claude_mem_lite.context.builder import SHORT_FENCE_TOKENS, ContextBlock, assemble
from claude_mem_lite.context.past import SESSIONS, Past, in_project
from claude_mem_lite.context.prompts import question
from claude_mem_lite.context.recall import answer, ask, recall
from claude_mem_lite.context.shown import shown_to
from claude_mem_lite.context.superseded import Superseded
from claude_mem_lite.distill.attempts import open_failures
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage import context as context_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.context.recall import Asked
    from claude_mem_lite.context.shown import Shown
    from claude_mem_lite.search.hybrid import Searcher

# A session needs most of its memory at the first prompt; beside a late start block there is less room.
RECALL_TOKENS, FIRST_TOKENS = 600, 1_000
_LEAST_TOKENS = 100
THREAD_TOKENS, MEANT_TOKENS = 400, 300
# A prompt is about a branch's work if at least this many of the best rows are from sessions on it.
_FEWEST_ROWS = 2
_NOTHING = ContextBlock("")
# A sub-agent's block: its size, the limit for its task, and what the rules leave for "Works and fails".
SUBAGENT_TOKENS, _TASK_TOKENS, _WORKS_TOKENS = 250, 110, 40
_RULES = frozenset({"convention", "pattern", "preference"})
_WORKS = frozenset({"gotcha", "dependency", "environment"})
_READ, _LINES = 50, 5  # most learnings that are read, most lines of a section
_OBSERVATIONS, _SESSIONS, _FAILURES = 100, 5, 2


def for_prompt(  # noqa: PLR0913  (who asks, what for, and until when)
    searcher: Searcher,
    project_dir: str,
    prompt: str,
    *,
    session_id: str,
    shown: Shown | None = None,
    until: float | None = None,
    branch: str = "",
) -> ContextBlock:
    """Return what memory has on a prompt, within the tokens that the session may still spend on recall.

    The block begins with the state of the work on `branch`, if the session was not shown it yet. At the first
    prompt it may instead begin with the work on the branch that the prompt is about.
    `shown` is what the session was shown already (default: as recorded in `event_log`). Lines that came too
    late for the previous prompt fill the remaining room. Vectors are used if ready by `until` (monotonic).
    """
    started = time.monotonic()
    shown = shown or shown_to(session_id)
    chosen = settings.load()
    is_first = not shown.tokens[context_rows.RECALL]
    at_most = FIRST_TOKENS if is_first and shown.owed is None else RECALL_TOKENS
    most = min(at_most, chosen.recall_tokens_per_session - shown.tokens["recall"])
    if not chosen.recall or most < _LEAST_TOKENS:
        return _NOTHING
    # The session's own observations are in its context already.
    said = Said((shown.ids - shown.parts) | context_rows.own_ids(session_id))
    room = most - SHORT_FENCE_TOKENS
    now = time.time()
    stands = Section("thread", "")
    if branch not in {*SHARED_BRANCHES, *shown.branches}:
        past = _on(branch, project_dir, without=session_id)
        title = "Where the work stands on this branch"
        stands = _stands(past, title, layers.thread, said=said, budget_tokens=min(room, THREAD_TOKENS))
    room -= stands.tokens
    failed = failure.asked_for(
        Past(project_dir, now), prompt, session_id=session_id, said=said, budget_tokens=room
    )
    room -= failed.tokens
    asked = ask(searcher, project_dir, prompt, now=now, until=until, is_first=is_first)
    meant = _meant(asked, without=session_id, shown=shown) if asked and is_first and not stands.lines else ""
    kept = MEANT_TOKENS if meant else 0
    section = answer(asked, said=said, budget_tokens=room - kept, branch=branch, known=shown.stated)
    if meant:
        past = replace(
            _on(meant, project_dir, without=session_id),
            told=[line.says for line in section.lines],
            known=shown.stated,
        )
        title = "Earlier work that this may continue"
        stands = _stands(past, title, layers.earlier, said=said, budget_tokens=room - section.tokens)
        room -= stands.tokens
    fill(section, shown.late, budget_tokens=room - section.tokens, said=said)
    block = assemble([stands, failed, section], most_tokens=most, started=started)
    return replace(block, branch=branch if stands.lines and not meant else None)


def _meant(asked: Asked, *, without: str, shown: Shown) -> str:
    """Return the unmerged branch whose work a prompt is about, "" for none or one that was shown already.

    At least two of the best rows are from sessions on it.
    """
    rows = context_rows.sessions(asked.project_dir, without=without, limit=SESSIONS)
    branches = {row.id: row.branch for row in rows if row.branch not in {*SHARED_BRANCHES, *shown.branches}}
    best = Counter(branches[each] for each in asked.sessions if each in branches).most_common(1)
    if not best or best[0][1] < _FEWEST_ROWS:
        return ""
    branch = best[0][0]
    newest = next(row for row in rows if row.branch == branch)
    return "" if Past(asked.project_dir, asked.now).state(newest).is_merged else branch


def _on(branch: str, project_dir: str, *, without: str) -> Past:
    """Return the past of the sessions on a branch, except the session `without`."""
    rows = context_rows.sessions(project_dir, without=without, branch=branch, limit=SESSIONS)
    past = Past(project_dir, time.time(), rows, branch=branch)
    return replace(past, gone=Superseded(project_dir, branch=branch)) if rows else past


def _stands(
    past: Past, title: str, layer: Callable[[Past], list[Line]], *, said: Said, budget_tokens: int
) -> Section:
    """Return a section on the state of the work on a branch, made by a layer of the start block."""
    section = Section("thread", title)
    if past.sessions:
        lines = layer(replace(past, room=budget_tokens))
        told = [replace(line, says_more=line.kind == HEADING) for line in lines]
        fill(section, told, budget_tokens=budget_tokens, said=said)
    return section


def for_file(project_dir: str, file: str, *, session_id: str, shown: Shown | None = None) -> ContextBlock:
    """Return what memory knows of a file, absolute or relative to the project, once per session.

    The block is empty if the session has spent its tokens for files. `shown` is as in `for_prompt`.
    """
    started = time.monotonic()
    shown = shown or shown_to(session_id)
    path = in_project(file, project_dir)
    left = settings.load().file_tokens_per_session - shown.tokens["touch"]
    if not path or path in shown.files or left < file_block.BUDGET_TOKENS:
        return _NOTHING
    said = Said(shown.ids - shown.named)
    section = file_block.about(project_dir, path, said=said, without=session_id, now=time.time())
    return assemble([section], most_tokens=file_block.BUDGET_TOKENS, started=started)


def for_failure(
    project_dir: str,
    signatures: Collection[str],
    command: str,
    *,
    session_id: str,
    shown: Shown | None = None,
) -> ContextBlock:
    """Return what worked after earlier failures like that of a command, once per session.

    `signatures` identify the failure (see `failing.Error`).
    """
    started = time.monotonic()
    if not (shown or shown_to(session_id)).causes.isdisjoint(signatures):
        return _NOTHING
    section = failure.as_before(
        Past(project_dir, time.time()),
        signatures,
        command,
        session_id=session_id,
        budget_tokens=failure.BUDGET_TOKENS - SHORT_FENCE_TOKENS,
    )
    return assemble([section], most_tokens=failure.BUDGET_TOKENS, started=started)


def for_subagent(searcher: Callable[[], Searcher], project_dir: str, task: str) -> ContextBlock:
    """Return the user's rules, what works and fails here, and what is known about a task ("" if unknown).

    A sub-agent starts without the session's context, so nothing is left out for being in that already.
    """
    started, now, said = time.monotonic(), time.time(), Said()
    past = Past(project_dir, now)
    rules, works = Section("rules", "Rules from the user"), Section("works", "Works and fails here")
    known = Section("recall", "")
    chosen = settings.load()
    if question(task) and chosen.recall and chosen.recall_tokens_per_session:
        known = recall(searcher(), project_dir, task, said=said, budget_tokens=_TASK_TOKENS, now=now)
        known.title = "Remembered, for this task"
    left = SUBAGENT_TOKENS - SHORT_FENCE_TOKENS - known.tokens
    lines = [*_failing(past), *_learned(past, _WORKS)]
    kept_free = _WORKS_TOKENS if lines else 0
    fill(rules, _learned(past, _RULES), budget_tokens=left - kept_free, said=said, most=_LINES)
    fill(works, lines, budget_tokens=left - rules.tokens, said=said, most=_LINES)
    return assemble([rules, works, known], most_tokens=SUBAGENT_TOKENS, started=started)


def _learned(past: Past, categories: Collection[str]) -> list[Line]:
    """Return lines for the current learnings of some categories that are not stale, most confident first."""
    rows = context_rows.learnings(past.project_dir, least=layers.LEAST_CONFIDENCE, limit=_READ)
    return [
        past.learned(row, weight=row.confidence, reason=f"confidence {row.confidence:.2f}")
        for row in rows
        if row.category in categories and not row.stale
    ]


def _failing(past: Past) -> list[Line]:
    """Return lines for commands of the last sessions that have not succeeded since they last failed."""
    ids = [row.id for row in context_rows.sessions(past.project_dir, limit=_SESSIONS)]
    rows = context_rows.observations(past.project_dir, ids, limit=_OBSERVATIONS)
    failed = open_failures(rows[::-1])[-_FAILURES:]
    return [past.told_of(row, f"Fails: {error}", reason="not succeeded since") for row, error in failed]
