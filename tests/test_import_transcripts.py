"""Test `import transcripts`: the same memory as by hooks, once, without costs, whatever interferes."""

import datetime as dt
import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from support import databases
from support.code import git
from support.commands import command
from support.recorded import comparable, events, leaks
from support.transcripts_on_disk import CWD, SESSION, Lines, a_session, recorded, remembered, take_in

from claude_mem_lite import settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.importers import store
from claude_mem_lite.learnings import session as learned
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.storage import learnings, models, pruning, queries, rebuild, rewrites
from claude_mem_lite.storage import projects as folders
from claude_mem_lite.upkeep import retention


def messages() -> list[str]:
    """Return the names of the waiting tasks."""
    with inbox.Transaction() as connection:
        data = connection.execute("SELECT data FROM task ORDER BY id").fetchall()
    return [json.loads(each)["name"] for (each,) in data]


def told() -> list[Any]:
    """Return what is stored of the recorded sessions; parallel lookups are sorted, having no order."""
    rows = models.Observation.select().order_by(models.Observation.pk)
    seen = [(row.session_id, row.tier, row.functions_changed, *comparable(row)) for row in rows]
    return [
        [(*row[:4], sorted(row[5]), *(sorted(re.findall(r"\w+", row[at])) for at in (4, 6))) for row in seen],
        sorted((row.id, row.status, row.summary, row.key_files) for row in models.Session.select()),
        sorted((row.content, row.confidence) for row in learnings.find(None)),
    ]


def work_off() -> None:
    """Process the queue as the consumer does, session by session."""
    databases.work_off()
    for session in models.Session.select().order_by(models.Session.started_at):
        summarize_session(session.id)
        learned.learn(session.id)


