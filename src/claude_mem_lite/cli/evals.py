"""eval: the command group of measurements, with `eval health` and `eval sql`."""

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite.cli.app import app, evaluate
from claude_mem_lite.cli.options import AsJson, OnlyProject, project_of
from claude_mem_lite.cli.output import console, figure, open_memory, print_json, print_table, table_of
from claude_mem_lite.cli.text import printable

_USE = ("blocks", "tokens", "shown", "opened", "named", "touched", "used")
_COMPRESSION = {
    "observations": ",", "compression_ratio": ".1f", "structural_validity": ".0%", "title_quality": ".2f",
    "latency_ms": ",", "usd": ".5f",
}  # fmt: skip
_STATES = {"raw": "raw", "done": "done", "error": "in error", "lost": "lost", "set_aside": "set aside"}
_CHURN = ("inserted", "added", "merged", "contradicted", "stale", "faded", "quarantined")


app.add_typer(evaluate, name="eval")


@evaluate.command()
def health(
    *,
    days: Annotated[int, typer.Option(min=1, max=3_650, help="Number of days to look back.")] = 30,
    project: OnlyProject = "",
    as_json: AsJson = False,
) -> None:
    """Report on queue, cost, compression, code map and learnings, and on what sessions used.

    A line that a session was shown counts as used if it opened, named or
    touched it. --project narrows only this, the code map and the learnings.
    """
    from claude_mem_lite.evals import monitor

    open_memory(read_only=True)
    chosen = project_of(project) if project else None
    found = monitor.report(chosen, days=days, now=time.time())
    if print_json(found, as_json=as_json):
        return
    _show_queue(found["queue"])
    _show_errors(found["errors"])
    console.print(
        "[bold]recall[/bold] {in_time:,} answers in time, {too_late:,} too late".format(**found["recall"])
    )
    by_day = found["cost"]["by_day"]
    calls, on = sum(row["calls"] for row in by_day), len(by_day)
    spent = f"${found['cost']['usd']:.4f} in {days} days, {calls:,} calls on {on} of them"
    console.print(f"[bold]cost[/bold]   {spent}")
    _show_compression(found["compression"])
    _show_code_map(found["code_map"])
    _show_learnings(found["learnings"])
    for row in found["evaluations"]:
        console.print(
            f"[bold]judged[/bold] {row['day']}  {row['judged']:,}: quality {row['quality']:.2f}, "
            f"information kept {row['info_preservation']:.0%}, reasons {row['decision_rationale']:.0%}"
        )
    _show_use(found)


@evaluate.command()
def sql() -> None:
    """Print SQL for monitoring: claude-mem eval sql | sqlite3 ~/.claude-mem/claude-mem.db."""
    from claude_mem_lite.evals import QUERIES

    with open(QUERIES, encoding="utf-8") as file:
        typer.echo(file.read(), nl=False)


def _show_queue(found: Mapping[str, Any]) -> None:
    states = ", ".join(f"{found[name]:,} {told}" for name, told in _STATES.items())
    console.print(f"[bold]queue[/bold]  {states}; {found['messages']:,} messages waiting")
    for name, told in (("age", "age of waiting events"), ("took", "time to process")):
        each = found[name]
        if each["p50_s"] is not None:
            numbers = ", ".join(f"{share} {each[f'{share}_s']:,.1f} s" for share in ("p50", "p95", "max"))
            console.print(f"       {told}: {numbers}")


def _show_errors(found: Mapping[str, Mapping[str, int]]) -> None:
    told = [
        f"{part}: {printable(kind)} {count:,}"
        for part, kinds in found.items()
        for kind, count in kinds.items()
    ]
    console.print(Text.assemble(("errors", "bold"), " ", "; ".join(told) or "none"))


def _show_compression(found: Mapping[str, Mapping[str, Any]]) -> None:
    console.print("[bold]compression[/bold]" + ("" if found else "  nothing yet"))
    if not found:
        return
    table = table_of(("  written by", *map(quality.head, _COMPRESSION)))
    for writer, row in found.items():
        told = (figure(row[name], form) for name, form in _COMPRESSION.items())
        table.add_row(Text(f"  {printable(writer)}"), *told)
    print_table(table, heads=True)


def _show_code_map(found: Mapping[str, Any]) -> None:
    shares = {name: figure(found[f"{name}_share"], ".0%") for name in ("parsed", "resolved", "confirmed")}
    console.print(
        f"[bold]code map[/bold]  {found['files']:,} files, {shares['parsed']} of them read; "
        f"{found['calls']:,} calls, {shares['resolved']} resolved, {shares['confirmed']} confirmed by "
        f"observed calls; {found['stale']:,} of {found['observed']:,} observed calls are stale"
    )


def _show_learnings(found: Mapping[str, Mapping[str, int]]) -> None:
    now = ", ".join(f"{count:,} {state}" for state, count in found["now"].items())
    events = found["events"]
    names = [*(name for name in _CHURN if name in events), *sorted(events.keys() - set(_CHURN))]
    churn = ", ".join(f"{events[name]:,} {name}" for name in names)
    console.print(f"[bold]learnings[/bold]  {now}; recently: {churn or 'no change'}")


def _show_use(found: Mapping[str, Any]) -> None:
    if not found["sessions"]:
        console.print("No session that was shown anything has ended yet.")
        return
    table = table_of(("shown via", *_USE, "share"))
    for name, row in (*found["via"].items(), ("all", found["all"])):
        share = "" if row["share"] is None else f"{row['share']:.0%}"
        table.add_row(Text(printable(name)), *(f"{row[column]:,}" for column in _USE), share)
    console.print(f"{found['sessions']} sessions")
    print_table(table, heads=True)


from claude_mem_lite.cli import own_data, quality, replay  # noqa: E402, F401  (they add their commands to the group)
