"""A loopback stand-in for a model hub: it serves files by Range, and truncates or refuses them on request."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Hub:
    """Files by URL path; `asked` has the path and Range of each request.

    `sent` truncates the next answers, each to its number of bytes. `status` other than 200 refuses every
    request. `moves` answers with a redirect to an address that serves the file.
    """

    files: Mapping[str, bytes]
    address: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    status: int = 200
    knows_ranges: bool = True
    moves: bool = False


@contextmanager
def serving(files: Mapping[str, bytes]) -> Iterator[Hub]:
    """Serve on a free loopback port."""
    hub = Hub(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            hub.asked.append((self.path, asked))
            content = hub.files.get(self.path.removeprefix("/moved"))
            if hub.status != 200 or content is None:
                self.send_error(hub.status if hub.status != 200 else 404)
                return
            if hub.moves and not self.path.startswith("/moved"):
                self.send_response(302)
                self.send_header("Location", f"/moved{self.path}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and hub.knows_ranges else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start : start + hub.sent.pop(0)] if hub.sent else content[start:])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
