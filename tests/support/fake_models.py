"""Loopback stand-ins for the model APIs of other agents; a step of a script answers each request.

A step is `{"text": …}` or `{"tool": name, "input": …}`. A request's step is the number of tool results since
the user's last message. Only what a real client needs is implemented.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass
class FakeModel:
    """A model that follows `steps`, or does what `act` returns for a request's body."""

    steps: list[Body]
    act: Callable[[Body], Body] | None = None
    requests: list[Body] = field(default_factory=list)

    def answer(self, body: Body, done: int) -> Body:
        """Record a request and return the step that answers it."""
        self.requests.append(body)
        return self.act(body) if self.act else self.steps[min(done, len(self.steps) - 1)]


def responses(model: FakeModel, body: Body) -> Iterator[tuple[str, Body]]:
    """Yield the events of OpenAI's Responses API that answer a request."""
    done, count = 0, len(model.requests)
    for item in body["input"]:
        is_users = item["type"] == "message" and item["role"] == "user"
        done = 0 if is_users else done + item["type"].endswith("_call_output")
    step = model.answer(body, done)
    if "text" in step:
        said = [{"type": "output_text", "text": step["text"]}]
        item = {"type": "message", "id": f"msg_{count}", "role": "assistant", "content": said}
    elif isinstance(step["input"], str):
        call = {"id": f"ctc_{count}", "call_id": f"call_{count}", "name": step["tool"]}
        item = {"type": "custom_tool_call", **call, "input": step["input"]}
    else:
        call = {"id": f"fc_{count}", "call_id": f"call_{count}", "name": step["tool"]}
        space = {"namespace": step["namespace"]} if "namespace" in step else {}
        item = {"type": "function_call", **call, **space, "arguments": json.dumps(step["input"])}
    yield "response.created", {"response": {"id": f"resp_{count}"}}
    yield "response.output_item.added", {"output_index": 0, "item": item}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield "response.completed", {"response": {"id": f"resp_{count}", "usage": usage}}


def gemini(model: FakeModel, body: Body) -> Body:
    """Return the answer of Google's Gemini API to a request for content."""
    done = 0
    for content in body["contents"]:
        answers = sum("functionResponse" in part for part in content["parts"])
        done = 0 if content["role"] == "user" and not answers else done + answers
    step = model.answer(body, done)
    call = {"functionCall": {"name": step.get("tool"), "args": step.get("input")}}
    part = {"text": step["text"]} if "text" in step else call
    found = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [found], "usageMetadata": usage}


@contextmanager
def serving(model: FakeModel) -> Iterator[str]:
    """Serve a model on loopback and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            if "contents" in body:
                answer = gemini(model, body)
                self.wfile.write(f"data: {json.dumps(answer)}\r\n\r\n".encode())
                return
            for name, event in responses(model, body):
                line = f"event: {name}\ndata: {json.dumps({'type': name, **event})}\n\n"
                self.wfile.write(line.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
