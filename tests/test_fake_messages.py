"""Test that the loopback Messages API behaves as tests of clients and faults assume."""

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


def connect(url: str) -> anthropic.Anthropic:
    """Return a real client for the fake, without retries."""
    options = {"open_telemetry": False, "max_retries": 0, "timeout": TIMEOUT_S}
    return anthropic.Anthropic(api_key="test-key", base_url=url, **options)


def text_of(message: Message) -> str:
    """Return the text of a message with one block."""
    (block,) = message.content
    assert block.type == "text"
    return block.text


def test_a_stream_carries_the_same_message() -> None:
    """A streamed answer has the text, stop reason and usage of the plain answer."""
    with serving(FakeMessages()) as url, connect(url) as client:
        plain = client.messages.create(**PROMPT, output_config=FORMAT)
        with client.messages.stream(**PROMPT, output_config=FORMAT) as stream:
            streamed = stream.get_final_message()

    assert text_of(streamed) == text_of(plain)
    assert (streamed.stop_reason, streamed.usage.output_tokens) == ("end_turn", plain.usage.output_tokens)


def test_steps_play_to_a_request_with_tools() -> None:
    """Requests with tools get the steps in order, by the answers they already have; others get none."""
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


def test_an_unknown_fault_is_refused() -> None:
    """A misspelt kind of fault is refused, because the test would pass on a healthy answer."""
    kind: Any = "hangs"

    with pytest.raises(ValueError, match="hangs"):
        Fault(kind)
