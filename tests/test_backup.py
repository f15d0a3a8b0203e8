"""Test backup and restore: a consistent copy while services run, nothing replaced before it is checked."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from support.commands import command
from support.databases import find, observation_row, session_row
from support.hooks import run_hook, tool_event
from support.processes import claude_mem, wait_until

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox, spool
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import process_states, supervise
from claude_mem_lite.storage import embeddings, models, queries
from claude_mem_lite.upkeep import backup as upkeep


@pytest.fixture
def ponds(memory: Path) -> Path:
    """Return a closed memory with a session, an observation and a raw event."""
    session_row(summary="Dug ponds.")
    queries.save_observation(observation_row("pond", title="Dig a pond", embedding_status="tiny_8"))
    inbox.append(json.dumps(tool_event(tool_input={"command": "dig"})), "/p")
    models.close_databases()
    return memory


@pytest.fixture
def saved(ponds: Path, tmp_path: Path) -> Path:
    """Return a backup of the memory `ponds`, to which an observation was added since."""
    path = tmp_path / "ponds.zip"
    done = command("backup", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    models.open_databases()
    queries.save_observation(observation_row("lake", title="Dig a lake"))
    models.close_databases()
    return path


def titles() -> list[str]:
    """Return the titles of all observations."""
    with closing(sqlite3.connect(config.memory_path())) as connection:
        return [title for (title,) in connection.execute("SELECT title FROM observations ORDER BY pk")]


def state(home: Path) -> dict[str, bytes]:
    """Return a dump of each database, independent of the files it is in."""
    found = {}
    for name in ("claude-mem.db", "queue.db"):
        with closing(sqlite3.connect(home / name)) as connection:
            found[name] = "\n".join(connection.iterdump()).encode()
    return found


def test_a_backup_is_one_file_with_a_manifest(saved: Path) -> None:
    """A backup's manifest has its schema, its row counts and the hash of each part; its mode is 0600."""
    with zipfile.ZipFile(saved) as packed:
        names = packed.namelist()
        manifest = json.loads(packed.read("manifest.json"))
        parts = {name: packed.read(name) for name in names[1:]}

    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert names == ["manifest.json", "queue.db", "claude-mem.db"]
    assert manifest["schema"] == len(models.migrate.__globals__["MIGRATIONS"])
    assert manifest["counts"] == {"sessions": 1, "observations": 1, "learnings": 0, "pending_queue": 1}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in parts.items()}
    assert {name: part["sha256"] for name, part in manifest["parts"].items()} == hashes
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    assert not (Path(config.home()) / "staging").exists()


def test_a_backup_replaces_no_file(saved: Path) -> None:
    """A backup never overwrites a file; it includes events that wait in the spool."""
    before = saved.read_bytes()

    again = command("backup", str(saved))
    spool.write("0" * 32, inbox.utc_now(), ("/p", "", ""), json.dumps(tool_event()))
    printed = json.loads(command("backup", str(saved.parent / "second.zip"), "--json").stdout)

    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == f"claude-mem: {saved} already exists: choose another name\n"
    assert saved.read_bytes() == before
    assert (printed["file"], printed["counts"]["observations"]) == (str(saved.parent / "second.zip"), 2)
    assert printed["counts"]["pending_queue"] == 2  # with what had waited in the spool


