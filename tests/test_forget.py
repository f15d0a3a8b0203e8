"""`forget` deletes to the last byte: each test searches every file of the data directory."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import sqlite3
import subprocess
import sys
import threading
import zlib
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import command
from support.databases import find, observation_row, rows, session_row
from support.hooks import run_hook, tool_event
from support.processes import claude_mem, running, wait_until

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.distill.record import record_event, summarize_session
from claude_mem_lite.forget import purge, store
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.kinds import KINDS
from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.services import process_states
from claude_mem_lite.storage import embeddings, facts, ledger, models, queries
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.ledger import Call

# A word that nothing else has, and what FTS5's stemmer makes of it.
WORD, STEM = "Xylophagous", "xylophag"
DOOMED, KEPT = "doomed-session", "kept-session"
PROJECT, OTHER = "/home/dev/doomed", "/home/dev/kept"
THEN = "2026-01-05T10:00:00.000000Z"
KEY = "tiny_8"
SOURCE = f'''def parse():
    """Read {WORD} beetles."""
    return "{WORD}"
'''


def take_in(
    event: dict[str, Any], *, session_id: str, project_dir: str, at: str, is_done: bool = True
) -> str:
    """Append an event, process it as the consumer does, and return its id."""
    branch = f"of-{DOOMED}" if session_id == DOOMED else "main"
    event_id = inbox.append(json.dumps({**event, "session_id": session_id}), project_dir, branch=branch)
    with inbox.Transaction() as connection:
        connection.execute("UPDATE pending_queue SET created_at = ? WHERE id = ?", (at, event_id))
    if is_done:
        row = queries.pending_event(event_id)
        assert row is not None
        record_event(row)
    return event_id


def prompt(text: str) -> dict[str, Any]:
    """Return what a hook gets for a prompt."""
    return {"hook_event_name": "UserPromptSubmit", "prompt": text}


def written(path: str, source: str) -> dict[str, Any]:
    """Return what a hook gets when Claude writes a file."""
    return tool_event(
        "Write",
        tool_input={"file_path": path, "content": source},
        tool_response={"type": "create", "filePath": path},
    )


def ran(command: str, output: str) -> dict[str, Any]:
    """Return what a hook gets when Claude runs a command."""
    return tool_event(
        tool_input={"command": command}, tool_response={"stdout": output, "stderr": "", "interrupted": False}
    )


def embed_all() -> None:
    """Give every row a vector, as the consumer does."""
    store = Vectors(KEY, 8)
    for kind in KINDS:
        texts = list(embeddings.all_texts(kind))
        chance = np.random.default_rng(1)
        for row_id, project_dir, text in texts:
            vector = chance.normal(size=8).astype(np.float32)
            store.write(kind, [(row_id, project_dir, text, vector / np.linalg.norm(vector))])
        embeddings.mark_embedded(kind, [(row_id, text) for row_id, _, text in texts], model=KEY)


def plant(home: Path) -> None:
    """Write the word to every place that can hold it, beside rows that must stay."""
    place = {"session_id": DOOMED, "project_dir": PROJECT, "at": THEN}
    asked = take_in(prompt(f"Make the {WORD} parser faster, it is slow"), **place)
    take_in(prompt(f"From now on always call them {WORD} beetles"), **place)
    take_in(written(f"{PROJECT}/parser.py", SOURCE), **place)
    take_in(ran(f"pytest -k {WORD}", f"E   {WORD} failed\n1 failed in 0.1s"), **place)
    take_in({"hook_event_name": "Stop", "last_assistant_message": f"The {WORD} parser is fast now."}, **place)
    summarize_session(DOOMED)
    take_in(ran("make", f"{WORD} built"), **place, is_done=False)
    models.Session.update(key_decisions=[f"{WORD} first"], retold=f"All about {WORD}").execute()
    evolve.take(
        Candidate(f"Always call them {WORD} beetles", "convention", "user", observations=(asked,)),
        session_id=DOOMED,
        project_dir=PROJECT,
        at=THEN,
    )
    models.Learning.update(created_at=THEN).execute()
    queries.log_event("compress.failed", {"error": WORD}, session_id=DOOMED)
    ledger.record(Call("observations", "m", 0.5, 1, 1, session_id=DOOMED), now=0)
    facts.write(f"learnings {PROJECT}", {"faded_for": DOOMED})
    facts.write("gate", {"kind": "", "rejected": [asked]})
    inbox.enqueue(inbox.SHOWN, DOOMED, {"via": "recall", "ids": [asked], "text": WORD}, THEN)
    event = json.dumps({**ran("make", f"{WORD} spooled"), "session_id": DOOMED})
    (home / "spool" / f"{THEN}-0123456789abcdef").write_text(f"0123456789abcdef\0{THEN}\0{PROJECT}\0{event}")
    bad = home / "spool" / f"{THEN}-1.bad"
    bad.write_text(f"half an event of {DOOMED} in {PROJECT} about {WORD}")
    os.utime(bad, (inbox.unix_time(THEN), inbox.unix_time(THEN)))
    line = {"at": THEN, "level": "ERROR", "session_id": DOOMED, "project_dir": PROJECT, "message": WORD}
    for name in ("consumer.jsonl", "consumer.jsonl.2026-01-05"):
        with (home / "logs" / name).open("a") as log:
            log.write(
                f'{json.dumps(line)}\n{{"at": "2026-11-21T00:00:00.000Z", "message": "started {PROJECT}2"}}\n'
            )

    place = {"session_id": KEPT, "project_dir": OTHER, "at": "2026-11-21T10:00:00.000000Z"}
    take_in(prompt("From now on use pathlib for all paths"), **place)
    take_in(written(f"{OTHER}/storage.py", "def save():\n    return 1\n"), **place)
    summarize_session(KEPT)
    embed_all()
    # Some builds of SQLite overwrite what is deleted by themselves; here the word is left in free pages.
    models.memory_database.execute_sql("PRAGMA secure_delete = OFF")
    facts.write("large", {"text": f"{WORD} " * 20_000})
    models.State.delete().where(models.State.name == "large").execute()


def left(home: Path, *needles: str) -> set[tuple[str, str]]:
    """Return the files of the data directory that contain some bytes."""
    found = set()
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes().lower()
            found |= {(path.name, needle) for needle in needles if needle.lower().encode() in content}
    with closing(sqlite3.connect(config.memory_path())) as connection:
        for packed, name in connection.execute("SELECT packed, file_path FROM source_files"):
            if STEM in zlib.decompress(packed).decode("latin-1").lower():
                found.add((name, STEM))
    return found


def doomed_ids() -> list[str]:
    """Return the ids of all rows of the session."""
    ids = [event_id for (event_id,) in rows(f"SELECT id FROM pending_queue WHERE session_id = '{DOOMED}'")]
    learned = [row.id for row in models.Learning.select().where(models.Learning.project_dir == PROJECT)]
    functions = [row.id for row in models.FunctionMapEntry.select().where(
        models.FunctionMapEntry.session_id == DOOMED
    )]  # fmt: skip
    assert len(ids) == 6
    assert len(learned) == len(functions) == 1
    return [*ids, *learned, *functions]


def test_the_word_is_planted_everywhere(memory: Path) -> None:
    """Before `forget` the word is in every kind of file, and the ids are in the vectors."""
    plant(memory)
    ids = doomed_ids()
    models.close_databases()
    with closing(sqlite3.connect(memory / "claude-mem.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = {
            "sessions": "summary", "observations": "title || summary", "learnings": "content",
            "function_map": "docstring", "event_log": "data",
        }  # fmt: skip
        for table, column in tables.items():
            query = f"SELECT count(*) FROM {table} WHERE {column} LIKE '%{WORD}%'"
            assert connection.execute(query).fetchone() > (0,), table

    names = {name for name, _ in left(memory, STEM)}

    assert names >= {
        "claude-mem.db", "queue.db", "consumer.jsonl", "consumer.jsonl.2026-01-05", "parser.py",
        f"{THEN}-0123456789abcdef", f"{THEN}-1.bad",
    }  # fmt: skip
    assert "vectors.db" in {name for name, needle in left(memory, *ids)}


@pytest.mark.parametrize(
    "way",
    [
        (DOOMED,),
        ("--session", DOOMED),
        ("--session", DOOMED[:7]),
        ("--project", PROJECT),
        ("--until", "2026-02-01"),
        ("--since", "2026-01-01", "--until", "2026-01-06"),
        ("--match", WORD.upper()),
    ],
    ids=" ".join,
)
def test_nothing_is_left_of_it(memory: Path, way: tuple[str, ...]) -> None:
    """However the rows are named, no byte of the word and no id is left, and other rows are unchanged."""
    plant(memory)
    ids = doomed_ids()
    models.close_databases()

    done = command("forget", *way, "--yes")

    needles = (STEM,) if way[0] == "--match" else (STEM, DOOMED, *ids)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(memory, *needles) == set()
    models.open_databases()
    assert {row.id for row in models.Session.select()} - {DOOMED} == {KEPT}
    assert [row.content for row in models.Learning.select()] == []
    assert {hit.row.session_id for hit in find("pathlib", type="observation")} == {KEPT}
    assert [row.qualified_name for row in models.FunctionMapEntry.select()] == ["save"]
    assert Vectors(KEY, 8).count("observation") == embeddings.count_embedded(KEY)["observation"][0] == 2
    assert ledger.spent_usd(since="") == 0.5
    assert (memory / "logs" / "consumer.jsonl").read_text().count("started") == 1
    with closing(sqlite3.connect(memory / "claude-mem.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("observations", "sessions", "learnings", "function_map"):
            connection.execute(f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)")


def test_a_file_is_forgotten_with_what_was_done_to_it(memory: Path) -> None:
    """A file's map, history, edits and learnings go; the session's other work stays."""
    place = {"session_id": DOOMED, "project_dir": PROJECT, "at": THEN}
    take_in(prompt("Make the parser faster, it is slow"), **place)
    take_in(written(f"{PROJECT}/src/{WORD}.py", SOURCE), **place)
    take_in(written(f"{PROJECT}/src/fine.py", "def fine():\n    return 1\n"), **place)
    evolve.take(
        Candidate(f"The beetles are read in src/{WORD}.py", "architecture", "user"),
        session_id=DOOMED, project_dir=PROJECT,
    )  # fmt: skip
    summarize_session(DOOMED)
    embed_all()
    assert WORD in (queries.known_session(DOOMED).summary or "")
    models.close_databases()

    done = command("forget", "--file", f"{PROJECT}/src/{WORD}.py", "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert left(memory, STEM) == set()
    models.open_databases()
    session = queries.known_session(DOOMED)
    assert [row.files_touched for row in queries.observations_of(DOOMED)] == [[], ["src/fine.py"]]
    assert session.key_files == ["src/fine.py"]
    assert (session.summary or "").startswith("Asked: Make the parser faster")
    assert [row.qualified_name for row in models.FunctionMapEntry.select()] == ["fine"]


def test_a_prompt_is_forgotten_where_it_is_quoted(memory: Path) -> None:
    """A forgotten prompt leaves the work done for it; the summary is written again without it."""
    place = {"session_id": DOOMED, "project_dir": PROJECT, "at": THEN}
    asked = take_in(prompt(f"Make the {WORD} parser faster, it is slow"), **place)
    done = {"hook_event_name": "Stop", "last_assistant_message": "It is fine now, and twice as fast."}
    report = take_in(done, **place)
    summarize_session(DOOMED)
    embed_all()
    assert WORD in queries.observation(report).summary
    models.Session.update(upgrade_note=f"what Claude said of {WORD}").execute()
    models.close_databases()

    done = command("forget", asked[:8], "--yes", "--json")

    forgotten = json.loads(done.stdout)["forgotten"]
    assert (done.returncode, done.stderr) == (0, "")
    assert (forgotten["observations"], forgotten["raw_events"], forgotten["retold"]) == (1, 1, 1)
    assert left(memory, STEM, asked) == set()
    models.open_databases()
    assert [row.id for row in queries.observations_of(DOOMED)] == [report]
    assert "fine" in queries.observation(report).summary


def test_a_learning_lives_on_what_is_left_of_its_evidence(memory: Path) -> None:
    """A learning of two sessions outlives one of them, without its name; so does the learning it replaced."""
    for session_id in (DOOMED, KEPT):
        session_row(session_id)
    first = evolve.take(
        Candidate("Use pathlib, never os.path", "convention", "user"), session_id=DOOMED, project_dir="/p"
    )
    evolve.take(
        Candidate("Use pathlib, never os.path", "convention", "user"), session_id=KEPT, project_dir="/p"
    )
    alone = evolve.take(
        Candidate("Never use WAL mode", "convention", "user"), session_id=DOOMED, project_dir="/p"
    )
    learning_rows.update(learning_rows.get(first.learning_id), superseded_by=alone.learning_id)
    models.close_databases()

    command("forget", "--session", DOOMED, "--yes")

    assert left(memory, DOOMED, alone.learning_id) == set()
    models.open_databases()
    row = learning_rows.get(first.learning_id)
    assert (row.source_sessions, row.is_active, row.superseded_by) == ([KEPT], False, None)
    assert [each.event_type for each in learning_rows.story(row.id)] == [
        "learning.inserted",
        "learning.merged",
    ]


def test_a_dry_run_says_what_would_go_and_touches_nothing(memory: Path) -> None:
    """A dry run counts what the real run then deletes."""
    plant(memory)
    models.close_databases()

    dry = json.loads(command("forget", "--session", DOOMED, "--dry-run", "--json").stdout)
    is_left = bool(left(memory, STEM))
    done = json.loads(command("forget", "--session", DOOMED, "--yes", "--json").stdout)
    again = command("forget", "--match", WORD, "--yes")

    assert dry == {**done, "dry_run": True}
    assert is_left
    assert done["forgotten"] == {
        "sessions": 1, "observations": 5, "learnings": 1, "raw_events": 6, "functions": 1,
        "function_changes": 1, "calls": 0, "log_entries": done["forgotten"]["log_entries"], "messages": 7,
        "log_lines": 2, "spool_files": 2, "shared_lines": 0, "retold": 0,
    }  # fmt: skip
    assert (again.returncode, again.stdout) == (0, "Nothing of that is kept.\n")


@pytest.mark.parametrize(
    ("said", "status"),
    [((), 2), (("--session", "s-1", "--match", "abc"), 2), (("--match", "ab"), 2), (("--until", "soon"), 2),
     (("nobody-has-it",), 1), (("--session", "nobody-has-it"), 1)],
)  # fmt: skip
def test_what_it_cannot_mean_is_refused(memory: Path, said: tuple[str, ...], status: int) -> None:
    """`forget` refuses no selection, two at once, nearly everything, and unknown ids."""
    session_row(DOOMED)
    models.close_databases()

    done = command("forget", *said, "--yes")

    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr
    assert rows_of("sessions") == 1


def rows_of(table: str) -> int:
    """Return how many rows a table of the memory has."""
    with closing(sqlite3.connect(config.memory_path())) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.parametrize(
    ("way", "goes"),
    [(("--session", DOOMED), "1 session"), (("--match", WORD), "1 session told anew"),
     (("--project", "SHOP/src"), "1 session of the project SHOP")],
)  # fmt: skip
def test_nobody_is_asked_without_a_terminal(
    memory: Path, tmp_path: Path, way: tuple[str, str], goes: str
) -> None:
    """Without a terminal one line says what would go and how to confirm; nothing is deleted."""
    shop = tmp_path / "shop"
    for folder in (".git", "src"):
        (shop / folder).mkdir(parents=True)
    session_row(DOOMED, project_dir=str(shop), summary=WORD)
    models.close_databases()

    done = command("forget", *(each.replace("SHOP", str(shop)) for each in way))

    goes = goes.replace("SHOP", str(shop))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"claude-mem: To be forgotten for good: {goes}. Without a terminal to ask on, say --yes\n"
    )
    assert rows_of("sessions") == 1


def test_a_path_that_is_nothing_is_not_the_project_above_it(memory: Path, tmp_path: Path) -> None:
    """A mistyped path inside a project does not delete the project."""
    (tmp_path / ".git").mkdir()
    session_row(DOOMED, project_dir=str(tmp_path))
    models.close_databases()

    done = command("forget", "--project", str(tmp_path / "typo"), "--yes")

    said = f"claude-mem: no project {tmp_path / 'typo'} is known, and there is no such folder\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert rows_of("sessions") == 1


@pytest.mark.parametrize(("key", "status", "sessions"), [("n", 1, 1), ("y", 0, 0)])
def test_a_terminal_is_asked(memory: Path, key: str, status: int, sessions: int) -> None:
    """On a terminal anything but yes stops the command."""
    session_row(DOOMED)
    models.close_databases()
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "claude_mem_lite.cli", "forget", "--session", DOOMED]
    os.write(ours, f"{key}\n".encode())

    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # Linux says so when the other end is closed
        while some := os.read(ours, 4096):
            said += some
    os.close(ours)
    process.wait(timeout=60)

    assert process.returncode == status
    assert b"To be forgotten for good: 1 session." in said
    assert rows_of("sessions") == sessions


@pytest.mark.meaning
def test_it_is_forgotten_behind_running_services(home: Path) -> None:
    """Services are paused and come back; events that hooks store meanwhile and later are kept."""
    assert claude_mem("up").returncode == 0
    try:
        run_hook("user_prompt_submit", {**prompt(f"Make the {WORD} parser faster"), "session_id": DOOMED})
        run_hook("post_tool_use", {**ran("make", f"{WORD} built\n" * 20), "session_id": DOOMED})
        run_hook("post_tool_use", {**ran("make test", "4 passed in 0.1s"), "session_id": KEPT})
        models.open_databases(read_only=True)
        wait_until(lambda: embedded() == 3)
        models.close_databases()
        before = {program.name: program.pid for program in process_states.programs()}
        writer = Writer()
        writer.start()

        done = command("forget", "--session", DOOMED, "--yes")

        writer.is_over = True
        writer.join()
        after = {program.name: program.pid for program in process_states.programs()}
        found = left(home, STEM, DOOMED)
        models.open_databases(read_only=True)
        wait_until(lambda: models.Observation.select().count() == writer.written + 1)
        models.close_databases()
        hits = (client.get("/api/search", {"q": "docs 1"}, timeout_s=5) or {})["results"]
    finally:
        claude_mem("down")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Forgotten: 1 session, 2 observations,")
    assert found == set()
    assert all(before[name] != after[name] and after[name] for name in ("consumer", "web"))
    assert writer.written > 1
    assert "docs" in hits[0]["title"]


class Writer(threading.Thread):
    """Runs hooks of another session all the time, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0
        self.is_over = False

    def run(self) -> None:
        """Run hooks until it is over."""
        while not self.is_over:
            self.written += 1
            event = ran(f"make docs{self.written}", f"docs {self.written} built\n" * 20)
            run_hook("post_tool_use", {**event, "session_id": KEPT})


