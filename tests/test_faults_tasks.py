"""Work that is interrupted, late or too much: SIGTERM in each task, clocks, 100,000 events, descriptors."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from claudes_words import record_ids
from conftest import run_hook, tool_event, wait_until, web_answers
from fake_messages import FakeMessages
from faults import PROJECT, append, build, queue, rows, running, say, stop, titles
from test_services import claude_mem, services  # noqa: F401  (a fixture)

from claude_mem_lite import client, config, inbox
from claude_mem_lite.services import supervise
from claude_mem_lite.storage import models, queries

SOURCE = "def cents(text):\n    return round(float(text) * 100)\n\n\ndef total(rows):\n    return sum(map(cents, rows))\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs")
MANY = 100_000


def play_session(project: Path, session_id: str) -> None:
    """Store a session that gives every task something to do."""
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
    """Tell whether nothing waits: no event, no message but timers, no vector, no words of Claude."""
    waits = (
        (config.queue_path(), "SELECT count(*) FROM pending_queue WHERE status = 'raw'"),
        (config.queue_path(), "SELECT count(*) FROM task WHERE priority >= 10"),
        (config.memory_path(), "SELECT count(*) FROM observations WHERE embedding_status = 'pending'"),
        (config.memory_path(), "SELECT count(*) FROM observations WHERE upgrade = 'waiting'"),
        (config.memory_path(), "SELECT count(*) FROM sessions WHERE upgrade = 'waiting'"),
        (config.memory_path(), "SELECT count(*) FROM sessions WHERE extraction = 'waiting'"),
        (config.memory_path(), "SELECT count(*) = 0 FROM sessions"),
    )
    return all(rows(path, query) == [(0,)] for path, query in waits)


def remembered() -> dict[str, list[tuple[Any, ...]]]:
    """Return what is in the memory, without times and ids that are drawn."""
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


def test_sigterm_in_the_middle_of_any_task_changes_nothing(
    fake: FakeMessages, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer ended again and again leaves the memory that an undisturbed one makes, each word asked once."""
    chance, ends, statuses = random.Random(3), 0, set()  # noqa: S311  (a test, no secret)
    models.close_databases()
    for session_id in ("s1", "s2"):
        play_session(tmp_path / "ledger", session_id)
    (home / "config.toml").write_text("[services]\nautostart = false\n")
    disturbed = home.with_name(f"{home.name}-2")
    shutil.copytree(home, disturbed)
    try:
        with running("consumer"), running("web"):
            wait_until(is_all_done, timeout_s=90)
        expected, asked = remembered(), len(fake.requests)
        monkeypatch.setenv("CLAUDE_MEM_HOME", str(disturbed))
        with running("web"):
            wait_until(web_answers)
            while not is_all_done():
                with running("consumer") as consumer:
                    time.sleep(chance.uniform(0.5, 1.4) if ends < 12 else 60)
                    statuses.add(stop(consumer))
                ends += 1
        found = remembered()
    finally:
        shutil.rmtree(disturbed)

    words = Counter(
        record
        for request in fake.requests[asked:]
        for record in record_ids(str(request.body["messages"][0]["content"]))
    )
    print(f"{ends} ends, {asked} and {len(fake.requests) - asked} requests")
    assert found == expected
    assert ends > 2
    assert statuses == {0}
    assert set(words.values()) == {1}
    assert all(found[name] for name in ("observations", "sessions", "learnings", "calls", "functions"))
