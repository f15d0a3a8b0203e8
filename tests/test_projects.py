"""A project is one repository across work trees, clones and moved folders, and can be switched off."""

import json
import os
import shutil
from pathlib import Path

import pytest
from support import cases
from support.code import git
from support.commands import command
from support.databases import work_off
from support.events import edited, prompt, stop
from support.hooks import edit, run_hook, tool_event

from claude_mem_lite import config, repository
from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import output
from claude_mem_lite.context import blocks, builder
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.importers import sessions
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage import migrations, models, projects, queries

CASES = cases.load("projects")

URL = "git@github.com:okafor/Ledger.git"
FUNCTION = "def balance():\n    return {}\n"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a repository with an origin and one commit on main."""
    folder = Path(os.path.realpath(tmp_path)) / "ledger"
    folder.mkdir()
    (folder / "journal.py").write_text(FUNCTION)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    git(folder, "remote", "add", "origin", URL)
    return folder


def happen(folder: Path, session_id: str, *, value: int = 1) -> None:
    """Run a session that edits a file of a folder and reports it, then summarize it."""
    place = config.place(str(folder))
    for event in (
        {"hook_event_name": "SessionStart", "source": "startup"},
        prompt(f"Let the balance be {value}."),
        edited(f"{folder}/journal.py", FUNCTION, FUNCTION.replace("{}", str(value))),
        stop(f"The balance is {value} now."),
    ):
        payload = {**event, "session_id": session_id, "cwd": str(folder)}
        inbox.append(json.dumps(payload), place[0], work_tree=place[1], branch=place[2])
    work_off()
    summarize_session(session_id)


def test_a_work_tree_is_its_repositorys(ledger: Path, tmp_path: Path) -> None:
    """A work tree, or a folder in it, belongs to its repository and has its own branch or commit."""
    other, loose = tmp_path / "other", tmp_path / "loose"
    git(ledger, "worktree", "add", "-q", "-b", "feature/x", str(other))
    git(ledger, "worktree", "add", "-q", "--detach", str(loose))
    (other / "docs").mkdir()
    (tmp_path / "plain").mkdir()

    assert repository.place(str(ledger)) == (str(ledger), str(ledger), "main")
    assert repository.place(str(other / "docs")) == (str(ledger), os.path.realpath(other), "feature/x")
    assert repository.place(str(loose))[:2] == (str(ledger), os.path.realpath(loose))
    assert repository.place(str(loose))[2].startswith("@")
    assert repository.place(str(tmp_path / "plain"))[2] == ""
    assert repository.key(str(ledger)) == "github.com/okafor/Ledger"


def test_a_tree_that_nobody_made_is_its_own(ledger: Path, tmp_path: Path) -> None:
    """A copied `.git` file joins no repository unless the repository lists that work tree."""
    other, planted = tmp_path / "other", Path(os.path.realpath(tmp_path)) / "planted"
    git(ledger, "worktree", "add", "-q", "-b", "x", str(other))
    planted.mkdir()
    shutil.copy(other / ".git", planted / ".git")

    assert repository.place(str(planted))[0] == str(planted)
    assert repository.place(str(other))[0] == str(ledger)


def test_a_submodule_is_its_own_and_a_bare_repository_that_of_its_trees(ledger: Path, tmp_path: Path) -> None:
    """A submodule is its own project; work trees of a bare repository belong to that repository."""
    bare, tree = Path(os.path.realpath(tmp_path)) / "bare.git", tmp_path / "tree"
    git(tmp_path, "clone", "-q", "--bare", str(ledger), str(bare))
    git(bare, "worktree", "add", "-q", str(tree), "main")
    git(ledger, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(bare), "sub")

    assert repository.place(str(tree)) == (str(bare), os.path.realpath(tree), "main")
    assert repository.place(str(ledger / "sub"))[0] == str(ledger / "sub")


@pytest.mark.parametrize(("url", "key"), CASES["keys"])
def test_the_key_is_host_and_path(tmp_path: Path, url: str, key: str) -> None:
    """The key drops user, protocol, port and `.git`; a local folder as origin gives no key."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[core]\n\turl = x\n[remote "origin"]\n\turl = {url}\n')

    assert repository.key(str(tmp_path)) == key


