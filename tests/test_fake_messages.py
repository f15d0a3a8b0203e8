"""What the real SDK makes of each answer and each fault of the API: our client code meets just this."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import anthropic
import httpx2
import pytest
from anthropic.types import Message
from pydantic import BaseModel, ValidationError
from support.fake_messages import ERROR_TYPES, FakeMessages, Fault, serving
from support.processes import wait_until

TIMEOUT_S = 60


class Observation(BaseModel):
    """An answer with all that our schemas use."""

    kind: Literal["decision", "bugfix"]
    title: str
    files_read: list[str]
    importance: int
    parent: str | None


class Answer(BaseModel):
    """The root, which refers to a definition."""

    observations: list[Observation]


FORMAT: Any = {"format": {"type": "json_schema", "schema": anthropic.transform_schema(Answer)}}
PROMPT: Any = {
    "model": "claude-haiku-4-5",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "What happened at the river?"}],
}


@pytest.fixture
def fake() -> FakeMessages:
    """Return the fake that `client` talks to."""
    return FakeMessages()


@pytest.fixture
def client(fake: FakeMessages) -> Iterator[anthropic.Anthropic]:
    """Return a real client that does not retry."""
    with serving(fake) as url, connect(url) as client:
        yield client


def connect(url: str, **options: Any) -> anthropic.Anthropic:
    """Return a client of the fake at an address."""
    settings: Any = {"max_retries": 0, "timeout": TIMEOUT_S, **options}
    return anthropic.Anthropic(api_key="test-key", base_url=url, open_telemetry=False, **settings)


def create(client: anthropic.Anthropic, **fields: Any) -> Message:
    """Ask for an answer of our schema."""
    message: Message = client.messages.create(**{**PROMPT, "output_config": FORMAT, **fields})
    return message


def text_of(message: Message) -> str:
    """Return the text of a message of one block."""
    (block,) = message.content
    assert block.type == "text"
    return block.text


# Answers


def test_an_answer_follows_the_schema(client: anthropic.Anthropic) -> None:
    """Without a script the answer is an instance of the schema asked for, the same each time."""
    texts = [text_of(create(client)) for _ in range(2)]

    observation = {
        "kind": "decision",
        "title": "Some title",
        "files_read": ["Some files read 1"],
        "importance": 1,
        "parent": "Some parent",
    }
    assert [json.loads(text) for text in texts] == [{"observations": [observation]}] * 2


def test_const_and_min_items_are_kept(client: anthropic.Anthropic) -> None:
    """An instance has a constant as it is, as many items as wanted, and the first branch of anyOf."""
    pair = {"type": "array", "minItems": 2, "items": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}}
    schema = {"type": "object", "properties": {"version": {"const": 2}, "pair": pair}}

    message = create(client, output_config={"format": {"type": "json_schema", "schema": schema}})

    assert json.loads(text_of(message)) == {"version": 2, "pair": [True, True]}


@pytest.mark.parametrize(
    ("answer", "text"),
    [({"observations": []}, '{"observations": []}'), ([1], "[1]"), ("not JSON {", "not JSON {"), ("", "")],
)
def test_a_given_answer_is_sent(
    fake: FakeMessages, client: anthropic.Anthropic, answer: object, text: str
) -> None:
    """A dict or list goes out as JSON, a str as it is."""
    fake.answer = lambda _body: answer

    assert text_of(create(client)) == text


def test_an_answer_that_fails_is_told(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A mistake in a test's own `answer` reaches the client's error instead of a silent disconnect."""
    fake.answer = lambda body: body["no such key"]

    with pytest.raises(anthropic.InternalServerError, match="no such key"):
        create(client)


def test_a_stream_carries_the_same_message(client: anthropic.Anthropic) -> None:
    """Server-sent events add up to the text, the stop reason and the usage of the plain answer."""
    plain = create(client)

    with client.messages.stream(**PROMPT, output_config=FORMAT) as stream:
        streamed = stream.get_final_message()

    assert text_of(streamed) == text_of(plain)
    assert (streamed.stop_reason, streamed.usage.output_tokens) == ("end_turn", plain.usage.output_tokens)


