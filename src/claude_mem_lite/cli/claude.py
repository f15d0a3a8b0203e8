"""compress and cost: Claude's words for what is still local, by hand, and what they have cost."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from claude_mem_lite import config, inbox, settings
from claude_mem_lite.cli.app import AsJson, app, console, errors, print_json, working
from claude_mem_lite.distill import gate
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import instance
from claude_mem_lite.storage import models, queries, upgrades

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.distill.asking import Step
    from claude_mem_lite.settings import Settings

# In one run a useless answer is asked for once more, an outage is waited for three times.
MAX_TRIES = 2
MAX_OUTAGES = 3
LONGEST_WAIT_S = 60.0
_DONE = (upgrades.ERROR, upgrades.GONE)


@app.command()
def compress(  # noqa: PLR0913  (each is an option of the command)
    *,
    pending: Annotated[bool, typer.Option("--pending", help="Ask Claude about what is still local.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="At most so many captures.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost.")] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Send a Message Batch: half the price, answers within a day.")
    ] = False,
    retry_errors: Annotated[bool, typer.Option("--errors", help="Also what was turned down before.")] = False,
    as_json: AsJson = False,
) -> None:
    """Have Claude rewrite what is still in local words; works without the services.

    Says first what it will cost. Without --pending that is all it does.
    """
    chosen = settings.load()
    models.open_databases()
    with working("reckoning", quiet=as_json):
        _distill_what_is_raw()
        ids = upgrades.local_observations(chosen.tiers, errors=retry_errors)[:limit]
        sessions = _sessions(errors=retry_errors) if chosen.summaries and not limit else []
        found = estimate(ids, [] if batch else sessions, chosen, is_batch=batch)
    if not as_json:
        _show_estimate(found, chosen)
        if found["requests"] and not pending:
            console.print("To have it done: [bold]claude-mem compress --pending[/bold]")
    if pending and not dry_run:
        if chosen.credential is None:
            raise ClaudeMemError(
                "there is no key to ask Claude with: set ANTHROPIC_API_KEY, "
                f"or [claude] api_key in {config.config_path()}"
            )
        run = _Run(chosen)
        if retry_errors:
            run.reconsider(ids)
        found |= run.batch(ids) if batch else run.now(ids, sessions)
    if as_json:
        print_json(found)
    elif "written" in found:
        _show_result(found)
    if found.get("stopped"):
        raise typer.Exit(1)


@app.command()
def cost(
    *,
    by: Annotated[Literal["day", "session"], typer.Option(help="Sum up by day or by session.")] = "day",
    days: Annotated[int, typer.Option(min=1, max=3_650, help="So many days back.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Show what Claude's words have cost."""
    rows: list[dict[str, Any]] = []
    if os.path.exists(config.memory_path()):
        models.open_databases(read_only=True)
        since = inbox.utc_text((dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).timestamp())
        rows = upgrades.costs(by=by, since=since)
    total = round(sum(row["usd"] for row in rows), 6)
    if as_json:
        print_json({"by": by, "days": days, "usd": total, "rows": rows})
        return
    if not rows:
        console.print(f"No call in the last {days} days.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in (by, "calls", "captures", "tokens in", "from cache", "into cache", "out", "ms", "$"):
        table.add_column(column, justify="left" if column == by else "right")
    for row in rows:
        numbers = [row[name] for name in ("calls", "captures", "input_tokens", "cache_read_tokens")]
        numbers += [row[name] for name in ("cache_write_tokens", "output_tokens", "mean_ms")]
        table.add_row(
            escape(str(row[by])), *(f"{int(number or 0):,}" for number in numbers), f"{row['usd']:.4f}"
        )
    console.print(table)
    console.print(f"${total:.4f} in {days} days, by the prices of the settings.")


def _sessions(*, errors: bool) -> list[str]:
    """Return the sessions whose summary Claude could bring up to date."""
    waiting = [row.id for row in upgrades.waiting_sessions()]
    return list(dict.fromkeys([*waiting, *upgrades.outdated_sessions(errors=errors, left=True)]))


def _distill_what_is_raw() -> None:
    """Do what the consumer would have done first, where none runs."""
    from claude_mem_lite.distill.record import record_event

    inbox.take_in_spool()
    if not instance.is_running("consumer"):
        for event_id in queries.unfinished_events():
            event = queries.pending_event(event_id)
            if event is not None and event.status == "raw":
                record_event(event)


def estimate(ids: list[str], sessions: list[str], chosen: Settings, *, is_batch: bool) -> dict[str, Any]:
    """Return what the captures and sessions would cost; of very many from the first of them."""
    from claude_mem_lite.distill import requests
    from claude_mem_lite.distill import upgrade as steps
    from claude_mem_lite.distill.cost import left_today
    from claude_mem_lite.learnings import extract

    price, sample = chosen.price, ids[: upgrades.MAX_ROWS]
    rows = upgrades.waiting_observations(chosen.tiers, ids=sample)
    packs = [pack for pack in requests.packs(rows, size=steps.MAX_CAPTURES) if pack.observations]
    usd = sum(
        requests.expected_usd(pack.request, price, observations=len(pack.observations), is_batch=is_batch)
        for pack in packs
    )
    found = sum(len(pack.observations) for pack in packs)
    times = len(ids) / len(sample) if sample else 1
    told = [row for session_id in sessions if (row := queries.session(session_id))]
    asked = [requests.summary(row) for row in told]
    asked += [extract.request(row) for row in told] if chosen.learnings else []
    usd_told = sum(requests.expected_usd(request, price, observations=0) for request in asked)
    return {
        "model": chosen.model,
        "captures": round(found * times),
        "summaries": len(told),
        "requests": round(len(packs) * times) + len(asked),
        "expected_usd": round(usd * times + usd_told, 4),
        "in_batch": upgrades.upgrade_counts(chosen.tiers)["in_batch"],
        "left_today_usd": round(left_today(chosen, now=time.time()), 4),
    }


def _show_estimate(found: dict[str, Any], chosen: Settings) -> None:
    if not found["requests"]:
        in_batch = f" but {found['in_batch']} captures in a Message Batch" if found["in_batch"] else ""
        console.print(f"Nothing waits for Claude{in_batch}.")
        return
    console.print(
        f"{found['captures']} captures and {found['summaries']} summaries in {found['requests']} requests: "
        f"about ${found['expected_usd']:.4f} with {escape(found['model'])}, "
        f"${max(0.0, found['left_today_usd']):.2f} of today's ${chosen.daily_budget_usd:.2f} are left."
    )


def _show_result(found: dict[str, Any]) -> None:
    if found["sent"]:
        console.print(
            f"Sent {found['sent']} captures as a Message Batch. The services take in what it brings, "
            "within a day; without them: claude-mem compress --pending"
        )
    if found["written"] or found["asked"] > found["sent"]:
        left = max(0, found["asked"] - found["written"] - found["sent"])
        still = f"; {left} still in local words" if left else ""
        console.print(f"Claude wrote {found['written']} for ${found['usd']:.4f}{still}.")
    if found["stopped"]:
        errors.print(f"[yellow]stopped:[/yellow] {escape(found['stopped'])}", soft_wrap=True)


class _Run:
    """One run by hand: it has the turn, ignores pauses, and stops at what will not pass in seconds."""

    def __init__(self, chosen: Settings) -> None:
        from claude_mem_lite.distill import batches
        from claude_mem_lite.distill import upgrade as steps
        from claude_mem_lite.learnings import extract

        self._steps, self._batches, self._extract, self._settings = steps, batches, extract, chosen
        self._asked = self._written = self._sent = self._outages = 0
        self._stopped = ""
        self._spent = upgrades.spent_usd(since="")

    def now(self, ids: list[str], sessions: list[str]) -> dict[str, Any]:
        """Ask about captures, then about sessions, one request after the other."""
        self._asked = len(ids) + len(sessions)
        closed = gate.load()
        self._wait_for(closed.until - time.time() if closed.kind == "outage" else 0, closed.reason)
        with _progress() as progress:
            task = progress.add_task("waiting for the services' request", total=self._asked)
            with self._steps.turn(wait=True):
                progress.update(task, description="asking Claude")
                self._take_in_batches()
                for step in self._each(ids, sessions):
                    self._took(step)
                    progress.update(task, completed=self._written)
        return self._result()

    def batch(self, ids: list[str]) -> dict[str, Any]:
        """Send captures as Message Batches."""
        self._asked = len(ids)
        with self._steps.turn(wait=True):
            self._take_in_batches()
            for some in _chunks(ids):
                rows = upgrades.waiting_observations(self._settings.tiers, ids=some)
                if rows and not self._stopped:
                    step = self._batches.send(rows, self._settings, now=time.time())
                    self._took(step)
                    self._stopped = self._stopped or step.reason
        return self._result()

    def reconsider(self, ids: list[str]) -> None:
        """Have what was turned down before wait again."""
        for some in _chunks(ids):
            for event_id in upgrades.reconsider(some):
                inbox.finish(event_id)

    def _each(self, ids: list[str], sessions: list[str]) -> Iterator[Step]:
        """Yield a step for each request, until all is done or something stops the run."""
        tries: Counter[str] = Counter()
        for some in _chunks(ids):
            while not self._stopped:
                rows = upgrades.waiting_observations(self._settings.tiers, ids=some)
                rows = [row for row in rows if tries[row.id] < MAX_TRIES and row.upgrade not in _DONE]
                if not rows:
                    break
                together = self._steps.first_together(rows)
                more = len(rows) > len(together)
                step = self._steps.write_observations(together, self._settings, now=time.time(), more=more)
                tries.update(step.asked)
                yield step
        for session_id in sessions:
            failure = "outage"
            while failure == "outage" and not self._stopped:
                session = queries.known_session(session_id)
                step = self._steps.write_summary(session, self._settings, now=time.time())
                failure = step.failure
                yield step
        for _ in sessions if self._settings.learnings else ():
            step = self._extract.step(self._settings, now=time.time())
            if not step.was_taken or self._stopped:
                break
            yield dataclasses.replace(step, written=0)  # the summary was counted

    def _take_in_batches(self) -> None:
        for batch_id in upgrades.read_state("batches"):
            self._took(self._batches.collect(batch_id, self._settings, now=time.time()))

    def _took(self, step: Step) -> None:
        self._written += step.written
        self._sent += step.sent
        self._outages = self._outages + 1 if step.failure == "outage" else 0
        if step.failure in {"setup", "budget"} or self._outages > MAX_OUTAGES:
            self._stopped = step.reason
        elif step.failure == "outage":
            self._wait_for(step.wait_s or 0, step.reason)

    def _wait_for(self, pause_s: float, reason: str) -> None:
        """Sleep through a short pause; a long one ends the run, for the services go on by themselves."""
        if pause_s > LONGEST_WAIT_S:
            self._stopped = f"{reason}; to be tried again in {pause_s / 60:.0f} minutes"
        elif pause_s > 0:
            errors.print(f"[dim]{escape(reason)}: again in {pause_s:.0f} s[/dim]", soft_wrap=True)
            time.sleep(pause_s)

    def _result(self) -> dict[str, Any]:
        return {
            "asked": self._asked,
            "written": self._written,
            "sent": self._sent,
            "usd": round(upgrades.spent_usd(since="") - self._spent, 6),
            "stopped": self._stopped,
        }


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), upgrades.MAX_ROWS):
        yield ids[start : start + upgrades.MAX_ROWS]


def _progress() -> Progress:
    """Return a progress bar that shows on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
