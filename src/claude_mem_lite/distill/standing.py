"""Where a session stands, by what the databases have of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.distill.attempts import is_commit
from claude_mem_lite.distill.changed import changed
from claude_mem_lite.distill.state import state_of
from claude_mem_lite.storage import context as storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.distill.state import State
    from claude_mem_lite.storage.models import FunctionChange, Observation

_CHANGES = 300


def standing(
    project_dir: str,
    session_id: str,
    rows: Sequence[Observation],
    later: Sequence[Sequence[Observation]] = (),
) -> State:
    """Return where a session stands by its observations and by those of each session after it, in order."""
    committed = next((row.created_at for row in reversed(rows) if is_commit(row)), "")
    changes: dict[str, list[FunctionChange]] = {}
    for row in storage.changes(project_dir, [session_id], since=committed, limit=_CHANGES):
        changes.setdefault(row.file_path, []).append(row)
    plan = storage.plan_events(project_dir, session_id)
    told = {path: changed(own) for path, own in changes.items()}
    return state_of(rows, plan=plan, changes=told, later=later)
