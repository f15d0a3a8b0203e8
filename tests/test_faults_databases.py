"""Test damaged, deleted, locked, read-only, older and newer databases: reported, repaired, and survived."""

import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.faults import append, build, logged, queue, rows, running, say, titles
from support.processes import claude_mem, end, wait_until

from claude_mem_lite import config
from claude_mem_lite.capture import client
from claude_mem_lite.services import process_states, supervise
from claude_mem_lite.storage import migrations, models

pytestmark = pytest.mark.usefixtures("claude_dir")

Damage = Callable[[Path], None]
LOCKED_S = 12.0  # longer than our longest timeout on a lock, 10 s
INDEX = {"claude-mem.db": "idx_obs_project", "queue.db": "idx_queue_session"}


def cut(path: Path) -> None:
    """Cut off all but the first page; with more pages left, a write might succeed."""
    os.truncate(path, 4096)


def flip(path: Path) -> None:
    """Overwrite one page in the middle, the root page of an index."""
    query = f"SELECT rootpage FROM sqlite_master WHERE name = '{INDEX[path.name]}'"
    [(page,)] = rows(str(path), query)
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)


def in_one_file(path: Path) -> None:
    """Move the WAL's content into the file, so that the damage hits it."""
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        wait_until(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)


def told_by_the_doctor() -> str:
    """Return the doctor's problems with their cures, one per line."""
    found = json.loads(claude_mem("doctor", "--json").stdout)
    return "\n".join(f"{each['found']} → {each['cure']}" for each in found if not each["ok"])


@pytest.mark.parametrize(("store", "damage"), [("queue.db", cut), ("claude-mem.db", flip)])
@pytest.mark.usefixtures("services")
def test_a_database_may_be_deleted_and_damaged_while_running(home: Path, store: str, damage: Damage) -> None:
    """Hooks and services go on when a database is deleted or damaged, and all works once it is moved aside.

    A deleted one is created again and logged, the memory from queue.db's events; status and doctor name a
    damaged file and its cure.
    """
    path = home / store
    append(build(0))
    wait_until(lambda: titles() == ["Build target 0"])
    first = pids()
    path.unlink()
    say(build(1))
    second = wait_until(lambda: (now := pids()) and not set(now) & set(first) and now)
    ids = [append(build(number, output=f"line {number}\n" * 50)) for number in range(2, 20)]
    # All of them, because the newest is processed first and the waiting ones are deleted with the file.
    wait_until(lambda: {f"Build target {number}" for number in range(1, len(ids) + 2)} <= set(titles()))
    wait_until(lambda: queue().get("done", 0) >= len(ids))
    assert f"{path} was deleted, emptied or replaced" in logged(home)

    in_one_file(path)
    damage(path)
    for number in range(20, 24):
        say(build(number))
    told, found = json.loads(claude_mem("status", "--json").stdout)["problems"], told_by_the_doctor()
    third = pids()
    claude_mem("down")
    path.rename(home / f"{store}.damaged")
    claude_mem("up")
    say(build(24))
    wait_until(lambda: {f"Build target {number}" for number in range(25)} <= set(titles()))

    assert third == second
    assert any(str(path) in problem and "damaged" in problem and "aside" in problem for problem in told)
    assert f"{path} is damaged: " in found
    assert "claude-mem down, move it aside" in found
    assert list((home / "spool").iterdir()) == []
    assert "damaged" not in told_by_the_doctor()
    assert len((client.get("/api/search", {"q": "target"}, timeout_s=5) or {})["results"]) > 0


def pids() -> list[int]:
    """Return the process ids of both services, [] unless both run."""
    found = process_states.programs()
    return [each.pid for each in found if each.pid] if {each.state for each in found} == {"RUNNING"} else []


@contextmanager
def locked(*paths: str) -> Iterator[None]:
    """Lock databases for long, as another program does that writes to them."""
    others = [sqlite3.connect(path, isolation_level=None, timeout=10) for path in paths]
    for other in others:
        other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        for other in others:
            other.close()


