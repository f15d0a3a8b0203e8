"""The demo shows three moments on one screen; on the user's own sessions it keeps and changes nothing."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from support.commands import command
from support.processes import claude_mem
from support.transcripts_on_disk import Lines, recorded

from claude_mem_lite.cli import demo, moments, terminal


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return every file of a folder with its bytes, and every folder."""
    return {str(each): each.read_bytes() if each.is_file() else None for each in folder.rglob("*")}


def test_three_moments_on_one_screen(home: Path) -> None:
    """Each has what Claude is told and what it costs; the screen has 80 columns, and nothing is kept."""
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
    """Whatever the width, no line is longer, and long text ends in an ellipsis."""
    monkeypatch.setenv("COLUMNS", str(columns))

    demo.show_next()
    following = capsys.readouterr().out.splitlines()
    moments.show_moment("1  A question", "12 ms, 100 tokens", "You ask: " + "why " * 60, ["heron " * 99])

    lines = capsys.readouterr().out.splitlines()
    assert max(map(terminal.width, [*lines, *following])) <= columns
    assert lines[2].endswith("…")
    assert lines[-1].endswith("…")


def test_mine_reads_the_newest_sessions_and_keeps_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the next session would know comes of the user's transcripts; no file of theirs changes."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    recorded("2.1.329", tmp_path / "claude" / "projects")
    before = tree(home), tree(tmp_path)

    done = command("demo", "--mine")

    told = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "would know:" in told
    assert "Where the last session stopped" in told
    assert re.search(r"\d+ sessions with \d+ tool calls read in \d+ s; a start of [\d,]+ tokens; \$0", told)
    assert (tree(home), tree(tmp_path)) == before


def test_mine_without_sessions_is_one_line(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has not used Claude Code yet is told so; an empty session is no session."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    nowhere = command("demo", "--mine")
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    empty = command("demo", "--mine")

    assert nowhere.stderr.startswith("claude-mem: Claude Code has written no sessions yet: ")
    assert empty.stderr.endswith("has no sessions of Claude Code yet. Use it once, then try again\n")
    assert (nowhere.returncode, empty.returncode) == (1, 1)


def test_little_said_is_said(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of a greeting alone has little to tell, and the answer still ends well."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    Lines().user("hi").write(tmp_path / "claude" / "projects")

    done = command("demo", "--mine")

    assert done.returncode == 0
    assert "1 session with 0 tool calls read" in done.stdout


def test_the_recording_shows_the_demo_and_loads_nothing() -> None:
    """The picture of the README has every moment twice, before and after, without a script or a link."""
    text = (Path(__file__).parent.parent / "docs" / "demo.svg").read_text("utf-8")
    drawn = html.unescape(re.sub(r"<[^>]+>", "", text))

    for moment in demo.MOMENTS:
        assert drawn.count(moment.happens) == 2
        assert moment.title in drawn
    assert "<script" not in text
    assert text.count("http") == 1  # the name of the format itself
