"""Gather the data of a report from the memory."""

import datetime as dt
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.codemap.confidence import STRONG
from claude_mem_lite.reports import model, store
from claude_mem_lite.reports.store import Period
from claude_mem_lite.storage import code, facts, learnings, models
from claude_mem_lite.text import clean

Place = tuple[str, str]  # file and name
Calls = list[dict[str, Any]]

DEFAULT_DAYS = 7
DEFAULT_LEARNINGS = 20
_NEVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)  # stands for a time that cannot be parsed


def gather(  # noqa: PLR0913  (what is told, and of what)
    *,
    project_dir: str | None = None,
    session_id: str | None = None,
    days: int = DEFAULT_DAYS,
    most_learnings: int = DEFAULT_LEARNINGS,
    daily_budget_usd: float,
    now: float,
    zone: dt.tzinfo | None = None,
) -> model.Report:
    """Return the report of the last `days` days, including today, or of a whole session.

    None stands for all projects and sessions; `zone` is the reader's time zone, by default this machine's.
    """
    made_at = inbox.utc_text(now)
    period = Period(project_dir=project_dir, session_id=session_id)
    if session_id is None:
        period = Period(_midnight(now, days - 1, zone), made_at, project_dir)
    with facts.snapshot():
        rows, calls = store.sessions(period), store.calls(period)
        functions = store.changed_functions(period)
        sessions = tuple(_sessions(period, rows, functions, calls, zone))
        changed = _changed(rows, functions)
        counted = Counter(change for places in changed.values() for change in places.values())
        by_day, tools = _activity(period, zone)
        captured, kept = store.tokens(period)
        spans = [(each.started[:10], each.ended[:10]) for each in sessions] if period.session_id else []
        return model.Report(
            made_at=made_at,
            dates=spans[0] if spans else (_minute(period.since, zone)[:10], _minute(made_at, zone)[:10]),
            project_dir=None if period.project_dir is None else plain(period.project_dir),
            session_id=None if period.session_id is None else plain(period.session_id),
            sessions=sessions,
            observations=sum(tools.values()),
            tokens_captured=captured,
            tokens_kept=kept,
            days=by_day,
            tools=dict(tools.most_common()),
            functions={change: counted[change] for change in model.CHANGES},
            files=_files(sessions, of_all=period.project_dir is None and period.session_id is None),
            learnings=_learnings(period, most=most_learnings),
            costs=_costs(calls, daily_budget_usd, is_of_session=period.session_id is not None),
            graphs=tuple(_graph(project, places) for project, places in changed.items() if places),
        )


def plain(text: str) -> str:
    """Return captured text on one line and without invisible characters, because it is not trusted."""
    return " ".join(clean(text).split())


def _sessions(
    period: Period,
    rows: Iterable[models.Session],
    functions: Mapping[str, Mapping[Place, str]],
    calls: Calls,
    zone: dt.tzinfo | None,
) -> Iterator[model.Session]:
    counts, files = store.observation_counts(period), store.changed_files(period)
    usd: dict[str, float] = defaultdict(float)
    for call in calls:
        usd[call["session_id"]] += call["usd"]
    for row in rows:
        yield model.Session(
            id=plain(row.id),
            project_dir=plain(row.project_dir),
            status=plain(row.status),
            started_at=plain(row.started_at),
            last_event_at=plain(row.last_event_at),
            started=_minute(row.started_at, zone),
            ended=_minute(max(row.started_at, row.last_event_at), zone),
            summary=plain(row.summary or ""),
            observations=counts.get(row.id, 0),
            decisions=tuple(filter(None, (plain(str(each)) for each in row.key_decisions))),
            functions=_named(functions.get(row.id, {})),
            files=tuple(model.File(plain(path), edits) for path, edits in files.get(row.id, {}).items()),
            usd=round(usd[row.id], 6),
        )


def _changed(
    rows: Sequence[models.Session], functions: Mapping[str, Mapping[Place, str]]
) -> dict[str, dict[Place, str]]:
    """Return each function's net change over all sessions, by project, those with most changes first."""
    steps: dict[str, list[tuple[Place, str]]] = defaultdict(list)
    for row in reversed(rows):
        steps[row.project_dir] += functions.get(row.id, {}).items()
    found = {project: code.net(changes) for project, changes in steps.items()}
    return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))


def _activity(period: Period, zone: dt.tzinfo | None) -> tuple[tuple[model.Day, ...], Counter[str]]:
    """Return the number of observations by day and kind, and by tool or event."""
    days: dict[str, Counter[str]] = defaultdict(Counter)
    tools: Counter[str] = Counter()
    for minute, tool, tier, number in store.activity(period):
        days[_minute(f"{minute}:00.0Z", zone)[:10]][_kind(tool, tier)] += number
        tools[plain(tool)] += number
    return tuple(
        model.Day(date, {kind: counts[kind] for kind in model.KINDS}) for date, counts in sorted(days.items())
    ), tools


def _kind(tool: str, tier: str) -> str:
    if not tier:
        return "words"
    if tool in EDITORS:
        return "edits"
    if tier == "low":
        return "look-ups"
    return "commands" if tool == "Bash" else "other tools"


