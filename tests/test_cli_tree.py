"""The tree of commands: what stands in its help, how near misses and defects are told, what help imports."""

from __future__ import annotations

import functools
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import command
from support.databases import observation_row, session_row

from claude_mem_lite import cli
from claude_mem_lite.cli import app
from claude_mem_lite.cli.app import COMMANDS, imported
from claude_mem_lite.storage import models, queries

NAMES = [name for some in COMMANDS.values() for name in some]
HEAVY = {"numpy", "peewee", "huey", "lancedb", "anthropic", "pydantic", "starlette", "supervisor",
         "torch"}  # fmt: skip


def test_the_table_is_the_commands_there_are() -> None:
    """Each name of the help is a command, and no module has one that the help does not name."""
    for module in pkgutil.iter_modules(cli.__path__):
        if module.name != "__main__":
            __import__(f"claude_mem_lite.cli.{module.name}")

    assert {name: imported(name).name for name in NAMES} == {name: name for name in NAMES}
    assert set(app._made) == set(NAMES)


@functools.cache
def of_all() -> str:
    """Return the help of all commands."""
    return command("--help").stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_its_help(home: Path, name: str) -> None:
    """A line in the help of all that fits a terminal, and a page of its own."""
    page = command(name, "--help")

    assert page.returncode == 0
    assert f"claude-mem {name}" in page.stdout
    assert f"│ {name} " in of_all()


def test_what_needs_no_memory_loads_nothing_heavy(home: Path) -> None:
    """Help, version, the first screen and a near miss import none of the libraries that take their time."""
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

    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(calls)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.stdout.splitlines() == [f"{' '.join(call)} loads".strip() for call in calls]


def test_a_near_miss_is_answered_with_what_was_meant(home: Path) -> None:
    """For commands and for those of a group; exit 2."""
    top, inner = command("serch", "x"), command("learnings", "lst")

    assert (top.returncode, inner.returncode) == (2, 2)
    assert "Did you mean 'search'" in top.stderr
    assert "Did you mean 'list'?" in inner.stderr


def test_alone_it_says_how_far_one_is(home: Path) -> None:
    """Without a memory how to begin, with one what is in it; exit 0 and no traceback either way."""
    empty = command()
    models.open_databases()
    session_row()
    queries.save_observation(observation_row("pond", title="Dig a [red]pond\x1b[2J"))
    models.close_databases()
    there = command()

    assert (empty.returncode, there.returncode) == (0, 0)
    assert "Nothing is remembered yet" in empty.stdout
    assert "claude-mem install-hooks" in empty.stdout
    assert "1 observation of 1 session." in there.stdout
    assert "Dig a [red]pond" in there.stdout
    assert "\x1b" not in there.stdout
    assert empty.stderr + there.stderr == ""


def test_a_defect_is_one_line_and_with_debug_all_of_it(home: Path, tmp_path: Path) -> None:
    """What nobody foresaw reaches the user as one line on stderr, exit 1."""
    program = tmp_path / "broken.py"
    program.write_text(
        "from claude_mem_lite.cli import main, welcome\n"
        "def show(): raise KeyError('x\\ny')\n"
        "welcome.show = show\nmain()\n"
    )

    def outcome(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, check=False,
            env={**os.environ, **environment}, timeout=60,
        )  # fmt: skip

    told, shown = outcome(), outcome(CLAUDE_MEM_DEBUG="1")

    assert (told.returncode, told.stderr.count("\n")) == (1, 1)
    assert told.stderr.startswith("claude-mem: KeyError: ")
    assert "CLAUDE_MEM_DEBUG=1" in told.stderr
    assert "Traceback" in shown.stderr


@pytest.mark.process  # Typer asks bash for its version
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_the_commands(home: Path, shell: str) -> None:
    """Each shell's script is printed, and asked for `se` it offers search and service."""
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