@pytest.mark.parametrize("version", ["2.1.329", "2.1.197", "2.1.50"])
def test_transcripts_leave_the_same_memory_as_the_hooks(
    version: str, memory: Path, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded transcripts give the same observations, summaries and learnings as hooks, and no secret.

    When they were recorded, PostCompact had no hook, so the client's compaction summaries are left out here.
    """
    for event in events("all" if version == "2.1.329" else version):
        if event.get("agent_type") != "":
            inbox.append(scrub(json.dumps(event)), demo.PROJECT)
    work_off()
    by_hooks = told()
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(memory / "other"))
    recorded(version, projects)
    for path in projects.rglob("*.jsonl"):
        written = os.stat(path)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if '"isCompactSummary":true' not in line))
        os.utime(path, (written.st_atime, written.st_mtime))

    answer = take_in()

    assert told() == by_hooks
    assert len(by_hooks[0]) == answer["observations"] > 30
    assert (answer["usd"], answer["left_out"]) == (0, {})
    assert leaks(memory / "other") == []
    assert {row.status for row in models.PendingEvent.select()} == {inbox.IMPORTED}


def test_a_project_that_is_off_is_not_imported(memory: Path, projects: Path) -> None:
    """A project that is switched off is not imported, and its sessions are counted."""
    recorded("2.1.50", projects)
    (memory / "config.toml").write_text('[projects]\noff = ["*"]\n')

    answer = take_in()

    assert models.PendingEvent.select().count() == 0
    assert answer["left_out"]["session of a project that is off"] > 0


def test_a_second_import_adds_nothing(memory: Path, projects: Path) -> None:
    """A second import adds nothing and does not read the files."""
    recorded("2.1.329", projects)
    take_in()
    before, asked = remembered(), messages()

    again = take_in()

    assert remembered() == before
    assert messages() == asked == [inbox.EMBED]  # the vectors of new rows, once
    assert (again["sessions"], again["events"], again["sessions_known"]) == (0, 0, 4)


def test_a_lost_memory_is_made_anew_with_what_was_imported(memory: Path, projects: Path) -> None:
    """A lost memory is rebuilt from imported events as it was, and without paying for Claude."""
    recorded("2.1.329", projects)
    take_in()
    before = remembered()
    databases.lose_memory()

    rebuild.begin()
    begun = rebuild.state()
    work_off()

    assert remembered() == before
    assert (begun.sessions, begun.left) == (4, begun.events)
    assert (done := rebuild.state()) is not None
    assert done.left == 0


def test_what_the_hooks_have_captured_is_not_taken_twice(memory: Path, projects: Path) -> None:
    """Importing sessions that hooks captured adds nothing, before and after they are processed."""
    recorded("2.1.329", projects)
    for event in events("all"):
        inbox.append(scrub(json.dumps(event)), demo.PROJECT)

    first = take_in()
    work_off()
    before = remembered()
    os.truncate(next(projects.rglob("edb*.jsonl")), 1 << 20)  # its size changed, so that it is read again
    second = take_in()

    assert (first["events"], second["events"]) == (0, 0)
    assert remembered() == before


def test_what_the_hooks_have_missed_is_taken(memory: Path, projects: Path) -> None:
    """Of a session that hooks captured in part the rest is imported, and every call exists once."""
    recorded("2.1.50", projects)
    sent = [event for event in events("2.1.50") if event["hook_event_name"] != "PreToolUse"]
    for event in sent[20:]:
        inbox.append(scrub(json.dumps(event)), demo.PROJECT)
    work_off()

    answer = take_in()

    ids = [call_id for _, call_id in store.tool_use_ids()]
    assert sorted(ids) == sorted(event["tool_use_id"] for event in sent if "tool_use_id" in event)
    assert (answer["events"], models.Session.get().status) == (20, "closed")


def test_a_session_whose_raw_events_are_gone_is_left_out(memory: Path, projects: Path) -> None:
    """A session whose raw events were pruned is skipped, because its calls cannot be matched."""
    recorded("2.1.50", projects)
    for event in events("2.1.50"):
        inbox.append(scrub(json.dumps(event)), demo.PROJECT)
    work_off()
    pruning.prune(before="9")

    answer = take_in()

    assert (answer["events"], answer["left_out"]) == (0, {"already known session": 1})


def test_pruned_raw_events_are_not_imported_anew(memory: Path, projects: Path) -> None:
    """Imported rows whose raw events were pruned stay as they are, also when the session goes on."""
    lines = a_session(projects)
    take_in()
    pruning.prune(before="9")
    said = {"title": "By Claude", "summary": "x", "written_by": "claude"}
    rewrites.write_observation(queries.observations_of(SESSION)[1].id, **said)
    lines.user("And the taxes").bash("make taxes", "done").said("All done.").write(projects)

    answer = take_in()

    titles = [row.title for row in queries.observations_of(SESSION)]
    assert (answer["tool_calls"], answer["sessions"]) == (1, 1)
    assert "By Claude" in titles
    assert len(titles) == 7
    assert "taxes" in (models.Session.get().summary or "")


def test_an_old_session_does_not_overrule_a_newer_one(memory: Path, projects: Path) -> None:
    """What the user said later wins over an imported session."""
    said = "From now on always use {} for dates"
    event = {"session_id": "new", "hook_event_name": "UserPromptSubmit", "prompt": said.format("pendulum")}
    inbox.append(json.dumps(event), CWD)
    work_off()
    before = [row.content for row in learnings.find(CWD)]
    Lines().user("Never use pendulum for dates").said("I see.").write(projects)

    take_in()

    rows = learnings.find(CWD)
    assert [row.content for row in rows] == before
    assert [row.confidence for row in rows] == [0.5]


def test_a_dry_run_writes_nothing(tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run announces what the import then does, and writes no file or folder."""
    recorded("2.1.329", projects)
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(tmp_path / "none"))

    reckoned = json.loads(command("import", "transcripts", "--dry-run", "--json").stdout)
    there = (tmp_path / "none").exists()
    answer = take_in()
    again = take_in("--dry-run")

    same = ("sessions", "tool_calls", "events", "projects", "left_out")
    assert not there
    assert [reckoned[name] for name in same] == [answer[name] for name in same]
    assert 0.5 < reckoned["claude_usd"] / answer["claude_usd"] < 2
    assert (again["sessions"], again["tool_calls"], again["sessions_known"]) == (0, 0, 4)


def test_only_what_is_asked_for_is_taken(memory: Path, projects: Path) -> None:
    """--project and --since limit the sessions that are imported."""
    a_session(projects, session_id="a" * 36, cwd="/home/dev/one", began="2026-10-01T00:00:00")
    a_session(projects, session_id="b" * 36, cwd="/home/dev/two", began="2026-10-02T00:00:00")
    a_session(projects, session_id="c" * 36, cwd="/home/dev/two", began="2026-10-03T00:00:00")

    late = take_in("--project", "/home/dev/two", "--since", "2026-10-02T12:00:00+00:00")
    one = take_in("--project", "/home/dev/one")

    assert (late["sessions"], one["sessions"]) == (1, 1)
    assert sorted(row.id[0] for row in models.Session.select()) == ["a", "c"]


