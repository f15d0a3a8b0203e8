"""A real Claude Code with our hooks installed, against a Messages API on loopback.

Opt in by naming the client: `CLAUDE_MEM_TEST_CLIENT=/path/to/claude pytest tests/test_real_client.py`
(`npm install @anthropic-ai/claude-code`; several paths are separated by colons).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import wait_until
from fake_messages import FakeMessages, serving
from test_inbox import rows

from claude_mem_lite.services import install, supervise
from claude_mem_lite.storage import models, queries

CLIENTS = [path for path in os.environ.get("CLAUDE_MEM_TEST_CLIENT", "").split(":") if path]
pytestmark = pytest.mark.skipif(not CLIENTS, reason="CLAUDE_MEM_TEST_CLIENT names no Claude Code to run")


def run_session(client: str, home: Path, project: Path, prompt: str) -> list[dict[str, object]]:
    """Run one headless session of a client in a HOME of its own; return the requests it sent."""
    fake = FakeMessages([
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo otter > river.txt"}},
        {"type": "text", "text": "The otter is in the river now, because rivers have water."},
    ])  # fmt: skip
    with serving(fake) as address:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_API_KEY": "no-key-for-loopback",
            "ANTHROPIC_BASE_URL": address,
            "NO_PROXY": "127.0.0.1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        command = [client, "-p", prompt, "--allowedTools", "Bash", "--model", "claude-haiku-4-5"]
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, timeout=120, check=False
        )
    assert done.returncode == 0, done.stderr.decode()
    return [request.body for request in fake.requests if request.path == "/v1/messages"]


@pytest.mark.real_client
@pytest.mark.parametrize("client", CLIENTS)
def test_a_real_client_remembers(
    client: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installed hooks fire, and what one session did reaches the API request of the next."""
    user, project = tmp_path / "user", tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(user / ".claude"))
    version = subprocess.run([client, "--version"], capture_output=True, text=True, check=True).stdout
    install.install(client_version=version)
    supervise.up()
    try:
        run_session(client, user, project, "Put an otter into the river.")
        models.open_databases(read_only=True)
        wait_until(
            lambda: queries.queue_stats()["raw"] == 0 and queries.recent_sessions(str(project), limit=1)
        )

        requests = run_session(client, user, project, "Where is the otter?")
    finally:
        supervise.down()

    names = [name for (name,) in rows("SELECT event_name FROM pending_queue ORDER BY seq")]
    first = names[: names.index("SessionEnd") + 1]
    assert first == ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"]
    asked = json.dumps(next(request for request in requests if request.get("tools")))
    assert "SessionStart hook additional context" in asked
    assert "Put an otter into the river" in asked
    assert "The otter is in the river now" in asked
