"""Test the commands map, history, callers, callees and mermaid, and the web process's answers about code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.code import A, edited, git, happen
from support.commands import Done, command
from support.processes import web_process
from support.web import get

from claude_mem_lite.codemap import file_index, graph

CASES = cases.load("cli_code")


def run(folder: Path, *arguments: str) -> Done:
    """Run a command in a folder as a user does."""
    return command(*arguments, columns=60, cwd=folder)


@pytest.fixture
def project(home: Path, tmp_path: Path) -> Path:
    """Return the folder of a project in a repository, with no memory of it."""
    folder = (tmp_path / "shop").resolve()
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text(A)
    (folder / "b.py").write_text("import a\n\n\ndef g():\n    return a.f()\n")
    (folder / "old.py").write_text("print 'Python 2'\n")
    return folder


@pytest.fixture
def worked_on(project: Path, memory: Path) -> Path:
    """Return the project after a session that changed one of its functions."""
    file_index.scan(str(project))
    happen(project, edited(project, "a.py", "return x", "return x + 1"))
    graph.refresh(str(project), "s1")
    return project


def test_map_scans_a_project_and_says_what_changed(project: Path, home: Path) -> None:
    """`map` works in any folder of a project, names unparsable files, and rereads no unchanged file."""
    (project / "deep").mkdir()
    first = run(project / "deep", "map")
    again = json.loads(run(project, "map", "--json").stdout)

    assert first.returncode == 0
    assert "3 files, 3 of them read" in first.stdout
    assert "4 functions (4 new); 2 calls, 0 unresolved" in first.stdout
    assert "old.py: cannot be parsed" in first.stderr
    assert "\x1b" not in first.stdout + first.stderr
    assert (again["project_dir"], again["files"], again["changed"]) == (str(project), 3, [])
    assert again["changes"] == {"new": 0, "modified": 0, "deleted": 0, "unchanged": 4}
    assert list(again["errors"]) == ["old.py"]
    assert (home / "claude-mem.db").stat().st_mode & 0o077 == 0


def test_map_edges_touches_no_memory(project: Path, home: Path) -> None:
    """`map --edges` prints callers and callees by dotted names, and writes nothing."""
    content = "class K:\n    def __init__(self): pass\nclass D: pass\ndef make(): return K(), D()\n"
    (project / "c.py").write_text(content)
    before = sorted(home.rglob("*"))

    as_json = run(project, "map", ".", "--edges", "--json")
    as_text = run(project, "map", "--edges")

    assert json.loads(as_json.stdout) == {"a.C.m": ["a.f"], "b.g": ["a.f"], "c.make": ["c.K.__init__"]}
    assert as_text.stdout == "a.C.m → a.f\nb.g → a.f\nc.make → c.K.__init__\n"
    assert as_json.stderr == as_text.stderr == ""
    assert sorted(home.rglob("*")) == before


def test_map_of_nothing(project: Path, tmp_path: Path) -> None:
    """A folder without sources is no error; a missing folder and / are."""
    empty = tmp_path / "empty"
    empty.mkdir()

    assert run(empty, "map", "--edges", "--json").stdout == "{}\n"
    assert "0 files" in run(empty, "map").stdout
    missing = run(project, "map", "nowhere")
    everything = run(project, "map", "/")
    assert (missing.returncode, missing.stderr) == (1, "claude-mem: nowhere: no such folder\n")
    assert everything.returncode == 1
    assert everything.stderr.startswith("claude-mem: / is not a project: ")


def test_callers_and_callees_with_confidence_and_source(worked_on: Path) -> None:
    """`callers` and `callees` print one edge a line, with confidence and source, as text and as JSON."""
    text = run(worked_on, "callers", "f")
    as_json = json.loads(run(worked_on, "callees", "C.m", "--json").stdout)

    assert text.stdout.splitlines() == [
        "f  a.py:1  f(x=1)",
        "  0.95  C.m  a.py  line 7  ast: f(): the name refers to it",
        "  0.95  g    b.py  line 5  ast: module.f(): the name refers to it",
    ]
    assert [function["name"] for function in as_json] == ["C.m"]
    expected = [("f", 0.95, "ast")]
    assert [(edge["callee"], edge["confidence"], edge["source"]) for edge in as_json[0]["edges"]] == expected


SHOP = CASES["shop"]


def test_callers_say_what_else_may_be_meant(project: Path) -> None:
    """`callers` reports overriding methods and unresolved calls of the same name."""
    (project / "shop.py").write_text(SHOP)
    run(project, "map")

    text = run(project, "callers", "Base.run").stdout
    (as_json,) = json.loads(run(project, "callers", "Base.run", "--json").stdout)

    assert text.splitlines()[-2:] == [
        "  overridden by Left.run (shop.py), Right.run (shop.py)",
        "  and 1 unresolved call of run(): shop.py:8 f",
    ]
    left, right = ({"file": "shop.py", "name": f"{side}.run"} for side in ("Left", "Right"))
    assert as_json["overridden_by"] == [left, right]
    assert [(each["caller"], each["line"]) for each in as_json["unresolved"]] == [("f", 8)]


@pytest.mark.parametrize("command", ["callers", "callees"])
def test_stale_calls_are_said_to_be_so(worked_on: Path, command: str) -> None:
    """When a file changed after its calls were resolved, stderr and JSON say that they are stale."""
    fresh = run(worked_on, command, "f")
    happen(worked_on, edited(worked_on, "a.py", "return f()", "return 2"))

    stale, as_json = run(worked_on, command, "f"), run(worked_on, command, "f", "--json")

    assert fresh.stderr == ""
    assert stale.stderr.startswith("files have changed since calls were resolved")
    assert [each["is_stale"] for each in json.loads(as_json.stdout)] == [True]


@pytest.mark.parametrize("command", ["history", "callers", "callees"])
def test_an_inherited_method_is_that_of_the_base_class(project: Path, command: str) -> None:
    """A method asked for by an inheriting class is found in the class that defines it."""
    (project / "shop.py").write_text(SHOP)
    run(project, "map")

    done = run(project, command, "Left.stop")

    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "Base.stop  shop.py:3  stop()  inherited by Left"
    assert ("line 9" in done.stdout) == (command == "callers")


def test_history_tells_sessions_and_observations(worked_on: Path) -> None:
    """`history` lists the sessions and observations that changed a function, newest first, or "none"."""
    as_json = json.loads(run(worked_on, "history", "f", "--json").stdout)
    text = run(worked_on, "history", "f").stdout
    never = run(worked_on, "history", "g").stdout

    (change,) = as_json[0]["history"]
    assert (change["change_type"], change["session_id"]) == ("modified", "s1")
    assert change["title"] == "f in a.py: “return x → x + 1”"
    assert f"modified  {change['observation_id'][:8]}  f in a.py" in text
    assert never.splitlines()[1] == "  none"


@pytest.mark.parametrize("command", ["history", "callers", "callees"])
def test_an_unknown_function_is_said_in_a_line(worked_on: Path, command: str) -> None:
    """An unknown function gives exit code 1 with one line on stderr, or an empty JSON list."""
    text, as_json = run(worked_on, command, "nope"), run(worked_on, command, "nope", "--json")

    assert (text.returncode, text.stdout) == (1, "")
    assert text.stderr.startswith("nope: no such function in the code map of ")
    assert (as_json.returncode, json.loads(as_json.stdout)) == (1, [])


def test_mermaid_draws_what_the_last_session_changed(worked_on: Path) -> None:
    """`mermaid` draws the last session's changes with neighbours, a file's calls or all, also into a file."""
    changed = run(worked_on, "mermaid").stdout
    of_file = run(worked_on, "mermaid", "b.py").stdout
    everything = run(worked_on, "mermaid", "--all").stdout
    run(worked_on, "mermaid", "--output", "calls.mmd")

    assert changed.startswith("flowchart LR\n")
    assert [name in changed for name in ('"f"', '"C.m"', '"g"', '"C"')] == [True, True, True, False]
    assert "class n0 modified" in changed
    assert [name in of_file for name in ('"f"', '"C.m"', '"g"')] == [True, False, True]
    assert '"C"' in everything
    assert (worked_on / "calls.mmd").read_text() == changed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mermaid", "nope.py"], "nope.py is not in the code map"),
        (["mermaid", "--session", "nope"], "'nope': no session has this id"),
        (["mermaid", "--output", "no/such/folder.mmd"], "no/such/folder.mmd"),
    ],
)
def test_wrong_arguments_of_mermaid_are_one_line(worked_on: Path, arguments: list[str], says: str) -> None:
    """Wrong arguments of `mermaid` give one line and exit code 1."""
    done = run(worked_on, *arguments)

    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def served(worked_on: Path, memory: Path) -> Iterator[Path]:
    """Start a web process on the project's memory and return its data directory."""
    with web_process():
        yield memory


