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


def test_the_readme_names_every_command() -> None:
    """Each command of the program stands in the README, and each that stands there exists."""
    commands = {name for some in COMMANDS.values() for name in some}

    named = set(re.findall(r"claude-mem ([a-z-]+)", README)) | set(
        re.findall(r"^\| .*`([a-z-]+)` ", README, re.MULTILINE)
    )

    assert {name for name in commands if name not in README} == set()
    assert set(re.findall(r"claude-mem ([a-z-]+)", README)) <= commands
    assert named >= {"search", "status"}


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


def test_the_settings_of_the_readme_are_the_settings(home: Path) -> None:
    """The README's config.toml is accepted whole and shows the defaults."""
    text = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
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