def test_what_a_work_tree_learned_is_known_in_the_repository(memory: Path, ledger: Path) -> None:
    """Memory of a work tree belongs to its repository; its code map stays until it is removed."""
    tree = ledger / ".claude" / "worktrees" / "round"
    git(ledger, "worktree", "add", "-q", "-b", "round", str(tree))
    event = edit(f"{tree}/journal.py")
    run_hook("post_tool_use", event, project_dir=str(tree))
    work_off()
    [observed] = models.Observation.select()
    happen(tree, "s2")
    block = builder.build(str(ledger)).text
    session = queries.known_session("s2")
    changes = {row.project_dir for row in models.FunctionChange.select()}

    assert (observed.project_dir, observed.branch) == (str(ledger), "round")
    assert observed.files_touched == ["journal.py"]
    assert (session.project_dir, session.branch) == (str(ledger), "round")
    assert "Let the balance be 1" in block
    assert changes == {str(ledger)}
    assert {row.project_dir for row in models.FunctionMapEntry.select()} == {str(tree)}
    assert projects.of(str(tree)) == str(ledger)
    assert projects.in_project(f"{tree}/journal.py") == f"{ledger}/journal.py"

    git(ledger, "worktree", "remove", "--force", str(tree))
    projects.tidy()

    assert projects.of(str(tree)) == str(ledger)
    assert models.FunctionMapEntry.select().count() == 0
    assert models.FunctionChange.select().count() > 0


def test_a_branch_is_that_of_each_event(memory: Path, ledger: Path) -> None:
    """Each observation has the branch of its moment, and the session has the last one."""
    happen(ledger, "s1")
    git(ledger, "switch", "-qc", "later")
    happen(ledger, "s1", value=2)

    branches = [row.branch for row in models.Observation.select().order_by(models.Observation.pk)]

    assert (branches[0], branches[-1]) == ("main", "later")
    assert queries.known_session("s1").branch == "later"


def test_a_clone_is_the_same_project(memory: Path, ledger: Path, tmp_path: Path) -> None:
    """Two clones of one origin share a project and its memory in both directions."""
    happen(ledger, "s1")
    clone = Path(os.path.realpath(tmp_path)) / "clone"
    git(tmp_path, "clone", "-q", str(ledger), str(clone))
    git(clone, "remote", "set-url", "origin", "https://github.com/okafor/Ledger")

    assert projects.of(str(clone)) == str(ledger)

    happen(clone, "s2", value=7)

    assert {row.project_dir for row in models.Session.select()} == {str(ledger)}
    assert projects.folders(str(ledger)) == [str(ledger), str(clone)]
    assert "balance be 7" in builder.build(str(ledger)).text
    expected = {"journal.py"}
    assert {row.files_touched[0] for row in models.Observation.select() if row.files_touched} == expected


def test_a_folder_stays_apart_where_the_user_says_so(memory: Path, ledger: Path, tmp_path: Path) -> None:
    """A folder listed in `[projects] apart` has a memory of its own."""
    fork = Path(os.path.realpath(tmp_path)) / "fork"
    shutil.copytree(ledger, fork)
    assert command("config", "set", "projects.apart", f'["{fork}"]').returncode == 0
    happen(ledger, "s1")
    happen(fork, "s2")

    assert {row.project_dir for row in models.Session.select()} == {str(ledger), str(fork)}


def test_a_moved_folder_finds_its_memory(memory: Path, ledger: Path) -> None:
    """A moved project keeps its memory, and status reports the move in one line."""
    happen(ledger, "s1")
    new = ledger.with_name("books")
    ledger.rename(new)

    assert projects.of(str(new)) == str(ledger)

    happen(new, "s2", value=9)
    told = command("status", columns=300).stdout

    assert {row.project_dir for row in models.Observation.select()} == {str(new)}
    assert {row.project_dir for row in models.PendingEvent.select()} == {str(new)}
    assert projects.of(str(new)) == str(new)
    assert "s1" in {row.id for row in models.Session.select().where(models.Session.project_dir == str(new))}
    assert "Let the balance be 9" in builder.build(str(new)).text
    assert f"{ledger} is now {new}" in " ".join(told.split())


def test_without_an_origin_the_first_commit_tells(memory: Path, ledger: Path) -> None:
    """Without an origin, the first commit identifies a moved repository."""
    git(ledger, "remote", "remove", "origin")
    happen(ledger, "s1")
    new = ledger.with_name("books")
    ledger.rename(new)
    assert projects.of(str(new)) == str(ledger)
    happen(new, "s2", value=9)
    bare = ledger.with_name("bare")
    bare.mkdir()
    git(bare, "init", "-q")

    assert {row.project_dir for row in models.Observation.select()} == {str(new)}
    assert repository.first_commit(str(bare)) == ""
    assert repository.first_commit(str(bare.parent)) == ""


