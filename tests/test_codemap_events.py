"""Test that events update the code map and its authorship, and that it equals the files after a history."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.code import A, changes, edited, git, happen, known, repository
from support.databases import work_off, work_on
from support.hooks import run_hook, tool_event
from support.processes import is_queue_empty, wait_until
from support.recorded import DATA

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.codemap import file_index
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.codemap.project import Project, scan_source
from claude_mem_lite.services import install
from claude_mem_lite.storage import call_edges, code, models, queries
from claude_mem_lite.tasks.heal import heal

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import recorded_ledger


@pytest.fixture
def project(memory: Path, tmp_path: Path) -> Path:
    """Return the folder of a project with two files in a repository, with the memory open."""
    return repository(tmp_path)


def command(text: str, folder: Path) -> dict[str, Any]:
    """Return the event of a shell command."""
    response = {"stdout": "", "stderr": "", "interrupted": False}
    return tool_event("Bash", tool_input={"command": text}, tool_response=response, cwd=str(folder))


def test_an_edit_is_its_observations_doing(project: Path) -> None:
    """An edit's changes are its observation's, a script's are its session's, other code is nobody's."""
    first = happen(project, edited(project, "a.py", "return x", "return x + 1"))
    assert changes(project) == [("f", "modified", "s1", first)]

    add(project, "by_hand")
    second = happen(project, edited(project, "a.py", "return f()", "return f(2)", session_id="s2"))
    add(project, "by_script")
    happen(project, command("python make.py", project) | {"session_id": "s2"})
    third = happen(project, edited(project, "a.py", "return f(2)", "return f(3)", session_id="s2"))

    assert changes(project)[1:] == [
        ("C.m", "modified", "s2", second), ("by_script", "new", "s2", None), ("C.m", "modified", "s2", third),
    ]  # fmt: skip
    assert {row.qualified_name: row.session_id for row in code.functions(str(project))} == {
        "f": "s1", "C": "", "C.m": "s2", "by_hand": "", "by_script": "s2",
    }  # fmt: skip


def add(project: Path, name: str) -> None:
    """Append a function to a.py and set the time of that, which the file system would round."""
    (project / "a.py").write_text((project / "a.py").read_text() + f"\n\ndef {name}(): pass\n")
    for path in (project / "a.py", project):
        os.utime(path)


def turn(project: Path, work: Callable[[], None], text: str) -> None:
    """Run a turn of session s1 with some work and a command."""
    happen(project, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "List the files."})
    work()
    happen(project, command(text, project))
    happen(project, {"session_id": "s1", "hook_event_name": "Stop", "last_assistant_message": "There are 4."})


