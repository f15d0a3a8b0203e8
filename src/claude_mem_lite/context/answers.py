"""Answer a hook, and note which parts of the answer count as shown.

Both the web process and the helper that replaces it while it is down use these functions, so that their
answers are the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.context import FRESH, SOURCES, builder
from claude_mem_lite.context.builder import ContextBlock
from claude_mem_lite.context.prompts import question
from claude_mem_lite.context.text import MAX_BLOCK_UNITS, utf16_units
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage import context as context_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.context.shown import Shown
    from claude_mem_lite.distill.observation import Capture
    from claude_mem_lite.search.hybrid import Searcher

# Rows sampled for the word statistics by a process that answers once; 2,000 take an eighth of a second.
_ROWS_SAMPLED_ONCE = 250
# A sub-agent starts as soon as it is called, so an older call was refused.
_CALLED_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A block and its notes, in the form of `Shown.add`; the notes in `to_keep` belong in `event_log`."""

    block: ContextBlock
    notes: tuple[dict[str, Any], ...] = ()

    @property
    def recalled(self) -> tuple[Line, ...]:
        """The lines of the recall section, which answer a prompt."""
        return tuple(
            line for each in self.block.sections if each.name == context_rows.RECALL for line in each.lines
        )

    @property
    def to_keep(self) -> list[dict[str, Any]]:
        """The notes of blocks that have text."""
        return [note for note in self.notes if note["tokens"]]


def at_start(project_dir: str, *, session_id: str, source: str, idle_s: float | None, shown: Shown) -> Answer:
    """Answer the start of a session."""
    known = () if source in FRESH else shown.ids
    block = builder.build(project_dir, session_id=session_id, source=source, idle_s=idle_s, shown=known)
    return Answer(block, (_note(block, source),) if block.text or source in FRESH else ())


def with_prompt(  # noqa: PLR0913  (who asks, what for, and until when)
    searcher: Searcher | None,
    project_dir: str,
    prompt: str,
    *,
    session_id: str,
    shown: Shown,
    until: float | None = None,
) -> Answer:
    """Answer a prompt; a start block that was not available in full at the start comes first, once.

    With `searcher`, the search uses vectors if they are ready by `until` (monotonic). Without it, a search by
    words alone is set up that is fast for a single prompt.
    """
    late = _late_start(project_dir, session_id, shown)
    known = shown
    if late:
        known = replace(
            shown,
            ids={*shown.ids, *late.ids, *late.also},
            branches={*shown.branches, late.branch or ""},
            stated={*shown.stated, *late.stated},
        )
    block = ContextBlock("")
    branch = context_rows.branch_of(session_id)
    if question(prompt) or shown.late or branch not in {*SHARED_BRANCHES, *known.branches}:
        from claude_mem_lite.context import blocks

        searcher = searcher or _searcher_by_words()
        block = blocks.for_prompt(
            searcher, project_dir, prompt, session_id=session_id, shown=known, until=until, branch=branch
        )
    notes = (_note(block, context_rows.RECALL),) if block.text else ()
    if late is None:
        return Answer(block, notes)
    assert shown.owed is not None  # noqa: S101  (`_late_start` has looked)
    if late.text and utf16_units(f"{late.text}\n{block.text}") > MAX_BLOCK_UNITS:
        block, notes = ContextBlock(""), ()
    return Answer(_together(late, block), (_note(late, shown.owed["source"]), *notes))


def about_file(project_dir: str, file: str, *, session_id: str, shown: Shown) -> Answer:
    """Answer a tool that read or changed a file, once per file and session."""
    from claude_mem_lite.context import blocks
    from claude_mem_lite.context.past import in_project

    path = in_project(file, project_dir)
    block = blocks.for_file(project_dir, file, session_id=session_id, shown=shown)
    note = _note(block, "touch", files=[path] if path else [])
    return Answer(block, (note,) if block.text or path else ())


def about_failure(capture: Capture, project_dir: str, *, session_id: str, shown: Shown) -> Answer:
    """Answer a failed call with what worked after the same failure before, once per failure and session."""
    from claude_mem_lite.context import blocks
    from claude_mem_lite.distill.calls import told
    from claude_mem_lite.distill.failing import error_of

    error = error_of(capture)
    if error is None:
        return Answer(ContextBlock(""))
    block = blocks.for_failure(
        project_dir, error.signatures, told(capture), session_id=session_id, shown=shown
    )
    return Answer(block, (_note(block, "failure", causes=error.signatures),) if block.text else ())


def at_subagent(  # noqa: PLR0913  (what is known of it)
    searcher: Searcher | None,
    project_dir: str,
    *,
    session_id: str,
    agent_id: str = "",
    agent_type: str = "",
    task: str | None = None,
) -> Answer:
    """Answer the start of a sub-agent; `task` is its prompt (default: the one found in the queue)."""
    from claude_mem_lite.context import blocks

    if task is None:
        since = inbox.utc_text(time.time() - _CALLED_S)
        task = context_rows.task_of(session_id, agent_id, agent_type, since=since)
    block = blocks.for_subagent(lambda: searcher or _searcher_by_words(), project_dir, task)
    return Answer(block, (_note(block, context_rows.SUBAGENT),) if block.text else ())


def _searcher_by_words() -> Searcher:
    from claude_mem_lite.search.hybrid import Searcher

    return Searcher(by_meaning=False, sampled_rows=_ROWS_SAMPLED_ONCE)


def _late_start(project_dir: str, session_id: str, shown: Shown) -> ContextBlock | None:
    """Return the start block that a session is still owed, as of the time of its start, or None."""
    owed = shown.owed
    if owed is None or owed.get("source") not in SOURCES:
        return None
    return builder.build(
        project_dir,
        session_id=session_id,
        source=owed["source"],
        idle_s=owed.get("idle_s"),
        shown=shown.ids,
        now=float(owed["at"]),
    )


def _together(first: ContextBlock, second: ContextBlock) -> ContextBlock:
    return ContextBlock(
        text="\n".join(filter(None, [first.text, second.text])),
        tokens=first.tokens + second.tokens,
        layers=first.layers + second.layers,
        skipped=first.skipped + second.skipped,
        build_ms=round(first.build_ms + second.build_ms, 1),
        sections=first.sections + second.sections,
    )


def _note(
    block: ContextBlock, via: str, *, files: Sequence[str] = (), causes: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "via": via, "ids": block.ids, "also": block.also, "named": block.named, "parts": block.parts,
        "tokens": block.tokens, "files": list(files), "stated": block.stated,
        **({"causes": list(causes)} if causes else {}),
        **({"branches": [block.branch]} if block.branch else {}),
    }  # fmt: skip
