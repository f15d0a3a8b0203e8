"""Test a project's map: what is reread and when, what edges contain, and hostile files."""

import os
import sys
from pathlib import Path

import pytest
from support import cases
from support.processes import finished

from claude_mem_lite.codemap import sources
from claude_mem_lite.codemap.confidence import CONFIDENCE
from claude_mem_lite.codemap.project import Project, scan_source
from claude_mem_lite.codemap.resolution import Edge
from claude_mem_lite.codemap.valueflow.external import BUILTINS
from claude_mem_lite.codemap.valueflow.imports import Finder, module_names
from claude_mem_lite.codemap.valueflow.modules import Modules
from claude_mem_lite.codemap.valueflow.solver import solve

CASES = cases.load("codemap/project")


def project(folder: Path, **files: str) -> Project:
    """Write files (`pkg__a` is pkg/a.py) and return their scanned project."""
    for name, source in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    found = Project(str(folder))
    found.scan()
    return found


def pairs(found: Project) -> set[tuple[str, str]]:
    """Return the pairs of caller and callee."""
    return {(edge.caller, edge.callee) for edge in found.edges()}


def test_edge_says_where_how_and_how_surely(tmp_path: Path) -> None:
    """An edge has caller, callee, file, line, resolution, level, confidence and the call's form."""
    found = project(
        tmp_path,
        main="from other import g\n\n\nclass A:\n    def m(self):\n        self.n()\n        g()\n"
        "\n    def n(self): pass\n",
        other="def g(): h()\n\n\ndef h(): pass\n",
    )

    assert found.edges() == (
        Edge("main.A.m", "main.A.n", "main.py", 6, "self_method", "direct", CONFIDENCE["direct"], "self.m()"),
        Edge("main.A.m", "other.g", "main.py", 7, "import", "direct", CONFIDENCE["direct"], "f()"),
        Edge("other.g", "other.h", "other.py", 1, "direct", "direct", CONFIDENCE["direct"], "f()"),
    )


LINES = CASES["lines"]


@pytest.mark.parametrize(
    ("caller", "callee", "line"),
    [
        ("f", "A.m", 12), ("g", "A.__await__", 15), ("h", "A.__iter__", 19), ("i", "A.__bool__", 23),
        ("j", "A.__bool__", 26), ("k", "A.__bool__", 29), ("l", "E", 32), ("n", "A.p", 35), ("o", "A.p", 38),
        ("o", "A.__getitem__", 38), ("q", "A.__iter__", 41),
    ],
)  # fmt: skip
def test_an_edges_line_is_that_of_the_call(tmp_path: Path, caller: str, callee: str, line: int) -> None:
    """An edge's line is that of the callee's name, or of the operand for an implicit call."""
    found = project(tmp_path, main=LINES)

    lines = {(edge.caller, edge.callee): edge.line for edge in found.edges()}
    assert lines[f"main.{caller}", f"main.{callee}"] == line


def test_construction_names_the_class_and_its_constructor(tmp_path: Path) -> None:
    """`Cls()` has an edge to the class, marked as one, and one to `__init__`."""
    found = project(tmp_path, main="class A:\n    def __init__(self): pass\ndef f(): A()\n")

    told = [(edge.callee, edge.is_class, edge.shape) for edge in found.edges()]
    assert told == [("main.A", True, "Cls()"), ("main.A.__init__", False, "Cls()")]


def test_unique_name_is_a_guess_and_scored_apart(tmp_path: Path) -> None:
    """A call on an unknown receiver goes to the only class with such a method, at the level "guess"."""
    found = project(tmp_path, main="class A:\n    def only_here(self): pass\ndef f(x): x.only_here()\n")

    assert [(edge.callee, edge.level) for edge in found.edges()] == [("main.A.only_here", "guess")]
    assert found.edges(guesses=False) == ()


TWO = CASES["two"]


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("def f(x: A): x.p", {"A.p": "typed"}),
        ("def f(x: A | B): x.p", {"A.p": "several", "B.p": "several"}),
        ("def f(x: A | B | C): x.p", {"A.p": "any", "B.p": "any", "C.p": "any"}),
        ("def f(x: A):\n    if x: pass", {"A.__len__": "protocol"}),
        ("def f(x: A | B):\n    if x: pass", {"A.__len__": "any"}),
        ("def f(x: 'A | str'): len(x)", {"A.__len__": "any"}),
        # Annotated with a protocol, the object is of some other class, which is unknown.
        (
            "from typing import Protocol\nclass P(Protocol):\n    def m(self): ...\ndef f(x: P): x.m()",
            {"P.m": "override"},
        ),
    ],
)
def test_what_is_one_of_many_is_less_sure(tmp_path: Path, main: str, expected: dict[str, str]) -> None:
    """An edge is at a lower level if the operand may have several types."""
    found = project(tmp_path, main=f"{TWO}{main}\n")

    assert {edge.callee.removeprefix("main."): edge.level for edge in found.edges()} == expected


