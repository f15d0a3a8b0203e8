"""The README says what there is, and what it says works."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from conftest import run_hook, tool_event
from test_inbox import rows

from claude_mem_lite import config, settings
from claude_mem_lite.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCS = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}
ALL = "\n".join([README, *DOCS.values()])


def test_the_docs_name_every_command() -> None:
    """Each command of the program stands in docs/commands.md, and each that stands anywhere exists."""
    commands = {name for some in COMMANDS.values() for name in some}

    table = re.findall(r"^\| `claude-mem (.*?)` *\|", DOCS["commands.md"], re.MULTILINE)
    named = {word for row in table for word in re.findall(r"(?:^|` / `)([a-z-]+)", row)}

    assert commands - named == set()
    assert set(re.findall(r"claude-mem ([a-z][a-z-]+)(?=[ `\n])", code_of(ALL))) <= commands


def code_of(text: str) -> str:
    """Return what stands between backticks, a line each."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))


def test_links_lead_somewhere() -> None:
    """Each page and each file of a link is there."""
    for name, text in {"README.md": README, **{f"docs/{name}": text for name, text in DOCS.items()}}.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"


def test_the_quickstart_is_two_commands_and_ci_runs_them() -> None:
    """One runs the demo, one the tests; both set themselves up, and CI takes them from the README."""
    quickstart = README.split("## Quickstart")[1].split("\n## ")[0]

    commands = re.findall(r"```sh\n(.*?)```", quickstart, re.DOTALL)

    assert [command.count("\n") for command in commands] == [1, 1]
    assert [command.split("&&")[-1].strip() for command in commands] == [
        ".venv/bin/claude-mem demo",
        ".venv/bin/pytest -n 2 --dist loadfile",
    ]
    script = (ROOT / ".ci" / "run").read_text()
    found = subprocess.run(
        [
            "bash",
            "-c",
            script.split("\necho")[0].replace('cd "$(dirname "$0")/.."', f"cd {ROOT}")
            + "\nquickstart pytest",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == commands[1]


def test_the_settings_of_the_docs_are_the_settings(home: Path) -> None:
    """The config.toml of docs/configuration.md is accepted whole and shows the defaults."""
    text = re.search(r"```toml\n(.*?)```", DOCS["configuration.md"], re.DOTALL)
    assert text is not None
    (home / "config.toml").write_text(text[1])

    written = tomllib.loads(text[1])

    assert settings.problem() == ""
    assert written["capture"]["max_event_chars"] == config.DEFAULT_MAX_EVENT_CHARS
    assert config.capture_limits() == (config.DEFAULT_MAX_EVENT_CHARS, ("*.secret",))
    assert config.autostart() is True
    assert settings.load() == settings.Settings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[capture", "cannot be used"),
        ("[capture]\nmax_event_chars = 'many'", "[capture] max_event_chars"),
        ("[capture]\nignored_files = '*.x'", "[capture] ignored_files"),
        ("[services]\nautostart = 1", "[services] autostart"),
        ("[services]\ncolour = 'red'", "[services] colour"),
        ("[compress]\nhigh = 'gpt'", "[compress] high"),
        ("[claude]\ndaily_budget_usd = -1", "[claude] daily_budget_usd"),
        ("[claude]\nmodel = 5", "[claude] model"),
        ("[claude]\nmodel = ''", "[claude] model"),
        (f"[claude]\ndaily_budget_usd = 1{'0' * 400}", "[claude] daily_budget_usd"),
        ("[claude]\nbatch_after_hours = 1e300", "[claude] batch_after_hours"),
        ("[prices.m]\ninput = inf\noutput = 1", "[prices] m"),
        (f"x = {'[' * 5_000}", "cannot be used"),
        ("[prices.'some-model']\ninput = 1", "[prices] some-model"),
        ("top = 1", "[top]"),
        ("\xff", "cannot be used"),
    ],
)
def test_a_wrong_setting_is_said_and_costs_no_event(home: Path, text: str, says: str) -> None:
    """The user hears of it in one line, and the hooks go on with the defaults."""
    (home / "config.toml").write_bytes(text.encode("latin-1"))

    run_hook("capture", tool_event())

    assert settings.load().model
    assert says in settings.problem()
    assert "\n" not in settings.problem()
    assert rows("SELECT count(*) FROM pending_queue") == [(1,)]
