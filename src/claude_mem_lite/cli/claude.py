"""compress and cost: have Claude rewrite observations that rules wrote, and print what it cost."""

import datetime as dt
import os
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from claude_mem_lite import config, keys, settings
from claude_mem_lite.capture import backlog, inbox
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import console, errors, open_memory, print_json, print_table, working
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import instance
from claude_mem_lite.settings import Settings


@app.command()
def compress(  # noqa: PLR0913  (each is an option of the command)
    *,
    pending: Annotated[
        bool, typer.Option("--pending", help="Have Claude rewrite what only the rules wrote.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Rewrite at most this many captures.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what it would cost.")] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Send a Message Batch: half the price, answers within a day.")
    ] = False,
    retry_errors: Annotated[
        bool, typer.Option("--errors", help="Include captures that failed before.")
    ] = False,
    via: Annotated[
        Literal["api", "cli"] | None, typer.Option(help="Use the API, or claude -p on your plan.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have Claude rewrite observations and summaries that rules wrote; works without the services.

    Prints an estimate of the cost first; without --pending it stops there.
    """
    from claude_mem_lite.cli.run import Run, estimate
    from claude_mem_lite.storage import rewrites

    chosen = _chosen(via, batch=batch)
    open_memory(may_be_new=True)
    with working("estimating", quiet=as_json):
        _distill_what_is_raw()
        ids = rewrites.local_observations(chosen.tiers, errors=retry_errors)[:limit]
        sessions = _sessions(errors=retry_errors) if chosen.tells_sessions and not limit else []
        found = estimate(ids, [] if batch else sessions, chosen, is_batch=batch)
    if not as_json:
        _show_estimate(found, chosen)
        if found["requests"] and not pending:
            console.print("To run it: [bold]claude-mem compress --pending[/bold]")
    if pending and not dry_run:
        if chosen.credential is None:
            raise ClaudeMemError(f"Claude was not asked: {keys.about('', chosen.api_key_from)}")
        run = Run(chosen)
        if retry_errors:
            run.reconsider(ids)
        found |= run.batch(ids) if batch else run.now(ids, sessions)
    if not print_json(found, as_json=as_json) and "written" in found:
        _show_result(found)
    if found.get("stopped"):
        raise typer.Exit(1)


@app.command()
def cost(
    *,
    by: Annotated[
        Literal["day", "session"], typer.Option(help="Group the cost by day or by session.")
    ] = "day",
    days: Annotated[int, typer.Option(min=1, max=3_650, help="Number of days to look back.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Show what Claude's rewriting has cost, by day or by session."""
    from claude_mem_lite.storage import ledger

    rows: list[dict[str, Any]] = []
    if os.path.exists(config.memory_path()):
        open_memory(read_only=True)
        since = inbox.utc_text((dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).timestamp())
        rows = ledger.costs(by=by, since=since)
    total = round(sum(row["usd"] for row in rows), 6)
    if print_json({"by": by, "days": days, "usd": total, "rows": rows}, as_json=as_json):
        return
    if not rows:
        console.print(f"No calls to Claude in the last {days} days.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in (by, "calls", "captures", "tokens in", "cache read", "cache write", "out", "ms", "$"):
        table.add_column(column, justify="left" if column == by else "right")
    for row in rows:
        numbers = [row[name] for name in ("calls", "captures", "input_tokens", "cache_read_tokens")]
        numbers += [row[name] for name in ("cache_write_tokens", "output_tokens", "mean_ms")]
        table.add_row(
            escape(str(row[by])), *(f"{int(number or 0):,}" for number in numbers), f"{row['usd']:.4f}"
        )
    print_table(table)
    console.print(f"${total:.4f} in {days} days, at the prices in the settings.")


def _chosen(via: str | None, *, batch: bool) -> Settings:
    """Return the settings for reaching Claude by `via`. Raises: ClaudeMemError if they do not allow it."""
    chosen = settings.load()
    if via == "cli":
        from claude_mem_lite.claude import client

        keys.refuse_session("what is charged to your plan")
        chosen = settings.through_client(chosen, client.found())
    elif via == "api" and chosen.via != "api":
        raise ClaudeMemError(
            f"claude.via is {chosen.via}; to use the API: claude-mem config set claude.via api"
        )
    if batch and chosen.via == "cli":
        raise ClaudeMemError("claude -p cannot send a Message Batch: leave out --batch")
    return chosen


def _sessions(*, errors: bool) -> list[str]:
    """Return the sessions whose summary Claude could bring up to date."""
    from claude_mem_lite.storage import rewrites

    waiting = [row.id for row in rewrites.waiting_sessions()]
    return list(dict.fromkeys([*waiting, *rewrites.outdated_sessions(errors=errors, left=True)]))


def _distill_what_is_raw() -> None:
    """Take in spooled events, and distill raw ones if no consumer runs."""
    from claude_mem_lite.distill.record import record_event
    from claude_mem_lite.storage import queries

    backlog.take_in_spool()
    if not instance.is_running("consumer"):
        for event_id in queries.unfinished_events():
            if event := queries.waiting_event(event_id):
                record_event(event)


def _show_estimate(found: dict[str, Any], chosen: Settings) -> None:
    if not found["requests"]:
        in_batch = f" but {found['in_batch']} captures in a Message Batch" if found["in_batch"] else ""
        console.print(f"Nothing waits for Claude{in_batch}.")
        return
    console.print(
        f"{found['captures']} captures and {found['summaries']} summaries in {found['requests']} requests: "
        f"about ${found['expected_usd']:.4f} with {escape(found['model'])}, "
        f"${max(0.0, found['left_today_usd']):.2f} of today's ${chosen.daily_budget_usd:.2f} is left."
    )


def _show_result(found: dict[str, Any]) -> None:
    if found["sent"]:
        console.print(
            f"Sent {found['sent']} captures as a Message Batch. The services fetch the results within a day; "
            "without the services, fetch them with: claude-mem compress --pending"
        )
    if found["written"] or found["asked"] > found["sent"]:
        left = max(0, found["asked"] - found["written"] - found["sent"])
        still = f"; {left} still as the rules wrote them" if left else ""
        console.print(f"Claude wrote {found['written']} for ${found['usd']:.4f}{still}.")
    if found["stopped"]:
        errors.print(f"[yellow]stopped:[/yellow] {escape(found['stopped'])}")
