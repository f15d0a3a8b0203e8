"""heal: resolve a project's calls after its code has changed, and confirm them by observed calls."""

import threading
import time
from collections import defaultdict

from claude_mem_lite.capture import inbox
from claude_mem_lite.tasks.app import RETRIES, huey

# Files that are edited together are resolved together. Resolving takes at most a tenth of one worker's time,
# but no project waits longer than five minutes for it.
_DELAY_S, _LONGEST_S = 2.0, 300.0
_SHARE = 10

_due: defaultdict[str, float] = defaultdict(float)
_not_before: defaultdict[str, float] = defaultdict(float)
_at_work = threading.Lock()


@huey.task(**RETRIES, priority=inbox.PRIORITIES["low"])
def heal(project_dir: str, session_id: str) -> None:
    """Update a project's code map from its files, resolve its calls, and confirm them by observations."""
    from claude_mem_lite.codemap import file_index, graph
    from claude_mem_lite.codemap.heal import heal as heal_by_observations
    from claude_mem_lite.learnings.evolve import check_code
    from claude_mem_lite.search import memory
    from claude_mem_lite.storage import code, queries, timeline

    _due.pop(project_dir, None)
    if not code.source_files(project_dir):
        return
    started = time.monotonic()
    with _at_work:
        seen = file_index.Seen(session_id, writing=timeline.writing_of(session_id))
        found = file_index.rescan(project_dir, seen, only_newer=True)
        has_resolved = graph.refresh_apart(project_dir, session_id, most_lines=graph.MOST_LINES)
        heal_by_observations(project_dir)
        check_code(project_dir, session_id)
        memory.give_back()
    took_s = time.monotonic() - started
    _not_before[project_dir] = time.time() + min(_SHARE * took_s, _LONGEST_S)
    if has_resolved:
        data = {"project_dir": project_dir, "files": found.files, "changed": len(found.changed)}
        queries.log_event("heal.done", data, session_id=session_id, duration_ms=round(took_s * 1000))


def heal_in(project_dir: str, session_id: str) -> None:
    """Schedule `heal` for a project after a delay, unless it is scheduled already."""
    now = time.time()
    if not now <= _due[project_dir]:
        delay_s = max(_DELAY_S, _not_before[project_dir] - now)
        _due[project_dir] = now + delay_s
        heal.schedule((project_dir, session_id), delay=delay_s)
