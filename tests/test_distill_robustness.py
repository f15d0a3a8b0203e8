"""The distiller takes whatever a client sends, and answers within its limits."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.strategies import CAPTURES, EVENTS, GIANTS, TEXT, TOOLS

from claude_mem_lite.distill.local import fold, is_lookup, observe
from claude_mem_lite.distill.observation import Capture, Observation, Skip


def _check(result: Observation | Skip) -> None:
    if isinstance(result, Skip):
        assert 0 < len(result.reason) < 200
        return
    assert 0 < len(result.title) <= 100
    assert "\n" not in result.title
    assert len(result.title) + len(result.summary) + len(result.detail or "") <= 2_000
    text = "\n".join([result.title, result.summary, result.detail or "", *result.files_touched])
    assert not set(text) & {"\0", "\x1b", "\r", "\x07", "\u202e", "\u2028"}
    text.encode()
    json.dumps([result.title, result.summary, result.detail, result.files_touched])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(capture=CAPTURES, prompt=st.one_of(st.none(), TEXT))
def test_observe_takes_any_payload(capture: Capture, prompt: str | None) -> None:
    """Missing keys, wrong types and odd texts give an observation within its limits, or a reason."""
    _check(observe(capture, prompt=prompt))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(captures=st.lists(CAPTURES, max_size=5), prompt=st.one_of(st.none(), TEXT))
def test_fold_takes_any_payloads(captures: list[Capture], prompt: str | None) -> None:
    """Whatever is folded, the answer is one observation or one reason."""
    _check(fold(captures, prompt=prompt))


@settings(max_examples=30, deadline=None)
@given(capture=CAPTURES)
def test_observe_is_deterministic(capture: Capture) -> None:
    """The same event gives the same observation, so that doing it twice changes nothing."""
    assert observe(capture, prompt="Why?") == observe(capture, prompt="Why?")
    assert is_lookup(capture) in {True, False}


@pytest.mark.parametrize("payload", [None, [], "text", 3])
@pytest.mark.parametrize("event_name", EVENTS)
def test_observe_takes_a_payload_that_is_no_object(payload: Any, event_name: str) -> None:
    """A payload that isn't even an object is skipped."""
    for tool_name in TOOLS:
        assert isinstance(observe(Capture(event_name, tool_name, payload, "/p")), Skip)


@pytest.mark.parametrize(
    "giant", GIANTS, ids=["x", "lines", "quotes", "substitutions", "newlines", "parens", "spaces"]
)
@pytest.mark.parametrize("tool_name", ["Write", "Edit", "Bash", "Read", "Grep", "Unknown"])
def test_giant_fields_are_cut_down(giant: str, tool_name: str) -> None:
    """Megabytes in every field, also of the kinds that make patterns slow, come out within the limits."""
    arguments = {
        "file_path": "/p/a.py",
        "command": giant,
        "content": giant,
        "old_string": giant,
        "pattern": giant,
    }
    response = {
        "stdout": giant,
        "originalFile": giant,
        "content": giant,
        "file": {"content": giant},
        "filenames": ["a"],
    }
    payload = {"tool_input": {**arguments, "new_string": "x"}, "tool_response": response, "error": giant}

    _check(observe(Capture("PostToolUse", tool_name, payload, "/p"), prompt=giant))
    _check(observe(Capture("PostToolUseFailure", tool_name, payload, "/p"), prompt=giant))
