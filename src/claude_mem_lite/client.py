"""GET and POST over the web process's unix socket, for those who cannot wait for an HTTP library to load.

Standard library only; hooks use it.
"""

from __future__ import annotations

import json
import socket
import time

from claude_mem_lite import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UnreachableError(Exception):
    """Nobody answers at the socket: the web process is down."""


def get(path: str, parameters: dict[str, str], *, timeout_s: float) -> dict[str, Any] | None:
    """Return the JSON object that the web process answers, or None if it is late or answers an error.

    Raises:
        UnreachableError: there is nothing to connect to.
    """
    query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
    return _exchange(f"GET {path}?{query} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode(), timeout_s)


def post(path: str, value: dict[str, Any], *, timeout_s: float) -> dict[str, Any] | None:
    """Return the JSON object that the web process answers to one, or None; see `get`."""
    body = json.dumps(value).encode()
    head = f"POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return _exchange(head.encode() + body, timeout_s)


def _exchange(request: bytes, timeout_s: float) -> dict[str, Any] | None:
    deadline = time.monotonic() + timeout_s
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(config.socket_path())
        except OSError as error:
            raise UnreachableError from error
        try:
            # HTTP/1.0, so that the server closes after its answer.
            connection.sendall(request)
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
                connection.settimeout(max(0.001, deadline - time.monotonic()))
            head, _, body = answer.partition(b"\r\n\r\n")
            value = json.loads(body) if head.split(b" ", 2)[1:2] == [b"200"] else None
        except (OSError, ValueError):
            return None
    return value if isinstance(value, dict) else None


def quote(text: str) -> str:
    """Percent-encode; `urllib.parse` would cost a hook as much as all the rest."""
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}"  # noqa: PLR2004  (ASCII)
        for byte in text.encode("utf-8", "replace")
    )
