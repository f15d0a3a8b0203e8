"""Test `import claude-mem`: the original claude-mem's memory is imported once, and its file only read."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.databases import find, work_on
from support.recorded import DATA, restore
from support.transcripts_on_disk import Lines

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import queries, rewrites

SECRET = json.loads(restore((DATA / "ledger" / "facts.json").read_text()))["secrets"][0]["value"]
AT = 1_767_312_000_000
NOW_COLUMNS = ("content_session_id", "memory_session_id")
OLD_COLUMNS = ("claude_session_id", "sdk_session_id")


def original(path: Path, *, columns: tuple[str, str] = NOW_COLUMNS) -> sqlite3.Connection:
    """Make a database with the original's current columns, or with those of its first year."""
    client, own = columns
    is_old = columns == OLD_COLUMNS
    hierarchy = "" if is_old else ", title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT"
    files = "" if is_old else ", files_read TEXT, files_modified TEXT, discovery_tokens INTEGER"
    connection = sqlite3.connect(path)
    connection.executescript(f"""
        PRAGMA journal_mode = WAL;
        CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER, applied_at TEXT);
        CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, {client} TEXT, {own} TEXT, project TEXT,
            started_at TEXT, started_at_epoch INTEGER, completed_at_epoch INTEGER, status TEXT);
        CREATE TABLE observations (id INTEGER PRIMARY KEY, {own} TEXT, project TEXT, text TEXT, type TEXT,
            created_at TEXT, created_at_epoch INTEGER{hierarchy}{files});
        CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, {own} TEXT, project TEXT, request TEXT,
            learned TEXT, completed TEXT, next_steps TEXT, files_edited TEXT, created_at_epoch INTEGER);
    """)
    if not is_old:
        connection.executescript("""
            CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER,
                prompt_text TEXT, created_at_epoch INTEGER);
            CREATE TABLE pending_messages (id INTEGER PRIMARY KEY);
            CREATE TABLE directives (id INTEGER PRIMARY KEY, content TEXT);
            CREATE VIRTUAL TABLE user_prompts_fts USING fts5(prompt_text);
        """)
    add(connection, "sdk_sessions", **{client: "c1", own: "m1"}, project="shop", started_at_epoch=AT,
        completed_at_epoch=AT + 9_000, status="completed")  # fmt: skip
    return connection


def add(connection: sqlite3.Connection, table: str, **row: Any) -> None:
    """Insert a row and commit."""
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))
    connection.commit()


def filled(path: Path) -> sqlite3.Connection:
    """Make a database with prompts, an observation and two summaries."""
    connection = original(path)
    add(connection, "user_prompts", content_session_id="c1", prompt_number=1, created_at_epoch=AT + 1_000,
        prompt_text="Round the invoice totals. <private>Mrs Vogt must not know</private>")  # fmt: skip
    add(connection, "user_prompts", content_session_id="c1", prompt_number=2, prompt_text="go on")
    add(connection, "observations", memory_session_id="m1", project="shop", type="bugfix",
        title="Invoice totals are summed in cents", subtitle="Floats lost a cent",
        narrative=f"The total was a float; {SECRET} stood there.\x1b[31m", facts='["total() is exact"]',
        concepts='["money"]', files_modified='["/home/dev/shop/invoice.py"]', files_read='{"a": 1}',
        discovery_tokens=700, created_at_epoch=AT + 2_000)  # fmt: skip
    for number, request in enumerate(("Round the totals", "Write the tests")):
        add(connection, "session_summaries", memory_session_id="m1", project="shop", request=request,
            completed=f"Done {number}.", learned="Cents are exact", next_steps="Release",
            files_edited='["/home/dev/shop/invoice.py"]', created_at_epoch=AT + 3_000 + number)  # fmt: skip
    return connection


def take_in(path: Path, *arguments: str) -> dict[str, Any]:
    """Import a database with the command and return its answer."""
    done = command("import", "claude-mem", str(path), "--json", *arguments)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def elsewhere(memory: Path, tmp_path: Path, claude_dir: Path) -> Path:
    """Return the path of the original's database, with the client's transcripts kept out of the way."""
    (tmp_path / ".claude-mem").mkdir()
    return tmp_path / ".claude-mem" / "claude-mem.db"


def test_the_original_is_taken_over(memory: Path, elsewhere: Path) -> None:
    """Sessions, prompts, observations and summaries are imported, redacted, searchable, and not paid for."""
    filled(elsewhere).close()

    answer = take_in(elsewhere, "--folder", "shop=/home/dev/shop")

    session, rows = queries.known_session("c1"), queries.observations_of("c1")
    assert answer["added"] == {"session": 1, "observation": 2}
    assert answer["left_out"] == {"mere consent": 1}
    assert (session.project_dir, session.status) == ("/home/dev/shop", "closed")
    assert session.ended_at == inbox.utc_text(AT / 1_000 + 9)
    assert session.summary == (
        "Write the tests. Done 1. Learned: Cents are exact. Next: Release\n"
        "Before that: Round the totals. Done 0"
    )
    assert [(row.tool_name, row.title, row.files_touched) for row in rows] == [
        ("UserPromptSubmit", "Round the invoice totals", []),
        ("claude-mem", "Invoice totals are summed in cents", ["invoice.py"]),
    ]
    assert rows[1].detail == "- total() is exact\nbugfix, money"
    assert "[redacted: private]" in rows[0].summary
    assert "[redacted: " in rows[1].summary
    stored = b"".join(path.read_bytes() for path in memory.iterdir() if path.is_file())
    assert [word for word in (SECRET.encode(), b"Vogt", b"\x1b[31m") if word in stored] == []
    assert find("cents float", limit=1, project_dir="/home/dev/shop")[0].row.id == rows[1].id
    assert rewrites.local_observations({"high", "normal", "low", ""}) == []
    assert rewrites.outdated_sessions() == queries.sessions_to_summarize(idle_since="9") == []
    assert queries.queue_stats()["messages"] == 1  # the message that asks for the vectors


