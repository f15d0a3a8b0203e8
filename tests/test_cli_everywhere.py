"""Test every command, as text and JSON, on an empty, a small and a large memory, with services up and down.

Other tests check what commands do. Here none may end in a traceback, print invalid JSON when JSON is asked
for, or fail without its one line.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.databases import PROJECT, fill, known, rows
from support.processes import wait_until

from claude_mem_lite.cli.app import COMMANDS, imported
from claude_mem_lite.services import supervise

pytestmark = pytest.mark.meaning

MANY_SESSIONS, MANY = 300, 6_000
# One call of each command, by whether it changes the memory; capitals stand for paths and known ids.
LOOKING = [
    ("search", "pond"), ("context", "--project", PROJECT), ("why", "ID"),
    ("context", "--project", PROJECT, "--prompt", "dig a pond"),
    ("project", "list"), ("learnings", "list", "--all-projects"), ("learnings", "show", "LEARNING"),
    ("learnings", "guards"),
    ("findings", "--all"),
    ("history", "dig"), ("callers", "dig"), ("callees", "dig"), ("mermaid",), ("status",),
    ("service", "status"), ("config", "show"), ("config", "get", "claude.model"), ("config", "path"),
    ("logs",), ("doctor",), ("compress", "--pending", "--dry-run"), ("cost",), ("model", "list"),
    ("eval", "health"), ("forget", "--match", "pond", "--dry-run"), ("prune", "--dry-run"),
    ("map", "PROJECT", "--edges"), ("report", "--all-projects", "--days", "3650"), ("eval", "compression"),
    ("import", "transcripts", "--dry-run"), ("sync", "status"), ("team", "list"),
]  # fmt: skip
CHANGING = [
    ("learnings", "add", "Ponds are dug in autumn.", "--project", PROJECT),
    ("learnings", "edit", "LEARNING", "--content", "Ponds are dug in spring."),
    ("learnings", "accept", "LEARNING"), ("learnings", "promote", "LEARNING"),
    ("learnings", "merge", "LEARNING", "SECOND"), ("learnings", "both", "LEARNING", "SECOND"),
    ("learnings", "guard", "LEARNING", "--command", "git push", "--without", "--force"),
    ("learnings", "reset", "LEARNING"),
    ("learnings", "remove", "LEARNING"), ("map", "PROJECT"), ("config", "set", "retention.keep_raw", "5"),
    ("reindex",), ("model", "use", "none"), ("model", "download", "minilm"), ("model", "bench", "minilm"),
    ("reembed", "--model", "minilm"), ("install-hooks",), ("uninstall-hooks",), ("service", "uninstall"),
    ("backup", "FILE"), ("restore", "FILE", "--yes"),
    ("import", "memory", "EXPORTED"), ("import", "transcripts"), ("import", "auto-memory"),
    ("import", "claude-mem", "EXPORTED"),
    ("eval", "benchmark", "--yes"), ("eval", "retrieval", "PROJECT"), ("eval", "recall", "PROJECT"),
    ("eval", "replay", "PROJECT"),
    ("project", "off", "PROJECT"), ("project", "on", "PROJECT"),
    ("project", "merge", PROJECT, "PROJECT", "--yes"), ("project", "move", "PROJECT", ".", "--yes"),
    ("project", "forget", "PROJECT", "--yes"),
    ("sync", "init", "folder:."), ("sync", "leave", "--erase", "--yes"),
    ("team", "join", "folder:."), ("team", "share", "--project", "PROJECT"), ("team", "show", "nobody"),
    ("team", "trust", "nobody", "--yes"), ("team", "distrust", "nobody"), ("team", "leave", "--yes"),
    ("prune",), ("forget", "ID", "--yes"), ("up",), ("restart",), ("down",),
]  # fmt: skip
SLOW = {"up", "restart", "down", "restore", ("model", "bench")}
# These take no --json: they print a format of their own, or an interactive view.
WITHOUT_JSON = {("export",), ("demo",), ("eval", "sql"), ("browse",)}


def walk(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each command below one."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path
    for name, each in (inner or {}).items():
        yield from walk(each, *path, name)


TREE = {path for some in COMMANDS.values() for name in some for path in walk(imported(name), name)}


def test_no_command_is_left_out() -> None:
    """The calls below cover every command, except those without JSON and one that changes this machine."""
    called = {next(path for path in TREE if call[: len(path)] == path) for call in (*LOOKING, *CHANGING)}

    assert TREE - called == {*WITHOUT_JSON, ("service", "install")}  # installs a service on this machine
    assert all("json" in str([option.opts for option in each.params]) for each in map(found, called))


def found(path: tuple[str, ...]) -> Any:
    """Return the command at a path."""
    command = imported(path[0])
    for name in path[1:]:
        command = command.commands[name]
    return command


@pytest.fixture
def run(home: Path, tmp_path: Path, claude_dir: Path) -> Any:
    """Return a function that runs a command and checks how it ends."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pond.py").write_text("def dig():\n    fill()\n\n\ndef fill():\n    pass\n")
    (tmp_path / "exported.jsonl").write_text("")

    def call(*arguments: str, as_json: bool) -> tuple[int, str]:
        words = {"PROJECT": str(tmp_path / "project"), "FILE": str(tmp_path / "b.zip"),
                 "EXPORTED": str(tmp_path / "exported.jsonl"), **known()}  # fmt: skip
        given = [words.get(word, word) for word in arguments]
        if arguments[0] == "backup":
            Path(words["FILE"]).unlink(missing_ok=True)
        done = command(*given, *["--json"] * as_json, cwd=tmp_path)
        status, out, said = done.returncode, done.stdout, done.stderr
        assert status in {0, 1}, (given, said)
        assert "Traceback" not in out + said, given
        assert "internal error" not in said, (given, said)
        assert "\x1b" not in out + said
        if as_json and out:
            for line in [out] if out.lstrip()[:1] in "{[" and arguments[0] != "logs" else out.splitlines():
                json.loads(line)
        assert out or said or arguments == ("logs",), given
        if status and not out:
            assert said.strip().count("\n") == 0, (given, said)
        return status, out

    return call


