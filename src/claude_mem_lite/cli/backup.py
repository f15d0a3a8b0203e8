"""backup and restore: save the memory to one file, and restore it from one."""

import datetime as dt
import os
from typing import Annotated

import typer

from claude_mem_lite import config
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.guards import sync
from claude_mem_lite.cli.options import AsJson, Yes
from claude_mem_lite.cli.output import confirmed, open_memory, print_json, print_line, print_warnings, working
from claude_mem_lite.cli.text import size
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import count, join

_SAID = {
    "sessions": "session",
    "observations": "observation",
    "learnings": "learning",
    "pending_queue": "raw event",
}


@app.command()
def backup(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The backup's file; default: a dated name in your home folder."),
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """Back up the whole memory to one file; the services may keep running.

    Vectors are left out because they can be recomputed, and config.toml
    because it may hold a key. Without FILE it goes to ~/claude-mem-backups.
    """
    from claude_mem_lite.upkeep import backup as upkeep

    open_memory()
    path = os.path.abspath(os.path.expanduser(file)) if file else _named_by_time()
    with working("copying", quiet=as_json):
        manifest = upkeep.backup(path)
    if not print_json({"file": path, "size_bytes": os.path.getsize(path), **manifest}, as_json=as_json):
        said = f"Wrote {path}: {_told(manifest['counts'])}, {size(os.path.getsize(path))}."
        print_line(said)


@app.command()
def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file written by claude-mem backup.")],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Replace the memory with a backup; the current memory is kept beside it.

    The whole backup is checked before anything changes. Running services
    are stopped meanwhile.
    """
    from claude_mem_lite.services import supervise
    from claude_mem_lite.upkeep import backup as upkeep

    path = os.path.abspath(os.path.expanduser(file))
    with upkeep.unpacked(path) as (folder, counts):
        if os.path.exists(config.memory_path()) or os.path.exists(config.queue_path()):
            confirmed(f"This replaces the memory in {config.home()} with {_told(counts)}.", yes=yes)
        with working("restoring", quiet=as_json):
            kept, problems = upkeep.put_in_place(folder, paused=supervise.paused())
        sync()
    if not print_json({"restored": counts, "kept": kept, "problems": problems}, as_json=as_json):
        was = f" The previous memory is in {kept}." if kept else ""
        print_line(f"Restored: {_told(counts)}.{was}")
        print_warnings(problems)
    if problems:
        raise typer.Exit(1)


def _named_by_time() -> str:
    """Return a path with the time in its name, in the backup folder, which is created if missing.

    Not the current folder, which may be a repository. Not the data directory: a backup could be lost with
    it, and `forget` must leave no copy there. Raises: ClaudeMemError.
    """
    folder = config.backup_dir()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise ClaudeMemError(
            f"cannot create the folder {folder} ({error.strerror}): give a FILE to back up to"
        ) from error
    now = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    return os.path.join(folder, f"claude-mem-{now}.zip")


def _told(counts: dict[str, int]) -> str:
    return join([count(counts[name], noun) for name, noun in _SAID.items()], limit=len(_SAID))
