"""report: what happened in the last days or in a session, as text, Markdown, JSON or an HTML page."""

import os
import time
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from claude_mem_lite import settings
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AllProjects, AsJson, Project, exclusive, project_of
from claude_mem_lite.cli.output import console, open_memory, print_json, print_line, story_table
from claude_mem_lite.reports import words
from claude_mem_lite.reports.model import Costs, Day, Learnings, Report, Session
from claude_mem_lite.text import count, join, one_line

_MOST_SESSIONS, _MOST_NAMES, _MOST_DAYS = 10, 6, 31
_SUMMARY_LINES = 3
_BAR_CHARS = 32
_INDENT = 2


@app.command()
def report(  # noqa: PLR0913  (each is an option of the command)
    *,
    days: Annotated[
        int | None, typer.Option(min=1, max=3_650, help="Number of days, including today; default: 7.")
    ] = None,
    session: Annotated[str, typer.Option(metavar="ID", help="Report on this session alone.")] = "",
    project: Project = "",
    all_projects: AllProjects = False,
    learnings: Annotated[int, typer.Option(min=0, max=10_000, help="Show at most this many learnings.")] = 20,
    as_markdown: Annotated[bool, typer.Option("--md", help="Print Markdown.")] = False,
    as_json: AsJson = False,
    html: Annotated[
        str, typer.Option(metavar="FILE", help="Write a page to this file; replaces an earlier report.")
    ] = "",
) -> None:
    """Report on the last days: sessions, decisions, changed code, learnings, costs."""
    exclusive(md=as_markdown, json=as_json, html=html)
    exclusive(project=project, all_projects=all_projects, session=session)
    exclusive(days=days is not None, session=session)
    open_memory(read_only=True)
    from claude_mem_lite.reports import gather
    from claude_mem_lite.storage import queries

    found = gather.gather(
        project_dir=None if session or all_projects else project_of(project),
        session_id=queries.session_by_prefix(session).id if session else None,
        days=days or gather.DEFAULT_DAYS,
        most_learnings=learnings,
        daily_budget_usd=settings.load().daily_budget_usd,
        now=time.time(),
    )
    if as_json:
        print_json(found.as_json(), as_json=True)
    elif as_markdown:
        from claude_mem_lite.reports.markdown import markdown

        typer.echo(markdown(found), nl=False)
    elif html:
        _write_page(found, os.path.abspath(os.path.expanduser(html)))
    else:
        _show(found)


def _print_indented(told: RenderableType) -> None:
    console.print(Padding(told, (0, 0, 0, _INDENT), expand=False), soft_wrap=False)


def _write_page(found: Report, path: str) -> None:
    from claude_mem_lite.reports import page
    from claude_mem_lite.upkeep import outfile

    with outfile.created(path, replacing=page.MARK) as file:
        file.write(page.page(found).encode())
    print_line(f"Wrote {path}. Open it in a browser.")


def _show(report: Report) -> None:
    """Print a report: a line of totals, the days, the sessions, the learnings, the costs."""
    head = Text.assemble((words.name(report), "bold"), f"  {words.period(report)}")
    if report.project_dir:
        head.append(f"  {report.project_dir}", style="dim")
    console.print(head)
    numbers = [f"{number} {noun}" for number, noun in words.headline(report)]
    print_line(", ".join(numbers))
    if not report.sessions:
        everywhere = "" if report.project_dir is None else ", --all-projects everywhere"
        print_line(f"No sessions in this period. --days 30 looks further back{everywhere}.", "dim")
    _show_days(report.days)
    for session in report.sessions[:_MOST_SESSIONS]:
        _show_session(session, with_project=report.project_dir is None)
    _say_left_out(len(report.sessions), _MOST_SESSIONS, "sessions: --md and --html show more")
    _show_learnings(report.learnings)
    _show_costs(report.costs)


def _show_days(days: Sequence[Day]) -> None:
    """Print a bar for each of the last days with activity, if there are two or more."""
    totals = [(day.date, sum(day.counts.values())) for day in days[-_MOST_DAYS:]]
    most = max((total for _, total in totals), default=0)
    table = Table.grid(padding=(0, 2, 0, 0))
    for date, total in totals if len(totals) > 1 else ():
        bar = "█" * max(round(total / most * _BAR_CHARS), 1)
        day = words.date(date, with_weekday=True)
        table.add_row(Text(day, "dim"), Text.assemble((bar, "blue"), f" {total:,}"))
    if table.row_count:
        console.print()
        console.print(table, soft_wrap=False)


def _show_session(session: Session, *, with_project: bool) -> None:
    head = Text.assemble((words.span(session), "bold"), "  ", (session.id[: words.ID_CHARS], "yellow"))
    if with_project:
        head.append(f"  {words.project(session.project_dir)}", style="blue")
    head.append(f"  {count(session.observations, 'observation')}", style="dim")
    if session.usd:
        head.append(f"  {words.usd(session.usd)}", style="dim")
    console.print()
    console.print(head)
    told = one_line(session.summary, _SUMMARY_LINES * max(console.width - _INDENT, 20))
    _print_indented(Text(told or "No summary yet."))
    lines = [("decided", one_line(decision, 300)) for decision in session.decisions]
    if session.functions:
        names = [f"{words.SIGNS.get(each.change, '')}{each.name}" for each in session.functions]
        shown = join([one_line(name, 80) for name in names], _MOST_NAMES)
        lines.append(("functions", f"{words.changes(session.functions)}: {shown}"))
    if session.files:
        lines.append(("files", join([one_line(file.path, 120) for file in session.files], _MOST_NAMES)))
    if lines:
        _print_indented(story_table(lines))


def _show_learnings(known: Learnings) -> None:
    if not known.known and not known.waiting:
        return
    console.print()
    head = Text.assemble(("Learnings", "bold"), f"  {known.active} current")
    head.append(f", {known.stale} may be outdated" if known.stale else "")
    head.append(f", {known.waiting} waiting for you" if known.waiting else "")
    console.print(head)
    table = Table.grid(padding=(0, 2, 0, 0))
    for style in ("green", "cyan", ""):
        table.add_column(style=style, overflow="fold", no_wrap=bool(style))
    for each in known.shown:
        told = Text(one_line(each.content, 300))
        told.append(f"  {words.evidence(each)}", style="dim")
        told.append(", new" if each.is_new else "", style="bold green")
        if each.stale:
            stale = one_line(each.stale, 120)
            told.append(f", may be outdated: {stale}", style="yellow")
        table.add_row(Text(f"{each.confidence:.2f}"), Text(each.category), told)
    _print_indented(table)
    _say_left_out(known.known, len(known.shown), "learnings: claude-mem learnings list")


def _show_costs(costs: Costs) -> None:
    if not costs.purposes:
        return
    console.print()
    most, budget = max(day.usd_everywhere for day in costs.days), costs.daily_budget_usd
    told = f", at most {words.usd(most)} of {words.usd(budget)} in a day" if budget else ""
    console.print(Text.assemble(("Cost", "bold"), f"  {words.usd(costs.usd)}{told}"))
    for each in costs.purposes:
        calls = count(each.calls, "call")
        line = f"{words.usd(each.usd)}  {each.purpose}, {calls}, {each.model}"
        _print_indented(Text(line))


def _say_left_out(number: int, shown: int, what: str) -> None:
    if more := words.left_out(number, shown):
        console.print()
        print_line(f"{more} {what}", "dim")
