"""Names removed from the code, and old values of settings, are marked as gone."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.code import git
from support.commands import command
from support.databases import change, observe, session_row, work_on
from support.events import edited, ran, stop, tool

from claude_mem_lite import repository
from claude_mem_lite.capture import inbox
from claude_mem_lite.context import blocks, builder
from claude_mem_lite.context.past import Past
from claude_mem_lite.context.past import edited as past_edits
from claude_mem_lite.context.superseded import Superseded
from claude_mem_lite.distill.looks import look_at
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.distill.retired import Retired, taken_out
from claude_mem_lite.distill.rules.edits import edit_of
from claude_mem_lite.distill.thread import Said
from claude_mem_lite.forget.marking import mark
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.storage import models, projects, queries, retired
from claude_mem_lite.tasks import periodic

CASES = cases.load("superseded")


def take_in(
    event: dict[str, Any], *, session_id: str, project_dir: str = "/p", at: str = "", branch: str = ""
) -> None:
    """Record an event, at a given time if any."""
    event_id = inbox.append(json.dumps({**event, "session_id": session_id}), project_dir, branch=branch)
    with inbox.Transaction() as connection:
        if at:
            connection.execute("UPDATE pending_queue SET created_at = ? WHERE id = ?", (at, event_id))
    work_on(event_id)


def taken_from(event: dict[str, Any]) -> tuple[list[Retired], list[tuple[str, str]]] | None:
    """Return the names that an event removed from the code, and those that it added."""
    capture = cases.of_event(event, "/p")
    return taken_out(capture, edit_of(capture))


def gone(event: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what an event removed: the name, its replacement, and the setting beside it."""
    found = taken_from(event)
    return [(each.name, each.replacement, each.beside) for each in found[0]] if found else []


@pytest.mark.parametrize(("path", "old", "new", "expected"), CASES["edits"])
def test_an_edit_says_what_it_took_out(path: str, old: str, new: str, expected: list[Any]) -> None:
    """An edit's removed code names and setting values are found in any language, plain words not."""
    assert gone(edited(f"/p/{path}", old, new)) == [tuple(each) for each in expected]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git mv src/summarize.go src/summarise.go", [("summarize.go", "summarise.go", "")]),
        ("rm -f docs/old_plan.md && ls", [("old_plan.md", "", "")]),
        ("mv a b", []),
        ("grep -rl LoadAll src | xargs sed -i 's/LoadAll/loadShelf/g'", [("LoadAll", "loadShelf", "")]),
        ("find . -exec sed -i '' 's#a\\.loadAll#b.loadAll#g; s/x/y/' {} +", [("a.loadAll", "b.loadAll", "")]),
        ("perl -pi -e 's/\\bload_all\\b/load_shelf/g' src/*.py", [("load_all", "load_shelf", "")]),
        ("sed -i 's/load_all/books.load_all/g' a.py b.py", []),
        ("sed -n 's/load_all/load_shelf/gp' a.py b.py", []),
        ("sed -i 's/every book/load_all/g' a.py b.py", []),
        ("rm -rf build", []),
        ("git rm -q tw api/legacy", [("./tw", "", ""), ("api/legacy", "", "")]),
        ("git mv api/lib ./api/shelf", [("api/lib", "api/shelf", "")]),
        ("git mv lib shelf", []),
        ("git mv api/lib 'x`y' && git rm 'a`b/old'", []),
        ("git mv api/a.go api/b.go shelf/", [("api/a.go", "shelf/a.go", ""), ("api/b.go", "shelf/b.go", "")]),
        ("git mv api/a.go shelf", [("api/a.go", "shelf/a.go", "")]),
        ("git grep -l host | xargs sed -i 's#host:5433#host:55432#g'", [("host:5433", "host:55432", "")]),
        ("sed -i 's#host:5433#host:55432#g' compose.yml", []),
        ("sed -i 's#books/.*#shelf/a#g' a.py b.py", []),
    ],
)
def test_a_command_says_which_files_it_took_away(command: str, expected: list[Any]) -> None:
    """File moves, removals and replacements in commands name what is gone."""
    assert gone(ran(command)) == expected


