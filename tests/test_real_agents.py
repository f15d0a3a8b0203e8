"""Real Codex and Gemini clients with our hooks installed, against fake model APIs on loopback.

Opt in with `CLAUDE_MEM_TEST_CODEX=/path/to/codex` and `CLAUDE_MEM_TEST_GEMINI=/path/to/gemini`, which
`npm install @openai/codex @google/gemini-cli` installs.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hooks import run_hook
from support.real_agents import SAID, Agent, has_it_done_by_a_sub_agent, running, stored, texts_of
from support.real_client import LODGE, OTTER, WHERE
from typer.testing import CliRunner

from claude_mem_lite.cli.app import app
from claude_mem_lite.services import other_clients
from claude_mem_lite.storage import models

PROGRAMS = {name: os.environ.get(f"CLAUDE_MEM_TEST_{name.upper()}", "") for name in other_clients.CLIENTS}
pytestmark = pytest.mark.real_client
EVENTS = [
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUse", "PostToolUse", "PostToolUseFailure",
    "Stop", "SessionEnd",
]  # fmt: skip


@pytest.fixture(params=PROGRAMS)
def agent(
    request: pytest.FixtureRequest, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Agent]:
    """Install our hooks into a client whose fake model runs commands, edits a file and reports."""
    name: str = request.param
    if not PROGRAMS[name]:
        pytest.skip(f"CLAUDE_MEM_TEST_{name.upper()} names no {name} to run")
    user, project = tmp_path / "user", tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv(other_clients.CLIENTS[name].variable, str(user / name))
    with running(name, PROGRAMS[name], user, project) as client:
        yield client


def test_a_real_client_remembers(agent: Agent) -> None:
    """A real client's hooks fire, its work is stored, and the next session gets the block."""
    session_id = agent.ask(OTTER)
    agent.ask(WHERE)

    assert stored("event_name", session_id) == EVENTS
    assert set(stored("json_extract(raw_output, '$.client')", session_id)) == {agent.name}
    found = list(models.Observation.select().where(models.Observation.session == session_id))
    assert {row.client for row in found} == {agent.name}
    changes = [each for row in found for each in row.functions_changed]
    door = [each["change_type"] for each in changes if each["qualified_name"] == "door"]
    assert door == ["new", "modified"]
    assert any("no-such-pond" in row.title for row in found)
    block, *_ = agent.told(WHERE)
    assert "Put an otter into the river" in block
    assert SAID.partition(",")[0] in block


def test_what_one_client_learned_the_other_gets(agent: Agent) -> None:
    """Sessions of this client and of Claude Code get each other's memory."""
    session_id = agent.ask(OTTER)
    start = {"session_id": "claude", "hook_event_name": "SessionStart", "source": "startup"}
    told = run_hook("session_start", start, project_dir=str(agent.project)).stdout.decode()
    for event in (
        {"hook_event_name": "UserPromptSubmit", "prompt": "Build a dam of willow."},
        {"hook_event_name": "Stop", "last_assistant_message": "The dam is built of willow, for it bends."},
    ):
        hook = "user_prompt_submit" if "prompt" in event else "stop"
        run_hook(hook, {"session_id": "claude", **event}, project_dir=str(agent.project))
    run_hook("session_end", {**start, "hook_event_name": "SessionEnd"}, project_dir=str(agent.project))
    agent.ask(WHERE)

    assert "Put an otter into the river" in told
    block, *_ = agent.told(WHERE)
    assert "Build a dam of willow" in block
    [row, *_] = models.Observation.select().where(models.Observation.session == session_id)
    assert other_clients.CLIENTS[agent.name].told in CliRunner().invoke(app, ["why", row.id]).stdout


def test_a_resumed_session_has_its_block_once(agent: Agent) -> None:
    """A resumed session has the start block once, from its own record."""
    agent.ask(WHERE)
    session_id = agent.ask(OTTER)
    [first, *_] = agent.told(OTTER)

    agent.resume("Is it still there?", session_id)

    starts = [block for block in agent.told("Is it still there?") if "\n## " in block]
    assert starts.count(first) == 1


def test_a_sub_agent_gets_a_block(agent: Agent) -> None:
    """A sub-agent's first request has a block, and its task is not stored as a user's prompt."""
    if agent.name != "codex":
        pytest.skip("this client has no hook for the start of a sub-agent")
    task = "Why does the door of the lodge face south?"
    agent.ask(OTTER)
    agent.model.act = has_it_done_by_a_sub_agent(task)
    # For a model unknown to it, Codex offers its sub-agent tools at once.
    session_id = agent.ask(WHERE, "", "-m", "gpt-5.2-codex")

    first = next(texts for texts in map(texts_of, agent.model.requests) if task in texts)
    assert any(LODGE in text for text in first if text.startswith("<claude-mem>"))
    assert stored("json_extract(raw_output, '$.prompt')", session_id).count(task) == 0
    assert "SubagentStart" in stored("event_name", session_id)
