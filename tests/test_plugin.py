"""The plugin form: what Claude Code finds in this repository, and that the same hooks run from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.databases import rows
from support.hooks import tool_event
from support.processes import wait_until

from claude_mem_lite import __version__
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install

ROOT = Path(__file__).parent.parent


def read(name: str) -> Any:
    """Return a JSON file of the repository."""
    return json.loads((ROOT / name).read_text())


@pytest.fixture
def enabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the settings of a client that has the plugin."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {"claude-mem-lite@anywhere": True}}))
    return settings


def test_the_plugin_is_what_install_hooks_registers() -> None:
    """The same table of events, this version, the same skill; `plugin_hooks` writes the file anew."""
    assert read("hooks/hooks.json") == install.plugin_hooks()
    assert set(install.plugin_hooks()["hooks"]) == set(install.hook_events())
    assert read(".claude-plugin/plugin.json")["version"] == __version__
    assert read(".claude-plugin/plugin.json")["name"] == install.PLUGIN
    assert [each["source"] for each in read(".claude-plugin/marketplace.json")["plugins"]] == ["./"]
    assert (ROOT / "skills" / "mem-search" / "SKILL.md").samefile(install.SKILL)


@pytest.mark.parametrize("event", ["PostToolUse", "SessionStart"])
def test_its_commands_run_with_any_python_from_the_plugins_folder(
    home: Path, tmp_path: Path, event: str
) -> None:
    """Without our package in that Python: the event is stored; a session's start finds claude-mem."""
    (home / "config.toml").unlink()
    folder, called = tmp_path / "bin", tmp_path / "called"
    folder.mkdir()
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))
    (folder / "claude-mem").write_text(f'#!/bin/sh\necho "$@" > {called}\n')
    (folder / "claude-mem").chmod(0o755)
    command = read("hooks/hooks.json")["hooks"][event][0]["hooks"][0]["command"]
    given = {**tool_event("Bash"), "hook_event_name": event, "source": "startup"}

    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps(given).encode(), capture_output=True, check=False,
        env={"PATH": str(folder), "CLAUDE_MEM_HOME": str(home), "CLAUDE_PLUGIN_ROOT": str(ROOT)},
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, b"")
    assert rows("SELECT event_name FROM pending_queue") == [(event,)]
    if event == "SessionStart":
        assert wait_until(lambda: called.exists() and called.read_text()) == "up --quiet\n"


def test_nothing_is_registered_twice(enabled: Path) -> None:
    """With the plugin on, install-hooks refuses and status sees the plugin's hooks; switched off, neither."""
    before = enabled.read_text()

    with pytest.raises(ClaudeMemError, match="claude plugin uninstall claude-mem-lite"):
        install.install(client_version="2.1.50")
    seen = install.registered_events()
    enabled.write_text(before.replace("true", "false"))

    assert {install.interpreter(command) for command in seen.values()} == {"python3"}
    assert set(seen) == set(install.hook_events())
    assert install.registered_events() == {}
