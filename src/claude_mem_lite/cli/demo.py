"""demo: four recorded sessions go through the real hooks, consumer and web process, in a temporary folder."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from claude_mem_lite.capture import client
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.output import console
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install

if TYPE_CHECKING:
    from collections.abc import Iterator

HISTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo_history")
PROJECT = os.path.realpath("/home/dev/ledger")
QUESTION = "Why must the book not use WAL mode?"
DRAIN_TIMEOUT_S = 60.0


@app.command()
def demo() -> None:
    """See it at work: recorded sessions become a memory, in a temporary folder, without a key or network."""
    from claude_mem_lite.services import supervise

    started = time.monotonic()
    events = list(recorded_events())
    with _temporary_home() as home:
        with _progress() as progress:
            task = progress.add_task("starting the services", total=None)
            supervise.up()
            progress.update(task, description="replaying tool calls through the hooks", total=len(events))
            for event in events:
                run_hook(event, project_dir=PROJECT)
                progress.advance(task)
            _drain(progress)
        _show_observations()
        _show_search()
        _show_context()
        with _progress() as progress:
            progress.add_task("stopping the services", total=None)
            supervise.down()
    console.print(f"{len(events)} events in {time.monotonic() - started:.0f} s; {home} is removed.")
    console.print(
        "For your own sessions: [bold]claude-mem install-hooks[/bold], then [bold]claude-mem up[/bold]."
    )


def recorded_events() -> Iterator[dict[str, Any]]:
    """Yield the events of four sessions on a small bookkeeping project, as Claude Code sent them.

    The credentials in them stand coded in a file of their own, so that nobody takes them for a leak.
    """
    with open(os.path.join(HISTORY, "secrets.json"), encoding="utf-8") as file:
        coded = json.load(file)
    secrets = {token: base64.b64decode(value).decode()[::-1] for token, value in coded.items()}
    for name in sorted(os.listdir(HISTORY)):
        if not name.endswith(".jsonl"):
            continue
        with open(os.path.join(HISTORY, name), encoding="utf-8") as file:
            text = file.read()
        for token, value in secrets.items():
            text = text.replace(token, value)
        for line in text.splitlines():
            yield json.loads(line)


def run_hook(event: dict[str, Any], *, project_dir: str) -> str:
    """Start the hook of an event as Claude Code does and return what it prints."""
    hook = install.hook_events()[event["hook_event_name"]]["hook"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")],
        input=json.dumps(event).encode(),
        capture_output=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": project_dir},
        check=True,
        timeout=30,
    )
    return done.stdout.decode()


def _drain(progress: Progress) -> None:
    from claude_mem_lite.storage import models, queries

    models.open_databases(read_only=True)
    waiting = queries.queue_stats()["messages"]
    task = progress.add_task("the consumer distills what is left", total=waiting)
    deadline = time.monotonic() + DRAIN_TIMEOUT_S
    while left := queries.queue_stats()["messages"]:
        if time.monotonic() > deadline:
            raise ClaudeMemError(f"the consumer left {left} of {waiting} messages in {DRAIN_TIMEOUT_S:.0f} s")
        progress.update(task, completed=waiting - left)
        time.sleep(0.05)
    progress.update(task, completed=waiting)


def _show_observations() -> None:
    from claude_mem_lite.storage import queries

    counts, rows = queries.counts(), queries.recent_observations(PROJECT, limit=12)
    table = Table(
        title=f"{counts['observations']} observations of {counts['sessions']} sessions, the newest of them"
    )
    table.add_column("id", style="dim")
    table.add_column("tool")
    table.add_column("observation", overflow="fold")
    for row in rows:
        table.add_row(row.id[:8], row.tool_name, escape(row.title))
    console.print(table)
    console.print(
        f"{queries.redactions()} secrets and private passages were taken out before the first write."
    )


def _show_search() -> None:
    found = client.get("/api/search", {"q": QUESTION, "project": PROJECT, "limit": "2"}, timeout_s=5)
    if not found:
        raise ClaudeMemError("the web process did not answer the search")
    console.print(f"\n[bold]search:[/bold] {QUESTION}   [dim]{found['took_ms']} ms[/dim]")
    for hit in found["results"]:
        console.print(Panel(escape(hit["text"]), title=escape(hit["title"]), title_align="left"))


def _show_context() -> None:
    event = {"session_id": "a-new-session", "hook_event_name": "SessionStart", "source": "startup"}
    printed = run_hook(event, project_dir=PROJECT)
    if not printed:
        raise ClaudeMemError("the context hook had nothing for the next session")
    block = json.loads(printed)["hookSpecificOutput"]["additionalContext"]
    console.print("\n[bold]what the next session starts with:[/bold]")
    console.print(escape(block), soft_wrap=True)
    console.print()


def _progress() -> Progress:
    """Return a progress bar that shows on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextlib.contextmanager
def _temporary_home() -> Iterator[str]:
    """Point everything at a folder of its own and remove it at the end, whatever happened."""
    from claude_mem_lite.services import supervise
    from claude_mem_lite.storage import models

    before = dict(os.environ)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    home = tempfile.mkdtemp(prefix="claude-mem-demo-")
    os.environ["CLAUDE_MEM_HOME"] = home
    try:
        yield home
    finally:
        try:
            supervise.down()
        finally:
            models.close_databases()
            shutil.rmtree(home, ignore_errors=True)
            os.environ.clear()
            os.environ.update(before)
