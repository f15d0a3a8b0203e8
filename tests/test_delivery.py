"""At-least-once on real processes that die: nothing is lost, nothing is remembered twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from support import delivery_experiment
from support.hooks import tool_event
from support.processes import end, running, wait_until

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import models, queries

Start = Callable[[], subprocess.Popen[bytes]]


def test_no_event_is_lost_when_hooks_and_consumers_are_killed(memory: Path) -> None:
    """Each event whose hook ended well is one finished row and at most one observation."""
    outcome = delivery_experiment.run(hooks=120, kills=8, seed=1)

    assert (outcome.lost, outcome.unfinished, outcome.doubled) == ((), (), ())
    assert outcome.hooks_ended >= 108
    assert outcome.consumers_killed == 8


def test_a_graceful_stop_finishes_the_task_in_hand(memory: Path, consumer: Start) -> None:
    """SIGTERM under load leaves no claimed message behind, and the next consumer does the rest."""
    for number in range(150):
        inbox.append(
            json.dumps(tool_event("WebFetch", tool_input={"url": f"https://a.example/{number}"})), "/p"
        )
    first = consumer()
    wait_until(lambda: queries.queue_stats()["done"] > 10)

    first.terminate()
    status = first.wait(timeout=30)
    claimed = models.queue_database.execute_sql("SELECT count(*) FROM task WHERE claimed = 1").fetchone()
    consumer()
    wait_until(lambda: queries.queue_stats()["messages"] == 0)

    assert status == 0
    assert claimed == (0,)
    assert {row.attempts for row in models.PendingEvent.select()} == {1}


def test_a_stop_wakes_the_workers_that_wait(memory: Path) -> None:
    """An idle consumer ends when it is told to, however long its workers would wait for work."""
    program = """if True:
        from claude_mem_lite.tasks import broker
        broker.POLL_S = 3_600
        from huey.bin.huey_consumer import consumer_main
        consumer_main()
    """
    command = [sys.executable, "-I", "-c", program, "claude_mem_lite.tasks.consumer.huey", "-w", "2"]
    inbox.append(json.dumps(tool_event("WebFetch")), "/p")

    with running(*command, "-g", "TERM") as consumer:
        wait_until(lambda: queries.queue_stats()["messages"] == 0)
        status = end(consumer)

    assert status == 0


def test_a_second_consumer_waits_for_the_first(memory: Path, consumer: Start) -> None:
    """Two consumers of one data directory never work at once; the second takes over."""
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


def test_what_waits_in_the_spool_is_taken_in_at_the_start(memory: Path, consumer: Start) -> None:
    """An event that had to go to a file becomes an observation like any other."""
    event = json.dumps(tool_event("WebFetch", tool_input={"url": "https://a.example", "prompt": "Read it"}))
    (memory / "spool" / "2026-x").write_text(f"e1\0{inbox.utc_now()}\0/p\0{event}")

    consumer()

    row = wait_until(lambda: queries.pending_event("e1"))
    wait_until(lambda: queries.queue_stats()["done"] == 1)
    assert (row.session_id, row.project_dir) == ("s1", "/p")
    assert list((memory / "spool").iterdir()) == []


def test_a_poisoned_task_is_set_aside_without_blocking_others(memory: Path) -> None:
    """A task that kills every consumer is buried after five of them; all other events are done."""
    for number in range(10):
        inbox.append(
            json.dumps(tool_event("WebFetch", tool_input={"url": f"https://a.example/{number}"})), "/p"
        )
    message = json.dumps({"id": "x", "name": "poison_consumer.die", "args": ["no-event"], "priority": 99})
    with inbox.Transaction() as connection:
        connection.execute(
            "INSERT INTO task (queue, data, priority) VALUES (?, ?, 99)", ("claude-mem", message.encode())
        )
    command = [
        sys.executable,
        "-m",
        "huey.bin.huey_consumer",
        "poison_consumer.huey",
        "-w",
        "2",
        "-g",
        "TERM",
    ]

    deaths = 0
    while True:
        consumer = subprocess.Popen(command, cwd=Path(__file__).parent / "support", stderr=subprocess.DEVNULL)
        wait_until(lambda: consumer.poll() is not None or queries.queue_stats()["messages"] == 0)  # noqa: B023
        if consumer.poll() is None:
            break
        deaths += 1
    consumer.terminate()
    consumer.wait()

    stats = queries.queue_stats()
    assert deaths == 5
    assert (stats["done"], stats["raw"], stats["set_aside"]) == (10, 0, 1)


def test_an_event_that_cannot_be_distilled_ends_in_error(memory: Path) -> None:
    """A task that fails for good marks its row; a fault of the disk leaves it for another try."""
    from claude_mem_lite.tasks import app, compress

    bad, unlucky = (inbox.append(json.dumps(tool_event()), "/p") for _ in range(2))
    for event_id, error in ((bad, ValueError("odd")), (unlucky, OSError("disk full"))):
        task = compress.compress.s(event_id)
        task.retries = 0
        app.give_up("error", task, error)

    rows = {row.id: (row.status, row.note) for row in models.PendingEvent.select()}

    assert rows == {bad: ("error", "ValueError: odd"), unlucky: ("raw", None)}


def test_a_backlog_survives_consumers_killed_in_the_middle_of_a_batch(memory: Path) -> None:
    """What was worked on together is remembered once, whichever of its steps the consumer died in."""
    for number in range(400):
        call = {"command": f"make target-{number}", "description": f"Build {number}"}
        inbox.append(json.dumps(tool_event("Bash", tool_input=call)), "/p")

    for done in (60, 150, 260):
        consumer = subprocess.Popen(delivery_experiment.CONSUMER, stderr=subprocess.DEVNULL)
        wait_until(lambda: queries.queue_stats()["done"] >= done)  # noqa: B023
        consumer.kill()
        consumer.wait()
    consumer = subprocess.Popen(delivery_experiment.CONSUMER, stderr=subprocess.DEVNULL)
    wait_until(lambda: queries.queue_stats()["messages"] == 0)
    consumer.terminate()
    consumer.wait()

    titles = [row.title for row in models.Observation.select()]
    assert queries.queue_stats()["done"] == 400
    assert len(titles) == len(set(titles)) == 400
