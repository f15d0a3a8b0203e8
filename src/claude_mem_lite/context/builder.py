"""Which rows go into a session's block, within the budget. How they read is `layers`' business."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from claude_mem_lite import config
from claude_mem_lite.context import layers
from claude_mem_lite.storage import DatabaseError, queries
from claude_mem_lite.tokens import CHARS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SESSIONS = 10
MAX_OBSERVATIONS = 10

# A look at a file is worth a line only in a search.
_LOOKS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead", "ToolSearch", "TodoWrite"})


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens for each layer; the reserve is for the fence and its head."""

    session_index: int = 400
    function_map: int = 500
    learnings: int = 300
    observations: int = 600
    reserve: int = 200

    @property
    def total(self) -> int:
        """All of it."""
        return self.session_index + self.function_map + self.learnings + self.observations + self.reserve


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The text for the session's start and what it is made of."""

    text: str
    tokens: int
    layers: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    build_ms: float = 0.0


@dataclass(slots=True)
class _Layer:
    name: str
    build: Callable[[], str]
    text: str = field(default="")


def build(
    project_dir: str,
    *,
    session_id: str = "",
    source: str = "startup",
    budget: Budget | None = None,
    now: float | None = None,
) -> ContextBlock:
    """Return the block for a session of a project; empty for a project that is not remembered.

    A layer that cannot be read is left out and named. After a compaction the session's own observations
    come too; otherwise they are left out, because the model still has them.
    """
    started = time.monotonic()
    now = time.time() if now is None else now
    budget = budget or Budget()
    own = "" if source == "compact" else session_id

    def session_index() -> str:
        rows = queries.recent_sessions(project_dir, limit=MAX_SESSIONS, without=own)
        lines = [layers.session_line(row.id, row.last_event_at, row.summary or "", now=now) for row in rows]
        return layers.section("Recent sessions", lines, budget_tokens=budget.session_index)

    def observations() -> str:
        rows = queries.recent_observations(project_dir, limit=4 * MAX_OBSERVATIONS, without_session=own)
        telling = [row for row in rows if row.tool_name not in _LOOKS][:MAX_OBSERVATIONS]
        lines = [
            layers.observation_line(row.id, row.created_at, row.title, row.summary, now=now)
            for row in telling
        ]
        return layers.section("Recent observations", lines, budget_tokens=budget.observations)

    planned = [_Layer("session_index", session_index), _Layer("observations", observations)]
    skipped = []
    for layer in planned:
        try:
            layer.text = layer.build()
        except DatabaseError:
            skipped.append(layer.name)
    text = _fit([layer.text for layer in planned], budget=budget)
    return ContextBlock(
        text=text,
        tokens=estimate_tokens(text) if text else 0,
        layers=tuple(layer.name for layer in planned if layer.text),
        skipped=tuple(skipped),
        build_ms=round((time.monotonic() - started) * 1000, 1),
    )


def _fit(sections: list[str], *, budget: Budget) -> str:
    """Fence the sections, dropping the last lines until the block is within its tokens and units."""
    lines = "\n\n".join(filter(None, sections)).split("\n")
    while text := layers.fence(["\n".join(lines)], socket_path=config.socket_path()):
        within = len(text) <= budget.total * CHARS_PER_TOKEN
        if within and layers.utf16_units(text) <= layers.MAX_BLOCK_UNITS:
            break
        lines.pop()
    return text
