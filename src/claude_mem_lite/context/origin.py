"""Find the origin of a line in a block, and the sessions that were shown it."""

import json
from typing import Any

from claude_mem_lite.context import shared
from claude_mem_lite.distill.rules import fields
from claude_mem_lite.kinds import KINDS
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import queries, search, team
from claude_mem_lite.storage.search import Row

_SHORTEST = queries.MIN_ID_PREFIX
# Fields that are unknown for a colleague's line.
_NOWHERE = dict.fromkeys(("client", "session_started_at", "session_summary", "call", "prompt"))


def origin(prefix: str) -> dict[str, Any]:
    """Return the row of an id, or of its beginning, with the session, tool call and prompt behind it.

    `call` is the tool's input while the queue has the event, else None. `shown` lists the sessions that were
    shown the row, oldest first: when, via which block, and how they used it ("" if not, or not known yet).

    Raises:
        UnknownIdError: no row, or more than one, has such an id.
    """
    theirs = team.opened(prefix, None) if len(prefix) >= _SHORTEST else []
    if len(theirs) == 1:
        return _NOWHERE | shared.as_json(theirs[0]) | {"shown": _shown(theirs[0].id)}
    row = _row(prefix)
    session = queries.session(row.session_id)
    event = queries.pending_event(row.id) if row.kind == "observation" else None
    payload = json.loads(event.raw_output) if event else {}
    prompt = queries.latest_prompt(event) if event else None
    return {
        "id": row.id,
        "kind": row.kind,
        "title": row.title,
        "text": row.summary,
        "files": list(row.files),
        "tool_name": row.tool_name,
        "project_dir": row.project_dir,
        "created_at": row.created_at,
        "session_id": row.session_id,
        "client": session.client if session else None,
        "session_started_at": session.started_at if session else None,
        "session_summary": session.summary if session else None,
        "call": fields.value(payload, "tool_input"),
        "prompt": prompt,
        "shown": _shown(row.id),
    }


def _shown(row_id: str) -> list[dict[str, Any]]:
    return [
        {
            "session_id": block.session_id,
            "at": block.created_at,
            "via": block.data.get("via"),
            "used": context_rows.used_in(block.session_id or "").get(row_id, ""),
        }
        for block in context_rows.sessions_shown(row_id)
    ]


def _row(prefix: str) -> Row:
    found = [row for kind in KINDS for row in search.by_prefix(kind, prefix)] if prefix else []
    whole = [row for row in found if row.id == prefix]
    if len(whole) == 1:
        return whole[0]
    if len(prefix) < _SHORTEST:
        raise queries.UnknownIdError(
            f"{prefix!r}: nothing has this id, and the beginning of one has {_SHORTEST} characters or more"
        )
    if len(found) != 1:
        what = "more than one id begins with it" if found else "nothing has this id"
        raise queries.UnknownIdError(f"{prefix!r}: {what}; search and context show the ids")
    return found[0]
