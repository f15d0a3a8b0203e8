"""Refuse everybody but this user on the socket, whatever the folder's permissions have become."""

import asyncio
import logging
import os
import socket
import struct
import sys
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

# Source: sys/un.h and sys/ucred.h of macOS: struct xucred begins with its version and the user's id.
_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76


class OwnUserProtocol(H11Protocol):
    """uvicorn's HTTP for connections of this user; others are closed before a byte is read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look who is there."""
        if peer_uid(transport.get_extra_info("socket")) != os.geteuid():
            log.warning("a connection of another user was refused")
            transport.abort()
            return
        super().connection_made(transport)


def peer_uid(connection: Any) -> int | None:
    """Return the user at the other end of a unix socket's connection; None where nobody can tell."""
    try:
        if sys.platform == "darwin":
            data = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
            return cast("int", struct.unpack_from("II", data)[1])
        size = struct.calcsize("3i")
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return cast("int", struct.unpack("3i", data)[1])
    except OSError:
        return None
