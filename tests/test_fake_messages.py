"""The loopback Messages API does what tests of real clients and of faults take for granted."""

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
    """Return a real client of the fake at an address, which does not retry."""
    options = {"open_telemetry": False, "max_retries": 0, "timeout": TIMEOUT_S}
    return anthropic.Anthropic(api_key="test-key", base_url=url, **options)


def text_of(message: Message) -> str:
    """Return the text of a message of one block."""
    (block,) = message.content
    assert block.type == "text"
    return block.text


def test_a_stream_carries_the_same_message() -> None:
    """Server-sent events add up to the text, the stop reason and the usage of the plain answer."""
    with serving(FakeMessages()) as url, connect(url) as client:
        plain = client.messages.create(**PROMPT, output_config=FORMAT)
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


def test_an_unknown_fault_is_refused() -> None:
    """A misspelt kind would let a test pass on a healthy answer."""
    kind: Any = "hangs"

    with pytest.raises(ValueError, match="hangs"):
        Fault(kind)
