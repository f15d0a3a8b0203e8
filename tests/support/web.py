"""Requests to the web process of a data directory."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any


class Connection(http.client.HTTPConnection):
    """HTTP over the Unix socket of a data directory."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


def get(home: Path, path: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    """Return status and JSON body of a request."""
    connection = Connection(home / "worker.sock")
    connection.request(method, path)
    response = connection.getresponse()
    value = json.loads(response.read())
    connection.close()
    return response.status, value
