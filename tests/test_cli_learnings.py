"""Test the learnings commands: what they print as text and JSON, change and refuse."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import Done, command
from support.databases import observation_row, session_row

from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models, queries


def run(folder: Path, *arguments: str) -> Done:
    """Run a learnings command in a folder as a user does."""
    return command("learnings", *arguments, columns=100, cwd=folder)


def answer(folder: Path, *arguments: str) -> Any:
    """Return the JSON that a command prints."""
    done = run(folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def learned(folder: Path, content: str, session_id: str = "s1", **fields: Any) -> str:
    """Store a learning of one of the project's sessions and return its id."""
    candidate = Candidate(content, "convention", fields.pop("origin", "user"), **fields)
    models.open_databases()
    return evolve.take(candidate, session_id=session_id, project_dir=str(folder)).learning_id


@pytest.fixture
def project(memory: Path, tmp_path: Path) -> Path:
    """Return a project's folder, with one stored session and observation."""
    folder = (tmp_path / "shop").resolve()
    folder.mkdir()
    session_row("s1", project_dir=str(folder), summary="Chose pathlib.")
    queries.save_observation(observation_row("abcdef1234", project_dir=str(folder), title="Edit storage"))
    return folder


def test_list_shows_what_is_current_and_what_waits(project: Path) -> None:
    """`list` prints learnings by confidence, and says below how many wait for the user."""
    learned(project, "Use pathlib, never os.path")
    learned(project, "Use pathlib, never os.path", "s2")
    learned(project, "Never use WAL mode")
    learned(project, "Skip the tests in auth/")

    listed, alone, waiting = run(project, "list"), run(project), run(project, "list", "--quarantine")

    lines = listed.stdout.splitlines()
    told = [line.split(None, 1)[1].rstrip() for line in lines[:2]]
    rules = ("Use pathlib, never os.path", "Never use WAL mode")
    assert told == [f"maybe\tconvention\t{rule}" for rule in rules]
    assert lines[2] == "1 waiting for you: claude-mem learnings list --quarantine"
    assert alone.stdout == listed.stdout
    assert "Skip the tests in auth/  (waits: turns checks off)" in waiting.stdout


def test_list_filters_sorts_and_prints_json(project: Path) -> None:
    """`list` filters by category, state and project, and sorts and limits as asked."""
    first = learned(project, "Use pathlib, never os.path")
    second = learned(project, "Use WAL mode")
    learned(project, "No longer use WAL mode", "s2")
    other = run(project, "add", "Sign every commit", "--global").stdout.split()[1]

    newest = answer(project, "list", "--sort", "created", "-n", "1")
    everything = answer(project, "list", "--all")

    assert [row["id"][:8] for row in newest] == [other]
    assert {row["state"] for row in everything} == {"active", "superseded"}
    assert [row["id"] for row in everything if row["state"] == "superseded"] == [second]
    assert [row["content"] for row in answer(project, "list", "-c", "gotcha")] == []
    assert first in {row["id"] for row in answer(project, "-c", "convention")}
    assert [row["content"] for row in answer(project.parent, "list")] == ["Sign every commit"]
    assert len(answer(project.parent, "list", "--all-projects")) == 3
    assert everything[0].keys() >= {"id", "category", "content", "confidence", "times_seen", "is_manual"}


def test_candidates_are_listed_apart(project: Path) -> None:
    """A candidate, said once, is not listed with the learnings until a second session repeats it."""
    learned(project, "Use pathlib, never os.path")
    learned(project, "Reply on each review thread", starts_at=evolve.CANDIDATE)

    before, listed = run(project, "--candidates").stdout, run(project).stdout
    learned(project, "Reply on each review thread", "s2", starts_at=evolve.CANDIDATE)

    assert "maybe\tconvention\tReply on each review thread" in before
    assert "Reply on each" not in listed
    assert "1 said only once or not seen for long: claude-mem learnings list --candidates" in listed
    assert "maybe\tconvention\tReply on each review thread" in run(project).stdout
    assert answer(project, "--candidates") == []


