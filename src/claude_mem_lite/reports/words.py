"""Write the phrases that all formats of a report share: project, period and totals."""

import datetime as dt
import os
from collections.abc import Sequence

from claude_mem_lite.reports.model import CHANGES, Function, Learning, Report, Session
from claude_mem_lite.text import count

ID_CHARS = 8
SIGNS = {"new": "+", "modified": "~", "deleted": "−", "unchanged": ""}
_CENT = 0.01


def name(report: Report) -> str:
    """Return the report's title: a session, a project or "All projects"."""
    if report.session_id is not None:
        return f"Session {report.session_id[:ID_CHARS]}"
    return "All projects" if report.project_dir is None else project(report.project_dir)


def project(project_dir: str) -> str:
    """Return the last part of a project's path."""
    return os.path.basename(project_dir.rstrip("/")) or project_dir or "no project"


def date(day: str, *, with_weekday: bool = False, with_year: bool = False) -> str:
    """Return a date such as "Sat 21 Nov"."""
    day_ = dt.date.fromisoformat(day)
    form = ("%a " if with_weekday else "") + f"{day_.day} %b" + (" %Y" if with_year else "")
    return day_.strftime(form)


def period(report: Report) -> str:
    """Return the days of a report: "15 Nov to 21 Nov 2026"."""
    first, last = report.dates
    if first == last:
        return date(last, with_weekday=True, with_year=True)
    return f"{date(first, with_year=first[:4] != last[:4])} to {date(last, with_year=True)}"


def span(session: Session) -> str:
    """Return a session's start and end: "Sat 21 Nov, 14:03 to 15:20"."""
    begun = f"{date(session.date, with_weekday=True)}, {session.started[11:]}"
    if session.ended == session.started:
        return begun
    same_day = session.ended[:10] == session.date
    return f"{begun} to {'' if same_day else date(session.ended[:10]) + ', '}{session.ended[11:]}"


def usd(amount: float) -> str:
    """Return dollars with two decimals, or four if below one cent."""
    return f"${amount:,.2f}" if amount >= _CENT or not amount else f"${amount:.4f}"


def headline(report: Report) -> list[tuple[str, str]]:
    """Return the report's main numbers, each with a noun for what it counts."""
    learned = report.learnings
    numbers = [
        (len(report.sessions), "session", ""),
        (report.observations, "observation", ""),
        (sum(report.functions.values()), "function", " changed"),
        (len(report.files), "file", " edited"),
        (sum(len(session.decisions) for session in report.sessions), "decision", ""),
        (learned.new, "new learning", "") if report.session_id is None else (learned.known, "learning", ""),
    ]
    told = [(count(number, noun).partition(" "), what) for number, noun, what in numbers]
    return [*((number, noun + what) for (number, _, noun), what in told), (usd(report.costs.usd), "paid")]


def changes(functions: Sequence[Function]) -> str:
    """Return how many functions are new, modified and deleted: "3 new, 1 deleted"."""
    kinds = [each.change for each in functions]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in CHANGES if kind in kinds)


def evidence(learning: Learning) -> str:
    """Return what supports a learning: "2 sessions, 3 observations"."""
    if learning.is_manual:
        return "your own"
    said = [count(learning.sessions, "session")] if learning.sessions else []
    said += [count(learning.observations, "observation")] if learning.observations else []
    return ", ".join(said) or "none kept"


def left_out(number: int, shown: int) -> str:
    """Return "and 3 more" for items left out, "" if there are none."""
    return f"and {number - shown:,} more" if number > shown else ""
