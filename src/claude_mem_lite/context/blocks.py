"""Build the small blocks of a session: for a prompt, about a file, as a command fails."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from claude_mem_lite import settings
from claude_mem_lite.context import failure, touch
from claude_mem_lite.context.budget import Said, fill
from claude_mem_lite.context.builder import SHORT_FENCE_TOKENS, ContextBlock, assemble
from claude_mem_lite.context.layers import Past, in_project
from claude_mem_lite.context.recall import recall
from claude_mem_lite.context.shown import shown_to
from claude_mem_lite.storage import context as context_rows

if TYPE_CHECKING:
    from claude_mem_lite.context.shown import Shown
    from claude_mem_lite.search.hybrid import Searcher

# What a session needs of memory it mostly needs at first; beside a late start's block there is less room.
RECALL_TOKENS, FIRST_TOKENS = 600, 900
_LEAST_TOKENS = 100
_NOTHING = ContextBlock("")


def for_prompt(  # noqa: PLR0913  (who asks, what for, and until when)
    searcher: Searcher,
    project_dir: str,
    prompt: str,
    *,
    session_id: str,
    shown: Shown | None = None,
    until: float | None = None,
) -> ContextBlock:
    """Return what memory has on a prompt, within what the session may still spend on that.

    `shown` is what the session was shown already (default: what `event_log` knows); what came too late for
    the prompt before fills the room that is left. Meaning counts if it is ready by `until` (monotonic).
    """
    started = time.monotonic()
    shown = shown or shown_to(session_id)
    chosen = settings.load()
    is_first = not shown.tokens[context_rows.RECALL]
    at_most = FIRST_TOKENS if is_first and shown.owed is None else RECALL_TOKENS
    most = min(at_most, chosen.recall_tokens_per_session - shown.tokens["recall"])
    if not chosen.recall or most < _LEAST_TOKENS:
        return _NOTHING
    # What the session did itself it has in its context already.
    said = Said((shown.ids - shown.parts) | context_rows.own_ids(session_id))
    room = most - SHORT_FENCE_TOKENS
    section = recall(
        searcher,
        project_dir,
        prompt,
        said=said,
        budget_tokens=room,
        now=time.time(),
        until=until,
        is_first=is_first,
        branch=context_rows.branch_of(session_id),
    )
    fill(section, shown.late, budget_tokens=room - section.tokens, said=said)
    failed = failure.asked_for(
        Past(project_dir, time.time()), prompt,
        session_id=session_id, said=said, budget_tokens=room - section.tokens,
    )  # fmt: skip
    return assemble([failed, section], most_tokens=most, started=started)


def for_file(project_dir: str, file: str, *, session_id: str, shown: Shown | None = None) -> ContextBlock:
    """Return what memory knows of a file, absolute or relative to the project, once a session.

    As much as the session may still spend on files; `shown` as above.
    """
    started = time.monotonic()
    shown = shown or shown_to(session_id)
    path = in_project(file, project_dir)
    left = settings.load().file_tokens_per_session - shown.tokens["touch"]
    if not path or path in shown.files or left < touch.BUDGET_TOKENS:
        return _NOTHING
    said = Said(shown.ids - shown.named)
    section = touch.about(project_dir, path, said=said, without=session_id, now=time.time())
    return assemble([section], most_tokens=touch.BUDGET_TOKENS, started=started)


def for_failure(
    project_dir: str, signature: str, *, session_id: str, shown: Shown | None = None
) -> ContextBlock:
    """Return what worked when calls failed before as one does now, once a session; see `failing.error_of`."""
    started = time.monotonic()
    if signature in (shown or shown_to(session_id)).causes:
        return _NOTHING
    section = failure.as_before(
        Past(project_dir, time.time()),
        signature,
        session_id=session_id,
        budget_tokens=failure.BUDGET_TOKENS - SHORT_FENCE_TOKENS,
    )
    return assemble([section], most_tokens=failure.BUDGET_TOKENS, started=started)
