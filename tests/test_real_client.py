"""A real Claude Code with our hooks installed, against a Messages API on loopback.

Opt in by naming the client: `CLAUDE_MEM_TEST_CLIENT=/path/to/claude pytest tests/test_real_client.py`
(`npm install @anthropic-ai/claude-code`; several paths are separated by colons).
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.databases import observation_row, rows, session_row
from support.fake_messages import Body, FakeMessages, serving
from support.processes import wait_until

from claude_mem_lite import config
from claude_mem_lite.services import install, supervise
from claude_mem_lite.storage import models, queries

CLIENTS = [path for path in os.environ.get("CLAUDE_MEM_TEST_CLIENT", "").split(":") if path]
pytestmark = [
    pytest.mark.real_client,
    pytest.mark.skipif(not CLIENTS, reason="CLAUDE_MEM_TEST_CLIENT names no Claude Code to run"),
]

BLOCK = re.compile("SessionStart hook additional context: (<claude-mem>\n.*?\n</claude-mem>)", re.DOTALL)
KEY = "no-key-for-loopback"
OTTER, DAM, WHERE = "Put an otter into the river.", "Build a dam of willow.", "Where is everybody now?"
ROOT = Path(__file__).parent.parent
BEAVER = "🦫"
LONG_AGO = "2026-01-01T00:00:00.000000Z"
PATIENCE_S = 90
SECTION = "\n## "
LODGE = "The door of the lodge faces south, because the ice comes from the north."


@dataclass(frozen=True)
class Claude:
    """A client with a HOME of its own, our hooks in it and our services beside it."""

    client: str
    user: Path
    project: Path
    fake: FakeMessages
    address: str

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of this machine's but the PATH."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "CLAUDE_MEM_HOME": config.home(),
            "CLAUDE_CONFIG_DIR": str(self.user / ".claude"),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.address,
            "NO_PROXY": "127.0.0.1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",  # a return would send what is suggested
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "TERM": "xterm-256color",
        }

    @property
    def command(self) -> list[str]:
        """What starts it, whatever it is to do."""
        return [self.client, "--allowedTools", "Bash", "--model", "claude-haiku-4-5"]

    def ask(self, prompt: str, *options: str) -> str:
        """Run one headless session and wait until it is remembered; return its id."""
        done = subprocess.run(
            [*self.command, "-p", prompt, *options],
            cwd=self.project, env=self.environment, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        session_id: str = rows("SELECT session_id FROM pending_queue ORDER BY seq DESC LIMIT 1")[0][0]
        settle()
        wait_until(lambda: summary_of(session_id), timeout_s=PATIENCE_S)
        return session_id

    @contextmanager
    def terminal(self) -> Iterator[Callable[[str, str], None]]:
        """Start an interactive session; yield `enter(text, until)`, which returns after the event `until`."""
        count = len(events())
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 120))
        process = subprocess.Popen(
            self.command, cwd=self.project, env=self.environment,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        reader = threading.Thread(target=read_away, args=(ours,), daemon=True)
        reader.start()

        def enter(text: str, until: str) -> None:
            before = events().count(until)
            os.write(ours, text.encode())

            def happened() -> bool:
                time.sleep(1)  # a return that comes with the text would be pasted
                if events().count(until) == before:
                    os.write(ours, b"\r")
                return events().count(until) > before

            wait_until(happened, timeout_s=PATIENCE_S)
            settle()

        try:
            wait_until(lambda: len(events()) > count, timeout_s=PATIENCE_S)
            yield enter
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            finally:
                process.kill()
            reader.join(timeout=10)
            os.close(ours)

    def told(self, prompt: str) -> list[str]:
        """Return the blocks that came into the context with a prompt, after the last answer before it."""
        asked = (request.body for request in self.fake.requests if request.body.get("tools"))
        messages = next(body["messages"] for body in asked if prompt in json.dumps(body["messages"]))
        answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
        new = "\n".join(text_of(message) for message in messages[answers[-1] + 1 if answers else 0 :])
        assert "Output too large" not in new
        found = BLOCK.findall(new)
        assert found or "<claude-mem>" not in new
        assert all(len(block.encode("utf-16-le")) // 2 <= 10_000 for block in found)
        return found


def text_of(message: Body) -> str:
    """Return the text of a message to or from the model."""
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


def events() -> list[str]:
    """Return the names of the events so far, with the source of each SessionStart, in order."""
    if not rows("SELECT 1 FROM sqlite_schema WHERE name = 'pending_queue'"):
        return []
    return [
        f"{name} {source}" if source else name
        for name, source in rows(
            "SELECT event_name, json_extract(raw_output, '$.source') FROM pending_queue ORDER BY seq"
        )
    ]


def sources() -> list[str]:
    """Return what started the sessions so far, in order."""
    return [event.split()[1] for event in events() if event.startswith("SessionStart")]


def summary_of(session_id: str) -> str:
    """Return what is remembered of a session as a whole."""
    session = queries.session(session_id)
    return session.summary or "" if session else ""


def settle() -> None:
    """Wait until the services have taken in every event."""
    wait_until(lambda: queries.queue_stats()["raw"] == 0, timeout_s=PATIENCE_S)


def read_away(terminal: int) -> None:
    """Read what a client draws until it or the terminal is gone."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


