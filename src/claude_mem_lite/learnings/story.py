"""Present learnings: as list entries, and one with its evidence, its history and the reasons for changes."""

import json
from collections.abc import Iterable
from typing import Any

from claude_mem_lite.learnings import anchors
from claude_mem_lite.learnings.anchors import Anchor
from claude_mem_lite.storage import context, learnings
from claude_mem_lite.storage.models import Learning
from claude_mem_lite.text import one_line

_TITLE_CHARS = 160


def state_of(row: Learning) -> str:
    """Return "active", "candidate", "quarantine", "stale", "superseded" or "removed"."""
    if row.quarantine:
        return "quarantine"
    if row.superseded_by:
        return "superseded"
    if not row.is_active:
        return "removed"
    if row.confidence < learnings.TOLD:
        return "candidate"
    return "stale" if row.stale else "active"


def entry(row: Learning) -> dict[str, Any]:
    """Return a learning as a list entry, in JSON types."""
    return {
        "id": row.id,
        "project_dir": row.project_dir,
        "category": row.category,
        "content": row.content,
        "confidence": round(row.confidence, 4),
        "state": state_of(row),
        "times_seen": row.times_seen,
        "is_manual": row.is_manual,
        "stale": row.stale,
        "guard": json.loads(row.guard) if row.guard else None,
        "quarantine": row.quarantine,
        "superseded_by": row.superseded_by,
        "proposed": row.project_dir is not None and len(row.kin) + 1 >= learnings.PROPOSING,
        "created_at": row.created_at,
        "seen_at": row.seen_at,
    }


def questions(project_dir: str | None, *, candidates: bool = False) -> list[dict[str, Any]]:
    """Return the pairs of learnings that may contradict each other or say the same, in JSON types."""
    return [
        {"newer": _in_short(newer), "older": _in_short(older), "is_again": is_again}
        for newer, older, is_again in learnings.questions(project_dir, candidates=candidates)
    ]


def evidence(row: Learning, project_dir: str | None = None) -> dict[str, Any]:
    """Return a learning with its evidence, the code that it mentions, its predecessors and its successor.

    With `project_dir`, only those of that project: a learning that holds everywhere comes from several.
    """

    def here(rows: Iterable[Any]) -> list[Any]:
        return [each for each in rows if project_dir is None or each.project_dir in {None, project_dir}]

    sessions, observations = map(here, learnings.sources(row))
    successors = learnings.by_ids([row.superseded_by]) if row.superseded_by else []
    return {
        **entry(row),
        "code": [
            {"file": each.file, "name": each.name, "stale": _why_stale(row, each)}
            for each in anchors.anchors_of(row)
        ],
        "sessions": [
            {
                "id": each.id,
                "started_at": each.started_at,
                "summary": one_line(each.summary or "", _TITLE_CHARS),
            }
            for each in sessions
        ],
        "observations": [
            {"id": each.id, "created_at": each.created_at, "title": each.title} for each in observations
        ],
        "supersedes": [_in_short(each) for each in here(learnings.superseded_by(row.id))],
        "successors": [_in_short(each) for each in here(successors)],
    }


def whole(row: Learning) -> dict[str, Any]:
    """Return everything known about a learning, with its history and the sessions that it was shown in."""
    return {
        **evidence(row),
        "kin": [_in_short(each) for each in learnings.by_ids(row.kin)],
        "events": [
            {
                "at": each.created_at,
                "event": each.event_type.removeprefix(learnings.EVENTS),
                "session_id": each.session_id,
                **{name: value for name, value in each.data.items() if name != "id"},
            }
            for each in learnings.story(row.id)
        ],
        "shown": [
            {"session_id": each.session_id, "at": each.created_at, "via": each.data.get("via")}
            for each in context.sessions_shown(row.id)
        ],
    }


def _in_short(row: Learning) -> dict[str, Any]:
    return {"id": row.id, "project_dir": row.project_dir, "content": row.content}


def _why_stale(row: Learning, anchor: Anchor) -> str:
    return anchors.Code(row.project_dir).why_stale([anchor]) if row.project_dir else ""