@pytest.mark.parametrize("size", ["empty", "small", "large"])
def test_with_the_services_down(run: Any, size: str) -> None:
    """With services down, no command breaks on an empty, a small or a large memory."""
    if size != "empty":
        fill(*{"small": (2, 6), "large": (MANY_SESSIONS, MANY)}[size])
        run("learnings", "add", "Ponds are wet.", "--project", PROJECT, as_json=False)
        run("learnings", "add", "Otters live in rivers.", "--project", PROJECT, as_json=False)
    for arguments in LOOKING:
        text, as_json = run(*arguments, as_json=False), run(*arguments, as_json=True)
        assert text[0] == as_json[0], arguments
    try:
        for arguments in CHANGING if size != "large" else ():
            is_slow = arguments[0] in SLOW or arguments[:2] in SLOW
            for as_json in (False, True) if size == "small" and not is_slow else (True,):
                if not (is_slow and size == "empty"):  # starts and stops processes, or loads the model
                    run(*arguments, as_json=as_json)
    finally:
        supervise.down()


def test_with_the_services_up(run: Any, home: Path) -> None:
    """With services up, commands that only read give the same status for text and JSON."""
    fill(2, 6)
    supervise.up()
    try:
        wait_until(lambda: rows("SELECT count(*) FROM pending_queue WHERE status = 'raw'") == [(0,)])
        for arguments in LOOKING:
            assert run(*arguments, as_json=False)[0] == run(*arguments, as_json=True)[0], arguments
    finally:
        supervise.down()
        shutil.rmtree(home / "lance", ignore_errors=True)
