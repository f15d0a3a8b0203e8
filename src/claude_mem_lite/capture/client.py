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


# In each answer of the web process: the code that it runs, see `installed`.
CODE_HEADER = b"x-claude-mem-code"


# However many processes wait for each core, who asks waits this many times as long.
_MOST_PATIENCE = 3


class UnreachableError(Exception):
    """Nobody answers at the socket: the web process is down."""


class Asked:
    """A request on its way: the answer can be read once there is nothing else to do.

    It goes to the web process, or to whoever is at the other end of `connection`.
    `deadline` is when to give up, by `time.monotonic`; `is_down` tells that nobody answers at the socket.
    Once the answer is read, `is_error` tells whether it is one, and `code` what the web process runs: "" if
    it does not say, None without an answer.
    """

    def __init__(self, request: bytes, deadline: float, *, connection: socket.socket | None = None) -> None:
        self._deadline = deadline
        self._connection = connection or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.is_down = self.is_error = self._is_lost = False
        self.code: str | None = None
        self._wait()
        try:
            if connection is None:
                self._connection.connect(config.socket_path())
        except OSError:
            self.is_down = True
            self._connection.close()
            return
        try:
            self._connection.sendall(request)
        except OSError:
            self._is_lost = True

    def read(self) -> bytes | None:
        """Return the body of the answer if it is 200 or 204 and comes in time, else None."""
        answer = b""
        try:
            if self.is_down or self._is_lost:
                return None
            # HTTP/1.0, so that the server closes after its answer.
            self._wait()
            while not _is_whole(answer) and (chunk := self._connection.recv(65536)):
                answer += chunk
                self._wait()
        except OSError:
            return None
        finally:
            self._connection.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        if not head:
            return None
        self.code = head.partition(CODE_HEADER + b": ")[2].partition(b"\r\n")[0].decode("ascii", "replace")
        self.is_error = head.split(b" ", 2)[1:2] not in ([b"200"], [b"204"])
        return None if self.is_error else body

    def _wait(self) -> None:
        self._connection.settimeout(max(0.001, self._deadline - time.monotonic()))


def _is_whole(answer: bytes) -> bool:
    """Tell whether an answer has as many bytes as it says; it has come, though its end may come too late."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0].strip()
    return length.isdigit() and len(body) >= int(length)


def patient(timeout_s: float, *, load: float | None = None) -> float:
    """Return how long to wait where an idle machine answers in `timeout_s`: longer, the more it is loaded.

    `load` is how many processes run or wait to run (default: on average in the last minute).
    """
    import os

    load = os.getloadavg()[0] if load is None else load
    return timeout_s * min(max(load / (os.cpu_count() or 1), 1), _MOST_PATIENCE)


def get(path: str, parameters: dict[str, str], *, timeout_s: float) -> dict[str, Any] | None:
    """Return the JSON object that the web process answers, or None if it is late or answers an error.

    Raises: UnreachableError: there is nothing to connect to.
    """
    return _object(_get(path, parameters, time.monotonic() + timeout_s))


def post(path: str, value: dict[str, Any], *, timeout_s: float) -> dict[str, Any] | None:
    """Return the JSON object that the web process answers to one, or None; see `get`."""
    import json

    body = json.dumps(value).encode()
    head = f"POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return _object(Asked(head.encode() + body, time.monotonic() + timeout_s))


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a connection, for `block`'s `connection` and whoever is to answer it."""
    return socket.socketpair()


def block(
    path: str,
    fields: dict[str, str],
    project_dir: str,
    *,
    timeout_s: float,
    connection: socket.socket | None = None,
    **parameters: str,
) -> Asked:
    """Ask for what the hook of an event, with `inbox.parse`'s fields, has to print; b"" is read for nothing.

    The web process hears until when the hook waits, and takes what it answers in time for shown.
    """
    deadline = time.monotonic() + timeout_s
    asked = {
        "hook": fields["event_name"],
        "deadline": str(deadline),
        "project_path": project_dir,
        "session_id": fields["session_id"],
    }
    return _get(path, asked | parameters, deadline, connection)


def _get(
    path: str, parameters: dict[str, str], deadline: float, connection: socket.socket | None = None
) -> Asked:
    query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
    request = f"GET {path}?{query} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()
    return Asked(request, deadline, connection=connection)


def _object(asked: Asked) -> dict[str, Any] | None:
    import json

    body = asked.read()
    if asked.is_down:
        raise UnreachableError
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
