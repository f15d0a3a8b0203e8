"""The Claude Code plugin: this repository's plugin files register the same hooks as install-hooks."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.databases import rows
from support.hooks import tool_event
from support.processes import wait_until
from typer.testing import CliRunner

from claude_mem_lite import __version__
from claude_mem_lite.cli.app import app
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import doctor, install, plugin, state

ROOT = Path(__file__).parent.parent


def read(name: str) -> Any:
    """Return the content of a JSON file of the repository."""
    return json.loads((ROOT / name).read_text())


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for Claude Code's own files, with the client's version fixed."""
    folder = tmp_path / "claude"
    folder.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    monkeypatch.setattr(install, "installed_client", lambda: "2.1.330")
    return folder


def switch(file: Path, *, on: bool) -> None:
    """Write a settings file that switches the plugin on or off."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"enabledPlugins": {f"{plugin.NAME}@anywhere": on, "other@anywhere": True}}))


def install_in(claude: Path, project: Path, scope: str) -> None:
    """Record a plugin installation for one project, as Claude Code 2.1.50 to 2.1.330 do."""
    place = {"scope": scope, "projectPath": str(project), "installPath": "/cache", "version": __version__}
    (claude / "plugins").mkdir()
    listed = {"version": 2, "plugins": {"mem-lite@anywhere": [place], "other@anywhere": [{"scope": "user"}]}}
    (claude / "plugins" / "installed_plugins.json").write_text(json.dumps(listed))


def test_the_plugin_is_what_install_hooks_registers() -> None:
    """The plugin has the hooks of install-hooks, this version and the same skill."""
    entries = {name: [entry] for name, entry in install._plugin_entries().items()}

    assert read("hooks/hooks.json") == {"hooks": entries}
    assert set(entries) == set(install.hook_events("2.1.50"))
    assert read(".claude-plugin/plugin.json")["version"] == __version__
    assert read(".claude-plugin/plugin.json")["name"] == plugin.NAME
    assert [each["name"] for each in read(".claude-plugin/marketplace.json")["plugins"]] == [plugin.NAME]
    assert [each["source"] for each in read(".claude-plugin/marketplace.json")["plugins"]] == ["./"]
    assert (ROOT / "skills" / "mem-search" / "SKILL.md").samefile(install.SKILL)


@pytest.mark.parametrize("event", ["PostToolUse", "SessionStart"])
def test_its_commands_run_with_any_python_from_the_plugins_folder(
    home: Path, tmp_path: Path, event: str
) -> None:
    """Plugin hooks run in a Python without our package: they store events and start the services."""
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


def test_nothing_is_registered_twice(claude: Path) -> None:
    """While the plugin is on, install-hooks refuses and the plugin's hooks count as installed."""
    switch(claude / "settings.json", on=True)

    with pytest.raises(ClaudeMemError, match="claude plugin uninstall mem-lite@anywhere, then"):
        install.install(client_version="2.1.50")
    seen = install.registered_events()
    switch(claude / "settings.json", on=False)

    assert {install.interpreter(command) for command in seen.values()} == {"python3"}
    assert set(seen) == set(install.hook_events("2.1.50"))
    assert install.registered_events() == {}


@pytest.mark.parametrize(("scope", "file"), [("project", "settings.json"), ("local", "settings.local.json")])
def test_a_plugin_of_one_project_counts(claude: Path, tmp_path: Path, scope: str, file: str) -> None:
    """A project's plugin is found from any folder; the project's local settings override it."""
    project = tmp_path / "project"
    install_in(claude, project, scope)
    before = plugin.enabled(str(claude))

    switch(project / ".claude" / file, on=True)
    found = plugin.enabled(str(claude))
    switch(project / ".claude" / "settings.local.json", on=False)

    assert before is None
    assert found == plugin.Plugin("mem-lite@anywhere", str(project), scope)
    assert found.removal == f"claude plugin uninstall mem-lite@anywhere --scope {scope}, in {project}"
    assert plugin.enabled(str(claude)) is None


@pytest.mark.parametrize("listed", ["", "[]", '{"plugins": [1]}', '{"plugins": {"mem-lite@a": {"x": 1}}}'])
def test_files_that_are_not_as_expected_say_nothing(claude: Path, listed: str) -> None:
    """Plugin files in an unknown format are ignored without an error."""
    (claude / "plugins").mkdir()
    (claude / "plugins" / "installed_plugins.json").write_text(listed)
    (claude / "settings.json").write_text(listed or '{"enabledPlugins": ["mem-lite@a"]}')

    assert plugin.enabled(str(claude)) is None


@pytest.mark.process
def test_status_and_doctor_are_content_with_the_plugin(claude: Path, home: Path) -> None:
    """Status and doctor accept the plugin's hooks, and name the plugin and its Python."""
    switch(claude / "settings.json", on=True)

    found = state.state()
    [finding] = [each for each in doctor.examine() if each.name == "hooks"]

    assert [problem for problem in found["problems"] if "hook" in problem] == []
    assert (found["plugin"], found["hooks_run_by"]) == ("mem-lite@anywhere", ["python3"])
    assert len(found["hooks"]) == len(install.hook_events("2.1.50"))
    assert finding.is_fine
    assert "the plugin mem-lite@anywhere, run by python3" in finding.found


@pytest.mark.process
def test_hooks_beside_the_plugin_are_told(claude: Path, home: Path) -> None:
    """Status and doctor report hooks registered twice, and the proposed fix removes one set."""
    install.install()
    settings = json.loads((claude / "settings.json").read_text())
    settings["enabledPlugins"] = {"mem-lite@anywhere": True}
    (claude / "settings.json").write_text(json.dumps(settings))

    problems = state.state()["problems"]
    [finding] = [each for each in doctor.examine() if each.name == "hooks"]
    assert finding.fix is not None
    finding.fix()

    told = f"the hooks are registered twice, in {claude}/settings.json and by the plugin mem-lite@anywhere"
    assert f"{told}: claude-mem uninstall-hooks" in problems
    assert (finding.found, finding.cure) == (told, "claude-mem uninstall-hooks")
    assert install.registered_twice() == ""
    says = "the plugin mem-lite@anywhere stays: claude plugin uninstall mem-lite@anywhere"
    assert CliRunner().invoke(app, ["uninstall-hooks"]).stdout.splitlines()[-1] == says


def test_a_settings_file_that_cannot_be_read_is_told_as_that(claude: Path, home: Path) -> None:
    """An unreadable settings file is reported as such, not as missing hooks."""
    (claude / "settings.json").write_text("{ // mine\n}")

    problems = state.state()["problems"]

    assert any("settings.json is not plain JSON" in problem for problem in problems)
    assert not any("hooks not installed" in problem for problem in problems)


def test_the_icon_is_what_the_directory_takes() -> None:
    """The icon is a PNG of 512 by 512 pixels, below 2 MB."""
    icon = (ROOT / ".claude-plugin" / "icon.png").read_bytes()

    assert icon[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", icon[16:24]) == (512, 512)
    assert len(icon) < 2_000_000
