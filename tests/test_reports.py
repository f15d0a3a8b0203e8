"""Reports on recorded and made-up memories: their content, period and output formats."""

import datetime as dt
import html
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.databases import observation_row, session_row
from support.reports import at, gathered, play_history, run

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import answers
from claude_mem_lite.learnings import curate
from claude_mem_lite.reports import page
from claude_mem_lite.reports.markdown import markdown
from claude_mem_lite.storage import code, ledger, models, queries

LABEL = re.compile(r'\["(.*)"\]')
ARROW = re.compile(r"^ +n\d+ (-->|-\.->) n\d+$", re.MULTILINE)


def visible(text: str) -> str:
    """Return a page's visible text, each number before its label."""
    body = re.sub(r"<dt>(.*?)</dt><dd>(.*?)</dd>", r"\2 \1", text.split("<body>")[1])
    return html.unescape(re.sub(r"<[^>]+>", " ", body))


def happened(session_id: str, moment: str, *, project_dir: str = "/p", **fields: Any) -> None:
    """Store a session with one edit."""
    session_row(session_id, project_dir=project_dir, started_at=moment, last_event_at=moment, **fields)
    edit = {"session_id": session_id, "project_dir": project_dir, "created_at": moment, "tier": "high"}
    counted = {"files_touched": ["a.py"], "tokens_raw": 70, "tokens_compressed": 7}
    row = observation_row(f"{session_id}-o", **counted, **edit)
    queries.save_observation(row)


