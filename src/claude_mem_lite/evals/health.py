"""Of what was shown to sessions, how much was of use to them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from claude_mem_lite.storage import context as context_rows

HOW = ("opened", "named", "touched")


def use_of_context(project_dir: str | None = None) -> dict[str, Any]:
    """Return how many lines sessions were shown and used, by the way in which they were shown and in all.

    `project_dir` None stands for all projects. A line counts once a session and way. `sessions` are those
    that were shown something and have been summarized since; of the others nobody knows yet.
    """
    rows: dict[str, Counter[str]] = {}
    measured = context_rows.measured_sessions(project_dir)
    for session_id in measured:
        used = context_rows.used_in(session_id)
        ways: dict[str, set[str]] = {}
        for block in context_rows.shown_in(session_id):
            via = str(block.data.get("via", ""))
            if via == context_rows.LATE:
                continue
            rows.setdefault(via, Counter())["blocks"] += 1
            rows[via]["tokens"] += int(block.data.get("tokens", 0))
            ways.setdefault(via, set()).update(block.data.get("ids", ()))
        for via, ids in ways.items():
            rows[via]["shown"] += len(ids)
            rows[via].update(used[row_id] for row_id in ids if row_id in used)
    total: Counter[str] = Counter()
    for row in rows.values():
        total += row
    return {
        "sessions": len(measured),
        "via": {via: _shares(row) for via, row in sorted(rows.items())},
        "all": _shares(total),
    }


def _shares(row: Counter[str]) -> dict[str, Any]:
    used = sum(row[how] for how in HOW)
    counted = {name: row[name] for name in ("blocks", "tokens", "shown", *HOW)}
    return {**counted, "used": used, "share": round(used / row["shown"], 3) if row["shown"] else None}
