"""Learnings of other projects that say the same: three projects that agree propose one for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.distill.sameness import relation, terms
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import queries, search

if TYPE_CHECKING:
    from claude_mem_lite.storage.models import Learning

_CANDIDATES = 50
_TERMS = 12


def note(row: Learning, session_id: str) -> None:
    """Note which learnings of other projects say the same as a new one, with all of them."""
    if row.project_dir is None:
        return
    match = " OR ".join('"{}"'.format(term.replace('"', '""')) for term in terms(row.content)[:_TERMS])
    found = search.by_text("learning", match, search.Scope(), limit=_CANDIDATES) if match else []
    others = learning_rows.elsewhere([each.id for each in found], row.project_dir)
    others = [each for each in others if each.id != row.id and relation(each.content, row.content) == "same"]
    family = [row, *others]
    for each in family:
        kin = [other.id for other in family if other.project_dir != each.project_dir]
        learning_rows.update(each, kin=list(dict.fromkeys([*each.kin, *kin])))
    projects = {each.project_dir for each in family}
    if len(projects) >= learning_rows.PROPOSING:
        data = {"id": row.id, "projects": len(projects)}
        queries.log_event(f"{learning_rows.EVENTS}proposed", data, session_id=session_id or None)
