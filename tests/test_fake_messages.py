"""The loopback Messages API does what tests of real clients and of faults take for granted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types import Message
from support.fake_messages import FakeMessages, Fault, serving

TIMEOUT_S = 60


SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}
FORMAT: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
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


def test_an_unknown_fault_is_refused() -> None:
    """A misspelt kind would let a test pass on a healthy answer."""
    kind: Any = "hangs"

    with pytest.raises(ValueError, match="hangs"):
        Fault(kind)
