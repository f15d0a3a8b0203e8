"""A lost memory is rebuilt from the events in queue.db, and every command reports it."""

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import KEY, consent
from support.databases import lose_memory, work_off
from support.faults import build, logged
from support.hooks import edit, read, tool_event
from support.processes import claude_mem, wait_until

from claude_mem_lite import config
from claude_mem_lite.capture import backlog, inbox
from claude_mem_lite.forget import purge
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.storage import DatabaseError, models, queries, rebuild, rewrites

pytestmark = pytest.mark.usefixtures("claude_dir")

PROJECT = "/p"


def tell(session_id: str) -> None:
    """Append a session's events: a prompt, two reads that fold, an edit, a failure, a report, its end."""
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Always run the tests with -x, please."}
    said = {"hook_event_name": "Stop", "last_assistant_message": "f returns 2 now."}
    story = [prompt, read("/p/a.py"), read("/p/b.py"), edit("/p/a.py"), build(1), said]
    for event in [*story, {"hook_event_name": "SessionEnd", "reason": "other"}]:
        inbox.append(json.dumps(event | {"session_id": session_id}), PROJECT)


def remembered() -> list[Any]:
    """Return all stored rows without the fields that differ from run to run."""
    models.open_databases(read_only=True)
    # A state names functions that the code map knows, which may be only after the session's end.
    left_out = {"pk", "upgrade", "embedding_status", "summarized_pk", "learned_pk", "key_decisions", "state"}
    tables = (models.Observation, models.Session, models.PendingEvent)
    rows = [
        {name: value for name, value in row.items() if name not in left_out | {"attempts", "finished_at"}}
        for table in tables
        for row in table.select().dicts()
    ]
    rows += [{"content": row.content} for row in models.Learning.select()]
    models.close_databases()
    return sorted(rows, key=json.dumps)


def is_done() -> bool:
    """Tell whether the services are idle, know both sessions and have the code map's changes."""
    try:
        models.open_databases(read_only=True)
        stats, sessions = queries.queue_stats(), queries.counts()["sessions"]
        changes = models.FunctionChange.select().count()
    except DatabaseError:
        return False
    finally:
        models.close_databases()
    return (stats["raw"], stats["messages"], sessions) == (0, 0, 2) and changes > 0


def test_a_lost_memory_is_made_anew_and_told(services: Path) -> None:
    """A memory emptied or deleted while the services are down is rebuilt in full and reported.

    The services must be down: a running one would write its WAL into the new file, which is damage.
    """
    memory = Path(config.memory_path())
    for session_id in ("s1", "s2"):
        tell(session_id)
    wait_until(is_done)
    before = remembered()

    claude_mem("down")
    os.truncate(memory, 0)
    emptied = claude_mem("up")
    wait_until(is_done)
    anew = remembered()
    claude_mem("down")
    memory.unlink()
    deleted = claude_mem("up")
    wait_until(is_done)
    status = json.loads(claude_mem("status", "--json").stdout)
    doctor = json.loads(claude_mem("doctor", "--json").stdout)

    said = (
        "was missing, empty or older than queue.db: rebuilding 2 sessions from 14 events of queue.db, since"
    )
    assert (anew, remembered()) == (before, before)
    for up in (emptied, deleted):
        assert (up.returncode, up.stderr.count("\n")) == (0, 1)
        assert up.stderr.startswith(f"! {memory} {said}")
        assert "To forget them instead: claude-mem forget --since 2" in up.stderr
    rebuilt = {name: status["rebuild"][name] for name in ("sessions", "events", "left")}
    assert rebuilt == {"sessions": 2, "events": 14, "left": 0}
    assert [each["ok"] for each in doctor if each["name"] == "rebuild"] == [True]
    assert "lacked sessions that queue.db has" in logged(services)


def test_claude_is_not_paid_twice_for_a_lost_memory(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild asks Claude for nothing that was paid for; a failed event that is retried is asked."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    consent("http://127.0.0.1:9")
    done = inbox.append(json.dumps(edit("/p/a.py")), PROJECT)
    work_off()
    failed = inbox.append(json.dumps(edit("/p/b.py")), PROJECT)
    inbox.finish(failed, status="error", note="KeyError")
    first = {row.id: row.upgrade for row in models.Observation.select()}

    lose_memory()
    rebuild.begin()
    backlog.retry_failed()
    work_off()

    second = {row.id: row.upgrade for row in models.Observation.select()}
    assert (first, second) == ({done: rewrites.WAITING}, {done: "", failed: rewrites.WAITING})
    assert [row.upgrade for row in models.Session.select()] == [rewrites.LEFT]


def test_what_is_forgotten_does_not_come_back(memory: Path) -> None:
    """A session that the user has forgotten is not taken for lost and not rebuilt."""
    for session_id in ("s1", "s2"):
        inbox.append(json.dumps(tool_event(session_id=session_id, tool_input={"command": "make"})), PROJECT)
    work_off()
    purge.forget(Wanted(session_id="s1"), paused=nullcontext([]))

    kept = rebuild.state()
    lose_memory()
    lost = rebuild.state()

    assert kept is None
    assert (lost.sessions, lost.events, lost.left, lost.at) == (1, 1, 1, "")