def remember_much(project: Path) -> None:
    """Fill the project's memory with more than any block holds, two UTF-16 units to the character."""
    then = {"project_dir": str(project), "last_event_at": LONG_AGO, "started_at": LONG_AGO}
    session_row("00000000-lodge", **then)
    old = observation_row("f" * 32, session_id="00000000-lodge", project_dir=str(project), tool_name="Edit")
    plan = {
        "title": "Plan the lodge",
        "summary": LODGE,
        "created_at": LONG_AGO,
        "files_touched": ["lodge.txt"],
    }
    queries.save_observation({**old, **plan})
    for number in range(40):
        told, session_id = f"{number} " + BEAVER * 500, f"{number:08}-old"
        session_row(session_id, **then, summary=told, summarized_pk=1_000)  # as told as it will ever be
        row = observation_row(f"{number:032x}", session_id=session_id, project_dir=str(project))
        queries.save_observation({**row, "created_at": LONG_AGO, "summary": told})


@pytest.fixture(params=CLIENTS)
def claude(
    request: pytest.FixtureRequest, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Claude]:
    """Install into a client; its model runs a command and then says what it did."""
    user, project = tmp_path / "user", tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (user / ".claude").mkdir(parents=True)
    seen = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]]},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    (user / ".claude" / ".claude.json").write_text(json.dumps(seen))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(user / ".claude"))
    version = subprocess.run([request.param, "--version"], capture_output=True, text=True, check=True).stdout
    install.install(client_version=version)
    remember_much(project)
    supervise.up()
    models.open_databases(read_only=True)
    fake = FakeMessages([
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo otter > river.txt"}},
        {"type": "text", "text": "The otter is in the river now, because rivers have water."},
    ])  # fmt: skip
    try:
        with serving(fake) as address:
            yield Claude(request.param, user, project, fake, address)
    finally:
        supervise.down()
        wait_until(lambda: not (memory / "supervisord.pid").exists())  # it goes after its socket


