"""Serve the app on the unix socket of the data directory, to its user alone, until SIGTERM."""

import asyncio
import contextlib
import logging
import os
import socket
import struct
import sys
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from claude_mem_lite import config, logs
from claude_mem_lite.services import instance

log = logging.getLogger(__name__)

# With uvicorn's 64 KiB, a longer request would get a closed connection instead of an answer that says why.
_LONGEST_HEAD_BYTES = 4 << 20
# Source: sys/un.h and sys/ucred.h of macOS: struct xucred begins with its version and the user's id.
_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76


def main() -> None:
    """Bind the socket, readable by the user alone, and run uvicorn on it."""
    instance.end_if_moved()
    config.ensure_home()
    logs.configure("web")
    # Set before numpy is loaded: its threads busy-wait, and the matrices here are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    instance.stop_when_orphaned()
    instance.become_the_only("web")
    # A socket that uvicorn creates would be open to everybody.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with contextlib.suppress(FileNotFoundError):
            if os.path.isdir(config.socket_path()):
                log.error("%s is a folder: move it aside, then claude-mem up", config.socket_path())
            os.unlink(config.socket_path())
        listener.bind(config.socket_path())
        settings = uvicorn.Config(
            "claude_mem_lite.web.app:app",
            log_config=None,
            access_log=False,
            http=OwnUserProtocol,
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=_LONGEST_HEAD_BYTES,
        )
        SocketServer(settings, config.socket_path()).run(sockets=[listener])


class SocketServer(uvicorn.Server):
    """uvicorn's server that removes its socket's file at its end; not after `run`, which SIGTERM ends."""

    def __init__(self, settings: uvicorn.Config, path: str) -> None:
        super().__init__(settings)
        self._path, self._bound = path, os.stat(path)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Remove the file, unless another process has bound a socket there since, and end."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(self._path), self._bound):
                os.unlink(self._path)
        await super().shutdown(sockets)


class OwnUserProtocol(H11Protocol):
    """uvicorn's HTTP for connections of this user; others are closed before a byte is read.

    This holds whatever the permissions of the folder are.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Abort the connection if another user is at the other end."""
        if peer_uid(transport.get_extra_info("socket")) != os.geteuid():
            log.warning("a connection of another user was refused")
            transport.abort()
            return
        super().connection_made(transport)


def peer_uid(connection: Any) -> int | None:
    """Return the user id at the other end of a unix socket's connection; None if it is unknown."""
    try:
        if sys.platform == "darwin":
            data = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
            return cast("int", struct.unpack_from("II", data)[1])
        size = struct.calcsize("3i")
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return cast("int", struct.unpack("3i", data)[1])
    except OSError:
        return None


if __name__ == "__main__":
    main()