def test_steps_play_to_a_request_with_tools() -> None:
    """The step is the one after as many as the client has had; a request without tools gets none."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    tools: Any = [{"name": "Bash", "input_schema": {"type": "object"}}]
    had = [{"role": "assistant", "content": [call]}, {"role": "user", "content": "ran"}]
    fake = FakeMessages([call, {"type": "text", "text": "Done."}])

    with serving(fake) as url, connect(url) as client:
        first = client.messages.create(**PROMPT, tools=tools)
        second = client.messages.create(**{**PROMPT, "messages": PROMPT["messages"] + had}, tools=tools)
        bare = client.messages.create(**PROMPT)

    assert [block.to_dict() for block in first.content] == [call]
    assert first.stop_reason == "tool_use"
    assert [text_of(second), text_of(bare)] == ["Done.", "ok"]


def test_requests_are_noted(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """Time, path, lower-case headers, body, fault and status of each request are kept."""
    fake.faults = [Fault("status", status=529, first=1)]
    before = time.monotonic()
    with pytest.raises(anthropic.OverloadedError):
        create(client)
    create(client)
    client.messages.count_tokens(model="claude-haiku-4-5", messages=PROMPT["messages"])

    noted = [(request.path, request.fault, request.status) for request in fake.requests]
    messages, counting = "/v1/messages", "/v1/messages/count_tokens"
    assert noted == [(messages, "status", 529), (messages, "", 200), (counting, "", 200)]
    first = fake.requests[0]
    assert before <= first.at <= time.monotonic()
    assert first.headers["authorization"] == "Bearer test-key"
    assert first.body == {**PROMPT, "output_config": FORMAT}


# Usage


def test_usage_estimates_tokens(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A token is 3.5 characters of prompt or answer; nothing is cached without a mark."""
    fake.answer = lambda _body: "x" * 70

    usage = create(client, system="s" * 350, messages=[{"role": "user", "content": "m" * 35}]).usage

    assert (usage.input_tokens, usage.output_tokens) == (110, 20)
    assert (usage.cache_creation_input_tokens, usage.cache_read_input_tokens) == (0, 0)


def test_a_marked_prefix_is_written_once_then_read(client: anthropic.Anthropic) -> None:
    """What lies up to a cache mark counts as written at first, as read for every later request."""

    def usage(question: str, model: str = "claude-haiku-4-5") -> tuple[int, int | None, int | None]:
        system = [{"type": "text", "text": "s" * 350, "cache_control": {"type": "ephemeral"}}]
        messages = [{"role": "user", "content": question}]
        used = create(client, system=system, messages=messages, model=model).usage
        return used.input_tokens, used.cache_creation_input_tokens, used.cache_read_input_tokens

    assert usage("q" * 35) == (10, 100, 0)
    assert usage("r" * 70) == (20, 0, 100)
    assert usage("q" * 35, model="claude-opus-4-5") == (10, 100, 0)


def test_a_grown_prefix_writes_what_is_new(client: anthropic.Anthropic) -> None:
    """With a mark on each turn, the known turns are read and only the new one is written."""

    def usage(turns: int) -> tuple[int | None, int | None]:
        marked = [
            {"type": "text", "text": str(turn) * 35, "cache_control": {"type": "ephemeral"}}
            for turn in range(turns)
        ]
        used = create(client, messages=[{"role": "user", "content": marked}]).usage
        return used.cache_creation_input_tokens, used.cache_read_input_tokens

    assert [usage(1), usage(3), usage(3)] == [(10, 0), (20, 10), (0, 30)]


def test_tokens_are_counted_as_used(client: anthropic.Anthropic) -> None:
    """count_tokens tells what usage will tell."""
    counted = client.messages.count_tokens(model="claude-haiku-4-5", messages=PROMPT["messages"])

    assert counted.input_tokens == create(client).usage.input_tokens


