"""The memory's schema, models and queries."""

import json
import logging
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from peewee import ModelSelect
from support.databases import find, observation_row, session_row

from claude_mem_lite import config, logs
from claude_mem_lite.capture import inbox
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage import migrations, models, queries


def test_a_look_at_the_memory_takes_no_lock_away(memory: Path) -> None:
    """Checking the memory's file does not release SQLite's locks, so its WAL survives."""
    queries.counts()
    config.refuse_foreign_memory()
    other = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM state'); c.close()"
    )

    subprocess.run([sys.executable, "-c", other, config.memory_path()], check=True)

    assert (memory / "claude-mem.db-shm").exists()


def test_migrate_makes_the_columns_of_the_models(memory: Path) -> None:
    """Every table has exactly its model's columns, in both databases."""
    for model in models._Table.__subclasses__():
        columns = [column.name for column in model._meta.database.get_columns(model._meta.table_name)]

        assert sorted(columns) == sorted(model._meta.columns)


def test_whole_rows_are_asked_for_as_peewee_does(memory: Path) -> None:
    """Our faster SELECT of whole rows gives the same SQL as peewee, also in subqueries."""
    for model in models._Table.__subclasses__():
        key = model._meta.primary_key
        whole, slow = model.select(), ModelSelect(model, model._meta.sorted_fields, is_default=True)
        asked = [
            (each, each.where(key == 1).limit(2), each.select(key), model.select(key).where(key.in_(each)))
            for each in (whole, slow)
        ]

        assert [query.sql() for query in asked[0]] == [query.sql() for query in asked[1]]


def test_migrate_marks_the_file_as_ours_and_runs_once(home: Path) -> None:
    """The first migration runs every step and marks the file as ours; a second runs none."""
    steps = migrations.migrate(), migrations.migrate()

    assert steps == (len(migrations.MIGRATIONS) - migrations.TOO_OLD, 0)
    assert not config.foreign_memory()
    with closing(sqlite3.connect(home / "claude-mem.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_migrate_is_safe_when_processes_start_at_once(home: Path) -> None:
    """Six processes migrating at once run each step exactly once."""
    code = "from claude_mem_lite.storage.migrations import migrate; print(migrate())"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(6)]

    outputs = [process.communicate()[0].decode().strip() for process in started]

    assert sum(map(int, outputs)) == len(migrations.MIGRATIONS) - migrations.TOO_OLD
    assert [process.returncode for process in started] == [0] * 6


def test_migrate_refuses_a_file_that_is_too_old(home: Path) -> None:
    """A file of a too old version is refused with one line and left unchanged."""
    models.open_databases()
    models.memory_database.execute_sql(f"PRAGMA user_version = {migrations.TOO_OLD}")
    models.close_databases()

    with pytest.raises(ClaudeMemError, match="install a version of") as refused:
        models.open_databases()

    assert f"has schema {migrations.TOO_OLD}" in str(refused.value)
    assert migrations.schema() == migrations.TOO_OLD


def test_the_full_text_follows_its_table(memory: Path) -> None:
    """The full-text index follows inserts, updates, deletes and VACUUM."""
    session_row()
    queries.save_observation(observation_row("a", title="zebra crossing"))
    queries.save_observation(observation_row("b", title="camel"))
    queries.save_observation(observation_row("a", title="giraffe"))
    models.Observation.delete().where(models.Observation.id == "b").execute()
    models.memory_database.execute_sql("VACUUM")

    found = {word: [hit.row.id for hit in find(word)] for word in ("zebra", "camel", "giraffe")}

    assert found == {"zebra": [], "camel": [], "giraffe": ["a"]}


def test_saving_an_observation_again_replaces_it(memory: Path) -> None:
    """Saving an id again replaces its row, and the session counts it once."""
    session_row()
    for title in ("first", "second"):
        queries.save_observation(observation_row("a", title=title, files_touched=["x.py"]))

    rows = [(row.title, row.files_touched) for row in queries.observations_of("s1")]
    session = queries.session("s1")

    assert (rows, session.observation_count) == ([("second", ["x.py"])], 1)


@pytest.mark.parametrize(
    ("prefix", "found"), [("abcdef1", "abcdef1234"), ("abcdef", None), ("abc", None), ("%%%%%%", None)]
)
def test_an_observation_opens_by_a_unique_prefix(memory: Path, prefix: str, found: str | None) -> None:
    """An id prefix of six or more characters opens its observation if it is unique."""
    session_row()
    for observation_id in ("abcdef1234", "abcdef5678"):
        queries.save_observation(observation_row(observation_id))

    try:
        opened = queries.observation(prefix).id
    except queries.UnknownIdError:
        opened = None

    assert opened == found


def test_sessions_to_summarize_are_idle_ones_with_news(memory: Path) -> None:
    """A session is due if it is idle, has no pending event, and its summary lacks an observation."""
    for session_id, hour in (("idle", 1), ("busy", 5), ("told", 1), ("left", 1)):
        session_row(session_id, last_event_at=f"2026-11-21T0{hour}")
        queries.save_observation(observation_row(session_id, session_id=session_id))
    queries.save_summary("told", "all said", key_files=[], summarized_pk=3)
    inbox.append('{"session_id": "left"}', "/p")

    assert queries.sessions_to_summarize(idle_since="2026-11-21T03") == ["idle"]


def test_the_log_is_json_without_text_of_the_user(home: Path) -> None:
    """Log lines are JSON with level and fields, in a file private to the user."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    try:
        logs.configure("test")
        logging.getLogger("a.b").info("done", extra={"event": {"event": "compress.done", "duration_ms": 3}})
        logging.getLogger("a.b").warning("two\nlines")
    finally:
        root.handlers[0].close()
        root.handlers, root.level = handlers, level

    lines = [json.loads(line) for line in (home / "logs" / "test.jsonl").read_text().splitlines()]

    assert [{key: line[key] for key in line if key != "at"} for line in lines] == [
        {"level": "INFO", "logger": "a.b", "event": "compress.done", "duration_ms": 3},
        {"level": "WARNING", "logger": "a.b", "message": "two\nlines"},
    ]
    assert (home / "logs" / "test.jsonl").stat().st_mode & 0o077 == 0
