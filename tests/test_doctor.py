"""Test `claude-mem doctor`: its findings on sound, new and broken installations, and its cures."""

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.databases import observation_row, session_row
from support.fake_messages import FakeMessages
from support.hooks import tool_event
from support.processes import claude_mem, wait_until

from claude_mem_lite import settings_file
from claude_mem_lite.capture import backlog, inbox, spool
from claude_mem_lite.services import install, other_clients
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import migrations, models, queries

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("claude_dir")]  # the doctor runs a hook


def findings(*arguments: str) -> dict[str, dict[str, Any]]:
    """Return the doctor's findings by name."""
    done = command("doctor", "--json", *arguments)
    assert done.stderr == ""
    return {each["name"]: each for each in json.loads(done.stdout)}


def wrong(*arguments: str) -> set[str]:
    """Return the names of findings that are not fine."""
    return {name for name, each in findings(*arguments).items() if not each["ok"]}


def test_what_failed_is_tried_again_when_told_to(memory: Path) -> None:
    """--fix retries failed events and messages set aside; lost events stay lost."""
    failed, lost = inbox.append(json.dumps(tool_event()), "/p"), inbox.append("{}", "")
    inbox.finish(failed, status="error", note="KeyError: 'x'")
    inbox.finish(lost, status="error", note="lost")
    with inbox.Transaction() as connection:
        connection.execute("UPDATE task SET queue = queue || '!dead', crashes = 5")

    told, cured = findings()["queue"], findings("--fix")["queue"]
    wait_until(lambda: findings()["queue"]["found"] == "0 events waiting, 0 in error, 1 lost for good")
    after = findings()["queue"]
    claude_mem("down")

    models.open_databases(read_only=True)
    stats = queries.queue_stats()
    says = "0 events waiting, 1 in error, 1 lost for good, 2 messages set aside"
    assert (told["ok"], told["found"]) == (False, says)
    assert (cured["outcome"], after["ok"]) == ("cured", True)
    assert (stats["done"], stats["lost"], stats["set_aside"]) == (1, 1, 0)


def test_lost_events_are_told_apart_from_those_that_wait(memory: Path) -> None:
    """Events that neither queue.db nor the spool could take count as lost, not as waiting."""
    for name in ("1-a.lost", "2-b.lost"):
        (memory / "spool" / name).touch()
    backlog.take_in_spool()
    (memory / "spool" / "3-c.lost").touch()
    spool.write("d", inbox.utc_now(), ("/p", "", ""), json.dumps(tool_event()))

    status = claude_mem("status").stdout.splitlines()
    queue = findings()["queue"]

    found = [line.split()[:2] for line in status if "events" in line and "hooks" not in line]
    assert found == [["spooled", "1"], ["lost", "3"]]
    assert queue["found"] == "0 events waiting, 0 in error, 3 lost for good"


@pytest.mark.usefixtures("memory")
def test_late_answers_are_counted() -> None:
    """Late recall answers of the last week are counted."""
    for via, at in (("recall", inbox.utc_now()), ("late", inbox.utc_now()), ("late", "2020-01-01")):
        context_rows.note_shown("me", {"via": via, "ids": []}, at=at)

    assert findings()["recall"]["found"] == "2 prompts answered in the last week, 1 of them too late"


@pytest.mark.usefixtures("services")
def test_a_sound_installation_has_nothing_wrong(home: Path) -> None:
    """With services up and hooks installed every finding is fine and the exit code is 0."""
    install.install()

    done = command("doctor")

    assert (done.returncode, done.stderr) == (0, "")
    assert all(line.startswith("✓") for line in done.stdout.splitlines())
    assert "a hook" in done.stdout


def test_where_nothing_is_yet_it_says_what_to_do(home: Path) -> None:
    """On a new machine doctor names the missing memory, services and hooks, and creates nothing."""
    found = findings()

    wrong = {name for name, each in found.items() if not each["ok"]}
    assert wrong == {"memory", "queue", "services", "hooks"}
    assert found["hooks"]["cure"] == "claude-mem install-hooks"
    assert not (home / "claude-mem.db").exists()
    assert command("doctor").returncode == 1


def test_fix_cures_what_is_safe(home: Path) -> None:
    """--fix cures permissions, services and hooks without asking."""
    models.open_databases()
    models.close_databases()
    (home / "queue.db").chmod(0o644)
    before = wrong()
    try:
        cured = findings("--fix")
        after = wrong()
    finally:
        claude_mem("down", "-q")

    assert before == {"permissions", "services", "hooks"}
    assert {name for name, each in cured.items() if each["outcome"] == "cured"} == before
    assert after == set()
    assert (home / "queue.db").stat().st_mode & 0o077 == 0


