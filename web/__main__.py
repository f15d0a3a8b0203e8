"""Serve the app on the unix socket of the data directory until SIGTERM."""

import contextlib
import logging
import os
import socket

import uvicorn

from claude_mem_lite import config, logs
from claude_mem_lite.services import instance
from claude_mem_lite.web.peers import OwnUserProtocol

log = logging.getLogger(__name__)

# With uvicorn's 64 KiB a client that sends more finds its connection closed, not an answer that says why.
_LONGEST_HEAD_BYTES = 4 << 20


def main() -> None:
    """Bind the socket, readable by the user alone, and run uvicorn on it."""
    instance.end_if_moved()
    config.ensure_home()
    logs.configure("web")
    # Before numpy is loaded: its threads wait busily, and what they multiply here is small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    instance.stop_when_orphaned()
    instance.become_the_only("web")
    # uvicorn would make a socket of its own open to everybody.
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
        uvicorn.Server(settings).run(sockets=[listener])


if __name__ == "__main__":
    main()
