"""backup and restore: the memory taken along, and brought back."""

from __future__ import annotations

import datetime as dt
import os
from typing import Annotated

import typer
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.cli.app import (
    AsJson,
    Yes,
    app,
    confirmed,
    console,
    errors,
    open_memory,
    print_json,
    working,
)
from claude_mem_lite.cli.text import size
from claude_mem_lite.distill.observation import count, join

_SAID = {
    "sessions": "session",
    "observations": "observation",
    "learnings": "learning",
    "pending_queue": "raw event",
}


@app.command()
def backup(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to; without, a name with the time in this folder.")
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """Write all that is remembered into one file, consistent while everything runs.

    Vectors are not in it, for they are made anew, nor is config.toml, which may have a key in it.
    """
    from claude_mem_lite.upkeep import backup as upkeep

    open_memory()
    now = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    path = os.path.abspath(os.path.expanduser(file or f"claude-mem-backup-{now}.zip"))
    with working("copying", quiet=as_json):
        manifest = upkeep.backup(path)
    if as_json:
        print_json({"file": path, "size_bytes": os.path.getsize(path), **manifest})
    else:
        said = f"{path}: {_told(manifest['counts'])}, {size(os.path.getsize(path))}."
        console.print(Text(said), soft_wrap=True)


@app.command()
def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file that claude-mem backup has written.")],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of what is remembered, which is kept beside it.

    Nothing is touched before the backup is checked as a whole. Running services are stopped for the moment.
    """
    from claude_mem_lite.services import supervise
    from claude_mem_lite.upkeep import backup as upkeep

    path = os.path.abspath(os.path.expanduser(file))
    with upkeep.unpacked(path) as (folder, counts):
        if os.path.exists(config.memory_path()) or os.path.exists(config.queue_path()):
            confirmed(f"In place of what {config.home()} remembers: {_told(counts)}.", yes=yes)
        with working("restoring", quiet=as_json):
            kept, problems = upkeep.put_in_place(folder, paused=supervise.paused())
    if as_json:
        print_json({"restored": counts, "kept": kept, "problems": problems})
    else:
        was = f" What was there is in {kept}." if kept else ""
        console.print(Text(f"Restored: {_told(counts)}.{was}"), soft_wrap=True)
        for problem in problems:
            errors.print(Text.assemble(("! ", "yellow"), problem), soft_wrap=True)
    if problems:
        raise typer.Exit(1)


def _told(counts: dict[str, int]) -> str:
    return join([count(counts[name], noun) for name, noun in _SAID.items()], limit=len(_SAID))