def test_locked_databases_cost_nothing_but_time(home: Path) -> None:
    """While databases are locked beyond our timeouts hooks use the spool; later everything is processed."""
    with running("consumer") as consumer:
        append(build(0))
        wait_until(lambda: queue() == {"done": 1})
        with locked(config.memory_path()):
            for number in range(1, 4):
                say(build(number))
            with locked(config.queue_path()):
                say(build(4))
                spooled = len(list((home / "spool").iterdir()))
                time.sleep(LOCKED_S)
        say(build(5))
        wait_until(lambda: queue() == {"done": 6})
        alive = consumer.poll() is None

    assert spooled == 1
    assert alive
    assert titles() == [f"Build target {number}" for number in range(6)]


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """Make a file or a folder that even root cannot write."""
    if os.geteuid() != 0:
        mode = path.stat().st_mode
        path.chmod(mode & ~0o222)
        yield
        path.chmod(mode)
        return
    mounted = subprocess.run(["mount", "--bind", str(path), str(path)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mount: {mounted.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(path)], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.parametrize("store", ["queue.db", "claude-mem.db"])
def test_a_database_that_cannot_be_written_is_told(home: Path, store: str) -> None:
    """With a read-only database hooks lose nothing, the doctor names the file, and work resumes later."""
    with running("consumer") as consumer:
        append(build(0))
        wait_until(lambda: queue() == {"done": 1})
        end(consumer)
    with read_only(home / store):
        with running("consumer") as consumer:
            say(build(1))
            time.sleep(2)
            ended = consumer.poll()
        found, up = told_by_the_doctor(), claude_mem("up")
    with running("consumer"):
        wait_until(lambda: queue() == {"done": 2})

    assert ended in {None, 1}
    assert f"{home / store} cannot be written → chmod" in found
    assert up.stderr.startswith(f"claude-mem: {home / store} cannot be written: chmod")
    assert titles() == ["Build target 0", "Build target 1"]


def test_a_folder_that_cannot_be_written_is_told(home: Path) -> None:
    """With a read-only folder status, doctor and up name it and its cure, and none says to move it."""
    append(build(0))
    models.open_databases()
    models.close_databases()
    with read_only(home):
        told, found, up = claude_mem("status"), told_by_the_doctor(), claude_mem("up")

    says = f"{home} cannot be written to ("
    problems = [line for line in told.stdout.splitlines() if line.startswith("!")]
    assert [line.partition(" (")[0] for line in problems] == [
        f"! {home} cannot be written to", "! hooks not installed: claude-mem install-hooks",
    ]  # fmt: skip
    assert says in found
    assert up.stderr.startswith(f"claude-mem: {says}")


def test_a_folder_where_the_socket_should_be_is_told(home: Path) -> None:
    """A folder in the socket's place makes the web process exit; log and doctor name the folder."""
    (home / "worker.sock").mkdir()
    with running("web") as web:
        status = web.wait(timeout=20)
    said = logged(home)
    found = told_by_the_doctor()
    (home / "worker.sock").rmdir()
    with running("web"):
        wait_until(supervise._web_answers)

    assert status == 1
    assert f"{home / 'worker.sock'} is a folder" in said
    assert f"{home / 'worker.sock'} is a folder" in found


def fill_tables(connection: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
    """Insert two rows into each table of a schema, and return all rows by table."""
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_fts%' ESCAPE '\\'"
    tables = [name for (name,) in connection.execute(named) if not name.startswith("sqlite_")]
    connection.row_factory = sqlite3.Row
    for table in sorted(tables, key=lambda name: name != "sessions"):
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        for number in range(2):
            row = {
                each["name"]: f"old{number}" if "session_id" in each["name"] else _value(table, each, number)
                for each in columns
                if (each["notnull"] and each["dflt_value"] is None) or each["name"] == "summary"
            }
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
    connection.commit()
    return {table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")] for table in tables}


def _value(table: str, column: sqlite3.Row, number: int) -> Any:
    if column["type"] in {"INTEGER", "REAL", "BLOB"}:
        return number
    if column["name"] in {"value", "meta"}:
        return json.dumps({"number": number})
    return f"old{number}" if (table, column["name"]) == ("sessions", "id") else f"otter {table} {number}"


@pytest.mark.parametrize("steps", range(migrations.TOO_OLD + 1, len(migrations.MIGRATIONS)))
def test_an_older_schema_is_brought_up_to_date_with_its_rows(
    home: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """An older schema is migrated with all rows, found by full text; names from a work tree are read anew."""
    newest = migrations.MIGRATIONS
    monkeypatch.setattr(migrations, "MIGRATIONS", newest[:steps])
    migrations.migrate()
    with closing(sqlite3.connect(config.memory_path())) as connection:
        before = fill_tables(connection)
    monkeypatch.setattr(migrations, "MIGRATIONS", newest)

    with running("consumer"):
        say(build(0))
        wait_until(lambda: queue() == {"done": 1})

    models.open_databases()
    with closing(sqlite3.connect(config.memory_path())) as connection:
        connection.row_factory = sqlite3.Row
        kept = {table: list(map(dict, connection.execute(f"SELECT * FROM {table}"))) for table in before}
    assert not any(row["is_gone"] for row in before.get("retired_names", []))
    before.pop("retired_names", None)
    for table, told in before.items():
        for row in told:
            same = [each for each in kept[table] if _is_kept(row, each)]
            assert len(same) == 1, (table, row)
    for table in sorted({"observations", "sessions", "learnings", "function_map"}):
        matches = f"SELECT count(*) FROM {table}_fts WHERE {table}_fts MATCH 'otter'"
        assert (table, rows(config.memory_path(), matches)) == (table, [(2,)])
    assert titles() == ["Build target 0", "otter observations 0", "otter observations 1"]


def _is_kept(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return all(after[name] == value for name, value in before.items() if name in after)


def test_a_newer_schema_stops_the_consumer_not_the_hooks(home: Path) -> None:
    """A newer schema stops the consumer with one line that says to upgrade; hooks go on storing events."""
    models.open_databases()
    models.close_databases()
    with closing(sqlite3.connect(config.memory_path())) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = Path(config.memory_path()).read_bytes()

    say(build(0))
    with running("consumer") as consumer:
        status = consumer.wait(timeout=20)
    failed = claude_mem("up")

    assert status == 1
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
    assert "upgrade claude-mem-lite" in failed.stderr
    assert queue() == {"raw": 1}
    assert Path(config.memory_path()).read_bytes() == before
