"""Define the options that many commands share, and parse their values: times, projects."""

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
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Project = Annotated[
    str, typer.Option(metavar="PATH", help="Use the project of this folder instead of the current one.")
]
OnlyProject = Annotated[str, typer.Option(metavar="PATH", help="Only the project of this folder.")]
AllProjects = Annotated[bool, typer.Option("--all-projects", "-a", help="Include all projects.")]


class ClientName(StrEnum):
    """A client, as `--for` and `--from` take it."""

    CLAUDE_CODE = clients.CLAUDE_CODE
    CODEX = clients.CODEX
    GEMINI = clients.GEMINI


def moment(given: str) -> str:
    """Parse a date, time or age into the memory's UTC text; without a zone it is local time."""
    now = dt.datetime.now(dt.UTC)
    try:
        ago = _AGO.fullmatch(given)
        if ago:
            at = now - dt.timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            at = dt.datetime.fromisoformat(given).astimezone(dt.UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise typer.BadParameter(
            f"{given!r} is not a time: give 2026-11-01, 2026-11-01T14:30, or an age like 12h, 2d, 3w"
        ) from error
    return inbox.utc_text(at.timestamp())


def when(does: str, *, metavar: str = "TIME") -> Any:
    """Return an option whose value `moment` parses."""
    return typer.Option(parser=moment, metavar=metavar, help=does)


def project_of(folder: str) -> str:
    """Return the project of an option's folder, "" for the current folder. Needs an open memory."""
    from claude_mem_lite.storage import projects

    return projects.of(os.path.expanduser(folder))


def exclusive(**given: Any) -> None:
    """Refuse two or more of these options (name=value) at once. Raises: typer.BadParameter."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(named) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[1]} exclude each other")
