"""prune: the memory kept small."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from claude_mem_lite import settings
from claude_mem_lite.cli.app import AsJson, app, console, errors, open_memory, print_json, working
from claude_mem_lite.cli.text import size
from claude_mem_lite.cli.times import moment
from claude_mem_lite.distill.observation import count, join
from claude_mem_lite.storage import files
from claude_mem_lite.upkeep import retention
from claude_mem_lite.upkeep.sizes import sizes

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")]

_PRUNED = {
    "events": "raw event",
    "event_log": "log entry",
    "log_files": "log file",
    "spool_files": "broken spool file",
}


@app.command()
def prune(  # noqa: PLR0913  (each is an option of the command)
    *,
    older_than: Annotated[
        str | None,
        typer.Option(
            parser=moment,
            metavar="AGE",
            help="What is older goes: 12h, 2d, 3w, 2026-11-01.",
        ),
    ] = None,
    keep_raw: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Keep the newest N raw events, however old.")
    ] = None,
    logs: Annotated[bool, typer.Option("--logs", help="Only log files; with --events both.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Only the event log; with --logs both.")] = False,
    dry_run: DryRun = False,
    vacuum: Annotated[
        bool, typer.Option("--vacuum/--no-vacuum", help="Give what is free back to the disk.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Take out what is worked off: raw events, entries of the event log, log files, broken spool files.

    The consumer does so by itself every hour, as the table "retention" of config.toml says. What is
    remembered, what was paid, and events that wait stay.
    """
    open_memory()
    within = retention.limits(settings.load().retention, now=dt.datetime.now(dt.UTC))
    if older_than is not None:
        within = dataclasses.replace(within, events_before=older_than, logs_before=older_than)
    if keep_raw is not None:
        within = dataclasses.replace(within, keep_raw=keep_raw)
    if logs or events:
        within = dataclasses.replace(within, with_events=False, with_log_entries=events, with_files=logs)
    before, problems = sizes(), []
    if dry_run:
        pruned = retention.prunable(within)
    else:
        with working("pruning", quiet=as_json):
            pruned = retention.prune(within)
            problems = [files.vacuum(path) for path in files.paths()] if vacuum else []
    problems = [f"{problem}; the rest is done: claude-mem prune again" for problem in problems if problem]
    after = sizes()
    counts = dataclasses.asdict(pruned)
    if as_json:
        print_json({
            "dry_run": dry_run, "pruned": counts, "bytes_before": before, "bytes_after": after,
            "problems": problems,
        })  # fmt: skip
    else:
        said = join([count(number, _PRUNED[name]) for name, number in counts.items() if number], limit=9)
        went = "would go" if dry_run else "gone"
        console.print(Text(f"{said} {went}." if said else "Nothing to prune."), soft_wrap=True)
        _print_sizes(before, after)
        for problem in problems:
            errors.print(f"[yellow]![/yellow] {problem}", soft_wrap=True)
    if problems:
        raise typer.Exit(1)


def _print_sizes(before: dict[str, int], after: dict[str, int]) -> None:
    """Print what takes how much room, and what took how much before where that was more or less."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    for name, now in after.items():
        then = f"before {size(before[name])}" if before[name] != now else ""
        table.add_row(name, size(now), then)
    table.add_row("in all", size(sum(after.values())), "")
    console.print(table)