def test_unresolved_calls_leave_out_noise(tmp_path: Path) -> None:
    """Unknown calls are listed by name, except builtins and methods of str, list and dict."""
    found = project(
        tmp_path,
        main="def f(x, y):\n    print(x)\n    x.append(1)\n    y.unheard_of()\n    missing()\n"
        "    raise ValueError(x)\n",
    )

    assert [
        (edge.caller, edge.callee, edge.line, edge.resolution, edge.confidence) for edge in found.unresolved()
    ] == [("main.f", "y.unheard_of", 4, "unresolved", 0.5), ("main.f", "missing", 5, "unresolved", 0.5)]


def test_calls_on_what_comes_from_outside_are_unresolved_where_a_method_is_called_so(tmp_path: Path) -> None:
    """A call on a library's result is unresolved if the project has such a method, and else left out."""
    found = project(
        tmp_path,
        main="import lib\nclass A:\n    def save(self): pass\ndef f():\n    lib.one().save()\n"
        "    a = lib.two()\n    a.save()\n    a.load()\n",
    )

    told = [(edge.caller, edge.callee, edge.line) for edge in found.unresolved()]
    assert told == [("main.f", "save", 5), ("main.f", "a.save", 7)]
    assert found.edges() == ()


def test_noise_filter_keeps_the_projects_own_names(tmp_path: Path) -> None:
    """A project's own function is found even under a builtin's name."""
    for name in sorted(BUILTINS - {"super", "property", "staticmethod", "classmethod"}):
        found = project(tmp_path, main=f"def {name}(): pass\ndef caller(): {name}()\n")

        assert pairs(found) == {("main.caller", f"main.{name}")}


def test_a_second_scan_reads_what_has_changed(tmp_path: Path) -> None:
    """A second scan skips unchanged files, drops removed ones, and keeps unparsable ones' last good map."""
    found = project(tmp_path, a="def f(): g()\ndef g(): pass\n", b="def h(): pass\n", c="def i(): pass\n")
    good, same = found.files["a.py"], found.files["c.py"]
    (tmp_path / "a.py").write_text("def f(): g(\n")
    (tmp_path / "b.py").unlink()
    os.utime(tmp_path / "c.py", (0, 0))

    assert (found.scan(), list(found.files)) == (("b.py", "a.py"), ["a.py", "c.py"])
    assert found.files["c.py"] is same
    assert found.files["a.py"].functions == good.functions
    assert found.files["a.py"].error.startswith("cannot be parsed: ")
    assert pairs(found) == {("a.f", "a.g")}


def test_edges_are_the_same_in_every_process(tmp_path: Path) -> None:
    """Edges do not depend on the hash seed."""
    source = "import m{} as o\nclass A(o.A):\n    def m(self): super().m()\n"
    project(tmp_path, **{f"m{n}": source.format((n + 1) % 5) for n in range(5)})
    script = (
        "from claude_mem_lite.codemap.project import Project\n"
        f"p = Project({str(tmp_path)!r}); p.scan(); print(p.edges())"
    )

    seeded = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("0", "1", "2")]
    outputs = {finished(sys.executable, "-c", script, env=each, check=True).stdout for each in seeded}

    assert len(outputs) == 1


DEEP = "x = " + "(" * 150 + "1" + ")" * 150 + "\n"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfdef f(): pass\n", ""),
        ("# -*- coding: latin-1 -*-\ndef f(): return 'é'\n".encode("latin-1"), ""),
        (b"def f(): return '\xff\xfe'\n", ""),
        (b"# coding: no-such-codec\ndef f(): pass\n", ""),
        (DEEP.encode(), ""),
        (b"print 'python 2'\n", "cannot be parsed"),
        (b"def f(): pass\n\0", "cannot be parsed"),
        (b"def f(:\n", "cannot be parsed"),
        (b"\x89PNG\r\n\x1a\n\0\0", "cannot be parsed"),
        (b"x = " + b"[" * 5_000, "cannot be parsed"),
        (b"-" * 100_000 + b"1", "cannot be parsed"),
        (b"x = 1\n" * 400_000, "2400000 bytes; at most 2000000 are read"),
    ],
)
def test_hostile_files_give_a_map_or_say_why_not(source: bytes, error: str) -> None:
    """A hostile file gives a map or an error text, and raises nothing."""
    found = scan_source("a.py", source)

    assert found.error.startswith(error)
    assert bool(found.error) == bool(error)


def test_undecodable_text_of_a_declared_encoding_is_read() -> None:
    """A coding line is obeyed, as in Python."""
    assert sources.decode("# coding: latin-1\nx = 'é'\n".encode("latin-1")).endswith("x = 'é'\n")


ENDLESS = " + ".join(["g()"] * 1_100)


