"""Faults at every kind of hub, for one user's machines and for a team: no loss, no forgotten row back."""

import errno
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from support.attacks import BATCHES, ORDINARY
from support.colleagues import learn, team_of
from support.machines import Machine, all_bytes, joined, unpaused
from test_sync_postgres import cluster, server, url

from claude_mem_lite.context import builder
from claude_mem_lite.distill.suspicion import suspicions
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.forget import purge
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.learnings import guarding
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models
from claude_mem_lite.sync import run, segments, setup

psycopg = pytest.importorskip("psycopg")
__all__ = ["cluster", "server", "url"]
pytestmark = pytest.mark.process
HUBS = ("folder", "git", "postgres")
WHOSE = ("own", "team")
WORD = "Xylophagous"


@dataclass
class World:
    """Two machines at a hub, of one user or of two colleagues who trust each other."""

    hub: str
    at: Path
    server: str
    whose: str
    one: Any
    other: Any
    address: Callable[[str], str]

    def learns(self, text: str) -> None:
        """Store a learning on the first machine."""
        with self.one:
            learn(self.one.pond if self.whose == "team" else "/p/pond", text)

    def forgets(self, text: str) -> None:
        """Forget a learning on the first machine."""
        with self.one:
            assert purge.forget(Wanted(text=text), paused=unpaused())[1] == []

    def sync(self, machine: Any) -> Any:
        """Sync a machine once."""
        return machine.meets() if self.whose == "team" else machine.sync()

    def settle(self) -> None:
        """Sync both machines until nothing is new."""
        for _ in range(2):
            self.sync(self.one)
            self.sync(self.other)

    def known(self) -> list[str]:
        """Return the learnings that the second machine has from the first."""
        if self.whose == "team":
            found: list[str] = self.other.waiting()
            return found
        with self.other:
            return sorted(row.content for row in models.Learning.select())

    def bytes(self) -> bytes:
        """Return all data that the hub holds."""
        return shown_at(self.hub, self.at, self.server, self.one.home, self.other.home)

    def do(self, *statements: str) -> None:
        """Run statements as the database's administrator."""
        with psycopg.connect(self.server, autocommit=True) as admin:
            for statement in statements:
                admin.execute(statement.encode())


def shown_at(hub: str, at: Path, server: str, *homes: Path) -> bytes:
    """Return all data a hub holds: table rows, files, or every object left in a repository after `git gc`.

    A git hub is returned together with the clones in the given data directories.
    """
    if hub == "postgres":
        with psycopg.connect(server) as admin:
            query = "SELECT data FROM claude_mem.files UNION ALL SELECT data FROM claude_mem.team_files"
            rows = admin.execute(query)
            return b"".join(data for (data,) in rows)
    if hub == "git":
        subprocess.run(["git", "-C", at, "gc", "-q", "--prune=now"], check=True)
        clones = [clone for home in homes for clone in home.glob("*.git")]
        command = ["cat-file", "--batch-all-objects", "--batch"]
        commands = (["git", "-C", each, *command] for each in (at, *clones))
        return b"".join(subprocess.run(each, capture_output=True, check=True).stdout for each in commands)
    return all_bytes(at)


@pytest.fixture(params=[(whose, hub) for whose in WHOSE for hub in HUBS], ids="-".join)
def world(request: pytest.FixtureRequest, blank: Path, home: Path, tmp_path: Path, server: str) -> World:
    """Return two machines at each kind of hub, for one user and for a team."""
    whose, hub = request.param
    at = tmp_path / "hub"
    addresses: dict[str, Callable[[str], str]] = {
        "folder": lambda _: f"folder:{at}",
        "git": lambda _: f"git:{at}",
        "postgres": lambda name: (
            f"postgres:{server.replace('postgres:@', f'{name}:@')}" + "#pond" * (whose == "team")
        ),
    }
    if hub == "git":
        subprocess.run(["git", "init", "-q", "--bare", at], check=True)
    else:
        at.mkdir()
    machines: list[Any]
    if whose == "team":
        machines = team_of(tmp_path / "machines", blank, addresses[hub], "ann", "bob")
    else:
        machines = joined(tmp_path / "machines", blank, addresses[hub]("ann"), 2)
    return World(hub, at, server, whose, *machines, addresses[hub])


