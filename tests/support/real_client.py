"""A real Claude Code with its own HOME, our hooks and services, and a fake of the API."""

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

from claude_mem_lite import config
from claude_mem_lite.services import install, supervise
from claude_mem_lite.storage import models, queries
from support.databases import observation_row, rows, session_row
from support.fake_messages import Body, FakeMessages, serving
from support.processes import wait_until

BLOCK = "{} hook additional context: (<claude-mem>\n.*?\n</claude-mem>)"
TOOLS = "Bash,Read,Edit,Write,Task,Agent"
KEY = "no-key-for-loopback"
OTTER, DAM, WHERE = "Put an otter into the river.", "Build a dam of willow.", "Where is everybody now?"
BEAVER = "🦫"
LONG_AGO = "2026-01-01T00:00:00.000000Z"
PATIENCE_S = 90
SECTION = "\n## "
LODGE = "The door of the lodge faces south, because the ice comes from the north."


@dataclass(frozen=True)
class Claude:
    """A client with its own HOME that has our hooks, and our services beside it."""

    client: str
    user: Path
    project: Path
    fake: FakeMessages
    address: str
    version: tuple[int, ...]

    @property
    def keeps_blocks(self) -> bool:
        """Return whether the client stores in the transcript what hooks print."""
        return self.version >= (2, 1, 100)

    @property
    def environment(self) -> dict[str, str]:
        """Return an environment that takes nothing but PATH from this machine."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "CLAUDE_MEM_HOME": config.home(),
            "CLAUDE_CONFIG_DIR": str(self.user / ".claude"),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.address,
            "NO_PROXY": "127.0.0.1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",  # a return key would send the suggestion
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "TERM": "xterm-256color",
        }

    @property
    def command(self) -> list[str]:
        """Return the beginning of every command that starts the client."""
        return [self.client, "--allowedTools", TOOLS, "--model", "claude-haiku-4-5"]

    def run(self, prompt: str, *options: str, cwd: Path | None = None) -> str:
        """Run one headless session to its end and return its id."""
        done = subprocess.run(
            [*self.command, "-p", prompt, *options],
            cwd=cwd or self.project, env=self.environment, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        asked = "SELECT session_id FROM pending_queue WHERE json_extract(raw_output, '$.prompt') = ?"
        session_id: str = rows(f"{asked} ORDER BY seq DESC LIMIT 1", prompt)[0][0]
        return session_id

    def ask(self, prompt: str, *options: str, cwd: Path | None = None) -> str:
        """Run one headless session, wait for its summary and return its id."""
        session_id = self.run(prompt, *options, cwd=cwd)
        settle()
        wait_until(lambda: summary_of(session_id), timeout_s=PATIENCE_S)
        return session_id

    def do(self, *command: str) -> None:
        """Run a command of the client other than a session."""
        done = subprocess.run(
            [self.client, *command],
            cwd=self.project, env=self.environment, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr).decode()

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
                time.sleep(1)  # a return key that arrives with the text counts as pasted
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
        """Return the blocks that entered the context with a prompt, after the last answer before it."""
        messages = self.asked(prompt)
        answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
        return blocks_in(messages[answers[-1] + 1 if answers else 0 :])

    def asked(self, prompt: str) -> list[Body]:
        """Return the messages of the first request that contains a prompt."""
        bodies = (request.body for request in self.fake.requests if request.body.get("tools"))
        found: list[Body] = next(
            body["messages"] for body in bodies if prompt in json.dumps(body["messages"], ensure_ascii=False)
        )
        return found


def blocks_in(messages: list[Body], hook: str = "SessionStart") -> list[str]:
    """Return the whole blocks of a hook in messages."""
    text = said(messages)
    assert "Output too large" not in text
    found = re.findall(BLOCK.format(hook), text, re.DOTALL)
    assert all(len(block.encode("utf-16-le")) // 2 <= 10_000 for block in found)
    return found


def said(messages: list[Body]) -> str:
    """Return the texts of messages."""
    return "\n".join(map(text_of, messages))


def has_it_done_by_a_sub_agent(task: str, tool: str) -> Callable[[Body], Body]:
    """Return a model that delegates a task to a sub-agent, which does it, and then reports it done."""
    given = {"description": "Count", "prompt": task, "subagent_type": "general-purpose"}

    def act(body: Body) -> Body:
        is_asked = task not in said(body["messages"]) and not any(
            message["role"] == "assistant" for message in body["messages"]
        )
        if is_asked:
            return {"type": "tool_use", "id": "toolu_agent", "name": tool, "input": given}
        return {"type": "text", "text": "There are two otters."}

    return act


def text_of(message: Body) -> str:
    """Return the text of a message to or from the model."""
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


def events() -> list[str]:
    """Return the names of the events so far, in order, with the source of each SessionStart."""
    if not rows("SELECT 1 FROM sqlite_schema WHERE name = 'pending_queue'"):
        return []
    query = "SELECT event_name, json_extract(raw_output, '$.source') FROM pending_queue ORDER BY seq"
    return [f"{name} {source}" if source else name for name, source in rows(query)]


def sources() -> list[str]:
    """Return the source of each session start so far, in order."""
    return [event.split()[1] for event in events() if event.startswith("SessionStart")]


def summary_of(session_id: str) -> str:
    """Return the stored summary of a session."""
    session = queries.session(session_id)
    return session.summary or "" if session else ""


def settle() -> None:
    """Wait until the services have processed every event."""
    wait_until(lambda: queries.queue_stats()["raw"] == 0, timeout_s=PATIENCE_S)


def read_away(terminal: int) -> None:
    """Read a client's output until it or the terminal is gone."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


