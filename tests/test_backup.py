"""backup and restore: a consistent copy while everything runs, and nothing touched before it is checked."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.databases import find, observation_row, session_row
from support.hooks import run_hook, tool_event
from support.processes import claude_mem, wait_until
from typer.testing import CliRunner

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox, spool
from claude_mem_lite.cli.app import app
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import process_states, supervise
from claude_mem_lite.storage import embeddings, models, queries
from claude_mem_lite.upkeep import backup as upkeep

Parts = dict[str, bytes]


@pytest.fixture
def ponds(memory: Path) -> Path:
    """Return a memory with a session, an observation and a raw event, closed."""
    session_row(summary="Dug ponds.")
    queries.save_observation(observation_row("pond", title="Dig a pond", embedding_status="tiny_8"))
    inbox.append(json.dumps(tool_event(tool_input={"command": "dig"})), "/p")
    models.close_databases()
    return memory


@pytest.fixture
def saved(ponds: Path, tmp_path: Path) -> Path:
    """Return a backup of the ponds, whose memory has gone on since."""
    path = tmp_path / "ponds.zip"
    done = command("backup", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    models.open_databases()
    queries.save_observation(observation_row("lake", title="Dig a lake"))
    models.close_databases()
    return path


def titles() -> list[str]:
    """Return the titles of what is remembered."""
    with closing(sqlite3.connect(config.memory_path())) as connection:
        return [title for (title,) in connection.execute("SELECT title FROM observations ORDER BY pk")]


def state(home: Path) -> dict[str, bytes]:
    """Return what is in the databases, whatever files they consist of."""
    found = {}
    for name in ("claude-mem.db", "queue.db"):
        with closing(sqlite3.connect(home / name)) as connection:
            found[name] = "\n".join(connection.iterdump()).encode()
    return found


def test_a_backup_is_one_file_with_a_manifest(saved: Path) -> None:
    """It says which version and schema it is of, how much is in it, and what each part must hash to."""
    with zipfile.ZipFile(saved) as packed:
        names = packed.namelist()
        manifest = json.loads(packed.read("manifest.json"))
        parts = {name: packed.read(name) for name in names[1:]}

    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert names == ["manifest.json", "queue.db", "claude-mem.db"]
    assert manifest["schema"] == len(models.migrate.__globals__["MIGRATIONS"])
    assert manifest["counts"] == {"sessions": 1, "observations": 1, "learnings": 0, "pending_queue": 1}
    assert {name: part["sha256"] for name, part in manifest["parts"].items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in parts.items()
    }
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    assert not (Path(config.home()) / "staging").exists()


def test_a_backup_replaces_no_file(saved: Path) -> None:
    """A name that is taken is refused in one line; without a name it makes one."""
    before = saved.read_bytes()

    again = command("backup", str(saved))
    spool.write("0" * 32, inbox.utc_now(), ("/p", "", ""), json.dumps(tool_event()))
    printed = json.loads(command("backup", str(saved.parent / "second.zip"), "--json").stdout)

    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == f"claude-mem: {saved} is there already: choose another name\n"
    assert saved.read_bytes() == before
    assert (printed["file"], printed["counts"]["observations"]) == (str(saved.parent / "second.zip"), 2)
    assert printed["counts"]["pending_queue"] == 2  # with what had waited in the spool


def test_a_backup_without_a_name_goes_to_the_home(
    saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By its time, into a folder of the user's alone, not the current one; a home that is none is told."""
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    monkeypatch.setenv("HOME", str(tmp_path))

    done = claude_mem("backup")
    monkeypatch.setenv("HOME", str(saved))
    refused = claude_mem("backup")

    [written] = (tmp_path / "claude-mem-backups").iterdir()
    assert (done.returncode, done.stdout.startswith(f"{written}: 1 session, ")) == (0, True)
    assert re.fullmatch(r"claude-mem-\d{8}T\d{6}Z\.zip", written.name)
    assert stat.S_IMODE(written.parent.stat().st_mode) == 0o700
    assert list((tmp_path / "repository").iterdir()) == []
    assert refused.stderr == (
        f"claude-mem: {saved}/claude-mem-backups cannot be made (Not a directory): say where to, as a FILE\n"
    )


