"""Two data directories with their real services, each with a clone of one repository."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.hooks import run_hook
from support.processes import claude_mem

RULE = "From now on always run `make xylophone` before you push"


@contextmanager
def at(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Point hooks and commands at a data directory."""
    with monkeypatch.context() as patch:
        patch.setenv("CLAUDE_MEM_HOME", str(home))
        yield


@pytest.fixture
def laptops(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Path, Path]]]:
    """Return two data directories with running services, each with a clone of one repository."""
    found = []
    for name in ("a", "b"):
        folder, clone = home / name, tmp_path / name / "shop"
        folder.mkdir(mode=0o700)
        text = '[services]\nautostart = false\n[search]\nembedding_model = "none"\n'
        (folder / "config.toml").write_text(text)
        subprocess.run(["git", "init", "-q", clone], check=True)
        url = "https://example.com/dev/shop.git"
        subprocess.run(["git", "-C", clone, "remote", "add", "origin", url], check=True)
        found.append((folder, clone))
    for folder, _ in found:
        with at(folder, monkeypatch):
            assert claude_mem("up").returncode == 0
    yield found
    for folder, _ in found:
        with at(folder, monkeypatch):
            assert claude_mem("down", "--quiet").returncode == 0


def says(hook: str, clone: Path, session_id: str, **event: Any) -> str:
    """Run a hook in a clone and return the context it prints."""
    named = {"session_id": session_id, "cwd": str(clone), **event}
    done = run_hook(hook, named, project_dir=str(clone))
    assert done.returncode == 0
    answer = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout.strip() else {}
    return str(answer.get("additionalContext", ""))


def starts(clone: Path, session_id: str) -> str:
    """Start a session and return its context block."""
    return says("session_start", clone, session_id, hook_event_name="SessionStart", source="startup")
