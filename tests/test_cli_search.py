"""Test `claude-mem search`: what it asks, what it prints, how it ends."""

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import Done, command
from support.databases import observation_row, session_row
from support.processes import wait_until, web_process

from claude_mem_lite.capture import client, inbox
from claude_mem_lite.cli import terminal
from claude_mem_lite.search.indexing import Index
from claude_mem_lite.storage import models, queries

THEN = "2026-03-05T12:00:00.000000Z"
EVIL = "[red]Feed[/red] otters \x1b[31mred\x1b]0;title\x07 \x9b2J\u202eevil [/]\r\n[bold"


def run(*arguments: str, columns: int = 80, cwd: Path | None = None) -> Done:
    """Search as a user does."""
    return command("search", *arguments, columns=columns, cwd=cwd)


def ids(*arguments: str) -> list[str]:
    """Return the ids of the hits, best first."""
    return [hit["id"] for hit in json.loads(run(*arguments, "--json").stdout)["results"]]


@pytest.fixture
def otters(memory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a memory of two projects and three sessions."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/p")
    session_row("0551cf24-6f7f", summary="Taught the otters to juggle.\nAll of them.", last_event_at=stamp(0))
    session_row("s1")
    rows: list[dict[str, Any]] = [
        {"id": "a1b2c3d4e5f6", "title": "Teach otters", "files_touched": ["src/pond.py"], "created_at": THEN},
        {"id": "b1b2c3d4e5f6", "title": "Feed otters", "tool_name": "Bash", "created_at": stamp(50)},
        {"id": "c1b2c3d4e5f6", "title": "Count otters", "project_dir": "/q", "created_at": stamp(1)},
        {"id": "d1b2c3d4e5f6", "title": "Count otters", "project_dir": "/q", "created_at": stamp(1)},
    ]
    for row in rows:
        fields = {"summary": f"{row['title']} in the pond.", **row}
        queries.save_observation(observation_row(fields.pop("id"), **fields))
    return memory


def stamp(hours: float) -> str:
    """Return the time that many hours ago."""
    return inbox.utc_text((dt.datetime.now(dt.UTC) - dt.timedelta(hours=hours)).timestamp())


def test_search_answers_without_the_services(otters: Path) -> None:
    """Without services, search finds by words in the current folder's project; in a pipe it prints TSV."""
    found = run("otters", "pond")

    lines = found.stdout.splitlines()
    assert (found.returncode, found.stderr, len(lines)) == (0, "", 3)
    assert "a1b2c3d4\tobservation\t2026-03-05T12:00:00\tstrong\tTeach otters\tin the pond." in lines
    assert any(line.endswith("\tTaught the otters to juggle.\tAll of them.") for line in lines)
    assert "Count" not in found.stdout
    assert "/p" not in found.stdout


def test_a_person_sees_a_title_a_text_and_an_origin(otters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal each hit is a few lines; matches are highlighted unless NO_COLOR is set."""
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    coloured = run("otters", "pond").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    lines = run("otters", "pond").stdout.splitlines()

    assert "Teach \x1b[1;36motters\x1b[0m" in coloured
    assert lines[0].startswith("3 found by words alone, ")
    at = lines.index("★★★  Teach otters")
    assert lines[at + 1 : at + 3] == ["     in the pond.", "     2026-03-05 · observation · a1b2c3d4"]
    assert any(line.startswith("     now · session · 0551cf24") for line in lines)


def test_a_doubt_is_said_when_nothing_fits_well(otters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the best hit has few of the words, a warning comes first, in a pipe on stderr."""
    unknown = ("otters", "kubernetes", "ingress", "certificates", "elephants")
    piped, badly_piped = run("otters"), run(*unknown)
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)

    well, badly = run("otters"), run(*unknown)

    says = "Nothing fits well. These are the nearest; they may be unrelated."
    assert "Nothing fits well" not in well.stdout
    assert says in badly.stdout
    assert (piped.stderr, badly_piped.stderr, badly.stderr) == ("", f"{says}\n", "")
    assert all(line.count("\t") == 5 for line in badly_piped.stdout.splitlines())


def test_a_long_summary_has_a_title_that_ends_after_a_word(memory: Path) -> None:
    """The title of a session is the beginning of its summary, cut after a word with an ellipsis."""
    session_row("5e55", summary="Asked: Teach the otters. " + "All of them juggle in the pond. " * 4)

    (found,) = run("otters", "-a").stdout.splitlines()

    title = "Asked: Teach the otters. All of them juggle in the pond. All of them juggle in the pond. All of…"
    assert found.split("\t")[5] == title


def test_the_reasons_name_the_time_that_a_hit_matches(otters: Path) -> None:
    """The hit whose time the query names comes first, and only its reasons mention the time."""
    found = run("otters", "in", "March", "2026", "--explain", columns=200)

    reasons = [line for line in found.stdout.splitlines() if "found by words: " in line]
    assert ids("otters", "in", "March", "2026")[0] == "a1b2c3d4e5f6"
    assert [', matches "in march 2026"' in line for line in reasons] == [True, False, False]


def test_all_projects_are_searched_when_asked(otters: Path) -> None:
    """With -a all projects are searched; hits name their project, and identical hits are merged."""
    found = run("count", "otters", "-a", "-n", "1")

    assert "\tstrong\t/q\tCount otters +1 alike\tin the pond." in found.stdout


