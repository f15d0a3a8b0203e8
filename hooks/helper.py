"""Help a hook that finds the web process down or outdated: answer in its place, and start the services.

A process with the libraries computes the answer, within `TIMEOUT_S`. The hook does not wait for the services.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# On an idle machine a session's start takes 160 ms, a prompt 300 (benchmarks/context.py).
TIMEOUT_S = 0.7
_SIGKILL = 9  # everywhere; `import signal` takes 3 ms


def ask(path: str, fields: dict[str, str], project_dir: str, **parameters: str) -> Callable[[], bytes | None]:
    """Start a helper process that answers in place of the web process; the function returned waits for it.

    It returns what to print, b"" for nothing, None without an answer in time, and records what is shown.
    """
    import os

    from claude_mem_lite import config
    from claude_mem_lite.capture import client

    program = _command()
    if not program or not os.path.exists(config.memory_path()):
        return lambda: None
    ours, theirs = client.socket_pair()
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), *nowhere]
    try:
        pid = os.posix_spawn(program[0], [*program, "answer-hook"], os.environ, file_actions=actions)
    except OSError:  # its interpreter is gone
        return lambda: None
    finally:
        theirs.close()
    timeout_s = client.patient(TIMEOUT_S)
    asked = client.block(path, fields, project_dir, timeout_s=timeout_s, connection=ours, **parameters)

    def read() -> bytes | None:
        try:
            body = asked.read()
        finally:
            os.kill(pid, _SIGKILL)  # it is done or hangs; not waited for, so the pid is its own
        return None if body is None else _taken(body, fields)

    return read


def start_services() -> None:
    """Run `up` in the background, which also replaces outdated services, unless autostart is off."""
    import os

    from claude_mem_lite import config

    program = _command()
    if not program or not config.autostart():
        return
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    # A process group of its own, because at a timeout Claude Code kills that of the hook.
    environment = {**os.environ, "CLAUDE_MEM_STARTED_BY": "hook"}
    arguments = [*program, "up", "--quiet"]
    os.posix_spawn(program[0], arguments, environment, file_actions=[null, *nowhere], setpgroup=0)


def _command() -> list[str]:
    """Return the first words of a command that runs `claude-mem` with its libraries, [] for none."""
    import os
    import sys

    if os.environ.get("CLAUDE_PLUGIN_ROOT"):  # this may be any Python; the services need theirs
        found = (os.path.join(folder, "claude-mem") for folder in os.get_exec_path())
        # A program in a relative folder would belong to the user's project.
        return [path for path in found if os.path.isabs(path) and os.access(path, os.X_OK)][:1]
    return [sys.executable, "-I", "-m", "claude_mem_lite.cli"]


def _taken(body: bytes, fields: dict[str, str]) -> bytes | None:
    import json

    try:
        answer = json.loads(body)
    except ValueError:  # cut off
        return None
    for block in answer["shown"]:
        note(fields["session_id"], block)
    return printed(answer["text"], fields["event_name"])


def printed(text: str, event_name: str) -> bytes:
    """Return the output that adds a text to Claude Code's context, b"" for no text."""
    if not text:
        return b""
    import json

    return json.dumps({
        "hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}
    }).encode()  # fmt: skip


def note(session_id: str, block: dict[str, object]) -> None:
    """Have the consumer record what a session is shown, unless queue.db is locked or fails."""
    import contextlib

    from claude_mem_lite.capture import inbox
    from claude_mem_lite.capture.fast_sqlite3 import sqlite3

    with contextlib.suppress(sqlite3.Error):
        inbox.enqueue(inbox.SHOWN, session_id, block, inbox.utc_now(), priority="high", is_hook=True)
