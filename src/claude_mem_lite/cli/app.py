"""The Typer application, its two consoles, and the order in which the help shows the commands."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from claude_mem_lite import __version__, config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage import models as storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# rich honours NO_COLOR and leaves colours out where stdout is no terminal.
console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def print_json(value: Any) -> None:
    """Print a value as indented JSON, the same on a terminal and in a pipe."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def open_memory(*, read_only: bool = False) -> None:
    """Open the databases of a memory that is there. Raises: ClaudeMemError when none is."""
    if not os.path.exists(config.memory_path()):
        raise ClaudeMemError(f"nothing is remembered yet: there is no {config.memory_path()}")
    storage.open_databases(read_only=read_only)


@contextlib.contextmanager
def working(what: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show a spinner on a terminal while something takes its time; yield what changes its words."""
    if quiet or not console.is_terminal:
        yield lambda _: None
    else:
        with console.status(what) as status:
            yield status.update


def confirmed(what: str, *, yes: bool) -> None:
    """Go on if the user says so: on a terminal when asked, elsewhere by --yes. Ends the command if not."""
    if yes:
        return
    if not (sys.stdin.isatty() and console.is_terminal):
        errors.print(Text(f"claude-mem: {what} Without a terminal to ask on, say --yes"), soft_wrap=True)
        raise typer.Exit(2)
    console.print(Text(what), soft_wrap=True)
    if not typer.confirm("Go on?"):
        errors.print("claude-mem: stopped; nothing was changed")
        raise typer.Exit(1)


def _version(wanted: bool) -> None:  # noqa: FBT001  (Typer's callback)
    if wanted:
        typer.echo(f"claude-mem {__version__}")
        raise typer.Exit


@app.callback()
def claude_mem(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keep a memory of Claude Code's sessions.

    To set it up: [bold]claude-mem install-hooks[/bold], then [bold]claude-mem up[/bold].
    To see it at work, touching nothing of yours: [bold]claude-mem demo[/bold].
    """


from claude_mem_lite.cli import (
    backup,
    claude,
    code,
    context,
    demo,
    doctor,
    evals,
    exchange,
    hooks,
    learnings,
    models,
    original,
    search,
    service,
    services,
    transcripts,
    upkeep,
)
