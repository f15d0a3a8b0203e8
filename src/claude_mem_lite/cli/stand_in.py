"""Answer one hook as the web process would, while that is down; see `hooks.helper`.

stdin is a socket: the request comes over it, and the answer goes back over it. Nothing is stored here: the
answer says what counts as shown, and the hook stores that once it has the block.
"""

from __future__ import annotations

import gc
import json
import os
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claude_mem_lite.context.answers import Answer

# Hooks kill this process sooner than that; one that is left over ends itself.
_MOST_S = 5


def main() -> None:
    """Read a request, answer it, and end the process: 0 with an answer, 1 without one."""
    import signal

    signal.alarm(_MOST_S)
    gc.disable()
    status = 1
    try:
        with socket.socket(fileno=0) as connection:
            path, asked = _request(connection)
            answer = _answer(path, asked)
            if answer is not None:
                body = json.dumps({"text": answer.block.text, "shown": answer.to_keep})
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + body.encode())
                status = 0
    finally:
        os._exit(status)  # a regular exit of the interpreter takes as long as the answer


def _request(connection: socket.socket) -> tuple[str, dict[str, str]]:
    head = b""
    while b"\r\n\r\n" not in head and (chunk := connection.recv(1 << 16)):
        head += chunk
    target = head.split(b" ", 2)[1].decode("ascii")
    path, _, query = target.partition("?")
    return path, dict(parse_qsl(query, keep_blank_values=True))


def _answer(path: str, asked: Mapping[str, str]) -> Answer | None:
    """Return what the web process would answer; None if the schema is another or the memory is unreadable.

    `claude-mem up` migrates an older schema.
    """
    from claude_mem_lite.storage import migrations, models, projects

    if migrations.schema() != len(migrations.MIGRATIONS):
        return None
    models.open_databases(read_only=True)
    answer = by_words(path, asked, projects.of(asked["project_path"]))
    is_unread = path == "/api/context" and answer.block.skipped and not answer.block.text
    return None if is_unread else answer


def by_words(path: str, asked: Mapping[str, str], project_dir: str) -> Answer:
    """Return what the web process would answer at `path`, matching prompts by words alone."""
    from claude_mem_lite.context import answers
    from claude_mem_lite.context.shown import shown_to

    session_id = asked.get("session_id", "")
    if path == "/api/subagent":
        agent = {name: asked.get(name, "") for name in ("agent_id", "agent_type")}
        return answers.at_subagent(None, project_dir, session_id=session_id, task=asked.get("q"), **agent)
    who: dict[str, Any] = {"session_id": session_id, "shown": shown_to(session_id)}
    if path == "/api/recall":
        return answers.with_prompt(None, project_dir, asked["q"], **who)
    if path == "/api/touch":
        return answers.about_file(project_dir, asked["file"], **who)
    idle_s = float(asked["idle_s"]) if "idle_s" in asked else None
    return answers.at_start(project_dir, source=asked.get("source", "startup"), idle_s=idle_s, **who)
