"""Draw charts as SVG: sessions on the hours of their days, columns by day, bars by name."""

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from claude_mem_lite.reports import words
from claude_mem_lite.reports.element import Element, element
from claude_mem_lite.reports.model import Report, Session

WIDTH = 880
PHONE = 358  # px between the margins of a phone 390 px wide
MOST_DAYS = 31  # days of a time line: the newest ones
_LEFT, _RIGHT = 84, 8
_HOURS = 24
_LANE, _LANES, _LEAST = 13, 6, 5  # px of a lane, most lanes of a day, least px of a session
_PLOT, _TOP, _BOTTOM = 150, 14, 24
_LABEL_PX = 58
_MOST_COLUMNS = 62  # more days are summed by week or month
_MINUTES = 60
_MOST_DAYS_SUMMED = 4_000  # the newest days; a longer period comes from a wrong clock
_BAR_NAME_CHARS = 26


@dataclass(frozen=True, slots=True)
class Series:
    """One part of stacked columns, bottom first; `class_` gives its colour, `values` has one per column."""

    label: str
    class_: str
    values: Sequence[float]


def timeline(
    report: Report, links: Mapping[str, str], colours: Mapping[str, str], *, width: int = WIDTH
) -> tuple[Element, int]:
    """Return the sessions as bars on the hours of their days, and how many days are left out.

    `links` maps session ids to anchors in the page, `colours` maps projects to classes.
    """
    parts: dict[str, list[tuple[float, float, Session]]] = defaultdict(list)
    for session in report.sessions:
        for day, begin, end in _hours(session):
            parts[day].append((begin, end, session))
    days = sorted(_all_days(report, parts), reverse=True)
    shown = days[:MOST_DAYS]
    rows, top = [], 22.0
    for day in shown:
        lanes = _lanes(parts[day], width)
        height = max(len(lanes), 1) * _LANE + 9
        rows += [
            _across(top, width, "grid"),
            element("text", words.date(day, with_weekday=True), x=2, y=top + 15, class_="label"),
        ]
        for number, lane in enumerate(lanes):
            rows += [
                _bar(part, top + 5 + number * _LANE, links.get(part[2].id), colours, width) for part in lane
            ]
        top += height
    marks = [
        mark
        for hour in range(0, _HOURS + 1, 3 if width == WIDTH else 6)
        for mark in (
            element("line", x1=_x(hour, width), x2=_x(hour, width), y1=18, y2=top, class_="grid"),
            _tick(f"{hour:02}", _x(hour, width), 11, "end" if hour == _HOURS else "middle"),
        )
    ]
    said = f"Time line of {len(report.sessions)} sessions, a row for each day, from 0 to 24 o'clock"
    return _svg(said, top + 4, [*marks, *rows], width=width), len(days) - len(shown)


def _all_days(report: Report, parts: Mapping[str, object]) -> set[str]:
    """Return the days that get a row: in a period of up to 14 days all, else those with a session."""
    first, last = (dt.date.fromisoformat(day) for day in report.dates)
    number = (last - first).days + 1
    if number > 2 * 7:
        return set(parts)
    return set(parts) | {(first + dt.timedelta(days=each)).isoformat() for each in range(number)}


def _hours(session: Session) -> list[tuple[str, float, float]]:
    """Return a session's days with its first and last hour on each; only the last days of a long session."""
    begun, ended = (dt.datetime.fromisoformat(text) for text in (session.started, session.ended))
    first = max(begun.date(), ended.date() - dt.timedelta(days=MOST_DAYS))
    days = [first + dt.timedelta(days=each) for each in range((ended.date() - first).days + 1)]
    return [
        (
            day.isoformat(),
            begun.hour + begun.minute / _MINUTES if day == begun.date() else 0.0,
            ended.hour + ended.minute / _MINUTES if day == ended.date() else float(_HOURS),
        )
        for day in days
    ]


def _lanes(parts: list[tuple[float, float, Session]], width: int) -> list[list[tuple[float, float, Session]]]:
    """Return the sessions by lane: simultaneous ones in separate lanes, overlapping once all are taken."""
    lanes: list[list[tuple[float, float, Session]]] = []
    ends: list[float] = []
    shortest = _LEAST * _HOURS / (width - _LEFT - _RIGHT)
    for part in sorted(parts, key=lambda part: part[:2]):
        free = next((at for at, end in enumerate(ends) if end <= part[0]), None)
        if free is None and len(lanes) < _LANES:
            free = len(lanes)
            lanes.append([])
            ends.append(0.0)
        free = min(range(len(ends)), key=ends.__getitem__) if free is None else free
        lanes[free].append(part)
        ends[free] = max(part[1], part[0] + shortest)
    return lanes


def _bar(
    part: tuple[float, float, Session],
    top: float,
    link: str | None,
    colours: Mapping[str, str],
    width: int,
) -> Element:
    begin, end, session = part
    long = max(_x(end, width) - _x(begin, width), _LEAST)
    left = min(_x(begin, width), width - _RIGHT - long)
    said = f"{words.span(session)}, {session.observations} observations: {session.summary[:160]}"
    colour = colours.get(session.project_dir, "k9")
    drawn = element(
        "rect", element("title", said), x=left, y=top, width=long, height=_LANE - 3, rx=2, class_=colour
    )
    return element("a", drawn, href=f"#{link}") if link else drawn


def _x(hour: float, width: int) -> float:
    return _LEFT + hour / _HOURS * (width - _LEFT - _RIGHT)