def remember_much(project: Path) -> None:
    """Fill the project's memory with more than any block holds; the emoji take two UTF-16 units each."""
    then = {"project_dir": str(project), "last_event_at": LONG_AGO, "started_at": LONG_AGO}
    session_row("00000000-lodge", **then)
    old = observation_row("f" * 32, session_id="00000000-lodge", project_dir=str(project), tool_name="Edit")
    plan = {"title": "Plan the lodge", "summary": LODGE, "files_touched": ["lodge.txt"]}
    plan["created_at"] = LONG_AGO
    queries.save_observation({**old, **plan})
    for number in range(40):
        told, session_id = f"{number} " + f"{BEAVER * 4} " * 100, f"{number:08}-old"
        session_row(session_id, **then, summary=told, summarized_pk=1_000)  # no later summary replaces it
        row = observation_row(f"{number:032x}", session_id=session_id, project_dir=str(project))
        queries.save_observation({**row, "created_at": LONG_AGO, "summary": told})


def repository(folder: Path) -> None:
    """Make a folder a git repository with one commit on the branch `main`."""
    (folder / "README.md").write_text("A river.\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "README.md")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "River")


def git(folder: Path, *command: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


@contextmanager
def installed(client: str, user: Path, project: Path) -> Iterator[Claude]:
    """Start the services and yield a client with our hooks, whose model runs a command and reports it."""
    (user / ".claude").mkdir(parents=True)
    seen = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]]},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    (user / ".claude" / ".claude.json").write_text(json.dumps(seen))
    version = subprocess.run([client, "--version"], capture_output=True, text=True, check=True).stdout
    install.install(client_version=version)
    remember_much(project)
    supervise.up()
    models.open_databases(read_only=True)
    fake = FakeMessages([
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo otter > river.txt"}},
        {"type": "text", "text": "The otter is in the river now, because rivers have water."},
    ])  # fmt: skip
    number = tuple(int(part) for part in version.split()[0].split("."))
    try:
        with serving(fake) as address:
            yield Claude(client, user, project, fake, address, number)
    finally:
        down()


def down() -> None:
    """Stop the services and wait until the supervisor has ended, too."""
    supervise.down()
    wait_until(lambda: not Path(config.home(), "supervisord.pid").exists())  # removed after its socket
