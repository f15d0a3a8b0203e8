"""The map as it is remembered: what a scan changes in it, what an event changes, whose doing it is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.code import A, edited, git, happen
from support.databases import work_on
from support.hooks import tool_event

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import answers, file_index, graph
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.codemap.project import Project, scan_source
from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.storage import call_edges, code, models, queries

CASES = cases.load("codemap/file_index")

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def project(memory: Path, tmp_path: Path) -> Path:
    """Return the folder of a project with two files, in a repository, and the memory open."""
    folder = (tmp_path / "shop").resolve()
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text(A)
    (folder / "b.py").write_text("import a\n\n\ndef g():\n    return a.f()\n")
    return folder


def known(folder: Path) -> dict[tuple[str, str], str]:
    """Return what became last of each function by file and name."""
    return {(row.file_path, row.qualified_name): row.change_type for row in code.functions(str(folder))}


def changes(folder: Path) -> list[tuple[str, str, str, str | None]]:
    """Return name, change, session and observation of what is told of functions, oldest first."""
    rows = models.FunctionChange.select().where(models.FunctionChange.project_dir == str(folder))
    return [
        (row.qualified_name, row.change_type, row.session_id, row.observation_id)
        for row in rows.order_by(models.FunctionChange.pk)
    ]


def command(text: str, folder: Path) -> dict[str, Any]:
    """Return the event of a shell command."""
    response = {"stdout": "", "stderr": "", "interrupted": False}
    return tool_event("Bash", tool_input={"command": text}, tool_response=response, cwd=str(folder))


def test_a_scan_tells_new_modified_deleted_and_unchanged(project: Path) -> None:
    """Against the last scan, by function; only changed files are read."""
    first = file_index.scan(str(project))
    assert (first.files, first.changed) == (2, ["a.py", "b.py"])
    assert dict(first.changes) == {"new": 4}

    (project / "a.py").write_text(A.replace("return x", "return x + 1").replace("def m", "def n"))
    second = file_index.scan(str(project))
    assert second.changed == ["a.py"]
    assert dict(second.changes) == {"new": 1, "modified": 1, "deleted": 1, "unchanged": 1}
    assert known(project) == {
        ("a.py", "f"): "modified", ("a.py", "C"): "new", ("a.py", "C.n"): "new", ("b.py", "g"): "new",
    }  # fmt: skip

    third = file_index.scan(str(project))
    assert (third.changed, third.gone, dict(third.changes)) == ([], [], {})
    assert changes(project) == []  # no session did it


def test_comments_and_docstrings_change_nothing_but_lines(project: Path) -> None:
    """A function that moved down is unchanged, at its new lines."""
    file_index.scan(str(project))
    (project / "a.py").write_text("# a comment\n\n" + A.replace("return x", '"""Doc."""\n    return x'))

    assert dict(file_index.scan(str(project)).changes) == {"unchanged": 3}

    rows = {row.qualified_name: row for row in code.functions_in(str(project), "a.py")}
    assert (rows["f"].line, rows["f"].end_line, rows["f"].docstring) == (3, 5, "Doc.")


def test_files_that_go_or_are_renamed_leave_the_map(project: Path) -> None:
    """Also those inside a folder that is now left out."""
    file_index.scan(str(project))
    (project / "a.py").rename(project / "c.py")
    (project / "build").mkdir()
    (project / "b.py").rename(project / "build" / "b.py")

    found = file_index.scan(str(project))

    assert sorted(found.gone) == ["a.py", "b.py"]
    assert {path for path, _ in known(project)} == {"c.py"}


def test_a_file_that_cannot_be_parsed_keeps_its_last_good_map(project: Path) -> None:
    """And says so, until it can be."""
    file_index.scan(str(project))
    (project / "a.py").write_text("def broken(:\n")

    found = file_index.scan(str(project))

    assert "cannot be parsed" in found.errors["a.py"]
    assert ("a.py", "C.m") in known(project)
    assert file_index.scan(str(project)).errors == found.errors  # though it is not read again
    (project / "a.py").write_text(A)
    assert file_index.scan(str(project)).errors == {}


def test_a_file_that_cannot_be_read_keeps_its_last_good_map(project: Path) -> None:
    """And is told of; a pipe, on which nobody will ever write, is no file."""
    file_index.scan(str(project))
    (project / "a.py").unlink()
    (project / "a.py").symlink_to("a.py")
    (project / "b.py").unlink()
    os.mkfifo(project / "b.py")

    found = file_index.scan(str(project))

    assert (found.gone, list(found.errors)) == (["b.py"], ["a.py"])
    assert found.errors["a.py"].startswith("cannot be read: ")
    assert {name for _, name in known(project)} == {"f", "C", "C.m"}
    assert Project(str(project)).scan() == ()


def test_a_folder_that_is_gone_changes_nothing(project: Path) -> None:
    """An unmounted disk is no deletion of everything on it."""
    file_index.scan(str(project))
    project.rename(project.parent / "elsewhere")

    file_index.rescan(str(project), Seen("s1"))

    assert len(known(project)) == 4


def test_links_out_of_the_project_and_to_ignored_files_are_not_kept(project: Path) -> None:
    """Neither a scan, nor a command that names one, nor an edit through one; the map forgets what it knew."""
    file_index.scan(str(project))
    outside = project.parent / "outside.py"
    outside.write_text("def outside(): pass\n")
    (project / "prod.env").write_text("def ignored(): pass\n")
    for name, target in (("a.py", outside), ("settings.py", project / "prod.env")):
        (project / name).unlink(missing_ok=True)
        (project / name).symlink_to(target)

    rescanned = file_index.rescan(str(project), Seen("s1"), paths=["a.py", "settings.py"])
    file_index.follow(str(project), "settings.py", "", "def edited(): pass\n", Seen("s1"))
    file_index.scan(str(project))

    assert rescanned.files == 0
    assert {name for name, _ in known(project)} == {"b.py"}


def test_secrets_and_ignored_files_are_not_kept(project: Path) -> None:
    """Not in signatures, docstrings, decorators, nor in what calls are resolved from."""
    config = Path(os.environ["CLAUDE_MEM_HOME"]) / "config.toml"
    config.write_text('[capture]\nignored_files = ["private_*.py"]\n')
    (project / "private_keys.py").write_text("def hidden(): pass\n")
    (project / "a.py").write_text(
        f'KEY = "{TOKEN}"\n\n\n@app.get("{TOKEN}")\ndef f(key="{TOKEN}"):\n    """Use {TOKEN}."""\n'
        f'    return g("{TOKEN}")\n'
    )

    file_index.scan(str(project))
    models.close_databases()

    data = b"".join(path.read_bytes() for path in config.parent.iterdir() if path.is_file())
    models.open_databases()
    packed = b"".join(str(terms.unpack(each)).encode() for _, each in code.packed(str(project)))
    assert ("a.py", "f") in known(project)
    assert TOKEN.encode() not in data + packed
    assert b"hidden" not in data + packed


ESCAPED = "".join(f"\\x{ord(char):02x}" for char in TOKEN)
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow" * 20 + "\n-----END RSA PRIVATE KEY-----\n"
CODE = CASES["code"]


@pytest.mark.parametrize(
    "secret",
    [
        f'password = "{TOKEN}"',
        f"password = {TOKEN}",
        f'KEYS = {{"a": """one\n{TOKEN}\n{TOKEN}"""}}',
        f'URL = f"https://me:{TOKEN}@host/{{1}}"',
        f'A = b"{TOKEN}"; B = r"\\{TOKEN}"; C = "\\n{TOKEN}"',
        f'KEY = "{ESCAPED}"',
        f'def f(key="{ESCAPED}"): "Use {ESCAPED}."',
        f'@app.get("{TOKEN}")\ndef f(): pass',
        f'"""Use {TOKEN}\nand {TOKEN}."""',
        f"# {TOKEN}",
        f'long = ("{TOKEN}"\n    "{TOKEN[:9]}\\\n{TOKEN}")',
        f"KEY = '''{PEM}'''",
    ],
)
def test_a_source_with_secrets_is_mapped_without_them(project: Path, secret: str) -> None:
    """What redaction cuts out of a file keeps it from no map: every line stays, nothing secret is stored."""
    source = f"{secret}\n{CODE}"
    (project / "a.py").write_text(source)

    found = file_index.scan(str(project))
    graph.refresh(str(project), "")
    lines = {row.qualified_name: row.line for row in code.functions(str(project))}
    called = {(edge.caller_function, edge.callee_function) for edge in call_edges.edges(str(project))}
    models.close_databases()
    home = Path(os.environ["CLAUDE_MEM_HOME"])
    data = b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())
    models.open_databases()
    packed = "".join(str(terms.unpack(each)) for _, each in code.packed(str(project)))

    assert found.errors == {}
    assert lines["login"] == source[: source.index("def login")].count("\n") + 1
    assert ("login", "before") in called
    for text in (TOKEN, "MIIEowMIIEow"):
        assert text.encode() not in data
        assert text not in packed


def test_a_secret_that_changes_is_no_change_of_its_function(project: Path) -> None:
    """A hash of it is not stored either."""
    text = 'def f():\n    password = "{}"\n    return g(password)\n'
    hashes = []
    for secret in ("hunter2hunter2", "correcthorse99"):
        (project / "a.py").write_text(text.format(secret))
        file_index.scan(str(project))
        hashes += code.hashes(str(project), "a.py").values()

    assert len(hashes) == 2
    assert len(set(hashes)) == 1


def test_an_edit_is_its_observations_doing(project: Path) -> None:
    """What was there before is nobody's; what changed meanwhile is the session's, not the edit's."""
    first = happen(project, edited(project, "a.py", "return x", "return x + 1"))
    assert changes(project) == [("f", "modified", "s1", first)]

    (project / "a.py").write_text((project / "a.py").read_text() + "\n\ndef by_hand(): pass\n")
    second = happen(project, edited(project, "a.py", "return f()", "return f(2)", session_id="s2"))

    assert changes(project)[1:] == [
        ("by_hand", "new", "s2", None),
        ("C.m", "modified", "s2", second),
    ]
    assert {row.qualified_name: row.session_id for row in code.functions(str(project))} == {
        "f": "s1", "C": "", "C.m": "s2", "by_hand": "s2",
    }  # fmt: skip


