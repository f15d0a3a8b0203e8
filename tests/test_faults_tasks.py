"""Test interrupted, late and excessive work: SIGTERM in tasks, clock steps, 100,000 events, descriptors."""

import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import record_ids
from support.fake_messages import FakeMessages
from support.faults import PROJECT, append, build, queue, rows, running, say, titles
from support.hooks import run_hook, tool_event
from support.processes import claude_mem, end, wait_until, web_answers

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.services import instance, process_states
from claude_mem_lite.storage import models

SOURCE = (
    "def cents(text):\n    return round(float(text) * 100)\n\n\n"
    "def total(rows):\n    return sum(map(cents, rows))\n"
)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs")
MANY = 100_000


def play_session(project: Path, session_id: str) -> None:
    """Store a session that has work for every task."""
    (project / ".git").mkdir(parents=True, exist_ok=True)
    file = project / f"{session_id}.py"
    file.write_text(SOURCE)
    edit = {"file_path": str(file), "old_string": "float(text)", "new_string": "float(text) * 1"}
    said = "Always use cents for amounts of money, never floats."
    events: list[dict[str, Any]] = [
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": said},
        tool_event("Write", tool_input={"file_path": str(file), "content": SOURCE}),
        tool_event("Edit", tool_input=edit, tool_response={"filePath": str(file)}),
        *(build(number) for number in range(4)),
        {"hook_event_name": "Stop", "last_assistant_message": "Amounts are cents now."},
        {"hook_event_name": "SessionEnd", "reason": "other"},
    ]
    for event in events:
        inbox.append(json.dumps(event | {"session_id": session_id}), str(project))


def is_all_done() -> bool:
    """Return whether nothing waits: no event, message (except timers), vector or rewrite."""
    waits = (
        (config.queue_path(), "SELECT count(*) FROM pending_queue WHERE status = 'raw'"),
        (config.queue_path(), "SELECT count(*) FROM task WHERE priority >= 10"),
        (config.memory_path(), "SELECT count(*) FROM observations WHERE upgrade = 'waiting'"),
        (config.memory_path(), "SELECT count(*) FROM sessions WHERE upgrade = 'waiting'"),
        (config.memory_path(), "SELECT count(*) = 0 FROM sessions"),
        *(  # last, because tasks that change texts have ended by then
            (config.memory_path(), f"SELECT count(*) FROM {table} WHERE embedding_status = 'pending'")
            for table in ("observations", "sessions", "learnings", "function_map")
        ),
    )
    return all(rows(path, query) == [(0,)] for path, query in waits)


def remembered() -> dict[str, list[tuple[Any, ...]]]:
    """Return the memory's content without times and random ids."""
    asked = {
        "observations": "SELECT id, title, summary, files_touched, written_by, upgrade, embedding_status"
        " FROM observations ORDER BY id",
        "sessions": "SELECT id, status, summary, key_files, key_decisions, written_by, observation_count,"
        " embedding_status FROM sessions ORDER BY id",
        "learnings": "SELECT project_dir, category, content, times_seen, is_active FROM learnings ORDER BY 3",
        "calls": "SELECT caller_file, caller_function, callee_file, callee_function, times_confirmed"
        " FROM call_graph ORDER BY 1, 2, 3, 4",
        "functions": "SELECT file_path, qualified_name, signature FROM function_map ORDER BY 1, 2",
        "calls of the API": "SELECT event_type, count(*) FROM event_log WHERE event_type = 'summarize.told'",
    }
    return {name: rows(config.memory_path(), query) for name, query in asked.items()}


