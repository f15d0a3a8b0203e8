"""Test export and import of the memory as text: a round trip gives the same bytes and no row twice."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import command
from support.databases import NOW, find, observation_row, session_row, work_off

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.learnings import curate, session
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.storage import call_edges, ledger, models, queries, rewrites
from claude_mem_lite.storage.ledger import Call
from claude_mem_lite.upkeep import lines, outfile

EDGE = {
    "project_dir": "/p", "caller_file": "a.py", "caller_function": "f", "callee_file": "b.py",
    "callee_function": "g", "resolution": "import", "confidence": 0.6, "times_confirmed": 1,
    "last_confirmed_at": NOW, "source": "observation", "session_id": "s1", "created_at": NOW,
    "level": "observed", "shape": "", "line": 0, "observation_id": "pond",
}  # fmt: skip


def fill() -> None:
    """Store the recorded history with its learnings, and one row of each other kind."""
    for event in demo.recorded_events():
        inbox.append(scrub(json.dumps(event)), demo.PROJECT)
    work_off()
    for row in models.Session.select():
        summarize_session(row.id)
        session.learn(row.id)
    session_row(summary="Dug “ponds”\u2028 in Zürich.", key_decisions=["No lakes, ever"], retold="Dug ponds.")
    queries.save_observation(
        observation_row("pond", title="Dig a pond", detail="\tspade\nshovel", functions_changed=[
            {"qualified_name": "dig", "kind": "function", "change_type": "new"}
        ])
    )  # fmt: skip
    rewrites.write_summary(
        "s1", summary="Dug ponds.", key_files=[], key_decisions=["No lakes"], retold_pk=10_000,
        written_by="claude-haiku-4-5", prompt_version="3",
    )  # fmt: skip
    models.Session.update(summarized_pk=10_000).where(models.Session.id == "s1").execute()
    call_edges.add_edge(EDGE)
    curate.add("Deploys go out on Tuesdays", category="convention", project_dir=None)
    ledger.record(Call("observations", "m", 0.123456789, 7, 1, session_id="s1"), now=1.5)
    ledger.reserve(0.01, now=2.5)


def exported(*arguments: str) -> bytes:
    """Return what `claude-mem export` prints."""
    done = command("export", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.encode()


@pytest.fixture
def filled(memory: Path, fill_once: Callable[[Callable[[], None]], None]) -> Path:
    """Return a closed memory with all kinds of rows."""
    fill_once(fill)
    models.close_databases()
    return memory


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a second, empty memory, to be chosen with `monkeypatch`."""
    return tmp_path / "elsewhere"


def test_what_is_exported_comes_back_as_the_same_bytes(
    filled: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An export imported into an empty memory exports as the same bytes; importing it again adds nothing."""
    before = exported()
    (tmp_path / "memory.jsonl").write_bytes(before)
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(elsewhere))

    first = command("import", "memory", str(tmp_path / "memory.jsonl"), "--json")
    after = exported()
    second = command("import", "memory", str(tmp_path / "memory.jsonl"), "--json")

    kinds = [json.loads(line)["kind"] for line in before.decode().split("\n")[:-1]]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds[1:])}
    none = {"waiting": 0, "unguarded": 0, "wrong": []}
    assert list(counts) == list(lines.KINDS)
    assert all(counts.values())
    assert after == before
    assert json.loads(first.stdout) == {"added": counts, "there": {}, **none}
    assert json.loads(second.stdout) == {"added": {}, "there": counts, **none}
    assert exported() == before


def test_what_comes_in_is_found_and_left_alone(
    filled: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Imported rows are found by full text, wait for vectors, and are not summarized or rewritten again."""
    (tmp_path / "memory.jsonl").write_bytes(exported())
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(elsewhere))
    command("import", "memory", str(tmp_path / "memory.jsonl"))
    models.open_databases()

    row = queries.known_session("s1")

    assert [hit.row.id for hit in find("shovel", type="observation")] == ["pond"]
    assert queries.sessions_to_summarize(idle_since="9") == []
    assert row.summarized_pk == row.retold_pk == row.learned_pk == row.extracted_pk > 0
    assert row.observation_count == 1
    assert models.Observation.select().where(models.Observation.upgrade == "waiting").count() == 0
    assert queries.queue_stats()["messages"] == 1  # the message that asks for the vectors
    assert sum(day["usd"] for day in ledger.costs(by="day", since="")) == pytest.approx(0.133456789)
    assert ledger.spent_usd(since="") == 0  # what others spent does not count towards this machine's budget


def test_one_project_and_a_file(filled: Path, tmp_path: Path) -> None:
    """`export --project` writes only that project's rows; the file has mode 0600 and replaces none."""
    path = tmp_path / "p.jsonl"

    done = command("export", str(path), "--project", "/p")
    again = command("export", str(path))

    found = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    assert (done.returncode, done.stdout) == (0, f"Wrote {path}: 5 lines.\n")
    assert [line["kind"] for line in found] == ["claude-mem", "session", "observation", "call", "cost"]
    assert {line.get("project_dir", "/p") for line in found} == {"/p"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    says = f"claude-mem: {path} already exists: choose another name\n"
    assert (again.returncode, again.stderr) == (1, says)


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_takes_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    """Writing an export replaces no other file, even one created meanwhile, with hard links or without."""
    path, other, neighbour = tmp_path / "notes", tmp_path / "other", tmp_path / "notes.tmp"
    other.write_text("mine")
    neighbour.symlink_to(other)

    def refused(*_: str) -> None:
        raise PermissionError

    if not has_links:
        monkeypatch.setattr(os, "link", refused)

    with outfile.created(str(path)) as file:
        file.write(b"a")
    with pytest.raises(ClaudeMemError, match="already exists"), outfile.created(f"{path}2"):
        (tmp_path / "notes2").write_text("mine")

    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "notes": "a", "notes2": "mine", "other": "mine", "notes.tmp": "mine",
    }  # fmt: skip
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_is_not_there_is_said_at_once(filled: Path, tmp_path: Path) -> None:
    """A missing target folder is named at once, before anything is copied."""
    done = [command(name, str(tmp_path / "no" / "file")) for name in ("export", "backup")]

    said = f"claude-mem: there is no folder {tmp_path / 'no'} to write to\n"
    assert [(each.returncode, each.stderr) for each in done] == [(1, said)] * 2


def test_a_missing_file_is_one_line(home: Path) -> None:
    """Importing a missing file gives one line and makes no memory."""
    missing = command("import", "memory", "/nowhere/at/all")

    assert (missing.returncode, missing.stderr) == (1, "claude-mem: there is no file /nowhere/at/all\n")
    assert not os.path.exists(config.memory_path())


def test_a_pipe_takes_it_from_one_memory_to_another(
    filled: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`import memory -` reads an export from stdin, and /dev/stdin works too."""
    lines = exported()
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(elsewhere))
    command = [sys.executable, "-m", "claude_mem_lite.cli", "import", "memory", "-"]

    done = subprocess.run(command, input=lines, capture_output=True, check=False, timeout=120)
    command = [*command[:-1], "/dev/stdin"]
    named = subprocess.run(command, input=lines, capture_output=True, check=False, timeout=120)

    assert (done.returncode, done.stderr) == (0, b"")
    assert (named.returncode, named.stderr) == (0, b"")  # as in `claude-mem import memory <(zcat FILE)`
    assert exported() == lines