def test_a_backup_without_a_name_goes_to_the_home(
    saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a name a backup goes to a private folder in HOME, named by its time; a bad HOME is refused."""
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    monkeypatch.setenv("HOME", str(tmp_path))

    done = claude_mem("backup")
    monkeypatch.setenv("HOME", str(saved))
    refused = claude_mem("backup")

    [written] = (tmp_path / "claude-mem-backups").iterdir()
    assert (done.returncode, done.stdout.startswith(f"Wrote {written}: 1 session, ")) == (0, True)
    assert re.fullmatch(r"claude-mem-\d{8}T\d{6}Z\.zip", written.name)
    assert stat.S_IMODE(written.parent.stat().st_mode) == 0o700
    assert list((tmp_path / "repository").iterdir()) == []
    assert refused.stderr == (
        f"claude-mem: cannot create the folder {saved}/claude-mem-backups (Not a directory): "
        "give a FILE to back up to\n"
    )


def test_restore_brings_back_what_was(saved: Path) -> None:
    """Restore brings the old rows back, keeps the replaced databases, and drops vectors and claims."""
    home = Path(config.home())
    with inbox.Transaction() as connection:
        connection.execute("UPDATE task SET claimed = 1")
    before, files = state(home), [(home / name).stat().st_ino for name in ("claude-mem.db", "queue.db")]

    done = command("restore", str(saved), "--yes", "--json")

    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert answer["restored"] == {"sessions": 1, "observations": 1, "learnings": 0, "pending_queue": 1}
    assert titles() == ["Dig a pond"]
    assert state(Path(answer["kept"])) == before
    # A process that waits for a file writes to the restored database: SQLite finds a WAL by its file's name.
    assert [(home / name).stat().st_ino for name in ("claude-mem.db", "queue.db")] == files
    with closing(sqlite3.connect(Path(answer["kept"]) / "queue.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert stat.S_IMODE(os.stat(answer["kept"]).st_mode) == 0o700
    models.open_databases()
    assert embeddings.count_by_model() == {}
    assert [hit.row.id for hit in find("pond", type="observation")] == ["pond"]
    with closing(sqlite3.connect(home / "queue.db")) as connection:
        assert connection.execute("SELECT claimed FROM task").fetchall() == [(0,)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert stat.S_IMODE((home / "queue.db").stat().st_mode) == 0o600
    assert not (home / "staging").exists()


def test_restore_into_an_empty_folder(saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A restore into a new data directory, as on another machine, neither asks nor keeps anything."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(tmp_path / "new"))

    done = command("restore", str(saved))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Restored: 1 session, 1 observation, 0 learnings and 1 raw event.\n"
    assert titles() == ["Dig a pond"]
    assert not config.foreign_memory()


def test_restore_asks_before_it_replaces(saved: Path) -> None:
    """Without a terminal and without --yes, restore replaces nothing."""
    done = command("restore", str(saved))

    assert (done.returncode, done.stdout) == (2, "")
    assert "1 observation" in done.stderr
    assert done.stderr.endswith("Without a terminal, confirm with --yes\n")
    assert titles() == ["Dig a pond", "Dig a lake"]


@pytest.mark.usefixtures("impatient")
def test_restore_leaves_a_memory_that_is_in_use(saved: Path) -> None:
    """Restore names a database that a reader holds open, and changes nothing."""
    home = Path(config.home())
    before = state(home)
    with closing(sqlite3.connect(home / "claude-mem.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sessions").fetchone()

        done = command("restore", str(saved), "--yes")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "claude-mem.db is in use" in done.stderr
    assert state(home) == before
    assert not list(home.glob("replaced-*"))


def test_a_restore_that_stops_halfway_loses_nothing(saved: Path) -> None:
    """A restore that fails between the two databases loses nothing and can be repeated."""
    home = Path(config.home())
    before = state(home)

    with upkeep.unpacked(str(saved)) as (folder, _):
        os.unlink(os.path.join(folder, "queue.db"))
        with pytest.raises(ClaudeMemError, match=r"queue\.db could not be put in place .* restore again"):
            upkeep.put_in_place(folder, paused=nullcontext([]))
    after, kept = state(home), state(next(home.glob("replaced-*")))
    again = command("restore", str(saved), "--yes")

    assert after["queue.db"] == before["queue.db"]
    assert kept == before
    assert (again.returncode, titles()) == (0, ["Dig a pond"])


def test_services_that_do_not_come_back_are_said_after_what_was_done(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If services do not start again after a restore, one line says so, after the result; exit code 1."""
    monkeypatch.setattr(process_states, "programs", lambda: [process_states.Program("web", "RUNNING", 1, 1)])
    monkeypatch.setattr(supervise, "START_TIMEOUT_S", 0.0)

    done = command("restore", str(saved), "--yes")

    assert (done.returncode, titles()) == (1, ["Dig a pond"])
    assert "The previous memory is in" in done.stdout
    assert done.stderr.startswith("! the services did not come up again within 0 s (web RUNNING)")


def test_a_missing_file_and_a_folder_are_one_line(home: Path) -> None:
    """A missing file and a folder are each refused in one line."""
    missing, folder = command("restore", "/nowhere/at/all", "--yes"), command("restore", str(home))

    assert (missing.returncode, folder.returncode) == (1, 1)
    assert folder.stderr.startswith(f"claude-mem: {home} could not be unpacked ([Errno 21] Is a directory")
    assert missing.stderr == "claude-mem: there is no file /nowhere/at/all\n"


def test_another_programs_memory_is_not_replaced(
    saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Restore and import leave another program's database untouched."""
    foreign = tmp_path / "foreign"
    (foreign / "staging").mkdir(parents=True)
    foreign.chmod(0o755)
    with closing(sqlite3.connect(foreign / "claude-mem.db")) as connection:
        connection.execute("CREATE TABLE sdk_sessions (id)")
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(foreign))

    done = [command("restore", str(saved)), command("import", "memory", str(saved))]

    for each in done:
        assert (each.returncode, each.stderr.count("\n")) == (1, 1)
        assert "another program's database" in each.stderr
    assert sorted(path.name for path in foreign.iterdir()) == ["claude-mem.db", "staging"]
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o755


@pytest.fixture
def running(home: Path) -> Iterator[Path]:
    """Start the services under supervisord."""
    assert claude_mem("up").returncode == 0
    yield home
    claude_mem("down")


def test_backups_and_a_restore_while_everything_runs(running: Path, tmp_path: Path) -> None:
    """Backups made while hooks and consumer work are complete, and the services continue after a restore."""
    is_over = threading.Event()

    def write() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            printed = {"stdout": "built\n" * 20}
            event = tool_event(tool_input={"command": f"make t{number}"}, tool_response=printed)
            run_hook("post_tool_use", event)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(titles)
        backups = [tmp_path / f"{number}.zip" for number in range(3)]
        # Not in this process: a hook forked meanwhile would hold its locks for a moment.
        saves = [claude_mem("backup", str(path)) for path in backups]
    finally:
        is_over.set()
        writer.join()
    assert [(save.returncode, save.stderr) for save in saves] == [(0, "")] * 3
    pids = {program.pid for program in process_states.programs()}
    for path in backups:
        with upkeep.unpacked(str(path)) as (folder, counts):
            with closing(sqlite3.connect(Path(folder) / "queue.db")) as connection:
                status = dict(connection.execute("SELECT id, status FROM pending_queue").fetchall())
            assert counts["observations"] >= list(status.values()).count("done")
    restored = command("restore", str(backups[-1]), "--yes")
    models.open_databases(read_only=True)
    # More than was in the backup if a hook left its event in the spool; three tries take 35 s.
    wait_until(lambda: not queries.queue_stats().get("raw") and not spool.waiting(), timeout_s=120)
    remembered = {observation.id for observation in models.Observation.select()}
    answer = client.get("/api/search", {"q": "make"}, timeout_s=10)

    assert (restored.returncode, restored.stderr) == (0, "")
    assert remembered >= set(status)
    assert queries.queue_stats()["done"] <= len(remembered)  # queue.db is copied first
    assert answer["results"]
    assert pids.isdisjoint({program.pid for program in process_states.programs()})
    shutil.rmtree(next(running.glob("replaced-*")))
