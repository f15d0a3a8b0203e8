"""Test a project of several languages: scans, edits, and what sessions are shown of it."""

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.code import edited, happen
from support.commands import command
from support.transcripts_on_disk import Lines, take_in

from claude_mem_lite.codemap import file_index, graph, languages, sources
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.context import blocks, builder, layers
from claude_mem_lite.context.past import Past
from claude_mem_lite.learnings import anchors
from claude_mem_lite.services import doctor
from claude_mem_lite.storage import code, models

GO = (
    "package shop\n\n// Store keeps.\ntype Store struct{}\n\n// Get returns one.\n"
    "func (s *Store) Get(k string) int {\n\treturn 1\n}\n\nfunc Old() {}\n"
)
TS = "export class Cart {\n  /** Adds it. */\n  add(name: string) {\n    return name\n  }\n}\n"


@pytest.fixture
def shop(memory: Path, tmp_path: Path) -> Path:
    """Return a repository with four languages, and generated and vendored files."""
    folder = (tmp_path / "shop").resolve()
    for path, text in {
        "store.go": GO,
        "web/cart.ts": TS,
        "tools/run.py": "def run(): pass\n",
        "core/src/lib.rs": "pub fn core() {}\n",
        "node_modules/x/index.js": "function no() {}\n",
        "vendor/y/y.go": "package y\nfunc No() {}\n",
        "core/target/gen.rs": "fn no() {}\n",
        "generated/api.ts": "export function no() {}\n",
        "web/app.min.js": "function no(){}\n",
        "web/out.gen.ts": "function no() {}\n",
        "web/keep.gen.ts": "export function kept() {}\n",
        ".gitignore": "# generated\n/generated/\n*.gen.ts\n!keep.gen.ts\n",
        ".git/HEAD": "ref: refs/heads/main\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def known(folder: Path) -> dict[str, list[str]]:
    """Return the names of mapped functions by file."""
    found: dict[str, list[str]] = {}
    for row in code.functions(str(folder)):
        found.setdefault(row.file_path, []).append(row.qualified_name)
    return found


def noted() -> list[tuple[Any, ...]]:
    """Return the function history: file, name and change."""
    rows = models.FunctionChange.select().order_by(models.FunctionChange.created_at, models.FunctionChange.pk)
    return [(row.file_path, row.qualified_name, row.change_type) for row in rows]


def test_a_scan_maps_every_language_and_nothing_that_is_ignored(shop: Path) -> None:
    """A scan maps every language without ignored folders and files, and rereads only changed files."""
    first = file_index.scan(str(shop))
    (shop / "store.go").write_text(GO.replace("return 1", "return 2"))
    (shop / "core" / "src" / "lib.rs").unlink()
    second = file_index.rescan(str(shop), Seen("s1"))

    assert (first.files, first.errors) == (5, {})
    assert (second.changed, second.gone) == (["store.go"], ["core/src/lib.rs"])
    assert known(shop) == {
        "store.go": ["Store", "Store.Get", "Old"],
        "tools/run.py": ["run"],
        "web/cart.ts": ["Cart", "Cart.add"],
        "web/keep.gen.ts": ["kept"],
    }
    assert noted() == [("store.go", "Store.Get", "modified"), ("core/src/lib.rs", "core", "deleted")]


@pytest.mark.process  # git tells the project's folder
def test_a_captured_edit_of_go_is_told_to_the_next_session(shop: Path) -> None:
    """A captured Go edit appears by name in its observation, the function's history and the next start."""
    file_index.scan(str(shop))

    happen(shop, edited(shop, "store.go", "return 1", "return len(k)"))

    (row,) = models.Observation.select()
    block = builder.build(str(shop), session_id="next").text
    changed = layers.function_map(Past(str(shop), time.time(), list(models.Session.select())))
    (found,) = json.loads(command("history", "Store.Get", "--project", str(shop), "--json").stdout)
    assert row.title == "Store.Get in store.go: “return 1 → len(k)”"
    expected = [{"qualified_name": "Store.Get", "kind": "method", "change_type": "modified"}]
    assert row.functions_changed == expected
    assert noted() == [("store.go", "Store.Get", "modified")]
    assert found["history"][0]["observation_id"] == row.id
    assert found["signature"] == "Get(k string) int"
    assert "store.go (changed Store.Get)" in block
    assert changed == []  # a bare name adds nothing


@pytest.mark.process  # git tells which files are ignored
def test_an_imported_edit_of_typescript_is_told_to_the_next_session(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TypeScript functions of imported sessions are in the history and start block on the first day."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    root = tmp_path / "claude" / "projects"
    root.mkdir(parents=True)
    path = str(shop / "web" / "cart.ts")
    lines = Lines(cwd=str(shop)).user("Write the cart")
    lines.wrote(path, TS)
    lines.edited(path, TS, "return name", "return name.trim()")
    lines.said("Written.").write(root)

    take_in()

    assert noted() == [
        ("web/cart.ts", "Cart", "new"),
        ("web/cart.ts", "Cart.add", "new"),
        ("web/cart.ts", "Cart.add", "modified"),
    ]
    changed = layers.function_map(Past(str(shop), time.time(), list(models.Session.select())))
    assert "web/cart.ts: new Cart.add (“Adds it”)" in changed[-1].text
    assert "web/cart.ts (new Cart.add and Cart)" in builder.build(str(shop), session_id="next").text
    assert known(shop) == {}  # the map is of the present files, which were not scanned


@pytest.mark.process  # git tells the project's folder
def test_a_changed_function_is_found_and_told_with_its_file(shop: Path) -> None:
    """Search finds a changed function as code and as work, and its file's block shows the change."""
    file_index.scan(str(shop))
    event_id = happen(shop, edited(shop, "web/cart.ts", "return name", "return name.trim()"))

    def found(*options: str) -> list[dict[str, Any]]:
        said = command("search", "Cart.add", "--project", str(shop), "--json", *options).stdout
        return list(json.loads(said)["results"])

    assert "Cart.add" in found("--type", "code")[0]["title"]
    assert [each["id"] for each in found()] == [event_id]
    told = blocks.for_file(str(shop), "web/cart.ts", session_id="next").text
    assert "Cart.add in web/cart.ts: “return name → " in told


def test_bytes_that_are_no_text_cost_nothing_around_them(shop: Path) -> None:
    """A source in Latin-1, or with incomplete characters, is mapped."""
    (shop / "a.go").write_bytes(b'package p\n// caf\xe9\nfunc F() {\n\tf("\xff\xe2\x82")\n}\n')

    found = file_index.scan(str(shop))

    assert (known(shop)["a.go"], found.errors) == (["F"], {})


@pytest.mark.process
@pytest.mark.parametrize("version", ["2", "4"])
def test_a_folder_that_git_tracks_is_source_whatever_its_name(shop: Path, version: str) -> None:
    """A folder that git tracks is source even if called build or target; vendored code is not."""
    shutil.rmtree(shop / ".git")
    for path in ("internal/build/run.go", "internal/build/deep/more.go", "env/env.go", "dist/no.go"):
        (shop / path).parent.mkdir(parents=True, exist_ok=True)
        (shop / path).write_text("package p\nfunc F() {}\n")
    (shop / "vendor" / "modules.txt").write_text("# y v1\n")
    for given in (
        ["init", "-q"],
        ["add", "internal", "env", "vendor"],
        ["update-index", "--index-version", version],
    ):
        subprocess.run(["git", "-C", str(shop), *given], check=True)

    listed = [path for path in sources.source_files(str(shop)) if path.endswith(".go")]
    below = list(sources.source_files(str(shop / "internal")))

    assert listed == ["store.go", "env/env.go", "internal/build/run.go", "internal/build/deep/more.go"]
    assert below == ["build/run.go", "build/deep/more.go"]
    assert [path for path in (*listed, "dist/no.go") if sources.Tree(str(shop)).is_source(path)] == listed


def test_what_an_error_hides_stays_in_the_map(shop: Path) -> None:
    """A missing brace deletes no function behind it, while functions that were removed are deleted."""
    good = "function good() {\n" + "  good(1, 2, 3)\n" * 20 + "}\n"
    source = good + "function a() {\n  x()\n}\nfunction b() {\n  y()\n}\nfunction c() {}\n"
    path = shop / "web" / "broken.ts"
    path.write_text(source)
    file_index.scan(str(shop))
    path.write_text(source.replace("x()\n}", "if (x() {\n").replace("function c() {}\n", ""))

    file_index.rescan(str(shop), Seen("s1"))

    assert known(shop)["web/broken.ts"] == ["good", "a", "b"]
    assert [each for each in noted() if each[2] != "modified"] == [("web/broken.ts", "c", "deleted")]


def test_a_language_that_is_mapped_from_now_on_is_nobodys_change(shop: Path) -> None:
    """When a language is mapped for the first time, its functions are not credited to the session."""
    file_index.scan(str(shop))
    code.delete_file(str(shop), "store.go")
    code.delete_file(str(shop), "tools/run.py")
    file_index.note(str(shop), languages=["Python", "TypeScript"])

    file_index.rescan(str(shop), Seen("s1"))

    assert known(shop)["store.go"] == ["Store", "Store.Get", "Old"]
    assert noted() == [("tools/run.py", "run", "new")]


def test_a_language_without_its_grammar_is_not_mapped(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a grammar are not scanned, keep their map, and the missing languages are named."""
    file_index.scan(str(shop))
    rust = languages.of("a.rs")
    assert rust is not None
    monkeypatch.setattr(type(rust), "is_installed", property(lambda self: self.name not in {"Rust", "Go"}))

    scan = file_index.rescan(str(shop), Seen("s1"))

    assert languages.of("a.go") is None
    assert languages.missing(["a.go", "b.rs", "c.ts"]) == {"": ["Go", "Rust"]}
    assert scan.gone == []
    assert "store.go" in known(shop)
    assert [path for path in sources.source_files(str(shop)) if path.endswith((".go", ".rs"))] == []


def test_an_edit_without_calls_leaves_the_calls_alone(shop: Path) -> None:
    """An edit in Ruby, which has no call graph, does not resolve other calls again."""
    (shop / "store.rb").write_text("def get\n  1\nend\n")
    file_index.scan(str(shop))
    graph.refresh(str(shop), "")
    (shop / "store.rb").write_text("def get\n  2\nend\n")

    file_index.scan(str(shop))

    assert graph.refresh(str(shop), "") is False


def test_a_learning_about_go_is_stale_once_its_function_has_changed(shop: Path) -> None:
    """A learning about a Go function is stale once that function changes."""
    file_index.scan(str(shop))
    found = anchors.speaks_of(str(shop), "`Store.Get` must not return zero")
    (shop / "store.go").write_text(GO.replace("return 1", "return 2"))
    file_index.scan(str(shop))

    assert [(each.file, each.name) for each in found] == [("store.go", "Store.Get")]
    assert anchors.Code(str(shop)).why_stale(found) == "Store.Get has changed"


def test_a_project_without_its_grammar_is_told_what_to_install(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor names the project's unmapped languages and the extra to install."""
    (shop / "app").mkdir()
    (shop / "app" / "Main.kt").write_text("fun main() {}\n")
    (shop / "app" / "Main.cs").write_text("class A {}\n")
    monkeypatch.chdir(shop)
    check = next(each for each in doctor._CHECKS if each.__name__ == "_languages")
    hidden = {"Kotlin", "C#"}
    installed = property(lambda self: self.name not in hidden)
    monkeypatch.setattr(type(languages.of("a.go")), "is_installed", installed)

    (missed,) = check()
    hidden.clear()
    (fine,) = check()

    assert missed.found == "C#, Kotlin not mapped"
    assert missed.cure == "in the clone, pip install '.[languages]' adds the grammars"
    assert fine.is_fine
