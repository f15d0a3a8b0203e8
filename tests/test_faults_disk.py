"""Test a full disk, for each store: hooks print nothing, stored events survive, and work resumes."""

import json
import resource
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.faults import PROJECT, append, build, fill, logged, queue, rows, running, say, small_disk, titles
from support.hooks import run_hook, tool_event
from support.processes import claude_mem, wait_until, web_answers

from claude_mem_lite import config
from claude_mem_lite.capture import client
from claude_mem_lite.search.vectors import Vectors

TRIES_S = 5  # time for the consumer's attempts to fail; it may lack room to log them
EMBEDDED = "SELECT count(*) FROM observations WHERE embedding_status <> 'pending'"
ANSWERS = {
    "session_start": {"hook_event_name": "SessionStart", "source": "startup"},
    "user_prompt_submit": {"hook_event_name": "UserPromptSubmit", "prompt": "Mend the parser of dates."},
    "pre_compact": {"hook_event_name": "PreCompact", "trigger": "auto"},
    "stop": {"hook_event_name": "Stop", "last_assistant_message": "Done."},
    "session_end": {"hook_event_name": "SessionEnd", "reason": "other"},
}


def test_what_a_full_disk_took_is_noted_once_it_has_room(home: Path) -> None:
    """On a full disk hooks exit 0, stored events are processed later, and each lost event is an error row."""
    with small_disk(home, size_kb=2048):
        say(build(0))
        ballast = fill(home)
        for hook, event in ANSWERS.items():
            say({"session_id": "s1", **event}, hook)
        say(build(1, output="x" * 20_000))
        left = sorted(path.stat().st_size for path in (home / "spool").iterdir())
        ballast.unlink()
        say(build(2))
        with running("consumer"):
            wait_until(lambda: queue().get("done") == 2)
        told = claude_mem("status").stdout

        assert left == [0] * (len(ANSWERS) + 1)
        assert queue() == {"done": 2, "error": len(ANSWERS) + 1}
        assert titles() == ["Build target 0", "Build target 2"]
        assert "6 events for good: neither queue.db nor the spool could be written" in told
        assert list((home / "spool").iterdir()) == []


@pytest.mark.meaning
def test_services_on_a_full_disk_go_on_when_it_has_room(home: Path) -> None:
    """On a full disk both services live and search answers; with room again, stored events are finished."""
    with small_disk(home, size_kb=12_000), running("consumer") as consumer, running("web") as web:
        wait_until(web_answers)
        for number in range(6):
            say(build(number))
        wait_until(lambda: rows(config.memory_path(), EMBEDDED) == [(6,)])
        made_at = Vectors("minilm_384", 384).version()
        ids = [append(build(number)) for number in range(6, 30)]
        ballast = fill(home)
        say(build(30, output="x" * 20_000))
        found = client.get("/api/search", {"q": "target"}, timeout_s=10)
        time.sleep(TRIES_S)
        ballast.unlink()
        say(build(31))
        stored = {event_id for (event_id,) in rows(config.queue_path(), "SELECT id FROM pending_queue")}
        wait_until(lambda: queue().get("raw", 0) == 0)
        wait_until(lambda: rows(config.memory_path(), EMBEDDED) == [(len(titles()),)])

        assert (consumer.poll(), web.poll()) == (None, None)
        assert found["results"]
        assert set(ids) <= stored
        assert len(titles()) == len(stored)
        assert Vectors("minilm_384", 384).version()[0] == made_at[0]
        assert "computed again" not in logged(home)


@pytest.mark.meaning
def test_full_disks_of_vectors_and_logs_cost_no_observation(home: Path) -> None:
    """With full disks for logs and vectors, events are stored and found by words, and later by meaning."""
    with small_disk(home / "logs", size_kb=64) as logs, small_disk(home / "lance", size_kb=2048) as lance:
        fill(logs)
        ballast = fill(lance)
        with running("consumer") as consumer, running("web") as web:
            wait_until(web_answers)
            for number in range(4):
                say(build(number))
            wait_until(lambda: len(titles()) == 4)
            wait_until(lambda: client.post("/api/embed", {"texts": []}, timeout_s=60))
            by_words = client.get("/api/search", {"q": "target"}, timeout_s=10)
            before = rows(config.memory_path(), EMBEDDED)
            ballast.unlink()
            wait_until(lambda: rows(config.memory_path(), EMBEDDED) == [(4,)])

            assert (consumer.poll(), web.poll()) == (None, None)
            assert (by_words["search_type"], len(by_words["results"])) == ("fts", 4)
            assert before == [(0,)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs")
def test_a_consumer_that_may_not_write_finishes_when_it_may(home: Path) -> None:
    """A consumer over its file size limit keeps running and finishes every event once the limit is lifted."""
    with running("consumer") as consumer:
        first = append(build(0))
        wait_until(lambda: queue() == {"done": 1})
        limits = resource.prlimit(consumer.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(consumer.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
        ids = [append(build(number)) for number in range(1, 8)]
        wait_until(lambda: "OperationalError" in logged(home) + (home / "logs" / "consumer.out").read_text())
        resource.prlimit(consumer.pid, resource.RLIMIT_FSIZE, limits)
        wait_until(lambda: queue() == {"done": 8})

        assert consumer.poll() is None
        observed = rows(config.memory_path(), "SELECT id FROM observations")
        assert {event_id for (event_id,) in observed} == {first, *ids}


def test_a_hook_without_room_in_queue_db_uses_the_spool(home: Path) -> None:
    """A locked queue and a full spool leave a note of the lost event, and the hook prints nothing."""
    with small_disk(home / "spool", size_kb=64) as spool:
        say(build(0))
        ballast = fill(spool)
        with closing(sqlite3.connect(config.queue_path(), isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            done = run_hook("post_tool_use", json.dumps(tool_event("WebFetch")).encode(), project_dir=PROJECT)
            lost = [path.suffix for path in spool.iterdir() if path != ballast]
            ballast.unlink()
            say(build(1))
        waiting = [path for path in spool.iterdir() if path.suffix != ".lost"]
        with running("consumer"):
            wait_until(lambda: queue() == {"done": 2, "error": 1})

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert (lost, len(waiting)) == ([".lost"], 1)
        assert titles() == ["Build target 0", "Build target 1"]
