"""Test observations of single and folded events, whatever a client sends."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import cases, events
from support.strategies import CAPTURES, EVENTS, GIANTS, TEXT, TOOLS

from claude_mem_lite.distill.observation import Capture, Observation, Skip
from claude_mem_lite.distill.rules import fold, is_lookup, observe

TOLD = cases.load("distill/told")


def test_a_long_prompt_is_clipped() -> None:
    """A long prompt is cut, so that a pasted log does not fill the memory."""
    observation = observe(cases.of_event(events.prompt("Fix the import. " + "log line\n" * 1_000)))

    assert observation.title == "Fix the import"
    assert 1_000 < len(observation.summary) <= 1_500


@pytest.mark.parametrize("case", TOLD["case"], ids=cases.promise)
def test_every_event_has_its_words(case: dict[str, Any]) -> None:
    """Prompts, reports, agents, web, plans, choices, lookups and unknown tools get their own wording."""
    observation = observe(cases.capture(case), prompt=case.get("prompt"))

    told = (observation.title, observation.summary, observation.detail)
    assert told == (case["title"], case["summary"], case.get("detail"))
    assert list(observation.files_touched) == case.get("files", [])


@pytest.mark.parametrize(("reason", "case"), TOLD["skipped"])
def test_what_says_nothing_is_skipped_for_a_reason(reason: str, case: dict[str, Any]) -> None:
    """Events that say nothing are skipped with a reason."""
    assert observe(cases.capture(case)) == Skip(reason)


SOURCE = '''\
"""Prices."""
import os

LIMIT = 10


def net(gross: int) -> int:
    """Without tax."""
    return gross
'''


def _tool(tool_name: str, arguments: dict[str, Any], response: object) -> Capture:
    return cases.of_event(events.tool(tool_name, arguments, response))


def _read(path: str, content: str, **file: Any) -> Capture:
    lines = content.count("\n") + 1
    told = {"filePath": path, "content": content, "numLines": lines, "startLine": 1, "totalLines": lines}
    told |= file
    return _tool("Read", {"file_path": path}, {"type": "text", "file": told})


def _missing(path: str) -> Capture:
    return cases.of_event(events.failed("Read", {"file_path": path}, "File does not exist."))


def _grep(pattern: str, *names: str, content: str = "") -> Capture:
    response = {"mode": "content", "filenames": list(names), "numFiles": len(names), "content": content}
    return _tool("Grep", {"pattern": pattern}, {**response, "numLines": content.count("\n") + 1})


def _bash(command: str, description: str, stdout: str) -> Capture:
    return cases.of_event(events.ran(command, stdout, description=description))


def test_many_looks_become_one_observation() -> None:
    """Lookups fold into one observation that names files, searches, commands and missing files."""
    captures = [
        _read("/shop/prices.py", SOURCE),
        _read("/shop/RULES.md", "- Always use pathlib.\n"),
        _missing("/shop/IMPORT.md"),
        _bash("ls", "List", "prices.py"),
        _bash("cat a.cfg", "Look at the settings", "rate = 19"),
        _grep("net", "prices.py", content="prices.py:7:def net("),
    ]

    assert fold(captures, prompt="Explain the tax.") == Observation(
        title="Read prices.py and RULES.md; search for 'net'; look at the settings",
        summary="Read prices.py: 10 lines. Read RULES.md: 2 lines. Look at the settings: `cat a.cfg`. "
        "Search for 'net': 1 line in prices.py. not found: IMPORT.md",
        detail="prices.py:\nPrices.\nLIMIT = 10\nnet(gross: int) -> int: Without tax.\n"
        "RULES.md:\n- Always use pathlib.\nLook at the settings:\nrate = 19\n'net':\nprices.py:7:def net(",
        files_touched=("prices.py", "RULES.md"),
        functions_changed=(),
    )


def test_a_fold_of_one_is_that_observation() -> None:
    """A single lookup is described like any other event."""
    capture = _read("/shop/prices.py", SOURCE)

    assert fold([capture], prompt="Why?") == observe(capture, prompt="Why?")


def test_a_fold_of_many_names_as_many_as_fit() -> None:
    """A folded title stays within its limit and says how many names are missing."""
    captures = [_read(f"/shop/a_folder_with_a_long_name/module_{number}.py", SOURCE) for number in range(40)]

    observation = fold(captures)

    assert isinstance(observation, Observation)
    folder = "a_folder_with_a_long_name"
    assert observation.title == f"Read {folder}/module_0.py, {folder}/module_1.py and 38 more"
    assert len(observation.title + observation.summary + (observation.detail or "")) <= 2_000


def test_a_fold_shares_its_room() -> None:
    """In a fold one long result leaves room for the others."""
    captures = [_grep(name, "a.py", content=f"a.py:1: {name}\n" * 300) for name in ("one", "two", "three")]

    observation = fold(captures)

    assert observation.detail is not None
    heads = [line for line in observation.detail.splitlines() if line.endswith("':")]
    assert heads == ["'one':", "'two':", "'three':"]


def test_a_fold_mentions_what_is_no_look() -> None:
    """A fold mentions a plan among lookups."""
    plan = _tool("TodoWrite", {"todos": [{"content": "Write"}, {"content": "Test"}]}, {"oldTodos": []})

    observation = fold([_read("/shop/prices.py", SOURCE), plan])

    assert observation.title == "Read prices.py; plan 2 steps: Write and Test"


@pytest.mark.parametrize("captures", [[], [_missing("/shop/a"), _grep("nothing")]])
def test_a_fold_of_nothing_is_skipped(captures: list[Capture]) -> None:
    """Lookups that found nothing make no observation."""
    assert isinstance(fold(captures), Skip)


@pytest.mark.parametrize(
    ("capture", "looks"),
    [
        (_read("/shop/a.py", "x"), True),
        (_bash("cat a | grep 'b|c'", "", ""), True),
        (_bash("cat a > b", "", ""), False),
        (_tool("Write", {}, {}), False),
        (_tool("Bash", {}, {}), False),
        (cases.of_event(events.prompt("")), False),
    ],
)
def test_is_lookup_tells_what_may_be_folded(capture: Capture, looks: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only reads, searches and read-only commands may be folded."""
    assert is_lookup(capture) is looks


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
    """Any payload gives one observation within its limits or one reason to skip it, deterministically."""
    told = observe(capture, prompt=prompt)

    _check(told)
    assert observe(capture, prompt=prompt) == told
    assert is_lookup(capture) in {True, False}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(captures=st.lists(CAPTURES, max_size=5), prompt=st.one_of(st.none(), TEXT))