def _files(sessions: Iterable[model.Session], *, of_all: bool) -> tuple[model.File, ...]:
    """Return the files of all sessions, most edited first; with `of_all`, paths begin with the project."""
    edits: Counter[Place] = Counter()
    for session in sessions:
        for file in session.files:
            edits[session.project_dir, file.path] += file.edits
    return tuple(
        model.File(f"{os.path.basename(project)}/{path}" if of_all else path, number)
        for (project, path), number in edits.most_common()
    )


def _learnings(period: Period, *, most: int) -> model.Learnings:
    """Return the learnings, new ones first, then by confidence; for a session, those that it supports."""

    def found(state: learnings.State) -> list[models.Learning]:
        rows = learnings.find(period.project_dir, state=state)
        return [row for row in rows if period.session_id in {None, *row.source_sessions}]

    known = found("active")
    told = [
        model.Learning(
            id=row.id,
            project_dir=None if row.project_dir is None else plain(row.project_dir),
            category=plain(row.category),
            content=plain(row.content),
            confidence=round(row.confidence, 4),
            stale=plain(row.stale),
            sessions=len(row.source_sessions),
            observations=len(row.observations),
            is_manual=row.is_manual,
            is_new=period.session_id is None and period.since <= row.created_at <= period.until,
        )
        for row in known
    ]
    stale = sum(bool(each.stale) for each in told)
    return model.Learnings(
        active=len(told) - stale,
        stale=stale,
        waiting=len(found("quarantine")),
        new=sum(each.is_new for each in told),
        shown=tuple(sorted(told, key=lambda each: not each.is_new)[:most]),
    )


def _costs(calls: Calls, daily_budget_usd: float, *, is_of_session: bool) -> model.Costs:
    """Return the costs; for a session, only the days on which it cost something."""
    days: dict[str, tuple[float, float]] = {}
    purposes: dict[Place, Counter[str]] = {}
    for call in calls:
        mine = call["usd"] if call["is_mine"] else 0.0
        before = days.get(call["day"], (0.0, 0.0))
        days[call["day"]] = before[0] + mine, before[1] + call["usd"]
        if call["is_mine"]:
            counts = purposes.setdefault((call["purpose"], call["model"]), Counter())
            counts.update({name: call[name] for name in ("calls", "captures", "usd")})
            counts.update({"tokens_in": call["input_tokens"], "tokens_out": call["output_tokens"]})
    told = [
        model.Purpose(
            purpose=plain(purpose) or "unfinished",
            model=plain(name),
            calls=counts["calls"],
            captures=counts["captures"],
            tokens_in=counts["tokens_in"],
            tokens_out=counts["tokens_out"],
            usd=round(counts["usd"], 6),
        )
        for (purpose, name), counts in purposes.items()
    ]
    return model.Costs(
        usd=round(sum(each.usd for each in told), 6),
        daily_budget_usd=daily_budget_usd,
        days=tuple(
            model.DayCost(day, round(usd, 6), round(everywhere, 6))
            for day, (usd, everywhere) in sorted(days.items())
            if usd or not is_of_session
        ),
        purposes=tuple(sorted(told, key=lambda each: -each.usd)),
    )


def _graph(project_dir: str, changed: Mapping[Place, str]) -> model.Graph:
    """Return a project's changed functions with callers and callees; a callee without a file is uncertain."""
    places = dict.fromkeys(changed)
    calls: dict[tuple[Place, Place], bool] = {}
    for caller, callee, confidence in store.calls_near(project_dir, changed.keys()):
        places |= {caller: None, callee: None}
        calls.setdefault((caller, callee), confidence >= STRONG and bool(callee[0]))
    at = {place: number for number, place in enumerate(places)}
    return model.Graph(
        project_dir=plain(project_dir),
        functions=_named({place: changed.get(place, "unchanged") for place in places}),
        calls=tuple(model.Call(at[a], at[b], is_certain) for (a, b), is_certain in calls.items()),
    )


def _named(changes: Mapping[Place, str]) -> tuple[model.Function, ...]:
    return tuple(
        model.Function(plain(file), plain(name), plain(change)) for (file, name), change in changes.items()
    )


def _midnight(now: float, days_before: int, zone: dt.tzinfo | None) -> str:
    """Return the start (UTC text) of the day that is `days_before` days before today in the zone."""
    today = dt.datetime.fromtimestamp(now, dt.UTC).astimezone(zone).replace(tzinfo=zone)
    first = (today - dt.timedelta(days=days_before)).replace(hour=0, minute=0, second=0, microsecond=0)
    return inbox.utc_text(first.timestamp())  # by the offset of that date, which may not be today's


def _minute(at: str, zone: dt.tzinfo | None) -> str:
    """Return a UTC time as a local minute such as 2026-11-21T14:03."""
    try:
        moment = dt.datetime.fromtimestamp(inbox.unix_time(at), dt.UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        moment = _NEVER
    return moment.replace(tzinfo=None).isoformat(timespec="minutes")
