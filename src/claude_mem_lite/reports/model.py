"""Define the data of a report, shared by all formats; texts have one line and no invisible characters.

Times are UTC text as the databases store it; dates are in the reader's time zone.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

KINDS = ("edits", "commands", "look-ups", "other tools", "words")  # of observations
CHANGES = ("new", "modified", "deleted")


@dataclass(frozen=True, slots=True)
class Function:
    """A function and its net change in a session or in all: "new", "modified", "deleted" or "unchanged"."""

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
    """One session, with its activity in the period; `started` and `ended` (last event) are local times."""

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
        """The day on which the session began."""
        return self.started[:10]


@dataclass(frozen=True, slots=True)
class Day:
    """A day's number of observations of each kind; days without observations are left out."""

    date: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Learning:
    """One learning, with the number of sessions and observations behind it; `stale` says what has changed."""

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
    """Counts of learnings by state, and how many are new in the period; `shown` may not have all."""

    active: int
    stale: int
    waiting: int
    new: int
    shown: tuple[Learning, ...]

    @property
    def known(self) -> int:
        """How many learnings are active, stale or not."""
        return self.active + self.stale


@dataclass(frozen=True, slots=True)
class DayCost:
    """A day's dollars in the report's scope and everywhere; days are UTC, as the budget counts them."""

    date: str
    usd: float
    usd_everywhere: float


@dataclass(frozen=True, slots=True)
class Purpose:
    """Totals of the requests of one purpose and model; `tokens_in` includes cache reads and writes."""

    purpose: str
    model: str
    calls: int
    captures: int
    tokens_in: int
    tokens_out: int
    usd: float


@dataclass(frozen=True, slots=True)
class Costs:
    """Cost of the requests to Claude."""

    usd: float
    daily_budget_usd: float
    days: tuple[DayCost, ...]
    purposes: tuple[Purpose, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call edge; `caller` and `callee` are indexes into the graph's `functions`."""

    caller: int
    callee: int
    is_certain: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """A project's changed functions, followed by their "unchanged" callers and callees, and the calls."""

    project_dir: str
    functions: tuple[Function, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Activity between two times, in one project or session or in all (None).

    `dates` are the first and the last day; `functions` counts functions by their net change in the period.
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
        """Return the report as JSON types."""
        return dataclasses.asdict(self)