def by_day(
    first: str, last: str, values: Mapping[str, Sequence[float]]
) -> tuple[list[str], list[list[float]], str]:
    """Return the columns' labels, their values, and their unit: "day", "week" or "month".

    Days without values count as 0; many days are summed by week (from Monday) or by month.
    """
    begin, end = (dt.date.fromisoformat(day) for day in (min(first, *values), max(last, *values)))
    begin = max(begin, end - dt.timedelta(days=_MOST_DAYS_SUMMED - 1))
    number = (end - begin).days + 1
    unit = "day" if number <= _MOST_COLUMNS else "week" if number <= 7 * _MOST_COLUMNS else "month"
    width = len(next(iter(values.values()), ()))
    sums: dict[str, list[float]] = {}
    days = [begin + dt.timedelta(days=each) for each in range(number)]
    for day in days:
        start = day - dt.timedelta(days=day.weekday()) if unit == "week" else day
        label = start.strftime("%b %Y") if unit == "month" else words.date(start.isoformat())
        total = sums.setdefault(label if unit == "month" else f"{start.year}\0{label}", [0.0] * width)
        for at, value in enumerate(values.get(day.isoformat(), ())):
            total[at] += value
    return [label.rpartition("\0")[2] for label in sums], list(sums.values()), unit


def columns(  # noqa: PLR0913  (what is drawn, and how wide)
    said: str,
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    tick: Callable[[float], str],
    limit: tuple[float, str] | None = None,
    width: int = WIDTH,
) -> Element:
    """Return stacked columns with an axis; `limit` is a line across them with its label."""
    totals = [sum(values) for values in zip(*(each.values for each in series), strict=True)]
    highest = max([*totals, *([limit[0]] if limit else [])], default=0.0)
    step = _step(highest)
    top = max(math.ceil(highest / step - 1e-9), 1) * step
    base = _TOP + _PLOT

    def y(value: float) -> float:
        return base - value / top * _PLOT

    steps = [number * step for number in range(round(top / step) + 1)]
    drawn = [
        mark
        for value in steps
        for mark in (
            _across(y(value), width, "grid"),
            _tick(tick(value), _LEFT - 8, y(value) + 4, "end"),
        )
    ]
    each_px = (width - _LEFT - _RIGHT) / max(len(labels), 1)
    wide = min(each_px * 0.72, 44.0)
    every = math.ceil(_LABEL_PX / each_px)
    for at, label in enumerate(labels):
        middle = _LEFT + (at + 0.5) * each_px
        parts = [(each, each.values[at]) for each in series]
        drawn += _column(middle - wide / 2, wide, parts, y, f"{label}: {tick(totals[at])}")
        if at % every == 0:
            x = min(middle, width - _LABEL_PX / 2)
            drawn.append(_tick(label, x, base + 17, "middle"))
    if limit:
        drawn += [
            _across(y(limit[0]), width, "limit"),
            _tick(limit[1], width - _RIGHT, y(limit[0]) - 4, "end"),
        ]
    return _svg(said, base + _BOTTOM, drawn, width=width)


def _column(
    left: float,
    width: float,
    parts: Sequence[tuple[Series, float]],
    y: Callable[[float], float],
    total: str,
) -> list[Element]:
    drawn, below = [], 0.0
    for series, value in parts:
        if value:
            said = element("title", f"{total}, {series.label} {value:,.10g}" if len(parts) > 1 else total)
            high = y(below) - y(below + value)
            place = {"x": left, "y": y(below + value), "width": width, "height": high}
            drawn.append(element("rect", said, class_=series.class_, **place))
        below += value
    return drawn


def _step(highest: float) -> float:
    """Return the step of an axis: 1, 2 or 5 times a power of ten, for about four lines."""
    if highest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest / 4))
    return next(power * times for times in (1, 2, 5, 10) if power * times * 4 >= highest * 0.999)


def bars(said: str, rows: Sequence[tuple[str, int]]) -> Element:
    """Return a bar for each name, with its number."""
    most = max((number for _, number in rows), default=1) or 1
    left, width = 190, 420
    drawn = []
    for at, (name, number) in enumerate(rows):
        top = at * 22.0
        long = max(number / most * (width - left - 60), 2.0)
        cut = name if len(name) <= _BAR_NAME_CHARS else "…" + name[1 - _BAR_NAME_CHARS :]
        drawn += [
            element("text", cut, x=left - 8, y=top + 14, class_="label", text_anchor="end"),
            element("rect", x=left, y=top + 4, width=long, height=13, rx=2, class_="k1"),
            element("text", f"{number:,}", x=left + long + 6, y=top + 14, class_="tick"),
        ]
    return _svg(said, len(rows) * 22 + 2, drawn, width=width, class_="chart small")


def share(said: str, parts: Sequence[tuple[str, int, str]]) -> Element:
    """Return one bar divided into parts, given as (name, number, class)."""
    total = sum(number for _, number, _ in parts) or 1
    drawn, left = [], 0.0
    for name, number, class_ in parts:
        wide = number / total * WIDTH
        if number:
            shown = element("title", f"{name}: {number:,}")
            drawn.append(
                element("rect", shown, x=left, y=0, width=max(wide - 2, 1.0), height=14, rx=2, class_=class_)
            )
        left += wide
    return _svg(said, 14, drawn, preserveAspectRatio="none", class_="chart flat")


def _tick(said: str, x: float, y: float, anchor: str) -> Element:
    return element("text", said, x=x, y=y, class_="tick", text_anchor=anchor)


def _across(y: float, width: int, class_: str) -> Element:
    """Return a horizontal line across the plot."""
    return element("line", x1=_LEFT, x2=width - _RIGHT, y1=y, y2=y, class_=class_)


def _svg(
    said: str, height: float, children: Sequence[Element], *, width: int = WIDTH, **attributes: str
) -> Element:
    given = {"viewBox": f"0 0 {width} {height:.0f}", "role": "img", "class_": "chart"} | attributes
    return element("svg", element("title", said), children, **given)