@pytest.mark.parametrize("text", ["ls", "git pull"])
def test_what_was_changed_outside_of_a_sessions_turns_is_nobodys(project: Path, text: str) -> None:
    """What a scan finds changed before a session or between its turns is no session's, nor a deleted file."""
    file_index.scan(str(project))
    (project / "b.py").unlink()
    add(project, "before")
    happen(project, {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"})

    turn(project, lambda: None, text)
    heal.call_local(str(project), "s1")
    add(project, "between")
    turn(project, lambda: None, text)
    heal.call_local(str(project), "s1")

    assert changes(project) == []
    assert {name for _, name in known(project)} == {"f", "C", "C.m", "before", "between"}


@pytest.mark.parametrize(("text", "is_own"), [("ls", False), ("python make.py", True)])
def test_what_was_written_in_a_turn_is_the_sessions_if_a_command_may_have_done_it(
    project: Path,
    text: str,
    is_own: bool,  # noqa: FBT001
) -> None:
    """What a scan finds written in a turn is the session's if a command other than a look ended after it."""
    file_index.scan(str(project))
    happen(project, {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"})

    turn(project, lambda: add(project, "made"), text)
    heal.call_local(str(project), "s1")

    assert changes(project) == ([("made", "new", "s1", None)] if is_own else [])
    assert ("a.py", "made") in known(project)


def test_edits_made_together_are_one_observations_doing(project: Path) -> None:
    """Every function that a MultiEdit changed is credited to its observation."""
    path = project / "a.py"
    before = path.read_text()
    edits = [
        {"old_string": "return x", "new_string": "return x + 1"},
        {"old_string": "return f()", "new_string": "return f(2)"},
    ]
    given = {"file_path": str(path), "edits": edits}
    done = happen(project, tool_event("MultiEdit", tool_input=given, tool_response={"originalFile": before}))

    assert changes(project) == [("f", "modified", "s1", done), ("C.m", "modified", "s1", done)]


def test_a_new_file_is_new_to_the_session(project: Path) -> None:
    """All functions of a new file are new; of an overwritten file, only those that differ."""
    text = "def h(): pass\n"
    written = {"file_path": str(project / "new.py"), "content": text}
    response = {"type": "create", "content": text}
    happen(project, tool_event("Write", tool_input=written, tool_response=response))
    over = {"file_path": str(project / "old.py"), "content": text}
    response = {"type": "update", "content": text, "originalFile": "def h(): pass\ndef i(): pass\n"}
    happen(project, tool_event("Write", tool_input=over, tool_response=response))

    assert [(name, change) for name, change, _, _ in changes(project)] == [("h", "new"), ("i", "deleted")]


def test_an_event_counts_once_and_not_after_a_later_one(project: Path) -> None:
    """An event counts once, and not at all after a later edit of the same file."""
    earlier = edited(project, "a.py", "return x", "return 1")
    later = edited(project, "a.py", "return 1", "return 2")
    ids = [inbox.append(json.dumps(event), str(project)) for event in (earlier, later)]

    for event_id in (ids[1], ids[0], ids[1]):
        work_on(event_id)

    assert changes(project) == [("f", "modified", "s1", ids[1])]
    assert "return 2" in (project / "a.py").read_text()
    (f, *_) = scan_source("a.py", (project / "a.py").read_bytes()).functions
    assert code.functions_in(str(project), "a.py")[0].body_hash == f.body_hash


@pytest.mark.parametrize("text", ["git checkout other", "cd . && git -C . merge other"])
def test_git_commands_have_the_project_read_again(project: Path, text: str) -> None:
    """After a git command the project is reread, and what it changed is credited to the session."""
    git(project, "add", "-A")
    git(project, "commit", "-qm", "1")
    file_index.scan(str(project))
    git(project, "checkout", "-qb", "other")
    (project / "a.py").write_text(A.replace("return x", "return -x"))
    (project / "b.py").rename(project / "moved.py")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "2")
    git(project, "checkout", "-q", "main")
    subprocess.run(text, shell=True, cwd=project, check=True, capture_output=True)  # noqa: S602

    event_id = happen(project, command(text, project))

    assert {path for path, _ in known(project)} == {"a.py", "moved.py"}
    assert set(changes(project)) == {
        ("f", "modified", "s1", event_id), ("g", "deleted", "s1", event_id), ("g", "new", "s1", event_id),
    }  # fmt: skip


def test_what_a_command_writes_is_read_again(project: Path) -> None:
    """The files that a shell command certainly writes are reread."""
    file_index.scan(str(project))
    (project / "a.py").write_text(A.replace("x", "y"))

    event_id = happen(project, command("sed -i s/x/y/g a.py", project))

    assert ("f", "modified", "s1", event_id) in changes(project)


def test_what_fails_to_be_followed_does_not_stop_the_observation(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If updating the map fails, that is logged, and the event still becomes an observation."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(file_index, "follow", fail)

    event_id = happen(project, edited(project, "a.py", "return x", "return 1"))

    assert queries.observation(event_id).title
    assert queries.queue_stats()["raw"] == 0
    assert "not followed" in caplog.text


def test_a_session_tells_what_it_did_in_sum(project: Path) -> None:
    """A session's net changes: made and changed is new, made and removed is nothing."""
    happen(project, edited(project, "a.py", "class C", "def made(): pass\n\n\ndef gone(): pass\n\n\nclass C"))
    happen(project, edited(project, "a.py", "def made(): pass", "def made(): return 1"))
    happen(project, edited(project, "a.py", "def gone(): pass\n", ""))
    happen(project, edited(project, "a.py", "return x", "return 1"))

    assert code.changed_in(str(project), "s1") == {("a.py", "made"): "new", ("a.py", "f"): "modified"}
    assert code.latest_changing_session(str(project)) == "s1"


def test_what_a_project_had_at_its_first_scan_no_session_changed(project: Path) -> None:
    """The first scan of a project credits no session; only edits before or after it are credited."""
    happen(project, edited(project, "a.py", "return x", "return 1"))

    file_index.rescan(str(project), Seen("s1"))
    (project / "b.py").write_text("def later(): pass\n")
    file_index.rescan(str(project), Seen("s2"))

    by = {(row.file_path, row.qualified_name): row.session_id for row in models.FunctionMapEntry.select()}
    assert (by[("a.py", "f")], by[("b.py", "later")]) == ("s1", "s2")
    assert set(by.values()) == {"", "s1", "s2"}


def test_a_home_folder_is_not_mapped_by_itself(memory: Path, tmp_path: Path) -> None:
    """Outside of a repository only files that sessions touched are mapped, whatever else the folder has."""
    folder = tmp_path.resolve()
    (folder / "a.py").write_text(A)
    (folder / "other.py").write_text(A)
    happen(folder, edited(folder, "a.py", "return x", "return 1"))

    file_index.rescan(str(folder), Seen("s1"))

    assert set(code.source_files(str(folder))) == {"a.py"}


def test_a_large_repository_is_mapped_whole_only_when_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large repository is mapped whole only on request; otherwise only its known files are read."""
    monkeypatch.setattr(file_index, "MOST_FILES", 1)
    happen(project, edited(project, "a.py", "return x", "return 1"))

    assert file_index.rescan(str(project), Seen("s1")).files == 1
    assert file_index.scan(str(project)).files == 2


def test_a_formatter_is_noticed_and_old_files_are_not_read(project: Path) -> None:
    """A rescan of newer files reads files written since the last scan and skips older ones."""
    happen(project, edited(project, "a.py", "return x", "return 1"))
    os.utime(project / "b.py", (1, 1))
    file_index.rescan(str(project), Seen("s1"))
    (project / "a.py").write_text("def f():\n    return 1\n")
    (project / "b.py").write_text("")
    os.utime(project / "b.py", (1, 1))

    assert file_index.rescan(str(project), Seen("s1"), only_newer=True).changed == ["a.py"]
    assert file_index.rescan(str(project), Seen("s1")).changed == ["b.py"]


FUNCTIONS: dict[str, Any] = json.loads((DATA / "ledger" / "functions.json").read_text())
WRITTEN_BY_SCRIPT = {"test_parse_amount", "test_parse_amount_refuses", "test_format_amount"}


def names(project_dir: str) -> dict[str, set[str]]:
    """Return the names of mapped functions by file."""
    found: dict[str, set[str]] = {path: set() for path in code.source_files(project_dir)}
    for row in code.functions(project_dir):
        found[row.file_path].add(row.qualified_name)
    return found


def after_session(number: int) -> dict[str, set[str]]:
    """Return the expected names by file after a session."""
    if known := FUNCTIONS["after_session"].get(str(number)):
        return {path: set(names) for path, names in known.items()}
    return {path: {name for name, *_ in rows} for path, rows in FUNCTIONS["final"].items()}


def test_the_map_equals_the_files_after_each_session(
    memory: Path, tmp_path: Path, consumer: Callable[[], Any]
) -> None:
    """With real hooks and a consumer the map equals the files after each session, its calls at the end."""
    folder = (tmp_path / "ledger").resolve()
    folder.mkdir()
    sessions: dict[str, list[dict[str, Any]]] = {}
    for event in recorded_ledger.events(folder):
        sessions.setdefault(event["session_id"], []).append(event)
    consumer()

    for number, events in enumerate(sessions.values(), start=1):
        for event in events:
            recorded_ledger.apply(event, folder)
            hook = install.hook_events()[event["hook_event_name"]]["hook"]
            run_hook(hook, event, project_dir=str(folder))
        wait_until(is_queue_empty)
        assert names(str(folder)) == after_session(number)

    assert {
        (row.file_path, row.qualified_name, row.kind, row.line, row.end_line)
        for row in code.functions(str(folder))
    } == {(path, *row) for path, rows in FUNCTIONS["final"].items() for row in rows}
    project = Project(str(folder))
    project.scan()
    edges = [edge for edge in call_edges.edges(str(folder)) if edge.source == "ast"]
    stored = [edge for edge in edges if edge.resolution != call_edges.UNRESOLVED]
    assert len(stored) == len(project.edges()) > 100
    assert set(map(tuple, FUNCTIONS["gone"])) <= {
        (row.file_path, row.qualified_name)
        for row in models.FunctionChange.select().where(models.FunctionChange.change_type == "deleted")
    }


def test_the_events_alone_give_the_map(memory: Path) -> None:
    """Events alone, without the project's folder, give the map, except for files that a script wrote."""
    for event in demo.recorded_events():
        inbox.append(json.dumps(event), demo.PROJECT)
        work_off()

    wanted = after_session(4)
    wanted["tests/test_journal.py"] -= WRITTEN_BY_SCRIPT
    assert names(demo.PROJECT) == wanted
