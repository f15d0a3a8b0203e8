"""Print the answer to a bare `claude-mem`: the state of the setup, and what to do next."""

import contextlib
import os
import sqlite3
import time
from contextlib import closing
from urllib.parse import quote

from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.capture import client
from claude_mem_lite.capture.fast_sqlite3 import Connection
from claude_mem_lite.cli.output import console, print_line
from claude_mem_lite.cli.text import age, printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import count as counted

_NEWEST = (
    "SELECT (SELECT count(*) FROM observations), (SELECT count(*) FROM sessions), title, created_at"
    " FROM observations ORDER BY created_at DESC LIMIT 1"
)


def show() -> None:
    """Print a short screen: the memory's size and newest row, or how to begin, and commands to try."""
    memory, hooks, services = _memory(), _has_hooks(), _answers()
    if memory is not None:
        count, sessions, title, at = memory
        console.print(
            Text.assemble((counted(count, "observation"), "bold"), f" of {counted(sessions, 'session')}.")
        )
        print_line(f"The newest: {printable(title)} ({age(at, time.time())})")
    else:
        console.print(
            "[bold]claude-mem[/bold] remembers your Claude Code sessions. Nothing is remembered yet."
        )
    console.print()
    if not hooks:
        _tell("claude-mem install-hooks", "to set everything up")
    elif not services:
        _tell("claude-mem up", "to start the services now; your next session does so by itself")
    if memory is not None:
        _tell("claude-mem search WORDS", "to find something")
        _tell("claude-mem context", "to see what the next session is told")
    else:
        _tell("claude-mem demo", "to see it work; --mine on your own sessions")
    _tell("claude-mem --help", "for all commands")


def _tell(command: str, why: str) -> None:
    console.print(Text.assemble("  ", (f"{command:<26}", "bold"), why))


def _memory() -> tuple[int, int, str, str] | None:
    """Return the numbers of observations and sessions, and the newest observation's title and time."""
    if not os.path.exists(config.memory_path()):
        return None
    config.refuse_foreign_memory()
    uri = f"file:{quote(config.memory_path())}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, factory=Connection)) as connection:
        newest: tuple[int, int, str, str] | None = connection.execute(_NEWEST).fetchone()
    return newest


def _has_hooks() -> bool:
    from claude_mem_lite.services import install, other_clients

    with contextlib.suppress(ClaudeMemError):
        others = any(map(other_clients.registered, other_clients.here()))
        return others or bool(install.registered_events())
    return False


def _answers() -> bool:
    with contextlib.suppress(client.UnreachableError):
        return client.get("/api/health", {}, timeout_s=1) is not None
    return False
