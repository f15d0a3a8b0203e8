"""What Claude is sent of the recorded history holds its facts, also where it is ten times as long."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.recorded import DATA, restore

from claude_mem_lite.capture import priority
from claude_mem_lite.cli import demo
from claude_mem_lite.distill.digest import DIGEST_CHARS, digest
from claude_mem_lite.distill.local import observe
from claude_mem_lite.distill.observation import Capture, Skip
from claude_mem_lite.redaction.events import scrub

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from lengthen import lengthened

FACTS: dict[str, Any] = json.loads(restore((DATA / "ledger" / "facts.json").read_text()))


@pytest.fixture(scope="module", params=[1, 10])
def history(request: pytest.FixtureRequest) -> tuple[int, list[Capture]]:
    """Return the recorded history as it is stored, once as it was and once ten times as long."""
    events = list(demo.recorded_events())
    events = lengthened(events, request.param) if request.param > 1 else events
    stored = (json.loads(scrub(json.dumps(event))) for event in events)
    return request.param, [
        Capture(event["hook_event_name"], event.get("tool_name", ""), event, demo.PROJECT) for event in stored
    ]


@pytest.fixture(scope="module")
def digests(history: tuple[int, list[Capture]]) -> dict[str, str]:
    """Return the digests of the captures that Claude is asked about, by tool_use_id."""
    _, captures = history
    return {
        capture.payload["tool_use_id"]: digest(capture)
        for capture in captures
        if capture.event_name in {"PostToolUse", "PostToolUseFailure"}
        and priority.priority(capture.tool_name, capture.payload["tool_input"].get("command", "")) != "low"
        and not isinstance(observe(capture), Skip)
    }


def _holds(text: str, question: dict[str, Any]) -> bool:
    return all(answer.lower() in text.lower() for answer in question["answer_contains"])


def test_the_digests_hold_the_facts(history: tuple[int, list[Capture]], digests: dict[str, str]) -> None:
    """Every question about the history is answered by what Claude is sent, the prompts and the reports."""
    _, captures = history
    said = [
        capture.payload.get("prompt") or capture.payload.get("last_assistant_message") or ""
        for capture in captures
        if capture.event_name in {"UserPromptSubmit", "Stop", "SubagentStop"}
    ]
    text = "\n".join([*digests.values(), *said])

    asked = [question for question in FACTS["questions"] if question["kind"] != "transcript_only"]

    assert [question["id"] for question in asked if not _holds(text, question)] == []


def test_a_fact_stands_in_the_digest_of_its_own_capture(
    history: tuple[int, list[Capture]], digests: dict[str, str]
) -> None:
    """What answers a question in a capture is in its digest; nearly always where it is ten times as long."""
    factor, captures = history
    whole = {
        capture.payload["tool_use_id"]: json.dumps(capture.payload, ensure_ascii=False)
        for capture in captures
        if capture.payload.get("tool_use_id") in digests
    }

    evidence = [
        (question, tool_use_id)
        for question in FACTS["questions"]
        for tool_use_id in question["evidence"]
        if tool_use_id in digests and _holds(whole[tool_use_id], question)
    ]
    lost = [
        question["id"] for question, tool_use_id in evidence if not _holds(digests[tool_use_id], question)
    ]

    assert len(evidence) >= 43
    assert len(lost) <= (0 if factor == 1 else 3), lost


def test_the_digests_are_short(history: tuple[int, list[Capture]], digests: dict[str, str]) -> None:
    """A call costs 1,300 characters in the mean at most, and one ten times as long not ten times as many."""
    factor, _ = history
    lengths = [len(text) for text in digests.values()]

    assert len(lengths) > 110
    assert max(lengths) <= DIGEST_CHARS
    assert sum(lengths) / len(lengths) < (1_300 if factor == 1 else 6_000)
