"""A loopback stand-in for the Messages API: it answers by script or by schema, and fails on request.

Real clients drive it: Claude Code by `steps`, the SDK in our own code by `answer`, the schema and `faults`.
"""

import itertools
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, get_args

Body = dict[str, Any]
Kind = Literal[
    "", "status", "hang", "drop", "truncate", "not_json", "html", "html_200",
    "prose", "fenced", "wrong_schema", "max_tokens", "refusal", "empty",
]  # fmt: skip
ERROR_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
    529: "overloaded_error",
}  # fmt: skip
CHARS_A_TOKEN = 3.5
MESSAGES, BATCHES = "/v1/messages", "/v1/messages/batches"
PAGE = b"<!DOCTYPE html><html><head><title>%s</title></head><body><h1>%s</h1></body></html>"


@dataclass(frozen=True)
class Fault:
    """A failure, and the requests it hits: all without a selector, else those where every selector holds."""

    kind: Kind
    status: int = 0  # of status, else 500
    retry_after: float | None = None  # seconds, of status
    body: Body | None = None  # of status, in place of the usual error
    seconds: float = 0  # of hang
    length: int = 20  # bytes that truncate lets through
    json: Any = None  # of wrong_schema
    # Selectors. The ordinals start at 1 and count the requests to /v1/messages since the fake was made.
    first: int | None = None
    nth: tuple[int, ...] = ()
    match: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"no fault is called {self.kind!r}")

    def fires(self, ordinal: int, raw: str) -> bool:
        """Return whether every selector holds."""
        return (
            (self.first is None or ordinal <= self.first)
            and (not self.nth or ordinal in self.nth)
            and re.search(self.match, raw) is not None
        )


@dataclass(frozen=True)
class Request:
    """A request as it arrived, and its outcome: `status` is 0 where nothing was answered."""

    at: float
    path: str
    headers: dict[str, str]
    body: Body
    fault: str
    status: int


