"""Test what a session is shown while the web process is down, and once it is up again."""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from support.blocks import COMMIT, PROMPT, hook, remember, told_in_time
from support.databases import NOW, observe, rows, session_row
from support.hooks import run_hook
from support.processes import wait_until, web_process

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.context.shown import Shown
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import migrations, models
from claude_mem_lite.web import blocks

LATER = "2026-11-21T04:00:00.000000Z"
ANSWERED = {"source": "fork", "seconds_since_last_response": 1e8}


def messages() -> list[tuple[str, dict[str, Any]]]:
    """Return the blocks that wait to be recorded as shown, each with its session."""
    found = [json.loads(data) for (data,) in rows("SELECT data FROM task ORDER BY id")]
    return [(each["args"][0], each["args"][1]) for each in found if each["name"] == inbox.SHOWN]


@pytest.fixture
def no_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run hooks as the plugin's, with nothing on the PATH, so that no `claude-mem` helper is found."""
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", "/plugin")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def whole_start(session: str, **started: Any) -> tuple[str, dict[str, Any]]:
    """Return a session's start block that came in time, and the record of it."""

    def tried() -> tuple[str, dict[str, Any]] | None:
        session_id = f"{session}-{len(messages())}"
        told = hook("session_start", "SessionStart", session_id=session_id, **started)
        noted = wait_until(lambda: [block for whose, block in messages() if whose == session_id])
        return (told, noted[0]) if noted[0]["via"] == started["source"] else None

    found: tuple[str, dict[str, Any]] = wait_until(tried)
    return found


@pytest.mark.parametrize("started", [{"source": "startup"}, {"source": "clear"}, ANSWERED])
def test_a_cold_start_is_told_what_a_warm_one_is(memory: Path, started: dict[str, Any]) -> None:
    """Without the web process a start gets the same block, byte for byte, and the same record."""
    remember()

    cold = whole_start("cold", **started)
    with web_process():
        warm = whole_start("warm", **started)

    assert "## Functions made, and what for" in cold[0]
    assert cold == warm


def test_a_cold_compaction_tells_the_sessions_state(memory: Path) -> None:
    """After a compaction the helper reports the session's work and repeats lines shown before it."""
    remember()
    session_row("me")
    observe("9" * 32, "UserPromptSubmit", "Round the totals.", session_id="me", created_at=LATER)
    context_rows.note_shown("me", {"via": "startup", "ids": [COMMIT], "tokens": 9}, at=NOW)

    told = told_in_time("## This session,", "session_start", "SessionStart", source="compact")

    assert "## This session, before it was compacted" in told
    assert "Goal: Round the totals." in told
    assert "cccccccc" in told


def test_nothing_is_told_twice_after_a_cold_start(memory: Path) -> None:
    """A web process that starts later repeats nothing of the helper's block, even before it is recorded."""
    remember()

    told_in_time("eeeeeeee", "session_start", "SessionStart", source="startup")
    with web_process():
        prompt = hook("user_prompt_submit", "UserPromptSubmit", prompt=PROMPT)
        asked = {"session_id": "you", "prompt": PROMPT}
        other = told_in_time("eeeeeeee", "user_prompt_submit", "UserPromptSubmit", **asked)

    assert prompt == ""
    assert other


def test_the_helper_writes_nothing_and_migrates_nothing(memory: Path) -> None:
    """The helper never writes claude-mem.db: with an older schema it gives the short block, unmigrated."""
    remember()
    models.memory_database.execute_sql(f"PRAGMA user_version = {len(migrations.MIGRATIONS) - 1}")
    models.memory_database.execute_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    models.close_databases()
    before = hashlib.sha256((memory / "claude-mem.db").read_bytes()).digest()

    told = hook("session_start", "SessionStart", source="startup")

    assert "Made amounts exact." in told
    assert "eeeeeeee" not in told
    assert hashlib.sha256((memory / "claude-mem.db").read_bytes()).digest() == before
    assert migrations.schema() == len(migrations.MIGRATIONS) - 1


@pytest.mark.parametrize("source", ["startup", "compact", "resume"])
def test_the_first_prompt_brings_what_the_start_lacked(no_helper: Path, memory: Path, source: str) -> None:
    """The first prompt brings the block that a start lacked, once, without lines of the short block."""
    remember()
    session_row("me")
    observe("9" * 32, "UserPromptSubmit", "Round the totals.", session_id="me", created_at=NOW)
    session_row("s2", summary="Rounded totals.", last_event_at=LATER, observation_count=1)

    start = hook("session_start", "SessionStart", source=source)
    with web_process():
        asked = "Go on with the totals, please."
        first = told_in_time("<", "user_prompt_submit", "UserPromptSubmit", prompt=asked)
        second = hook("user_prompt_submit", "UserPromptSubmit", prompt="And now the register of the ledger.")

    assert ("Rounded totals." in start) == (source != "resume")
    assert ("Rounded totals." in first) == (source == "resume")
    assert first.startswith("<claude-mem>\nRecord of past work in this project")
    assert ("Goal: Round the totals." in first) == (source == "compact")
    assert ("cccccccc" in first) == (source != "resume")
    assert second == ""
    assert [shown["via"] for _, shown in messages()] == ["fallback", source]


