"""Write a report as one HTML file for screens and paper, which loads nothing and runs only its own search."""

import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from claude_mem_lite import __version__
from claude_mem_lite.reports import charts, drawing, words
from claude_mem_lite.reports.charts import Series
from claude_mem_lite.reports.element import Element, chip, document, element, figure, more, section, table
from claude_mem_lite.reports.model import CHANGES, KINDS, File, Function, Graph, Learning, Report, Session
from claude_mem_lite.text import count, one_line

MARK = b'<!doctype html>\n<html lang="en" class="claude-mem-report">'  # identifies our pages

_HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(_HERE, "search.js"), encoding="utf-8") as _file:
    SCRIPT = _file.read()
_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
# The browser runs the search, identified by its hash, and no other script.
POLICY = (
    f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

MOST_SESSIONS = 100
_MOST_FUNCTIONS, _MOST_FILES, _MOST_DECISIONS = 24, 12, 12
_MOST_TOOLS, _MOST_GRAPHS, _MOST_ALONE = 8, 3, 40
_MOST_COLOURS = 5  # projects with a colour of their own
_SUMMARY_CHARS, _TEXT_CHARS = 1_200, 600
_LABEL = re.compile(
    r"(?:(?<=[.?!…] )|^)"
    r"((?:Asked|Committed|Tests|Ended|Ended with|Left open|Files|Commits|Also asked|Before that):)"
)
_FOLDED = frozenset({"Files:", "Commits:", "Also asked:", "Before that:"})
_STYLE = os.path.join(_HERE, "style.css")


def page(report: Report) -> str:
    """Return the page; long texts are cut, and long lists say how much they leave out."""
    with open(_STYLE, encoding="utf-8") as file:
        style = file.read()
    sections = [
        part
        for part in (
            _timeline(report), _activity(report), _sessions(report), _changes(report), _learnings(report),
            _costs(report),
        )
        if part is not None
    ]  # fmt: skip
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{one_line(words.name(report), 80)}, {words.period(report)}"),
        element("style", style),
    )
    body = element(
        "body",
        _header(report, sections),
        element("main", sections),
        element("footer", f"claude-mem {__version__}. This page has everything in it and loads nothing."),
        element("script", SCRIPT),
    )
    return document(element("html", head, body, lang="en", class_="claude-mem-report"))


def _header(report: Report, sections: Sequence[Element]) -> Element:
    where = report.project_dir or (
        report.sessions[0].project_dir if report.session_id and report.sessions else ""
    )
    links = [element("a", part[0].text or "", href=f"#{part.get('id')}") for part in sections]
    return element(
        "header",
        element("h1", one_line(words.name(report), 120)),
        element(
            "p", words.period(report), element("span", one_line(where, 200), class_="path") if where else None
        ),
        element(
            "dl",
            [
                element("div", element("dt", noun), element("dd", number))
                for number, noun in words.headline(report)
            ],
            class_="numbers",
        ),
        element("nav", links, aria_label="Sections") if len(links) > 1 else None,
        element(
            "p",
            element("label", "Search sessions and learnings ", for_="search"),
            element("input", id="search", type="search", autocomplete="off"),
            element("span", id="found", role="status"),
            class_="search",
            hidden="hidden",
        ),
    )


def _timeline(report: Report) -> Element | None:
    if not report.sessions:
        return section("sessions", "Sessions", element("p", "No sessions in this period."))
    projects = Counter(session.project_dir for session in report.sessions)
    colours = {
        project: f"k{at}" for at, (project, _) in enumerate(projects.most_common(_MOST_COLOURS), start=1)
    }
    drawn, left = charts.timeline(report, _links(report), colours)
    phone, _ = charts.timeline(report, _links(report), colours, width=charts.PHONE)
    legend = [(one_line(words.project(project), 40), class_) for project, class_ in colours.items()]
    if len(projects) > len(colours):
        legend.append((count(len(projects) - len(colours), "other project"), "k9"))
    caption = "When the sessions were, in hours of the day"
    if left:
        caption += f"; {count(left, 'earlier day')} left out"
    return section(
        "timeline", "Time line", figure(drawn, caption, legend if len(legend) > 1 else (), phone=phone)
    )


def _links(report: Report) -> dict[str, str]:
    """Return each session's anchor in the page: a number, because session ids are captured text, too."""
    return {session.id: f"s{at}" for at, session in enumerate(report.sessions[:MOST_SESSIONS])}


