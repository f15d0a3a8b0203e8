"""Test `eval health` and `eval sql`: figures on the memory that can be counted by hand."""

import json
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import capture, play
from support.commands import command
from support.databases import call_row, session_row
from support.fake_judge import judging
from support.fake_messages import FakeMessages, Fault
from support.hooks import tool_event

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.evals import QUERIES, monitor
from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.storage import models, queries

NOW = time.time()


run = partial(command, "eval", columns=200)


def event(*, came_s_ago: float, finished_s_ago: float | None = None, note: str | None = None) -> str:
    """Store an event in the queue: waiting, finished, or failed with a note."""
    event_id = inbox.append(json.dumps(tool_event()), "/p")
    status = "error" if note is not None else "raw" if finished_s_ago is None else "done"
    finished = inbox.utc_text(NOW - finished_s_ago) if finished_s_ago is not None else None
    with inbox.Transaction() as connection:
        connection.execute(
            "UPDATE pending_queue SET status = ?, created_at = ?, finished_at = ?, note = ? WHERE id = ?",
            (status, inbox.utc_text(NOW - came_s_ago), finished, note, event_id),
        )
    return event_id


def edge(number: int, **fields: Any) -> None:
    """Store a call in the code map."""
    times = {"session_id": "s", "created_at": inbox.utc_text(NOW)}
    call_row(f"e{number}", ("a.py", f"f{number}"), ("b.py", "g"), **times | fields)


def test_the_queue_is_told_by_state_age_and_time(memory: Path) -> None:
    """Queue figures count states and ages; percentiles use the nearest rank."""
    for age in range(1, 21):
        event(came_s_ago=age * 10)
    event(came_s_ago=100, finished_s_ago=97)
    event(came_s_ago=90 * 86_400, finished_s_ago=89 * 86_400)
    event(came_s_ago=50, finished_s_ago=50, note="KeyError: 'x'")

    found = monitor.queue(since=inbox.utc_text(NOW - 30 * 86_400), now=NOW)

    assert (found["raw"], found["done"], found["error"]) == (20, 2, 1)
    assert found["oldest_s"] == pytest.approx(200, abs=0.01)
    assert found["age"] == pytest.approx({"p50_s": 100, "p95_s": 190, "max_s": 200}, abs=0.01)
    assert found["took"] == pytest.approx({"p50_s": 3, "p95_s": 3, "max_s": 3}, abs=0.01)


def test_an_empty_memory_has_no_percentiles(memory: Path) -> None:
    """An empty memory has no percentiles and no shares, and raises no error."""
    found = monitor.report(None, days=30, now=NOW)

    assert found["queue"]["age"] == {"p50_s": None, "p95_s": None, "max_s": None}
    assert found["code_map"]["resolved_share"] is None
    assert (found["compression"], found["evaluations"], found["cost"]["usd"]) == ({}, [], 0)
    assert run("health").returncode == 0


def test_failures_are_told_by_kind(fake: FakeMessages) -> None:
    """Failures of the days asked for are counted by kind, Claude's and ours apart."""
    for note in ("KeyError: 'a'", "KeyError: 'b'"):
        event(came_s_ago=50, finished_s_ago=1, note=note)
    event(came_s_ago=90 * 86_400, finished_s_ago=1, note="ValueError: old")
    fake.faults = [Fault("status", status=429, nth=(1,)), Fault("refusal")]
    capture()
    play()

    found = monitor.errors(since=inbox.utc_text(NOW - 30 * 86_400))

    assert found["events"] == {"KeyError": 2}
    assert found["claude"] == {"Claude declined to write about it": 1}
    assert found["pauses"] == {"outage": 1}


