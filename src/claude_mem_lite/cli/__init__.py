"""The `claude-mem` command: one module a group of commands."""

from __future__ import annotations

import sys

from claude_mem_lite.errors import ClaudeMemError


def main() -> None:
    """Run a command: 0 when it did what was asked, 1 with one line on stderr when it could not, 2 for usage."""
    from claude_mem_lite.cli.app import app, errors

    try:
        app()
    except ClaudeMemError as error:
        errors.print(f"[red]claude-mem:[/red] {error}", soft_wrap=True, highlight=False)
        sys.exit(1)
    except OSError as error:
        errors.print(f"[red]claude-mem:[/red] {error}", soft_wrap=True, highlight=False)
        sys.exit(1)
