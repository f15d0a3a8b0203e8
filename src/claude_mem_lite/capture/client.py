"""GET and POST over the web process's unix socket, for callers with no time to load an HTTP library.

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


# The header with which each answer of the web process identifies the code that it runs, see `installed`.
CODE_HEADER = b"x-claude-mem-code"


# The longest wait under load, as a multiple of that on an idle machine.
_MOST_PATIENCE = 3


class UnreachableError(Exception):
    """Nothing listens at the socket: the web process is down."""


class Asked:
    """A request that has been sent; the caller can do other work before it reads the answer.

    It goes to the web process, or to the process at the other end of `connection`.
    `deadline` is when to give up, by `time.monotonic`; `is_down` means that nothing listens at the socket.
    Once the answer is read, `is_error` tells whether its status is an error, and `code` identifies the code
    of the web process: "" if it does not say, None without an answer.
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
    """Tell whether an answer has all bytes of its Content-Length, so that nothing waits for the close."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0].strip()
    return length.isdigit() and len(body) >= int(length)


def patient(timeout_s: float, *, load: float | None = None) -> float:
    """Return how long to wait for an answer that takes `timeout_s` when idle: longer, the higher the load.

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
    """Send a JSON object and return the one that the web process answers, or None; see `get`."""
    import json

    body = json.dumps(value).encode()
    head = f"POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return _object(Asked(head.encode() + body, time.monotonic() + timeout_s))


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a connection: one for `block`'s `connection`, one for the answering process."""
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
    """Ask for the output of an event's hook, given the fields of `inbox.parse`; b"" is read for no output.

    The web process is told the hook's deadline, and records what it answers in time as shown.
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
