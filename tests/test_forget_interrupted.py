"""Test `forget` with services running, unreadable data, and interruptions."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from support.commands import command
from support.databases import observation_row, rows, session_row, sessions_kept
from support.hooks import run_hook
from support.planted import DOOMED, KEPT, PROJECT, STEM, WORD, doomed_ids, embed_all, left, plant, prompt, ran
from support.processes import claude_mem, running, wait_until

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.forget import purge, store
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.services import process_states
from claude_mem_lite.storage import embeddings, models, queries


@pytest.mark.meaning
def test_it_is_forgotten_behind_running_services(home: Path) -> None:
    """Services are paused and come back; events that hooks store meanwhile and later are kept."""
    assert claude_mem("up").returncode == 0
    try:
        run_hook("user_prompt_submit", {**prompt(f"Make the {WORD} parser faster"), "session_id": DOOMED})
        run_hook("post_tool_use", {**ran("make", f"{WORD} built\n" * 20), "session_id": DOOMED})
        run_hook("post_tool_use", {**ran("make test", "4 passed in 0.1s"), "session_id": KEPT})
        models.open_databases(read_only=True)
        embedded = models.Observation.select().where(models.Observation.embedding_status != "pending")
        wait_until(lambda: embedded.count() == 3)
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
    """Run hooks of another session all the time, and count them."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0
        self.is_over = False

    def run(self) -> None:
        """Run hooks until `is_over` is set."""
        while not self.is_over:
            self.written += 1
            event = ran(f"make docs{self.written}", f"docs {self.written} built\n" * 20)
            run_hook("post_tool_use", {**event, "session_id": KEPT})


def test_a_service_of_somebody_else_is_left_alone(web_and_consumer: Path) -> None:
    """A consumer that supervisord did not start is named, and nothing is deleted while it runs."""
    session_row(DOOMED)

    done = command("forget", "--session", DOOMED, "--yes")

    assert (done.returncode, done.stdout) == (1, "")
    says = "claude-mem: a consumer process runs that claude-mem up did not start: stop it, then try again\n"
    assert done.stderr == says
    assert sessions_kept() == 1


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

    done = command("forget", "--session", DOOMED, "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert not os.path.exists(config.lance_dir())
    assert embeddings.count_by_model() == {}


@pytest.mark.usefixtures("impatient")
def test_what_was_cut_short_is_finished_by_prune(memory: Path) -> None:
    """While a reader blocks the purge rows are gone but bytes are not; `prune` finishes later."""
    session_row(DOOMED, summary=WORD)
    with closing(sqlite3.connect(memory / "claude-mem.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sessions").fetchone()

        done = command("forget", "--session", DOOMED, "--yes")
        again = command("forget", "--session", DOOMED, "--yes")

    finished = command("prune")

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "forgotten bytes may still be there; to finish: claude-mem prune" in done.stderr
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("claude-mem: an earlier deletion is unfinished, and its bytes may still")
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
    assert (done.returncode, done.stdout) == (0, "Nothing matches; nothing was deleted.\n")
    assert after == set()


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
