"""Test the tree of commands: help, near misses, defects, imports, and the fit of lines to a terminal."""

import errno
import functools
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from support.commands import command
from support.databases import observation_row, session_row
from support.processes import claude_mem, finished

from claude_mem_lite import cli
from claude_mem_lite.cli import app, output, terminal
from claude_mem_lite.cli.app import COMMANDS, imported
from claude_mem_lite.services import state
from claude_mem_lite.storage import models, queries

NAMES = [name for some in COMMANDS.values() for name in some]
HEAVY = {"numpy", "peewee", "huey", "lancedb", "anthropic", "pydantic", "starlette", "supervisor",
         "torch"}  # fmt: skip


def test_the_table_is_the_commands_there_are() -> None:
    """The table lists exactly the commands that the modules define."""
    for module in pkgutil.iter_modules(cli.__path__):
        if module.name != "__main__":
            __import__(f"claude_mem_lite.cli.{module.name}")

    assert {name: imported(name).name for name in NAMES} == {name: name for name in NAMES}
    assert set(app._made) == set(NAMES)


@functools.cache
def of_all() -> str:
    """Return the help that lists all commands."""
    return command("--help").stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_its_help(home: Path, name: str) -> None:
    """Every command has a line in the main help that fits a terminal, and a help page of its own."""
    page = command(name, "--help")

    assert page.returncode == 0
    assert f"claude-mem {name}" in page.stdout
    assert f"│ {name} " in of_all()


def test_what_needs_no_memory_loads_nothing_heavy(home: Path) -> None:
    """Help, version, the first screen and a near miss import no slow library."""
    program = f"""if True:
        import contextlib, io, json, sys
        from claude_mem_lite.cli import main
        for arguments in json.loads(sys.argv.pop()):
            sys.argv[1:] = arguments
            with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
                main()
            loaded = {HEAVY} & {{name.partition(".")[0] for name in sys.modules}}
            print(*arguments, "loads", *loaded)
    """
    calls = [[], ["--help"], ["--version"], ["serch", "x"], *([name, "--help"] for name in NAMES)]

    done = finished(sys.executable, "-c", program, json.dumps(calls), timeout=60)

    assert done.stdout.splitlines() == [f"{' '.join(call)} loads".strip() for call in calls]


def test_a_near_miss_is_answered_with_what_was_meant(home: Path) -> None:
    """A near miss of a command or subcommand names the one meant and exits 2."""
    top, inner = command("serch", "x"), command("learnings", "lst")

    assert (top.returncode, inner.returncode) == (2, 2)
    assert "Did you mean 'search'" in top.stderr
    assert "Did you mean 'list'?" in inner.stderr


def test_alone_it_says_how_far_one_is(home: Path) -> None:
    """Without arguments it says how to begin, or what the memory holds; exit 0 either way."""
    empty = command()
    models.open_databases()
    session_row()
    queries.save_observation(observation_row("pond", title="Dig a [red]pond\x1b[2J"))
    there = command()

    assert (empty.returncode, there.returncode) == (0, 0)
    assert "Nothing is remembered yet" in empty.stdout
    assert "claude-mem install-hooks" in empty.stdout
    assert "1 observation of 1 session." in there.stdout
    assert "Dig a [red]pond" in there.stdout
    assert "\x1b" not in there.stdout
    assert empty.stderr + there.stderr == ""


def test_a_defect_is_one_line_and_with_debug_all_of_it(home: Path, tmp_path: Path) -> None:
    """An unexpected exception is one line on stderr and exit 1; CLAUDE_MEM_DEBUG=1 shows the traceback."""
    program = tmp_path / "broken.py"
    program.write_text(
        "from claude_mem_lite.cli import main, welcome\n"
        "def show(): raise KeyError('x\\ny')\n"
        "welcome.show = show\nmain()\n"
    )

    def outcome(**environment: str) -> subprocess.CompletedProcess[str]:
        return finished(sys.executable, str(program), env={**os.environ, **environment}, timeout=60)

    told, shown = outcome(), outcome(CLAUDE_MEM_DEBUG="1")

    assert (told.returncode, told.stderr.count("\n")) == (1, 1)
    assert told.stderr.startswith("claude-mem: internal error: KeyError: ")
    assert "CLAUDE_MEM_DEBUG=1" in told.stderr
    assert "Traceback" in shown.stderr


