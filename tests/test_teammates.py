"""In an agent team, prompts come from other agents and a teammate reports by message."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.databases import work_on

from claude_mem_lite.capture import inbox
from claude_mem_lite.context import builder
from claude_mem_lite.distill import record
from claude_mem_lite.learnings import session as learning
from claude_mem_lite.storage import learnings, queries

BRIEF = "You are infra on the team. Set up the networks.\n\nRULES:\n- NEVER touch the test files\n- Use tabs"
REPORT = (
    "Networks done: `backend-net` and `edge-net` replace `shop-net`, because the proxy must not reach `db`."
)


def happen(event_name: str, **fields: Any) -> None:
    """Record an event of project /p."""
    event = {"session_id": "s1", "hook_event_name": event_name, **fields}
    work_on(inbox.append(json.dumps(event), "/p"))


def told(message: str) -> None:
    """Record a prompt in which the lead of a team says something."""
    words = f'<teammate-message teammate_id="team-lead" color="blue">\n{message}\n</teammate-message>'
    happen("UserPromptSubmit", prompt=words)


def sent(**message: str) -> None:
    """Record a message that the assistant sent."""
    call = {"tool_name": "SendMessage", "tool_input": {"summary": "networks done", **message}}
    happen("PostToolUse", **call, tool_response={"success": True})


@pytest.mark.parametrize(
    "message", [{"recipient": "lead", "content": REPORT}, {"to": "lead", "message": REPORT}]
)
def test_a_teammates_message_is_its_report(memory: Path, message: dict[str, str]) -> None:
    """The message that answers another agent is told as the session's outcome, its task as the goal."""
    told(BRIEF)
    sent(**message)
    happen("Stop", last_assistant_message="Waiting for the lead.")
    record.summarize_session("s1")

    block = builder.build("/p", session_id="new").text

    assert "You are infra on the team. Set up the networks." in block
    assert "because the proxy must not reach `db`" in block
    assert "teammate-message" not in block


def test_what_agents_say_to_each_other_is_no_rule(memory: Path) -> None:
    """The rules of another agent's task are not the user's; the same words of the user are."""
    told(BRIEF)
    record.summarize_session("s1")
    learning.learn("s1")
    of_agents = learnings.find("/p", state="current")
    happen("UserPromptSubmit", prompt="NEVER touch the test files")
    learning.learn("s1")

    assert of_agents == []
    assert [row.content for row in learnings.find("/p")] == ["NEVER touch the test files"]


def test_a_message_in_the_users_turn_is_no_report(memory: Path) -> None:
    """A message that the assistant sends while it works for the user is a tool call."""
    happen("UserPromptSubmit", prompt="Tell the lane to set up the networks.")
    sent(to="lane", message=REPORT)

    assert [row.tool_name for row in queries.observations_of("s1")] == ["UserPromptSubmit", "SendMessage"]


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ('{"type": "task_assignment", "subject": "IC-1: Drop the proxy"}', "IC-1: Drop the proxy"),
        ('{"type": "idle_notification", "from": "infra"}', None),
        ('{"broken', '{"broken'),
    ],
)  # fmt: skip
def test_of_a_structured_message_only_its_task_is_kept(memory: Path, message: str, title: str | None) -> None:
    """A task that is assigned gives its subject; a note on an agent's state gives nothing."""
    told(message)

    assert [row.title for row in queries.observations_of("s1")] == ([title] if title else [])