def test_a_damaged_database_and_index_are_told(memory: Path) -> None:
    """Doctor finds a broken queue.db, a full-text index lacking rows, a future event and bad spool files."""
    session_row("s1")
    queries.save_observation(observation_row("abcdef1234"))
    models.memory_database.execute_sql("DELETE FROM observations_fts_docsize")
    inbox.append(json.dumps(tool_event()), "/p")
    with inbox.Transaction() as connection:
        connection.execute("UPDATE pending_queue SET created_at = '2099-01-01T00:00:00.000000Z'")
    models.close_databases()
    (memory / "spool" / "x.bad").write_text("no event")
    ahead = findings()
    (memory / "queue.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 8_000)
    damaged = findings()

    assert (ahead["full text"]["ok"], ahead["full text"]["cure"]) == (False, "claude-mem reindex")
    assert "in the future" in ahead["clock"]["found"]
    assert "hold no event" in ahead["spool"]["found"]
    assert not damaged["queue"]["ok"]
    told = damaged["queue"]["cure"] + damaged["queue"]["found"]
    assert "move it aside" in told or "could not be checked" in told


def test_hooks_of_an_interpreter_that_is_gone_are_told_and_renewed(memory: Path, tmp_path: Path) -> None:
    """Hooks with a missing interpreter are reported by its path and registered again by --fix."""
    install.install()
    settings = tmp_path / "claude" / "settings.json"
    settings.write_text(settings.read_text().replace(os.path.realpath(sys.executable), "/gone/python"))
    settings.write_text(settings.read_text().replace(sys.executable, "/gone/python"))
    before = findings()["hooks"]
    try:
        findings("--fix")
    finally:
        claude_mem("down", "-q")

    assert "/gone/python" in before["found"]
    assert "/gone/python" not in settings.read_text()


def test_other_clients_are_looked_at_and_cured(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outdated hooks of another client are renewed by --fix; its trust is left to the user."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    client = other_clients.CLIENTS["codex"]
    other_clients.install(client)
    untrusted = findings()["codex"]
    settings = Path(client.path)
    settings.write_text(settings.read_text().replace(" codex ||", " ||"))

    found, fixed = findings()["codex"], findings("--fix")["codex"]

    assert (untrusted["cure"], untrusted["can_fix"]) == (client.advice, False)
    assert (found["cure"], found["can_fix"]) == ("claude-mem install-hooks --for codex", True)
    assert fixed["outcome"] == "cured"
    assert len(other_clients.registered(client)) == len(client.events)


def test_events_that_do_not_fit_the_client_are_told(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events missing after a client's upgrade or unknown after a downgrade are reported, but no plugin's."""
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    monkeypatch.setenv("PATH", f"{client.parent}:{os.environ['PATH']}")

    def with_client(version: str) -> str:
        client.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        client.chmod(0o755)
        found: str = findings()["hooks"]["found"]
        return found

    install.install(client_version="2.1.50")
    upgraded = with_client("2.1.329")
    install.install()
    fitting, downgraded = with_client("2.1.329"), with_client("2.1.50")
    install.uninstall()
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").write_text('{"enabledPlugins": {"mem-lite@here": true}}')
    of_plugin = with_client("2.1.329")

    assert upgraded.endswith("events registered, missing: PostCompact, StopFailure")
    assert "may not know PostCompact, StopFailure" in downgraded
    assert not any("not" in each for each in (fitting, of_plugin.partition(", run by")[0]))


def test_a_foreign_and_a_newer_memory_are_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program's database and a newer schema are named with the cure, and left untouched."""
    with closing(sqlite3.connect(home / "claude-mem.db")) as connection:
        connection.execute("CREATE TABLE sdk_sessions (id)")
    before = (home / "claude-mem.db").read_bytes()
    foreign = findings()
    after = (home / "claude-mem.db").read_bytes()
    (home / "claude-mem.db").unlink()
    models.open_databases()
    models.close_databases()
    with closing(sqlite3.connect(home / "claude-mem.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    newer = findings()
    (home / "claude-mem.db").unlink()
    last = len(migrations.MIGRATIONS) - 1
    with monkeypatch.context() as before_the_last:
        before_the_last.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:last])
        migrations.migrate()
    older = findings()
    kept = migrations.schema()

    assert "another program's database" in " ".join(each["found"] for each in foreign.values())
    assert newer["memory"]["cure"] == "upgrade claude-mem-lite"
    assert (older["memory"]["cure"], kept) == ("claude-mem up", last)
    assert after == before


def test_the_api_is_asked_only_when_told_to(fake: FakeMessages, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API is called only with --api, which tries key and model."""
    silent = "API" in findings()
    none = len(fake.requests)
    fine = findings("--api")["API"]
    settings_file.write("claude", {"base_url": "http://127.0.0.1:1"})
    refused = findings("--api")["API"]

    assert (silent, none) == (False, 0)
    assert fine["ok"]
    assert "knows claude-haiku-4-5-20251001" in fine["found"]
    assert not refused["ok"]
    assert "fix the key or the network" in refused["cure"]


def test_status_before_anything_is_remembered_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a data directory `status` names the first two commands and creates nothing."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))

    done = command("status")

    assert (done.returncode, done.stderr) == (1, "")
    assert "consumer and web not running: claude-mem up" in done.stdout
    assert "hooks not installed: claude-mem install-hooks" in done.stdout
    assert list(tmp_path.iterdir()) == []
