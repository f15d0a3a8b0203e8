"""up, down, restart and status."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

from claude_mem_lite import __version__, config, inbox, settings, spool
from claude_mem_lite.cli.app import AsJson, Quiet, app, console, print_json, working
from claude_mem_lite.cli.text import age, printable, size
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import doctor, install, supervise
from claude_mem_lite.storage import DatabaseError, models, queries, upgrades
from claude_mem_lite.storage import learnings as known
from claude_mem_lite.upkeep.sizes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

# What the user can do about a pause; an outage passes by itself.
_MENDABLE = {
    "setup": "mend it, then claude-mem restart",
    "budget": "what waits goes on at 00:00 UTC, or raise [claude] daily_budget_usd",
}
_COUNTS = (
    ("by_claude", "written"), ("waiting", "waiting"), ("in_batch", "in a batch"), ("error", "turned down"),
)  # fmt: skip


@app.command()
def up(*, quiet: Quiet = False) -> None:
    """Start the services and wait until they answer."""
    with working("starting", quiet=quiet):
        started = supervise.up()
    if not quiet:
        console.print("Services started." if started else "Services are running already.")


@app.command()
def down(*, quiet: Quiet = False) -> None:
    """Stop the services, finishing the work in hand."""
    with working("stopping", quiet=quiet):
        stopped = supervise.down()
    if not quiet:
        console.print("Services stopped." if stopped else "Services were not running.")


@app.command()
def restart(*, quiet: Quiet = False) -> None:
    """Stop the services and start them again, with this version and this environment."""
    with working("restarting", quiet=quiet):
        supervise.down()
        supervise.up()
    if not quiet:
        console.print("Services restarted.")


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show the services, the queue, what is remembered and the hooks; 1 when something is wrong."""
    found = _status()
    if as_json:
        print_json(found)
    else:
        _show(found)
    if found["problems"]:
        raise typer.Exit(1)


def _status() -> dict[str, Any]:
    programs = supervise.programs()
    found: dict[str, Any] = {
        "version": __version__,
        "home": config.home(),
        "services": {
            program.name: {"state": program.state, "pid": program.pid, "uptime_s": program.uptime_s}
            for program in programs
        },
        "queue": None,
        "memory": None,
        "learnings": None,
        "search": None,
        "claude": None,
        "last_errors": [],
        "spooled": len(spool.waiting()),
        "bytes": sizes(),
        "hooks": {},
        "hooks_run_by": [],
        "problems": [],
    }
    if os.path.exists(config.memory_path()):
        models.open_databases(read_only=True)
        for part, ask in (
            ("queue", queries.queue_stats),
            ("memory", queries.counts),
            ("learnings", known.counts),
            ("search", _search),
            ("claude", _claude),
            ("last_errors", _errors),
        ):
            try:
                found[part] = ask()
            except DatabaseError as error:
                path = config.queue_path() if part in {"queue", "last_errors"} else config.memory_path()
                found["unreadable"] = (
                    f"{path} cannot be read ({error}): if it is damaged, move it aside and restart"
                )
        models.close_databases()
    with contextlib.suppress(ClaudeMemError):
        found["hooks"] = install.registered_events()
        found["hooks_run_by"] = sorted(set(map(install.interpreter, found["hooks"].values())))
    found["problems"] = _problems(found)
    return found


def _claude() -> dict[str, Any]:
    """Return what Claude has written, what waits and why, and what it has cost today."""
    chosen, gate = settings.load(), upgrades.read_state("gate")
    is_paused = gate.get("until", 0) > time.time()
    return {
        "model": chosen.model,
        "key": upgrades.read_state("consumer").get("credential", ""),
        **upgrades.upgrade_counts(chosen.tiers),
        "spent_today_usd": round(upgrades.spent_usd(since=inbox.utc_now()[:10]), 6),
        "daily_budget_usd": chosen.daily_budget_usd,
        "paused": {name: gate[name] for name in ("kind", "reason", "until")} if is_paused else None,
    }


def _search() -> dict[str, Any]:
    from claude_mem_lite.search import inventory

    return inventory.state()


def _errors() -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "tool_name": row.tool_name,
            "note": row.note,
            "cure": "claude-mem doctor --fix tries it once more"
            if row.event_name
            else "make room on the disk",
        }
        for row in queries.last_errors()
    ]


