"""Test the recorded history through real hooks and a real consumer: what is stored, redacted and found."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.databases import find
from support.hooks import run_hook
from support.processes import is_queue_empty, wait_until
from support.recorded import FACTS, comparable, events, leaks

from claude_mem_lite import config
from claude_mem_lite.cli import demo
from claude_mem_lite.services import install
from claude_mem_lite.storage import models

HISTORIES = ("2.1.329", "2.1.197", "2.1.50")


def replay(version: str) -> None:
    """Send a history through hook processes and have a consumer process it."""
    for event in events(version):
        run_hook(install.hook_events()[event["hook_event_name"]]["hook"], event, project_dir=demo.PROJECT)
    program = ("huey.bin.huey_consumer", "claude_mem_lite.tasks.consumer.huey")
    command = [sys.executable, "-I", "-m", *program, "-w", "2"]
    with (Path(config.log_dir()) / "consumer.out").open("ab") as out:
        consumer = subprocess.Popen([*command, "-g", "TERM"], stdout=out, stderr=out)
    wait_until(is_queue_empty)
    consumer.terminate()
    consumer.wait()


def test_three_clients_leave_the_same_memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first session gives equal observations from each of the three recorded client versions."""
    remembered = {}
    for version in HISTORIES:
        monkeypatch.setenv("CLAUDE_MEM_HOME", str(home / version))
        models.open_databases()
        (home / version / "config.toml").write_text("[services]\nautostart = false\n")
        replay(version)
        rows = models.Observation.select().order_by(models.Observation.created_at)
        remembered[version] = [comparable(row) for row in rows]

    assert leaks(home) == []
    assert len(remembered["2.1.329"]) > 20
    assert remembered["2.1.197"] == remembered["2.1.329"]
    assert remembered["2.1.50"] == remembered["2.1.329"]


def all_sessions() -> None:
    """Record all four sessions of the newest client."""
    Path(config.config_path()).write_text("[services]\nautostart = false\n")
    replay("all")


@pytest.fixture
def ledger(memory: Path, fill_once: Callable[[Callable[[], object]], None]) -> Path:
    """Return a data directory with all four sessions and no services running."""
    fill_once(all_sessions)
    return memory


def test_no_secret_is_on_the_disk(ledger: Path) -> None:
    """No planted secret or private passage is in any file of the data directory."""
    names = {path.name for path in ledger.rglob("*") if path.is_file()}

    assert names >= {"queue.db", "claude-mem.db", "consumer.jsonl"}
    assert leaks(ledger) == []


def test_what_only_looks_secret_is_kept(ledger: Path) -> None:
    """Hashes, account numbers and addresses that only resemble secrets are stored unredacted."""
    stored = "\n".join(row.raw_output for row in models.PendingEvent.select())
    stored = json.dumps([json.loads(line) for line in stored.split("\n")], ensure_ascii=False)

    lost = [fact["value"] for fact in FACTS["harmless_lookalikes"] if fact["value"] not in stored]

    assert lost == []


def test_every_event_is_finished(ledger: Path) -> None:
    """Every event is done, and has an observation or a note that says why not."""
    observed = {row.id for row in models.Observation.select()}
    rows = list(models.PendingEvent.select())

    assert {row.status for row in rows} == {"done"}
    assert [row.id for row in rows if row.id not in observed and not row.note] == []
    assert [row.id for row in rows if row.id in observed and row.note] == []


def test_the_memory_knows_the_answers(ledger: Path) -> None:
    """The observations contain the answers to all but two of 50 questions about the history."""
    rows = models.Observation.select()
    text = "\n".join(f"{row.title}\n{row.summary}\n{row.detail or ''}" for row in rows).lower()
    asked = [fact for fact in FACTS["questions"] if fact["kind"] != "transcript_only"]

    missing = [
        fact["id"] for fact in asked if not all(answer.lower() in text for answer in fact["answer_contains"])
    ]

    assert len(asked) == 50
    assert len(missing) <= 2, missing


def test_the_search_finds_most_answers(ledger: Path) -> None:
    """Full-text search alone finds the answer in its first five results for at least 40 questions."""
    found = 0
    for fact in FACTS["questions"]:
        hits = find(fact["q"], limit=5, project_dir=demo.PROJECT)
        texts = [f"{hit.row.title}\n{hit.row.summary}\n{hit.row.detail}".lower() for hit in hits]
        found += any(all(answer.lower() in text for answer in fact["answer_contains"]) for text in texts)

    assert found >= 40


def test_every_session_has_a_summary(ledger: Path) -> None:
    """Every session is closed and has a summary."""
    sessions = list(models.Session.select())

    assert [session.status for session in sessions] == ["closed"] * 4
    assert all(len(session.summary or "") > 100 for session in sessions)
