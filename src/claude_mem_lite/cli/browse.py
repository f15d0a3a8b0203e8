"""browse: browse the memory in a terminal view."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.output import console, open_memory
from claude_mem_lite.errors import ClaudeMemError


@app.command()
def browse(
    *,
    project: Annotated[
        str, typer.Option(metavar="PATH", help="The project of this folder, instead of the current one's.")
    ] = "",
    all_projects: Annotated[bool, typer.Option("--all-projects", "-a", help="Show all projects.")] = False,
) -> None:
    """Browse sessions, observations, learnings, findings and projects; search, edit and forget them.

    The keys are shown at the bottom. Needs the extra [bold]browse[/bold] and a terminal.
    """
    from claude_mem_lite.storage import projects

    if project and all_projects:
        raise typer.BadParameter("--project and --all-projects exclude each other")
    try:
        from claude_mem_lite.cli.browser import Browser
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        said = "browse needs Textual, which is not installed: pip install 'claude-mem-lite[browse]'"
        raise ClaudeMemError(said) from error
    open_memory(read_only=True)
    if not (sys.stdin.isatty() and console.is_terminal):
        raise ClaudeMemError("browse needs a terminal; claude-mem search and report print to a pipe")
    Browser(None if all_projects else projects.of(os.path.expanduser(project))).run()
