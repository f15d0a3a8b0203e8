"""What is printed fits the terminal; a pipe gets a line each row, with tabs; plain forms start fast."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from support.commands import command
from support.processes import claude_mem

from claude_mem_lite import cli
from claude_mem_lite.cli import output, terminal
from claude_mem_lite.services import state


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a person without colours read what is printed."""
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        ("pond", 4, "pond"),
        ("ponds", 4, "pon…"),
        ("a pond", 3, "a…"),
        ("池池池", 4, "池…"),
        ("é" * 3, 2, "é…"),
    ],
)
def test_text_is_cut_to_columns(text: str, most: int, cut: str) -> None:
    """Wide characters take two, and an ellipsis stands for what is cut."""
    assert terminal.cut(text, most) == cut
    assert terminal.width(cut) <= most


def test_lines_break_at_spaces_and_in_long_words() -> None:
    """No line is longer than it may be, and nothing is lost."""
    assert list(terminal.wrapped("a pond of herons", 7)) == ["a pond", "of", "herons"]
    assert list(terminal.wrapped("see /long/path/here now", 6)) == ["see", "/long/", "path/h", "ere", "now"]
    assert list(terminal.wrapped("池池池池", 5)) == ["池池", "池池"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_pairs_are_aligned_and_fit(person: None, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values stand under each other, wrapped where they are long."""
    monkeypatch.setenv("COLUMNS", str(columns))

    lines = list(terminal.pairs([("a", "word " * 60, ""), ("longer", "x", "")]))

    assert max(map(len, lines)) <= columns
    assert lines[0].startswith("a       word")
    assert lines[1].startswith("        word")
    assert lines[-1] == "longer  x"


def table() -> Table:
    """Return a table with a long column."""
    found = Table("id", "text", box=None, pad_edge=False)
    found.add_row("1", "heron " * 30)
    return found


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_table_is_a_line_each_row(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal what does not fit is cut; in a pipe nothing is cut and nothing padded."""
    console = Console(width=columns, force_terminal=True, no_color=True, highlight=False)
    monkeypatch.setattr(output, "console", console)
    with console.capture() as shown:
        output.print_table(table())

    lines = shown.get().splitlines()
    assert len(lines) == 2
    assert max(terminal.width(line) for line in lines) <= columns
    assert "…" in lines[1]


def test_a_table_in_a_pipe_has_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    """Whole cells, a tab between, and the columns' names only where they say something."""
    output.print_table(table())
    output.print_table(table(), heads=True)

    row = f"1\t{' '.join(['heron'] * 30)}"
    assert capsys.readouterr().out.splitlines() == [row, "id\ttext", row]


@pytest.mark.parametrize("arguments", [["--version"], ["status"], ["search", "pond"]])
def test_the_plain_forms_load_no_typer(home: Path, arguments: list[str]) -> None:
    """They answer before it is imported: it takes three times as long as the interpreter."""
    program = (
        "import sys; from claude_mem_lite.cli import quick, hits\n"
        "hits.ask_web = lambda _: {'results': [], 'query': '', 'search_type': 'fts'}\n"
        "try: assert quick.answered(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print({'typer', 'rich'} & {name.partition('.')[0] for name in sys.modules})"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines()[-1] == "set()"


def test_a_short_option_asks_for_help(home: Path) -> None:
    """`-h` is `--help`, at each level."""
    for some in ([], ["search"], ["learnings", "list"]):
        assert command(*some, "-h").stdout == command(*some, "--help").stdout


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/pond"), "/pond: permission denied (ls -ld"),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on device (make room"),
        (OSError("a pond"), "a pond"),
    ],
)
def test_an_error_of_the_system_is_said_in_words(error: OSError, says: str) -> None:
    """On what, what, and what to do; no number of the C library."""
    assert cli._of_the_system(error).startswith(says)


def test_services_that_stopped_by_design_sleep(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hooks that start them they are no problem; without, or with autostart off, they are."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    assert command("install-hooks", "--client", "2.1.50").returncode == 0
    off = state.state()
    (home / "config.toml").write_text('[search]\nembedding_model = "none"\n')

    asleep = state.state()
    shown = claude_mem("status")

    assert (off["sleeping"], asleep["sleeping"]) == (False, True)
    assert any("not running: claude-mem up" in problem for problem in off["problems"])
    assert asleep["problems"] == []
    assert "services\tsleeping, they start with your next session\n" in shown.stdout
    assert shown.returncode == 0