def test_a_definition_that_is_removed_is_gone_at_once() -> None:
    """A removed definition is gone at once; for a removed call the work tree decides."""
    removed = taken_from(edited("/p/a.go", "func loadBook() {}\n", ""))
    called = taken_from(edited("/p/a.go", "x := loadBook()", "x := 1"))

    assert removed
    assert called
    assert removed[0] == [Retired("loadBook", was_defined=True)]
    assert [each.as_row()["is_gone"] for each in (*removed[0], *called[0])] == [True, False]


def test_a_name_that_is_put_for_another_in_all_files_is_gone() -> None:
    """A rename across files is gone at once; for one in a single file the work tree decides."""
    files = ("src/*.go", "a.go b.go", "a.go")
    found = [taken_from(ran(f"sed -i 's/LoadAll/loadShelf/g' {each}")) for each in files]

    assert [each and each[0][0].as_row()["is_gone"] for each in found] == [True, True, False]


def test_what_the_work_tree_has_is_not_gone(memory: Path, tmp_path: Path) -> None:
    """A removed name that the work tree still has, or that comes back, is not gone."""
    git(tmp_path, "init", "-q")
    (tmp_path / "b.go").write_text("func keptBook() {}\n")
    file, place = f"{tmp_path}/a.go", {"session_id": "s1", "project_dir": str(tmp_path)}
    take_in(edited(file, "keptBook(); lostBook()", ""), **place)

    look_at(str(tmp_path))
    told = Superseded(str(tmp_path))

    assert told("`lostBook` reads, `keptBook` writes.", "") == " (`lostBook` is gone)"
    take_in(edited(file, "x", "lostBook()"), **place)
    assert Superseded(str(tmp_path))("`lostBook` reads.", "") == ""


def test_another_checkout_is_looked_at_once(memory: Path, repository_dir: Path) -> None:
    """After a checkout the periodic task looks again, since another branch may have the name."""
    project = str(repository_dir)

    def told() -> str:
        return Superseded(project)("`keptBook` reads.", "")

    commit(repository_dir, b="func keptBook() {}\n")
    git(repository_dir, "checkout", "-qb", "without")
    commit(repository_dir, b="")
    take_in(edited(f"{project}/a.go", "keptBook()", ""), session_id="s1", project_dir=project)
    periodic.look_at_trees.call_local()
    assert told() == ""  # nothing has moved since the edit

    look_at(project)
    assert told() == " (`keptBook` is gone)"
    git(repository_dir, "checkout", "-q", "main")
    periodic.look_at_trees.call_local()
    assert told() == ""


def test_the_next_session_is_told_what_has_come_instead(memory: Path) -> None:
    """A start block adds the replacement to a statement with a renamed function."""
    report = "`loadBook` reads the book. `saveBook` writes it to disk."
    take_in(stop(report), session_id="s1")
    summarize_session("s1")
    take_in(edited("/p/a.go", "func loadBook() {", "func openBook() {"), session_id="s2")
    summarize_session("s2")

    block = builder.build("/p", session_id="s3").text

    assert "`loadBook` reads the book; `saveBook` writes it to disk. (`loadBook` → `openBook`)" in block


def test_what_was_edited_since_is_worth_less(memory: Path) -> None:
    """A statement loses weight if code that it names was edited later."""
    at = "2026-05-02T10:00:00.000000Z"
    take_in(edited("/p/a.go", "x := loadBook(shelf)", "x := loadBook(rack)"), session_id="s1", at=at)

    past = Past("/p", 0.0, edited=past_edits("/p", ["s1"]))

    def worth(says: str, at: str) -> float:
        return past.worth(Said("b" * 32, at, says))

    assert worth("`loadBook` reads a shelf.", "2026-05-01T10:00:00.000000Z") < 1.0
    assert worth("`loadBook` reads a rack.", "2026-05-03T10:00:00.000000Z") == 1.0
    assert worth("A shelf holds `saveBook`.", "2026-05-01T10:00:00.000000Z") == 1.0


def test_a_value_that_changed_is_noted_whatever_its_setting_is_called(memory: Path) -> None:
    """A changed setting is marked even if its name in capitals does not look like code."""
    take_in(edited("/p/a.py", "RETRIES = 3", "RETRIES = 5"), session_id="s1")

    assert Superseded("/p", ["RETRIES is 3 now."])("RETRIES is 3 now.", "") == " (`RETRIES: 3` → `5`)"


