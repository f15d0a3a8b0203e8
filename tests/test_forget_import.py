"""Test that an import of a transcript leaves out the events that were forgotten."""

import json
from collections import Counter
from pathlib import Path

import pytest
from support.commands import command
from support.databases import work_off
from support.recorded import events
from support.transcripts_on_disk import CWD, SESSION, Lines, recorded, take_in

from claude_mem_lite.capture import inbox
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.importers import lines
from claude_mem_lite.importers.events import Origin, Reading
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.storage import models, pruning, queries

WORD = "Zebedee"


def happen(root: Path, *, hooked: slice = slice(None)) -> None:
    """Write a session's transcript and record its events as hooks do, or only those of a slice."""
    told = Lines().user(f"{WORD} complained about the rounding").bash("grep -n round price.py", "3: round")
    told.user("Go on").bash(f"echo {WORD} >> notes.txt").wrote(f"{CWD}/secret.py", "def f():\n    return 1\n")
    told.said(f"{WORD} is right: it rounds half up.").user("Go on").bash("make test", "passed").said("Done.")
    path = told.write(root)
    read = Reading(Origin(SESSION, str(path))).events(lines.read(str(path), Counter(), now="9"))
    for event in list(read)[hooked]:
        inbox.append(scrub(json.dumps(event.payload)), CWD)
    work_off()
    summarize_session(SESSION)


def kept() -> tuple[list[str], list[str]]:
    """Return the stored texts and the raw events, without their place in the queue."""
    told = [f"{row.title} {row.summary} {row.detail}" for row in queries.observations_of(SESSION)]
    return sorted(told), sorted(row.raw_output for row in models.PendingEvent.select())


@pytest.mark.parametrize(
    "way",
    [
        ("--match", WORD),
        ("--match", "go on"),
        ("--file", f"{CWD}/secret.py"),
        ("--since", "2026-01-01"),
        ("--project", CWD),
        ("--session", SESSION),
    ],
    ids=" ".join,
)
def test_what_hooks_recorded_and_was_forgotten_stays_so(
    memory: Path, projects: Path, way: tuple[str, ...]
) -> None:
    """However events of hooks were selected to be forgotten, their transcript does not bring them back."""
    happen(projects)
    command("forget", *way, "--yes")
    before = kept()

    reckoned = take_in("--dry-run")
    answer = take_in()

    assert (reckoned["events"], answer["events"], answer["sessions"]) == (0, 0, 0)
    assert kept() == before
    assert answer["left_out"]["forgotten event"] > 0


def test_what_hooks_missed_is_imported_beside_what_was_forgotten(memory: Path, projects: Path) -> None:
    """An import leaves out only what was forgotten, and says so in one line."""
    happen(projects, hooked=slice(4, None))
    command("forget", "--match", f"echo {WORD}", "--yes")

    told = command("import", "transcripts").stdout

    stored = str(kept())
    assert "Left out: 1 forgotten event.\n" in told
    assert (f"echo {WORD}" in stored, "grep -n round" in stored, "make test" in stored) == (False, True, True)


def test_what_was_imported_and_forgotten_stays_so_under_another_path(memory: Path, projects: Path) -> None:
    """A transcript that moved to another folder does not bring back what was forgotten either."""
    happen(projects, hooked=slice(0))
    take_in()
    command("forget", "--match", WORD, "--yes")
    before = kept()
    (projects / "-home-dev-shop").rename(projects / "-home-dev-store")

    take_in()

    assert kept() == before


def test_what_was_forgotten_without_its_raw_event_stays_so(memory: Path, projects: Path) -> None:
    """A session of which an observation was forgotten after its raw event was pruned is left out."""
    happen(projects)
    pruning.prune(before="9")
    command("forget", "--since", "2026-01-01", "--yes")

    answer = take_in()

    assert (answer["events"], answer["left_out"]) == (0, {"already known session": 1})


def test_a_recorded_session_that_was_forgotten_stays_so(memory: Path, projects: Path) -> None:
    """Of a real client's session that was forgotten, an import stores nothing, and no mark has its words."""
    recorded("2.1.50", projects)
    for event in events("2.1.50"):
        inbox.append(scrub(json.dumps(event)), CWD)
    work_off()
    command("forget", "--since", "2000-01-01", "--yes")

    answer = take_in()

    marks = [
        each for row in models.State.select() if row.name[:9] == "forgotten" for each in row.value.values()
    ]
    assert (answer["events"], answer["sessions"], models.Session.select().count()) == (0, 0, 0)
    assert {len(each) for each in marks} == {4, 32}


def test_a_match_leaves_the_marks_of_what_was_forgotten_before(memory: Path, projects: Path) -> None:
    """Forgetting a text that looks like a part of a digest deletes no mark."""
    happen(projects)
    command("forget", "--session", SESSION, "--yes")
    [row] = models.State.select().where(models.State.name.startswith("forgotten "))

    for part in (row.name[:14], *(told[:4] for told in row.value.values())):
        event = {"session_id": "other", "hook_event_name": "UserPromptSubmit", "prompt": f"See {part}."}
        inbox.append(json.dumps(event), CWD)
        command("forget", "--match", part, "--yes")

    assert take_in()["events"] == 0
