"""Define the options that many commands have, and what they are given: times, projects."""

import datetime as dt
import os
import re
from enum import StrEnum
from typing import Annotated, Any

import typer

from claude_mem_lite.capture import clients, inbox

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(rf"(\d{{1,6}})([{''.join(_UNITS)}])")

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


def moment(given: str) -> str:
    """Return a date, a time or an age as the memory writes times; without a zone it is this machine's."""
    now = dt.datetime.now(dt.UTC)
    try:
        ago = _AGO.fullmatch(given)
        if ago:
            at = now - dt.timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            at = dt.datetime.fromisoformat(given).astimezone(dt.UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise typer.BadParameter(
            f"{given!r} is no time: 2026-11-01, 2026-11-01T14:30, or an age like 12h, 2d, 3w"
        ) from error
    return inbox.utc_text(at.timestamp())


def when(does: str, *, metavar: str = "TIME") -> Any:
    """Return an option that is given as `moment` reads it."""
    return typer.Option(parser=moment, metavar=metavar, help=does)


def project_of(folder: str) -> str:
    """Return the project of a folder as an option names it, "" for the current one. Needs an open memory."""
    from claude_mem_lite.storage import projects

    return projects.of(os.path.expanduser(folder))


def exclusive(**given: Any) -> None:
    """Refuse options that exclude each other; each is given by its name with its value."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(named) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[1]} exclude each other")