def test_options_narrow_the_search(otters: Path) -> None:
    """Search can be narrowed by kind, project, file, tool, session and time, alone and together."""
    observations = {"a1b2c3d4e5f6", "b1b2c3d4e5f6"}

    assert set(ids("otters", "-t", "observation")) == observations
    assert ids("otters", "--type", "session") == ["0551cf24-6f7f"]
    assert ids("otters", "--type", "learning") == ids("otters", "--type", "code") == []
    assert len(ids("otters", "--project", "/q")) == 1
    assert ids("otters", "--file", "pond.py") == ["a1b2c3d4e5f6"]
    assert ids("otters", "--tool", "Bash") == ["b1b2c3d4e5f6"]
    assert ids("otters", "--session", "0551cf") == ["0551cf24-6f7f"]
    assert set(ids("otters", "--session", "s1", "--since", "2020-01-01")) == observations
    assert ids("otters", "--since", "3d", "--until", "12h") == ["b1b2c3d4e5f6"]
    expected = ["a1b2c3d4e5f6"]
    assert ids("otters", "--since", "2026-03-05T13:00+01:00", "--until", "2026-03-05T12:00:01Z") == expected
    assert len(ids("otters", "-n", "1")) == 1


def test_the_current_folder_names_the_project(
    otters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project is the repository around the current folder; without hits, search names --all-projects."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    (tmp_path / ".git").mkdir()
    (tmp_path / "[b]").mkdir()

    here = run("otters", cwd=tmp_path / "[b]")
    inside = run("otters", "--project", str(tmp_path / "[b]"), "--json")
    everywhere = run("nothing", "-a")

    assert here.returncode == inside.returncode == everywhere.returncode == 1
    assert here.stdout == f"Nothing found in {tmp_path}. --all-projects searches everywhere.\n"
    assert json.loads(inside.stdout)["results"] == []
    assert everywhere.stdout == "Nothing found.\n"


@pytest.mark.parametrize(
    "arguments",
    [["--since", "soon"], ["--until", "9" * 6 + "w"], ["--type", "thing"], ["--project", "/p", "-a"]],
)
def test_wrong_usage_is_2(otters: Path, arguments: list[str]) -> None:
    """An invalid time, an invalid type and two scopes at once exit 2 without a traceback."""
    done = run("otters", *arguments)

    assert done.returncode == 2
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_session_is_one_line(otters: Path) -> None:
    """An unknown session is an error, not a session without hits."""
    done = run("otters", "--session", "abcdef0")

    assert (done.returncode, done.stdout) == (1, "")
    says = "claude-mem: 'abcdef0': no session has this id; search shows the ids\n"
    assert done.stderr == says


def test_captured_text_cannot_act(otters: Path) -> None:
    """In captured text markup is printed as it is; escape sequences and invisible characters are dropped."""
    hostile = {"title": EVIL, "summary": f"{EVIL} pelican", "project_dir": EVIL, "session_id": "s1"}
    queries.save_observation(observation_row("e\x1b[1m2345678", **hostile))

    found = run("pelican", "-a", "--explain", columns=200)

    assert found.returncode == 0
    assert "[red]Feed[/red] otters red 2Jevil [/] [bold" in found.stdout
    assert not {character for character in found.stdout if character < " "} - {"\n", "\t"}
    assert not {"\x9b", "\u202e"} & set(found.stdout)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_long_text_is_cut_to_two_lines(otters: Path, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any terminal width no line is too long and a hit is a few lines."""
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    words = "a heron saw the pelican dive " * 40
    queries.save_observation(observation_row("f1b2c3d4", title=f"Heron {words[:90]}", summary=words))

    found = run("heron", columns=columns)

    lines = found.stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[-2].endswith("…")
    assert lines[-3].startswith("     a heron")
    assert len(lines) == 6


@pytest.fixture
def web(otters: Path) -> Iterator[Path]:
    """Start a web process on the memory and embed all of it."""
    with web_process():
        index = Index()
        wait_until(lambda: index.step() is None)
        yield otters


@pytest.mark.meaning
def test_search_asks_the_web_process(web: Path) -> None:
    """With the web process, search also finds by meaning; --json prints what the API answers."""
    shown = run("otters", "pond", "--explain")
    printed = json.loads(run("otters", "pond", "--explain", "--json", "-t", "observation").stdout)
    asked = {"q": "otters pond", "project": "/p", "explain": "true", "type": "observation"}
    answer = client.get("/api/search", asked, timeout_s=10)

    assert answer is not None
    assert len(shown.stdout.splitlines()) == 3
    assert "found by words and meaning: words " in shown.stdout
    assert printed | {"took_ms": 0} == answer | {"took_ms": 0}
    assert printed["search_type"] == "hybrid"


@pytest.mark.meaning
def test_a_web_process_that_answers_an_error_is_not_waited_for(web: Path) -> None:
    """A query that the API refuses is answered without the web process."""
    found = run("otters " * 400)

    assert (found.returncode, len(found.stdout.splitlines())) == (0, 3)


def test_an_empty_memory_is_one_line(home: Path) -> None:
    """Before the first event search says in one line that there is no memory."""
    models.close_databases()

    done = run("otters")

    assert (done.returncode, done.stdout) == (1, "")
    says = f"claude-mem: nothing is remembered yet: there is no {home}/claude-mem.db. "
    assert done.stderr.startswith(says)
    assert done.stderr.endswith("claude-mem install-hooks\n")