@pytest.mark.meaning
def test_sigterm_in_the_middle_of_any_task_changes_nothing(
    fake: FakeMessages, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM at random moments leaves the same memory as an undisturbed run, with the same API requests."""
    chance, ends, statuses = random.Random(3), 0, set()  # noqa: S311  (a test, no secret)
    models.close_databases()
    play_session(tmp_path / "ledger", "s1")
    disturbed = home.with_name(f"{home.name}-2")
    shutil.copytree(home, disturbed)
    try:
        with running("consumer"), running("web"):
            wait_until(is_all_done)
        expected, asked = remembered(), len(fake.requests)
        monkeypatch.setenv("CLAUDE_MEM_HOME", str(disturbed))
        with running("web"):
            wait_until(web_answers)
            while ends < 4 and not is_all_done():
                with running("consumer") as consumer:
                    wait_until(lambda: instance.is_running("consumer"))
                    time.sleep(chance.uniform(0.2, 0.8))
                    statuses.add(end(consumer))
                ends += 1
            with running("consumer"):
                wait_until(is_all_done)
        found = remembered()
    finally:
        shutil.rmtree(disturbed)

    words = [
        Counter(
            record for each in requests for record in record_ids(str(each.body["messages"][0]["content"]))
        )
        for requests in (fake.requests[:asked], fake.requests[asked:])
    ]
    assert found == expected
    assert ends > 2
    assert statuses == {0}
    assert words[0] == words[1]
    assert words[0]
    assert all(found[name] for name in ("observations", "sessions", "learnings", "calls", "functions"))


@LINUX
def test_a_hundred_thousand_waiting_events_hold_nobody_up(home: Path) -> None:
    """With 100,000 waiting events start, hooks and status respond at once; requeueing takes little memory."""
    inbox.append(json.dumps(build(0)), PROJECT)
    with inbox.Transaction() as connection:
        connection.execute("DELETE FROM task")
        connection.execute(
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO pending_queue (id, session_id, event_name, tool_name, project_dir, raw_output,"
            " created_at) SELECT 'e' || i, 's' || (i % 5000), event_name, tool_name, project_dir, raw_output,"
            " created_at FROM n, pending_queue WHERE seq = 1",
            (MANY - 1,),
        )
    code = (
        "from claude_mem_lite.capture import backlog, inbox\n"
        "used = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "inbox.create_schema(inbox.sqlite3.connect(inbox.config.queue_path())); before = used()\n"
        "print(backlog.requeue(), used() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    with inbox.Transaction() as connection:
        connection.execute("DELETE FROM task")

    started = time.monotonic()
    with running("consumer"), running("web"):
        took = []
        while not queue().get("done"):
            begun = time.monotonic()
            say(build(1))
            took.append(time.monotonic() - begun)
        begun = time.monotonic()
        text = f"first event after {begun - started:.1f} s, hooks {max(took) * 1000:.0f} ms at most\n"
        sys.stdout.write(text)
        status = json.loads(claude_mem("status", "--json").stdout)
        sys.stdout.write(f"status took {time.monotonic() - begun:.1f} s\n")
        kept = sum(queue().values()) + len(list((home / "spool").iterdir()))

    requeued, grown_kb = map(int, done.stdout.split())
    sys.stdout.write(f"requeue took {grown_kb >> 10} MB\n")
    assert requeued == MANY
    assert grown_kb < 8 << 10
    assert status["queue"]["raw"] > MANY * 0.9
    assert kept == MANY + len(took)


def test_order_and_timers_stay_right_when_the_clock_steps(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a clock step back a session still ends, and a timer of the later clock runs at once."""
    later, earlier = (inbox.utc_text(time.time() + shift) for shift in (3600, 0))
    append({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"})
    append(build(0))
    append({"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "other"})
    learn = {"id": "x", "name": "claude_mem_lite.tasks.learn.learn", "priority": 10, "args": ["s1"]}
    with inbox.Transaction() as connection:
        connection.execute("UPDATE pending_queue SET created_at = iif(seq < 3, ?, ?)", (later, earlier))
        connection.execute(
            "INSERT INTO task (queue, data, priority, due) VALUES (?, ?, 10, ?)",
            (inbox.QUEUE_NAME, json.dumps(learn).encode(), time.time() + 3600),
        )
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    code = "from claude_mem_lite.tasks import consumer, learn; learn.learn.schedule(('s1',), delay=2)"
    subprocess.run([sys.executable, "-c", code], check=True)
    query = (
        "SELECT json_extract(CAST(data AS TEXT), '$.eta') FROM task WHERE due = 0 ORDER BY id DESC LIMIT 1"
    )
    [(eta,)] = rows(config.queue_path(), query)
    monkeypatch.setenv("TZ", "America/New_York")

    with running("consumer"):
        # Events from before the consumer's start have a priority below new ones.
        urgent = f"SELECT count(*) FROM task WHERE priority >= {min(inbox.BEHIND.values())}"
        wait_until(lambda: rows(config.queue_path(), urgent) == [(0,)])

    assert eta[:13] in {inbox.utc_text(time.time() - ago)[:13] for ago in (0, 60)}
    assert queue() == {"done": 3}
    assert rows(config.memory_path(), "SELECT status, summary <> '' FROM sessions") == [("closed", 1)]


@LINUX
def test_without_file_descriptors_both_processes_live_and_go_on(home: Path) -> None:
    """Without free file descriptors both processes live on, and lose nothing."""
    with running("consumer") as consumer, running("web") as web, ExitStack() as idle:
        wait_until(web_answers)
        append(build(0))
        wait_until(lambda: queue() == {"done": 1})
        limits = {each.pid: resource.prlimit(each.pid, resource.RLIMIT_NOFILE) for each in (consumer, web)}
        for pid, (_, hard) in limits.items():
            least = len(os.listdir(f"/proc/{pid}/fd"))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (least + (4 if pid == web.pid else 0), hard))
        for _ in range(20):
            connection = idle.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(1)
            connection.connect(config.socket_path())
        start = {"session_id": "s2", "hook_event_name": "SessionStart", "source": "startup"}
        told = run_hook("session_start", start, project_dir=PROJECT)
        for number in range(1, 4):
            say(build(number))
        time.sleep(2)
        alive = consumer.poll() is web.poll() is None
        idle.close()
        for pid, before in limits.items():
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        wait_until(lambda: queue() == {"done": 5})
        found = wait_until(lambda: client.get("/api/search", {"q": "target"}, timeout_s=5))

    assert alive
    assert (told.returncode, told.stderr) == (0, b"")
    assert len(found["results"]) == 4
    assert titles() == [f"Build target {number}" for number in range(4)]


@pytest.mark.meaning
@pytest.mark.usefixtures("services")
def test_a_web_process_killed_in_a_request_is_replaced(home: Path) -> None:
    """A web process killed in a request is replaced: that request gets nothing, hooks fall back meanwhile."""
    append(build(0))
    append({"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "other"})
    wait_until(lambda: rows(config.memory_path(), "SELECT 1 FROM sessions WHERE summary <> ''"))
    wait_until(lambda: client.post("/api/embed", {"texts": []}, timeout_s=30))
    pid = {program.name: program.pid for program in process_states.programs()}["web"]
    assert pid is not None
    answers: list[Any] = []
    texts = {"texts": ["otter " * 2000] * 64}
    asking = threading.Thread(target=lambda: answers.append(client.post("/api/embed", texts, timeout_s=60)))

    asking.start()
    time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    start = {"session_id": "s2", "hook_event_name": "SessionStart", "source": "startup"}
    told = run_hook("session_start", start, project_dir=PROJECT)
    asking.join()
    found = wait_until(lambda: web_answers() and client.get("/api/search", {"q": "target"}, timeout_s=5))

    assert answers == [None]
    assert "Build target 0" in json.loads(told.stdout)["hookSpecificOutput"]["additionalContext"]
    assert found["results"]
