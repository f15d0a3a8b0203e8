"""The `claude-mem` command: one module a group of commands."""

from __future__ import annotations

import io
import sqlite3
import sys

from rich.markup import escape

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError


def main() -> None:
    """Run a command: exit 0 when it did what was asked, 1 with one line on stderr if not, 2 for usage."""
    from claude_mem_lite.cli.app import app, errors
    from claude_mem_lite.storage import DatabaseError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except (sqlite3.Error, DatabaseError) as error:
        where = f"the databases in {config.home()} cannot be used ({error}): see claude-mem status"
        errors.print("[red]claude-mem:[/red]", escape(where), soft_wrap=True)
        sys.exit(1)
    except (ClaudeMemError, OSError) as error:
        errors.print("[red]claude-mem:[/red]", escape(str(error)), soft_wrap=True)
        sys.exit(1)
