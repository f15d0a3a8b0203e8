"""Starting the services from a hook that finds them down; nobody waits for them."""

from __future__ import annotations


def start_services() -> None:
    """Have the services started in the background, unless the user does not want it."""
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
    os.posix_spawn(command[0], command, os.environ, file_actions=[null, *nowhere], setpgroup=0)