def test_the_code_map_tells_what_it_could_read_and_resolve(memory: Path) -> None:
    """Code map figures: shares of files parsed, calls resolved and confirmed; stale after 30 days."""
    for number, error in enumerate(("", "", "", "SyntaxError")):
        empty = {"digest": "", "lines": 1, "packed": b"", "updated_at": ""}
        models.SourceFile.create(project_dir="/p", file_path=f"{number}.py", error=error, **empty)
    old = inbox.utc_text(NOW - 31 * 86_400)
    edge(1)
    edge(2, resolution="unresolved")
    edge(3, source="observation", times_confirmed=2, last_confirmed_at=inbox.utc_text(NOW), created_at=old)
    edge(4, source="observation", created_at=old)
    edge(5, project_dir="/other")

    found = monitor.code_map("/p", now=NOW)

    assert (found["files"], found["failed"], found["parsed_share"]) == (4, 1, 0.75)
    assert (found["calls"], found["resolved_share"], found["confirmed_share"]) == (4, 0.75, 0.25)
    assert (found["observed"], found["stale"]) == (2, 1)
    assert monitor.code_map(None, now=NOW)["calls"] == 5


def test_health_tells_each_part(fake: FakeMessages) -> None:
    """`eval health` reports queue, errors, cost, compression, code map, learnings and evaluations."""
    fake.answer = judging
    capture(1)
    play()
    capture(2, tool_input={"file_path": "/p/[red]x.py", "old_string": "a", "new_string": "b"})
    session_row("s9")
    candidate = Candidate("Amounts are integer cents.", "convention", "user")
    evolve.take(candidate, session_id="s9", project_dir="/p")
    scores = {"structural_validity": 1.0, "title_quality": 1.0}
    scores |= {"info_preservation": 0.6, "decision_rationale": 0}
    for quality in (0.5, 0.7):
        queries.log_event("eval.compression", {"observation_id": "x", "quality": quality, **scores})

    done, as_json = run("health"), run("health", "--json", "--days", "7")

    assert (done.returncode, done.stderr) == (0, "")
    for part in ("queue", "errors", "cost", "compression", "code map", "learnings", "judged"):
        assert f"\n{part}" in f"\n{done.stdout}"
    told = json.loads(as_json.stdout)
    assert told["days"] == 7
    assert set(told["compression"]) == {"local", "claude-haiku-4-5-20251001"}
    assert told["compression"]["local"]["structural_validity"] == 1.0
    usd = told["compression"]["claude-haiku-4-5-20251001"]["usd"]
    assert usd == pytest.approx(told["cost"]["usd"], abs=1e-5)
    assert told["learnings"]["events"] == {"inserted": 1}
    assert told["learnings"]["now"]["active"] == 1
    [day] = told["evaluations"]
    assert (day["judged"], day["quality"], day["info_preservation"]) == (2, 0.6, 0.6)
    assert told["sessions"] == 0


def statements() -> list[str]:
    """Return the statements of the SQL file."""
    found, statement = [], ""
    for line in Path(QUERIES).read_text().splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            found.append(statement)
            statement = ""
    assert not statement.strip()
    return found


@pytest.mark.parametrize("statement", statements(), ids=lambda text: text.strip().splitlines()[0][3:60])
def test_each_query_runs_on_a_migrated_memory(fake: FakeMessages, statement: str) -> None:
    """Each query runs read-only on a migrated memory and names each column once."""
    capture()
    play()
    with closing(sqlite3.connect(f"file:{config.memory_path()}?mode=ro", uri=True)) as connection:
        cursor = connection.execute(statement)

        names = [column[0] for column in cursor.description]
        cursor.fetchall()

    assert len(names) == len(set(names)) > 1


def test_the_queries_find_what_there_is(fake: FakeMessages) -> None:
    """The query by writer finds the observations, the ledger's query the call."""
    capture()
    play()
    with closing(sqlite3.connect(config.memory_path())) as connection:
        by_writer = connection.execute(statements()[0]).fetchall()
        ledger = connection.execute(statements()[3]).fetchall()

    assert [row[1:3] for row in by_writer] == [("claude-haiku-4-5-20251001", 1)]
    assert [row[1:4] for row in ledger] == [("claude-haiku-4-5-20251001", "observations", 1)]


def test_sql_prints_the_file(home: Path) -> None:
    """`eval sql` prints the file unchanged, without a memory."""
    assert run("sql").stdout == Path(QUERIES).read_text()
