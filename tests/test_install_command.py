"""Test which events install registers, the command it writes for a shell, and the skill."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from support.installed import NEW, OLD, OURS, files
from support.processes import finished

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import hook_table, install

# Source: the bundle of Claude Code 2.1.50. It drops the whole settings file for one event beyond these.
KNOWN_TO_2_1_50 = {
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification", "UserPromptSubmit", "SessionStart",
    "SessionEnd", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PermissionRequest", "Setup",
    "TeammateIdle", "TaskCompleted", "ConfigChange", "WorktreeCreate", "WorktreeRemove",
}  # fmt: skip


def put_client(folder: Path, script: str) -> None:
    """Put an executable named `claude` on the PATH."""
    (folder / "bin").mkdir()
    client = folder / "bin" / "claude"
    client.write_bytes(b"#!/bin/sh\n" + script.encode("latin-1"))
    client.chmod(0o755)


@pytest.mark.process
def test_install_takes_out_an_event_that_the_client_does_not_know(
    tmp_path: Path, claude_settings: Path
) -> None:
    """For an older client the newer events are removed; a given version overrides the client's own."""
    put_client(tmp_path, "echo '2.1.50 (Claude Code)'")
    install.install()

    done = install.install(client_version="2.1.49")

    assert done.events == OLD
    assert json.loads(claude_settings.read_bytes()) == {"hooks": {event: [OURS[event]] for event in OLD}}


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (("1.0.128", "2.1.9", "2.1.49"), OLD),
        (("2.1.50", "2.1.79", None), tuple(OURS)),
        (("2.1.80", "2.1.329", "2.2", "10.0.0"), NEW),
    ],
)
def test_hook_events_are_those_that_the_client_knows(
    versions: tuple[str | None, ...], expected: tuple[str, ...]
) -> None:
    """Hooks are limited to the client's events, because one unknown event makes it drop all settings."""
    assert {tuple(install.hook_events(version)) for version in versions} == {expected}


@pytest.mark.parametrize("version", ["latest", "v", "-"])
def test_install_refuses_what_is_no_version(claude: Path, version: str) -> None:
    """A version without a number is refused, and nothing is installed."""
    with pytest.raises(ClaudeMemError, match=f"^'{version}' is not a version of Claude Code"):
        install.install(client_version=version)

    assert files(claude) == {}


@pytest.mark.process
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo '2.1.49 (Claude Code)'", OLD),
        ("echo '2.1.80 (Claude Code)'", NEW),
        ('test "$1" = --version && echo "2.0.1 (Claude Code)"', OLD),
        ("echo 2.1.49 >&2; exit 1", tuple(OURS)),
        ("printf '\xff\xfe'", tuple(OURS)),
    ],
)
def test_install_asks_the_client_for_its_version(
    tmp_path: Path, claude_settings: Path, script: str, expected: tuple[str, ...]
) -> None:
    """The client on the PATH gives the version; one that gives none counts as the oldest supported."""
    put_client(tmp_path, script)

    done = install.install()

    assert done.events == expected
    assert tuple(json.loads(claude_settings.read_bytes())["hooks"]) == expected


