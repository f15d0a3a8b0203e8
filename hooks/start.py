"""Bring the services up from a hook that finds them down or old; nobody waits for them."""

from __future__ import annotations


def start_services() -> None:
    """Have `up` run in the background, which replaces old services, too, unless the user does not want it."""
    import os
    import sys

    from claude_mem_lite import config

    if not config.autostart():
        return
    command = [sys.executable, "-I", "-m", "claude_mem_lite.cli"]
    if os.environ.get("CLAUDE_PLUGIN_ROOT"):  # this Python is any one: the services need theirs
        found = (os.path.join(folder, "claude-mem") for folder in os.get_exec_path())
        command = [path for path in found if os.access(path, os.X_OK)][:1]
    if not command:
        return
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    command += ["up", "--quiet"]
    # A process group of its own: what Claude Code kills at a timeout is the hook's.
    environment = {**os.environ, "CLAUDE_MEM_STARTED_BY": "hook"}
    os.posix_spawn(command[0], command, environment, file_actions=[null, *nowhere], setpgroup=0)