def test_edits_made_together_are_one_observations_doing(project: Path) -> None:
    """Of a MultiEdit every function that it changed is told."""
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
    """All its functions are; those of a file that was overwritten unseen are not."""
    text = "def h(): pass\n"
    written = {"file_path": str(project / "new.py"), "content": text}
    happen(
        project, tool_event("Write", tool_input=written, tool_response={"type": "create", "content": text})
    )
    over = {"file_path": str(project / "old.py"), "content": text}
    response = {"type": "update", "content": text, "originalFile": "def h(): pass\ndef i(): pass\n"}
    happen(project, tool_event("Write", tool_input=over, tool_response=response))

    assert [(name, change) for name, change, _, _ in changes(project)] == [("h", "new"), ("i", "deleted")]


def test_an_event_counts_once_and_not_after_a_later_one(project: Path) -> None:
    """Done twice it changes nothing, nor when a later edit of the file was taken in before it."""
    earlier = edited(project, "a.py", "return x", "return 1")
    later = edited(project, "a.py", "return 1", "return 2")
    ids = [inbox.append(json.dumps(event), str(project)) for event in (earlier, later)]

    for event_id in (ids[1], ids[0], ids[1]):
        work_on(event_id)

    assert changes(project) == [("f", "modified", "s1", ids[1])]
    assert "return 2" in (project / "a.py").read_text()
    assert code.functions_in(str(project), "a.py")[0].body_hash == _hash_of(project / "a.py", "f")


