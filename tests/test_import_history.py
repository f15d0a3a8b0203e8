"""Test the function history that `import transcripts` leaves, and interrupted or concurrent imports."""

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
from support.databases import lose_memory, work_off
from support.fake_messages import FakeMessages
from support.hooks import run_hook, tool_event
from support.processes import wait_until
from support.transcripts_on_disk import SESSION, Lines, a_session, recorded, remembered, take_in

from claude_mem_lite import config, settings
from claude_mem_lite.capture import backlog, inbox
from claude_mem_lite.codemap import file_index
from claude_mem_lite.context import builder
from claude_mem_lite.services import install
from claude_mem_lite.storage import facts, models, pruning, queries, rebuild, rewrites

pytestmark = pytest.mark.process  # git tells which files are ignored
OLD = "def split(total):\n    return total\n\n\ndef _round(value):\n    return value\n"
NEW = OLD.replace("return total", "return total / 2")
LATER = "5e5510e5-0000-4000-8000-000000000002"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return an empty repository."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return tmp_path / "shop"


def two_sessions(root: Path, shop: Path) -> list[str]:
    """Write two sessions, the later one first, and return the times of their three edits."""
    path = str(shop / "money.py")
    later = Lines(session_id=LATER, cwd=str(shop), began="2026-11-21T10:00:00").user("Drop the rounding")
    gone = later.edited(path, NEW, NEW[NEW.index("\n\n\ndef _round") :], "\n").at
    later.said("Dropped.").write(root)
    first = Lines(cwd=str(shop)).user("Write money.py")
    times = [first.wrote(path, OLD).at, first.edited(path, OLD, "return total", "return total / 2").at]
    first.said("Written.").write(root)
    return [*times, gone]


def noted() -> list[tuple[Any, ...]]:
    """Return the function history: name, change, session and time."""
    rows = models.FunctionChange.select().order_by(models.FunctionChange.created_at, models.FunctionChange.pk)
    return [(row.qualified_name, row.change_type, row.session_id, row.created_at) for row in rows]


def test_imported_edits_are_in_the_history_at_their_own_times(
    memory: Path, projects: Path, shop: Path
) -> None:
    """Imported edits are in the function history with their time, session, observation and signature."""
    wrote, edited, removed = two_sessions(projects, shop)

    take_in()

    assert noted() == [
        ("split", "new", SESSION, wrote),
        ("_round", "new", SESSION, wrote),
        ("split", "modified", SESSION, edited),
        ("_round", "deleted", LATER, removed),
    ]
    for row in models.FunctionChange.select():
        told = models.Observation.get(models.Observation.id == row.observation_id)
        place = {"qualified_name": row.qualified_name, "kind": row.kind, "change_type": row.change_type}
        assert place in told.functions_changed
        assert (row.project_dir, row.file_path, row.created_at) == (str(shop), "money.py", told.created_at)
        assert row.signature == {"split": "split(total)", "_round": "_round(value)"}[row.qualified_name]


def test_imported_edits_are_told_on_the_first_day(memory: Path, projects: Path, shop: Path) -> None:
    """On the first day, with an empty map, report, history and start block already show imported edits."""
    two_sessions(projects, shop)
    take_in()

    report = json.loads(command("report", "--json", "--project", str(shop), "--days", "3650").stdout)
    by_name = json.loads(command("history", "split", "--project", str(shop), "--json").stdout)
    block = builder.build(str(shop), session_id="next")

    assert report["functions"] == {"new": 1, "modified": 0, "deleted": 0}  # _round was added and removed
    assert [len(each["functions"]) for each in report["sessions"]] == [1, 2]
    (split,) = by_name
    assert split["change_type"] == "modified"
    assert [each["change_type"] for each in split["history"]] == ["modified", "new"]
    assert all(each["title"] for each in split["history"])
    assert "(gone)" not in command("history", "split", "--project", str(shop)).stdout
    assert "(gone)" in command("history", "_round", "--project", str(shop)).stdout
    assert "split" in block.text


def test_an_import_leaves_the_code_map_as_it_is(memory: Path, projects: Path, shop: Path) -> None:
    """An import leaves the code map as the last scan of the disk made it."""
    (shop / "money.py").write_text("def now(): ...\n")
    file_index.scan(str(shop))
    tables = (models.FunctionMapEntry, models.SourceFile, models.CallEdge, models.State)
    before = [list(table.select().dicts()) for table in tables[:3]]
    two_sessions(projects, shop)

    take_in()

    assert [list(table.select().dicts()) for table in tables[:3]] == before
    assert len(noted()) == 4
    by_name = json.loads(command("history", "split", "--project", str(shop), "--json").stdout)
    assert [each["change_type"] for each in by_name] == ["deleted"]  # the scan did not find it


def test_importing_twice_or_once_more_adds_no_change(memory: Path, projects: Path, shop: Path) -> None:
    """A second or resumed import, and a rebuilt memory, add no function change twice."""
    two_sessions(projects, shop)
    take_in()
    before = noted()

    take_in()
    twice = noted()
    with inbox.Transaction() as connection:
        connection.execute("UPDATE pending_queue SET status = ?", (inbox.IMPORT,))
    models.State.delete().where(models.State.name.startswith("transcript")).execute()
    take_in()
    again = noted()
    lose_memory()
    rebuild.begin()
    work_off()

    assert twice == again == noted() == before