def test_restore_brings_back_what_was(saved: Path) -> None:
    """What was there is kept beside it; rows have no vectors, messages nobody's claim."""
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
    # Who waits for a file writes to what was restored: SQLite finds the WAL of another file by its name.
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
    """A memory is taken to another machine; there is nothing to ask about and nothing to keep."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(tmp_path / "new"))

    done = command("restore", str(saved))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Restored: 1 session, 1 observation, 0 learnings and 1 raw event.\n"
    assert titles() == ["Dig a pond"]
    assert not config.foreign_memory()


def test_restore_over_a_damaged_memory(saved: Path) -> None:
    """That is what backups are for: what is left of the old files is kept beside."""
    home = Path(config.home())
    (home / "queue.db").write_bytes(b"no database at all " * 300)

    done = command("restore", str(saved), "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert titles() == ["Dig a pond"]
    assert [path.read_bytes()[:2] for path in home.glob("replaced-*/queue.db")] == [b"no"]


def test_restore_asks_before_it_replaces(saved: Path) -> None:
    """Without a terminal and without --yes nothing happens."""
    done = command("restore", str(saved))

    assert (done.returncode, done.stdout) == (2, "")
    assert "1 observation" in done.stderr
    assert done.stderr.endswith("Without a terminal to ask on, say --yes\n")
    assert titles() == ["Dig a pond", "Dig a lake"]


@pytest.mark.usefixtures("impatient")
def test_restore_leaves_a_memory_that_is_in_use(saved: Path) -> None:
    """A long reader is named, and all is as it was."""
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
    """It fails between the two databases: the old queue is in place, both are kept, and it goes again."""
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
    """The restore is done, and says where the old databases are; the rest is one line more, and exit 1."""
    monkeypatch.setattr(process_states, "programs", lambda: [process_states.Program("web", "RUNNING", 1, 1)])
    monkeypatch.setattr(supervise, "START_TIMEOUT_S", 0.0)

    done = CliRunner().invoke(app, ["restore", str(saved), "--yes"])

    assert (done.exit_code, titles()) == (1, ["Dig a pond"])
    assert "What was there is in" in done.stdout
    assert done.stderr.startswith("! the services did not come up again within 0 s (web RUNNING)")


def rewritten(saved: Path, change: Callable[[Parts, dict[str, Any]], None]) -> bytes:
    """Return the backup with its parts changed, and a manifest that fits them unless that is changed, too."""
    with zipfile.ZipFile(saved) as packed:
        parts = {name: packed.read(name) for name in ("queue.db", "claude-mem.db")}
        manifest = json.loads(packed.read("manifest.json"))
    described: dict[str, Any] = {}
    change(parts, described)
    manifest["parts"] = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
        for name, content in parts.items()
    }
    for name, value in described.items():
        if isinstance(value, dict):
            manifest["parts"][name] |= value
        else:
            manifest[name] = value
    return zipped([("manifest.json", json.dumps(manifest).encode()), *parts.items()])


def zipped(entries: list[tuple[Any, bytes]], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of some entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as packed:
        for name, content in entries:
            packed.writestr(name, content)
    return out.getvalue()


def edited(content: bytes, *statements: str) -> bytes:
    """Return a database after some statements."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content.replace(b"\x02\x02", b"\x01\x01", 1))  # not in WAL mode
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        return connection.serialize()


def memory_with(*statements: str) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup: statements on its memory."""

    def change(parts: Parts, _: dict[str, Any]) -> None:
        parts["claude-mem.db"] = edited(parts["claude-mem.db"], *statements)

    return change


def other_memory(content: bytes) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup: another memory, with the hash of it."""

    def change(parts: Parts, _: dict[str, Any]) -> None:
        parts["claude-mem.db"] = content

    return change


def said(**manifest: Any) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup: another manifest."""
    return lambda _, described: described.update(manifest)


def of_memory(**part: Any) -> Callable[[Parts, dict[str, Any]], None]:
    """Return a change of a backup: something else said of its memory."""
    return lambda _, described: described.update({"claude-mem.db": part})


HOSTILE = {
    "a wrong hash": (of_memory(sha256="0" * 64), "is damaged"),
    "more than it says": (of_memory(size_bytes=10), "is damaged"),
    "a huge part": (of_memory(size_bytes=1 << 60), "needs 1152921504606"),
    "a negative size": (of_memory(size_bytes=-1), "its manifest says nothing"),
    "a newer schema": (said(schema=99), "upgrade claude-mem-lite"),
    "a newer format": (said(format=2), "upgrade claude-mem-lite"),
    "a manifest of wrong types": (said(schema="7"), "its manifest says nothing"),
    "a newer schema in the file": (memory_with("PRAGMA user_version = 99"), "has schema 99"),
    "another program's database": (memory_with("PRAGMA application_id = 1"), "another program's"),
    "no database": (other_memory(b"text " * 2_000), "cannot be read"),
    "an empty database": (other_memory(b""), "another program's"),
    "a trigger": (
        memory_with("CREATE TRIGGER t AFTER INSERT ON sessions BEGIN DELETE FROM learnings; END"),
        "columns, indexes or triggers",
    ),
    "a table that is missing": (memory_with("DROP TABLE event_log"), "other tables, columns"),
    "a column that is missing": (memory_with("ALTER TABLE sessions DROP COLUMN upgrade_note"), "columns"),
    "an index of another column": (
        memory_with("DROP INDEX idx_obs_project", "CREATE INDEX idx_obs_project ON observations(title)"),
        "columns, indexes",
    ),
}


def damaged(saved: Path) -> bytes:
    """Return the backup with zeros in the middle of its memory, and the hash of that."""

    def change(parts: Parts, _: dict[str, Any]) -> None:
        content = parts["claude-mem.db"]
        parts["claude-mem.db"] = content[:4096] + bytes(8192) + content[12288:]

    return rewritten(saved, change)


def tarred() -> bytes:
    """Return a tar archive with a path out of its folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        packed.addfile(tarfile.TarInfo("../../evil"))
    return out.getvalue()


