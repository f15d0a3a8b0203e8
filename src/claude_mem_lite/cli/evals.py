"""eval: how well the memory does."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.cli.app import AsJson, app, console, open_memory, print_json

evaluate = typer.Typer(no_args_is_help=True, help="Measure how well the memory does.")
app.add_typer(evaluate, name="eval")


@evaluate.callback()
def _group() -> None:
    """Measure how well the memory does."""


@evaluate.command()
def health(
    *,
    project: Annotated[str, typer.Option(metavar="PATH", help="Only the project of this folder.")] = "",
    as_json: AsJson = False,
) -> None:
    """Tell how much of what sessions were shown was of use to them: opened, named or touched again."""
    from claude_mem_lite.evals.health import HOW, use_of_context

    open_memory(read_only=True)
    found = use_of_context(config.project_dir(os.path.expanduser(project)) if project else None)
    if as_json:
        print_json(found)
        return
    if not found["sessions"]:
        console.print("No session that was shown something has ended yet.")
        return
    columns = ("blocks", "tokens", "shown", *HOW, "used")
    table = Table("shown via", *columns, "share", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, row in (*found["via"].items(), ("all", found["all"])):
        share = "" if row["share"] is None else f"{row['share']:.0%}"
        table.add_row(Text(name), *(f"{row[column]:,}" for column in columns), share)
    console.print(f"{found['sessions']} sessions")
    console.print(table)
