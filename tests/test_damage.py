"""Test damaged databases: every command says in one line what is wrong and what to do."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.hooks import tool_event

from claude_mem_lite.capture import inbox
from claude_mem_lite.distill import record
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import doctor
from claude_mem_lite.storage import DatabaseError, damage, files, models, queries, rebuild

SEEDS = 10
READING = (["status"], ["doctor"], ["search", "--all-projects", "otter"], ["context", "--project", "/p"], [])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the bytes of both databases of a small memory, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_MEM_HOME", str(tmp_path_factory.mktemp("filled")))
        models.open_databases()
        for number in range(12):
            session = f"session-{number % 3}"
            said = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": f"Otter {number}"}
            made = tool_event(session_id=session, tool_input={"command": f"make otter-{number}"})
            for event in (said, made):
                inbox.append(json.dumps(event), "/p")
        for session in ("session-0", "session-1"):
            record.summarize_session(session)
        models.close_databases()
        for path in files.paths():
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return {Path(path).name: Path(path).read_bytes() for path in files.paths()}


@pytest.fixture
def memory(home: Path, filled: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a closed data directory with that memory; the doctor's latency check is off."""
    put(home, filled)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    checks = tuple(check for check in doctor._CHECKS if check.__name__ != "_latency")
    monkeypatch.setattr(doctor, "_CHECKS", checks)
    return home


def put(home: Path, databases: dict[str, bytes]) -> None:
    """Replace the databases in a data directory."""
    models.close_databases()
    for name, content in databases.items():
        for end in ("-wal", "-shm"):
            (home / f"{name}{end}").unlink(missing_ok=True)
        (home / name).write_bytes(content)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return a database with flipped bits, overwritten bytes, a lost page or a missing end."""
    data, how = bytearray(content), chance.choice(["bits", "bytes", "schema", "words", "page", "cut"])
    at = chance.randrange(len(data))
    if how == "bits":
        for _ in range(chance.choice([1, 5, 50])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif how == "bytes":
        data[at : at + 8] = chance.randbytes(8)
    elif how == "schema":
        at = data.find(b"CREATE", chance.randrange(len(data) // 2)) + chance.randrange(6, 60)
        data[at] = chance.choice([0xFF, 0xC3, 0x00])
    elif how == "words":
        at = max(0, data.find(chance.choice([b"2026-", b"session-", b'{"', b"otter"]), at))
        data[at + chance.randrange(6)] = chance.choice([0xFF, 0x22, 0x78])
    elif how == "page":
        at -= at % 4096
        data[at : at + 4096] = chance.choice([bytes(4096), chance.randbytes(4096)])
    else:
        del data[chance.choice([at, at - at % 4096, 100]) :]
    return bytes(data)


def not_utf8(content: bytes) -> bytes:
    """Return a database with two bytes of its schema that are no UTF-8, one of them in a name."""
    data = bytearray(content)
    at = data.index(b"CREATE TABLE ")
    data[at + 3] = data[at - 4] = 0xC3
    return bytes(data)


@pytest.mark.parametrize("name", ["claude-mem.db", "queue.db"])
def test_a_schema_that_is_no_text_is_told_by_every_command(
    memory: Path, filled: dict[str, bytes], name: str
) -> None:
    """If a schema is no text, each command names the file and the cure in one line."""
    put(memory, {name: not_utf8(filled[name])})
    commands = (["up"], ["search", "otter"], ["prune"], ["report"], ["backup", f"{memory}/x.zip"])
    begins, cure = f"{memory / name} is damaged", "run claude-mem down, move it aside, then claude-mem"

    ended = [command(*words) for words in (commands if name == "claude-mem.db" else commands[:1])]
    told = json.loads(command("doctor", "--fix", "--json").stdout)
    found = [each for each in told if each["found"].startswith(begins)]
    problems = json.loads(command("status", "--json").stdout)["problems"]

    for done in ended:
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.startswith(f"claude-mem: {begins} (malformed database schema")
        assert cure in line
    assert [(each["ok"], each["cure"].startswith(cure)) for each in found] == [(False, True)]
    assert [problem.startswith(begins) for problem in problems].count(True) == 1


def test_an_event_goes_to_the_spool_beside_a_queue_whose_schema_is_no_text(
    memory: Path, filled: dict[str, bytes]
) -> None:
    """A queue.db whose schema is no text costs no event: it goes to the spool."""
    put(memory, {"queue.db": not_utf8(filled["queue.db"])})

    event_id = inbox.append(json.dumps(tool_event()), "/p")

    assert [path.name.endswith(event_id) for path in (memory / "spool").iterdir()] == [True]


def test_the_cures_of_a_damaged_memory_work(memory: Path, filled: dict[str, bytes]) -> None:
    """A damaged memory is restored from a backup, in place or moved aside, or rebuilt from queue.db."""
    saved, path = str(memory / "saved.zip"), memory / "claude-mem.db"
    assert command("backup", saved).returncode == 0
    outcomes = []
    for is_moved in (False, True):
        put(memory, {path.name: not_utf8(filled[path.name])})
        if is_moved:
            path.rename(memory / "aside.db")
        status = command("restore", saved, "--yes").returncode
        outcomes.append((status, list(damage.told()), sessions()))
    put(memory, {path.name: b""})
    models.open_databases()
    rebuild.begin()
    for event_id in queries.unfinished_events():
        if event := queries.waiting_event(event_id):
            record.record_event(event)

    assert outcomes == [(0, [], ["session-0", "session-1"])] * 2
    assert sessions() == ["session-0", "session-1", "session-2"]


def sessions() -> list[str]:
    """Return the ids of the stored sessions."""
    models.open_databases(read_only=True)
    return sorted(row.id for row in models.Session.select())


def test_damage_of_any_kind_ends_no_command_in_a_traceback(memory: Path, filled: dict[str, bytes]) -> None:
    """Whatever is damaged, commands exit 0 or print one line, and `up` prints its error in one."""
    odd: list[Any] = []
    for seed in range(SEEDS):
        chance = random.Random(seed)  # noqa: S311  (an experiment, no secret)
        name = chance.choice(["claude-mem.db", "claude-mem.db", "queue.db"])
        put(memory, {**filled, name: damaged(filled[name], chance)})
        for words in READING:
            done = command(*words)
            if (
                done.returncode not in {0, 1}
                or "internal error" in done.stderr
                or done.stderr.count("\n") > 1
            ):
                odd.append((seed, words, done))
        try:
            models.open_databases()
        except (ClaudeMemError, DatabaseError, sqlite3.Error) as error:
            if "\n" in str(error):
                odd.append((seed, "up", error))

    assert odd == []