def test_the_command_reaches_the_interpreter_through_a_shell(
    tmp_path: Path, claude_settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spaces, quotes and dollar signs in paths survive the shell, and the command is recognized as ours."""
    odd = tmp_path / 'it\'s $HOME; a "b"'
    hooks = odd / "claude_mem_lite" / "hooks"
    shutil.copytree(install.HOOKS, hooks)
    interpreter = odd / "my python"
    interpreter.write_text('#!/bin/sh\nprintf "%s\\n" "$CLAUDE_MEM_HOME" "$@"\n')
    interpreter.chmod(0o755)
    monkeypatch.setattr(hook_table, "HOOKS", str(hooks))
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(odd / "memory"))
    install.install()
    monkeypatch.delenv("CLAUDE_MEM_HOME")

    commands = install.registered_events()
    answer = finished("/bin/sh", "-c", commands["PostToolUse"], check=True)
    install.uninstall()

    assert answer.stdout.splitlines() == [str(odd / "memory"), "-I", "-S", str(hooks / "post_tool_use.py")]
    assert list(commands) == list(OURS)
    assert claude_settings.read_text() == "{}\n"


@pytest.mark.parametrize(
    ("home", "prefix"),
    [
        (None, ""),
        ("", ""),
        ("/mnt/memory", "CLAUDE_MEM_HOME=/mnt/memory "),
        ("memory", "CLAUDE_MEM_HOME={user}/memory "),
    ],
)
def test_the_command_keeps_the_data_directory_of_the_install(
    tmp_path: Path, claude: Path, monkeypatch: pytest.MonkeyPatch, home: str | None, prefix: str
) -> None:
    """The command contains the data directory of the install, since the client may lack the variable."""
    monkeypatch.chdir(tmp_path)
    if home is not None:
        monkeypatch.setenv("CLAUDE_MEM_HOME", home)

    install.install()

    plain = {event: ours["hooks"][0]["command"] for event, ours in OURS.items()}
    expected = {event: prefix.format(user=Path.home()) + command for event, command in plain.items()}
    assert claude.is_dir()
    assert install.registered_events() == expected


def test_the_claude_folder_is_in_the_home_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CLAUDE_CONFIG_DIR, or with an empty one, the folder is ~/.claude."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")

    assert install.claude_dir() == str(tmp_path / ".claude")


def test_install_updates_a_skill_of_ours(skill: Path) -> None:
    """Install replaces an older text of our skill."""
    present = Path(install.SKILL).read_text("utf-8")
    install.install()
    skill.write_text(present.replace("/api/", "/old/"))

    done = install.install()

    assert skill.read_text("utf-8") == present
    assert done.changed


OTHER_SKILLS = {
    "another": "---\nname: mem-search\ndescription: Search my notes.\n---\n",
    # Source: the skill that the original claude-mem ships under the same name.
    "claude-mem": "---\nname: mem-search\n"
    "description: Search claude-mem's persistent cross-session memory database.\n---\n",
}


@pytest.mark.parametrize("other", OTHER_SKILLS.values(), ids=OTHER_SKILLS)
def test_another_skill_is_left(claude: Path, skill: Path, other: str) -> None:
    """Another skill of the same name stays: install refuses, and uninstall removes only our hooks."""
    theirs = {"skills/mem-search/SKILL.md": other.encode()}
    skill.parent.mkdir(parents=True)
    skill.write_text(other)

    with pytest.raises(ClaudeMemError, match=rf"^{skill} is another skill: nothing was installed\. Move it"):
        install.install()
    refused = files(claude)
    skill.unlink()
    install.install()
    skill.write_text(other)
    install.uninstall()

    assert refused == files(claude) == theirs


def test_uninstall_does_nothing_by_halves(claude: Path, skill: Path) -> None:
    """If the skill cannot be read uninstall fails before it touches the settings."""
    install.install()
    skill.write_bytes(b"\xff")
    before = files(claude)

    with pytest.raises(ClaudeMemError, match=f"^{skill} cannot be read"):
        install.uninstall()

    assert files(claude) == before


def test_uninstall_takes_the_skill_and_leaves_the_users_file(skill: Path) -> None:
    """Uninstall removes the skill's folder, unless it has a file of the user."""
    install.install()
    (skill.parent / "notes.md").write_text("mine")
    install.uninstall()
    left = files(skill.parent)
    (skill.parent / "notes.md").unlink()
    install.install()

    install.uninstall()

    assert left == {"notes.md": b"mine"}
    assert not skill.parent.exists()


def test_the_hook_table_names_known_events_and_existing_files() -> None:
    """The hook table names only events that the client knows and scripts that exist."""
    oldest, table = install.hook_events(), install.hook_events("2.1.80")

    assert set(oldest) - KNOWN_TO_2_1_50 == set()
    assert set(table) - set(oldest) == {"PostCompact", "StopFailure"}
    hooks = {event["hook"] for event in table.values()}
    assert {hook for hook in hooks if not Path(install.HOOKS, f"{hook}.py").is_file()} == set()
    matchers = {name: event["matcher"] for name, event in table.items() if "matcher" in event}
    assert matchers == {"PreToolUse": "Task|Agent", "PostToolUse": "*", "PostToolUseFailure": "*"}
