"""Run commands in this process: a process of their own costs more than the commands do."""

import contextlib
import io
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from claude_mem_lite import cli
from claude_mem_lite.storage import models


@dataclass(frozen=True)
class Done:
    """Exit code and output of a command, named as in `subprocess.CompletedProcess`."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments: str, columns: int = 80, cwd: Path | None = None, **environment: str) -> Done:
    """Run `claude-mem` from its entry point, without a terminal; databases that were open are reopened."""
    from claude_mem_lite.cli import output

    out, said = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    is_open, before, status = not models.memory_database.is_closed(), dict(os.environ), 0
    models.close_databases()
    os.environ.update(environment, COLUMNS=str(columns))
    with (
        contextlib.ExitStack() as after,
        open(os.devnull) as nothing,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
        contextlib.chdir(cwd or "."),
    ):
        after.callback(setattr, sys, "argv", sys.argv)
        after.callback(logging.disable, logging.NOTSET)  # some commands end with their process
        after.callback(setattr, sys, "stdin", sys.stdin)
        sys.argv, sys.stdin = ["claude-mem", *arguments], nothing
        output.console.width = output.errors.width = columns
        try:
            cli.main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            models.close_databases()
            os.environ.clear()
            os.environ.update(before)
    if is_open:
        models.open_databases()
    texts = (stream.buffer.getvalue().decode() for stream in (out, said))  # type: ignore[attr-defined]
    return Done(status, *texts)


def wide(*arguments: str, **environment: str) -> Done:
    """Run `claude-mem` on a terminal wide enough that no line wraps."""
    return command(*arguments, columns=200, **environment)