def test_a_session_that_hooks_recorded_is_not_counted_twice(memory: Path, projects: Path, shop: Path) -> None:
    """Edits that hooks recorded stay single in the history; the import adds those that hooks missed."""
    path, call_id = shop / "money.py", "toolu_seen_by_the_hook"
    path.write_text(NEW)
    given = {"file_path": str(path), "old_string": "return total", "new_string": "return total / 2"}
    response = {"originalFile": OLD, "structuredPatch": []}
    event = tool_event("Edit", tool_input=given, tool_response=response, session_id=SESSION)
    inbox.append(json.dumps(event | {"tool_use_id": call_id}), str(shop))
    work_off()
    by_hook = noted()
    lines = Lines(cwd=str(shop)).user("Write money.py").wrote(str(path), OLD)
    lines.call("Edit", given, call_id=call_id).result("File edited", response).said("Done.").write(projects)

    take_in()

    assert [each[:2] for each in by_hook] == [("split", "modified")]
    assert sorted(each[:2] for each in noted()) == [
        ("_round", "new"), ("split", "modified"), ("split", "new"),
    ]  # fmt: skip
    pruning.prune(before="9")
    take_in()
    assert len(noted()) == 3


@pytest.mark.parametrize(
    "place", ["/elsewhere/money.py", "{shop}/.venv/money.py", "{shop}/secrets/money.py", "{shop}/money.txt"]
)
def test_files_that_the_map_leaves_out_have_no_history(
    place: str, memory: Path, projects: Path, shop: Path
) -> None:
    """Files outside of the project, hidden, ignored or not source code have no history."""
    (memory / "config.toml").write_text('[capture]\nignored_files = ["secrets/*"]\n')
    Lines(cwd=str(shop)).user("Write it").wrote(place.format(shop=shop), OLD).said("Done.").write(projects)

    take_in()

    assert noted() == []


def shown(text: str) -> str:
    """Return a file as the Read tool shows it to the model."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.splitlines(), 1))


def test_a_subagents_edits_are_known_by_what_it_read(memory: Path, projects: Path, shop: Path) -> None:
    """A sub-agent's edits get their functions from the file as it read it, with its later edits applied."""
    path = str(shop / "money.py")
    Lines(cwd=str(shop)).user("Have money.py mended").said("It is.").write(projects)
    agent = Lines(cwd=str(shop), agent_id="a1").user("Mend money.py")
    agent.call("Read", {"file_path": path}).result(shown(OLD))
    for old, new in (("return total", "return total / 2"), ("return value", "return round(value)")):
        agent.call("Edit", {"file_path": path, "old_string": old, "new_string": new}).result("Updated.")
    agent.call("Write", {"file_path": path, "content": NEW}).result("The file was updated.")
    agent.write(projects, name=f"{SESSION}/subagents/agent-a1.jsonl")

    take_in()

    assert [each[:2] for each in noted()] == [
        ("split", "modified"), ("_round", "modified"), ("_round", "modified"),
    ]  # fmt: skip
    rows = models.Observation.select().where(models.Observation.tool_name == "Edit")
    assert all(row.functions_changed for row in rows)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, ""),
        ({"offset": 3}, OLD),
        ({"limit": 2}, OLD),
        ({}, OLD + "# more\n" * 2_000),
        ({}, OLD + "#" * 2_000),
        ({}, OLD.replace("return total", "return 5")),
    ],
)
def test_a_file_that_was_not_read_whole_is_not_guessed(
    given: dict[str, int] | None, text: str, memory: Path, projects: Path, shop: Path
) -> None:
    """An edit gets no functions if the file was read partly, cut, not at all, or does not fit."""
    path = str(shop / "money.py")
    lines = Lines(cwd=str(shop)).user("Mend money.py")
    if given is not None:
        lines.call("Read", {"file_path": path, **given}).result(shown(text))
    lines.call("Edit", {"file_path": path, "old_string": "return total", "new_string": "return 0"})
    lines.result("Updated.").said("Done.").write(projects)

    take_in()

    assert noted() == []
    assert models.Observation.select().where(models.Observation.tool_name == "Edit").count() == 1


COMMAND = [sys.executable, "-m", "claude_mem_lite.cli", "import", "transcripts"]


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_an_import_cut_short_is_completed(
    stop: signal.Signals, memory: Path, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import that was killed or interrupted is completed by the same command, with the same result."""
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

        # Python itself no longer handles Ctrl-C while it exits.
        assert running.returncode in {130, -stop, 0} - ({130} if stop != signal.SIGINT else set())
        assert "Traceback" not in said
        assert remembered() == whole


def test_an_import_asks_nobody_to_pay(
    fake: FakeMessages, projects: Path, consumer: Callable[[], Any]
) -> None:
    """With a key and a running consumer, imported rows do not wait for Claude; `compress` offers it."""
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
    assert (backlog.requeue(), fake.requests) == (0, [])
    asked = json.loads(command("compress", "--json").stdout)
    assert (asked["captures"], asked["summaries"]) == (1, 1)


def test_a_running_session_is_completed_later(memory: Path, projects: Path) -> None:
    """Of a running session the past is imported, and a later import adds the rest."""
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
    """Events of a live session are stored while an import runs, and the import does not touch them."""
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