def test_fold_takes_any_payloads(captures: list[Capture], prompt: str | None) -> None:
    """Any fold gives one observation within its limits or one reason to skip it."""
    _check(fold(captures, prompt=prompt))


@pytest.mark.parametrize("payload", [None, [], "text", 3])
def test_observe_takes_a_payload_that_is_no_object(payload: Any) -> None:
    """A payload that is no object is skipped."""
    for event_name, tool_name in itertools.product(EVENTS, TOOLS):
        assert isinstance(observe(Capture(event_name, tool_name, payload, "/p")), Skip)


@pytest.mark.parametrize(
    "giant", GIANTS, ids=["x", "lines", "quotes", "substitutions", "newlines", "parens", "spaces"]
)
@pytest.mark.parametrize("tool_name", ["Write", "Edit", "Bash", "Read", "Grep", "Unknown"])
def test_giant_fields_are_cut_down(giant: str, tool_name: str) -> None:
    """Megabytes in every field, including patterns that slow regexes, stay within the limits."""
    given = dict.fromkeys(("command", "content", "old_string", "pattern"), giant)
    arguments = {"file_path": "/p/a.py", **given}
    response = {"stdout": giant, "originalFile": giant, "content": giant, "file": {"content": giant}}
    response["filenames"] = ["a"]
    payload = {"tool_input": {**arguments, "new_string": "x"}, "tool_response": response, "error": giant}

    _check(observe(Capture("PostToolUse", tool_name, payload, "/p"), prompt=giant))
    _check(observe(Capture("PostToolUseFailure", tool_name, payload, "/p"), prompt=giant))
