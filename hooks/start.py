"""Starting the services from a hook that finds them down; nobody waits for them."""

from __future__ import annotations


def start_services() -> None:
    """Have the services started in the background, unless the user does not want it."""
    import os
    import sys

    from claude_mem_lite import config

    if not config.autostart():
        return
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    command = [sys.executable, "-I", "-m", "claude_mem_lite.cli", "up", "--quiet"]
    # A process group of its own: what Claude Code kills at a timeout is the hook's.
    os.posix_spawn(command[0], command, os.environ, file_actions=[null, *nowhere], setpgroup=0)
