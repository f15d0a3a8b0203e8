"""Test that README and docs match the program, and that their commands work."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support import cases
from support.databases import fill, known, rows
from support.hooks import run_hook, tool_event
from support.processes import finished

from claude_mem_lite import config, settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.cli.app import COMMANDS
from claude_mem_lite.context import builder
from claude_mem_lite.evals.recall import distilled
from claude_mem_lite.learnings import curate
from claude_mem_lite.storage import models

CASES = cases.load("settings_wrong")

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCS = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}
ALL = "\n".join([README, *DOCS.values()])


def test_the_readme_shows_what_the_next_session_is_told(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line of the README's example is in the start block after the demo's sessions, up to its "…"."""
    monkeypatch.setattr(builder, "LAYER_S", 60.0)  # a busy machine leaves out no layer
    for event in demo.recorded_events():
        inbox.append(json.dumps(event), demo.PROJECT)
    distilled()
    example = README.split("recorded\nsessions give the next one:\n\n```\n")[1].split("\n```")[0].splitlines()

    told = builder.build(demo.PROJECT, session_id="next").text

    assert len(example) == 10
    assert [line for line in example if line.rstrip(" …") not in told] == []


def test_the_docs_name_every_command() -> None:
    """Every command is in docs/commands.md, and every command named in the docs exists."""
    commands = {name for some in COMMANDS.values() for name in some}

    table = re.findall(r"^\| `claude-mem (.*?)` *\|", DOCS["commands.md"], re.MULTILINE)
    named = {word for row in table for word in re.findall(r"(?:^|` / `)([a-z-]+)", row)}

    assert commands - named == set()
    assert set(re.findall(r"claude-mem ([a-z][a-z-]+)(?=[ `\n])", code_of(ALL))) <= commands


def code_of(text: str) -> str:
    """Return the code in backticks, one piece a line."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))


def lines_of(text: str, beginning: str) -> list[str]:
    """Return the commands of shell blocks with this beginning, without comments."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).split("\n")
    return [
        line.partition("  #")[0].partition(" # ")[0].strip() for line in blocks if line.startswith(beginning)
    ]


# How docs commands end that do not exit 0, and what they print, in a project without a memory, without a
# terminal and without the files that they name.
ENDS = {
    "search": (1, ""),
    "callers": (1, "no such function in the code map"),
    "install-hooks --for": (1, "start it once"),
    "up --with-key": (1, "--with-key found no key"),
    "restore": (2, "Without a terminal, confirm with --yes"),
    "sync init": (1, "to put a hub in"),
    "sync": (1, "no hub is set up"),
    "forget": (2, "Without a terminal, confirm with --yes"),
    "eval": (1, "cannot read"),
    "import transcripts": (1, "there are no transcripts"),
    "demo --mine": (1, "Claude Code has no sessions"),
    "import claude-mem": (1, "is a memory of claude-mem-lite"),
    "learnings accept": (1, "is not waiting"),
    "learnings guard ID --off": (0, ""),
    "learnings guard ID": (1, "say what to look for"),
}


def test_the_commands_of_the_docs_run(home: Path) -> None:
    """Every command of the docs runs as written, in order, and ends as expected."""
    fill(2, 6)
    models.open_databases()
    curate.add("Ponds are dug in autumn", category="convention", project_dir=None)
    ids = known()
    user = home.with_name(f"{home.name}-user")  # a short path: unix sockets are created below it
    project, path = user / "shop", f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    project.mkdir(parents=True)
    environment = {**os.environ, "HOME": str(user), "CLAUDE_CONFIG_DIR": str(user), "PATH": path}
    environment.pop("CLAUDE_MEM_HOME")  # the docs say ~/.claude-mem
    (user / ".local/bin").mkdir(parents=True)
    (user / ".local/bin/claude").symlink_to("/bin/false")
    (home / "config.toml").write_text('[search]\nembedding_model = "none"\n')  # services may sleep
    home.rename(user / ".claude-mem")
    commands = [line for text in (README, *DOCS.values()) for line in lines_of(text, "claude-mem ")]
    commands.sort(key=lambda each: "uninstall-hooks" in each)  # the others need the hooks
    ended = {}
    try:
        for command in commands:
            row = "s0" if "--session" in command else ids["LEARNING" if "learnings" in command else "ID"]
            shell = ("/bin/sh", "-c", re.sub(r"\bID\b", row, command))
            done = finished(*shell, cwd=project, env=environment, stdin=subprocess.DEVNULL, timeout=120)
            ended[command] = (done.returncode, done.stderr)
    finally:
        subprocess.run(["/bin/sh", "-c", "claude-mem down"], env=environment, check=False, timeout=120)
        (user / ".claude-mem").rename(home)

    assert len(commands) > 30
    for command, (status, said) in ended.items():
        found = [ends for name, ends in ENDS.items() if command.startswith(f"claude-mem {name}")]
        wanted, says = found[0] if found else (0, "")
        assert (status, says in said) == (wanted, True), (command, status, said)
        assert "Traceback" not in said, command
        assert "internal error" not in said, command


