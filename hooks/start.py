"""Bring the services up from a hook that finds them down or old; nobody waits for them."""

from __future__ import annotations


def command() -> list[str]:
    """Return the beginning of a command that runs `claude-mem` with its libraries; [] where there is none."""
    import os
    import sys

    if os.environ.get("CLAUDE_PLUGIN_ROOT"):  # this Python is any one: the services need theirs
        found = (os.path.join(folder, "claude-mem") for folder in os.get_exec_path())
        # One in a relative folder would be the user's project's.
        return [path for path in found if os.path.isabs(path) and os.access(path, os.X_OK)][:1]
    return [sys.executable, "-I", "-m", "claude_mem_lite.cli"]


def start_services() -> None:
    """Have `up` run in the background, which replaces old services, too, unless the user does not want it."""
    import os

    from claude_mem_lite import config

    program = command()
    if not program or not config.autostart():
        return
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    # A process group of its own: what Claude Code kills at a timeout is the hook's.
    environment = {**os.environ, "CLAUDE_MEM_STARTED_BY": "hook"}
    arguments = [*program, "up", "--quiet"]
    os.posix_spawn(program[0], arguments, environment, file_actions=[null, *nowhere], setpgroup=0)
