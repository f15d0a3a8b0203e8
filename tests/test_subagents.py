"""The context block that a sub-agent gets at its start."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.blocks import EDIT, PROMPT, hook, remember, told_in_time
from support.databases import NOW, learning_row, observe, rows, session_row, work_off
from support.processes import web_process
from typer.testing import CliRunner

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.app import app
from claude_mem_lite.context import answers
from claude_mem_lite.context.blocks import SUBAGENT_TOKENS
from claude_mem_lite.context.shown import shown_to
from claude_mem_lite.importers import store
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import models

TASK = f"Look at the ledger. {PROMPT}"


def learn(row_id: str, category: str, content: str, **fields: Any) -> None:
    """Store a learning of the project."""
    learning_row(row_id * 32, content, category=category, confidence=0.8, **fields)


def know() -> None:
    """Store rules, a failing command and a session's work."""
    remember()
    learn("1", "convention", "Amounts are cents, never floats.")
    learn("2", "gotcha", "The tests need LEDGER_TZ=UTC.")
    learn("3", "convention", "Use tabs.", stale="the file has gone")
    learn("4", "architecture", "The book lives in SQLite.")
    observe("5" * 32, "Bash", "Ran `make lint`. Failed with exit code 2: no rule to make target 'lint'.")


def call(prompt: str, agent_type: str = "", **fields: Any) -> dict[str, Any]:
    """Return the event of a tool call that starts a sub-agent."""
    kind = {"subagent_type": agent_type} if agent_type else {}
    return {
        "session_id": "me", "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": "t1",
        "tool_input": {"prompt": prompt, "description": "Look", **kind}, **fields,
    }  # fmt: skip


def starts(agent_id: str, agent_type: str = "general-purpose") -> dict[str, Any]:
    """Return the event of a sub-agent's start."""
    return {
        "session_id": "me", "hook_event_name": "SubagentStart", "agent_id": agent_id, "agent_type": agent_type
    }  # fmt: skip


def told(event: dict[str, Any]) -> str:
    """Return the text that the hook prints for the model."""
    return hook("subagent_start", **named(event))