def paid(usd: float, session_id: str, *, now: float) -> None:
    """Record an API call in the cost ledger."""
    of_session = {"cache_read_tokens": 1_000, "session_id": session_id}
    call = ledger.Call("summary", "claude-haiku", usd, 100, 10, **of_session)
    ledger.record(call, now=now)


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a time zone whose summer time ends on 25 October 2026, without time zone data."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.process  # runs the recorded commands
def test_the_recorded_history_is_told_in_every_form(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, Markdown, HTML and JSON reports agree with the memory and with each other."""
    folder = (tmp_path / "ledger").resolve()
    ids = play_history(folder, monkeypatch)
    curate.add("Amounts are integer cents.", category="architecture", project_dir=str(folder))

    report = gathered(project_dir=str(folder))
    narrow = gathered(session_id=ids[3])

    assert [session.id for session in report.sessions] == ids[::-1]
    for session in (*report.sessions, *narrow.sessions):
        told = {(each.file, each.name): each.change for each in session.functions}
        assert told == code.changed_in(str(folder), session.id)
        assert session.files[0].edits >= session.files[-1].edits
        assert {file.path for file in session.files} >= set(queries.known_session(session.id).key_files)
    rows = list(models.Observation.select())
    assert report.observations == len(rows) == sum(each.observations for each in report.sessions)
    by_day = sum(map(sum, (day.counts.values() for day in report.days)))
    assert report.observations == sum(report.tools.values()) == by_day
    assert report.tools == Counter(row.tool_name for row in rows)
    assert report.learnings.known == len(report.learnings.shown) == 4
    assert narrow.learnings.known == 1

    [graph] = narrow.graphs
    drawn, told = answers.diagram(str(folder), session_id=ids[3]), markdown(narrow)
    assert sorted(LABEL.findall(told)) == sorted(LABEL.findall(drawn))
    arrows = ARROW.findall(drawn)
    assert sorted(ARROW.findall(told)) == sorted(arrows)
    assert Counter(call.is_certain for call in graph.calls) == Counter(each == "-->" for each in arrows)

    in_json = json.loads(run("--json", "--session", ids[3][:8]).stdout)
    assert in_json == json.loads(json.dumps(narrow.as_json())) | {"made_at": in_json["made_at"]}
    for form in (run("--session", ids[3]).stdout, markdown(narrow), visible(page.page(narrow))):
        assert "12 functions changed" in " ".join(form.split())
        assert "38 observations" in form
        assert "10 files edited" in form
        assert "allocate" in form
        assert "commit messages start with the module" in " ".join(form.split())


def test_days_begin_at_the_readers_midnight(memory: Path, in_berlin: None) -> None:
    """Days start at the reader's local midnight, also across the end of summer time."""
    happened("older", at(2026, 10, 23, 21, 59))  # 23:59 in Berlin
    happened("first", at(2026, 10, 23, 22, 1))  # 00:01, two hours before UTC
    happened("last", at(2026, 10, 25, 23, 30))  # 00:30 of the 26th, one hour before UTC
    happened("future", at(2026, 10, 27, 8))
    now = inbox.unix_time(at(2026, 10, 26, 12))

    report = gathered(project_dir="/p", days=3, now=now)

    assert report.dates == ("2026-10-24", "2026-10-26")
    assert [(session.id, session.started) for session in report.sessions] == [
        ("last", "2026-10-26T00:30"), ("first", "2026-10-24T00:01"),
    ]  # fmt: skip
    assert [(day.date, day.counts["edits"]) for day in report.days] == [("2026-10-24", 1), ("2026-10-26", 1)]
    assert (report.observations, report.tokens_captured, report.tokens_kept) == (2, 140, 14)


def test_a_session_that_began_earlier_is_told_as_far_as_it_falls_into_the_time(memory: Path) -> None:
    """A session from before the period counts with its later rows, or in full if asked by id."""
    happened("long", at(2026, 11, 1, 9))
    queries.save_observation(observation_row("new", session_id="long", created_at=at(2026, 11, 20, 9)))
    models.Session.update(last_event_at=at(2026, 11, 20, 9)).execute()
    now = inbox.unix_time(at(2026, 11, 21))

    [session] = gathered(days=7, now=now, zone=dt.UTC).sessions
    whole = gathered(session_id="long", now=now, zone=dt.UTC)

    assert session.observations == 1
    assert (whole.sessions[0].observations, whole.dates) == (2, ("2026-11-01", "2026-11-20"))


def test_projects_are_told_apart(memory: Path) -> None:
    """A project's report has only its own rows, except for spending against the common budget."""
    now = inbox.unix_time(at(2026, 11, 21, 12))
    happened("mine", at(2026, 11, 21, 9))
    happened("theirs", at(2026, 11, 21, 10), project_dir="/q")
    for project_dir in ("/p", "/q", None):
        curate.add(f"Holds in {project_dir}.", category="gotcha", project_dir=project_dir)
    for session_id, usd in (("mine", 0.25), ("theirs", 0.5), ("", 0.125)):
        paid(usd, session_id, now=now)
    paid(2.0, "theirs", now=now - 30 * 86_400)

    one, every = (gathered(project_dir=each, now=now, zone=dt.UTC) for each in ("/p", None))

    assert [session.id for session in one.sessions] == ["mine"]
    assert {each.content for each in one.learnings.shown} == {"Holds in /p.", "Holds in None."}
    assert (one.costs.usd, one.sessions[0].usd) == (0.25, 0.25)
    assert [(day.usd, day.usd_everywhere) for day in one.costs.days] == [(0.25, 0.875)]
    assert [(each.calls, each.tokens_in, each.tokens_out) for each in one.costs.purposes] == [(1, 1_100, 10)]
    assert [file.path for file in one.files] == ["a.py"]
    alone = gathered(session_id="mine", now=now, zone=dt.UTC)
    assert [file.path for file in alone.files] == ["a.py"]
    expected = [("2026-11-21", 0.25, 0.875)]
    assert [(day.date, day.usd, day.usd_everywhere) for day in alone.costs.days] == expected
    assert {session.id for session in every.sessions} == {"mine", "theirs"}
    assert (every.learnings.known, every.costs.usd) == (3, 0.875)
    assert {file.path for file in every.files} == {"p/a.py", "q/a.py"}
    assert "daily budget $1.00" in page.page(one)


def test_new_learnings_come_first_and_those_that_wait_are_only_counted(memory: Path) -> None:
    """New learnings come first, quarantined ones are only counted, and a limit counts the rest."""
    for number in range(4):
        row = curate.add(f"Learning {number}.", category="gotcha", project_dir="/p")
        if number < 2:
            models.Learning.update(created_at=at(2020, 1, 1)).where(models.Learning.pk == row.pk).execute()
    stale = {"stale": "a.py has changed", "confidence": 0.6, "is_manual": False}
    models.Learning.update(**stale).where(models.Learning.content == "Learning 0.").execute()
    waits = {"is_active": False, "quarantine": ["asks for a password"]}
    models.Learning.update(**waits).where(models.Learning.content == "Learning 1.").execute()

    known = gathered(project_dir="/p").learnings
    fewer = gathered(project_dir="/p", most_learnings=1).learnings

    assert [(each.content, each.is_new) for each in known.shown] == [
        ("Learning 2.", True), ("Learning 3.", True), ("Learning 0.", False),
    ]  # fmt: skip
    assert (known.active, known.stale, known.waiting, known.new) == (2, 1, 1, 2)
    assert (fewer.known, len(fewer.shown)) == (3, 1)
    assert "and 2 more" in markdown(gathered(project_dir="/p", most_learnings=1))


def test_a_thousand_sessions_take_as_many_questions_as_one(memory: Path) -> None:
    """The number of SQL statements does not grow with the sessions, and the page stays small."""
    now = inbox.unix_time(at(2026, 11, 21, 12))
    happened("s0", at(2026, 11, 20))
    asked: list[str] = []
    models.memory_database.connection().set_trace_callback(asked.append)
    gathered(project_dir="/p", now=now, zone=dt.UTC)
    few = len(asked)
    with models.memory_database.atomic():
        for number in range(1, 2_001):
            moment = inbox.utc_text(now - 1 - number * 250)
            happened(f"session-{number}", moment, summary="Done. " * 40)
    asked.clear()

    report = gathered(project_dir="/p", now=now, zone=dt.UTC)

    assert (len(asked), len(report.sessions)) == (few, 2_001)
    text = page.page(report)
    assert text.count("<article") == page.MOST_SESSIONS
    assert "and 1,901 more" in text
    assert len(text) < 1_500_000
    assert "and 1,901 more" in markdown(report)


def test_a_memory_without_sessions_gives_a_report_that_says_so(memory: Path, tmp_path: Path) -> None:
    """A report without sessions says so in every format and exits 0."""
    text, in_markdown, in_json = run(cwd=tmp_path), run("--md", cwd=tmp_path), run("--json", cwd=tmp_path)
    in_html = run("--html", "report.html", cwd=tmp_path)

    assert [done.returncode for done in (text, in_markdown, in_json, in_html)] == [0] * 4
    assert "No sessions in this period. --days 30 looks further back" in text.stdout
    assert "No sessions in this period." in in_markdown.stdout
    assert json.loads(in_json.stdout)["sessions"] == []
    assert "No sessions in this period." in visible((tmp_path / "report.html").read_text())


def test_the_project_is_that_of_the_folder_unless_said_otherwise(memory: Path, tmp_path: Path) -> None:
    """The report is on the current folder's project, unless an option names another."""
    here, there = (tmp_path / name for name in ("here", "there"))
    for folder in (here, there):
        folder.mkdir()
        happened(f"in-{folder.name}", inbox.utc_now(), project_dir=str(folder.resolve()))

    def told(*arguments: str) -> set[str]:
        return {each["id"] for each in json.loads(run(*arguments, "--json", cwd=here).stdout)["sessions"]}

    assert told() == {"in-here"}
    assert told("--project", str(there)) == {"in-there"}
    assert told("-a") == {"in-here", "in-there"}
    assert told("--session", "in-there") == {"in-there"}


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--session", "nobody"], 1, "no session has this id"),
        (["--md", "--json"], 2, "--md and --json exclude each other"),
        (["--json", "--html", "x"], 2, "--json and --html exclude each other"),
        (["--project", ".", "-a"], 2, "--project and --all-projects exclude each other"),
        (["--days", "3", "--session", "s1"], 2, "--days and --session exclude each other"),
        (["--days", "0"], 2, "--days"),
        (["--html", "no/such/folder/x.html"], 1, "there is no folder"),
    ],
)
def test_what_cannot_be_told_is_refused(
    memory: Path, tmp_path: Path, arguments: list[str], status: int, says: str
) -> None:
    """A wrong request gives one message on stderr and writes nothing."""
    session_row("s1")

    done = run(*arguments, cwd=tmp_path, columns=200)

    assert (done.returncode, done.stdout) == (status, "")
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_page_replaces_an_earlier_one_and_nothing_else(memory: Path, tmp_path: Path) -> None:
    """A report replaces only an earlier report, and only its owner can read it."""
    session_row("s1", started_at=inbox.utc_now(), last_event_at=inbox.utc_now())
    report, other = tmp_path / "report.html", tmp_path / "other.html"
    report.write_bytes(page.MARK + b"an earlier one")
    other.write_text("<!doctype html>\n<html lang='en'>mine")
    os.umask(0o022)

    done = run("-a", "--html", "report.html", cwd=tmp_path)
    refused = run("--html", "other.html", cwd=tmp_path)

    assert done.returncode == 0
    assert report.read_bytes().startswith(page.MARK)
    assert "an earlier one" not in report.read_text()
    assert report.stat().st_mode & 0o777 == 0o600
    assert (refused.returncode, other.read_text()) == (1, "<!doctype html>\n<html lang='en'>mine")
    assert f"{other} already exists" in refused.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.html", "report.html"]
