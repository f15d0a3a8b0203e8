"""Two data directories with their real services and a hub: what is said to one is told to the other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.hooks import run_hook
from support.machines import all_bytes
from support.processes import claude_mem, wait_until

from claude_mem_lite.capture import client
from claude_mem_lite.tasks.sync import sync_in_background

RULE = "From now on always run `make xylophone` before you push"


@contextmanager
def at(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have hooks and commands use a data directory."""
    with monkeypatch.context() as patch:
        patch.setenv("CLAUDE_MEM_HOME", str(home))
        yield


@pytest.fixture
def laptops(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Path, Path]]]:
    """Return two data directories, in which the services run, each with a clone of one repository."""
    found = []
    for name in ("a", "b"):
        folder, clone = home / name, tmp_path / name / "shop"
        folder.mkdir(mode=0o700)
        (folder / "config.toml").write_text(
            '[services]\nautostart = false\n[search]\nembedding_model = "none"\n'
        )
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
    """Run a hook in a clone; return what the session is told."""
    named = {"session_id": session_id, "cwd": str(clone), **event}
    done = run_hook(hook, named, project_dir=str(clone))
    assert done.returncode == 0
    answer = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout.strip() else {}
    return str(answer.get("additionalContext", ""))


def starts(clone: Path, session_id: str) -> str:
    """Start a session; return its block."""
    return says("session_start", clone, session_id, hook_event_name="SessionStart", source="startup")


def synced(is_so: Callable[[dict[str, Any]], bool]) -> bool:
    """Tell whether the last sync was one of some kind."""
    done = claude_mem("sync", "status", "--json")
    return done.returncode == 0 and is_so(json.loads(done.stdout)["last"])


@pytest.mark.process
def test_a_rule_said_on_one_laptop_is_told_and_forgotten_on_the_other(
    laptops: list[tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Synced by the services as sessions end and start; forgotten there to the last byte, in the hub, too."""
    (here, mine), (there, other) = laptops
    hub = tmp_path / "carried"
    hub.mkdir()
    with at(here, monkeypatch):
        made = json.loads(claude_mem("sync", "init", f"folder:{hub}", "--name", "a", "--json").stdout)
        starts(mine, "s1")
        says("user_prompt_submit", mine, "s1", hook_event_name="UserPromptSubmit", prompt=RULE)
        says("session_end", mine, "s1", hook_event_name="SessionEnd", reason="exit")
        wait_until(lambda: b"make xylophone" in all_bytes(hub))
    with at(there, monkeypatch):
        joined = claude_mem("sync", "init", f"folder:{hub}", "--name", "b", "--code", made["code"])
        assert joined.returncode == 0, joined.stderr
        starts(other, "s2")
        wait_until(lambda: synced(lambda last: last.get("taken", 0) > 0))

        block = starts(other, "s3")

    assert "always run `make xylophone` before you push" in block

    with at(here, monkeypatch):
        wait_until(lambda: claude_mem("forget", "--match", "xylophone", "--yes").returncode == 0)
        assert wait_until(lambda: claude_mem("sync", "--quiet").returncode == 0)
    with at(there, monkeypatch):
        wait_until(lambda: claude_mem("sync", "--quiet").returncode == 0)
        wait_until(lambda: client.get("/api/health", {}, timeout_s=1) is not None)
        block = starts(other, "s4")

    assert "xylophone" not in block
    assert b"xylophone" not in all_bytes(hub) + all_bytes(there) + all_bytes(here)


def test_without_a_hub_nothing_is_started(home: Path) -> None:
    """The task looks for one file."""
    assert sync_in_background() is False
