"""What memory knows of a file that a session has just opened or changed: last changes, failures, callers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from claude_mem_lite.codemap.confidence import STRONG
from claude_mem_lite.context import layers
from claude_mem_lite.context.budget import Said, Section, fill
from claude_mem_lite.context.builder import SHORT_FENCE_TOKENS
from claude_mem_lite.context.layers import Scope
from claude_mem_lite.context.text import vetted
from claude_mem_lite.distill.local.conversation import without_reason
from claude_mem_lite.distill.observation import join
from claude_mem_lite.distill.quoting import named
from claude_mem_lite.storage import context as storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.storage.models import Observation

BUDGET_TOKENS = 200

_LINES = 5
_CHARS = 260
_CHANGES = 20
_FUNCTIONS = 2


def about(project_dir: str, path: str, *, said: Said, without: str, now: float) -> Section:
    """Return what is known of a file of a project, but for what the session `without` did itself."""
    section = Section("touched", f"About {vetted(named(path))[0] or 'this file'}")
    scope = Scope(project_dir, now)
    rows = storage.about_file(project_dir, path, without=without)
    lines = [*_callers(scope, path), *_learned(scope, path), *_done(scope, rows)]
    fill(section, lines, budget_tokens=BUDGET_TOKENS - SHORT_FENCE_TOKENS, said=said, most=_LINES)
    return section


def _callers(scope: Scope, path: str) -> list[Line]:
    """Return who calls, from other files, the functions that sessions changed last."""
    changed = [
        row
        for row in storage.changes_in_file(scope.project_dir, path, limit=_CHANGES)
        if row.change_type != "deleted" and row.observation_id
    ]
    names = list(dict.fromkeys(row.qualified_name for row in changed))[:_FUNCTIONS]
    edges = storage.callers(scope.project_dir, path, names, least=STRONG)
    lines = []
    for name in names:
        calls = [
            f"{named(edge.caller_file)}:{edge.line} {edge.caller_function}"
            for edge in edges
            if edge.callee_function == name
        ]
        if calls:
            row = next(row for row in changed if row.qualified_name == name)
            says = f"{row.change_type.capitalize()} {name}, which is called by {join(calls, 4)}"
            line = scope.line(
                row.observation_id or "", "function", row.created_at, says, weight=1.0, chars=_CHARS,
                reason="callers of a changed function",
            )  # fmt: skip
            lines.append(replace(line, says_more=True))
    return lines


def _learned(scope: Scope, path: str) -> list[Line]:
    """Return the learnings that speak of the file or of what is in it."""
    name = path.rpartition("/")[2]
    rows = storage.learnings(scope.project_dir, least=layers.LEAST_CONFIDENCE, limit=100)
    return [
        scope.learned(row, weight=2.0, reason="speaks of the file")
        for row in rows
        if name in row.content or any(each["file"] == path for each in row.code)
    ]


def _done(scope: Scope, rows: Sequence[Observation]) -> list[Line]:
    """Return what was done to the file and what failed in it, with what it was for, newest first."""
    lines = []
    for at, row in enumerate(rows):
        if row.title.startswith("Import "):  # the file says it
            continue
        weight, why = layers.weigh(row)
        _, asked = without_reason(row.summary)
        said = layers.said_by(row)
        says = f"{said.rstrip('. ')}. For: {asked}" if asked and len(said) < _CHARS // 2 else said
        lines.append(scope.told_of(row, says, weight=weight * 0.9**at, chars=_CHARS, reason=why))
    return lines