def _hash_of(path: Path, name: str) -> str:
    scanned = scan_source(path.name, path.read_bytes())
    return next(each.body_hash for each in scanned.functions if each.qualified_name == name)


@pytest.mark.parametrize(
    "text", ["git checkout other", "git switch other", "cd . && git merge other", "git -C . pull . other"]
)
def test_git_commands_have_the_project_read_again(project: Path, text: str) -> None:
    """What came, went and changed by them is the session's."""
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


def test_a_stash_has_the_project_read_again(project: Path) -> None:
    """It takes an edit back."""
    git(project, "add", "-A")
    git(project, "commit", "-qm", "1")
    happen(project, edited(project, "a.py", "return x", "return -x"))
    git(project, "stash")

    happen(project, command("git stash", project))

    assert [change for _, change, _, _ in changes(project)] == ["modified", "modified"]
    assert code.functions_in(str(project), "a.py")[0].body_hash == _hash_of(project / "a.py", "f")


@pytest.mark.parametrize("text", ["sed -i s/x/y/g a.py", "cat > a.py <<EOF\ndef f(): pass\nEOF"])
def test_what_a_command_writes_is_read_again(project: Path, text: str) -> None:
    """Of a shell command the files that it certainly writes."""
    file_index.scan(str(project))
    subprocess.run(text, shell=True, cwd=project, check=True)  # noqa: S602

    event_id = happen(project, command(text, project))

    assert ("f", "modified", "s1", event_id) in changes(project)


