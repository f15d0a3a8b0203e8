"""Define the `claude-mem` command: one module per group of commands."""

import errno
import io
import os
import sys

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError

DEBUG = "CLAUDE_MEM_DEBUG"
# An internal command: `hooks.helper` starts it.
STAND_IN = "answer-hook"


def main() -> None:
    """Run a command; exit 0 on success, 1 with one line on stderr on failure, 2 on wrong usage."""
    if sys.argv[1:] == [STAND_IN]:  # a hook is waiting, so not even Typer is imported
        from claude_mem_lite.cli import stand_in

        stand_in.main()
        return
    from claude_mem_lite.cli import quick

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        if quick.answered(sys.argv[1:]):
            return
        from claude_mem_lite.cli.app import app
        from claude_mem_lite.codemap import isolation

        with isolation.isolated():
            app(prog_name="claude-mem")
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        _fail(error)


def _fail(error: Exception) -> None:
    """Print an error as one line on stderr and exit with 1; after a closed pipe print nothing."""
    if isinstance(error, BrokenPipeError):  # the reader has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    import sqlite3
    import traceback

    from rich.markup import escape

    from claude_mem_lite.cli.output import errors
    from claude_mem_lite.storage import DatabaseError, damage

    if isinstance(error, ClaudeMemError):
        said = str(error)
    elif isinstance(error, OSError):
        said = _of_the_system(error)
    elif damaged := next(damage.told(), ""):
        said = damaged
    elif isinstance(error, (sqlite3.Error, DatabaseError)):
        said = f"cannot use the databases in {config.home()} ({error}); to find the cause: claude-mem doctor"
    else:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(at.filename)}:{at.lineno}"
        said = f"internal error: {type(error).__name__}: {error} ({where}); {DEBUG}=1 shows the traceback"
    errors.print("[red]claude-mem:[/red]", escape(" ".join(said.split())))
    sys.exit(1)


_CURES = {
    errno.EACCES: "ls -ld shows its owner",
    errno.EPERM: "ls -ld shows its owner",
    errno.ENOSPC: "free some space, then try again",
    errno.EROFS: "CLAUDE_MEM_HOME sets another folder",
    errno.ENOENT: "check the path",
    errno.EISDIR: "give a file",
    errno.ENOTDIR: "give a folder",
    errno.EEXIST: "give another path",
}


def _of_the_system(error: OSError) -> str:
    """Describe an operating system error without its number: the file, the error, what to do."""
    if error.strerror is None:
        return str(error)
    on = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    cure = _CURES.get(error.errno or 0, "")
    return f"{on}{error.strerror[:1].lower()}{error.strerror[1:]}{f' ({cure})' if cure else ''}"
