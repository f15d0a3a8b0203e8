"""Two machines with real services share a rule through each kind of hub, and forget it everywhere."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.laptops import RULE, at, laptops, says, starts
from support.machines import all_bytes
from support.processes import claude_mem, wait_until
from test_sync_faults import shown_at
from test_sync_postgres import cluster, server

from claude_mem_lite.capture import client
from claude_mem_lite.tasks.sync import sync_in_background

__all__ = ["cluster", "laptops", "server"]
RULE_TOLD = "always run `make xylophone` before you push"


def last(whose: str) -> dict[str, Any]:
    """Return the stored outcome of the last sync."""
    said = claude_mem(*(("team", "list") if whose == "team" else ("sync", "status")), "--json").stdout
    found: dict[str, Any] = json.loads(said)["last"]
    return found


def answer(*words: str) -> str:
    """Run a command that must succeed; return its output."""
    done = claude_mem(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.process
@pytest.mark.parametrize("hub", ["folder", "git", "postgres"])
@pytest.mark.parametrize("whose", ["own", "team"])
def test_a_rule_said_here_is_told_there_and_forgotten_to_the_last_byte(  # noqa: PLR0913, PLR0917  (fixtures)
    laptops: list[tuple[Path, Path]], server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    whose: str, hub: str,
) -> None:  # fmt: skip
    """A rule reaches the other machine, once trusted in a team, and forgetting erases every byte."""
    (here, mine), (there, other) = laptops
    place = tmp_path / "hub"
    if hub == "git":
        subprocess.run(["git", "init", "-q", "--bare", place], check=True)
    else:
        place.mkdir()
    roles = ("ann", "bob") if whose == "team" else ("ann", "ann")
    addresses = [
        f"postgres:{server.replace('postgres:@', f'{role}:@')}" + "#pond" * (whose == "team")
        if hub == "postgres" else f"{hub}:{place}" for role in roles
    ]  # fmt: skip
    joining = ("team", "join") if whose == "team" else ("sync", "init")
    with at(here, monkeypatch):
        code = json.loads(answer(*joining, addresses[0], "--name", "ann", "--json"))["code"]
        if whose == "team":
            answer("team", "share", "--project", str(mine))
        starts(mine, "s1")
        says("user_prompt_submit", mine, "s1", hook_event_name="UserPromptSubmit", prompt=RULE)
        says("session_end", mine, "s1", hook_event_name="SessionEnd", reason="exit")
        wait_until(
            lambda: (hub == "folder" or synced()) and b"make xylophone" in shown_at(hub, place, server)
        )
    with at(there, monkeypatch):
        answer(*joining, addresses[1], "--name", "bob", "--code", code)
        if whose == "team":
            answer("team", "share", "--project", str(other))
        starts(other, "s2")
        wait_until(lambda: last(whose).get("taken", 0) > 0)
        before = starts(other, "s3")
        if whose == "team":
            answer("team", "trust", "ann", "--yes")

        block = starts(other, "s4")

    assert (RULE_TOLD in before) == (whose == "own")
    assert RULE_TOLD in block
    assert ("From ann, " in block) == (whose == "team")

    with at(here, monkeypatch):
        wait_until(lambda: claude_mem("forget", "--match", "xylophone", "--yes").returncode == 0)
        assert wait_until(synced)
    with at(there, monkeypatch):
        wait_until(synced)
        wait_until(lambda: client.get("/api/health", {}, timeout_s=1) is not None)
        if whose == "own":  # the next sync removes what this machine has published of it
            wait_until(synced)
        block = starts(other, "s5")

    assert "xylophone" not in block
    shown = shown_at(hub, place, server) + all_bytes(here) + all_bytes(there)
    assert b"xylophone" not in shown


def synced() -> bool:
    """Run `sync` and return whether it succeeded."""
    return claude_mem("sync", "--quiet").returncode == 0


def test_without_a_hub_nothing_is_started(home: Path) -> None:
    """Without a hub, no background sync is started."""
    assert sync_in_background() is False
