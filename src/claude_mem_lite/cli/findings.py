"""findings: list what fails in a project, and what worked instead."""

import time
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, Project, project_of
from claude_mem_lite.cli.output import console, open_memory, print_json, print_line, print_table
from claude_mem_lite.cli.text import age, printable
from claude_mem_lite.distill.findings import RECURS


@app.command()
def findings(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Include failures of a single session.")] = False,
    project: Project = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most this many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the calls that failed in several sessions, and what worked instead.

    Failures that most sessions met come first, with old problems: those that
    a check reports in every session. A command that has since
    succeeded unchanged is not listed.
    """
    from claude_mem_lite.distill import findings as told
    from claude_mem_lite.storage import findings as finding_rows

    open_memory(read_only=True)
    project_dir = project_of(project)
    found = told.findings(finding_rows.known(project_dir))
    shown = [each for each in found if everything or each.recurs][:limit]
    if print_json([each.as_json() for each in shown], as_json=as_json):
        return
    table = Table("sessions", "last", "what failed, and what worked", box=None, pad_edge=False)
    for each in shown:
        last = age(each.last_at, time.time())
        table.add_row(str(len(each.sessions)), last, Text(printable(each.says), overflow="fold"))
    if shown:
        print_table(table, wraps=True)
    else:
        print_line(f"No repeated failures are known in {printable(project_dir)}.")
    once = sum(not each.recurs for each in found)
    if once and not everything:
        console.print(f"[dim]{once} more, seen in {RECURS - 1} session: claude-mem findings --all[/dim]")
