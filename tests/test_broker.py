"""Test the broker: a message stays until its task has returned, whatever dies in between."""

import datetime as dt
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.hooks import tool_event

from claude_mem_lite.capture import backlog, inbox
from claude_mem_lite.tasks.broker import MAX_CRASHES, ClaimHuey, ClaimStorage


@pytest.fixture
def huey(home: Path) -> Iterator[ClaimHuey]:
    """Return a Huey instance with two tasks on the test's queue.db."""
    instance = ClaimHuey()
    instance.storage.open_doorbell()
    ran: list[Any] = []
    instance.ran = ran

    @instance.task(name="note", priority=20)
    def note(value: str) -> None:
        ran.append(value)

    @instance.task(name="fail", retries=2, retry_delay=5, retry_backoff=2)
    def fail() -> None:
        ran.append("failed")
        raise RuntimeError

    instance.note, instance.fail = note, fail
    yield instance
    instance.storage.close()


def tasks(huey: ClaimHuey) -> list[tuple[Any, ...]]:
    """Return the task table without its data column."""
    return list(huey.storage.sql("SELECT queue, claimed, crashes FROM task ORDER BY id", results=True))


def test_the_hook_writes_the_message_that_huey_would_write(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inbox writes the same message, field by field, as Huey's own enqueue."""
    from claude_mem_lite.tasks import consumer

    huey = consumer.huey
    # The first test that loaded the tasks opened the queue of its own memory.
    monkeypatch.setattr(huey, "storage", ClaimStorage(inbox.QUEUE_NAME))
    event_id = inbox.append(json.dumps(tool_event("WebFetch")), "/p")
    from_hook = huey.dequeue()
    consumer.compress.compress(event_id)

    from_huey = huey.dequeue()
    huey.storage.close()

    differing = {"id", "revoke_id"}
    assert {key: value for key, value in vars(from_hook).items() if key not in differing} == {
        key: value for key, value in vars(from_huey).items() if key not in differing
    }
    assert type(from_hook) is type(from_huey)
    assert list(from_hook.args) == [event_id]


@pytest.mark.parametrize("name", [inbox.COMPRESS, inbox.SUMMARIZE, inbox.SHOWN, inbox.EMBED])
def test_what_others_ask_for_by_name_is_a_task(memory: Path, name: str) -> None:
    """The task names that the inbox knows exist in the consumer."""
    from claude_mem_lite.tasks import consumer

    task = consumer.huey.deserialize_task(json.dumps({"id": "1", "name": name}).encode())

    assert name == f"{type(task).__module__}.{task.name}"


def test_a_claimed_message_stays_until_it_is_acknowledged(huey: ClaimHuey) -> None:
    """A dequeued row stays, claimed, until its task was executed."""
    huey.note("a")

    task = huey.dequeue()
    claimed = tasks(huey)
    huey.execute(task)

    assert (claimed, huey.ran, tasks(huey)) == ([("claude-mem", 1, 0)], ["a"], [])


def test_the_most_urgent_message_comes_first(huey: ClaimHuey) -> None:
    """Messages come by priority, then in order of arrival."""
    for priority, value in ((10, "low"), (30, "high"), (20, "first"), (20, "second")):
        huey.enqueue(huey.note.s(value, priority=priority))

    order = [huey.dequeue().args[0] for _ in range(4)]

    assert order == ["high", "first", "second", "low"]


def test_what_is_new_comes_before_what_waited_before_the_start(huey: ClaimHuey) -> None:
    """New events come before the backlog, which keeps its order; other tasks stay where they were."""
    ids = [inbox.append(json.dumps(tool_event(name)), "/p") for name in ("Read", "Edit", "WebFetch", "Edit")]
    huey.note("a task")
    backlog.fall_behind()
    ids += [inbox.append(json.dumps(tool_event(name)), "/p") for name in ("Read", "Edit")]
    backlog.requeue()

    order = [json.loads(huey.storage.dequeue())["args"][0] for _ in range(7)]

    read, first, fetched, second, new_read, new_edit = ids
    assert order == [new_edit, "a task", new_read, first, second, fetched, read]


def test_a_poisoned_message_is_set_aside_without_its_neighbour(huey: ClaimHuey) -> None:
    """After five crashes the message present at each is dead; one that was present once stays queued."""
    huey.note("poison")
    huey.note("neighbour")
    huey.dequeue()
    huey.dequeue()
    huey.storage.release()

    for _ in range(MAX_CRASHES - 1):
        assert huey.dequeue().args == ["poison"]
        assert huey.storage._claim() is None
        buried = huey.storage.release()

    assert [json.loads(data)["args"] for data in buried] == [["poison"]]
    assert tasks(huey) == [("claude-mem!dead", 0, 5), ("claude-mem", 0, 1)]
    assert huey.dequeue().args == ["neighbour"]


@pytest.mark.parametrize(
    "data", [b'{"id":"1","name":"gone.task"}', b"not json", b"[]", b'{"id":"1","name":"note","colour":"red"}']
)
def test_an_unknown_message_is_kept_aside(huey: ClaimHuey, data: bytes) -> None:
    """A message that no task can run is set aside, neither run nor dropped, and the next one is served."""
    huey.storage.enqueue(data, 30)
    huey.note("a")

    first, second = huey.dequeue(), huey.dequeue()

    assert first is None
    assert (second.args, tasks(huey)[0]) == (["a"], ("claude-mem!dead", 0, 0))


def test_a_failed_task_is_due_again_after_its_delay(huey: ClaimHuey) -> None:
    """A retry waits 5 s, then 10 s, and is not served before; after the last one nothing is left."""
    huey.fail()
    delays = []
    for _ in range(2):
        huey.execute(huey.dequeue())
        due = huey.storage.sql("SELECT due FROM task", results=True)[0][0]
        delays.append(round(due - time.time()))
        assert huey.storage._claim() is None
        huey.storage.sql("UPDATE task SET due = 0, data = ?", (_now_due(huey),), commit=True)
    huey.execute(huey.dequeue())

    assert delays == [5, 10]
    assert huey.ran == ["failed"] * 3
    assert tasks(huey) == []


def _now_due(huey: ClaimHuey) -> bytes:
    """Return the data of the one waiting message, with its time moved to the past."""
    fields = json.loads(huey.storage.sql("SELECT data FROM task", results=True)[0][0])
    fields["eta"] = dt.datetime(2026, 1, 1).isoformat()  # noqa: DTZ001  (Huey's times are naive UTC)
    return json.dumps(fields).encode()


def test_a_ring_wakes_a_waiting_worker(huey: ClaimHuey) -> None:
    """A waiting worker takes a message that arrives meanwhile."""
    import threading

    timer = threading.Timer(0.2, lambda: huey.note("a"))
    timer.start()

    task = huey.dequeue()
    timer.join()

    assert task.args == ["a"]


def test_a_message_that_could_not_be_finished_is_free_again(
    huey: ClaimHuey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is full at a task's end, its message returns later, without a restart."""
    huey.note("a")
    task = huey.dequeue()

    def full() -> None:
        raise OSError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(huey.storage, "acknowledge", full)
        with pytest.raises(OSError, match="disk full"):
            huey.execute(task)
    waiting = huey.storage._claim()
    due = huey.storage.sql("SELECT due, claimed FROM task", results=True)

    assert waiting is None
    assert due[0][0] > time.time()
    assert due[0][1] == 0


def test_messages_claimed_together_are_acknowledged_together(huey: ClaimHuey) -> None:
    """Messages claimed together have one task and priority; one given back is later run alone."""
    for value in ("a", "b", "c"):
        huey.note(value)
    own = huey.dequeue()
    assert own is not None

    more = huey.storage.claim_more(5)
    _, last = more
    huey.storage.give_back([last])
    huey.execute(own)
    alone = huey.dequeue()

    assert (huey.ran, len(more), alone.args) == (["a"], 2, ["c"])
    assert (huey.storage.claim_more(5), tasks(huey)) == ({}, [("claude-mem", 1, 0)])


def test_what_a_dead_consumer_had_in_hand_is_run_by_itself(huey: ClaimHuey) -> None:
    """Messages that a dead consumer had claimed run one at a time, so that the one that kills it is found."""
    for value in ("a", "b", "c"):
        huey.note(value)
    huey.storage.dequeue()
    huey.storage.claim_more(1)
    huey.storage.release()

    crashed = huey.dequeue()

    assert (crashed is not None, huey.storage.claim_more(5)) == (True, {})
    assert tasks(huey) == [("claude-mem", 1, 1), ("claude-mem", 0, 1), ("claude-mem", 0, 0)]
