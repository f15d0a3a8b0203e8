"""Set up memory for Claude Code step by step: say what will change, then ask, register, start and import."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from claude_mem_lite import config, keys, settings, settings_file
from claude_mem_lite.cli import terminal
from claude_mem_lite.cli.output import console, working
from claude_mem_lite.services import install
from claude_mem_lite.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.importers.importing import Plan

# Source: benchmarks/transcripts.py, 137 MB in 162 s on two cores.
_IMPORTED_BYTES_A_SECOND = 800_000


def is_asked() -> bool:
    """Tell whether a user can answer questions: stdin is a terminal."""
    return sys.stdin.isatty()


def agree(version: str | None, past: Plan | None, *, yes: bool) -> None:
    """Print what the set-up will change and ask for consent. Raises: typer.Exit when the user declines."""
    console.print("This sets up memory for Claude Code:\n")
    for line in terminal.pairs((f"  {label}", text, "") for label, text in _plan(version, past)):
        typer.echo(line)
    console.print("\nUndo it at any time: [bold]claude-mem uninstall-hooks[/bold]\n")
    if not yes and not typer.confirm("Go on?", default=True):
        console.print("Nothing was changed.")
        raise typer.Exit(1)


def _plan(version: str | None, past: Plan | None) -> Iterator[tuple[str, str]]:
    events = count(len(install.hook_events(version)), "event")
    changed = short(os.path.join(install.claude_dir(), "settings.json"))
    skill = short(os.path.join(install.claude_dir(), "skills", "mem-search"))
    yield "client", _client(version)
    yield "hooks", f"for {events}, in {changed}; the rest of the file stays as it is"
    yield "skill", f"{skill}, so that Claude can search the memory"
    yield "memory", f"{short(config.home())}, readable by you alone; nothing leaves this machine"
    if config.autostart():
        yield "services", "two Python processes on a unix socket; they stop when idle and start by themselves"
    if past and past.sessions:
        yield "import", f"{_offer(past)}; asked after the set-up"


def _client(version: str | None) -> str:
    if found := shutil.which("claude"):
        return f"Claude Code {version or '(version unknown)'}, {short(found)}"
    if os.path.isdir(install.claude_dir()):
        return f"Claude Code, found by its folder {short(install.claude_dir())}; claude is not on your PATH"
    return f"Claude Code was not found; the hooks wait for it in {short(install.claude_dir())}"


def _offer(past: Plan) -> str:
    """Describe an import: how many sessions and projects it has, and how long it takes."""
    from claude_mem_lite.cli import transcripts

    takes_s = sum(each.size_bytes for each in past.sessions) / _IMPORTED_BYTES_A_SECOND
    projects = len({each.project_dir for each in past.sessions})
    return (
        f"{count(len(past.sessions), 'past session')} of {count(projects, 'project')}, "
        f"about {transcripts.duration(takes_s)}, free"
    )


def offer_claude(*, yes: bool) -> None:
    """Offer rewriting by Claude on the user's plan, if their client is here and nothing is chosen yet.

    With `yes` nothing is offered: agreeing to everything else is no consent to something that costs.
    """
    from claude_mem_lite.claude import client

    chosen = settings.load()
    if yes or chosen.via != "api" or chosen.credential or keys.in_session() or not client.find():
        return
    question = f"Have Claude summarize your sessions? If you say yes, {cost_on_plan()}."
    if typer.confirm(question, default=False):
        let_client_write()
        console.print(
            "Claude writes on your plan. To stop that: [bold]claude-mem config set claude.via off[/bold]"
        )


def let_client_write() -> None:
    """Choose the user's client for calls to Claude. Raises: SetupError if none is found."""
    from claude_mem_lite.claude import client

    config_dir = os.environ.get(
        "CLAUDE_CONFIG_DIR", ""
    )  # stored, as services do not get it and a session's may be a project's
    settings_file.write("claude", {"via": "cli", "client": client.found(), "client_config": config_dir})


def cost_on_plan() -> str:
    """Return a clause that says what rewriting costs on a plan."""
    most = settings.load().daily_tokens
    return f"as a session ends, one request goes to Claude on your plan, at most {most:,} tokens a day"


def start_services(*, quiet: bool) -> str:
    """Start the services, unless autostart is off; return a sentence about the result."""
    from claude_mem_lite.services import supervise

    if not config.autostart():
        return "Start the services yourself: claude-mem up ([services] autostart is off)."
    with working("starting the services", quiet=quiet):
        supervise.up()
    return "Services are running."


def import_past(past: Plan | None, *, yes: bool, quiet: bool) -> None:
    """Offer the import of past sessions, and do it if the user agrees."""
    if not past or not past.sessions:
        return
    if not yes and not typer.confirm(f"Import {_offer(past)}?", default=True):
        console.print("Skipped. To import them later: [bold]claude-mem import transcripts[/bold]")
        return
    from claude_mem_lite.cli import transcripts

    transcripts.take_in(quiet=quiet)


def tell_what_is_next(past: Plan | None) -> None:
    """Print what happens from now on, and two commands to see it."""
    knows = "starts with what happened there before" if past and past.sessions else "starts to remember"
    console.print(
        f"\n[bold]Next:[/bold] start Claude Code in a project. Its session {knows}; "
        "sessions that are open now go on without memory."
    )
    for command, does in (
        ("claude-mem context", "what the next session in this folder is told"),
        ("claude-mem status", "whether everything works"),
    ):
        console.print(Text.assemble("  ", (f"{command:<20}", "bold"), does))


def short(path: str) -> str:
    """Return a path with ~ for the user's home."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(f"{home}{os.sep}") else path
