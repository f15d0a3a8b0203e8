"""Define the options that many commands have."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from claude_mem_lite.capture import clients

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Project = Annotated[
    str, typer.Option(metavar="PATH", help="The project of this folder, instead of the current one's.")
]
OnlyProject = Annotated[str, typer.Option(metavar="PATH", help="Only the project of this folder.")]
AllProjects = Annotated[bool, typer.Option("--all-projects", "-a", help="All projects.")]


class ClientName(StrEnum):
    """A client, as `--for` and `--from` take it."""

    CLAUDE_CODE = clients.CLAUDE_CODE
    CODEX = clients.CODEX
    GEMINI = clients.GEMINI


def exclusive(**given: Any) -> None:
    """Refuse options that exclude each other; each is given by its name with its value."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(named) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[1]} exclude each other")
