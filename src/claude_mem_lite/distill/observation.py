"""The input and output types of the distillers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_mem_lite.codemap.languages import Change

SUMMARY_CHARS = 1_500
OBSERVATION_CHARS = 2_000  # about 500 tokens


@dataclass(frozen=True, slots=True)
class Capture:
    """One event of the queue; `payload` is the hook event as the client sent it."""

    event_name: str
    tool_name: str
    payload: dict[str, Any]
    project_dir: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing worth remembering; paths are relative to the project if they lie inside it."""

    title: str
    summary: str
    detail: str | None = None
    files_touched: tuple[str, ...] = ()
    functions_changed: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """The reason, in a short phrase, why an event has nothing worth remembering."""

    reason: str