def test_a_setting_of_several_words_is_gone_with_its_line(memory: Path) -> None:
    """A removed setting with a value of several words is gone until another file has it."""
    take_in(edited("/p/a.toml", 'options = "-n 4"\nlevel = "high"', 'name = "x"'), session_id="s1")

    def told() -> str:
        return Superseded("/p")("`-n 4` is in `options`, level is high.", "")

    assert told() == " (`options: -n 4` is gone)"
    take_in(edited("/p/b.cfg", "", "options = '-n 4'"), session_id="s1")
    assert told() == ""


def test_a_file_is_told_what_reports_state_of_it(memory: Path) -> None:
    """A file's block has the sentences that name it, without those on gone functions."""
    report = (
        "`bookShelf.ts` keeps the books in a Map, because the order of entry counts. "
        "`bookShelf` is filled once at start. The `cellar.ts` stays. `bookShelf.ts` calls `dustBooks`."
    )
    take_in(stop(report), session_id="s1")
    take_in(edited("/p/a.ts", "function dustBooks() {", ""), session_id="s1")

    told = blocks.for_file("/p", "src/bookShelf.ts", session_id="me").text

    assert "`bookShelf.ts` keeps the books in a Map, because the order of entry counts" in told
    assert "`bookShelf` is filled once at start" in told
    assert "cellar" not in told
    assert "dustBooks" not in told


def test_an_option_goes_with_the_name_that_it_has_in_the_code(memory: Path) -> None:
    """An option is gone if its name in the code is, in any case style."""
    take_in(edited("/p/c.scala", 'opts("run-date")', 'opts("ds")'), session_id="s1")
    retired.set_gone("/p", {"run-date": ""}, of=["run-date"])
    take_in(edited("/p/a.rs", "fn no_dry_run() {}", "fn dry_run() {}"), session_id="s1")
    take_in(edited("/p/b.ts", "function keepAll() {}", "function keepSome() {}"), session_id="s1")

    told = Superseded("/p", ["`--no-dry-run` writes.", "`--keep-all` keeps.", "`--run-date`"])

    assert told("`--no-dry-run` writes.", "") == " (`no_dry_run` → `dry_run`)"
    assert told("`--keep-all` keeps.", "") == " (`keepAll` → `keepSome`)"
    assert told("The DAG has --run-date.", "") == " (`run-date` is gone)"


def test_a_text_for_people_brings_nothing_back(memory: Path) -> None:
    """A changelog neither restores a name that it mentions nor removes one that it drops."""
    take_in(edited("/p/a.rs", "fn no_dry_run() {}", "fn dry_run() {}"), session_id="s1")
    take_in(edited("/p/CHANGES.md", "Calls `keep_all`.", "- `no_dry_run` is gone"), session_id="s1")

    told = Superseded("/p")

    assert told("`no_dry_run` writes, `keep_all` keeps.", "") == " (`no_dry_run` → `dry_run`)"


@pytest.mark.parametrize(
    ("command", "report", "expected"),
    [
        ("git rm -q tw", "`./tw test` runs all.", " (`./tw` is gone)"),
        ("git rm -q tw", "See `x./tw` and `./tw-2`.", ""),
        ("git mv api/lib api/shelf", "It is in `/p/api/lib/a.go`.", " (`api/lib` → `api/shelf`)"),
        ("git mv api/lib api/shelf", "It is in `api/library`.", ""),
        (
            "rg -l x | xargs sed -i 's#host:5433#host:55432#g'",
            "PORT=x@host:5433/b runs.",
            " (`host:5433` → `host:55432`)",
        ),
    ],
)
def test_a_path_or_an_address_is_gone_wherever_it_stands(
    memory: Path, command: str, report: str, expected: str
) -> None:
    """A removed path or address is marked wherever it appears as a whole."""
    take_in(ran(command), session_id="s1")

    assert Superseded("/p")(report, "") == Superseded("/p", [report])(report, "") == expected


def test_a_text_for_people_holds_no_name(memory: Path, repository_dir: Path) -> None:
    """A name that only a changelog still has is gone."""
    commit(repository_dir, a="func loadBook() {}\nretry: 1;\n")
    end_session(repository_dir, "`loadBook` reads a book with `retry: 1`. `listShelf` is for later.")
    (repository_dir / "CHANGES.MD").write_text("`loadBook` and `retry: 1` are gone, `listShelf` as well.\n")
    commit(repository_dir, a="")
    look_at(str(repository_dir))

    told = Superseded(str(repository_dir))

    assert told("`loadBook`, `listShelf`", "") == " (`loadBook` is gone)"
    assert told("with `retry: 1`", "") == " (`retry: 1` is gone)"