def test_what_fails_to_be_followed_does_not_stop_the_observation(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; the event is finished, its observation stored."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(file_index, "follow", fail)

    event_id = happen(project, edited(project, "a.py", "return x", "return 1"))

    assert queries.observation(event_id).title
    assert queries.queue_stats()["raw"] == 0
    assert "not followed" in caplog.text


def test_projects_are_apart(project: Path, tmp_path: Path) -> None:
    """The same file in another project has its own functions, history and calls."""
    other = (tmp_path / "other").resolve()
    other.mkdir()
    (other / "a.py").write_text(A)
    file_index.scan(str(project))
    file_index.scan(str(other))
    graph.refresh(str(project), "")

    happen(other, edited(other, "a.py", "return x", "return 1", session_id="s9"))

    assert changes(project) == []
    assert call_edges.edges(str(other)) == []
    assert [found["project_dir"] for found in answers.callgraph(None, "a.py", limit=9)] == [
        str(other),
        str(project),
    ]
    assert [found["project_dir"] for found in answers.callgraph(str(project), "a.py", limit=9)] == [
        str(project)
    ]


def test_calls_are_resolved_from_what_is_kept(project: Path) -> None:
    """No source is read for it; a scan that finds nothing changed resolves nothing."""
    file_index.scan(str(project))
    direct = Project(str(project))
    direct.scan()
    for path in project.glob("*.py"):
        path.unlink()

    assert graph.refresh(str(project), "s1")
    assert not graph.refresh(str(project), "s1")

    stored = [
        (row.caller_file, row.caller_function, row.callee_function) for row in call_edges.edges(str(project))
    ]
    assert stored == [("a.py", "C.m", "f"), ("b.py", "g", "f")]
    assert len(direct.edges()) == len(stored)


def test_edges_follow_the_code(project: Path) -> None:
    """One that is gone from the code is gone, one that stays keeps its row."""
    file_index.scan(str(project))
    graph.refresh(str(project), "s1")
    before = {row.caller_function: row.id for row in call_edges.edges(str(project))}
    (project / "a.py").write_text(A.replace("return f()", "return 1") + "\n\ndef h(): f()\n")

    file_index.scan(str(project))
    graph.refresh(str(project), "s2")

    after = {row.caller_function: (row.id, row.session_id) for row in call_edges.edges(str(project))}
    assert after.keys() == {"g", "h"}
    assert after["g"] == (before["g"], "s1")
    assert after["h"][1] == "s2"


def test_what_another_python_packed_is_read_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digests are the same, but nothing could be resolved from it."""
    file_index.scan(str(project))
    monkeypatch.setattr(terms, "FORMAT", ("scopes", 0, (3, 99)))
    monkeypatch.setattr(file_index, "_FORMAT", str(terms.FORMAT))
    assert [terms.unpack(data) for _, data in code.packed(str(project))] == [None, None]

    assert file_index.scan(str(project)).changed == ["a.py", "b.py"]
    assert file_index.scan(str(project)).changed == []
    assert None not in [terms.unpack(data) for _, data in code.packed(str(project))]


def test_deep_scopes_are_packed_wherever_they_are_read() -> None:
    """An expression 700 deep comes back, though the stack is nearly full by then."""
    source = "def f():\n    return " + " + ".join(["g()"] * 700) + "\n"
    packed = terms.pack(scan_source("a.py", source).scopes, lambda _: {})

    def again(depth: int) -> bytes:
        return again(depth - 1) if depth else terms.pack(terms.unpack(packed) or (), lambda _: {})

    assert again(600) == packed


@pytest.mark.parametrize(
    "data", [b"", b"junk", terms.pack((), dict.fromkeys)[:-1], terms.pack((), dict.fromkeys)[2:]]
)
def test_damaged_packs_are_none(data: bytes) -> None:
    """Whatever happened to them."""
    assert terms.unpack(data) is None


def test_packs_hold_all_of_a_scope(project: Path) -> None:
    """What comes out equals what went in, for this project's own sources."""
    source = Path(terms.__file__).with_name("calls.py").read_bytes()
    scopes = scan_source("calls.py", source).scopes

    assert terms.unpack(terms.pack(scopes, lambda _: {})) == scopes
    assert len(terms.pack(scopes, lambda _: {})) < len(source)


def test_a_session_tells_what_it_did_in_sum(project: Path) -> None:
    """What it made and changed is new, what it made and removed is nothing."""
    happen(project, edited(project, "a.py", "class C", "def made(): pass\n\n\ndef gone(): pass\n\n\nclass C"))
    happen(project, edited(project, "a.py", "def made(): pass", "def made(): return 1"))
    happen(project, edited(project, "a.py", "def gone(): pass\n", ""))
    happen(project, edited(project, "a.py", "return x", "return 1"))

    assert code.changed_in(str(project), "s1") == {("a.py", "made"): "new", ("a.py", "f"): "modified"}
    assert code.latest_changing_session(str(project)) == "s1"


@pytest.mark.parametrize(("name", "count"), CASES["found"])
def test_functions_are_found_by_the_end_of_their_names(project: Path, name: str, count: int) -> None:
    """With or without class, module, file; a file as the shell writes it, too."""
    file_index.scan(str(project))

    assert len(code.find_functions(str(project), name.format(project=project))) == count
    assert len(code.find_files(str(project), "./a.py")) == 1


def test_what_a_project_had_at_its_first_scan_no_session_changed(project: Path) -> None:
    """A git command has all of it read; only what the session edited, before or since, is its own."""
    happen(project, edited(project, "a.py", "return x", "return 1"))

    file_index.rescan(str(project), Seen("s1"))
    (project / "b.py").write_text("def later(): pass\n")
    file_index.rescan(str(project), Seen("s2"))

    by = {(row.file_path, row.qualified_name): row.session_id for row in models.FunctionMapEntry.select()}
    assert by[("a.py", "f")] == "s1"
    assert by[("b.py", "later")] == "s2"
    assert set(by.values()) == {"", "s1", "s2"}


def test_a_home_folder_is_not_mapped_by_itself(memory: Path, tmp_path: Path) -> None:
    """Outside of a repository only files that sessions touched are read, whatever lies beside them."""
    folder = tmp_path.resolve()
    (folder / "a.py").write_text(A)
    (folder / "other.py").write_text(A)
    happen(folder, edited(folder, "a.py", "return x", "return 1"))

    file_index.rescan(str(folder), Seen("s1"))

    assert set(code.source_files(str(folder))) == {"a.py"}


def test_a_large_repository_is_mapped_whole_only_when_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself the files that are known are read."""
    monkeypatch.setattr(file_index, "MOST_FILES", 1)
    happen(project, edited(project, "a.py", "return x", "return 1"))

    assert file_index.rescan(str(project), Seen("s1")).files == 1
    assert file_index.scan(str(project)).files == 2


def test_a_formatter_is_noticed_and_old_files_are_not_read(project: Path) -> None:
    """After an edit only what was written since is read again."""
    happen(project, edited(project, "a.py", "return x", "return 1"))
    os.utime(project / "b.py", (1, 1))
    file_index.rescan(str(project), Seen("s1"))
    (project / "a.py").write_text("def f():\n    return 1\n")
    (project / "b.py").write_text("")
    os.utime(project / "b.py", (1, 1))

    assert file_index.rescan(str(project), Seen("s1"), only_newer=True).changed == ["a.py"]
    assert file_index.rescan(str(project), Seen("s1")).changed == ["b.py"]


def test_calls_of_a_very_large_project_are_resolved_when_asked(project: Path) -> None:
    """Not by every edit."""
    file_index.scan(str(project))

    assert not graph.refresh(str(project), "s1", most_lines=11)
    assert graph.refresh(str(project), "s1", most_lines=12)


def test_hostile_files_are_kept_in_bounds(project: Path) -> None:
    """Half characters, endless signatures, names that are no text: the map takes what can be stored."""
    numbers = ", ".join(f"a{n}=1" for n in range(5_000))
    (project / "odd.py").write_text(
        f'def f({numbers}):\n    "\\ud800 half"\n\n\n@d("{"x" * 9_000}")\ndef g(): "a\\0b"\n'
        + "\n".join(f"def h{n}(): pass" for n in range(600))
    )
    (project / "line\nbreak.py").write_text("def l(): pass\n")
    with open(os.fsencode(project) + b"/bad\xff.py", "w") as file:
        file.write("def b(): pass\n")

    found = file_index.scan(str(project))
    graph.refresh(str(project), "s1")

    rows = {row.qualified_name: row for row in code.functions_in(str(project), "odd.py")}
    assert len(rows) == 500
    assert rows["f"].docstring == "? half"
    assert len(rows["f"].signature) < 1_010
    assert len(rows["g"].decorators[0]) < 1_010
    assert ("line\nbreak.py", "l") in known(project)
    assert found.files == 4
    assert answers.diagram(str(project), is_whole=True).startswith("flowchart")