def _activity(report: Report) -> Element | None:
    if not report.observations:
        return None
    values = {day.date: [day.counts[kind] for kind in KINDS] for day in report.days}
    labels, rows, unit = charts.by_day(*report.dates, values)
    series = [
        Series(kind, f"k{at + 1}", [row[at] for row in rows])
        for at, kind in enumerate(KINDS)
        if any(row[at] for row in rows)
    ]
    figures = []
    if len(labels) > 1:
        draw = partial(
            charts.columns,
            f"Observations by {unit} and kind",
            labels,
            series,
            tick=lambda value: f"{value:,.0f}",
        )
        legend = [(each.label, each.class_) for each in series]
        figures.append(_for_both(draw, f"Observations by {unit}", legend))
    tools = sorted(report.tools.items(), key=lambda each: (-each[1], each[0]))
    rest = sum(number for _, number in tools[_MOST_TOOLS:])
    shown = [(one_line(name, 40) or "no tool", number) for name, number in tools[:_MOST_TOOLS]]
    by_tool = charts.bars("Observations by tool or event", shown + ([("others", rest)] if rest else []))
    pairs = [figure(by_tool, "By tool or event")]
    if report.files:
        busiest = [(one_line(file.path, 200), file.edits) for file in report.files[:_MOST_TOOLS]]
        pairs.append(figure(charts.bars("Edits by file", busiest), "Files edited most"))
    saved = f"{report.tokens_captured:,} tokens were captured and {report.tokens_kept:,} kept."
    return section(
        "activity", "Observations", figures, element("div", pairs, class_="pair"), element("p", saved)
    )


def _sessions(report: Report) -> Element | None:
    if not report.sessions:
        return None
    links = _links(report)
    shown = [
        _session(session, links.get(session.id, ""), with_project=report.project_dir is None)
        for session in report.sessions[:MOST_SESSIONS]
    ]
    return section("sessions", "Sessions", shown, more("p", len(report.sessions), MOST_SESSIONS))


def _session(session: Session, key: str, *, with_project: bool) -> Element:
    facts = [
        words.project(session.project_dir) if with_project else "",
        session.id[: words.ID_CHARS],
        count(session.observations, "observation"),
        words.usd(session.usd) if session.usd else "",
        "" if session.status == "closed" else session.status,
    ]
    decisions = [element("li", one_line(each, _TEXT_CHARS)) for each in session.decisions[:_MOST_DECISIONS]]
    told, folded = _told(one_line(session.summary, _SUMMARY_CHARS))
    below = [*folded, *_functions(session.functions), *_files(session.files)]
    changed = f"functions {words.changes(session.functions)}" if session.functions else ""
    held = "; ".join(filter(None, [changed, count(len(session.files), "file") if session.files else ""]))
    return element(
        "article",
        element("h3", words.span(session)),
        element("p", " · ".join(one_line(fact, 60) for fact in facts if fact), class_="facts"),
        told,
        element("h4", "Decided") if decisions else None,
        element("ul", decisions, class_="decisions") if decisions else None,
        element("details", element("summary", f"More: {held}" if held else "More"), below) if below else None,
        id=key,
    )


def _told(summary: str) -> tuple[Element, list[Element]]:
    """Return a summary with one line per label ("Asked:", "Tests:"), and the lines to fold away."""
    begin, *parts = _LABEL.split(summary)
    if not parts:
        return element("p", begin or "No summary yet."), []
    lines: dict[bool, list[Element]] = {False: [], True: []}
    for label, text in zip(parts[::2], parts[1::2], strict=True):
        lines[label in _FOLDED].append(element("li", element("b", label), text))
    first = element("li", begin) if begin.strip() else None
    folded = [element("ul", lines[True], class_="told")] if lines[True] else []
    return element("ul", first, lines[False], class_="told"), folded


def _functions(functions: Sequence[Function]) -> Iterable[Element]:
    """Yield the functions that a session changed, grouped by file."""
    if not functions:
        return
    yield element("h4", f"Functions: {words.changes(functions)}")
    files: dict[str, list[Element]] = {}
    for each in functions[:_MOST_FUNCTIONS]:
        files.setdefault(each.file, []).append(chip(each))
    for file, chips in files.items():
        yield element("ul", element("li", one_line(file, 120), class_="path"), chips, class_="chips")
    if (left := more("p", len(functions), _MOST_FUNCTIONS)) is not None:
        yield left


def _files(files: Sequence[File]) -> Iterable[Element]:
    if not files:
        return
    chips = [
        element(
            "li", element("code", one_line(file.path, 120)), f" ×{file.edits}" if file.edits > 1 else None
        )
        for file in files[:_MOST_FILES]
    ]
    yield element("h4", f"Files: {len(files)} edited")
    yield element("ul", chips, more("li", len(files), _MOST_FILES), class_="chips")


def _changes(report: Report) -> Element | None:
    if not report.graphs:
        return None
    told = [
        child
        for at, graph in enumerate(report.graphs[:_MOST_GRAPHS])
        for child in _graph(graph, f"arrow{at}", with_project=len(report.graphs) > 1)
    ]
    said = ", ".join(f"{number:,} {change}" for change, number in report.functions.items() if number)
    return section(
        "changes",
        "What changed",
        element("p", f"Functions: {said}.") if said else None,
        told,
        more("p", len(report.graphs), _MOST_GRAPHS, "projects with changes"),
    )


