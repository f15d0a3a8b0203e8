"""GET and POST over the web process's unix socket, for those who cannot wait for an HTTP library to load.

Standard library only; hooks use it.
"""

from __future__ import annotations

import time

from claude_mem_lite import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any
else:
    # The C module itself: `socket` makes enumerations of every constant, which costs a hook 3 ms.
    try:
        import _socket as socket
    except ImportError:
        import socket


class UnreachableError(Exception):
    """Nobody answers at the socket: the web process is down."""


def get(path: str, parameters: dict[str, str], *, timeout_s: float) -> dict[str, Any] | None:
    """Return the JSON object that the web process answers, or None if it is late or answers an error.

    Raises:
        UnreachableError: there is nothing to connect to.
    """
    return _object(_get(path, parameters, time.monotonic() + timeout_s))


def post(path: str, value: dict[str, Any], *, timeout_s: float) -> dict[str, Any] | None:
    """Return the JSON object that the web process answers to one, or None; see `get`."""
    import json

    body = json.dumps(value).encode()
    head = f"POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return _object(_exchange(head.encode() + body, time.monotonic() + timeout_s))


def block(hook: str, path: str, parameters: dict[str, str], *, timeout_s: float) -> bytes | None:
    """Return what a hook of that event has to print, b"" for nothing, or None; see `get`.

    The web process hears until when the hook waits, and takes what it answers in time for shown.
    """
    deadline = time.monotonic() + timeout_s
    return _get(path, {**parameters, "hook": hook, "deadline": str(deadline)}, deadline)


def _get(path: str, parameters: dict[str, str], deadline: float) -> bytes | None:
    query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
    return _exchange(f"GET {path}?{query} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode(), deadline)


def _exchange(request: bytes, deadline: float) -> bytes | None:
    """Return the body of the answer if it is 200 or 204 and comes before `deadline`, of `time.monotonic`."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            connection.connect(config.socket_path())
        except OSError as error:
            raise UnreachableError from error
        # HTTP/1.0, so that the server closes after its answer.
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
            connection.settimeout(max(0.001, deadline - time.monotonic()))
    except OSError:
        return None
    finally:
        connection.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return body if head.split(b" ", 2)[1:2] in ([b"200"], [b"204"]) else None


def _object(body: bytes | None) -> dict[str, Any] | None:
    import json

    try:
        value = json.loads(body or b"null")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def quote(text: str) -> str:
    """Percent-encode; `urllib.parse` would cost a hook as much as all the rest."""
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}"  # noqa: PLR2004  (ASCII)
        for byte in text.encode("utf-8", "replace")
    )