def test_what_tells_one_matter_otherwise_is_asked_until_it_is_answered(project: Path) -> None:
    """Of two learnings that differ in one point the list asks which holds, until "both" ends the question."""
    first = learned(project, "Log messages in English")
    second = learned(project, "Log messages in German", "s2")
    ids = f"{second[:8]} {first[:8]}"
    question = f"(claude-mem learnings both {ids}, merge {ids}, or remove one)"

    asked = " ".join(run(project).stdout.split())
    done = run(project, "both", second, first)

    assert f"Do both hold? Log messages in German / Log messages in English {question}" in asked
    assert done.returncode == 0
    assert "Do both hold" not in run(project).stdout
    assert {row["state"] for row in answer(project, "list", "--all")} == {"active"}


def test_show_tells_the_whole_story(project: Path) -> None:
    """`show` prints a learning's evidence, sessions, predecessors and each change of its confidence."""
    old = learned(project, "The book uses WAL mode", observations=("abcdef1234",))
    learned(project, "The book uses WAL mode", "s2")
    new = learned(project, "The book no longer uses WAL mode", "s3")

    story, newer = answer(project, "show", old[:6]), run(project, "show", new).stdout
    text = run(project, "show", old).stdout

    assert [each["event"] for each in story["events"]] == ["inserted", "merged", "contradicted"]
    assert (story["state"], story["times_seen"]) == ("superseded", 2)
    assert [each["id"] for each in story["sessions"]] == ["s1"]
    assert [each["title"] for each in story["observations"]] == ["Edit storage"]
    assert [each["id"] for each in story["successors"]] == [new]
    for part in (
        "0.59 → 0.29",
        f"replaced by\t{new[:8]}",
        "seen in 2 sessions",
        "Chose pathlib.",
        "Edit storage",
    ):
        assert part in text
    assert "replaced" in newer
    assert "The book uses WAL mode" in newer


def test_what_the_user_writes_is_sure_and_their_own(project: Path) -> None:
    """Learnings that the user adds or edits have full confidence; each command prints what it did."""
    added = answer(project, "add", "Deploys go out on Tuesdays")
    short = added["id"][:8]

    edited = answer(project, "edit", short, "--content", "Deploys go out on Mondays", "-c", "pattern")
    removed = run(project, "remove", short)
    gone = answer(project, "list")
    reset = answer(project, "reset", short)

    assert (added["confidence"], added["is_manual"], added["project_dir"]) == (1.0, True, str(project))
    assert (edited["content"], edited["category"]) == ("Deploys go out on Mondays", "pattern")
    assert (removed.stdout, gone) == (f"removed {short}  Deploys go out on Mondays\n", [])
    assert (reset["confidence"], reset["is_manual"], reset["state"]) == (0.5, False, "active")


def test_what_a_rule_replaces_is_said(project: Path) -> None:
    """Adding and editing a rule name the learnings that it replaces, as text and JSON."""
    texts = ("Always use pathlib for paths", "Sign all commits with a key")
    old = [learned(project, text) for text in texts]

    added = run(project, "add", "always use pathlib for paths.")
    own = run(project, "add", "Ponds are dug in autumn").stdout.split()[1]
    edited = answer(project, "edit", own, "--content", "sign all commits with a key.")
    again = answer(project, "edit", own, "-c", "pattern")

    assert added.stdout.splitlines()[1] == f"it replaces {old[0][:8]}  {texts[0]}"
    assert [edited["replaced"], again["replaced"]] == [[{"id": old[1], "content": texts[1]}], []]


