"""Real clients other than Claude Code, each with its own HOME, our hooks, and a fake of its model API."""

import html
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from claude_mem_lite import config
from claude_mem_lite.services import other_clients, supervise
from claude_mem_lite.storage import models
from support.databases import rows
from support.fake_models import Body, FakeModel, serving
from support.processes import wait_until
from support.real_client import PATIENCE_S, down, remember_much, settle, summary_of

SAID = "The otter is in the river now, because rivers have water."
BLOCK = re.compile(r"<claude-mem>\n.*?\n</claude-mem>", re.DOTALL)
CODEX_CONFIG = """model = "gpt-5.5"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
"""
PATCH = "*** Begin Patch\n*** Add File: lodge.py\n+def door():\n+    return 'south'\n*** End Patch\n"
TURNED = (
    "*** Begin Patch\n*** Update File: lodge.py\n@@ def door():\n-    return 'south'\n+    return 'north'\n"
    "*** End Patch\n"
)


def steps(name: str, project: Path) -> list[Body]:
    """Return the steps of a session: a command, a new file, an edit, a failing command, a report."""
    lodge = str(project / "lodge.py")
    if name == "codex":
        return [
            {"tool": "exec_command", "input": {"cmd": "echo otter > river.txt"}},
            {"tool": "apply_patch", "input": PATCH},
            {"tool": "apply_patch", "input": TURNED},
            {"tool": "exec_command", "input": {"cmd": "ls no-such-pond"}},
            {"text": SAID},
        ]
    turned = {"old_string": "'south'", "new_string": "'north'", "instruction": "Turn the door"}
    return [
        {"tool": "run_shell_command", "input": {"command": "echo otter > river.txt"}},
        {"tool": "write_file", "input": {"file_path": lodge, "content": "def door():\n    return 'south'\n"}},
        {"tool": "replace", "input": {"file_path": lodge, **turned}},
        {"tool": "run_shell_command", "input": {"command": "ls no-such-pond"}},
        {"text": SAID},
    ]


GEMINI_SETTINGS = {"security": {"auth": {"selectedType": "gemini-api-key"}}}


@dataclass(frozen=True)
class Agent:
    """A client and its path, with its own HOME that has our hooks."""

    name: str
    program: str
    user: Path
    project: Path
    model: FakeModel
    address: str

    @property
    def environment(self) -> dict[str, str]:
        """Return an environment that takes nothing but PATH from this machine."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "CLAUDE_MEM_HOME": config.home(),
            other_clients.CLIENTS[self.name].variable: os.environ[other_clients.CLIENTS[self.name].variable],
            "NO_PROXY": "127.0.0.1",
            "FAKE_KEY": "no-key-for-loopback",
            "GEMINI_API_KEY": "no-key-for-loopback",
            "GOOGLE_GEMINI_BASE_URL": self.address,
            "TERM": "xterm-256color",
        }

    def command(self, prompt: str, session_id: str, *options: str) -> list[str]:
        """Return the command of one headless session, new or resumed."""
        if self.name == "gemini":
            again = ["--resume", "latest"] if session_id else []
            may_all = ["--yolo", "--skip-trust", "--model", "gemini-2.5-pro"]
            return [self.program, *again, *options, *may_all, "--prompt", prompt]
        may_all = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
        resumed = ["resume", session_id] if session_id else []
        return [self.program, "exec", *resumed, *options, *may_all, "--skip-git-repo-check", prompt]

    def resume(self, prompt: str, session_id: str) -> None:
        """Continue a session, headless."""
        assert self.ask(prompt, session_id) == session_id

    def ask(self, prompt: str, resumed: str = "", *options: str) -> str:
        """Run one headless session, wait for its summary and return its id."""
        done = subprocess.run(
            self.command(prompt, resumed, *options), cwd=self.project, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
        asked = "SELECT session_id FROM pending_queue WHERE json_extract(raw_output, '$.prompt') = ?"
        session_id: str = rows(f"{asked} ORDER BY seq DESC LIMIT 1", prompt)[0][0]
        settle()
        wait_until(lambda: summary_of(session_id), timeout_s=PATIENCE_S)
        return session_id

    def told(self, prompt: str) -> list[str]:
        """Return the blocks in the first request that contains a prompt, in order."""
        texts = (texts_of(body) for body in self.model.requests)
        first = next(found for found in texts if any(prompt in text for text in found))
        return [block for text in first for block in BLOCK.findall(html.unescape(text))]


def texts_of(body: Body) -> list[str]:
    """Return all strings of a request, except its tool definitions."""
    found: list[str] = []
    waiting: list[object] = [value for name, value in body.items() if name != "tools"]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, (list, dict)):
            waiting[:0] = each.values() if isinstance(each, dict) else each
    return found


def has_it_done_by_a_sub_agent(task: str) -> Callable[[Body], Body]:
    """Return a Codex model that delegates a task to a sub-agent, waits for it and reports it done."""
    given = {"message": task, "agent_type": "default"}

    def act(body: Body) -> Body:
        texts = texts_of(body)
        if any("agent_id" in text for text in texts):
            waiting = {"targets": re.findall(r'"agent_id":"([^"]+)"', "".join(texts)), "timeout_ms": 15_000}
            is_done = any("otters" in text for text in texts)
            wait = {"tool": "wait_agent", "namespace": "multi_agent_v1", "input": waiting}
            return {"text": "It is done."} if is_done else wait
        if any(task == text for text in texts):
            return {"text": "There are two otters."}
        return {"tool": "spawn_agent", "namespace": "multi_agent_v1", "input": given}

    return act


@contextmanager
def running(name: str, program: str, user: Path, project: Path) -> Iterator[Agent]:
    """Start the services and yield a client with our hooks, whose model does some work and reports it."""
    client = other_clients.CLIENTS[name]
    os.makedirs(client.folder)
    model = FakeModel(steps(name, project))
    with serving(model) as address:
        if name == "codex":
            Path(client.folder, "config.toml").write_text(CODEX_CONFIG.format(address=address))
        else:
            Path(client.path).write_text(json.dumps(GEMINI_SETTINGS))
        other_clients.install(client)
        remember_much(project)
        supervise.up()
        models.open_databases(read_only=True)
        try:
            yield Agent(name, program, user, project, model, address)
        finally:
            down()


def stored(field: str, session_id: str) -> list[str]:
    """Return a field of the events of a session, in order."""
    query = f"SELECT {field} FROM pending_queue WHERE session_id = ? ORDER BY seq"
    return [str(value) for (value,) in rows(query, session_id)]
