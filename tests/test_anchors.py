"""Test which code a learning names, and which changes of that code mark the learning."""

import shutil
from pathlib import Path

import pytest
from support import cases

from claude_mem_lite.codemap import file_index
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.learnings import anchors, evolve
from claude_mem_lite.learnings.anchors import Anchor, Code
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models

CASES = cases.load("anchors")

MONEY = CASES["money"]
JOURNAL = CASES["journal"]
STORE = CASES["store"]
FILES = {
    "ledger/__init__.py": "",
    "ledger/money.py": MONEY,
    "ledger/journal.py": JOURNAL,
    "ledger/store.py": STORE,
    "tools/run.py": "def run():\n    pass\n",
    "other/run.py": "class Runner:\n    def run(self):\n        pass\n",
    "Makefile": "all:\n",
    "ledger.toml": "",
}
MONEY_PY = "ledger/money.py"
LOSES, APPENDS = "`allocate` loses cents", "`Journal.post` appends"


@pytest.fixture
def project(memory: Path, tmp_path: Path) -> Path:
    """Return the folder of a mapped project, with the memory open."""
    folder = (tmp_path / "shop").resolve()
    (folder / ".git").mkdir(parents=True)
    for path, text in FILES.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    file_index.scan(str(folder))
    return folder


def named(project: Path, text: str, **fields: list[str]) -> list[str]:
    """Return the anchors of a text, as file:name."""
    found = anchors.speaks_of(str(project), text, **fields)
    return sorted(f"{each.file.rpartition('/')[2]}:{each.name}" for each in found)


def taught(project: Path, text: str) -> str:
    """Store a learning and return its id."""
    candidate = Candidate(text, "gotcha", "user")
    return evolve.take(candidate, session_id="s0", project_dir=str(project)).learning_id


def checked(project: Path) -> None:
    """Rescan the files and check the learnings that name code in them."""
    file_index.rescan(str(project), Seen("s1"))
    evolve.check_code(str(project), "s1")


def stale(learning_id: str) -> str:
    """Return why a learning is marked, "" if it is not."""
    return learning_rows.get(learning_id).stale


def edit(project: Path, path: str, old: str, new: str) -> None:
    """Change a file."""
    text = (project / path).read_text()
    assert old in text
    (project / path).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(("text", "expected"), CASES["anchors"])
def test_names_of_code_become_anchors(project: Path, text: str, expected: list[str]) -> None:
    """A learning is tied to the code it names, however the sentence writes the name."""
    assert named(project, text.format(project=project)) == expected


@pytest.mark.parametrize("text", CASES["words"])
def test_other_words_become_no_anchors(project: Path, text: str) -> None:
    """English words, ambiguous names and names that the map lacks are not taken for code."""
    assert named(project, text) == []


def test_a_name_of_many_functions_is_no_anchor(project: Path) -> None:
    """A name that five functions share is no anchor by itself; a named class or file picks one of them."""
    for number in range(5):
        content = f"class C{number}:\n    def fetch(self):\n        pass\n"
        (project / f"ledger/m{number}.py").write_text(content)
    file_index.scan(str(project))

    assert named(project, "`fetch` is slow") == []
    assert named(project, "`fetch` in ledger/m3.py is slow") == ["m3.py:C3.fetch"]
    assert named(project, "`fetch` is slow", near=["ledger/m3.py"]) == ["m3.py:C3.fetch"]
    assert named(project, "`fetch` of C2 is slow") == ["m2.py:C2", "m2.py:C2.fetch"]


def test_what_somebody_says_it_is_about_counts_as_named(project: Path) -> None:
    """Names given as `about` (function, call, method or file) count, though the text lacks them."""
    about = ["allocate()", "Journal.post", "ledger/store.py", "nothing"]

    found = named(project, "Cents are never lost", about=about)

    assert found == ["journal.py:Journal.post", "money.py:allocate", "store.py:"]


def test_nothing_is_named_without_a_project(project: Path) -> None:
    """Without a project, or in one without a map, a text has no anchors."""
    assert anchors.speaks_of(None, "`allocate`") == []
    assert anchors.speaks_of(str(project / "tools"), "`allocate`") == []