def linked() -> zipfile.ZipInfo:
    """Return an entry of a zip that is a symbolic link."""
    entry = zipfile.ZipInfo("queue.db")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


FOREIGN = {
    "nothing": b"",
    "text": b"just a text",
    "a tar": tarred(),
    "half a zip": zipped([("manifest.json", b"{}"), ("queue.db", b""), ("claude-mem.db", b"")])[:-30],
    "another zip": zipped([("README", b"hello")]),
    "a path out of it": zipped([("manifest.json", b"{}"), ("../queue.db", b""), ("claude-mem.db", b"")]),
    "an absolute path": zipped([("manifest.json", b"{}"), ("/etc/cron.d/x", b""), ("claude-mem.db", b"")]),
    "a link": zipped([("manifest.json", b"{}"), (linked(), b"/etc/passwd"), ("claude-mem.db", b"")]),
    "a long manifest": zipped(
        [("manifest.json", b" " * (2 << 20)), ("queue.db", b""), ("claude-mem.db", b"")]
    ),
    "a manifest of nothing": zipped([("manifest.json", b"[]"), ("queue.db", b""), ("claude-mem.db", b"")]),
    "a broken manifest": zipped([("manifest.json", b"{"), ("queue.db", b""), ("claude-mem.db", b"")]),
    "another packing, damaged": zipped(
        [("manifest.json", b"{}"), ("queue.db", b""), ("claude-mem.db", b"")], zipfile.ZIP_LZMA
    ).replace(b"\x05\x00]", b"\x05\x00\xff"),
}


def refused(home: Path, path: Path, content: bytes) -> str:
    """Return the line in which a file is refused; nothing may have changed."""
    path.write_bytes(content)
    before, around = state(home), sorted(path.parent.iterdir())

    with pytest.raises(ClaudeMemError) as caught, upkeep.unpacked(str(path)):
        pytest.fail("unpacked")

    assert state(home) == before
    assert sorted(path.parent.iterdir()) == around
    assert {entry.name for entry in home.iterdir()} >= {"claude-mem.db", "queue.db"}
    assert not {entry.name for entry in home.iterdir()} & {"staging", "evil"}
    return str(caught.value)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_backup_that_was_changed_is_refused(saved: Path, tmp_path: Path, kind: str) -> None:
    """Each lie is found before anything is replaced, and said in one line."""
    change, says = HOSTILE[kind]

    line = refused(Path(config.home()), tmp_path / "other.zip", rewritten(saved, change))

    assert says in line
    assert "\n" not in line


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_backup_is_refused(ponds: Path, tmp_path: Path, kind: str) -> None:
    """Other archives, links, ways out of the folder, broken ones: one line, nothing written."""
    line = refused(ponds, tmp_path / "other.zip", FOREIGN[kind])

    assert "is no backup of claude-mem" in line
    assert "\n" not in line


def test_a_damaged_page_is_found(saved: Path, tmp_path: Path) -> None:
    """A hash that fits proves nothing: SQLite looks at each page."""
    line = refused(Path(config.home()), tmp_path / "other.zip", damaged(saved))

    assert "its claude-mem.db is damaged" in line or "its claude-mem.db cannot be read" in line
    assert "\n" not in line


def test_a_missing_file_and_an_empty_memory_are_one_line(home: Path) -> None:
    """Both commands say what is not there, or no file."""
    nothing, missing = command("backup"), command("restore", "/nowhere/at/all", "--yes")
    folder = command("restore", str(home))

    assert (nothing.returncode, missing.returncode, folder.returncode) == (1, 1, 1)
    assert folder.stderr.startswith(f"claude-mem: {home} could not be unpacked ([Errno 21] Is a directory")
    assert nothing.stderr.startswith("claude-mem: nothing is remembered yet")
    assert missing.stderr == "claude-mem: there is no /nowhere/at/all\n"


def test_another_programs_memory_is_not_replaced(
    saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is left untouched, as by every command."""
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
    """Hooks and consumer are at work all the time: each backup is whole, and a restore goes on."""
    is_over = threading.Event()

    def write() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            event = tool_event(
                tool_input={"command": f"make t{number}"}, tool_response={"stdout": "built\n" * 20}
            )
            run_hook("post_tool_use", event)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(titles)
        backups = [tmp_path / f"{number}.zip" for number in range(3)]
        # Not in this process: a hook that is forked off has its locks for a moment.
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
    # More than was in the backup, when a hook had left its event in the spool; three tries take 35 s.
    wait_until(lambda: not queries.queue_stats().get("raw") and not spool.waiting(), timeout_s=120)
    remembered = {observation.id for observation in models.Observation.select()}
    answer = client.get("/api/search", {"q": "make"}, timeout_s=10)

    assert (restored.returncode, restored.stderr) == (0, "")
    assert remembered >= set(status)
    assert queries.queue_stats()["done"] <= len(remembered)  # queue.db is copied first
    assert answer is not None
    assert answer["results"]
    assert pids.isdisjoint({program.pid for program in process_states.programs()})
    shutil.rmtree(next(running.glob("replaced-*")))