def test_a_cold_prompt_brings_it_too(memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt that a helper answers brings the rest of the start's block too, once."""
    remember()
    with monkeypatch.context() as patch:
        patch.setenv("CLAUDE_PLUGIN_ROOT", "/plugin")
        patch.setenv("PATH", str(tmp_path))
        hook("session_start", "SessionStart", source="startup")

    told_in_time("eeeeeeee", "user_prompt_submit", "UserPromptSubmit", prompt="yes")

    assert hook("user_prompt_submit", "UserPromptSubmit", prompt="yes") == ""


def test_a_notification_is_no_prompt(no_helper: Path, memory: Path) -> None:
    """A client's notification recalls nothing; the rest of the start's block waits for the user's prompt."""
    remember()
    notification = f"\n<task-notification>\n<summary>{PROMPT}</summary>\n</task-notification>"
    hook("session_start", "SessionStart", source="startup")

    with web_process():
        told = hook("user_prompt_submit", "UserPromptSubmit", prompt=notification)
        told_in_time("eeeeeeee", "user_prompt_submit", "UserPromptSubmit", prompt="yes")

    assert told == ""


def test_a_helper_that_hangs_costs_its_time_only(no_helper: Path, memory: Path) -> None:
    """A hanging helper is ended: the start gets its short block and the prompt nothing, within bounds."""
    remember()
    (no_helper / "claude-mem").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (no_helper / "claude-mem").chmod(0o755)

    began = time.monotonic()
    assert "Made amounts exact." in hook("session_start", "SessionStart")
    assert hook("user_prompt_submit", "UserPromptSubmit", prompt=PROMPT) == ""

    assert time.monotonic() - began < 30  # of the 60 s that it sleeps


def test_a_helper_that_fails_or_talks_nonsense_is_none(no_helper: Path, memory: Path) -> None:
    """A helper without interpreter, too old, or with a cut-off answer leaves the start its short block."""
    remember()
    scripts = (
        "#!/gone/python\n",
        "#!/bin/sh\necho usage; exit 2\n",
        "#!/bin/sh\nread -r asked; printf 'HTTP/1.0 200 OK\\r\\n\\r\\n[1' >&0\n",
    )
    for number, script in enumerate(scripts):
        (no_helper / "claude-mem").write_text(script)
        (no_helper / "claude-mem").chmod(0o755)

        assert "Made amounts exact." in hook("session_start", "SessionStart", session_id=f"n{number}")


def test_a_locked_queue_keeps_no_block_back(memory: Path) -> None:
    """A locked queue does not hold up the block: the event goes to the spool, and its record is lost."""
    remember()

    with inbox.Transaction():
        told_in_time("eeeeeeee", "session_start", "SessionStart", source="startup")

    assert messages() == []


def test_without_a_memory_nothing_is_started_or_owed(home: Path) -> None:
    """Without a memory a start launches no helper and owes no block."""
    event = {"session_id": "me", "hook_event_name": "SessionStart", "source": "startup"}

    done = run_hook("session_start", event, project_dir="/p")

    assert (done.stdout, messages()) == (b"", [])
    assert not os.path.exists(config.memory_path())


def test_a_compaction_clears_what_was_shown_also_in_short() -> None:
    """A compaction clears what was shown, even with a short block; the full block after it clears nothing."""
    shown = Shown()
    shown.add({"via": "startup", "ids": ["a"]})
    shown.add({"via": "fallback", "source": "compact", "ids": ["b"], "at": 1.0})
    owed = shown.owed
    shown.add({"via": "recall", "ids": ["c"]})
    shown.add({"via": "compact", "ids": ["d"]})

    assert owed == {"via": "fallback", "source": "compact", "ids": ["b"], "at": 1.0}
    assert (shown.ids, shown.owed) == ({"b", "c", "d"}, None)


def test_a_web_process_gets_ready_for_the_session_that_waits(memory: Path) -> None:
    """A starting web process counts the words of the project with the newest event."""
    remember()
    project = f"/warm-{os.getpid()}"
    blocks.warm_newest()
    inbox.append('{"session_id": "me", "hook_event_name": "SessionStart"}', project)

    blocks.warm_newest()

    assert [key[1] for key in blocks.searcher._profiles._kept if key[0] == "observation"] == [project]
