"""Retention and repair: what is pruned by age, count and size, and how indexes are rebuilt."""

import datetime as dt
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from support.commands import command
from support.databases import find, observation_row, rows, session_row
from support.hooks import tool_event

from claude_mem_lite import config, settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.options import moment
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.settings import Retention
from claude_mem_lite.storage import files, ledger, models, queries
from claude_mem_lite.storage.ledger import Call
from claude_mem_lite.tasks import periodic
from claude_mem_lite.upkeep import retention

NOW = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


def event(days_ago: float, *, is_done: bool = True, text: str = "") -> str:
    """Append an event that many days before NOW, and return its id."""
    event_id = inbox.append(json.dumps(tool_event(tool_response=text)), "/p")
    if is_done:
        inbox.finish(event_id)
    at = inbox.utc_text((NOW - dt.timedelta(days=days_ago)).timestamp())
    with inbox.Transaction() as connection:
        connection.execute("UPDATE pending_queue SET created_at = ? WHERE id = ?", (at, event_id))
    return event_id


def events() -> set[str]:
    """Return the ids of the events in the queue."""
    return {event_id for (event_id,) in rows("SELECT id FROM pending_queue")}


def aged(path: Path, days_ago: float) -> None:
    """Write a file with a modification time that many days before NOW."""
    path.write_text("{}\n")
    at = (NOW - dt.timedelta(days=days_ago)).timestamp()
    os.utime(path, (at, at))


def prune(**chosen: int) -> retention.Pruned:
    """Prune with the given retention settings, as of NOW."""
    return retention.prune(retention.limits(Retention(**chosen), now=NOW))


def test_events_go_by_age_and_unfinished_ones_never(memory: Path) -> None:
    """Finished events go by age, unless 0 keeps them; pending and failed ones stay."""
    old, new, raw = event(31), event(29), event(400, is_done=False)

    never = [prune(events_days=days).events for days in (0, 500_000)]  # 500,000 days ago is the year 657
    failed = event(400)
    inbox.finish(failed, status="error")
    pruned, left = prune(), events()

    assert (never, pruned.events) == ([0, 0], 1)
    assert left == {new, raw, failed}
    assert old not in left


def test_the_newest_raw_events_are_kept_whatever_their_age(memory: Path) -> None:
    """The newest `keep_raw` finished events stay at any age."""
    ids = [event(90 - number) for number in range(6)]
    raw = event(95, is_done=False)

    kept = (retention.limits(Retention(keep_raw=keep), now=NOW) for keep in (9, 2))
    counts = [retention.prunable(each).events for each in kept]
    prune(keep_raw=2)

    assert counts == [0, 4]
    assert events() == {*ids[-2:], raw}