def test_a_path_that_is_there_again_is_not_gone(memory: Path, repository_dir: Path) -> None:
    """A file or folder that is there again is not gone; an ignored folder does not count."""
    project = str(repository_dir)
    for folder in ("lib", "old", "shelf"):
        (repository_dir / folder / "books").mkdir(parents=True)
        (repository_dir / folder / "books" / f"{folder}.go").write_text("package books\n")
    commit(repository_dir, a="")
    git(repository_dir, "rm", "-qr", "--cached", "old")
    (repository_dir / ".gitignore").write_text("old/\n")
    take_in(ran("git rm tw lib/books old/books"), session_id="s1", project_dir=project)
    (repository_dir / "tw").write_text("")
    look_at(project)

    told = Superseded(project)

    assert told("`./tw` reads `lib/books` and `old/books`.", "") == " (`old/books` is gone)"


def test_a_file_that_was_removed_made_no_functions(memory: Path, repository_dir: Path) -> None:
    """New functions of a file that was later removed are not shown."""
    project = {"project_dir": str(repository_dir)}
    session_row("s1", summary="Work.", **project)
    for path, row_id in (("src/notify.go", "a" * 32), ("src/relay.go", "b" * 32)):
        observe(row_id, "Edit", f"Edit {path}: new run (“Runs it”)", **project)
        change("run", "new", row_id, file_path=path, **project)
    take_in(ran("git rm src/notify.go"), session_id="s2", **project)
    commit(repository_dir, relay="package a\n")
    look_at(project["project_dir"])

    block = builder.build(project["project_dir"], session_id="s3").text

    assert "src/relay.go: new run (“Runs it”)" in block
    assert "src/notify.go: new" not in block


def test_a_migration_with_another_number_is_told_by_that(memory: Path, repository_dir: Path) -> None:
    """A renumbered file appears under its new name only."""
    project = {"project_dir": str(repository_dir)}
    written = tool("Write", {"file_path": f"{repository_dir}/0006_hooks.go", "content": "x"}, {})
    take_in(written, session_id="s1", **project)
    take_in(stop("`0006_hooks` adds the table of hooks to the shelf."), session_id="s1", **project)
    take_in(ran("git mv 0006_hooks.go 0008_hooks.go"), session_id="s1", **project)
    summarize_session("s1")
    (repository_dir / "0008_hooks.go").write_text("package a\n")
    commit(repository_dir)
    look_at(project["project_dir"])

    block = builder.build(project["project_dir"], session_id="s2")

    wanted = ["0008_hooks.go"]
    assert [line.says for each in block.sections if each.name == "files" for line in each.lines] == wanted
    assert Superseded(project["project_dir"])("`0006_hooks.go`", "") == " (`0006_hooks.go` → `0008_hooks.go`)"


def test_what_is_gone_belongs_to_its_session(memory: Path) -> None:
    """An older edit imported late does not restore a name that a newer edit removed."""
    take_in(edited("/p/a.go", "func loadBook() {}", ""), session_id="s2", at="2026-05-02T10:00:00Z")
    take_in(edited("/p/a.go", "", "func loadBook() {}"), session_id="s1", at="2026-05-01T10:00:00Z")

    assert [row.session_id for row in models.RetiredName.select()] == ["s2"]


def test_a_search_says_what_is_gone(memory: Path) -> None:
    """Search returns a row's text unchanged, with a note on names that are gone."""
    report = "`loadBook` reads the book from its file."
    take_in(stop(report), session_id="s1")
    take_in(edited("/p/a.go", "func loadBook() {", "func openBook() {"), session_id="s2")

    found = command("search", "who reads the book from its file", "--project", "/p", "--json")
    shown = command("search", "who reads the book from its file", "--project", "/p")

    result = json.loads(found.stdout)["results"][0]
    assert (result["text"], result["gone"]) == (report, "`loadBook` → `openBook`")
    assert "no longer: `loadBook` → `openBook`" in shown.stdout


def commit(tree: Path, **files: str) -> None:
    """Write Go files, named without their suffix, and commit the whole work tree."""
    for name, text in files.items():
        (tree / f"{name}.go").write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "x")