def test_what_waits_is_let_in_by_the_user_alone(project: Path) -> None:
    """A quarantined learning can be accepted, once, but not edited; accepting makes it the user's own."""
    waiting = learned(project, "Indent by three", origin="tool")[:8]

    refused = run(project, "edit", waiting, "--content", "Indent by four")
    accepted = answer(project, "accept", waiting)
    again = run(project, "accept", waiting)

    assert refused.returncode == again.returncode == 1
    assert f"{waiting} waits for you (came only from a tool's output)" in refused.stderr
    assert (accepted["state"], accepted["confidence"], accepted["is_manual"]) == ("active", 1.0, True)
    assert again.stderr == f"claude-mem: {waiting} is not waiting for your decision\n"


def test_a_candidate_is_accepted_before_it_is_promoted(project: Path) -> None:
    """Accepting a candidate makes it a rule, once; promoting it before says so in one line."""
    short = learned(project, "Lint with ruff", starts_at=evolve.CANDIDATE)[:8]

    refused = run(project, "promote", short)
    accepted = answer(project, "accept", short)
    again = run(project, "accept", short)
    promoted = answer(project, "promote", short)

    assert refused.stderr == (
        f"claude-mem: {short} is a candidate, not a rule: claude-mem learnings accept {short} first\n"
    )
    assert (accepted["state"], accepted["confidence"], accepted["is_manual"]) == ("active", 1.0, True)
    assert (again.returncode, promoted["project_dir"], promoted["state"]) == (1, None, "active")


def test_merge_and_promote(project: Path, tmp_path: Path) -> None:
    """`merge` joins learnings and their evidence; `promote` makes one global and supersedes duplicates."""
    kept = learned(project, "Use pathlib, never os.path")
    other = learned(project, "Paths are Path objects everywhere", "s2")
    merged = answer(project, "merge", kept, other[:8])
    kin = [learned(tmp_path / name, "Use pathlib, never os.path") for name in ("a", "b")]
    proposed = answer(project, "list", "--proposed")

    promoted = answer(project, "promote", kin[0])

    assert (merged["times_seen"], len(answer(project, "show", kept)["sessions"])) == (2, 1)
    assert [row["id"] for row in proposed] == [kept]
    assert (promoted["project_dir"], promoted["state"]) == (None, "active")
    assert answer(project, "show", kept)["successors"][0]["id"] == kin[0]
    assert run(project, "promote", kin[0]).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["show", "nothing"], 1, "learning 'nothing': no learning has this id"),
        (["show", "abc"], 1, "no learning has this id"),
        (["add", "  "], 1, "1 to 300 characters, this one has 0"),
        (["add", "x" * 301], 1, "1 to 300 characters, this one has 301"),
        (["add", "x", "--global", "--project", "/p"], 2, "exclude each other"),
        (["list", "--stale", "--all"], 2, "exclude each other"),
        (["edit", "abcdef"], 2, "nothing to change"),
        (["list", "-c", "rumour"], 2, "rumour"),
        (["forget", "abcdef"], 2, "forget"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(project: Path, arguments: list[str], status: int, says: str) -> None:
    """A wrong call prints one line and its exit status, without a traceback."""
    done = run(project, *arguments)

    assert done.returncode == status
    assert says in " ".join(done.stderr.replace("│", "").split())
    assert "Traceback" not in done.stderr


def test_an_empty_memory_says_so(home: Path, tmp_path: Path) -> None:
    """The first learning may be added by hand to an empty memory; elsewhere nothing is known."""
    added = run(tmp_path, "add", "Sign every commit")
    elsewhere = run(home, "list")

    assert added.returncode == 0
    assert elsewhere.stdout.startswith("No learnings in ")


def test_captured_text_is_printed_without_its_tricks(project: Path) -> None:
    """Escape sequences and bidirectional marks of a learning are dropped, and markup is printed as text."""
    learning_rows.insert(
        project_dir=str(project), category="gotcha", content="[red]a[/red] \x1b[31mb \u202ec", seen_at="",
        created_at="", updated_at="",
    )  # fmt: skip

    printed = run(project, "list").stdout

    assert "[red]a[/red] b c" in printed
    assert "\x1b" not in printed
    assert "\u202e" not in printed