def named(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event as keyword arguments of `hook`."""
    return {name.removeprefix("hook_"): value for name, value in event.items()}


def task_of(agent_id: str, agent_type: str = "general-purpose", *, since: str = "") -> str:
    """Return a sub-agent's task as the queue has it."""
    return context_rows.task_of("me", agent_id, agent_type, since=since)


def test_a_subagent_gets_rules_what_fails_and_its_task(memory: Path) -> None:
    """A sub-agent gets rules, failures and recall, none of which counts as shown to the session."""
    know()

    before = told(call(TASK, "Explore"))
    cold = told_in_time("<", "subagent_start", **named(starts("a1", "Explore")))
    with web_process():
        told(call(TASK, "Explore"))
        warm = told_in_time("<", "subagent_start", **named(starts("a2", "Explore")))
        recalled = told_in_time("<", "user_prompt_submit", "UserPromptSubmit", prompt=PROMPT)

    assert (before, cold) == ("", warm)
    assert cold.startswith("<claude-mem>\nRecord of past work on this")
    begun = (line for line in cold.splitlines() if line.startswith("- "))
    assert [line.removeprefix("- ").rpartition("] ")[2] for line in begun] == [
        "11111111 Amounts are cents, never floats.",
        "55555555 Fails: make lint: “no rule to make target 'lint'”",
        "22222222 gotcha: The tests need LEDGER_TZ=UTC.",
        (
            "eeeeeeee Edit allocate in money.py: the largest remainder gets the cent: "
            "Edited money.py: new allocate (“Share cents out”)."
        ),
    ]
    assert len(cold) <= SUBAGENT_TOKENS * 3.5
    assert "eeeeeeee" in recalled


def test_what_a_subagent_is_told_is_kept_but_not_the_sessions(memory: Path) -> None:
    """A sub-agent's block is traceable, not shown to the session, and no finding when repeated."""
    know()
    answer = answers.at_subagent(None, "/p", session_id="me", task=TASK)
    (note,) = answer.to_keep

    context_rows.note_shown("me", note, at=NOW)

    assert note["via"] == "subagent"
    assert EDIT in note["ids"]
    assert shown_to("me").ids == set()
    assert any("largest remainder" in text for text in context_rows.told_of_others("me"))
    assert [block.session_id for block in context_rows.sessions_shown(EDIT)] == ["me"]


def test_each_subagent_gets_its_own_task(memory: Path) -> None:
    """Parallel sub-agents get the tasks of their type in call order."""
    for event in (call("one", "Explore"), call("two"), call("three", "Explore")):
        inbox.append(json.dumps(event), "/p")

    assert (task_of("a1", "Explore"), task_of("a2"), task_of("a3", "Plan")) == ("one", "two", "")
    for agent_id in ("a1", "a4"):
        inbox.append(json.dumps(starts(agent_id, "Explore")), "/p")
    assert [task_of(agent_id, "Explore") for agent_id in ("a1", "a4", "a5")] == ["one", "three", ""]
    assert task_of("a2", since=inbox.utc_now()) == ""


@pytest.mark.parametrize("given", [None, [], "x", {"prompt": ["x"]}, {"prompt": None, "subagent_type": 3}])
def test_an_odd_call_names_no_task(memory: Path, given: object) -> None:
    """A malformed call gives no task and no error."""
    inbox.append(json.dumps(call("") | {"tool_input": given}), "/p")

    assert task_of("a1") == ""


def test_without_anything_to_tell_a_subagent_gets_nothing(memory: Path) -> None:
    """An empty memory, or a sub-agent without a type, gives no block."""
    assert answers.at_subagent(None, "/p", session_id="me", task=TASK).block.text == ""
    know()

    assert told(starts("a1", "")) == ""
    assert told_in_time("<", "subagent_start", **named(starts("a1", "Explore")))


def test_without_a_task_the_rules_have_all_the_room(memory: Path) -> None:
    """Without a task, rules fill the whole budget."""
    session_row("s1")
    for number in range(1, 8):
        learn(str(number), "convention", f"Rule {number}: " + f"word{number} " * 18)

    block = answers.at_subagent(None, "/p", session_id="me").block

    assert SUBAGENT_TOKENS - 60 < block.tokens <= SUBAGENT_TOKENS


def test_the_user_can_switch_recall_off_for_subagents_too(memory: Path) -> None:
    """With recall off, a sub-agent gets rules and failures only."""
    know()
    with (memory / "config.toml").open("a") as config_file:
        config_file.write("[context]\nrecall_tokens_per_session = 0\n")

    block = answers.at_subagent(None, "/p", session_id="me", task=TASK).block

    assert block.layers == ("rules", "works")


def test_a_call_and_a_start_leave_no_observation(memory: Path) -> None:
    """A sub-agent's call and start are stored without an observation, and imports ignore them."""
    for event in (call(TASK), starts("a1")):
        inbox.append(json.dumps(event), "/p")

    work_off()

    stored = rows("SELECT event_name, status FROM pending_queue")
    assert stored == [("PreToolUse", "done"), ("SubagentStart", "done")]
    assert not models.Observation.select().exists()
    assert list(store.tool_use_ids()) == []


def test_the_command_prints_it(memory: Path) -> None:
    """`context --subagent TASK` prints the block, and refuses other kinds of block beside it."""
    know()
    run = CliRunner().invoke

    done = run(app, ["context", "--project", "/p", "--subagent", TASK])

    assert done.output == answers.at_subagent(None, "/p", session_id="", task=TASK).block.text + "\n"
    assert run(app, ["context", "--project", "/p", "--subagent", TASK, "--prompt", "x"]).exit_code == 2
    nothing = run(app, ["context", "--project", "/other", "--subagent", TASK])
    assert "nothing about this task" in nothing.output


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(max_size=400), task=st.text(max_size=200))
def test_no_text_gets_out_of_the_block_or_its_budget(memory: Path, content: str, task: str) -> None:
    """Any learning and any task give one fenced block within the budget."""
    models.Learning.delete().execute()
    learn("1", "convention", content)
    learn("2", "gotcha", content[::-1])

    block = answers.at_subagent(None, "/p", session_id="me", task=task).block

    assert block.tokens <= SUBAGENT_TOKENS
    assert block.text.count("<") in {0, 2}
