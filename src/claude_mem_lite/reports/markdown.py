"""Write a report as Markdown; captured text is escaped as plain text or put into code spans."""

import re
from collections.abc import Iterator, Sequence

from claude_mem_lite.codemap.mermaid import render
from claude_mem_lite.reports import words
from claude_mem_lite.reports.model import Report, Session
from claude_mem_lite.text import count, join, one_line

_MOST_SESSIONS, _MOST_FUNCTIONS, _MOST_FILES, _MOST_GRAPHS = 100, 24, 12, 3
_SUMMARY_CHARS, _TEXT_CHARS = 1_200, 600
_MARKS = re.compile(r"([\\`*_{}\[\]<>|~$&])|^([-+#=]|\d+(?=[.)]))")
_TICKS = re.compile(r"`+")


def markdown(report: Report) -> str:
    """Return the report; a list that is too long says how much it leaves out."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {_plain(words.name(report))}"
    yield ""
    where = f" in {_code(report.project_dir)}" if report.project_dir else ""
    yield f"{words.period(report)}{where}: {', '.join(' '.join(each) for each in words.headline(report))}."
    yield from _sessions(report)
    yield from _graphs(report)
    yield from _learnings(report)
    yield from _costs(report)


def _sessions(report: Report) -> Iterator[str]:
    yield from ("", "## Sessions", "")
    if not report.sessions:
        yield "No sessions in this period."
    for session in report.sessions[:_MOST_SESSIONS]:
        yield from _session(session, with_project=report.project_dir is None)
    if more := words.left_out(len(report.sessions), _MOST_SESSIONS):
        yield more


def _session(session: Session, *, with_project: bool) -> Iterator[str]:
    facts = [
        _code(words.project(session.project_dir)) if with_project else "",
        _code(session.id[: words.ID_CHARS]),
        count(session.observations, "observation"),
        words.usd(session.usd) if session.usd else "",
    ]
    yield f"### {words.span(session)}"
    yield ""
    yield ", ".join(filter(None, facts))
    yield ""
    yield _plain(session.summary, _SUMMARY_CHARS) or "No summary yet."
    yield ""
    yield from (f"- Decided: {_plain(each, _TEXT_CHARS)}" for each in session.decisions)
    if session.functions:
        names = [f"{words.SIGNS.get(each.change, '')}{each.name}" for each in session.functions]
        yield f"- Functions ({words.changes(session.functions)}): {_codes(names, _MOST_FUNCTIONS)}"
    if session.files:
        yield f"- Files: {_codes([file.path for file in session.files], _MOST_FILES)}"
    yield ""


def _graphs(report: Report) -> Iterator[str]:
    """Yield the calls as Mermaid, which GitHub and others draw; `render` escapes the names."""
    graphs = [graph for graph in report.graphs if graph.calls]
    if graphs:
        yield from ("", "## Calls of changed functions", "")
    for graph in graphs[:_MOST_GRAPHS]:
        if len(graphs) > 1:
            yield from (f"### {_plain(words.project(graph.project_dir))}", "")
        nodes = [(each.file, each.name) for each in graph.functions]
        calls = {(nodes[call.caller], nodes[call.callee]): call.is_certain for call in graph.calls}
        changes = {(each.file, each.name): each.change for each in graph.functions}
        yield from ("```mermaid", render(nodes, calls, changes) + "```", "")
    if more := words.left_out(len(graphs), _MOST_GRAPHS):
        yield f"{more} projects"


def _learnings(report: Report) -> Iterator[str]:
    known = report.learnings
    if not known.known and not known.waiting:
        return
    yield from ("", "## Learnings", "")
    yield f"{known.active} current, {known.stale} that may be outdated, {known.waiting} waiting for you."
    yield ""
    if known.shown:
        yield from ("| confidence | kind | learning | evidence |", "| ---: | --- | --- | --- |")
    for each in known.shown:
        notes = ["new"] * each.is_new + [f"may be outdated: {each.stale}"] * bool(each.stale)
        note = f" ({_plain('; '.join(notes), _TEXT_CHARS)})" if notes else ""
        content = _plain(each.content, _TEXT_CHARS) + note
        yield f"| {each.confidence:.2f} | {_plain(each.category, 40)} | {content} | {words.evidence(each)} |"
    if more := words.left_out(known.known, len(known.shown)):
        yield from ("", more)


def _costs(report: Report) -> Iterator[str]:
    if not report.costs.purposes:
        return
    yield from ("", "## Cost", "")
    yield "| for | model | calls | captures | tokens in | tokens out | cost |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for each in report.costs.purposes:
        numbers = (each.calls, each.captures, each.tokens_in, each.tokens_out)
        cells = [_plain(each.purpose, 40), _plain(each.model, 60), *(f"{number:,}" for number in numbers)]
        yield f"| {' | '.join(cells)} | {words.usd(each.usd)} |"


def _plain(text: str, chars: int = 200) -> str:
    """Return text with every character escaped that Markdown, or a Markdown table, would interpret."""
    return _MARKS.sub(
        lambda found: f"\\{found[0]}" if found[1] or not found[0].isdigit() else f"{found[0]}\\",
        one_line(text, chars),
    )


def _codes(texts: Sequence[str], most: int) -> str:
    shown = [_code(text) for text in texts]
    return join(shown, limit=most)


def _code(text: str) -> str:
    """Return text as a code span with a fence of more backticks than any run in it."""
    shown = one_line(text, 200) or "?"
    fence = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}".replace("|", "\\|")
