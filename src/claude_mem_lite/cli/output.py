"""Print to a terminal or a pipe, and ask for confirmation; the consoles of stdout and stderr."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.cli import terminal
from claude_mem_lite.cli.text import printable
from claude_mem_lite.errors import ClaudeMemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.progress import Progress, ProgressColumn

# rich honours NO_COLOR and prints no colours if stdout is no terminal. Lines are never wrapped in a pipe.
console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

_MOST_WARNINGS = 20
_PATH = re.compile(r"[/~]\S*")


def print_line(text: str, style: str = "") -> None:
    """Print text without interpreting markup in it."""
    console.print(Text(text, style))


def print_warning(problem: str) -> None:
    """Print a problem to stderr."""
    errors.print(Text.assemble(("! ", "yellow"), printable(problem)))


def print_warnings(problems: Sequence[str]) -> None:
    """Print the first problems to stderr, and how many more there are."""
    for problem in problems[:_MOST_WARNINGS]:
        print_warning(problem)
    if len(problems) > _MOST_WARNINGS:
        print_warning(f"and {len(problems) - _MOST_WARNINGS} more")


def print_json(value: Any, *, as_json: bool) -> bool:
    """Print indented JSON, the same on a terminal and in a pipe, if `as_json`; return `as_json`."""
    if as_json:
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
    return as_json


def open_memory(*, read_only: bool = False, may_be_new: bool = False) -> None:
    """Open the databases. Raises: ClaudeMemError when there is no memory, unless it `may_be_new`."""
    if not may_be_new and not os.path.exists(config.memory_path()):
        raise ClaudeMemError(
            f"nothing is remembered yet: there is no {config.memory_path()}. "
            "To set everything up: claude-mem install-hooks"
        )
    from claude_mem_lite.storage import models

    models.open_databases(read_only=read_only)


@contextlib.contextmanager
def working(what: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show a spinner on a terminal during slow work; yield a function that changes its text."""
    if quiet or not console.is_terminal:
        yield lambda _: None
    else:
        with console.status(what) as status:
            yield status.update


def progress_bar(count: ProgressColumn | None = None, *, quiet: bool = False) -> Progress:
    """Return a progress bar, shown on a terminal only; the column `count` replaces the percentage."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    shown = count or TaskProgressColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), shown, TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)


def confirmed(what: str, *, yes: bool) -> None:
    """Ask the user to go on; without a terminal only `yes` does. Raises: typer.Exit if they decline."""
    if yes:
        return
    if not (sys.stdin.isatty() and console.is_terminal):
        errors.print(Text(f"claude-mem: {what} Without a terminal, confirm with --yes"))
        raise typer.Exit(2)
    console.print(Text(what))
    if not typer.confirm("Go on?"):
        errors.print("claude-mem: stopped; nothing was changed")
        raise typer.Exit(1)


def table_of(columns: Iterable[str]) -> Table:
    """Return a table without borders: a column of names, then right-aligned columns of numbers."""
    table = Table(*columns, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def story_table(lines: Iterable[tuple[str, str]]) -> Table:
    """Return a table of names and values, a pair per row; long values wrap."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines:
        table.add_row(name, Text(value))
    return table


def print_table(table: Table, *, wraps: bool = False, heads: bool = False) -> None:
    """Print a table, one line per row: cut to fit a terminal; uncut and tab-separated in a pipe.

    With `wraps` a terminal wraps long text instead of cutting it. With `heads` a pipe gets the column names,
    too, for tables that mean nothing without them.
    """
    cells = [[_text(cell) for cell in column.cells] for column in table.columns]
    if not console.is_terminal:
        if heads:
            typer.echo("\t".join(_text(column.header).plain for column in table.columns))
        for row in zip(*cells, strict=True):
            typer.echo("\t".join(cell.plain.strip() for cell in row))
        return
    if wraps:
        console.print(table, soft_wrap=False)
        return
    names = [_text(column.header) if table.show_header else Text() for column in table.columns]
    widths = [
        max(cell.cell_len for cell in (head, *column)) for head, column in zip(names, cells, strict=True)
    ]
    gaps = sum(table.padding[1::2]) * len(widths)
    for column, head, rows, width in zip(
        table.columns, names, cells, terminal.fitted(widths, console.width - gaps), strict=True
    ):
        head.truncate(width, overflow="ellipsis")
        column.header, column.no_wrap = head, True
        column._cells = [_cut(cell, width) for cell in rows]  # noqa: SLF001  (rich has no way to change a cell)
    console.print(table, soft_wrap=False)


def _cut(cell: Text, width: int) -> Text:
    """Return a cell in at most `width` columns; a path loses its beginning, any other text its end."""
    if cell.cell_len > width and _PATH.fullmatch(cell.plain):
        start = next(at for at in range(len(cell) + 1) if cell[at:].cell_len < width)
        return Text("…", style=cell.style) + cell[start:]
    cell.truncate(width, overflow="ellipsis")
    return cell


def _text(cell: Any) -> Text:
    """Return a table cell as one line of text."""
    found = Text.from_markup(cell) if isinstance(cell, str) else cell.copy()
    return Text(" ").join(found.split())


def figure(value: float | None, form: str = ".2f") -> str:
    """Format a figure for printing; "–" if it was not measured."""
    return "–" if value is None else f"{value:{form}}"