def test_rows_from_before_join_their_repository(memory: Path, ledger: Path) -> None:
    """Sessions stored under a work tree's path, existing or deleted, join its repository."""
    tree, gone = ledger.with_name("tree"), f"{ledger}/.claude/worktrees/old"
    git(ledger, "worktree", "add", "-q", "-b", "x", str(tree))
    below = ledger / "docs"
    below.mkdir()
    for number, folder in enumerate((str(tree), gone, str(below), "/nowhere")):
        inbox.append(json.dumps({"session_id": f"s{number}", "prompt": "Go."}), folder)
        queries.touch_session(models.PendingEvent.select().order_by(models.PendingEvent.seq.desc()).get())

    projects.tidy()

    found = {row.id: row.project_dir for row in models.Session.select()}
    assert found == {"s0": str(ledger), "s1": str(ledger), "s2": str(below), "s3": "/nowhere"}


def test_the_queue_of_an_older_version_gets_its_columns(home: Path) -> None:
    """An older queue is upgraded with its events kept, and the older version can still write to it."""
    with inbox.connect() as old:
        for text in inbox.OLDER_SCHEMA:
            old.execute(text)
        row = "INSERT INTO pending_queue (id, session_id, event_name, project_dir, raw_output, created_at)"
        old.execute(f"{row} VALUES ('a', 's1', 'Stop', '/p', '{{}}', '2026-01-01T00:00:00.000000Z')")
    old.close()
    models.open_databases(read_only=True)
    [waiting] = models.PendingEvent.select()

    assert waiting.branch == ""

    inbox.append('{"session_id": "s2"}', "/p", work_tree="/p/tree", branch="x")
    with inbox.Transaction() as connection:
        connection.execute(f"{row} VALUES ('b', 's1', 'Stop', '/p', '{{}}', '2026-01-01T00:00:00.000000Z')")
    models.open_databases()

    queue = models.PendingEvent.select().order_by(models.PendingEvent.seq)
    found = [(each.work_tree, each.branch) for each in queue]
    assert found == [("", ""), ("/p/tree", "x"), ("", "")]
    assert migrations.schema() == len(migrations.MIGRATIONS)


def test_transcripts_are_of_the_place_they_tell(memory: Path, ledger: Path, tmp_path: Path) -> None:
    """A transcript belongs to the project of its work tree, even if that is deleted."""
    gone = f"{ledger}/.claude/worktrees/old"
    line = {
        "type": "user", "sessionId": "s1", "cwd": gone, "gitBranch": "old", "uuid": "u",
        "timestamp": "2026-11-01T10:00:00.000Z", "message": {"role": "user", "content": "Go."},
    }  # fmt: skip
    path = tmp_path / "s1.jsonl"
    path.write_text(f"{json.dumps(line)}\n")

    found = sessions.looked_at(sessions.Session("s1", str(path), {}))

    assert (found.project_dir, found.work_tree, found.branch) == (str(ledger), gone, "old")


@pytest.mark.parametrize(
    ("pattern", "environment"),
    [("PROJECT", {}), ("ABOVE", {}), ("*/ledg*", {}), ("", {"CLAUDE_MEM_OFF": "1"})],
)
def test_nothing_is_stored_or_told_where_it_is_off(
    memory: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, environment: dict[str, str]
) -> None:
    """Memory is off by path, parent folder, pattern, or an environment variable."""
    happen(ledger, "s1")
    pattern = {"PROJECT": str(ledger), "ABOVE": f"{ledger.parent}/"}.get(pattern, pattern)
    if pattern:
        command("config", "set", "projects.off", json.dumps([pattern]))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    before = models.PendingEvent.select().count()

    start = {"hook_event_name": "SessionStart", "source": "startup"}
    events = {"session_start": start, "user_prompt_submit": prompt("The balance?")}
    events["post_tool_use"] = tool_event()
    asked = {hook: {"session_id": "s2", **event} for hook, event in events.items()}
    answers = [run_hook(hook, event, project_dir=str(ledger)) for hook, event in asked.items()]

    assert [(each.returncode, each.stdout, each.stderr) for each in answers] == [(0, b"", b"")] * 3
    assert models.PendingEvent.select().count() == before
    assert list((memory / "spool").iterdir()) == []


