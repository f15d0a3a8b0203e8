"""Build a sub-agent's block: the user's rules, what works and fails here, what is known on its task.

It begins with nothing of the session's context, so nothing is left out because the session has it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from claude_mem_lite import settings
from claude_mem_lite.context import layers
from claude_mem_lite.context.budget import Said, Section, fill
from claude_mem_lite.context.builder import SHORT_FENCE_TOKENS, ContextBlock, assemble
from claude_mem_lite.context.past import Past
from claude_mem_lite.context.prompts import question
from claude_mem_lite.distill.attempts import open_failures
from claude_mem_lite.storage import context as context_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.search.hybrid import Searcher

BUDGET_TOKENS = 250

# The most that goes to the task, and what the rules leave to what works.
_TASK, _WORKS = 110, 40
RULES = frozenset({"convention", "pattern", "preference"})
WORKS = frozenset({"gotcha", "dependency", "environment"})
_READ = 50
_LINES = 5
_FAILURES = 2
_OBSERVATIONS, _SESSIONS = 100, 5


def for_task(searcher: Callable[[], Searcher], project_dir: str, task: str) -> ContextBlock:
    """Return the block for a sub-agent that is given a task, "" where nobody knows which."""
    started, now, said = time.monotonic(), time.time(), Said()
    past = Past(project_dir, now)
    rules, works = Section("rules", "Rules from the user"), Section("works", "Works and fails here")
    known = Section("recall", "")
    chosen = settings.load()
    if question(task) and chosen.recall and chosen.recall_tokens_per_session:
        from claude_mem_lite.context.recall import recall

        known = recall(searcher(), project_dir, task, said=said, budget_tokens=_TASK, now=now)
        known.title = "Remembered, for this task"
    left = BUDGET_TOKENS - SHORT_FENCE_TOKENS - known.tokens
    lines = [*_failing(past), *_learned(past, WORKS)]
    kept_free = _WORKS if lines else 0
    fill(rules, _learned(past, RULES), budget_tokens=left - kept_free, said=said, most=_LINES)
    fill(works, lines, budget_tokens=left - rules.tokens, said=said, most=_LINES)
    return assemble([rules, works, known], most_tokens=BUDGET_TOKENS, started=started)


def _learned(past: Past, categories: Collection[str]) -> list[Line]:
    """Return what was learned of some kinds and still holds, the surest first."""
    rows = context_rows.learnings(past.project_dir, least=layers.LEAST_CONFIDENCE, limit=_READ)
    return [
        past.learned(row, weight=row.confidence, reason=f"confidence {row.confidence:.2f}")
        for row in rows
        if row.category in categories and not row.stale
    ]


def _failing(past: Past) -> list[Line]:
    """Return the commands that have not succeeded since they failed last, in the last sessions."""
    ids = [row.id for row in context_rows.sessions(past.project_dir, limit=_SESSIONS)]
    rows = context_rows.observations(past.project_dir, ids, limit=_OBSERVATIONS)
    failed = open_failures(rows[::-1])[-_FAILURES:]
    return [past.told_of(row, f"Fails: {error}", reason="not succeeded since") for row, error in failed]