@dataclass(frozen=True)
class Reply:
    """An HTTP response; with status 0 the connection closes without a byte."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0
    sent: int | None = None  # bytes of the body that are sent, None for all of them


@dataclass
class Batch:
    """A message batch; its results exist once it has ended."""

    requests: list[Body]
    processing_status: str = "in_progress"
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    results: list[Body] = field(default_factory=list)


class FakeMessages:
    """Answer each request with the next of `steps` (if it has tools), by `answer`, or by its schema.

    For a request with tools, `act` comes before `steps`: the content block that it returns, if any, is sent.
    `answer` returns a dict or list (sent as JSON), a str (the raw text) or None (by schema). `faults` may be
    replaced at any time. `batch_faults` maps a custom_id or an index to "errored", "expired" or "canceled";
    `end_batches` reads it.
    """

    def __init__(self, steps: Iterable[Body] = ()) -> None:
        self.steps = list(steps)
        self.answer: Callable[[Body], Any] = lambda _body: None
        self.act: Callable[[Body], Body | None] = lambda _body: None
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.batches: dict[str, Batch] = {}
        self.batch_faults: dict[str | int, str] = {}
        self._ordinals, self._ids = itertools.count(1), itertools.count(1)
        self._cached: set[int] = set()
        self._lock = threading.Lock()

    def end_batches(self) -> None:
        """End every batch in progress, with a result for each of its requests."""
        for batch in list(self.batches.values()):  # a client may add one meanwhile
            if batch.processing_status == "in_progress":
                results = [self._result(index, request) for index, request in enumerate(batch.requests)]
                batch.results = results[::-1]  # the API promises no order, so no client may rely on one
                batch.processing_status = "ended"

    def reply(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Reply:
        """Record a request and return its response."""
        at, fault, body = time.monotonic(), Fault(""), {}
        try:
            body = json.loads(raw or b"{}")
            if (method, path) == ("POST", MESSAGES):
                ordinal, text = next(self._ordinals), raw.decode()
                fault = next((fault for fault in self.faults if fault.fires(ordinal, text)), fault)
                reply = _in_place_of_an_answer(fault) or self._answered(body, fault)
            elif method == "POST":
                reply = self._post(path, body, headers)
            else:
                reply = self._get(path, headers)
        except Exception as error:  # noqa: BLE001  (a mistake in a test's `answer` shows in the client's error)
            reply = _error(500, repr(error))
        self.requests.append(Request(at, path, headers, body, fault.kind, reply.status))
        return reply

    def _answered(self, body: Body, fault: Fault) -> Reply:
        message = self._message(body, fault)
        reply = _json(message)
        if body.get("stream"):
            reply = Reply(_stream(message), content_type="text/event-stream")
        return replace(reply, sent=fault.length) if fault.kind == "truncate" else reply

    def _post(self, path: str, body: Body, headers: dict[str, str]) -> Reply:
        if path == f"{MESSAGES}/count_tokens":
            return _json({"input_tokens": _tokens("".join(text for text, _ in _prompt(body)))})
        if path != BATCHES:
            return _error(404, f"nothing at {path}")
        ids = [request["custom_id"] for request in body["requests"]]
        if len(set(ids)) < len(ids) or not all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in ids):
            return _error(400, "requests: a custom_id is unique and made of letters, digits, - and _")
        batch_id = f"msgbatch_{next(self._ids):06}"
        self.batches[batch_id] = Batch(body["requests"])
        return _json(self._batch(batch_id, headers))

    def _get(self, path: str, headers: dict[str, str]) -> Reply:
        if not path.startswith(f"{BATCHES}/"):
            return _json({"data": []})
        batch_id, _, rest = path.removeprefix(f"{BATCHES}/").partition("/")
        batch = self.batches.get(batch_id)
        if batch is None or rest not in {"", "results"} or (rest and not batch.results):
            return _error(404, f"nothing at {path}")
        if not rest:
            return _json(self._batch(batch_id, headers))
        lines = "".join(json.dumps(result) + "\n" for result in batch.results)
        return Reply(lines.encode(), content_type="application/x-jsonl")

    def _batch(self, batch_id: str, headers: dict[str, str]) -> Body:
        batch = self.batches[batch_id]
        counts = Counter(result["result"]["type"] for result in batch.results)
        counts["processing"] = len(batch.requests) - counts.total()
        outcomes = "processing", "succeeded", "errored", "canceled", "expired"
        return {
            "id": batch_id,
            "type": "message_batch",
            "processing_status": batch.processing_status,
            "request_counts": {outcome: counts[outcome] for outcome in outcomes},
            "created_at": batch.created_at.isoformat(),
            "expires_at": (batch.created_at + timedelta(days=1)).isoformat(),
            "results_url": f"http://{headers['host']}{BATCHES}/{batch_id}/results" if batch.results else None,
        }

    def _result(self, index: int, request: Body) -> Body:
        custom_id = request["custom_id"]
        fault = self.batch_faults.get(custom_id) or self.batch_faults.get(index)
        result: Body = {"type": fault or "succeeded"}
        if fault is None:
            result["message"] = self._message(request["params"], Fault(""))
        elif fault == "errored":
            result["error"] = json.loads(_error(500, "an error made for this request").body)
        return {"custom_id": custom_id, "result": result}

    def _message(self, body: Body, fault: Fault) -> Body:
        block = self._block(body)
        content, stop_reason = [block], "tool_use" if block["type"] == "tool_use" else "end_turn"
        altered = _altered(fault, block.get("text", ""))
        if altered is not None:
            text, stop_reason = altered
            content = [{"type": "text", "text": text}] if text else []
        said = "".join(_text(block) for block in content)
        said_as = {"model": body.get("model", "claude"), "content": content, "stop_reason": stop_reason}
        usage = {**self._input_usage(body), "output_tokens": _tokens(said)}
        message = {"id": f"msg_{next(self._ids):06}", "type": "message", "role": "assistant", **said_as}
        return {**message, "stop_sequence": None, "usage": usage}

    def _block(self, body: Body) -> Body:
        """Return the answer as a content block; the step's number is how many answers the client has had."""
        if body.get("tools") and (block := self.act(body)):
            return block
        if self.steps and body.get("tools"):
            had = sum(message["role"] == "assistant" for message in body["messages"])
            step: Body = self.steps[min(had, len(self.steps) - 1)]
            return step
        answer = self.answer(body)
        if answer is None:
            schema = (body.get("output_config") or {}).get("format", {}).get("schema")
            answer = instance(schema, schema) if schema else "ok"
        return {"type": "text", "text": answer if isinstance(answer, str) else json.dumps(answer)}

    def _input_usage(self, body: Body) -> dict[str, int]:
        """Estimate the prompt's tokens: its longest known prefix is a cache read, the rest a cache write."""
        prompt = ""
        marks: list[tuple[int, int]] = []  # (key, tokens) of each prefix with a cache mark
        for text, marked in _prompt(body):
            prompt += text
            if marked:
                marks.append((hash((body.get("model"), prompt)), int(len(prompt) / CHARS_A_TOKEN)))
        with self._lock:
            read = max((tokens for key, tokens in marks if key in self._cached), default=0)
            self._cached.update(key for key, _ in marks)
        marked_tokens = marks[-1][1] if marks else 0
        return {
            "input_tokens": max(1, _tokens(prompt) - marked_tokens),
            "cache_creation_input_tokens": marked_tokens - read,
            "cache_read_input_tokens": read,
        }