@pytest.mark.parametrize(
    "source",
    [
        # A sum of 1,100 calls is too deep to follow; the file's other functions keep their edges.
        f"def f():\n    return {ENDLESS}\ndef g(): pass\ndef h(): g()\n",
        # A lambda that is too deep is left out with its scope; what follows keeps its own scope.
        f"def g(): ...\nendless = lambda: {ENDLESS}\ndef h():\n    g()\n",
        # `list[()]` has no element type; the function's other calls are found.
        "def h(x: list[()], y: dict[()]): g()\ndef g(): pass\n",
    ],
)
def test_what_cannot_be_followed_does_not_cost_the_file(tmp_path: Path, source: str) -> None:
    """Code that cannot be followed costs only its own edges, not the file's or the project's."""
    found = project(tmp_path, main=source)

    assert found.files["main.py"].error == ""
    assert pairs(found) == {("main.h", "main.g")}


@pytest.mark.parametrize(
    ("result", "runs"),
    [("os.getcwd()", 1), ("A()", 2), ("[os.getcwd()]", 1), ("[A()]", 2), ("A() if os else B()", 2)],
)
def test_scope_is_evaluated_again_for_values_of_the_project(result: str, runs: int) -> None:
    """A scope is evaluated again only if a callee's result is a value of the project, and then once."""
    source = f"import os\nclass A: ...\nclass B: ...\ndef run(): return made()\ndef made(): return {result}\n"
    modules = Modules({"main.py": scan_source("main.py", source).scopes}, {"main.py": "main"})

    solve(modules)

    (module,) = modules
    assert {unit.name: unit.runs for unit in module.units}["main.run"] == runs


def test_circles_of_everything_end(tmp_path: Path) -> None:
    """Circular inheritance, circular imports and ever-growing values come to an end."""
    found = project(
        tmp_path,
        a="from b import *\nclass A(B): pass\ndef f(x): return f([x, f])\nf(f)\n",
        b="from a import *\nclass B(A):\n    def m(self):\n        self.x = {1: self.x, 2: [self.x]}\n"
        "        return self.m()\n",
    )

    assert ("a.f", "a.f") in pairs(found)
    assert ("b.B.m", "b.B.m") in pairs(found)


@pytest.mark.parametrize(
    ("paths", "above", "imported", "names"),
    [
        (["pkg/__init__.py", "pkg/a.py"], "", (), ["pkg", "pkg.a"]),
        (["src/pkg/__init__.py", "src/pkg/a.py"], "", (), ["pkg", "pkg.a"]),
        (["__init__.py", "a.py", "sub/b.py"], "top", (), ["top", "top.a", "top.sub.b"]),
        (["lib/pkg/__init__.py"], "", ("pkg",), ["pkg"]),
        (["ns/pkg/__init__.py"], "", ("ns",), ["ns.pkg"]),
        (["a.py", "a.pyi"], "", (), ["a", "a.pyi"]),
        (["tools/run.py"], "", (), ["tools.run"]),
    ],
)
def test_files_have_the_names_that_imports_use(
    paths: list[str], above: str, imported: tuple[str, ...], names: list[str]
) -> None:
    """Modules of packages, `src` layouts, namespace packages and stubs are named as Python names them."""
    found = module_names(paths, above, imported)

    assert [found[path] for path in paths] == names


def test_import_means_the_full_name_then_a_neighbour_then_the_only_ending() -> None:
    """An import is found by full name, then beside the importer, then by a unique ending."""
    paths = ("helper.py", "tools/helper.py", "tools/run.py", "code/web/app.py")
    finder = Finder({path: path[:-3].replace("/", ".") for path in paths})

    assert finder.absolute("helper", "tools.run") == "helper"
    assert finder.absolute("run", "tools.helper") == "tools.run"
    assert finder.absolute("web.app", "helper") == "code.web.app"
    assert finder.absolute("json", "helper") is None


def test_source_files_leave_out_environments_and_hidden_folders(tmp_path: Path) -> None:
    """Source files are the project's own, in order; environments and hidden folders are left out."""
    for name in (
        "b.py",
        "a/c.pyi",
        ".git/x.py",
        "venv/x.py",
        "env2/pyvenv.cfg",
        "env2/x.py",
        "a/__pycache__/x.py",
        "t.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    (tmp_path / "a" / "build").mkdir()
    (tmp_path / "a" / "build" / "__init__.py").write_text("")

    assert list(sources.source_files(str(tmp_path))) == ["b.py", "a/c.pyi", "a/build/__init__.py"]


def test_a_link_out_of_the_folder_leads_to_no_file(tmp_path: Path) -> None:
    """Links out of the folder are not followed; links within it are."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside / "pkg"):
        folder.mkdir(parents=True)
        (folder / "secret.py").write_text("def secret(): pass\n")
    (inside / "linked.py").symlink_to(outside / "secret.py")
    (inside / "twice.py").symlink_to("linked.py")
    (inside / "folder").symlink_to(outside)
    (inside / "alias.py").symlink_to("pkg/secret.py")
    named = ["folder/secret.py", "pkg/../../outside/secret.py", str(outside / "secret.py"), "gone/x.py"]
    found = Project(str(inside))

    changed = found.scan() + found.scan(named)

    assert changed == ("alias.py", "pkg/secret.py")
    assert list(found.files) == ["alias.py", "pkg/secret.py"]
