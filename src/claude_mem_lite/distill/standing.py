"""Read where a session stands from the databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_mem_lite.distill import echoes
from claude_mem_lite.distill.attempts import is_commit
from claude_mem_lite.distill.changed import changed
from claude_mem_lite.distill.state import state_of
from claude_mem_lite.distill.together import is_test
from claude_mem_lite.storage import changes, queries, timeline
from claude_mem_lite.storage import context as context_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from claude_mem_lite.distill.state import State
    from claude_mem_lite.storage.models import FunctionChange, Observation

_CHANGES, _HEARD_CHARS = 300, 300_000


def standing(
    project_dir: str,
    session_id: str,
    rows: Sequence[Observation],
    later: Sequence[Sequence[Observation]] = (),
) -> State:
    """Return where a session stands by its observations and by those of each session after it, in order."""
    committed = next((row.created_at for row in reversed(rows) if is_commit(row)), "")
    by_file: dict[str, list[FunctionChange]] = {}
    for row in changes.of_sessions(project_dir, [session_id], since=committed, limit=_CHANGES):
        by_file.setdefault(row.file_path, []).append(row)
    plan = context_rows.plan_events(project_dir, session_id)
    told = {path: changed(own) for path, own in by_file.items() if not is_test(path)}
    return state_of(rows, plan=plan, quote=_quoting(session_id), changes=told, later=later)


def _quoting(session_id: str) -> Callable[[str], str]:
    """Return what quotes the words of a text that the session had read somewhere before."""
    last = timeline.last_event(session_id)

    def heard() -> Iterator[str]:
        for payload in queries.answers_before(last, chars=_HEARD_CHARS) if last else ():
            yield from echoes.from_outside(payload)

    return lambda text: echoes.quote_others(text, heard()) if last else text
