"""project: list, merge, move, forget and switch off projects."""

import os
import time
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from claude_mem_lite import config, settings_file
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, Yes
from claude_mem_lite.cli.output import confirmed, open_memory, print_json, print_line, print_table
from claude_mem_lite.cli.text import age, printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import count

project = typer.Typer(help="List, merge, move, forget and switch off projects.", no_args_is_help=True)
app.add_typer(project, name="project")

Folder = Annotated[str, typer.Argument(metavar="[PATH]", help="A folder of the project; default: this one.")]
_OFF = "[projects] off in config.toml"


@project.command("list")
def list_projects(*, as_json: AsJson = False) -> None:
    """List the projects, the most recent first, with their folders and how much is remembered."""
    from claude_mem_lite.storage import projects

    open_memory(read_only=True)
    rows = projects.all_projects()
    if print_json(rows, as_json=as_json):
        return
    if not rows:
        print_line("No project is remembered yet.")
        return
    table = Table("project", "sessions", "observations", "last", "", box=None, pad_edge=False)
    for row in rows:
        notes = [
            *(["off"] if row["is_off"] else []),
            *([] if row["is_there"] else ["its folder is gone"]),
            *([row["key"]] if "/" in row["key"] else []),  # a first commit's hash means nothing to readers
            *[f"also {folder}" for folder in row["folders"] if folder != row["project"]],
        ]
        numbers = (str(row["sessions"]), str(row["observations"]))
        last = age(row["last_event_at"], time.time())
        table.add_row(Text(printable(row["project"])), *numbers, last, Text(printable("; ".join(notes))))
    print_table(table)


@project.command()
def merge(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The project to merge.")],
    target: Annotated[str, typer.Argument(metavar="INTO", help="The project to merge it into.")],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Merge one project into another, which then has the memory of both."""
    _join(source, target, yes=yes, as_json=as_json, is_move=False)


@project.command()
def move(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The project's old folder.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The project's new folder.")],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Record that a project's folder was moved or renamed; a moved repository is found without this."""
    _join(old, new, yes=yes, as_json=as_json, is_move=True)


def _join(source: str, target: str, *, yes: bool, as_json: bool, is_move: bool) -> None:
    from claude_mem_lite.forget import marking
    from claude_mem_lite.storage import projects

    open_memory()
    old = marking.project_of(source)
    new = config.place(os.path.expanduser(target))[0] if is_move else marking.project_of(target)
    if is_move and not os.path.isdir(new):
        raise ClaudeMemError(f"there is no folder {new}: give the folder in which the project is now")
    if old == new:
        raise ClaudeMemError(f"{old} and {os.path.expanduser(target)} are already one project")
    if old not in marking.known_projects():
        raise ClaudeMemError(f"nothing is remembered about {old}; known projects: claude-mem project list")
    confirmed(f"The memory of {old} becomes part of {new}; this cannot be undone.", yes=yes)
    moved = projects.join(old, new)
    if print_json({"from": old, "to": new, "rows": moved}, as_json=as_json):
        return
    told = f"{count(moved['sessions'], 'session')} and {count(moved['observations'], 'observation')}"
    print_line(f"Moved {told} from {old} to {new}. Their vectors are computed again.")


@project.command()
def off(path: Folder = "", *, as_json: AsJson = False) -> None:
    """Stop remembering a project and stop telling its sessions anything; its memory stays."""
    _switch(path, is_on=False, as_json=as_json)


@project.command()
def on(path: Folder = "", *, as_json: AsJson = False) -> None:
    """Undo `claude-mem project off`."""
    _switch(path, is_on=True, as_json=as_json)


def _switch(path: str, *, is_on: bool, as_json: bool) -> None:
    folder = config.project_dir(os.path.expanduser(path))
    chosen = config.off_patterns()
    named = [each for each in chosen if os.path.expanduser(each).rstrip("/") == folder]
    if is_on:
        settings_file.write("projects", {"off": [each for each in chosen if each not in named]})
        if any(config.matches(each, folder) for each in chosen if each not in named):
            raise ClaudeMemError(f"{folder} is still off: change the pattern in {_OFF} that matches it")
    elif not os.path.isdir(folder):
        raise ClaudeMemError(f"there is no folder {folder}: nothing was changed")
    elif not named:
        settings_file.write("projects", {"off": [*chosen, folder]})
    if not print_json({"project": folder, "is_off": not is_on}, as_json=as_json):
        said = "is remembered from the next event on" if is_on else "is ignored from the next event on"
        print_line(f"{folder} {said}.")


@project.command()
def forget(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder of the project.")],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Forget a project for good, as `claude-mem forget --project` does."""
    from claude_mem_lite.cli import upkeep

    upkeep.forget(project=path, yes=yes, as_json=as_json)
