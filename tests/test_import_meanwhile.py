"""import transcripts while hooks, a consumer or the session itself go on, and after it was cut short."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.fake_messages import FakeMessages
from support.hooks import run_hook
from support.processes import wait_until
from support.transcripts_on_disk import SESSION, a_session, recorded, remembered, take_in

from claude_mem_lite import config, settings
from claude_mem_lite.capture import backlog
from claude_mem_lite.services import install
from claude_mem_lite.storage import facts, models, queries, rewrites

COMMAND = [sys.executable, "-m", "claude_mem_lite.cli", "import", "transcripts"]


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_an_import_cut_short_is_completed(
    stop: signal.Signals, memory: Path, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed or interrupted at any time, the same command goes on, and all is as if it never was."""
    for number in range(8):
        name, began = f"{SESSION[:-2]}{number:02}", f"2026-11-{number + 1:02}T10:00:00"
        a_session(projects, session_id=name, began=began)
    recorded("2.1.50", projects)
    take_in()
    whole = remembered()
    for attempt in range(2):
        monkeypatch.setenv("CLAUDE_MEM_HOME", str(memory / f"cut{attempt}"))
        models.open_databases()

        running = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda wanted=1 + 50 * attempt: models.PendingEvent.select().count() >= wanted)
        running.send_signal(stop)
        _, said = running.communicate(timeout=60)
        take_in()

        assert running.returncode in {(130 if stop == signal.SIGINT else -stop), 0}
        assert "Traceback" not in said
        assert remembered() == whole


def test_an_import_asks_nobody_to_pay(
    fake: FakeMessages, projects: Path, consumer: Callable[[], Any]
) -> None:
    """With a key and a running consumer nothing waits for Claude; compress offers it to the user."""
    now = dt.datetime.now(dt.UTC) - dt.timedelta(hours=5)
    a_session(projects, began=now.replace(tzinfo=None).isoformat())
    consumer()
    wait_until(lambda: facts.read("consumer"))

    answer = take_in()

    day_ago = (now - dt.timedelta(days=1)).isoformat()
    assert answer["claude_usd"] > 0
    assert rewrites.outdated_sessions(after=day_ago) == []
    assert (rewrites.waiting_observations(settings.TIERS), rewrites.waiting_sessions()) == ([], [])
    assert queries.sessions_to_summarize(idle_since="9") == []
    assert backlog.requeue() == 0
    assert fake.requests == []
    asked = json.loads(command("compress", "--json").stdout)
    assert (asked["captures"], asked["summaries"]) == (1, 1)


def test_a_running_session_is_completed_later(memory: Path, projects: Path) -> None:
    """Of a session that goes on the past is taken; a later import has the rest."""
    now = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=15)
    lines = a_session(projects, began=now.replace(tzinfo=None).isoformat())
    lines.user("Now the taxes").call("Bash", {"command": "make", "description": "x"}, after_s=890)
    os.utime(lines.result("built").write(projects))

    first = take_in()
    os.utime(lines.user("Thanks for the taxes").write(projects), (1_700_000_000, 1_700_000_000))
    second = take_in()

    assert (first["tool_calls"], second["tool_calls"]) == (2, 1)
    assert models.Session.get().status == "closed"
    prompts = [row.title for row in queries.observations_of(SESSION) if row.tool_name == "UserPromptSubmit"]
    assert prompts == ["Round the totals in invoice.py", "Now the taxes", "Thanks for the taxes"]


def test_hooks_go_on_while_an_import_runs(memory: Path, projects: Path) -> None:
    """An event of a live session that comes in meanwhile is stored, and no import touches it."""
    recorded("2.1.329", projects)
    models.close_databases()

    running = subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL)
    sent = 0
    while running.poll() is None:
        sent += 1
        event = {"session_id": "live", "hook_event_name": "UserPromptSubmit", "prompt": "Go on"}
        run_hook(install.hook_events()["UserPromptSubmit"]["hook"], event)

    backlog.take_in_spool()
    models.open_databases()
    live = models.PendingEvent.select().where(models.PendingEvent.session_id == "live")
    assert running.returncode == 0
    assert [row.status for row in live] == ["raw"] * sent
    assert queries.counts() == {"sessions": 4, "observations": 173}
    assert config.home() == str(memory)
