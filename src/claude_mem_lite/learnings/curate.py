"""Change learnings on the user's behalf; what the user writes is certain and only the user changes it."""

import json
from collections.abc import Sequence
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.guards import Guard
from claude_mem_lite.distill.sameness import relation, says_more
from claude_mem_lite.distill.typed import CONTENT_CHARS
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.learnings import anchors
from claude_mem_lite.learnings.evolve import INITIAL, MANUAL, change, penalized
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.storage import facts
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.models import Learning


def add(content: str, *, category: str, project_dir: str | None) -> Learning:
    """Add a learning in the user's words; without `project_dir` it holds in all projects.

    Learnings that say the same and no more are merged into it, contradicted ones replaced.
    Raises: ClaudeMemError.
    """
    content, now = _fit(content), inbox.utc_now()
    with facts.transaction():
        row = learning_rows.insert(
            project_dir=project_dir,
            category=category,
            content=content,
            confidence=MANUAL,
            is_manual=True,
            code=anchors.as_json(anchors.speaks_of(project_dir, content)),
            created_at=now,
            updated_at=now,
            seen_at=now,
        )
        change(row, "added", is_new=True)
        _settle(row)
    return row


def edit(row: Learning, *, content: str = "", category: str = "") -> Learning:
    """Change a learning's text or category and make it the user's own. Raises: ClaudeMemError."""
    _refuse_waiting(row)
    text = _fit(content) if content else row.content
    code = anchors.as_json(anchors.speaks_of(row.project_dir, text))
    return _written(
        row, "edited", content=text, category=category or row.category, code=code, stale="",
        superseded_by=None, guard=row.guard if text == row.content else "",
    )  # fmt: skip


def guard(row: Learning, guard: Guard | None) -> Learning:
    """Attach a guard to a learning, which becomes the user's own; None removes the guard.

    Raises:
        ClaudeMemError: the learning waits for the user, or is not current.
    """
    _refuse_waiting(row)
    _refuse_old(row)
    if guard is None:
        return _changed(row, "unguarded", guard="")
    return _written(row, "guarded", guard=json.dumps(guard.as_json(), ensure_ascii=False))


def accept(row: Learning) -> Learning:
    """Accept a waiting learning or a candidate as the user's own. Raises: ClaudeMemError if it is neither."""
    if not (row.quarantine or _is_candidate(row)):
        raise ClaudeMemError(f"{row.id[:8]} is not waiting for your decision")
    return _written(row, "accepted", quarantine=[])


def remove(row: Learning) -> Learning:
    """Deactivate a learning; it stays stored, but is never shown and never comes back by itself."""
    return _changed(row, "removed", is_active=False, quarantine=[], superseded_by=None)


def reset(row: Learning) -> Learning:
    """Reset a learning to confidence 0.5 with anchors to the current code. Raises: ClaudeMemError."""
    _refuse_waiting(row)
    code = anchors.as_json(anchors.speaks_of(row.project_dir, row.content)) or row.code
    return _changed(
        row, "reset", confidence=INITIAL, is_manual=False, is_active=True, superseded_by=None, stale="",
        code=code, guard="",
    )  # fmt: skip


def merge(kept: Learning, others: Sequence[Learning]) -> Learning:
    """Merge several learnings into the first, with the evidence of all. Raises: ClaudeMemError."""
    for row in (kept, *others):
        _refuse_waiting(row)
    if any(row.id == kept.id for row in others):
        raise ClaudeMemError(f"{kept.id[:8]} cannot be merged into itself")
    if kept.project_dir is not None and any(row.project_dir != kept.project_dir for row in others):
        raise ClaudeMemError(
            f"cannot merge learnings of different projects: claude-mem learnings promote {kept.id[:8]}"
        )
    with facts.transaction():
        _unite(kept, others)
        return _changed(kept, "united", is_active=True, superseded_by=None)


def keep_both(row: Learning, other: Learning) -> None:
    """Record the user's answer that two learnings on one matter both hold."""
    learning_rows.answer_both(row, other)


def promote(row: Learning) -> Learning:
    """Make a learning hold in all projects; merge those of other projects that say the same into it.

    Raises:
        ClaudeMemError: it waits for the user, holds in all projects already, is not current, or a candidate.
    """
    _refuse_waiting(row)
    if row.project_dir is None:
        raise ClaudeMemError(f"{row.id[:8]} already holds in all projects")
    _refuse_old(row)
    if _is_candidate(row):
        short = row.id[:8]
        raise ClaudeMemError(f"{short} is a candidate, not a rule: claude-mem learnings accept {short} first")
    with facts.transaction():
        _unite(row, learning_rows.elsewhere(row.kin, row.project_dir))
        return _changed(row, "promoted", project_dir=None, kin=[], code=[], stale="")


def _written(row: Learning, event: str, **fields: Any) -> Learning:
    """Change a learning and make it the user's own."""
    with facts.transaction():
        _changed(row, event, is_manual=True, confidence=MANUAL, is_active=True, **fields)
        _settle(row)
    return row


def _settle(row: Learning) -> None:
    """Merge learnings that say the same into the user's own, replace contradicted ones, ask about others."""
    for other in learning_rows.find(row.project_dir, state="current") if row.project_dir else []:
        related = relation(other.content, row.content) if other.id != row.id else "other"
        if other.is_manual or other.project_dir is None or related == "other":
            continue
        if related == "replaces":
            change(other, "contradicted", confidence=penalized(other.confidence), superseded_by=row.id)
        elif related == "same" and not says_more(other.content, row.content):
            _unite(row, [other])
        else:
            learning_rows.ask(row, other, is_again=related == "same")


def _unite(kept: Learning, others: Sequence[Learning]) -> None:
    for row in others:
        learning_rows.update(
            kept,
            times_seen=max(kept.times_seen, len({*kept.source_sessions, *row.source_sessions})),
            source_sessions=list(dict.fromkeys([*kept.source_sessions, *row.source_sessions])),
            observations=list(dict.fromkeys([*kept.observations, *row.observations])),
            confidence=max(kept.confidence, row.confidence),
            is_manual=kept.is_manual or row.is_manual,
            seen_at=max(kept.seen_at, row.seen_at),
        )
        change(row, "merged", superseded_by=kept.id)


def _changed(row: Learning, event: str, **fields: Any) -> Learning:
    with facts.transaction():
        change(row, event, updated_at=inbox.utc_now(), **fields)
    return row


def _is_candidate(row: Learning) -> bool:
    return row.is_active and not row.superseded_by and row.confidence < learning_rows.TOLD


def _refuse_old(row: Learning) -> None:
    if not row.is_active or row.superseded_by:
        raise ClaudeMemError(
            f"{row.id[:8]} is not current: first run claude-mem learnings reset {row.id[:8]}"
        )


def _refuse_waiting(row: Learning) -> None:
    if row.quarantine:
        short = row.id[:8]
        raise ClaudeMemError(
            f"{short} waits for you ({'; '.join(row.quarantine)}): "
            f"claude-mem learnings accept {short}, or remove {short}"
        )


def _fit(content: str) -> str:
    text = " ".join(redact(content).split())
    if not text or len(text) > CONTENT_CHARS:
        raise ClaudeMemError(f"a learning needs 1 to {CONTENT_CHARS} characters, this one has {len(text)}")
    return text