@pytest.mark.parametrize(("text", "change", "expected"), CASES["changes"])
def test_a_change_marks_what_speaks_of_it(
    project: Path, text: str, change: tuple[str, str, str], expected: str
) -> None:
    """A change marks the learnings that name the changed code, and no others, and says what changed."""
    learning_id = taught(project, text)

    edit(project, *change)
    checked(project)

    assert stale(learning_id) == expected


def test_what_is_taken_back_is_unmarked(project: Path) -> None:
    """A learning is unmarked when its code is changed back; its history has both events, once each."""
    learning_id = taught(project, LOSES)

    edit(project, MONEY_PY, "//", "/")
    checked(project)
    checked(project)
    edit(project, MONEY_PY, "/ sum", "// sum")
    checked(project)

    assert stale(learning_id) == ""
    told = [entry.event_type for entry in learning_rows.story(learning_id)]
    assert told == ["learning.inserted", "learning.stale", "learning.fresh"]


def test_a_function_that_moves_alone_is_told_with_its_new_file(project: Path) -> None:
    """A learning about a function that moved to another file is marked with the new file."""
    learning_id = taught(project, LOSES)
    text = (project / MONEY_PY).read_text()
    at, end = text.index("def allocate"), text.index("def show")

    (project / MONEY_PY).write_text(text[:at] + text[end:])
    (project / "ledger/shares.py").write_text(text[at:end])
    checked(project)

    assert stale(learning_id) == "allocate is now in ledger/shares.py"


@pytest.mark.parametrize("text", [LOSES, "ledger/money.py knows one currency"])
def test_a_file_that_moves_takes_its_learnings_along(project: Path, text: str) -> None:
    """Anchors follow a file through two renames, and later changes of the file mark only its functions."""
    learning_id = taught(project, text)
    was = anchors.anchors_of(learning_rows.get(learning_id))

    for old, new in ((MONEY_PY, "ledger/cash.py"), ("ledger/cash.py", "tools/cash.py")):
        (project / old).rename(project / new)
        checked(project)

    (anchor,) = anchors.anchors_of(learning_rows.get(learning_id))
    assert anchor == Anchor("tools/cash.py", was[0].name, was[0].body_hash)
    assert stale(learning_id) == ""
    edit(project, "tools/cash.py", "//", "/")
    checked(project)
    assert stale(learning_id) == ("allocate has changed" if anchor.name else "")


def test_a_folder_that_moves_takes_its_learnings_along(project: Path) -> None:
    """Anchors follow a renamed folder, whichever file in it they name."""
    ids = [taught(project, text) for text in (LOSES, APPENDS)]

    (project / "ledger").rename(project / "accounts")
    checked(project)

    assert [stale(learning_id) for learning_id in ids] == ["", ""]
    files = [anchors.anchors_of(learning_rows.get(learning_id))[0].file for learning_id in ids]
    assert files == ["accounts/money.py", "accounts/journal.py"]


def test_a_file_that_moves_changed_is_told_with_its_new_place(project: Path) -> None:
    """A file moved and changed at once marks its learnings with the new place."""
    learning_id = taught(project, LOSES)

    (project / MONEY_PY).rename(project / "ledger/cash.py")
    edit(project, "ledger/cash.py", "//", "/")
    checked(project)

    assert stale(learning_id) == "allocate is now in ledger/cash.py"


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (LOSES, "ledger/money.py", "allocate is gone"),
        ("ledger/money.py knows one currency", "ledger/money.py", "ledger/money.py is gone"),
        ("Import from `ledger.money` only", "ledger/money.py", "ledger/money.py is gone"),
        ("EUR is set in ledger.toml", "ledger.toml", "ledger.toml is gone"),
        ("What lies in `tools/` is run by hand", "tools", "tools is gone"),
    ],
)
def test_what_speaks_of_a_file_that_goes_is_marked(
    project: Path, text: str, path: str, expected: str
) -> None:
    """A learning is marked while the file that it names is gone, and unmarked once it is back."""
    learning_id = taught(project, text)

    (project / path).rename(project.parent / "away")
    checked(project)
    was = stale(learning_id)
    (project.parent / "away").rename(project / path)
    checked(project)

    assert (was, stale(learning_id)) == (expected, "")