# Faults on the way


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (402, anthropic.PaymentRequiredError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (413, anthropic.ContentTooLargeError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.OverloadedError),
    ],
)
def test_status_raises_the_class_of_its_code(
    fake: FakeMessages, client: anthropic.Anthropic, status: int, error: type[anthropic.APIStatusError]
) -> None:
    """Each status has a class of its own, with the type and the request id that the API gave."""
    fake.faults = [Fault("status", status=status)]

    with pytest.raises(anthropic.APIStatusError) as caught:
        create(client)

    assert type(caught.value) is error
    assert (caught.value.status_code, caught.value.type) == (status, ERROR_TYPES[status])
    assert caught.value.request_id == "req_fake"
    assert "retry-after" not in caught.value.response.headers


def test_status_tells_when_to_retry(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """The wait asked for stands in the headers of the error's response."""
    fake.faults = [Fault("status", status=429, retry_after=2.0)]

    with pytest.raises(anthropic.RateLimitError) as caught:
        create(client)

    assert caught.value.response.headers["retry-after"] == "2"


def test_status_with_a_body_of_its_own(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A proxy's error body is kept as it came; the type is then unknown."""
    fake.faults = [Fault("status", status=429, body={"detail": "slow down"})]

    with pytest.raises(anthropic.RateLimitError) as caught:
        create(client)

    assert (caught.value.body, caught.value.type) == ({"detail": "slow down"}, None)


@pytest.mark.parametrize("kind", ["hang", "delay"])
def test_silence_beyond_the_timeout_is_a_timeout(
    fake: FakeMessages, client: anthropic.Anthropic, kind: Any
) -> None:
    """A silent and a slow server look the same; APITimeoutError is an APIConnectionError too."""
    fake.faults = [Fault(kind, seconds=30)]

    with pytest.raises(anthropic.APITimeoutError):
        client.with_options(timeout=0.1).messages.create(**PROMPT)


def test_delay_within_the_timeout_is_an_answer(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A slow answer is an answer."""
    fake.faults = [Fault("delay", seconds=0.2)]
    before = time.monotonic()

    create(client)

    assert time.monotonic() - before >= 0.2


@pytest.mark.parametrize(
    "fault", [Fault("drop"), Fault("hang", seconds=0.1), Fault("truncate", length=40)], ids=lambda f: f.kind
)
def test_a_lost_connection_is_a_connection_error(
    fake: FakeMessages, client: anthropic.Anthropic, fault: Fault
) -> None:
    """Closed before, after a while or within the body: APIConnectionError, the cause behind it."""
    fake.faults = [fault]

    with pytest.raises(anthropic.APIConnectionError) as caught:
        create(client)

    assert type(caught.value) is anthropic.APIConnectionError
    assert isinstance(caught.value.__cause__, httpx2.RemoteProtocolError)


def test_truncate_in_a_stream_is_no_sdk_error(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """Once a stream has begun the SDK wraps nothing: the error is the HTTP library's."""
    fake.faults = [Fault("truncate", length=40)]

    with client.messages.stream(**PROMPT) as stream, pytest.raises(httpx2.RemoteProtocolError):
        stream.get_final_message()


def test_not_json_is_no_sdk_error(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A broken body under status 200 raises what json raises, a ValueError."""
    fake.faults = [Fault("not_json")]

    with pytest.raises(json.JSONDecodeError):
        create(client)


def test_html_with_a_status_is_a_status_error(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A gateway's page is the body and the message; it has neither type nor request id."""
    fake.faults = [Fault("html")]

    with pytest.raises(anthropic.InternalServerError, match="Bad Gateway") as caught:
        create(client)

    assert (caught.value.status_code, caught.value.type, caught.value.request_id) == (502, None, None)
    assert str(caught.value.body).startswith("<!DOCTYPE html>")


def test_html_200_is_returned_as_a_str(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """The page of a captive portal comes back from create as a str in the place of a Message."""
    fake.faults = [Fault("html_200")]

    page: object = create(client)

    assert isinstance(page, str)
    assert "Sign in" in page


# Faults of the answer


ANSWER_FAULTS = [
    (Fault("prose"), "end_turn", "I looked through"),
    (Fault("fenced"), "end_turn", 'Here is what I found:\n\n```json\n{"observations": '),
    (Fault("wrong_schema", json={"observations": "none"}), "end_turn", '{"observations": "none"}'),
    (Fault("max_tokens"), "max_tokens", '{"observations": '),
    (Fault("refusal"), "refusal", "I can't help"),
]


@pytest.mark.parametrize(
    ("fault", "stop_reason", "start"), ANSWER_FAULTS, ids=[fault.kind for fault, *_ in ANSWER_FAULTS]
)
def test_a_bad_answer_is_a_message_like_any_other(
    fake: FakeMessages, client: anthropic.Anthropic, fault: Fault, stop_reason: str, start: str
) -> None:
    """Create raises nothing, so the stop reason and the text must be looked at; parse fails on the text."""
    fake.faults = [fault]

    message = create(client)
    with pytest.raises(ValidationError):
        client.messages.parse(**PROMPT, output_format=Answer)

    assert message.stop_reason == stop_reason
    assert text_of(message).startswith(start)
    with pytest.raises(ValidationError):
        Answer.model_validate_json(text_of(message))


def test_empty_is_a_message_without_blocks(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """Neither create nor parse finds fault with an empty content."""
    fake.faults = [Fault("empty")]

    message = create(client)
    parsed = client.messages.parse(**PROMPT, output_format=Answer)

    assert (message.content, message.stop_reason) == ([], "end_turn")
    assert parsed.parsed_output is None


# Selectors


@pytest.mark.parametrize(
    ("selectors", "fired"),
    [
        ({}, [1, 2, 3, 4]),
        ({"first": 2}, [1, 2]),
        ({"after": 3}, [4]),
        ({"nth": (2, 4)}, [2, 4]),
        ({"match": '"request 3"'}, [3]),
        ({"after": 1, "first": 3}, [2, 3]),
    ],
)
def test_a_fault_fires_where_its_selectors_hold(
    fake: FakeMessages, client: anthropic.Anthropic, selectors: dict[str, Any], fired: list[int]
) -> None:
    """Ordinals count the requests for messages, and no other request."""
    fake.faults = [Fault("empty", **selectors)]

    for number in range(1, 5):
        client.messages.count_tokens(model="claude-haiku-4-5", messages=PROMPT["messages"])
        create(client, messages=[{"role": "user", "content": f"request {number}"}])

    asked = [request for request in fake.requests if request.path == "/v1/messages"]
    assert [number for number, request in enumerate(asked, 1) if request.fault] == fired


def test_the_first_fault_that_holds_fires(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """Faults are tried in order, and may be replaced while the fake serves."""
    fake.faults = [Fault("empty", nth=(1,)), Fault("refusal")]
    reasons = [create(client).stop_reason for _ in range(2)]
    fake.faults = []

    assert [*reasons, create(client).stop_reason] == ["end_turn", "refusal", "end_turn"]


def test_an_unknown_fault_is_refused() -> None:
    """A misspelt kind would let a test pass on a healthy answer."""
    kind: Any = "hangs"

    with pytest.raises(ValueError, match="hangs"):
        Fault(kind)


@pytest.mark.parametrize(
    ("fault", "error"),
    [(Fault("drop", first=1), None), (Fault("not_json", first=1), json.JSONDecodeError)],
    ids=lambda value: getattr(value, "kind", None),
)
def test_only_errors_of_the_sdk_are_retried(fault: Fault, error: type[Exception] | None) -> None:
    """A client with retries gets over a lost connection, not over a body that is no JSON."""
    fake = FakeMessages()
    fake.faults = [fault]

    with serving(fake) as url, connect(url, max_retries=1) as client:
        if error is None:
            assert create(client).stop_reason == "end_turn"
        else:
            with pytest.raises(error):
                create(client)

    assert len(fake.requests) == (2 if error is None else 1)


# Batches


def batch_request(custom_id: str) -> Any:
    """Return a request of a batch that asks for our schema."""
    return {"custom_id": custom_id, "params": {**PROMPT, "output_config": FORMAT}}


def test_a_batch_ends_with_results(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A batch is in progress until it is ended, then has a message for each request, in any order."""
    fake.answer = lambda _body: {"observations": []}
    created = client.messages.batches.create(requests=[batch_request("one"), batch_request("two")])
    waiting = client.messages.batches.retrieve(created.id)
    with pytest.raises(anthropic.AnthropicError, match="in_progress"):
        client.messages.batches.results(created.id)

    fake.end_batches()
    ended = client.messages.batches.retrieve(created.id)
    results = list(client.messages.batches.results(created.id))

    assert fake.batches[created.id].requests[0]["custom_id"] == "one"
    assert (waiting.processing_status, waiting.request_counts.processing) == ("in_progress", 2)
    assert (ended.processing_status, ended.request_counts.succeeded) == ("ended", 2)
    assert sorted(result.custom_id for result in results) == ["one", "two"]
    for result in results:
        assert result.result.type == "succeeded"
        assert text_of(result.result.message) == '{"observations": []}'


def test_a_batch_request_may_fail_alone(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """A fault is named by custom_id or index; errored carries the error as the API sends it."""
    fake.batch_faults = {"one": "errored", 1: "expired", "three": "canceled"}
    names = ["one", "two", "three", "four"]
    batch = client.messages.batches.create(requests=[batch_request(name) for name in names])

    fake.end_batches()
    results = {each.custom_id: each.result for each in client.messages.batches.results(batch.id)}

    assert [results[name].type for name in names] == ["errored", "expired", "canceled", "succeeded"]
    assert results["one"].type == "errored"
    assert results["one"].error.error.type == "api_error"
    counts = client.messages.batches.retrieve(batch.id).request_counts
    assert counts.to_dict() == {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 1, "expired": 1}


@pytest.mark.parametrize("ask", ["retrieve", "results"])
def test_an_unknown_batch_is_not_found(client: anthropic.Anthropic, ask: str) -> None:
    """So a batch that the API has forgotten can be told from one in progress."""
    with pytest.raises(anthropic.NotFoundError):
        getattr(client.messages.batches, ask)("msgbatch_gone")


@pytest.mark.parametrize("names", [["twin", "twin"], ["session:1"], ["n" * 65]])
def test_a_batch_wants_proper_custom_ids(client: anthropic.Anthropic, names: list[str]) -> None:
    """The API takes unique ids of up to 64 letters, digits, hyphens and underscores."""
    with pytest.raises(anthropic.BadRequestError, match="custom_id"):
        client.messages.batches.create(requests=[batch_request(name) for name in names])


# The server


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 200), ("HEAD", "/", 200), ("GET", "/v1/models", 200), ("POST", "/v1/other", 404)],
)
def test_any_other_path_is_answered(
    fake: FakeMessages, method: str, path: str, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """A client's probes succeed, nothing but messages can be posted, and the server prints nothing."""
    with serving(fake) as url:
        response = httpx2.request(method, url + path)

    assert response.status_code == status
    assert capfd.readouterr() == ("", "")


def test_the_server_ends_while_a_client_hangs(capfd: pytest.CaptureFixture[str]) -> None:
    """A wait in progress is cut short, and a client that went away is no reason to print."""
    fake = FakeMessages()
    fake.faults = [Fault("delay", seconds=600)]
    before = set(threading.enumerate())

    with serving(fake) as url, connect(url, timeout=0.1) as client, pytest.raises(anthropic.APITimeoutError):
        create(client)

    wait_until(lambda: set(threading.enumerate()) <= before)
    assert capfd.readouterr() == ("", "")


def test_many_clients_at_once(fake: FakeMessages, client: anthropic.Anthropic) -> None:
    """Requests that come together each get an answer and an ordinal of their own."""
    fake.faults = [Fault("refusal", first=10)]

    def ask(_number: int) -> str | None:
        return create(client).stop_reason

    with ThreadPoolExecutor(20) as pool:
        reasons = list(pool.map(ask, range(40)))

    assert (reasons.count("refusal"), reasons.count("end_turn")) == (10, 30)
