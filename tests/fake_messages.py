"""A loopback stand-in for the Messages API, enough for one headless session of a real client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeMessages:
    """Plays `steps`, one an assistant message; `requests` holds the bodies the client sent."""

    def __init__(self, steps: list[dict[str, Any]]) -> None:
        self.steps = steps
        self.requests: list[dict[str, Any]] = []

    def step(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the content block for a request: the step after as many as the client has had."""
        if not body.get("tools"):
            return {"type": "text", "text": "ok"}
        had = sum(message["role"] == "assistant" for message in body["messages"])
        return self.steps[min(had, len(self.steps) - 1)]


@contextmanager
def serving(fake: FakeMessages) -> Iterator[str]:
    """Serve on a free loopback port and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "count_tokens" in self.path:
                self._send("application/json", json.dumps({"input_tokens": 10}).encode())
                return
            fake.requests.append(body)
            message = _message(body.get("model", "claude"), fake.step(body))
            if body.get("stream"):
                self._send("text/event-stream", b"".join(_stream(message)))
            else:
                self._send("application/json", json.dumps(message).encode())

        def do_GET(self) -> None:
            self._send("application/json", b'{"data": []}')

        do_HEAD = do_GET  # noqa: N815  (the base class looks for this name)

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _message(model: str, block: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def _stream(message: dict[str, Any]) -> Iterator[bytes]:
    """Yield a message as server-sent events, its block in one delta."""
    block = message["content"][0]
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    start = {**message, "content": [], "stop_reason": None}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