def end_session(project: Path, report: str, *, session_id: str = "s1") -> None:
    """End a session with a report, and check its names against the work tree."""
    take_in(stop(report), session_id=session_id, project_dir=str(project))
    summarize_session(session_id)
    look_at(str(project))


@pytest.fixture
def repository_dir(tmp_path: Path) -> Path:
    """Return an empty repository."""
    subprocess.run(["git", "init", "-qb", "main", tmp_path / "p"], check=True)
    return tmp_path / "p"


@pytest.mark.parametrize("case", CASES["gone"])
def test_what_the_work_tree_has_no_more_is_told_as_gone(
    memory: Path, repository_dir: Path, case: list[Any]
) -> None:
    """Names in a report that a later commit removed are marked as gone."""
    (before, report, now, expected), project = case, str(repository_dir)
    commit(repository_dir, **before)
    end_session(repository_dir, report)
    stands = Superseded(project)(report, "")
    for name in before.keys() - now.keys():
        (repository_dir / f"{name}.go").unlink()
    commit(repository_dir, **now)
    look_at(project)

    assert (stands, Superseded(project)(report, "")) == ("", expected)
    assert expected.strip(" ()").partition(";")[0] in builder.build(project, session_id="s2").text


def test_a_word_that_an_edit_took_out_is_gone_only_as_code(memory: Path, repository_dir: Path) -> None:
    """A removed hyphenated name is marked in backticks, not as a plain word."""
    file, place = f"{repository_dir}/a.css", {"session_id": "s1", "project_dir": str(repository_dir)}
    take_in(edited(file, ".book-shelf { }", ".rack { }"), **place)
    look_at(str(repository_dir))

    told = Superseded(str(repository_dir))

    assert told("It is styled by `book-shelf`.", "") == " (`book-shelf` is gone)"
    assert told("The book-shelf has a colour.", "") == ""