def test_a_file_outside_of_the_map_is_looked_for_on_the_disk(project: Path) -> None:
    """A file that the map leaves out counts as gone only once it is gone from the disk."""
    (project / "build").mkdir()
    (project / "build/make.py").write_text("def make():\n    pass\n")
    learning_id = taught(project, "build/make.py is written by hand")

    checked(project)
    was = stale(learning_id)
    (project / "build/make.py").unlink()
    checked(project)

    assert (was, stale(learning_id)) == ("", "build/make.py is gone")


def test_a_project_whose_folder_is_gone_marks_nothing(project: Path) -> None:
    """A missing project folder, such as an unmounted disk, marks nothing."""
    ids = [taught(project, text) for text in (LOSES, "EUR is set in ledger.toml")]

    shutil.rmtree(project)
    checked(project)

    assert [stale(learning_id) for learning_id in ids] == ["", ""]


def test_each_change_is_told_once(project: Path) -> None:
    """Each change is reported once, in the order in which the learning names its code."""
    found = anchors.speaks_of(str(project), "`allocate`, `show` and `parse_amount` in ledger/money.py")

    edit(project, MONEY_PY, "//", "/")
    edit(project, MONEY_PY, "def show", "def tell")
    file_index.rescan(str(project), Seen("s1"))

    told = "allocate has changed; show is now called tell"
    assert Code(str(project)).why_stale([*found, *found]) == told


def test_only_the_projects_own_current_learnings_are_marked(project: Path) -> None:
    """A change marks no removed learning and no learning of another project."""
    mine, removed = taught(project, LOSES), taught(project, "`allocate` is slow")
    learning_rows.update(learning_rows.get(removed), is_active=False)
    other = taught(project, "`allocate` takes integers")
    learning_rows.update(learning_rows.get(other), project_dir="/another")

    edit(project, MONEY_PY, "//", "/")
    checked(project)

    assert [bool(stale(learning_id)) for learning_id in (mine, removed, other)] == [True, False, False]


@pytest.mark.parametrize(
    "text",
    [
        "`../../etc/passwd` and ../other.py and /etc/passwd",
        "`ledger/../../shop/ledger.toml`",
        "`.*` `(allocate` `[a-z]+` `a|b` `%` `_` `\\` `$(allocate)` `al*cate`",
        "`\0` `\ud800` `Ａllocate` `allocatе`",  # full width, Cyrillic  # noqa: RUF001
        "`" * 5_000,
        "." * 5_000,
        "a." * 5_000,
        "a/" * 5_000,
        "a" * 100_000,
        "x_" * 5_000 + "(",
    ],
)
def test_hostile_text_names_nothing(project: Path, text: str) -> None:
    """Hostile text names no code, raises nothing and reaches no file outside of the project."""
    assert named(project, text) == []
    assert named(project, "", about=[text]) == []


def test_thousands_of_names_are_bounded(project: Path) -> None:
    """Only the beginning of a long text is read, and at most `anchors.MOST` anchors are kept."""
    source = "\n\n".join(f"def work_{number}():\n    return {number}" for number in range(400))
    (project / "ledger/many.py").write_text(source)
    file_index.scan(str(project))
    names = [f"work_{number % 400}" for number in range(100_000)]

    found = anchors.speaks_of(str(project), " ".join(names), about=names, near=names)

    assert [each.name for each in found] == [f"work_{number}" for number in range(anchors.MOST)]


def test_classes_that_inherit_in_circles_end(project: Path) -> None:
    """Classes that inherit in circles, or from hundreds of others, do not hang the search."""
    bases = ", ".join(f"C{number}" for number in range(200))
    source = "\n".join(f"class C{number}({bases}): pass" for number in range(200))
    (project / "ledger/circle.py").write_text(source)
    file_index.scan(str(project))

    assert named(project, "`C1.nothing` is slow") == ["circle.py:C1"]


def test_anchors_are_kept_as_they_are(project: Path) -> None:
    """Anchors read back from a row equal those that were stored."""
    found = anchors.speaks_of(str(project), "`allocate` and ledger.toml")
    row = models.Learning(code=anchors.as_json(found))

    assert anchors.anchors_of(row) == found
    kept = [(each.file, each.name, len(each.body_hash)) for each in found]
    assert kept == [("ledger/money.py", "allocate", 32), ("ledger.toml", "", 0)]
