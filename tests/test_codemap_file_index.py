"""Test the stored code map: what a scan changes in it, and what is stored of a source."""

import os
from pathlib import Path

import pytest
from support import cases
from support.code import A, changes, edited, happen, known, repository

from claude_mem_lite.codemap import answers, file_index, graph
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.codemap.project import Project, scan_source
from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.storage import call_edges, code, models

CASES = cases.load("codemap/file_index")

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def project(memory: Path, tmp_path: Path) -> Path:
    """Return the folder of a project with two files in a repository, with the memory open."""
    return repository(tmp_path)


def test_a_scan_tells_new_modified_deleted_and_unchanged(project: Path) -> None:
    """A scan counts new, modified, deleted and unchanged functions of changed files; others are not read."""
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
    """A function moved by comments is unchanged, at its new lines."""
    file_index.scan(str(project))
    (project / "a.py").write_text("# a comment\n\n" + A.replace("return x", '"""Doc."""\n    return x'))

    assert dict(file_index.scan(str(project)).changes) == {"unchanged": 3}

    rows = {row.qualified_name: row for row in code.functions_in(str(project), "a.py")}
    assert (rows["f"].line, rows["f"].end_line, rows["f"].docstring) == (3, 5, "Doc.")


def test_files_that_go_or_are_renamed_leave_the_map(project: Path) -> None:
    """Removed, renamed and newly ignored files leave the map."""
    file_index.scan(str(project))
    (project / "a.py").rename(project / "c.py")
    (project / "build").mkdir()
    (project / "b.py").rename(project / "build" / "b.py")

    found = file_index.scan(str(project))

    assert sorted(found.gone) == ["a.py", "b.py"]
    assert {path for path, _ in known(project)} == {"c.py"}


def test_a_file_that_cannot_be_parsed_keeps_its_last_good_map(project: Path) -> None:
    """An unparsable file keeps its last good map, and each scan reports the error until it is fixed."""
    file_index.scan(str(project))
    (project / "a.py").write_text("def broken(:\n")

    found = file_index.scan(str(project))

    assert "cannot be parsed" in found.errors["a.py"]
    assert ("a.py", "C.m") in known(project)
    assert file_index.scan(str(project)).errors == found.errors  # though it is not read again
    (project / "a.py").write_text(A)
    assert file_index.scan(str(project)).errors == {}


def test_a_file_that_cannot_be_read_keeps_its_last_good_map(project: Path) -> None:
    """An unreadable file keeps its last good map and is reported; a named pipe counts as no file."""
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
    """A missing project folder, such as an unmounted disk, deletes nothing from the map."""
    file_index.scan(str(project))
    project.rename(project.parent / "elsewhere")

    file_index.rescan(str(project), Seen("s1"))

    assert len(known(project)) == 4


def test_links_out_of_the_project_and_to_ignored_files_are_not_kept(project: Path) -> None:
    """Links to outside or ignored files are never mapped, by scan, command or edit, and leave the map."""
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


def stored(project: Path) -> str:
    """Return all bytes of the stored memory, with unpacked scopes and facts."""
    models.close_databases()
    home = Path(os.environ["CLAUDE_MEM_HOME"])
    data = b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())
    models.open_databases()
    return str([data, *(terms.unpack(each) for _, each in code.packed(str(project)))])


def test_ignored_files_are_not_kept(project: Path) -> None:
    """Of ignored files neither functions nor data for resolving calls is stored."""
    config = Path(os.environ["CLAUDE_MEM_HOME"]) / "config.toml"
    config.write_text('[capture]\nignored_files = ["private_*.py"]\n')
    (project / "private_keys.py").write_text("def hidden(): pass\n")

    file_index.scan(str(project))

    assert ("a.py", "f") in known(project)
    assert "hidden" not in stored(project)


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
        f'@app.get("{TOKEN}")\ndef f(key="{TOKEN}"): "Use {TOKEN}."',
        f'"""Use {TOKEN}\nand {TOKEN}."""',
        f"# {TOKEN}",
        f'long = ("{TOKEN}"\n    "{TOKEN[:9]}\\\n{TOKEN}")',
        f"KEY = '''{PEM}'''",
    ],
)
def test_a_source_with_secrets_is_mapped_without_them(project: Path, secret: str) -> None:
    """A source with secrets is mapped with all its lines, and no secret is stored."""
    source = f"{secret}\n{CODE}"
    (project / "a.py").write_text(source)

    found = file_index.scan(str(project))
    graph.refresh(str(project), "")
    lines = {row.qualified_name: row.line for row in code.functions(str(project))}
    called = {(edge.caller_function, edge.callee_function) for edge in call_edges.edges(str(project))}
    kept = stored(project)

    assert found.errors == {}
    assert lines["login"] == source[: source.index("def login")].count("\n") + 1
    assert ("login", "before") in called
    assert TOKEN not in kept
    assert "MIIEowMIIEow" not in kept


def test_a_secret_that_changes_is_no_change_of_its_function(project: Path) -> None:
    """A changed secret changes no function's hash, so no hash of a secret is stored."""
    text = 'def f():\n    password = "{}"\n    return g(password)\n'
    hashes = []
    for secret in ("hunter2hunter2", "correcthorse99"):
        (project / "a.py").write_text(text.format(secret))
        file_index.scan(str(project))
        hashes += code.hashes(str(project), "a.py").values()

    assert (len(hashes), len(set(hashes))) == (2, 1)