def test_large_free_room_is_given_back(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hourly task shrinks the file on disk after pruning."""
    monkeypatch.setattr(files, "_HOLLOW_BYTES", 1 << 20)
    for _ in range(20):
        event(1, text="x" * 300_000)
    before = files.size_bytes(config.queue_path())
    (memory / "config.toml").write_text("[retention]\nmax_queue_mb = 1\n")

    periodic.prune.call_local()

    assert before > 5 << 20
    assert files.size_bytes(config.queue_path()) < 2 << 20


def test_a_full_queue_loses_its_oldest_events(memory: Path) -> None:
    """A queue over its size loses its oldest finished and failed events, except `keep_raw` ones."""
    ids = [event(1, text="x" * 300_000) for _ in range(10)]
    inbox.finish(ids[0], status="error")
    raw = event(1, is_done=False, text="x" * 300_000)

    kept = prune(max_queue_mb=1, keep_raw=9).events
    pruned = prune(max_queue_mb=2).events

    assert kept == 1
    assert 3 <= pruned <= 6
    assert events() == {*ids[1 + pruned :], raw}
    assert prune(max_queue_mb=2).events == 0


def test_the_event_log_keeps_what_was_paid_and_learned(memory: Path) -> None:
    """Old log entries go, except costs and the history of learnings."""
    for name in ("compress.done", "learning.inserted", "context.shown"):
        queries.log_event(name, {})
    ledger.record(Call("observations", "m", 0.5, 1, 1), now=0)
    models.LogEntry.update(created_at="2026-01-01").execute()

    pruned = prune()

    assert pruned.event_log == 2
    assert {row.event_type for row in models.LogEntry.select()} == {"learning.inserted", "claude.call"}


def test_files_go_by_age(memory: Path) -> None:
    """Old rotated logs and broken spool files go; open logs and waiting events stay."""
    for name in ("web.jsonl", "consumer.out", "supervisord.log", "web.jsonl.2026-01-01", "consumer.out.1"):
        aged(memory / "logs" / name, 60)
    aged(memory / "logs" / "hooks.jsonl.2026-11-20", 1)
    for name in ("a.bad", "b.tmp", "c"):
        aged(memory / "spool" / name, 60)

    pruned = prune()

    assert (pruned.log_files, pruned.spool_files) == (2, 2)
    assert [path.name for path in (memory / "spool").iterdir()] == ["c"]
    assert sorted(path.name for path in (memory / "logs").iterdir()) == [
        "consumer.out", "hooks.jsonl.2026-11-20", "supervisord.log", "web.jsonl",
    ]  # fmt: skip


def test_what_a_hook_is_writing_stays(memory: Path) -> None:
    """A spool file that a hook may still be writing is never pruned."""
    for name in ("a.bad", "b.tmp"):
        (memory / "spool" / name).write_text("{")

    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=90)
    pruned = retention.prune(retention.limits(Retention(), now=later))

    assert pruned.spool_files == 1
    assert [path.name for path in (memory / "spool").iterdir()] == ["b.tmp"]


def test_the_periodic_task_prunes_as_the_settings_say(memory: Path) -> None:
    """The periodic task applies `[retention]` of config.toml."""
    (memory / "config.toml").write_text("[retention]\nevents_days = 5\nlogs_days = 0\nkeep_raw = 1\n")
    event(7)
    kept = event(6)
    aged(memory / "logs" / "web.jsonl.2026-01-01", 300)

    periodic.prune.call_local(now=NOW)

    assert events() == {kept}
    assert (memory / "logs" / "web.jsonl.2026-01-01").exists()


@pytest.mark.parametrize("wrong", ["events_days = -1", "keep_raw = true", "max_queue_mb = 1.5", "days = 3"])
def test_a_wrong_retention_is_said_and_has_its_default(home: Path, wrong: str) -> None:
    """An invalid retention setting is reported and replaced by its default."""
    (home / "config.toml").write_text(f"[retention]\n{wrong}\n")

    assert settings.load().retention == Retention()
    assert f"[retention] {wrong.split(maxsplit=1)[0]}" in settings.problem()


def test_prune_says_what_goes_and_gives_the_room_back(memory: Path) -> None:
    """A dry run only lists what would go; prune shrinks the file and reports the sizes."""
    for _ in range(10):
        event(60, text="x" * 100_000)
    event(60, is_done=False)
    aged(memory / "logs" / "web.jsonl.2026-01-01", 300)

    dry = command("prune", "--older-than", "1h", "--dry-run")
    before = (memory / "queue.db").stat().st_size
    done = json.loads(command("prune", "--older-than", "1h", "--json").stdout)
    again = command("prune")

    assert dry.stdout.splitlines()[0] == "10 raw events and 1 log file would be deleted."
    assert done["pruned"] == {"events": 10, "event_log": 0, "log_files": 1, "spool_files": 0}
    assert done["bytes_before"]["queue.db"] > 1_000_000 > done["bytes_after"]["queue.db"]
    assert (memory / "queue.db").stat().st_size < before / 2
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines()[0] == "Nothing to prune."
    assert "in all" in again.stdout
    assert "before" not in again.stdout


@pytest.mark.usefixtures("impatient")
def test_a_busy_database_costs_only_its_vacuum(memory: Path) -> None:
    """A busy database skips only its vacuum, reported in one line."""
    queries.log_event("compress.done", {})
    aged(memory / "logs" / "web.jsonl.2026-01-01", 300)
    models.close_databases()
    with closing(sqlite3.connect(memory / "claude-mem.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM event_log").fetchone()
        done = command("prune")
        other.execute("COMMIT")
        other.execute("BEGIN IMMEDIATE")
        locked = files.vacuum(config.memory_path())

    problem = "claude-mem.db was vacuumed, but another process keeps its WAL from being truncated"
    assert done.returncode == 1
    assert done.stdout.startswith("1 log file deleted.")
    assert done.stderr == f"! {problem}; the rest is done: run claude-mem prune again\n"
    assert locked == "claude-mem.db could not be vacuumed (database is locked)"
    assert files.vacuum(config.memory_path()) == ""


def test_prune_refuses_what_it_cannot_mean(home: Path) -> None:
    """An invalid age gives one clear message."""
    wrong = command("prune", "--older-than", "soon")

    assert wrong.returncode == 2
    assert "'soon' is not a time" in wrong.stderr


@pytest.mark.parametrize("given", ["2026-11-01T14:30:00.123457", "0026-11-01T00:00:00.000000"])
def test_a_time_is_as_wide_as_all_times(given: str) -> None:
    """Stored times sort as text in every year and keep their microseconds."""
    assert moment(f"{given}+00:00") == f"{given}Z"


def test_reindex_mends_full_text_and_indexes(memory: Path) -> None:
    """Reindex repairs full text and indexes, and reports what was wrong or that nothing was."""
    session_row(summary="Dug ponds.")
    queries.save_observation(observation_row("pond", title="Dig a pond"))
    models.close_databases()
    lose_index(memory / "claude-mem.db", "idx_obs_project", "UPDATE observations SET project_dir = '/q'")
    with closing(sqlite3.connect(memory / "claude-mem.db")) as connection, connection:
        connection.execute("INSERT INTO observations_fts(observations_fts) VALUES ('delete-all')")

    first, second, as_json = command("reindex"), command("reindex"), command("reindex", "--json")

    assert (first.returncode, first.stderr) == (0, "")
    assert "The full text of observations did not match its rows." in first.stdout
    assert "claude-mem.db: row 1 missing from index idx_obs_project" in first.stdout
    assert second.stdout == "Nothing was wrong; full text and indexes were rebuilt all the same.\n"
    assert json.loads(as_json.stdout) == {
        "full_text": [], "indexes": {}, "missing": 0, "stray": 0, "unreadable": "", "left": {},
    }  # fmt: skip
    assert [hit.row.id for hit in find("pond", type="observation")] == ["pond"]


def lose_index(path: Path, name: str, statement: str) -> None:
    """Change rows while hiding an index, so that the index misses the change."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        query = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = ?"
        row = connection.execute(query, (name,)).fetchone()
        connection.execute("DELETE FROM sqlite_master WHERE name = ?", (name,))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)


