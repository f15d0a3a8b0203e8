"""The distiller takes whatever a client sends, and answers within its limits."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claude_mem_lite.distill.local import fold, is_lookup, observe
from claude_mem_lite.distill.observation import Capture, Observation, Skip

EVENTS = [
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "SessionStart",
    "",
    "?",
]
TOOLS = [
    "Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "Read", "Grep", "Glob", "LS", "Agent", "Task",
    "Skill", "TodoWrite", "TaskCreate", "WebFetch", "WebSearch", "ToolSearch", "AskUserQuestion",
    "ExitPlanMode", "mcp__server__tool", "mcp__", "Unknown", "",
]  # fmt: skip
KEYS = [
    "tool_input", "tool_response", "error", "prompt", "last_assistant_message", "agent_type",
    "is_interrupt", "cwd", "command", "description", "file_path", "notebook_path", "content", "old_string",
    "new_string", "replace_all", "edits", "originalFile", "structuredPatch", "lines", "oldStart", "stdout",
    "stderr", "type", "file", "cells", "source", "numLines", "startLine", "totalLines", "pattern",
    "filenames", "answers", "plan", "todos", "oldTodos", "subject", "query", "results", "url", "result",
    "new_source", "old_source", "cell_id", "edit_mode", "language", "persistedOutputSize",
    "timedOutAfterMs", "backgroundTaskId", "text",
]  # fmt: skip
FRAGMENTS = [
    "/p/a.py", "/p/a.md", "def f():\n    return 1\n", "class A:\n  def b(self): ...", "x = (", "\x1b[31m",
    "\ud800", "\0", "git commit -m 'x'", "pytest -q", "1 failed, 2 passed in 0.1s", "python3 - <<'EOF'\n",
    "Exit code 1\n", "'", '"', "$(", "`", "sed -i ", "> out", "[… 12,345 characters cut …]",
    "FAILED a::b - c\n", "E   assert 1\n", "Tests: 5, ", "<task-notification>", "python", "text",
    "notebook", "\r", "\n", " ", "9",
]  # fmt: skip

TEXT = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=6).map("".join)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=5)), inner, max_size=6),
    ),
    max_leaves=20,
)
FIELDS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=10)
PAYLOADS = st.fixed_dictionaries(
    {}, optional={"tool_input": FIELDS, "tool_response": st.one_of(FIELDS, VALUES)}
)
CAPTURES = st.builds(
    lambda event, tool, fields, more: Capture(event, tool, {**fields, **more}, "/p"),
    st.sampled_from(EVENTS),
    st.sampled_from(TOOLS),
    FIELDS,
    PAYLOADS,
)


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


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(capture=CAPTURES, prompt=st.one_of(st.none(), TEXT))
def test_observe_takes_any_payload(capture: Capture, prompt: str | None) -> None:
    """Missing keys, wrong types and odd texts give an observation within its limits, or a reason."""
    _check(observe(capture, prompt=prompt))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(captures=st.lists(CAPTURES, max_size=5), prompt=st.one_of(st.none(), TEXT))
def test_fold_takes_any_payloads(captures: list[Capture], prompt: str | None) -> None:
    """Whatever is folded, the answer is one observation or one reason."""
    _check(fold(captures, prompt=prompt))


@settings(max_examples=60, deadline=None)
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


GIANTS = [
    "x" * 3_000_000,
    "a\n" * 500_000,
    "'" * 200_001,
    "$(" * 100_000,
    "\n" * 400_000,
    "((((" * 50_000,
    " " * 400_000,
]


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