def test_start_block_and_recall_can_be_switched_off(memory: Path, ledger: Path) -> None:
    """The start block and recall can each be switched off alone."""
    happen(ledger, "s1")
    searcher, asked = Searcher(by_meaning=False), "What is the balance in journal.py?"

    def told() -> tuple[bool, bool]:
        recalled = blocks.for_prompt(searcher, str(ledger), asked, session_id="s2")
        return bool(builder.build(str(ledger)).text), bool(recalled.text)

    both = told()
    command("config", "set", "context.start", "false")
    without_start = told()
    command("config", "set", "context.start", "true")
    command("config", "set", "context.recall", "false")

    assert (both, without_start, told()) == ((True, True), (False, True), (True, False))


def test_projects_are_listed_merged_and_moved(memory: Path, ledger: Path, tmp_path: Path) -> None:
    """Projects can be listed, merged and moved; each mistake gives a one-line message."""
    plain = Path(os.path.realpath(tmp_path)) / "plain"
    plain.mkdir()
    happen(ledger, "s1")
    happen(plain, "s2")
    models.Observation.update(embedding_status="minilm").execute()

    listed = json.loads(command("project", "list", "--json").stdout)
    shown = command("project", "list", columns=200).stdout
    unasked = command("project", "merge", str(plain), str(ledger))
    merged = command("project", "merge", str(plain), str(ledger), "--yes")
    again = command("project", "merge", str(plain), str(ledger), "--yes")
    nowhere = command("project", "move", str(ledger), str(tmp_path / "nowhere"), "--yes")
    pending = models.Observation.select().where(models.Observation.embedding_status == "pending")
    waits = {row.session_id for row in pending}
    new = plain.with_name("elsewhere")
    plain.rename(new)
    moved = command("project", "move", str(ledger), str(new), "--yes", "--json")

    assert {(each["project"], each["sessions"], each["key"]) for each in listed} == {
        (str(ledger), 1, "github.com/okafor/Ledger"), (str(plain), 1, ""),
    }  # fmt: skip
    assert "github.com/okafor/Ledger" in shown
    assert (unasked.returncode, unasked.stderr.count("\n")) == (2, 1)
    assert (merged.returncode, "1 session" in merged.stdout) == (0, True)
    assert waits == {"s2"}
    assert (again.returncode, "already one project" in again.stderr) == (1, True)
    assert (nowhere.returncode, "there is no folder" in nowhere.stderr) == (1, True)
    assert json.loads(moved.stdout)["rows"]["sessions"] == 2
    assert {row.project_dir for row in models.Session.select()} == {str(new)}


def test_a_folder_that_is_too_long_is_listed_with_its_end(
    memory: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a narrow terminal a project's folder loses its beginning, not the end that tells it apart."""
    happen(ledger, "s1")
    monkeypatch.setattr(output.console, "_force_terminal", True)

    _, listed = command("project", "list", columns=60).stdout.splitlines()

    name = listed.split()[0]
    assert name[0] == "…"
    assert str(ledger).endswith(name[1:])


def test_a_project_is_switched_off_and_on(memory: Path, ledger: Path) -> None:
    """Switching a project off and on keeps the user's other patterns."""
    (memory / "config.toml").write_text('[projects]\noff = ["~/other"]  # mine\n')
    off = command("project", "off", str(ledger / ".git"))
    is_off = config.is_off(str(ledger))
    on = command("project", "on", cwd=ledger)

    assert (off.returncode, is_off, on.returncode) == (0, True, 0)
    assert not config.is_off(str(ledger))
    assert config.off_patterns() == ["~/other"]

    command("config", "set", "projects.off", '["*/ledger"]')
    still = command("project", "on", str(ledger))
    assert (still.returncode, "still off: change the pattern" in still.stderr) == (1, True)


def test_a_project_is_forgotten_with_all_its_folders(memory: Path, ledger: Path) -> None:
    """Forgetting a project or file also removes what its work trees left."""
    tree = ledger.with_name("tree")
    git(ledger, "worktree", "add", "-q", "-b", "x", str(tree))
    happen(tree, "s1")

    by_file = command("forget", "--file", "journal.py", "--yes", cwd=ledger)
    left = [row for row in models.Observation.select() if row.files_touched]
    happen(tree, "s2")
    (tree / "journal.py").unlink()
    models.State.create(name=projects.MOVED, value={"from": "/old", "to": str(ledger), "at": inbox.utc_now()})
    done = command("project", "forget", str(ledger), "--yes")

    assert (by_file.returncode, left) == (0, [])
    assert done.returncode == 0
    gone = (models.Session, models.Observation, models.FunctionMapEntry, models.FunctionChange)
    for table in (*gone, models.ProjectFolder):
        assert table.select().count() == 0, table
    assert projects.moved() == {}
