"""Help a hook that finds the web process down or old: answer in its place within a bound, bring it up.

The answer is that of a process with the libraries. Nobody waits for the services.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What is asked at a session's start takes 160 ms on an idle machine, a prompt 300 (benchmarks/context.py).
TIMEOUT_S = 0.7
_SIGKILL = 9  # everywhere; `import signal` takes 3 ms


def ask(path: str, fields: dict[str, str], project_dir: str, **parameters: str) -> Callable[[], bytes | None]:
    """Start the helper on what the web process would be asked; what is returned waits for it.

    It gives what to print, b"" for nothing, None where there is no answer in time, and notes what is shown.
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
            os.kill(pid, _SIGKILL)  # it has nothing left to do, or hangs; nobody has waited for it yet
        return None if body is None else _taken(body, fields)

    return read


def start_services() -> None:
    """Have `up` run in the background, which replaces old services, too, unless the user does not want it."""
    import os

    from claude_mem_lite import config

    program = _command()
    if not program or not config.autostart():
        return
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    # A process group of its own: what Claude Code kills at a timeout is the hook's.
    environment = {**os.environ, "CLAUDE_MEM_STARTED_BY": "hook"}
    arguments = [*program, "up", "--quiet"]
    os.posix_spawn(program[0], arguments, environment, file_actions=[null, *nowhere], setpgroup=0)


def _command() -> list[str]:
    """Return the beginning of a command that runs `claude-mem` with its libraries; [] where there is none."""
    import os
    import sys

    if os.environ.get("CLAUDE_PLUGIN_ROOT"):  # this Python is any one: the services need theirs
        found = (os.path.join(folder, "claude-mem") for folder in os.get_exec_path())
        # One in a relative folder would be the user's project's.
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
    """Return what Claude Code takes for context, b"" for no text."""
    if not text:
        return b""
    import json

    return json.dumps({
        "hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}
    }).encode()  # fmt: skip


def note(session_id: str, block: dict[str, object]) -> None:
    """Have the consumer write down what a session is shown, unless queue.db is locked."""
    import contextlib

    from claude_mem_lite.capture import inbox
    from claude_mem_lite.capture.fast_sqlite3 import sqlite3

    with contextlib.suppress(sqlite3.Error):
        inbox.enqueue(
            inbox.SHOWN, session_id, block, inbox.utc_now(),
            priority="high", timeout_s=inbox.LOCK_TIMEOUT_S,
        )  # fmt: skip
