"""First steps: the demo, install-hooks with its plan and import, and a clean uninstall."""

import html
import json
import re
from pathlib import Path

import pytest
from support.commands import command
from support.databases import rows
from support.processes import claude_mem
from support.transcripts_on_disk import SESSION, Lines, recorded
from typer.testing import CliRunner

from claude_mem_lite import settings as config_of
from claude_mem_lite.cli import demo, setup, terminal
from claude_mem_lite.cli.app import app


@pytest.fixture
def claude(projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return Claude Code's folder with one past session, and no client on the PATH."""
    Lines().user("Dig a pond").said("The pond is dug.").write(projects)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return projects.parent


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return every path in a folder, with the bytes of files."""
    return {str(each): each.read_bytes() if each.is_file() else None for each in folder.rglob("*")}


@pytest.mark.parametrize("settings", [None, "", "{}", '{ "theme":\t"dark" }', '{"theme": "dark"}\n\n'])
def test_everything_is_set_up_and_taken_back(home: Path, claude: Path, settings: str | None) -> None:
    """`--yes` registers hooks and imports; uninstall restores the client's folder exactly."""
    if settings is not None:
        (claude / "settings.json").write_text(settings)
    before = tree(claude)

    done = command("install-hooks", "--yes", "--client", "2.1.50")

    assert (done.returncode, done.stderr) == (0, "")
    assert "1 past session of 1 project, about 1 s, free" in " ".join(done.stdout.split())
    assert "claude-mem up ([services] autostart is off)" in done.stdout
    assert "Next: start Claude Code in a project." in done.stdout
    assert rows("SELECT DISTINCT session_id FROM pending_queue") == [(SESSION,)]
    assert "PostToolUse" in json.loads((claude / "settings.json").read_text())["hooks"]
    assert (command("uninstall-hooks").returncode, tree(claude)) == (0, before)


def test_nothing_is_changed_without_consent(
    home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan says how to undo everything, and answering no changes nothing."""
    monkeypatch.setattr(setup, "is_asked", lambda: True)
    before = tree(claude), tree(home)

    done = CliRunner().invoke(app, ["install-hooks", "--client", "2.1.50"], input="n\n")

    assert done.exit_code == 1
    told = " ".join(done.stdout.split())
    assert "claude is not on your PATH" in told
    assert "Undo it at any time: claude-mem uninstall-hooks" in told
    assert done.stdout.endswith("Nothing was changed.\n")
    assert (tree(claude), tree(home)) == before


def test_the_import_is_a_question_of_its_own(
    home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Declining the import prints the command for later."""
    monkeypatch.setattr(setup, "is_asked", lambda: True)

    done = CliRunner().invoke(app, ["install-hooks", "--client", "2.1.50"], input="y\nn\n")

    assert done.exit_code == 0
    assert "Skipped. To import them later: claude-mem import transcripts" in done.stdout
    assert not (home / "claude-mem.db").exists()


@pytest.mark.parametrize("answer", ["y", "n", ""])
@pytest.mark.usefixtures("home", "claude")
def test_claude_writes_on_the_plan_after_a_yes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """The Claude plan is used only after an explicit yes to its cost; `--yes` is not enough."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to("/bin/false")
    monkeypatch.delenv("CLAUDECODE", raising=False)
    assert command("install-hooks", "--yes", "--client", "2.1.50").returncode == 0
    assert config_of.load().via == "api"
    monkeypatch.setattr(setup, "is_asked", lambda: True)

    done = CliRunner().invoke(app, ["install-hooks", "--client", "2.1.50"], input=f"y\n{answer}\nn\n")

    assert done.exit_code == 0
    assert "at most 200,000 tokens a day" in done.stdout
    assert config_of.load().via == ("cli" if answer == "y" else "api")


def test_a_folder_that_the_user_fills_is_kept(home: Path, claude: Path) -> None:
    """Uninstall keeps what the user has added to files and folders that we created."""
    command("install-hooks", "--client", "2.1.50")
    settings = claude / "settings.json"
    settings.write_text(settings.read_text().replace("{", '{"theme": "dark",', 1))
    (claude / "skills" / "mine.md").write_text("mine")

    assert command("uninstall-hooks").returncode == 0

    assert json.loads(settings.read_text()) == {"theme": "dark"}
    assert (claude / "skills" / "mine.md").read_text() == "mine"
    assert not (claude / "skills" / "mem-search").exists()


def test_three_moments_on_one_screen(home: Path) -> None:
    """The demo shows three moments with their costs on one 80-column screen, and stores nothing."""
    before = tree(home)

    done = claude_mem("demo", COLUMNS="80")

    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) <= 30
    assert max(map(terminal.width, lines)) <= 80
    assert [line[:1] for line in lines if re.search(r"\d ms, [\d,]+ tokens$", line)] == ["1", "2", "3"]
    for told in ("NFKC + casefold", "no WAL: it needs shared memory", "Version 0.3.0 is tagged"):
        assert told in done.stdout
    assert "Nothing is kept." in " ".join(done.stdout.split())
    assert tree(home) == before


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_moment_fits(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Demo lines fit any width, and long text ends in an ellipsis."""
    monkeypatch.setenv("COLUMNS", str(columns))

    demo.show_next()
    following = capsys.readouterr().out.splitlines()
    demo.show_moment("1  A question", "12 ms, 100 tokens", "You ask: " + "why " * 60, ["heron " * 99])

    lines = capsys.readouterr().out.splitlines()
    assert max(map(terminal.width, [*lines, *following])) <= columns
    assert lines[2].endswith("…")
    assert lines[-1].endswith("…")


def test_mine_reads_the_newest_sessions_and_keeps_nothing(
    home: Path, claude_dir: Path, tmp_path: Path
) -> None:
    """`demo --mine` reads the user's newest transcripts, and changes or stores nothing."""
    recorded("2.1.329", claude_dir / "projects")
    before = tree(home), tree(tmp_path)

    done = command("demo", "--mine")

    told = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "would know:" in told
    assert "Where the last session stopped" in told
    assert re.search(r"\d+ sessions with \d+ tool calls read in \d+ s; start block: [\d,]+ tokens; \$0", told)
    assert (tree(home), tree(tmp_path)) == before


def test_mine_without_sessions_is_one_line(home: Path, claude_dir: Path) -> None:
    """`demo --mine` without sessions prints one line."""
    nowhere = command("demo", "--mine")
    (claude_dir / "projects").mkdir(parents=True)
    empty = command("demo", "--mine")

    assert nowhere.stderr.startswith("claude-mem: Claude Code has no sessions: ")
    assert empty.stderr.endswith("has no sessions yet. Use Claude Code once, then try again\n")
    assert (nowhere.returncode, empty.returncode) == (1, 1)


def test_little_said_is_said(home: Path, projects: Path) -> None:
    """`demo --mine` succeeds on a session of a single greeting."""
    Lines().user("hi").write(projects)

    done = command("demo", "--mine")

    assert done.returncode == 0
    assert "1 session with 0 tool calls read" in done.stdout


def test_mine_of_a_session_that_still_runs_asks_to_wait(home: Path, projects: Path) -> None:
    """`demo --mine` asks to wait for a running session, whose hooks may still write."""
    row = json.dumps({"type": "user", "sessionId": "s1", "cwd": "/p", "timestamp": "2999-01-01T00:00:00Z",
                      "uuid": "u1", "message": {"role": "user", "content": "hi"}})  # fmt: skip
    (projects / "-p").mkdir(parents=True)
    (projects / "-p" / "s1.jsonl").write_text(f"{row}\n")

    done = command("demo", "--mine")

    assert (done.returncode, done.stderr) == (0, "")
    assert "Try again in two minutes." in done.stdout


def test_the_recording_shows_the_demo_and_loads_nothing() -> None:
    """The README's recording matches the demo, and has no script or link."""
    text = (Path(__file__).parent.parent / "docs" / "demo.svg").read_text("utf-8")
    drawn = html.unescape(re.sub(r"<[^>]+>", "", text))

    for moment in demo.MOMENTS:
        assert drawn.count(moment.happens) == 2
        assert moment.title in drawn
    assert "<script" not in text
    assert text.count("http") == 1  # the SVG namespace