def test_a_real_client_remembers(claude: Claude) -> None:
    """The installed hooks fire, and what one session did reaches the API request of the next."""
    claude.ask(OTTER)
    first = events()
    claude.ask(WHERE)

    assert first == ["SessionStart startup", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"]
    assert sources() == ["startup", "startup"]
    [block] = claude.told(WHERE)
    assert "Put an otter into the river" in block
    assert "The otter is in the river now" in block


def test_the_plugin_does_the_same(claude: Claude) -> None:
    """The client finds nothing wrong with it, installs it from this folder, and fires its hooks."""
    install.uninstall()
    for command in (
        ("validate", str(ROOT)), ("marketplace", "add", str(ROOT)),
        ("install", f"{install.PLUGIN}@{install.PLUGIN}"),
    ):  # fmt: skip
        done = subprocess.run(
            [claude.client, "plugin", *command],
            cwd=claude.project, env=claude.environment, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout.decode()
    seen = install.registered_events()

    claude.ask(OTTER)

    assert set(map(install.interpreter, seen.values())) == {"python3"}
    assert events() == ["SessionStart startup", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"]


def test_a_resumed_session_hears_what_is_new(claude: Claude) -> None:
    """Nothing where nothing happened; where another session worked in between, that one's lines alone."""
    session_id = claude.ask(OTTER)
    claude.ask(WHERE, "--resume", session_id)
    claude.ask(DAM)
    claude.ask("Is it still there?", "--resume", session_id)

    assert sources() == ["startup", "resume", "startup", "resume"]
    assert claude.told(WHERE) == []
    [block] = claude.told("Is it still there?")
    assert "Build a dam" in block
    assert "Put an otter" not in block
    assert BEAVER not in block


def test_a_fork_hears_what_its_parent_missed(claude: Claude) -> None:
    """What another session did since comes; what the fork has from its parent does not come again."""
    session_id = claude.ask(OTTER)
    claude.ask(DAM)
    claude.ask(WHERE, "--resume", session_id, "--fork-session")

    assert sources() in (["startup", "startup", "fork"], ["startup", "startup", "resume"])
    [block] = claude.told(WHERE)
    assert "Build a dam" in block
    assert "Put an otter" not in block


def test_after_clear_the_cleared_session_comes_first(claude: Claude) -> None:
    """A part of its own tells where the cleared session stood; the other sessions follow it."""
    claude.ask(DAM)
    with claude.terminal() as enter:
        enter(OTTER, "Stop")
        enter("/clear", "SessionStart clear")
        enter(WHERE, "Stop")

    assert sources() == ["startup", "startup", "clear"]
    [block] = claude.told(WHERE)
    _, first, rest = block.split(SECTION, 2)
    assert "Put an otter" in first
    assert "Build a dam" not in first
    assert "Build a dam" in rest


def test_after_a_compaction_the_session_itself_comes_first(claude: Claude) -> None:
    """A part of its own tells what the session was asked to do, before any other session."""
    claude.ask(DAM)
    with claude.terminal() as enter:
        enter(OTTER, "Stop")
        enter("/compact", "SessionStart compact")
        enter(WHERE, "Stop")

    assert sources() == ["startup", "startup", "compact"]
    [block] = claude.told(WHERE)
    first = block.split(SECTION)[1]
    assert "Put an otter" in first
    assert "Build a dam" not in first


@pytest.mark.parametrize(("hook", "prompt"), [
    ("UserPromptSubmit", "Why does the door of the lodge face south?"),
    ("PostToolUse:Read", "Look into it, please."),
])  # fmt: skip
def test_what_memory_has_on_a_prompt_or_a_file_comes_with_it(claude: Claude, hook: str, prompt: str) -> None:
    """Both reach the model in the API request after them, as soon as the services are awake."""
    (claude.project / "lodge.txt").write_text("A lodge.")
    read = {"type": "tool_use", "name": "Read", "input": {"file_path": str(claude.project / "lodge.txt")}}
    wanted = f"{hook} hook additional context: <claude-mem>"

    def reached() -> bool:
        claude.fake.steps[:] = [{**read, "id": f"toolu_{len(events())}"}, {"type": "text", "text": "I see."}]
        claude.ask(prompt)
        bodies = [json.dumps(request.body, ensure_ascii=False) for request in claude.fake.requests]
        return any(LODGE in body and wanted in body for body in bodies)

    wait_until(reached, timeout_s=PATIENCE_S)
