"""Test that no event is lost: the inbox, its spool, and consumers that are stopped or killed."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support import cases, delivery_experiment
from support.databases import rows
from support.hooks import tool_event
from support.processes import end, is_queue_empty, running, wait_until

from claude_mem_lite import config
from claude_mem_lite.capture import backlog, inbox, priority
from claude_mem_lite.hooks import helper
from claude_mem_lite.storage import models, queries

COMMANDS = cases.load("looks")


def test_append_stores_the_event_with_its_columns(home: Path) -> None:
    """A row has its event's session, name, tool, project, files and priority, in a file of mode 0600."""
    event = json.dumps(tool_event("Edit", tool_input={"file_path": "/p/a.py"}))

    event_id = inbox.append(event, "/p")

    columns = (
        "id, session_id, event_name, tool_name, project_dir, raw_output, files_touched, priority, status"
    )
    wanted = [(event_id, "s1", "PostToolUse", "Edit", "/p", event, '["/p/a.py"]', "high", "raw")]
    assert rows(f"SELECT {columns} FROM pending_queue") == wanted
    assert stat.S_IMODE((home / "queue.db").stat().st_mode) == 0o600


def test_append_refuses_what_is_no_event(home: Path) -> None:
    """Text that is no JSON object is refused and leaves no row and no file."""
    for text in ("", "[]", '"text"', "{", '{"a": 1', "\ud800", "nul\0l", "[" * 5000):
        with pytest.raises(inbox.NotAnEventError):
            inbox.append(text, "/p")

    assert not (home / "queue.db").exists()
    assert list((home / "spool").iterdir()) == []


def test_append_keeps_an_event_with_odd_values(home: Path) -> None:
    """An event with wrong types, missing fields or lone surrogates is stored."""
    inbox.append('{"session_id": 7, "tool_name": {"a": [1]}, "hook_event_name": null}', "/p")
    inbox.append(r'{"session_id": "\ud83d", "tool_name": "Read\u0000"}', "/p")

    found = rows("SELECT session_id, event_name, tool_name, priority FROM pending_queue")
    assert found == [("7", "", '{"a":[1]}', "normal"), ("\ufffd\ufffd\ufffd", "", "Read", "low")]