def _graph(graph: Graph, name: str, *, with_project: bool) -> Iterable[Element]:
    if with_project:
        yield element("h3", one_line(words.project(graph.project_dir), 80))
    places = drawing.chosen(graph)
    drawn = set(places)
    if places:
        legend = [(f"{words.SIGNS[change]} {change}", f"swatch {change}") for change in CHANGES]
        legend += [("sure call", "stroke"), ("unsure call", "stroke unsure")]
        yield figure(
            drawing.call_graph(graph, places, name=name),
            "Who calls what was changed: callers on the left",
            legend,
        )
    alone = [
        each for at, each in enumerate(graph.functions) if each.change != "unchanged" and at not in drawn
    ]
    if alone:
        what = "Changed, too" if places else "Changed; no calls are known"
        chips = [chip(each) for each in alone[:_MOST_ALONE]]
        yield element("h4", what)
        yield element("ul", chips, more("li", len(alone), _MOST_ALONE), class_="chips")


def _learnings(report: Report) -> Element | None:
    known = report.learnings
    if not known.known and not known.waiting:
        return None
    parts = [
        ("current", known.active, "k4"),
        ("may be outdated", known.stale, "k2"),
        ("waiting for you", known.waiting, "k9"),
    ]
    legend = [(f"{name}: {number:,}", class_) for name, number, class_ in parts if number]
    rows = [_learning(each, with_project=report.project_dir is None) for each in known.shown]
    heads = ("confidence", "kind", "learning", "evidence")
    return section(
        "learnings",
        "Learnings",
        figure(charts.share("Learnings by state", parts), "", legend),
        table(heads, rows, said="Learnings", numbers_from=len(heads)) if rows else None,
        more("p", known.known, len(known.shown)),
    )


def _learning(learning: Learning, *, with_project: bool) -> Element:
    project = "all projects" if learning.project_dir is None else words.project(learning.project_dir)
    notes = [
        "new" if learning.is_new else "",
        one_line(project, 60) if with_project or learning.project_dir is None else "",
        f"may be outdated: {one_line(learning.stale, 200)}" if learning.stale else "",
    ]
    note = "; ".join(filter(None, notes))
    return element(
        "tr",
        element("td", f"{learning.confidence:.2f}", class_="number"),
        element("td", one_line(learning.category, 40), class_="word"),
        element(
            "td",
            one_line(learning.content, _TEXT_CHARS),
            element("span", note, class_="note") if note else None,
        ),
        element("td", words.evidence(learning), class_="word"),
    )


def _costs(report: Report) -> Element | None:
    costs = report.costs
    if not costs.days:
        return None
    rows = [
        element(
            "tr",
            element("td", one_line(each.purpose, 40), class_="word"),
            element("td", one_line(each.model, 60), class_="word"),
            [
                element("td", text, class_="number")
                for text in (
                    f"{each.calls:,}", f"{each.captures:,}", f"{each.tokens_in:,}", f"{each.tokens_out:,}",
                    words.usd(each.usd),
                )
            ],
        )
        for each in costs.purposes
    ]  # fmt: skip
    heads = ("for", "model", "calls", "captures", "tokens in", "tokens out", "cost")
    costs_told = table(heads, rows, said="Cost by purpose", numbers_from=2)
    return section(
        "cost",
        "Cost",
        _cost_chart(report),
        costs_told if rows else element("p", "Nothing was paid for this."),
    )


def _cost_chart(report: Report) -> Element:
    costs = report.costs
    values = {day.date: [day.usd, max(day.usd_everywhere - day.usd, 0.0)] for day in costs.days}
    labels, rows, unit = charts.by_day(*report.dates, values)
    others = any(row[1] for row in rows)
    series = [Series("this report", "k1", [row[0] for row in rows])]
    if others:
        series.append(Series("everything else", "k9", [row[1] for row in rows]))
    most, budget = max(sum(row) for row in rows), costs.daily_budget_usd
    in_sight = unit == "day" and budget and most > budget / 5
    caption = f"Dollars by {unit} (UTC)"
    if unit == "day" and budget and not in_sight:
        caption += f"; at most {most / budget:.1%} of the daily budget of {words.usd(budget)} was used"
    limit = (budget, f"daily budget {words.usd(budget)}") if in_sight else None
    draw = partial(charts.columns, caption, labels, series, tick=words.usd, limit=limit)
    legend = [(each.label, each.class_) for each in series] if others else ()
    return _for_both(draw, caption, legend)


def _for_both(draw: Callable[..., Element], caption: str, legend: Sequence[tuple[str, str]]) -> Element:
    """Return a figure with one drawing for screens and one for phones."""
    screen, phone = (draw(width=width) for width in (charts.WIDTH, charts.PHONE))
    return figure(screen, caption, legend, phone=phone)