def test_a_second_import_adds_what_is_new(memory: Path, elsewhere: Path) -> None:
    """A second import adds only what the original has stored since."""
    connection = filled(elsewhere)
    take_in(elsewhere, "--folder", "shop=/home/dev/shop")

    again = take_in(elsewhere)
    add(connection, "observations", memory_session_id="m1", type="change", title="More", created_at_epoch=AT)
    more = take_in(elsewhere)
    connection.close()

    assert (again["added"], again["there"]) == ({}, {"session": 1, "observation": 2})
    assert more["added"] == {"observation": 1}


def test_a_database_of_its_first_year_is_read(memory: Path, elsewhere: Path) -> None:
    """A database of the original's first year, with old column names and text only, is read."""
    connection = original(elsewhere, columns=OLD_COLUMNS)
    add(connection, "observations", sdk_session_id="m1", type="decision", text="We keep cents. Floats lie.",
        created_at_epoch=AT / 1_000)  # fmt: skip
    add(connection, "observations", sdk_session_id="m2", project="shop", type="x", created_at="nonsense")
    connection.close()

    answer = take_in(elsewhere, "--folder", "shop=/home/dev/shop")

    (row,) = queries.observations_of("c1")
    assert (row.title, row.summary, row.detail) == (
        "We keep cents", "We keep cents. Floats lie.", "decision"
    )  # fmt: skip
    assert row.created_at == "2026-01-02T00:00:00.000000Z"
    assert answer["left_out"] == {"undated session": 1}
    assert queries.known_session("c1").summary


@pytest.mark.parametrize("is_open", [False, True])
def test_the_original_is_only_read(*, is_open: bool, memory: Path, elsewhere: Path) -> None:
    """Not a byte of the original's file changes, in use or not, and no file is left beside it."""
    connection = filled(elsewhere)
    if not is_open:
        connection.close()

    def state() -> list[tuple[str, str]]:
        return sorted(
            (path.name, hashlib.sha256(path.read_bytes()).hexdigest())
            for path in elsewhere.parent.iterdir()
            if not path.name.endswith("-shm")  # locks, which every reader takes
        )

    before = state()

    take_in(elsewhere, "--folder", "shop=/home/dev/shop")

    assert (state(), queries.counts()["observations"]) == (before, 2)
    connection.close()


def test_projects_are_found_by_what_is_known(memory: Path, elsewhere: Path, tmp_path: Path) -> None:
    """A project's folder comes from its session's transcript or a known namesake; others are left out."""
    connection = filled(elsewhere)
    for name in ("till", "unknown"):
        add(connection, "sdk_sessions", content_session_id=name, memory_session_id=name, project=name,
            started_at_epoch=AT)  # fmt: skip
        add(connection, "observations", memory_session_id=name, type="x", title=name, created_at_epoch=AT)
    connection.close()
    Lines(session_id="c1", cwd="/home/dev/shop").user("Hi").write(tmp_path / "claude" / "projects")
    inbox.append('{"session_id": "s", "hook_event_name": "Stop"}', "/home/dev/till")
    work_on(queries.unfinished_events()[0])

    answer = take_in(elsewhere)

    assert answer["unknown_projects"] == {"unknown": 1}
    assert queries.known_session("c1").project_dir == "/home/dev/shop"
    assert queries.known_session("till").project_dir == "/home/dev/till"


def test_a_session_that_is_known_here_is_not_told_twice(memory: Path, elsewhere: Path) -> None:
    """A session that this memory captured itself is not imported again."""
    filled(elsewhere).close()
    event = {"session_id": "c1", "hook_event_name": "Stop", "last_assistant_message": "The totals are right."}
    inbox.append(json.dumps(event), "/home/dev/shop")
    work_on(queries.unfinished_events()[0])

    answer = take_in(elsewhere)

    assert (answer["added"], answer["left_out"]) == ({}, {"already known session": 1})


def test_what_is_no_such_database_is_told_in_a_line(memory: Path, elsewhere: Path) -> None:
    """A missing or foreign file, our own memory, text, and half a --folder are each refused in one line."""
    with closing(sqlite3.connect(elsewhere)) as other:
        other.executescript("CREATE TABLE t (x)")
    (memory / "text").write_text("text" * 999)

    def said(path: Path, *arguments: str) -> str:
        done = command("import", "claude-mem", str(path), *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    assert "there is no file" in said(memory / "none.db")
    assert "none of the tables" in said(elsewhere)
    assert "is a memory of claude-mem-lite" in said(Path(config.memory_path()))
    assert "cannot be read as the original" in said(memory / "text")
    assert "give NAME=PATH" in said(elsewhere, "--folder", "shop")