def embedded() -> int:
    """Return how many observations have a vector."""
    return int(models.Observation.select().where(models.Observation.embedding_status != "pending").count())


def test_a_service_of_somebody_else_is_left_alone(web_and_consumer: Path) -> None:
    """A consumer that supervisord did not start is named, and nothing is deleted while it runs."""
    session_row(DOOMED)

    done = command("forget", "--session", DOOMED, "--yes")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "claude-mem: a consumer runs that claude-mem up has not started: stop it, then try again\n"
    )
    assert rows_of("sessions") == 1


def test_broken_vectors_do_not_keep_anything(memory: Path) -> None:
    """Vectors that cannot be read are deleted as a whole and rebuilt later."""
    session_row(DOOMED)
    session_row(KEPT)
    for session_id in (DOOMED, KEPT):
        queries.save_observation(observation_row(f"{session_id}-1", session_id=session_id))
    embed_all()
    for path in Path(config.lance_dir()).rglob("*"):
        if path.is_file():
            path.write_bytes(b"broken")
    models.close_databases()

    done = command("forget", "--session", DOOMED, "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert not os.path.exists(config.lance_dir())
    models.open_databases()
    assert embeddings.count_by_model() == {}


@pytest.mark.usefixtures("impatient")
def test_what_was_cut_short_is_finished_by_prune(memory: Path) -> None:
    """While a reader blocks the purge rows are gone but bytes are not; `prune` finishes later."""
    session_row(DOOMED, summary=WORD)
    models.close_databases()
    with closing(sqlite3.connect(memory / "claude-mem.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sessions").fetchone()

        done = command("forget", "--session", DOOMED, "--yes")
        again = command("forget", "--session", DOOMED, "--yes")

    finished = command("prune", "--no-vacuum")

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "claude-mem prune goes on with that" in done.stderr
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("claude-mem: bytes of what was forgotten before may still be there")
    assert finished.returncode == 0
    assert left(memory, STEM, DOOMED) == set()


def test_what_was_cut_short_between_the_databases_is_gone_on_with(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash the rows are gone from queue.db; running the command again removes their bytes."""

    def cut_short() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "transaction", cut_short)
    inbox.append(json.dumps(ran("make", WORD)), PROJECT)
    with closing(sqlite3.connect(memory / "queue.db")) as idle:  # it keeps the WAL
        idle.execute("SELECT count(*) FROM pending_queue").fetchone()
        with pytest.raises(KeyboardInterrupt):
            purge.forget(Wanted(text=WORD), paused=nullcontext([]))
        models.close_databases()

        done = command("forget", "--match", WORD, "--yes")
        after = left(memory, STEM)

    assert rows("SELECT id FROM pending_queue") == []
    assert (done.returncode, done.stdout) == (0, "Nothing of that is kept.\n")
    assert after == set()


@pytest.mark.parametrize(
    "coded",
    [
        r'{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": "say \"f\u00fcr Elise\""}',
        '{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": "say \\"FÜR Elise\\""}',
        r'{"hook_event_name": "PostToolUse", "tool_input": {"x": "{\"a\":\"say \\\"f\\u00fcr Elise\\\"\"}"}}',
    ],
)
def test_a_text_is_found_however_json_spells_it(memory: Path, coded: str) -> None:
    """A text is found with escaped quotes and letters, also in JSON inside JSON."""
    inbox.append(coded, "/p")
    inbox.append(coded.replace("Elise", "Else"), "/p")
    models.close_databases()

    done = command("forget", "--match", 'say "für Elise"', "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Forgotten: 1 raw event and 1 message.\n"
    assert len(rows("SELECT id FROM pending_queue")) == 1
    assert left(memory, "Elise") == set()


def test_a_killed_run_is_gone_on_with(memory: Path) -> None:
    """Killed at any step, the databases stay whole and the same command finishes."""
    plant(memory)
    ids = doomed_ids()
    models.close_databases()
    arguments = ["forget", "--session", DOOMED, "--yes"]

    for steps in range(4, 12):
        program = [sys.executable, "-m", "claude_mem_lite.cli", *arguments]
        with (
            contextlib.suppress(subprocess.TimeoutExpired),
            running(*program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process,
        ):
            process.wait(timeout=steps * 0.2)
        with closing(sqlite3.connect(memory / "claude-mem.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    last = command(*arguments)

    assert left(memory, STEM, DOOMED, *ids) == set()
    assert last.returncode == 0 or "no session has this id" in last.stderr


def test_a_file_is_named_from_the_folder_or_from_its_project(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is named as the user or as the memory writes it; its namesake elsewhere stays."""
    project = (tmp_path / "shop").resolve()
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    session_row(DOOMED, project_dir=str(project))
    for name in ("src/a.py", "src/b.py", "a.py"):
        row = observation_row(
            f"edit-{name}", session_id=DOOMED, project_dir=str(project), files_touched=[name]
        )
        queries.save_observation(row)
    models.close_databases()
    monkeypatch.chdir(project / "src")

    from_folder = command("forget", "--file", "a.py", "--dry-run", "--json")
    runs = [command("forget", "--file", path, "--yes").returncode for path in ("./b.py", "src/a.py")]

    assert json.loads(from_folder.stdout)["forgotten"]["observations"] == 1  # src/a.py alone
    assert runs == [0, 0]
    models.open_databases()
    assert [row.id for row in queries.observations_of(DOOMED)] == ["edit-a.py"]