@pytest.mark.meaning
def test_reindex_has_wrong_vectors_made_anew(memory: Path) -> None:
    """Reindex finds missing, outdated and stray vectors and leaves the others."""
    session_row()
    for number in range(4):
        queries.save_observation(observation_row(f"o{number}", title=f"Dig pond {number}"))
    assert command("reembed").returncode == 0
    store = Vectors("minilm_384", 384)
    vector = np.eye(384, dtype=np.float32)[0]
    store.delete("observation", ["o0"])
    store.write("observation", [("o1", "/p", "another text", vector), ("gone", "/p", "no row", vector)])

    found = command("reindex").stdout
    again = command("reembed").stdout
    rmtree(config.lance_dir())
    lost = json.loads(command("reindex", "--json").stdout)

    assert found.splitlines() == [
        "2 vectors will be computed again: missing, or of another text.",
        "1 vector of deleted rows removed.",
        "Full text and indexes were rebuilt.",
    ]
    assert again == "2 vectors computed, 2 existed, 4 in all: minilm_384.\n"
    assert lost["missing"] == 4


@pytest.mark.meaning
def test_reindex_throws_unreadable_vectors_away(memory: Path) -> None:
    """Reindex deletes unreadable vectors, which can be made again."""
    session_row()
    queries.save_observation(observation_row("pond", title="Dig a pond"))
    assert command("reembed").returncode == 0
    for path in Path(config.lance_dir()).rglob("*"):
        if path.is_file():
            path.write_bytes(b"broken")

    done = command("reindex")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("All vectors will be computed again: SQLite could not")
    assert not os.path.exists(config.lance_dir())


def test_reindex_says_what_no_index_can_mend(memory: Path) -> None:
    """A damaged table page gives one line and exit 1."""
    session_row()
    for number in range(300):
        queries.save_observation(observation_row(f"o{number}", title=f"Dig {number}", detail="x" * 900))
    models.close_databases()
    with closing(sqlite3.connect(memory / "claude-mem.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT max(pageno) FROM dbstat WHERE name = 'observations' AND pagetype = 'leaf'"
        page = connection.execute(query).fetchone()[0]
    with (memory / "claude-mem.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)

    done = command("reindex")

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "claude-mem.db" in done.stderr