def _problems(found: dict[str, Any]) -> list[str]:
    """Return one line for each thing the user can mend, with how."""
    problems = [settings.problem()] if settings.problem() else []
    damaged = list(_damaged())
    problems += damaged
    if found.get("unreadable") and not damaged:
        problems.append(found["unreadable"])
    down_now = [name for name, service in found["services"].items() if service["state"] != "RUNNING"]
    if down_now:
        problems.append(f"{' and '.join(down_now)} not running: claude-mem up")
    if not found["hooks"]:
        problems.append("hooks not installed: claude-mem install-hooks")
    gone = [path for path in found["hooks_run_by"] if not os.path.exists(path)]
    if gone:
        problems.append(f"the hooks are run by {gone[0]}, which is not there: claude-mem install-hooks")
    if found["search"] and found["search"]["problem"] and found["search"]["setting"] != "none":
        problems.append("no search by meaning: see claude-mem model list")
    paused = found["claude"] and found["claude"]["paused"]
    if paused and paused["kind"] in _MENDABLE:
        problems.append(f"Claude writes nothing: {paused['reason']}; {_MENDABLE[paused['kind']]}")
    if found["queue"] and found["queue"]["set_aside"]:
        problems.append(f"{found['queue']['set_aside']} messages set aside: see claude-mem doctor")
    return problems


def _damaged() -> Iterator[str]:
    """Yield one line for each database that is damaged, with what to do."""
    for name, path in (("memory", config.memory_path()), ("queue", config.queue_path())):
        with contextlib.suppress(sqlite3.OperationalError):
            if os.path.exists(path) and (damage := doctor.damage(path)):
                yield f"{path} is damaged ({damage}): {doctor.CURES[name]}"


def _show(found: dict[str, Any]) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _rows(found):
        table.add_row(name, value)
    console.print(table)
    for row in found["last_errors"]:
        what = escape(f"{row['id'][:8]} {printable(row['tool_name'])}: {printable(row['note'] or '')}")
        console.print(f"[red]error[/red] {what} → {row['cure']}", soft_wrap=True)
    for problem in found["problems"]:
        console.print(f"[yellow]![/yellow] {escape(problem)}", soft_wrap=True)


def _rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table, as markup."""
    yield "version", found["version"]
    yield "data", escape(found["home"])
    for name, service in found["services"].items():
        if service["state"] == "RUNNING":
            yield name, f"running, pid {service['pid']}, {service['uptime_s']} s"
        else:
            yield name, f"[yellow]{service['state'].lower()}[/yellow]"
    if queue := found["queue"]:
        oldest = queue["oldest_raw"]
        waiting = f", the oldest since {age(oldest, time.time()).removesuffix(' ago')}" if oldest else ""
        yield "queue", f"{queue['raw']} waiting{waiting}, {queue['done']} done, {queue['error']} in error"
    if memory := found["memory"]:
        yield "memory", f"{memory['observations']} observations, {memory['sessions']} sessions"
    if counts := found["learnings"]:
        waiting = f", waiting for you: {counts['quarantine']}, claude-mem learnings list -a --quarantine"
        yield "learnings", f"{counts['active']} known{waiting if counts['quarantine'] else ''}"
    for name, tell in (("search", _found_by), ("claude", _told)):
        if found[name]:
            yield name, escape(tell(found[name]))
    if found["spooled"]:
        yield "spool", f"{found['spooled']} events wait for the consumer"
    if kept := [f"{name} {size(number)}" for name, number in found["bytes"].items() if number]:
        yield "sizes", ", ".join(kept)
    run_by = escape(", ".join(found["hooks_run_by"]))
    yield (
        "hooks",
        f"{len(found['hooks'])} events, run by {run_by}" if run_by else "[yellow]not installed[/yellow]",
    )


def _found_by(search: dict[str, Any]) -> str:
    """Return the row about search: by which model and how far, or why by full text alone."""
    if search["problem"]:
        return f"full text alone: {search['problem']}"
    named = "" if search["setting"] == search["model"] else f" ({search['setting']})"
    embedded = f"{search['model']}{named}, {search['embedded']} of {search['total']} embedded"
    return embedded if search["loaded"] is not None else f"full text alone: web not running; {embedded}"


def _told(claude: dict[str, Any]) -> str:
    """Return the row about Claude: who writes, what waits, what it cost."""
    waits = [f"{claude[name]} {word}" for name, word in _COUNTS if claude[name]]
    cost = f"${claude['spent_today_usd']:.4f} of ${claude['daily_budget_usd']:.2f} today"
    if not claude["key"]:
        return ", ".join(["no key: local words", *waits])
    paused = claude["paused"]
    until = f"paused until {inbox.utc_text(paused['until'])[11:16]} UTC" if paused else ""
    return ", ".join(filter(None, [f"{claude['model']} ({claude['key']})", *waits, cost, until]))
