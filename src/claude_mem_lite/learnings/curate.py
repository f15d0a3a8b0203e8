"""What the user does with learnings by hand: what they write is theirs, sure, and touched by nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_mem_lite import inbox, redact
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.learnings import anchors
from claude_mem_lite.learnings.evolve import CONTENT_CHARS, INITIAL, MANUAL, change
from claude_mem_lite.storage import learnings as storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.storage.models import Learning


def add(content: str, *, category: str, project_dir: str | None) -> Learning:
    """Write a learning of one's own; without `project_dir` it holds in all projects.

    Raises:
        ClaudeMemError: it is empty, too long, or there already.
    """
    content, now = _fit(content), inbox.utc_now()
    with storage.transaction():
        for row in storage.find(project_dir, state="active") if project_dir else []:
            if row.content.casefold() == content.casefold() and row.is_manual:
                raise ClaudeMemError(f"{row.id[:8]} says that already")
        row = storage.insert(
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
    return row


def edit(row: Learning, *, content: str = "", category: str = "") -> Learning:
    """Change a learning's words; from then on it is the user's own. Raises: ClaudeMemError."""
    _refuse_waiting(row)
    text = _fit(content) if content else row.content
    code = anchors.as_json(anchors.speaks_of(row.project_dir, text))
    return _changed(
        row, "edited", content=text, category=category or row.category, code=code, stale="",
        is_manual=True, confidence=MANUAL, is_active=True, superseded_by=None,
    )  # fmt: skip


def accept(row: Learning) -> Learning:
    """Take in what waits for the user, as their own. Raises: ClaudeMemError when it does not wait."""
    if not row.quarantine:
        raise ClaudeMemError(f"{row.id[:8]} does not wait for anything")
    return _changed(row, "accepted", is_active=True, quarantine=[], is_manual=True, confidence=MANUAL)


def remove(row: Learning) -> Learning:
    """Put a learning away; it is kept, never told, and does not come back by itself."""
    return _changed(row, "removed", is_active=False, quarantine=[], superseded_by=None)


def reset(row: Learning) -> Learning:
    """Let a learning begin again at 0.5, with the code as it is now. Raises: ClaudeMemError."""
    _refuse_waiting(row)
    code = anchors.as_json(anchors.speaks_of(row.project_dir, row.content)) or row.code
    return _changed(
        row, "reset", confidence=INITIAL, is_manual=False, is_active=True, superseded_by=None, stale="",
        code=code,
    )  # fmt: skip


def merge(kept: Learning, others: Sequence[Learning]) -> Learning:
    """Make one learning of several: the first stays, with the evidence of all. Raises: ClaudeMemError."""
    for row in (kept, *others):
        _refuse_waiting(row)
    if any(row.id == kept.id for row in others):
        raise ClaudeMemError(f"{kept.id[:8]} cannot be merged into itself")
    if kept.project_dir is not None and any(row.project_dir != kept.project_dir for row in others):
        raise ClaudeMemError(f"{kept.id[:8]} is of another project: claude-mem learnings promote")
    with storage.transaction():
        _unite(kept, others)
        return _changed(kept, "united", is_active=True, superseded_by=None)


def promote(row: Learning) -> Learning:
    """Let a learning hold in all projects; those of other projects that say the same are merged into it.

    Raises:
        ClaudeMemError: it holds there already, or is not current.
    """
    _refuse_waiting(row)
    if row.project_dir is None:
        raise ClaudeMemError(f"{row.id[:8]} holds in all projects already")
    if not row.is_active or row.superseded_by:
        raise ClaudeMemError(f"{row.id[:8]} is not current: claude-mem learnings reset {row.id[:8]} first")
    with storage.transaction():
        _unite(row, storage.elsewhere(row.kin, row.project_dir))
        return _changed(row, "promoted", project_dir=None, kin=[], code=[], stale="")


def _unite(kept: Learning, others: Sequence[Learning]) -> None:
    for row in others:
        storage.update(
            kept,
            times_seen=kept.times_seen + row.times_seen,
            source_sessions=list(dict.fromkeys([*kept.source_sessions, *row.source_sessions])),
            observations=list(dict.fromkeys([*kept.observations, *row.observations])),
            confidence=max(kept.confidence, row.confidence),
            is_manual=kept.is_manual or row.is_manual,
            seen_at=max(kept.seen_at, row.seen_at),
        )
        change(row, "merged", superseded_by=kept.id)


def _changed(row: Learning, event: str, **fields: Any) -> Learning:
    with storage.transaction():
        change(row, event, updated_at=inbox.utc_now(), **fields)
    return row


def _refuse_waiting(row: Learning) -> None:
    if row.quarantine:
        short = row.id[:8]
        raise ClaudeMemError(
            f"{short} waits for you ({'; '.join(row.quarantine)}): "
            f"claude-mem learnings accept {short}, or remove {short}"
        )


def _fit(content: str) -> str:
    text = " ".join(redact.redact(content).split())
    if not text or len(text) > CONTENT_CHARS:
        what = f"has {len(text)} characters" if text else "is empty"
        raise ClaudeMemError(f"the learning {what}: say it in 1 to {CONTENT_CHARS}")
    return text