@contextmanager
def down(world: World) -> Iterator[str]:
    """Make the hub unreachable; yield the expected error."""
    if world.hub == "postgres":
        world.do("ALTER ROLE ann NOLOGIN")
        with psycopg.connect(world.server, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'")
        yield "not permitted to log in"
        world.do("ALTER ROLE ann LOGIN")
    else:
        world.at.rename(world.at.with_name("away"))
        yield (
            "does not exist: is its disk mounted"
            if world.hub == "folder"
            else "does not appear to be a git repository"
        )
        world.at.with_name("away").rename(world.at)


@contextmanager
def full(world: World) -> Iterator[str]:
    """Make the hub fail for lack of space; yield the expected error."""
    if world.hub == "postgres":
        world.do(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN RAISE SQLSTATE '53100' USING MESSAGE = 'No space left on device'; END $$",
            "CREATE TRIGGER full_disk BEFORE INSERT ON claude_mem.files EXECUTE FUNCTION full_disk()",
            "CREATE TRIGGER full_disk BEFORE INSERT ON claude_mem.team_files EXECUTE FUNCTION full_disk()",
        )
        yield "No space left on device"
        world.do("DROP FUNCTION full_disk CASCADE")
    elif world.hub == "git":
        hook(world, "echo 'fatal: No space left on device' >&2; exit 1")
        yield "rejected|No space left on device"
        (world.at / "hooks" / "pre-receive").unlink()
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
            yield "cannot be written"


def hook(world: World, script: str) -> None:
    """Install a pre-receive hook in the hub's repository."""
    path = world.at / "hooks" / "pre-receive"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("fault", [down, full], ids=lambda fault: fault.__name__)
def test_a_hub_that_is_down_or_full_is_one_line_and_loses_nothing(
    world: World, fault: Callable[[World], Any]
) -> None:
    """A hub that is down or full gives one line, and all changes arrive once it is back."""
    world.learns("Before it")
    world.settle()
    world.learns("While it lasts")

    with fault(world) as line, pytest.raises(ClaudeMemError, match=line) as said:
        world.sync(world.one)
    with world.one:
        noted = setup.last("team" if world.whose == "team" else "sync")["error"]
    world.settle()

    assert "\n" not in str(said.value)
    assert noted == str(said.value)
    assert world.known() == ["Before it", "While it lasts"]


def test_a_slow_hub_is_waited_for(world: World) -> None:
    """A sync waits for a slow hub and loses nothing."""
    world.learns("Before it")
    world.settle()
    world.learns("Meanwhile")
    if world.hub == "folder":
        pytest.skip("a folder is as slow as its disk")

    if world.hub == "git":
        hook(world, "sleep 1")
        world.sync(world.one)
    else:
        with psycopg.connect(world.server) as admin:
            admin.execute("LOCK TABLE claude_mem.files, claude_mem.team_files IN ACCESS EXCLUSIVE MODE")
            thread = threading.Timer(1.0, admin.rollback)
            thread.start()
            world.sync(world.one)
            thread.join()
    world.sync(world.other)

    assert world.known() == ["Before it", "Meanwhile"]


def test_a_hub_from_an_old_backup_is_filled_again(world: World) -> None:
    """A hub restored from an old backup is refilled, and no forgotten row comes back."""
    world.learns("Before it")
    world.learns(f"Never dig {WORD}")
    world.settle()
    old = world.at.with_name("old")
    if world.hub == "postgres":
        kept = {"old": "files", "old_team": "team_files"}
        world.do(*(f"CREATE TABLE {to} AS SELECT * FROM claude_mem.{table}" for to, table in kept.items()))
    else:
        shutil.copytree(world.at, old)
    world.forgets(WORD)
    world.learns("Since then")
    world.settle()

    if world.hub == "postgres":
        world.do(
            "DELETE FROM claude_mem.files", "DELETE FROM claude_mem.team_files",
            "INSERT INTO claude_mem.files SELECT * FROM old",
            "INSERT INTO claude_mem.team_files SELECT * FROM old_team",
        )  # fmt: skip
    else:
        shutil.rmtree(world.at)
        old.rename(world.at)
    world.sync(world.other)
    between = world.known()
    world.settle()

    assert between == world.known() == ["Before it", "Since then"]
    for each in (world.bytes(), world.one.bytes(), world.other.bytes()):
        assert WORD.encode() not in each


def test_lines_of_a_newer_version_wait_for_the_upgrade(world: World) -> None:
    """A newer version's data is refused for now and taken after the upgrade."""
    world.learns("Before it")
    world.settle()
    world.learns("Of a newer schema")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "MIGRATIONS", (*segments.MIGRATIONS, ""))
        world.sync(world.one)

    refused = world.sync(world.other).refused
    before = world.known()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "MIGRATIONS", (*segments.MIGRATIONS, ""))
        world.sync(world.other)

    expected = ["runs a newer version: upgrade claude-mem-lite here"]
    assert [why.partition(" ")[2] for why in refused] == expected
    assert (before, world.known()) == (["Before it"], ["Before it", "Of a newer schema"])


def test_sixty_poisoned_lines_come_through_a_hub_and_none_is_active_or_unmarked(
    world: World, tmp_path: Path, blank: Path
) -> None:
    """Poison from a stranger is refused; from a trusted colleague it is attributed, without orders."""
    poison = [each.says for batch in BATCHES for cases in batch.values() for each in cases if each.says][:60]
    orders = [text for text in poison if suspicions(text, origin="assistant")]
    assert (len(poison), len(orders) > 20) == (60, True)
    if world.whose == "own":
        stranger = Machine(tmp_path / "stranger", blank)
        with stranger:
            run.begin(world.address("ann"), name="laptop0")
            for text in poison:
                learn("/p/pond", text[:1_990], confidence=0.95)
        stranger.sync()
        refused = world.other.sync().refused
        expected = ["calls itself 'laptop0' and does not have your code"]
        assert [why.partition(" ")[2] for why in refused] == expected
        assert world.known() == []
        return
    mallory, bob = world.one, world.other
    with mallory:
        for text in poison:
            learn(mallory.pond, text[:1_990], confidence=0.95)
        learning_rows.update(
            learning_rows.get(learn(mallory.pond, ORDINARY[0].says)),
            is_manual=True, guard='{"mode": "ask", "commands": ["git push"]}',
        )  # fmt: skip
    world.settle()
    with bob:
        before = builder.build(bob.pond).text

    bob.trusts("ann")
    with bob:
        block = builder.build(bob.pond).text
        own = learning_rows.find(None, state="all")
        guards = guarding.on(bob.pond) + [row for row, _ in guarding.possible(bob.pond)]

    told = [line for line in block.split("\n") if line.startswith("- ")]
    assert (len(bob.waiting()), before) == (61, "")
    assert set(orders).isdisjoint(words for _, words in bob.told())
    assert {author for author, _ in bob.told()} == {"ann"}
    assert not any(text[:60] in block for text in orders)
    assert [("] " in line and "From ann, convention: " in line) for line in told] == [True] * len(told)
    assert (own, guards) == ([], [])