def test_append_goes_to_the_spool_while_the_queue_is_locked(home: Path) -> None:
    """An event that a locked queue refuses goes to a private spool file and is taken in once."""
    first = inbox.append('{"session_id": "a"}', "/p")
    with closing(sqlite3.connect(config.queue_path(), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        second = inbox.append('{"session_id": "b"}', "/q")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (home / "spool").iterdir()]

    taken = backlog.take_in_spool(), backlog.take_in_spool()

    assert (modes, taken) == ([0o600], (1, 0))
    found = rows("SELECT id, session_id, project_dir FROM pending_queue")
    assert found == [(first, "a", "/p"), (second, "b", "/q")]
    assert rows("SELECT count(*) FROM task") == [(2,)]
    assert list((home / "spool").iterdir()) == []


def test_a_hook_waits_for_a_locked_queue_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a wait in vain nothing else in a hook waits for queue.db, until the lock is free again."""
    waits, connect = list[float](), inbox.connect

    def recorded(*, timeout_s: float) -> sqlite3.Connection:
        waits.append(timeout_s)
        return connect(timeout_s=timeout_s)

    monkeypatch.setattr(inbox, "connect", recorded)
    inbox.append("{}", "/p")
    with closing(sqlite3.connect(config.queue_path(), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        inbox.append("{}", "/p")
        inbox.append("{}", "/p")
        helper.note("s1", {"via": "fallback"})
    helper.note("s1", {"via": "fallback"})
    inbox.append("{}", "/p")

    assert waits == [0.25, 0.25, 0, 0, 0, 0.25]
    assert rows("SELECT count(*) FROM task") == [(3,)]
    assert len(list((home / "spool").iterdir())) == 2


@pytest.mark.parametrize("content", [b"this is no database, only text " * 400, None])
def test_append_goes_to_the_spool_when_the_queue_is_unusable(home: Path, content: bytes | None) -> None:
    """With a corrupt queue.db, or a folder in its place, an event goes to the spool."""
    if content is None:
        (home / "queue.db").mkdir()
    else:
        (home / "queue.db").write_bytes(content)

    event_id = inbox.append('{"session_id": "a"}', "/p")

    assert [path.name.endswith(event_id) for path in (home / "spool").iterdir()] == [True]


def test_take_in_spool_sets_a_broken_file_aside(home: Path) -> None:
    """A spool file without an event is renamed to .bad, a folder stays, and neither stops the others."""
    (home / "spool" / "0-a-folder").mkdir()
    (home / "spool" / "0-broken").write_bytes(b"half a fi")
    (home / "spool" / "1-no-json").write_bytes(b"id\x00when\x00/p\x00{")
    (home / "spool" / "2-whole").write_bytes(b'id\x00when\x00/p\x00{"session_id": "a"}')

    taken = backlog.take_in_spool()

    assert taken == 1
    assert rows("SELECT id, project_dir, session_id FROM pending_queue") == [("id", "/p", "a")]
    assert sorted(path.name for path in (home / "spool").iterdir()) == [
        "0-a-folder", "0-broken.bad", "1-no-json.bad",
    ]  # fmt: skip


def test_requeue_gives_a_message_to_each_unfinished_row_without_one(home: Path) -> None:
    """Requeueing gives a message to each raw row without one, once."""
    waiting, orphan, done = (inbox.append(json.dumps(tool_event()), "/p") for _ in range(3))
    with inbox.Transaction() as connection:
        connection.execute("DELETE FROM task WHERE id > 1")
    inbox.finish(done, note="nothing")

    counts = backlog.requeue(), backlog.requeue()

    assert counts == (1, 0)
    messages = [json.loads(data)["args"][0] for (data,) in rows("SELECT data FROM task ORDER BY id")]
    assert messages == [waiting, orphan]


def test_utc_now_sorts_as_text() -> None:
    """Times sort as text and have one width."""
    times = [inbox.utc_now() for _ in range(1000)]

    assert times == sorted(times)
    assert {len(time) for time in times} == {27}


@pytest.mark.parametrize(
    ("tool_name", "command", "expected"),
    [
        *(("Bash", command, "low") for command in COMMANDS["looks"]),
        *(("Bash", command, "high") for command in COMMANDS["changes"]),
        ("Bash", "(" * 5_000 + "rm x", "high"),
        ("Bash", "ls " + "x" * 20_000 + "; rm x", "high"),
        ("Edit", "", "high"),
        ("NotebookEdit", "", "high"),
        ("Read", "", "low"),
        ("Grep", "", "low"),
        ("WebFetch", "", "normal"),
        ("mcp__db__query", "", "normal"),
    ],
)
def test_priority_tells_looking_from_changing(tool_name: str, command: str, expected: str) -> None:
    """Calls that may change something have high priority, lookups low."""
    assert priority.priority(tool_name, command) == expected


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [("", "~/.claude-mem"), ("/mnt/m", "/mnt/m"), ("~/m", "~/m"), ("m", "~/m"), ("/mnt/a/../m", "/mnt/m")],
)
def test_the_data_directory_does_not_depend_on_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, chosen: str, expected: str
) -> None:
    """A data directory given as a relative or tilde path is in the user's home."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", chosen)

    assert config.home() == os.path.expanduser(expected)


Start = Callable[[], subprocess.Popen[bytes]]


def test_no_event_is_lost_when_hooks_and_consumers_are_killed(memory: Path) -> None:
    """With hooks and consumers killed, each stored event ends as one done row and at most one observation."""
    outcome = delivery_experiment.run(hooks=120, kills=8, seed=1)

    assert (outcome.lost, outcome.unfinished, outcome.doubled) == ((), (), ())
    assert outcome.hooks_ended >= 108
    assert outcome.consumers_killed == 8


def test_a_graceful_stop_finishes_the_task_in_hand(memory: Path, consumer: Start) -> None:
    """SIGTERM under load leaves no claimed message, and the next consumer finishes the rest."""
    for number in range(150):
        event = tool_event("WebFetch", tool_input={"url": f"https://a.example/{number}"})
        inbox.append(json.dumps(event), "/p")
    first = consumer()
    wait_until(lambda: queries.queue_stats()["done"] > 10)

    first.terminate()
    status = first.wait(timeout=30)
    claimed = models.queue_database.execute_sql("SELECT count(*) FROM task WHERE claimed = 1").fetchone()
    consumer()
    wait_until(is_queue_empty)

    assert (status, claimed) == (0, (0,))
    assert {row.attempts for row in models.PendingEvent.select()} == {1}


def test_a_stop_wakes_the_workers_that_wait(memory: Path) -> None:
    """An idle consumer ends at SIGTERM, however long its workers' poll interval."""
    program = """if True:
        from claude_mem_lite.tasks import broker
        broker.POLL_S = 3_600
        from huey.bin.huey_consumer import consumer_main
        consumer_main()
    """
    command = [sys.executable, "-I", "-c", program, "claude_mem_lite.tasks.consumer.huey", "-w", "2"]
    inbox.append(json.dumps(tool_event("WebFetch")), "/p")

    with running(*command, "-g", "TERM") as consumer:
        wait_until(is_queue_empty)
        status = end(consumer)

    assert status == 0


def test_a_second_consumer_waits_for_the_first(memory: Path, consumer: Start) -> None:
    """A second consumer of a data directory waits, and takes over when the first one dies."""
    first = consumer()
    inbox.append(json.dumps(tool_event("WebFetch")), "/p")
    wait_until(lambda: queries.queue_stats()["done"] == 1)
    second = consumer()
    time.sleep(1)
    waiting = second.poll() is None

    first.kill()
    inbox.append(json.dumps(tool_event("WebFetch")), "/p")
    wait_until(lambda: queries.queue_stats()["done"] == 2)

    assert waiting
    assert second.poll() is None


def test_what_waits_in_the_spool_is_taken_in_by_an_idle_consumer(memory: Path, consumer: Start) -> None:
    """An idle consumer takes in spooled events within seconds."""
    event = json.dumps(tool_event("WebFetch", tool_input={"url": "https://a.example", "prompt": "Read it"}))
    whole = f"e1\0{inbox.utc_now()}\0/p\0{event}"

    for number, is_running in enumerate((False, True), start=1):
        (memory / "half").write_text(whole.replace("e1", f"e{number}", 1))
        (memory / "half").rename(memory / "spool" / f"2026-{number}")
        if not is_running:
            consumer()
        row = wait_until(lambda: queries.pending_event(f"e{number}"), timeout_s=20)  # noqa: B023
        wait_until(lambda: queries.queue_stats()["done"] == number)  # noqa: B023
        assert (row.session_id, row.project_dir) == ("s1", "/p")
    assert list((memory / "spool").iterdir()) == []


def test_a_poisoned_task_is_set_aside_without_blocking_others(memory: Path) -> None:
    """A task that kills its consumer is set aside after five deaths, and all other events are done."""
    for number in range(10):
        event = tool_event("WebFetch", tool_input={"url": f"https://a.example/{number}"})
        inbox.append(json.dumps(event), "/p")
    message = json.dumps({"id": "x", "name": "poison_consumer.die", "args": ["no-event"], "priority": 99})
    with inbox.Transaction() as connection:
        message_row = "INSERT INTO task (queue, data, priority) VALUES (?, ?, 99)"
        connection.execute(message_row, ("claude-mem", message.encode()))
    program = ("huey.bin.huey_consumer", "poison_consumer.huey")
    command = [sys.executable, "-m", *program, "-w", "2", "-g", "TERM"]

    deaths = 0
    while True:
        consumer = subprocess.Popen(command, cwd=Path(__file__).parent / "support", stderr=subprocess.DEVNULL)
        wait_until(lambda: consumer.poll() is not None or is_queue_empty())  # noqa: B023
        if consumer.poll() is None:
            break
        deaths += 1
    end(consumer)

    stats = queries.queue_stats()
    assert deaths == 5
    assert (stats["done"], stats["raw"], stats["set_aside"]) == (10, 0, 1)


def test_an_event_that_cannot_be_distilled_ends_in_error(memory: Path) -> None:
    """An event that can never be distilled ends in error; after a disk error it stays to be tried again."""
    from claude_mem_lite.tasks import app, compress

    bad, unlucky = (inbox.append(json.dumps(tool_event()), "/p") for _ in range(2))
    for event_id, error in ((bad, ValueError("odd")), (unlucky, OSError("disk full"))):
        task = compress.compress.s(event_id)
        task.retries = 0
        app.give_up("error", task, error)

    rows = {row.id: (row.status, row.note) for row in models.PendingEvent.select()}

    assert rows == {bad: ("error", "ValueError: odd"), unlucky: ("raw", None)}


def test_a_backlog_survives_consumers_killed_in_the_middle_of_a_batch(memory: Path) -> None:
    """Events processed in batches become one observation each, even if consumers die within a batch."""
    for number in range(400):
        call = {"command": f"make target-{number}", "description": f"Build {number}"}
        inbox.append(json.dumps(tool_event("Bash", tool_input=call)), "/p")

    for done in (60, 150, 260):
        consumer = delivery_experiment.start_consumer()
        wait_until(lambda: queries.queue_stats()["done"] >= done)  # noqa: B023
        consumer.kill()
        consumer.wait()
    consumer = delivery_experiment.start_consumer()
    wait_until(is_queue_empty)
    end(consumer)

    titles = [row.title for row in models.Observation.select()]
    assert queries.queue_stats()["done"] == 400
    assert len(titles) == len(set(titles)) == 400