@contextmanager
def serving(fake: FakeMessages) -> Iterator[str]:
    """Serve on a free loopback port and yield its address."""
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = fake.reply(self.command, self.path.partition("?")[0], headers, raw)
            stopped.wait(reply.delay_s)
            if not reply.status:
                return
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body[: reply.sent])

        do_GET = do_HEAD = do_POST  # noqa: N815  (the base class looks for these names)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # several client processes may connect at once

        def handle_error(self, *_: object) -> None:
            """Print nothing: many tests have a client that gives up waiting."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()


def instance(schema: Body, root: Body, name: str = "value") -> Any:
    """Return a small instance of a JSON schema, always the same; strings contain the property's `name`."""
    if "$ref" in schema:
        target: Any = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        return instance(target, root, name)
    if "anyOf" in schema:
        return instance(schema["anyOf"][0], root, name)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if schema.get("type") == "object":
        return {key: instance(value, root, key) for key, value in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        count = max(1, schema.get("minItems", 1))
        return [instance(schema["items"], root, f"{name} {number}") for number in range(1, count + 1)]
    scalars = {"integer": 1, "number": 0.5, "boolean": True, "null": None}
    return scalars.get(schema.get("type", "string"), f"Some {name.replace('_', ' ')}")


def _in_place_of_an_answer(fault: Fault) -> Reply | None:
    """Return the response of a fault that replaces the whole answer, None for the other faults."""
    error = _error(fault.status or 500, "an error made for this request")
    if fault.body is not None:
        error = replace(error, body=json.dumps(fault.body).encode())
    if fault.retry_after is not None:
        error = replace(error, headers={**error.headers, "retry-after": f"{fault.retry_after:g}"})
    return {
        "status": error,
        "hang": Reply(status=0, delay_s=fault.seconds),
        "drop": Reply(status=0),
        "not_json": Reply(b'{"id": "msg_1", "type": "message", "content": [{'),
        "html": Reply(PAGE % ((b"Bad Gateway",) * 2), 502, "text/html"),
        "html_200": Reply(PAGE % ((b"Sign in to this network",) * 2), content_type="text/html"),
    }.get(fault.kind)


def _altered(fault: Fault, text: str) -> tuple[str, str] | None:
    """Return the text and stop reason that a fault makes of an answer, None if it changes nothing."""
    return {
        "prose": ("I looked through the session; nothing in it stood out to me.", "end_turn"),
        "fenced": (f"Here is what I found:\n\n```json\n{text}\n```\n\nShall I go on?", "end_turn"),
        "wrong_schema": (json.dumps(fault.json), "end_turn"),
        "max_tokens": (text[: len(text) // 2], "max_tokens"),
        "refusal": ("I can't help with this request.", "refusal"),
        "empty": ("", "end_turn"),
    }.get(fault.kind)


def _json(body: Body) -> Reply:
    return Reply(json.dumps(body).encode())


def _error(status: int, message: str) -> Reply:
    error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
    reply = _json({"type": "error", "error": error, "request_id": "req_fake"})
    return replace(reply, status=status, headers={"request-id": "req_fake"})


def _tokens(text: str) -> int:
    return max(1, int(len(text) / CHARS_A_TOKEN))


def _text(block: Body) -> str:
    return block["text"] if "text" in block else json.dumps(block.get("content", block.get("input")))


def _prompt(body: Body) -> Iterator[tuple[str, bool]]:
    """Yield the text of each system and content block, and whether it has a cache mark."""
    for content in (body.get("system", ""), *(message["content"] for message in body.get("messages", []))):
        for block in [{"text": content}] if isinstance(content, str) else content:
            yield _text(block), "cache_control" in block


def _stream(message: Body) -> bytes:
    """Return a message as server-sent events, each block in one delta."""
    start = {**message, "content": [], "stop_reason": None}
    events: list[Body] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message["content"]):
        empty = {**block, **({"text": ""} if block["type"] == "text" else {"input": {}})}
        delta = {"type": "text_delta", "text": block.get("text")}
        if block["type"] == "tool_use":
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": message["usage"]})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