@pytest.mark.process  # Typer asks bash for its version
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_the_commands(home: Path, shell: str) -> None:
    """Each shell's completion script is printed, and completing `se` offers search and service."""
    script = command(_CLAUDE_MEM_COMPLETE=f"source_{shell}")
    words = {"bash": {"COMP_WORDS": "claude-mem se", "COMP_CWORD": "1"}}.get(
        shell, {"_TYPER_COMPLETE_ARGS": "claude-mem se", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    )
    offered = command(_CLAUDE_MEM_COMPLETE=f"complete_{shell}", **words)

    assert script.returncode == 0
    assert "claude-mem" in script.stdout
    assert "search" in offered.stdout
    assert "service" in offered.stdout
    assert "doctor" not in offered.stdout
    assert offered.stderr == ""


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a person read the output, on a terminal without colours."""
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
    """Text is cut by display columns: a wide character takes two, an ellipsis stands for the rest."""
    assert terminal.cut(text, most) == cut
    assert terminal.width(cut) <= most


def test_lines_break_at_spaces_and_in_long_words() -> None:
    """Wrapped lines keep to their width and lose nothing."""
    assert list(terminal.wrapped("a pond of herons", 7)) == ["a pond", "of", "herons"]
    assert list(terminal.wrapped("see /long/path/here now", 6)) == ["see", "/long/", "path/h", "ere", "now"]
    assert list(terminal.wrapped("池池池池", 5)) == ["池池", "池池"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_pairs_are_aligned_and_fit(person: None, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are aligned in one column and wrapped to the terminal."""
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
    """On a terminal a table row is one line, cut to the width."""
    console = Console(width=columns, force_terminal=True, no_color=True, highlight=False)
    monkeypatch.setattr(output, "console", console)
    with console.capture() as shown:
        output.print_table(table())

    lines = shown.get().splitlines()
    assert len(lines) == 2
    assert max(terminal.width(line) for line in lines) <= columns
    assert "…" in lines[1]


def test_a_table_in_a_pipe_has_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe a table has whole cells between tabs, and column names only when asked for."""
    output.print_table(table())
    output.print_table(table(), heads=True)

    row = f"1\t{' '.join(['heron'] * 30)}"
    assert capsys.readouterr().out.splitlines() == [row, "id\ttext", row]


@pytest.mark.parametrize("arguments", [["--version"], ["status"], ["search", "pond"]])
def test_the_plain_forms_load_no_typer(home: Path, arguments: list[str]) -> None:
    """--version, status and search answer without Typer, whose import takes three interpreter starts."""
    program = (
        "import sys; from claude_mem_lite.cli import quick, hits\n"
        "hits.ask_web = lambda *_: {'results': [], 'query': '', 'search_type': 'fts'}\n"
        "try: assert quick.answered(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print({'typer', 'rich'} & {name.partition('.')[0] for name in sys.modules})"
    )

    done = finished(sys.executable, "-c", program, *arguments, check=True, timeout=60)

    assert done.stdout.splitlines()[-1] == "set()"


def test_a_short_option_asks_for_help(home: Path) -> None:
    """`-h` is `--help` at each level."""
    for some in ([], ["search"], ["learnings", "list"]):
        assert command(*some, "-h").stdout == command(*some, "--help").stdout


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/pond"), "/pond: permission denied (ls -ld"),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on device (free some space"),
        (OSError("a pond"), "a pond"),
    ],
)
def test_an_error_of_the_system_is_said_in_words(error: OSError, says: str) -> None:
    """A system error names the path, the cause and a remedy, and no errno."""
    assert cli._of_the_system(error).startswith(says)


def test_who_reads_no_further_is_told_nothing(home: Path) -> None:
    """A closed pipe, as of `head`, prints no error."""
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-m", "claude_mem_lite.cli", "status"]
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)

    assert (done.returncode, done.stderr) == (1, "")


def test_services_that_stopped_by_design_sleep(home: Path, claude_dir: Path) -> None:
    """Stopped services that a hook restarts are no problem; with autostart off they are."""
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
