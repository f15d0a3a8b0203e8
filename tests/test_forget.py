"""`forget` deletes to the last byte: each test searches every file of the data directory."""

import contextlib
import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import command
from support.databases import find, observation_row, rows, session_row, sessions_kept
from support.planted import (
    DOOMED,
    KEPT,
    KEY,
    PROJECT,
    SOURCE,
    STEM,
    THEN,
    WORD,
    doomed_ids,
    embed_all,
    left,
    plant,
    prompt,
    take_in,
    written,
)

from claude_mem_lite.capture import inbox
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.storage import embeddings, ledger, models, queries
from claude_mem_lite.storage import learnings as learning_rows


@pytest.mark.parametrize(
    "way",
    [
        (DOOMED,),
        ("--session", DOOMED[:7]),
        ("--project", PROJECT),
        ("--since", "2026-01-01", "--until", "2026-01-06"),
        ("--match", WORD.upper()),
    ],
    ids=" ".join,
)
def test_nothing_is_left_of_it(memory: Path, way: tuple[str, ...]) -> None:
    """Whichever way rows are selected, no byte of them stays in any file, and other rows do not change."""
    plant(memory)
    ids = doomed_ids()

    done = command("forget", *way, "--yes")

    needles = (STEM,) if way[0] == "--match" else (STEM, DOOMED, *ids)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(memory, *needles) == set()
    assert {row.id for row in models.Session.select()} - {DOOMED} == {KEPT}
    assert [row.content for row in models.Learning.select()] == []
    assert {hit.row.session_id for hit in find("pathlib", type="observation")} == {KEPT}
    assert [row.qualified_name for row in models.FunctionMapEntry.select()] == ["save"]
    assert Vectors(KEY, 8).count("observation") == embeddings.count_embedded(KEY)["observation"][0] == 2
    assert ledger.spent_usd(since="") == 0.5
    assert (memory / "logs" / "consumer.jsonl").read_text().count("started") == 1
    with closing(sqlite3.connect(memory / "claude-mem.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("observations", "sessions", "learnings", "function_map"):
            connection.execute(f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)")


def test_a_file_is_forgotten_with_what_was_done_to_it(memory: Path) -> None:
    """A file's map, history, edits and learnings go; the session's other work stays."""
    place = {"session_id": DOOMED, "project_dir": PROJECT, "at": THEN}
    take_in(prompt("Make the parser faster, it is slow"), **place)
    take_in(written(f"{PROJECT}/src/{WORD}.py", SOURCE), **place)
    take_in(written(f"{PROJECT}/src/fine.py", "def fine():\n    return 1\n"), **place)
    evolve.take(
        Candidate(f"The beetles are read in src/{WORD}.py", "architecture", "user"),
        session_id=DOOMED, project_dir=PROJECT,
    )  # fmt: skip
    summarize_session(DOOMED)
    embed_all()
    assert WORD in (queries.known_session(DOOMED).summary or "")

    done = command("forget", "--file", f"{PROJECT}/src/{WORD}.py", "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert left(memory, STEM) == set()
    session = queries.known_session(DOOMED)
    assert [row.files_touched for row in queries.observations_of(DOOMED)] == [[], ["src/fine.py"]]
    assert session.key_files == ["src/fine.py"]
    assert (session.summary or "").startswith("Asked: Make the parser faster")
    assert [row.qualified_name for row in models.FunctionMapEntry.select()] == ["fine"]


def test_a_prompt_is_forgotten_where_it_is_quoted(memory: Path) -> None:
    """A forgotten prompt leaves the work done for it; the summary is written again without it."""
    place = {"session_id": DOOMED, "project_dir": PROJECT, "at": THEN}
    asked = take_in(prompt(f"Make the {WORD} parser faster, it is slow"), **place)
    done = {"hook_event_name": "Stop", "last_assistant_message": "It is fine now, and twice as fast."}
    report = take_in(done, **place)
    summarize_session(DOOMED)
    embed_all()
    assert WORD in queries.observation(report).summary
    models.Session.update(upgrade_note=f"what Claude said of {WORD}").execute()

    done = command("forget", asked[:8], "--yes", "--json")

    forgotten = json.loads(done.stdout)["forgotten"]
    assert (done.returncode, done.stderr) == (0, "")
    assert (forgotten["observations"], forgotten["raw_events"], forgotten["retold"]) == (1, 1, 1)
    assert left(memory, STEM, asked) == set()
    assert [row.id for row in queries.observations_of(DOOMED)] == [report]
    assert "fine" in queries.observation(report).summary


def test_a_learning_lives_on_what_is_left_of_its_evidence(memory: Path) -> None:
    """A learning of two sessions outlives one of them, without its name; so does the learning it replaced."""
    for session_id in (DOOMED, KEPT):
        session_row(session_id)
    use = Candidate("Use pathlib, never os.path", "convention", "user")
    first = evolve.take(use, session_id=DOOMED, project_dir="/p")
    evolve.take(use, session_id=KEPT, project_dir="/p")
    never = Candidate("Never use WAL mode", "convention", "user")
    alone = evolve.take(never, session_id=DOOMED, project_dir="/p")
    learning_rows.update(learning_rows.get(first.learning_id), superseded_by=alone.learning_id)

    command("forget", "--session", DOOMED, "--yes")

    assert left(memory, DOOMED, alone.learning_id) == set()
    row = learning_rows.get(first.learning_id)
    assert (row.source_sessions, row.is_active, row.superseded_by) == ([KEPT], False, None)
    told = [each.event_type for each in learning_rows.story(row.id)]
    assert told == ["learning.inserted", "learning.merged"]


def test_a_dry_run_says_what_would_go_and_touches_nothing(memory: Path) -> None:
    """A dry run counts exactly what the real run then deletes, and changes nothing."""
    plant(memory)

    dry = json.loads(command("forget", "--session", DOOMED, "--dry-run", "--json").stdout)
    is_left = bool(left(memory, STEM))
    done = json.loads(command("forget", "--session", DOOMED, "--yes", "--json").stdout)
    again = command("forget", "--match", WORD, "--yes")

    assert dry == {**done, "dry_run": True}
    assert is_left
    assert done["forgotten"] == {
        "sessions": 1, "observations": 5, "learnings": 1, "raw_events": 6, "functions": 1,
        "function_changes": 1, "calls": 0, "log_entries": done["forgotten"]["log_entries"], "messages": 7,
        "log_lines": 2, "spool_files": 2, "shared_lines": 0, "retold": 0,
    }  # fmt: skip
    assert (again.returncode, again.stdout) == (0, "Nothing matches; nothing was deleted.\n")


@pytest.mark.parametrize(
    ("said", "status"),
    [((), 2), (("--session", "s-1", "--match", "abc"), 2), (("--match", "ab"), 2), (("--until", "soon"), 2),
     (("nobody-has-it",), 1), (("--session", "nobody-has-it"), 1)],
)  # fmt: skip
def test_what_it_cannot_mean_is_refused(memory: Path, said: tuple[str, ...], status: int) -> None:
    """`forget` refuses a missing selection, two at once, a text too short to match by, and unknown ids."""
    session_row(DOOMED)

    done = command("forget", *said, "--yes")

    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr
    assert sessions_kept() == 1


@pytest.mark.parametrize(
    ("way", "goes"),
    [(("--session", DOOMED), "1 session"), (("--match", WORD), "the summary of 1 session (rewritten)"),
     (("--project", "SHOP/src"), "1 session of the project SHOP")],
)  # fmt: skip
def test_nobody_is_asked_without_a_terminal(
    memory: Path, tmp_path: Path, way: tuple[str, str], goes: str
) -> None:
    """Without a terminal one line says what would go and how to confirm; nothing is deleted."""
    shop = tmp_path / "shop"
    for folder in (".git", "src"):
        (shop / folder).mkdir(parents=True)
    session_row(DOOMED, project_dir=str(shop), summary=WORD)

    done = command("forget", *(each.replace("SHOP", str(shop)) for each in way))

    goes = goes.replace("SHOP", str(shop))
    assert (done.returncode, done.stdout) == (2, "")
    says = f"claude-mem: To be forgotten for good: {goes}. Without a terminal, confirm with --yes\n"
    assert done.stderr == says
    assert sessions_kept() == 1


def test_a_path_that_is_nothing_is_not_the_project_above_it(memory: Path, tmp_path: Path) -> None:
    """A mistyped path inside a project does not delete the project."""
    (tmp_path / ".git").mkdir()
    session_row(DOOMED, project_dir=str(tmp_path))

    done = command("forget", "--project", str(tmp_path / "typo"), "--yes")

    said = (
        f"claude-mem: {tmp_path / 'typo'} is neither a known project nor a folder: claude-mem project list\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert sessions_kept() == 1


@pytest.mark.parametrize(("key", "status", "sessions"), [("n", 1, 1), ("y", 0, 0)])
def test_a_terminal_is_asked(memory: Path, key: str, status: int, sessions: int) -> None:
    """On a terminal anything but yes stops the command."""
    session_row(DOOMED)
    models.close_databases()
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "claude_mem_lite.cli", "forget", "--session", DOOMED]
    os.write(ours, f"{key}\n".encode())

    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # Linux raises this when the other end is closed
        while some := os.read(ours, 4096):
            said += some
    os.close(ours)
    process.wait(timeout=60)

    assert process.returncode == status
    assert b"To be forgotten for good: 1 session." in said
    assert sessions_kept() == sessions


@pytest.mark.parametrize(
    "coded",
    [
        r'{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": "say \"f\u00fcr Elise\""}',
        '{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": "say \\"FÜR Elise\\""}',
        r'{"hook_event_name": "PostToolUse", "tool_input": {"x": "{\"a\":\"say \\\"f\\u00fcr Elise\\\"\"}"}}',
    ],
)
def test_a_text_is_found_however_json_spells_it(memory: Path, coded: str) -> None:
    """A text is found with escaped quotes and letters, also in JSON inside JSON."""
    inbox.append(coded, "/p")
    inbox.append(coded.replace("Elise", "Else"), "/p")

    done = command("forget", "--match", 'say "für Elise"', "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Forgotten: 1 raw event and 1 message.\n"
    assert len(rows("SELECT id FROM pending_queue")) == 1
    assert left(memory, "Elise") == set()


def test_a_file_is_named_from_the_folder_or_from_its_project(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is named as the user or as the memory writes it; its namesake elsewhere stays."""
    project = (tmp_path / "shop").resolve()
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    session_row(DOOMED, project_dir=str(project))
    for name in ("src/a.py", "src/b.py", "a.py"):
        of_project = {"session_id": DOOMED, "project_dir": str(project)}
        row = observation_row(f"edit-{name}", **of_project, files_touched=[name])
        queries.save_observation(row)
    monkeypatch.chdir(project / "src")

    from_folder = command("forget", "--file", "a.py", "--dry-run", "--json")
    runs = [command("forget", "--file", path, "--yes").returncode for path in ("./b.py", "src/a.py")]

    assert json.loads(from_folder.stdout)["forgotten"]["observations"] == 1  # src/a.py alone
    assert runs == [0, 0]
    assert [row.id for row in queries.observations_of(DOOMED)] == ["edit-a.py"]
