"""The `claude-mem` command: one module a group of commands."""

from __future__ import annotations

import sys

from rich.markup import escape

from claude_mem_lite.errors import ClaudeMemError


def main() -> None:
    """Run a command: exit 0 when it did what was asked, 1 with one line on stderr if not, 2 for usage."""
    from claude_mem_lite.cli.app import app, errors

    try:
        app()
    except (ClaudeMemError, OSError) as error:
        errors.print("[red]claude-mem:[/red]", escape(str(error)), soft_wrap=True)
        sys.exit(1)
