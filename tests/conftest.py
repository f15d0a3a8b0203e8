"""Every test that touches data has a data directory of its own; its services never start by themselves."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_messages import FakeMessages, serving

from claude_mem_lite import client, config
from claude_mem_lite.cli import demo
from claude_mem_lite.distill import claude
from claude_mem_lite.services import install
from claude_mem_lite.storage import models

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep whatever key and proxy the machine has away from the tests, and from the processes they start."""
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty data directory; its path is short, because unix sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="cml-"))
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(folder))
    config.ensure_home()
    (folder / "config.toml").write_text("[services]\nautostart = false\n")
    yield folder
    models.close_databases()
    shutil.rmtree(folder)


@pytest.fixture
def memory(home: Path) -> Path:
    """Return a data directory with both databases, open for writing."""
    models.open_databases()
    return home


@pytest.fixture
def fake(memory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeMessages]:
    """Serve a Messages API that answers well, and point the SDK at it."""
    from claudes_words import KEY, words_about

    served = FakeMessages()
    served.answer = words_about
    with serving(served) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setattr(claude, "TIMEOUT_S", 0.5)
        yield served


@pytest.fixture
def consumer(memory: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Return a function that starts a real consumer process."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-m", "huey.bin.huey_consumer"]
        options = ["claude_mem_lite.tasks.consumer.huey", "-w", "2", "-s", "15", "-g", "TERM", "-t", "20"]
        with (memory / "logs" / "consumer.out").open("ab") as out:
            started.append(subprocess.Popen([*command, *options], stdout=out, stderr=out))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def services(memory: Path, consumer: Callable[[], Any]) -> Iterator[Path]:
    """Start a web process and a consumer."""
    web = subprocess.Popen([sys.executable, "-I", "-m", "claude_mem_lite.web"])
    consumer()
    wait_until(web_answers)
    yield memory
    web.terminate()
    web.wait(timeout=20)


def web_answers() -> bool:
    """Tell whether the web process is up."""
    try:
        return client.get("/api/health", {}, timeout_s=1) is not None
    except client.UnreachableError:
        return False


def run_hook(
    hook: str, event: dict[str, Any] | bytes, *, project_dir: str = "/home/dev/ledger"
) -> subprocess.CompletedProcess[bytes]:
    """Start a hook as Claude Code does: the event on stdin, its answer on stdout."""
    return subprocess.run(
        [sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")],
        input=event if isinstance(event, bytes) else json.dumps(event).encode(),
        capture_output=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": project_dir},
        check=False,
        timeout=60,
    )


def tool_event(tool_name: str = "Bash", *, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    """Return a PostToolUse event."""
    return {"session_id": session_id, "hook_event_name": "PostToolUse", "tool_name": tool_name, **fields}


def wait_until(condition: Callable[[], Any], *, timeout_s: float = 60) -> Any:
    """Return the first true value of `condition`, or fail after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)
    return value


def restore(text: str) -> str:
    """Put the planted secrets back into a text of the recorded history."""
    coded = json.loads((Path(demo.HISTORY) / "secrets.json").read_text())
    for token, value in coded.items():
        text = text.replace(token, base64.b64decode(value).decode()[::-1])
    return text