def test_projects_are_apart(project: Path, tmp_path: Path) -> None:
    """The same file in two projects has separate functions, history and calls."""
    other = (tmp_path / "other").resolve()
    other.mkdir()
    (other / "a.py").write_text(A)
    file_index.scan(str(project))
    file_index.scan(str(other))
    graph.refresh(str(project), "")

    happen(other, edited(other, "a.py", "return x", "return 1", session_id="s9"))

    assert changes(project) == []
    assert call_edges.edges(str(other)) == []
    found = answers.callgraph(None, "a.py", limit=9)
    assert [each["project_dir"] for each in found] == [str(other), str(project)]
    expected = [str(project)]
    assert [found["project_dir"] for found in answers.callgraph(str(project), "a.py", limit=9)] == expected


def test_calls_are_resolved_from_what_is_kept(project: Path) -> None:
    """Calls are resolved from stored data without reading sources, and only after a change."""
    file_index.scan(str(project))
    direct = Project(str(project))
    direct.scan()
    for path in project.glob("*.py"):
        path.unlink()

    assert graph.refresh(str(project), "s1")
    assert not graph.refresh(str(project), "s1")

    edges = call_edges.edges(str(project))
    stored = [(row.caller_file, row.caller_function, row.callee_function) for row in edges]
    assert stored == [("a.py", "C.m", "f"), ("b.py", "g", "f")]
    assert len(direct.edges()) == len(stored)


def test_edges_follow_the_code(project: Path) -> None:
    """An edge that left the code is deleted; one that stays keeps its row."""
    file_index.scan(str(project))
    graph.refresh(str(project), "s1")
    before = {row.caller_function: row.id for row in call_edges.edges(str(project))}
    (project / "a.py").write_text(A.replace("return f()", "return 1") + "\n\ndef h(): f()\n")

    file_index.scan(str(project))
    graph.refresh(str(project), "s2")

    after = {row.caller_function: (row.id, row.session_id) for row in call_edges.edges(str(project))}
    assert after.keys() == {"g", "h"}
    assert (after["g"], after["h"][1]) == ((before["g"], "s1"), "s2")


def test_what_another_python_packed_is_read_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data packed by another Python version is replaced by reading the unchanged files again."""
    file_index.scan(str(project))
    monkeypatch.setattr(terms, "FORMAT", ("scopes", 0, (3, 99)))
    monkeypatch.setattr(file_index, "_FORMAT", str(terms.FORMAT))
    assert [terms.unpack(data) for _, data in code.packed(str(project))] == [None, None]

    assert file_index.scan(str(project)).changed == ["a.py", "b.py"]
    assert file_index.scan(str(project)).changed == []
    assert None not in [terms.unpack(data) for _, data in code.packed(str(project))]


def test_deep_scopes_are_packed_wherever_they_are_read() -> None:
    """Scopes nested 700 deep are packed and unpacked even on a nearly full stack."""
    source = "def f():\n    return " + " + ".join(["g()"] * 700) + "\n"
    packed = terms.pack(scan_source("a.py", source).scopes, lambda _: {})

    def again(depth: int) -> bytes:
        return again(depth - 1) if depth else terms.pack(terms.unpack(packed) or (), lambda _: {})

    assert again(600) == packed


@pytest.mark.parametrize(
    "data", [b"", b"junk", terms.pack((), dict.fromkeys)[:-1], terms.pack((), dict.fromkeys)[2:]]
)
def test_damaged_packs_are_none(data: bytes) -> None:
    """Damaged packs unpack to None."""
    assert terms.unpack(data) is None


def test_packs_hold_all_of_a_scope(project: Path) -> None:
    """Unpacked scopes equal those packed, and packs are smaller than the source."""
    source = Path(terms.__file__).with_name("calls.py").read_bytes()
    scopes = scan_source("calls.py", source).scopes

    assert terms.unpack(terms.pack(scopes, lambda _: {})) == scopes
    assert len(terms.pack(scopes, lambda _: {})) < len(source)


@pytest.mark.parametrize(("name", "count"), CASES["found"])
def test_functions_are_found_by_the_end_of_their_names(project: Path, name: str, count: int) -> None:
    """Functions are found by the end of their name, with or without class, module or file path."""
    file_index.scan(str(project))

    assert len(code.find_functions(str(project), name.format(project=project))) == count
    assert len(code.find_files(str(project), "./a.py")) == 1


def test_calls_of_a_very_large_project_are_resolved_when_asked(project: Path) -> None:
    """In a very large project calls are resolved only when asked, not after every edit."""
    file_index.scan(str(project))

    assert not graph.refresh(str(project), "s1", most_lines=11)
    assert graph.refresh(str(project), "s1", most_lines=12)


def test_hostile_files_are_kept_in_bounds(project: Path) -> None:
    """Half characters, endless signatures and odd file names are stored within bounds."""
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
    assert (len(rows), rows["f"].docstring) == (500, "? half")
    assert len(rows["f"].signature) < 1_010
    assert len(rows["g"].decorators[0]) < 1_010
    assert ("line\nbreak.py", "l") in known(project)
    assert found.files == 4
    assert answers.diagram(str(project), is_whole=True).startswith("flowchart")