def test_the_benchmarks_of_the_docs_are_there() -> None:
    """Every benchmark that the docs run exists."""
    named = {line.split()[1] for line in lines_of(DOCS["benchmarks.md"], ".venv/bin/python benchmarks/")}

    assert {name for name in named if not (ROOT / name).exists()} == set()
    assert len(named) > 15


def test_links_lead_somewhere() -> None:
    """Every relative link of the docs leads to an existing file."""
    for name, text in {"README.md": README, **{f"docs/{name}": text for name, text in DOCS.items()}}.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"


def test_the_quickstart_is_two_commands_and_ci_runs_them() -> None:
    """The quickstart is two commands, demo and tests, and CI runs them from the README."""
    quickstart = README.split("## Quickstart")[1].split("\n## ")[0]

    commands = re.findall(r"```sh\n(.*?)```", quickstart, re.DOTALL)

    assert [command.count("\n") for command in commands] == [1, 1]
    last = [command.split("&&")[-1].strip() for command in commands]
    assert last == [".venv/bin/claude-mem demo", ".venv/bin/pytest -n 4 --dist worksteal"]
    functions = (ROOT / ".ci" / "run").read_text().split("\ndiagrams() {")[0]
    here = functions.replace('cd "$(dirname "$0")/.."', f"cd {ROOT}")
    asked = ["bash", "-c", f"{here}\nquickstart pytest"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == commands[1]


def test_the_settings_of_the_docs_are_the_settings(home: Path) -> None:
    """The config.toml in docs/configuration.md is valid and shows the defaults."""
    text = re.search(r"```toml\n(.*?)```", DOCS["configuration.md"], re.DOTALL)
    (home / "config.toml").write_text(text[1])

    written = tomllib.loads(text[1])

    assert settings.problem() == ""
    assert written["capture"]["max_event_chars"] == config.DEFAULT_MAX_EVENT_CHARS
    assert config.capture_limits() == (config.DEFAULT_MAX_EVENT_CHARS, ())
    assert config.autostart() is True
    assert settings.load() == settings.Settings()


def test_all_wrong_settings_are_said_at_once_with_what_they_take(home: Path) -> None:
    """One line names each wrong setting with what it takes, and each has its default."""
    (home / "config.toml").write_text(
        "[claude]\ndaily_budget_usd = -5\nvia = 'mail'\nbase_url = 'ftp://a'\nclient_config = 1\n"
        "[capture]\nmax_event_chars = 10\n[search]\ndimension = -4\n[services]\nautostart = 'yes'\n"
        "[context]\nrecal = true\n[prices]\nm = 1\n[retention]\nkeep_raw = -1\n"
    )

    assert settings.problem() == (
        f"{home / 'config.toml'}: [claude] daily_budget_usd takes a number from 0 to 1,000,000; "
        "[claude] via takes api or cli or off; [claude] base_url takes an address, https://…; "
        "[claude] client_config takes a text; [capture] max_event_chars takes a whole number from 16,384 up; "
        "[search] dimension takes a whole number from 0 up; [services] autostart takes true or false; "
        "[context] recal is unknown; [prices] m takes input and output, dollars for a million tokens; "
        "[retention] keep_raw takes a whole number from 0 to 1,000,000: their defaults apply"
    )
    assert settings.load() == settings.Settings()


@pytest.mark.parametrize(("text", "says"), CASES["wrong"])
def test_a_wrong_setting_is_said_and_costs_no_event(home: Path, text: str, says: str) -> None:
    """A wrong setting is reported in one line, and hooks go on with the defaults."""
    (home / "config.toml").write_bytes(text.encode("latin-1"))

    run_hook("post_tool_use", tool_event())

    assert settings.load().model
    assert says in settings.problem()
    assert "\n" not in settings.problem()
    assert rows("SELECT count(*) FROM pending_queue") == [(1,)]