@pytest.mark.parametrize("origin", ["git@github.com:okafor/Ledger.git", ""])
def test_clones_are_one_project(memory: Path, projects: Path, tmp_path: Path, origin: str) -> None:
    """Two clones that the memory did not know are one project, by origin or by the first commit."""
    one, two = (Path(os.path.realpath(tmp_path)) / name for name in ("one", "two"))
    one.mkdir()
    git(one, "init", "-q", "-b", "main")
    git(one, "commit", "-q", "--allow-empty", "-m", "Start")
    git(tmp_path, "clone", "-q", str(one), str(two))
    git(two, "remote", "remove", "origin")
    for folder in (one, two) if origin else ():
        git(folder, "remote", "add", "origin", origin)
    for number, folder in enumerate((one, two, one), start=1):
        lines = Lines(session_id=f"{number}" * 36, cwd=str(folder), began=f"2026-10-0{number}T00:00:00")
        lines.user("Write the notes").wrote(f"{folder}/{number}.md", "x\n").said("Written.").write(projects)

    reckoned = take_in("--project", str(two), "--dry-run")
    answer = take_in("--project", str(two))
    again = take_in("--project", str(two))

    assert [reckoned["projects"], answer["projects"]] == [1, 1]
    assert [answer["sessions"], again["sessions_known"]] == [3, 3]
    assert {row.project_dir for row in models.Session.select()} == {str(one)}
    assert folders.folders(str(one)) == [str(one), str(two)]
    touched = [row.files_touched for row in models.Observation.select() if row.files_touched]
    assert sorted(touched) == [["1.md"], ["2.md"], ["3.md"]]


def test_a_clone_imported_by_an_older_version_joins_its_project(memory: Path, tmp_path: Path) -> None:
    """Sessions stored under a folder that is known to belong to another project move to that project."""
    one = str(tmp_path)
    databases.session_row("old", project_dir="/two")
    models.ProjectFolder.create(folder="/two", project_dir=one, key="k", seen_at=inbox.utc_now())

    folders.tidy()

    assert queries.known_session("old").project_dir == one


def test_imported_raw_events_are_kept_from_their_import_on(memory: Path, projects: Path) -> None:
    """Imported raw events are kept for the set number of days after the import, however old they are."""
    a_session(projects, began="2020-01-01T00:00:00")
    take_in()
    now, limits = dt.datetime.now(dt.UTC), settings.Retention(events_days=30)
    kept = retention.prune(retention.limits(limits, now=now)).events

    later = retention.prune(retention.limits(limits, now=now + dt.timedelta(days=31))).events

    assert (kept, later) == (0, 6)


def test_the_queue_stays_within_its_room(memory: Path, projects: Path) -> None:
    """An import larger than max_queue_mb drops raw events that are processed."""
    (memory / "config.toml").write_text("[retention]\nmax_queue_mb = 1\n")
    for number in range(6):
        lines = Lines(session_id=f"{number}" * 36, began=f"2026-10-0{number + 1}T00:00:00")
        lines.user("Print it all")
        for page in range(5):
            lines.bash(f"make page-{page}", f"{number}{page} words " * 10_000)
        lines.write(projects)

    take_in()

    assert (memory / "queue.db").stat().st_size < 4 << 20
    assert models.Observation.select().count() == 36


def test_failures_are_told_in_a_line(memory: Path, projects: Path) -> None:
    """Without transcripts, and during another import, one line gives the cause."""
    with (memory / "import.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = command("import", "transcripts")
    projects.rmdir()
    missing = command("import", "transcripts")

    assert (held.returncode, missing.returncode) == (1, 1)
    assert held.stderr == "claude-mem: another import is running: try again when it has finished\n"
    assert missing.stderr.startswith(f"claude-mem: there are no transcripts: {projects} is not a folder.")


def test_what_is_printed_says_what_was_done(memory: Path, projects: Path) -> None:
    """The command prints sessions, calls, what was left out and what Claude would cost."""
    a_session(projects)
    (projects / "-link").symlink_to(projects)

    flags = (["--dry-run"], [], [])
    reckoned, done, again = (command("import", "transcripts", *more).stdout for more in flags)

    assert "1 session of 1 project to import: 2 tool calls, " in reckoned
    assert f"  {CWD}: 1 session\n" in reckoned
    assert "1 session of 1 project: 2 tool calls, 4 observations in" in done
    assert "Left out: 1 symbolic link." in done
    assert "claude-mem compress --pending" in done
    assert again.splitlines() == [
        "Nothing new.", "Imported before, nothing new since: 1 session.", "Left out: 1 symbolic link.",
    ]  # fmt: skip


def test_of_a_running_session_only_the_unfinished_turn_is_left_out(memory: Path, projects: Path) -> None:
    """The import says that a turn is left out only where one is, not for each session that may still run."""
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    a_session(projects, session_id="a" * 36)
    os.utime(next(projects.glob("*/*.jsonl")))
    whole = command("import", "transcripts").stdout

    a_session(projects, session_id="b" * 36, began=now.isoformat())
    part = command("import", "transcripts").stdout

    assert "1 session of 1 project: 2 tool calls, 4 observations in" in whole
    assert "Left out" not in whole
    assert part.splitlines() == [
        "Nothing new.", "Imported before, nothing new since: 1 session.", "Left out: 1 unfinished turn.",
        "What a session did in the last two minutes can be imported once it is older.",
    ]  # fmt: skip
