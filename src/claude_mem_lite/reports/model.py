"""Define the data of a report, the same for every format: texts on one line, without invisible characters.

Times are UTC texts as the memory writes them, dates those of the reader's time zone.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

KINDS = ("edits", "commands", "look-ups", "other tools", "words")  # of observations
CHANGES = ("new", "modified", "deleted")


@dataclass(frozen=True, slots=True)
class Function:
    """A function as a session, or all of them, left it: "new", "modified" or "deleted"."""

    file: str
    name: str
    change: str


@dataclass(frozen=True, slots=True)
class File:
    """A file and how often it was edited."""

    path: str
    edits: int


@dataclass(frozen=True, slots=True)
class Session:
    """One session, with what falls into the time; `started` and `ended` (its last event) are local times."""

    id: str
    project_dir: str
    status: str
    started_at: str
    last_event_at: str
    started: str
    ended: str
    summary: str
    observations: int
    decisions: tuple[str, ...]
    functions: tuple[Function, ...]
    files: tuple[File, ...]
    usd: float

    @property
    def date(self) -> str:
        """The day it began on."""
        return self.started[:10]


@dataclass(frozen=True, slots=True)
class Day:
    """How many observations of each kind a day has brought; only days that brought some are told."""

    date: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Learning:
    """One learning, with how many sessions and observations support it; `stale` says what has changed."""

    id: str
    project_dir: str | None
    category: str
    content: str
    confidence: float
    stale: str
    sessions: int
    observations: int
    is_manual: bool
    is_new: bool


@dataclass(frozen=True, slots=True)
class Learnings:
    """What is known, and how much of it was learned in this time; `shown` may be fewer than there are."""

    active: int
    stale: int
    waiting: int
    new: int
    shown: tuple[Learning, ...]

    @property
    def known(self) -> int:
        """How many are current, stale or not."""
        return self.active + self.stale


@dataclass(frozen=True, slots=True)
class DayCost:
    """The dollars of a day (UTC, as the budget counts them), and those of all projects."""

    date: str
    usd: float
    usd_everywhere: float


@dataclass(frozen=True, slots=True)
class Purpose:
    """What calls of one purpose came to; `tokens_in` with those read from and written to the cache."""

    purpose: str
    model: str
    calls: int
    captures: int
    tokens_in: int
    tokens_out: int
    usd: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What Claude's words have cost."""

    usd: float
    daily_budget_usd: float
    days: tuple[DayCost, ...]
    purposes: tuple[Purpose, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls whom, by place in a graph's functions."""

    caller: int
    callee: int
    is_certain: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """The functions of a project that were changed, then those beside them ("unchanged"), and their calls."""

    project_dir: str
    functions: tuple[Function, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What happened between two times, in one project or session or in all (None).

    `dates` are the first and the last day, `functions` what became of each in the whole time.
    """

    made_at: str
    dates: tuple[str, str]
    project_dir: str | None
    session_id: str | None
    sessions: tuple[Session, ...]
    observations: int
    tokens_captured: int
    tokens_kept: int
    days: tuple[Day, ...]
    tools: dict[str, int]
    functions: dict[str, int]
    files: tuple[File, ...]
    learnings: Learnings
    costs: Costs
    graphs: tuple[Graph, ...]

    def as_json(self) -> dict[str, Any]:
        """Return all of it in JSON's types."""
        return dataclasses.asdict(self)