def test_the_oldest_of_too_many_names_is_dropped(
    memory: Path, repository_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit the oldest candidate is dropped; names that are gone stay."""
    monkeypatch.setattr("claude_mem_lite.storage.retired._CANDIDATES", 1)
    rows = [("lostBook", "2026-01-01"), ("oldBook", "2026-01-02"), ("newBook", "2026-01-03")]
    seen = [{"name": name, "session_id": "s", "observation_id": "o", "retired_at": at} for name, at in rows]
    retired.remember("/p", seen[:1])
    retired.set_gone("/p", {"lostBook": ""}, of=["lostBook"])

    retired.remember("/p", seen[1:])

    assert [row.name for row in models.RetiredName.select()] == ["lostBook", "newBook"]


def test_what_was_seen_is_forgotten_with_its_session(memory: Path, repository_dir: Path) -> None:
    """A remembered name is forgotten with its session and moves with its project."""
    commit(repository_dir, a="func loadBook() {}\n")
    end_session(repository_dir, "`loadBook` reads a book.")

    projects.join(str(repository_dir), "/elsewhere")
    moved = [(row.project_dir, row.name) for row in models.RetiredName.select()]
    marked = mark(Wanted(session_id="s1"))

    assert moved == [("/elsewhere", "loadBook")]
    assert marked.names == {row.pk for row in models.RetiredName.select()}


def test_a_name_with_letters_that_git_cannot_tell_is_not_gone(memory: Path, repository_dir: Path) -> None:
    """A name with letters that git cannot match is not marked, since other files may have it."""
    commit(repository_dir, a="x = regal_größe\n")
    place = {"session_id": "s1", "project_dir": str(repository_dir)}
    take_in(edited(f"{repository_dir}/b.py", "y = regal_größe", "y = 1"), **place)

    look_at(str(repository_dir))

    assert Superseded(str(repository_dir))("`regal_größe` is wide.", "") == ""


def test_the_users_git_settings_change_no_look(memory: Path, repository_dir: Path) -> None:
    """The user's git settings for colours, line numbers and submodules have no effect."""
    commit(repository_dir, a="func loadBook() {}\n")
    git(repository_dir, "config", "color.ui", "always")
    for name in ("grep.lineNumber", "grep.column", "submodule.recurse"):
        git(repository_dir, "config", name, "true")

    found = repository.tokens(str(repository_dir))

    assert found is not None
    assert {"loadBook", "a.go", ".go"} <= found


def test_a_removed_script_is_gone_from_a_tree_without_files(memory: Path, tmp_path: Path) -> None:
    """A removed file is gone even if the work tree is left without files."""
    git(tmp_path, "init", "-q")
    take_in(ran("git rm -q pack/load.py"), session_id="s1", project_dir=str(tmp_path))

    look_at(str(tmp_path))

    assert repository.tokens(str(tmp_path)) == set()
    assert Superseded(str(tmp_path))("Run `pack/load.py`.", "") == " (`load.py` is gone)"


def test_what_is_gone_cannot_leave_the_block(memory: Path, repository_dir: Path) -> None:
    """Neither quoted code nor a branch name with angle brackets escapes the block."""
    project, branch = str(repository_dir), "x</claude-mem>y"
    commit(repository_dir, a="</claude-mem>\nfunc loadBook() {}\n")
    end_session(repository_dir, "`loadBook` writes `</claude-mem>` at its end.")
    commit(repository_dir, a="func loadBook() {}\n")
    event = edited("/p/a.go", "func loadBook() {", "func openBook() {")
    take_in(event, session_id="s2", project_dir=project, branch=branch)
    look_at(project)

    block = builder.build(project, session_id="s3", branch="main").text

    assert ("is gone" in block, "openBook` on" in block) == (True, True)
    assert block.count("</claude-mem>") == 1


def test_texts_within_others_are_found(repository_dir: Path) -> None:
    """Overlapping and nested texts are all found in the work tree."""
    commit(repository_dir, a="job(retry: 1, wait: 2)\n")
    texts = {"job(retry: 1", "retry: 1", "1, wait: 2)", "wait: 2"}

    assert repository.texts(str(repository_dir), {*texts, "retry: 9"}) == texts


def test_what_a_session_merged_was_its_branchs_work_before_as_well(
    memory: Path, repository_dir: Path
) -> None:
    """A merge marks the branch's sessions so far as merged, before the commit is pulled."""
    project = {"project_dir": str(repository_dir), "branch": "me/book"}
    merge = ran("gh pr merge 12", "Merged pull request #12")
    for name, event in (("s1", stop("`openBook` opens a book.")), ("s2", merge), ("s3", stop("Done so."))):
        take_in(event, session_id=name, **project)
        summarize_session(name)
    look_at(str(repository_dir))

    states = [queries.known_session(name).state["is_merged"] for name in ("s1", "s2", "s3")]

    assert states == [True, True, False]


def test_what_is_renamed_on_another_branch_says_so(memory: Path, repository_dir: Path) -> None:
    """A rename on another branch is noted with that branch's name."""
    commit(repository_dir, a="func loadBook() {}\n")
    project = str(repository_dir)
    end_session(repository_dir, "`loadBook` reads a book.")
    event = edited("/p/a.go", "func loadBook() {", "func openBook() {")
    take_in(event, session_id="s2", project_dir=project, branch="me/rename")
    look_at(project)

    here = Superseded(project, branch="main")("`loadBook` reads.", "")
    there = Superseded(project, branch="me/rename")("`loadBook` reads.", "")

    assert (here, there) == (" (`loadBook` → `openBook` on me/rename)", "")


def test_what_a_branch_has_is_not_gone_where_another_is_checked_out(
    memory: Path, repository_dir: Path
) -> None:
    """A name on an unmerged branch is not gone; after the merge the work tree decides."""
    commit(repository_dir, b="package b\n")
    project = str(repository_dir)
    git(repository_dir, "switch", "-qc", "me/load")
    commit(repository_dir, a="func loadBook() {}\n")
    report = stop("`loadBook` reads a book. It keeps `maxBooks`. `openShelf` comes next.")
    at = "2026-01-02T10:00:00.000000Z"
    take_in(report, session_id="s1", project_dir=project, branch="me/load", at=at)
    summarize_session("s1")
    look_at(project)
    git(repository_dir, "switch", "-q", "main")
    look_at(project)

    assert Superseded(project, branch="main")("`loadBook` reads.", "") == ""
    git(repository_dir, "merge", "-q", "--no-ff", "-m", "Merge branch 'me/load'", "me/load")
    commit(repository_dir, a="func readBook() {}\n")
    look_at(project)
    assert Superseded(project, branch="main")("`loadBook` reads.", "") == " (`loadBook` is gone)"