def test_the_web_process_serves_calls_and_histories(served: Path, worked_on: Path) -> None:
    """The web process finds calls by absolute or project path, and histories by a function's name."""
    by_path = get(served, f"/api/callgraph?file={worked_on}/a.py")
    in_project = get(served, f"/api/callgraph?file=a.py&project={worked_on}")
    surest = get(served, "/api/callgraph?file=a.py&limit=1")[1]["files"][0]
    history = get(served, f"/api/function-history?name=f&project={worked_on}")

    assert by_path[0] == 200
    assert by_path[1]["files"] == in_project[1]["files"]
    (file,) = by_path[1]["files"]
    assert [function["name"] for function in file["functions"]] == ["f", "C", "C.m"]
    calls: list[dict[str, Any]] = file["edges"]
    found = {(edge["caller"], edge["callee"], edge["line"]) for edge in calls}
    assert found == {("C.m", "f", 7), ("g", "f", 5)}
    assert (len(surest["edges"]), surest["left_out"]) == (1, 1)
    assert history[1]["functions"][0]["history"][0]["title"] == "f in a.py: “return x → x + 1”"


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/api/callgraph", 422, "file: Field required"),
        ("/api/callgraph?file=nope.py", 404, "nope.py"),
        ("/api/callgraph?file=a.py&project=relative", 422, "absolute path"),
        ("/api/function-history", 422, "name: Field required"),
        ("/api/function-history?name=%00", 404, "no function"),
        ("/api/function-history?name=f&colour=red", 422, "colour"),
    ],
)
def test_wrong_questions_about_the_code_are_told(served: Path, path: str, status: int, says: str) -> None:
    """The web process refuses wrong questions with a status and a reason in JSON."""
    answer = get(served, path)

    assert answer[0] == status
    assert says in answer[1]["error"]
