"""Installing edits a file that is the user's: what they wrote stays as they wrote it, byte for byte."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import cases

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import hook_table, install

CASES = cases.load("install")

# Source: the bundle of Claude Code 2.1.50. It drops the whole settings file for one event beyond these.
KNOWN_TO_2_1_50 = {
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification", "UserPromptSubmit", "SessionStart",
    "SessionEnd", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PermissionRequest", "Setup",
    "TeammateIdle", "TaskCompleted", "ConfigChange", "WorktreeCreate", "WorktreeRemove",
}  # fmt: skip

USERS = {"hooks": [{"type": "command", "command": "notify-send 'über'", "timeout": 5}]}


def group(hook: str, **matcher: str) -> dict[str, Any]:
    """Return what we register for one event."""
    command = shlex.join([sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")])
    return {**matcher, "hooks": [{"type": "command", "command": f"{command} || :", "timeout": 10}]}


OURS = {
    "SessionStart": group("session_start"),
    "UserPromptSubmit": group("user_prompt_submit"),
    "PreToolUse": group("subagent_start", matcher="Task|Agent"),
    "PostToolUse": group("post_tool_use", matcher="*"),
    "PostToolUseFailure": group("post_tool_use", matcher="*"),
    "PreCompact": group("pre_compact"),
    "Stop": group("stop"),
    "SubagentStart": group("subagent_start"),
    "SubagentStop": group("stop"),
    "SessionEnd": group("session_end"),
}
SINCE = {"PreToolUse", "PostToolUseFailure", "SubagentStart"}
OLD = tuple(event for event in OURS if event not in SINCE)
NEW = (*list(OURS)[:6], "PostCompact", "Stop", "StopFailure", *list(OURS)[7:])


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for Claude Code's own files; there is no client on the PATH."""
    folder = tmp_path / "claude"
    folder.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("CLAUDE_MEM_HOME", raising=False)
    return folder


@pytest.fixture
def settings(claude: Path) -> Path:
    """Return the path of the settings file; it does not exist yet."""
    return claude / "settings.json"


@pytest.fixture
def skill(claude: Path) -> Path:
    """Return the path of the skill file; it does not exist yet."""
    return claude / "skills" / "mem-search" / "SKILL.md"


def with_ours(before: dict[str, Any]) -> dict[str, Any]:
    """Return settings with our groups behind the user's."""
    hooks = {event: list(groups) for event, groups in before.get("hooks", {}).items()}
    for event, ours in OURS.items():
        hooks.setdefault(event, []).append(ours)
    return {**before, "hooks": hooks}


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put_client(folder: Path, script: str) -> None:
    """Put an executable named `claude` on the PATH."""
    (folder / "bin").mkdir()
    client = folder / "bin" / "claude"
    client.write_bytes(b"#!/bin/sh\n" + script.encode("latin-1"))
    client.chmod(0o755)


def test_install_creates_the_settings_and_the_skill(claude: Path, settings: Path, skill: Path) -> None:
    """Also for a client that never ran: there is a settings file afterwards, with a group for each event."""
    claude.rmdir()

    done = install.install()

    assert (
        settings.read_text()
        == json.dumps({"hooks": {event: [OURS[event]] for event in OURS}}, indent=2) + "\n"
    )
    assert skill.read_bytes() == Path(install.SKILL).read_bytes()
    assert done == install.Installation(str(settings), tuple(OURS), str(skill), changed=True)


@pytest.mark.parametrize("indent", [2, 4, "\t", None], ids=repr)
@pytest.mark.parametrize(
    "before",
    [
        {"model": "opus"},
        {"hooks": {"Stop": [USERS]}, "model": "opus"},
        {"a": 1, "hooks": {"Stop": [USERS, USERS], "PostToolUse": [{"matcher": "Bash", **USERS}]}, "é": [{}]},
        {"hooks": {"PreToolUse": [USERS], "SessionEnd": [USERS]}},
        {"hooks": {"Stop": [{"matcher": "a group without hooks"}]}},
    ],
    ids=["no hooks", "one event", "several groups", "another event", "odd group"],
)
def test_install_merges_with_what_is_there(
    settings: Path, before: dict[str, Any], indent: int | str | None
) -> None:
    """Ours stands behind the user's own, in their order and their layout; nothing else changes."""
    settings.write_text(json.dumps(before, indent=indent, ensure_ascii=False), encoding="utf-8")

    install.install()

    assert settings.read_text("utf-8") == json.dumps(with_ours(before), indent=indent, ensure_ascii=False)


LAYOUTS = CASES["layouts"]


@pytest.mark.parametrize("before", LAYOUTS.values(), ids=LAYOUTS)
def test_uninstall_undoes_install(claude: Path, settings: Path, before: str) -> None:
    """Whatever the layout: a second install writes nothing, and without ours the bytes are as before."""
    settings.write_bytes(before.encode())
    install.install()
    value, written = json.loads(settings.read_bytes()), settings.stat()

    again = install.install()
    same = settings.stat()
    removed = install.uninstall()

    assert value == with_ours(json.loads(before))
    assert not again.changed
    assert (same.st_ino, same.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    assert removed
    assert files(claude) == {"settings.json": before.encode()}


def test_uninstall_without_notes_takes_what_would_be_empty(settings: Path) -> None:
    """When the data directory is gone nobody knows whose an empty list was: it goes, which means the same."""
    settings.write_text('{"hooks": {"Stop": []}, "model": "opus"}')
    install.install()
    shutil.rmtree(config.home())

    install.uninstall()

    assert settings.read_text() == '{"model": "opus"}'


def test_uninstall_changes_nothing_when_nothing_is_installed(claude: Path, settings: Path) -> None:
    """Hooks of the user's own, though they name our folder, are not ours; and no file appears."""
    without_file = install.registered_events(), install.uninstall(), files(claude)
    settings.write_text(LAYOUTS["our name elsewhere"])

    found, removed = install.registered_events(), install.uninstall()

    assert without_file == ({}, False, {})
    assert (found, removed) == ({}, False)
    assert files(claude) == {"settings.json": LAYOUTS["our name elsewhere"].encode()}


def test_install_keeps_a_registration_that_the_user_moved(settings: Path) -> None:
    """Ours in other places and in another layout is still ours: it is not put back."""
    moved = {event: [OURS[event], USERS] for event in reversed(OURS)}
    text = json.dumps({"hooks": moved, "model": "opus"}, indent=1, separators=(" ,", " : "))
    settings.write_text(text)

    install.install()

    assert settings.read_text() == text


@pytest.mark.parametrize(
    ("current", "older"),
    [
        (sys.executable, "/opt/old/bin/python3.11"),
        (sys.executable, "'/home/me/my venv/bin/python'"),
        (sys.executable, f"CLAUDE_MEM_HOME='/mnt/my memory' {sys.executable}"),
        (install.HOOKS, "/opt/old/site-packages/claude_mem_lite/hooks"),
        ('"timeout": 10', '"timeout": 60'),
        ("/stop.py", "/halt.py"),
    ],
    ids=["interpreter", "quoted interpreter", "home", "folder", "timeout", "file"],
)
def test_install_replaces_an_older_registration(settings: Path, current: str, older: str) -> None:
    """What another version or another environment registered goes, instead of running beside ours."""
    settings.write_text(json.dumps({"hooks": {"Stop": [USERS], "Setup": [USERS]}}, indent=2))
    install.install()
    expected = settings.read_text()
    settings.write_text(expected.replace(current, older))

    done = install.install()

    assert settings.read_text() == expected
    assert older not in expected
    assert done.changed


def test_install_leaves_one_registration_of_two(settings: Path) -> None:
    """A registration that stands twice in an event is there once afterwards."""
    twice = {event: [ours, ours] for event, ours in OURS.items()}
    settings.write_text(json.dumps({"hooks": twice}, indent=2))

    install.install()

    assert json.loads(settings.read_bytes()) == with_ours({})


def test_install_takes_out_an_event_that_the_client_does_not_know(settings: Path) -> None:
    """Going back to an older client takes the newer event out of the settings."""
    install.install(client_version="2.1.50")

    done = install.install(client_version="2.1.49")

    assert done.events == OLD
    assert json.loads(settings.read_bytes()) == {"hooks": {event: [OURS[event]] for event in OLD}}


def test_uninstall_takes_only_ours_out_of_a_shared_group(settings: Path) -> None:
    """A command that the user wrote into our group stays there, with the bytes around it."""
    text = '{\n  "hooks": {\n    "Stop": [{"hooks": [%s{"type": "command", "command": "mine"}%s]}]\n  }\n}\n'
    ours = json.dumps(OURS["Stop"]["hooks"][0])
    settings.write_text(text % (f"{ours}, ", f", {ours}"))

    removed = install.uninstall()

    assert removed
    assert settings.read_text() == text % ("", "")


def test_install_gives_a_shared_group_back_to_the_user(settings: Path) -> None:
    """Ours moves out of a group that holds a user's command, once."""
    mine = {"type": "command", "command": "mine"}
    settings.write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [*OURS["Stop"]["hooks"], mine]}]}}, indent=2)
    )

    done = [install.install().changed, install.install().changed]

    assert json.loads(settings.read_bytes()) == with_ours({"hooks": {"Stop": [{"hooks": [mine]}]}})
    assert done == [True, False]


@pytest.mark.parametrize(
    "before",
    [
        b'{\n  // mine\n  "model": "opus"\n}\n',
        b'{"model": "opus",}',
        b"\xef\xbb\xbf{}",
        b'{"model": "opus"',
        b"{} {}",
        b'{"model": "\xff"}',
        '{"model": "opus"}'.encode("utf-16"),
        b'{"a": ' + b"[" * 100_000,
        b"[]",
        b"null",
        b'"text"',
        b'{"hooks": []}',
        b'{"hooks": null}',
        b'{"hooks": {"Stop": {}}}',
        b'{"hooks": {"Stop": null}}',
        b'{"hooks": {"Stop": ["text"]}}',
        b'{"hooks": {"Stop": [{"hooks": {}}]}}',
        b'{"hooks": {"Setup": [{"hooks": "text"}]}}',
    ],
    ids=lambda before: repr(before[:40]),
)
@pytest.mark.parametrize("act", [install.install, install.uninstall, install.registered_events])
def test_settings_that_cannot_be_edited_are_left_alone(
    claude: Path, settings: Path, act: Any, before: bytes
) -> None:
    """What is no JSON, or not what Claude Code takes, is an error of one line that names the file."""
    settings.write_bytes(before)

    with pytest.raises(ClaudeMemError) as raised:
        act()

    assert str(raised.value).startswith(f"{settings} ")
    assert str(raised.value).isprintable()
    assert "it was left untouched" in str(raised.value)
    assert files(claude) == {"settings.json": before}


def test_settings_that_are_a_folder_are_an_error(settings: Path) -> None:
    """What cannot be read is named, with what the system said."""
    settings.mkdir()

    with pytest.raises(ClaudeMemError, match=rf"^{settings} cannot be read \(.*Is a directory"):
        install.install()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_to_the_settings_stays_a_link(tmp_path: Path, settings: Path, *, exists: bool) -> None:
    """Settings kept elsewhere are changed there, and made there where the link points to nothing."""
    kept = tmp_path / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    if exists:
        kept.write_text("{}\n")
    settings.symlink_to(kept)

    install.install()

    assert settings.readlink() == kept
    assert json.loads(kept.read_bytes()) == with_ours({})


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_the_settings_keep_their_mode(settings: Path, mode: int) -> None:
    """Who may read the settings stays as the user has it."""
    settings.write_text("{}")
    settings.chmod(mode)

    install.install()

    assert stat.S_IMODE(settings.stat().st_mode) == mode


@pytest.mark.parametrize("name", ["settings.json", "SKILL.md"])
def test_a_failed_write_leaves_the_file_and_no_other(
    claude: Path, settings: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """When the new file cannot take the old one's place, the old one stands and the new one is gone."""
    settings.write_text("{}")
    replace = os.replace

    def refuse(source: str, target: str) -> None:
        if target.endswith(name):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)

    with pytest.raises(OSError, match="No space left"):
        install.install()

    assert settings.read_text() == "{}"
    assert set(files(claude)) - {"skills/mem-search/SKILL.md"} == {"settings.json"}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0.128", OLD),
        ("2.1.9", OLD),
        ("2.1.49", OLD),
        ("2.1.50", tuple(OURS)),
        ("2.1.79", tuple(OURS)),
        ("2.1.80", NEW),
        ("2.1.329", NEW),
        ("2.2", NEW),
        ("10.0.0", NEW),
        (None, tuple(OURS)),
    ],
)
def test_hook_events_are_those_that_the_client_knows(version: str | None, expected: tuple[str, ...]) -> None:
    """A client drops its settings for one event beyond its own; an unknown client counts as the oldest."""
    assert tuple(install.hook_events(version)) == expected


@pytest.mark.parametrize("version", ["latest", "v", "-"])
def test_install_refuses_what_is_no_version(claude: Path, version: str) -> None:
    """A version without a number in it says nothing about events: nothing is installed."""
    with pytest.raises(ClaudeMemError, match=f"^'{version}' is not a version of Claude Code"):
        install.install(client_version=version)

    assert files(claude) == {}


@pytest.mark.process
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo '2.1.49 (Claude Code)'", OLD),
        ("echo '2.1.50 (Claude Code)'", tuple(OURS)),
        ("echo '2.1.80 (Claude Code)'", NEW),
        ('test "$1" = --version && echo "2.0.1 (Claude Code)"', OLD),
        ("echo 2.1.49 >&2; exit 1", tuple(OURS)),
        ("echo usage: claude", tuple(OURS)),
        ("printf '\xff\xfe'", tuple(OURS)),
        ("kill -9 $$", tuple(OURS)),
    ],
)
def test_install_asks_the_client_for_its_version(
    tmp_path: Path, settings: Path, script: str, expected: tuple[str, ...]
) -> None:
    """The client on the PATH decides; one that gives no version counts as the oldest supported."""
    put_client(tmp_path, script)

    done = install.install()

    assert done.events == expected
    assert tuple(json.loads(settings.read_bytes())["hooks"]) == expected


def test_a_given_version_counts_instead_of_the_clients(tmp_path: Path, settings: Path) -> None:
    """Who names a version is not asked again."""
    put_client(tmp_path, "echo '2.1.50 (Claude Code)'")

    install.install(client_version="2.1.49")

    assert tuple(json.loads(settings.read_bytes())["hooks"]) == OLD


def test_the_command_reaches_the_interpreter_through_a_shell(
    tmp_path: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spaces, quotes and dollar signs in the paths arrive as they are, and the command is known as ours."""
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
    answer = subprocess.run(
        ["/bin/sh", "-c", commands["PostToolUse"]], capture_output=True, text=True, check=True
    )
    install.uninstall()

    assert answer.stdout.splitlines() == [str(odd / "memory"), "-I", "-S", str(hooks / "post_tool_use.py")]
    assert list(commands) == list(OURS)
    assert settings.read_text() == "{}\n"


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
    """The client may not have the variable, so that what it was while installing stands in the command."""
    monkeypatch.chdir(tmp_path)
    if home is not None:
        monkeypatch.setenv("CLAUDE_MEM_HOME", home)

    install.install()

    plain = {event: ours["hooks"][0]["command"] for event, ours in OURS.items()}
    expected = {event: prefix.format(user=Path.home()) + command for event, command in plain.items()}
    assert claude.is_dir()
    assert install.registered_events() == expected


def test_the_claude_folder_is_in_the_home_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CLAUDE_CONFIG_DIR, or with an empty one, it is ~/.claude."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")

    assert install.claude_dir() == str(tmp_path / ".claude")


def test_install_updates_a_skill_of_ours(skill: Path) -> None:
    """An older text of our own skill gives way to the present one."""
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
def test_install_refuses_to_replace_another_skill(claude: Path, skill: Path, other: str) -> None:
    """A skill of the same name that is not ours stays, and nothing is installed beside it."""
    skill.parent.mkdir(parents=True)
    skill.write_text(other)

    with pytest.raises(ClaudeMemError, match=rf"^{skill} is another skill: nothing was installed\. Move it"):
        install.install()

    assert files(claude) == {"skills/mem-search/SKILL.md": other.encode()}


@pytest.mark.parametrize("other", OTHER_SKILLS.values(), ids=OTHER_SKILLS)
def test_uninstall_leaves_another_skill(claude: Path, skill: Path, other: str) -> None:
    """What is not ours stays, also when our hooks are taken out."""
    install.install()
    skill.write_text(other)

    install.uninstall()

    assert files(claude) == {"skills/mem-search/SKILL.md": other.encode()}


def test_uninstall_does_nothing_by_halves(claude: Path, skill: Path) -> None:
    """A skill file that cannot be read is an error before the settings are touched."""
    install.install()
    skill.write_bytes(b"\xff")
    before = files(claude)

    with pytest.raises(ClaudeMemError, match=f"^{skill} cannot be read"):
        install.uninstall()

    assert files(claude) == before


def test_uninstall_takes_the_skill_and_leaves_the_users_file(skill: Path) -> None:
    """The skill goes with its folder, unless something of the user's lies there."""
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
    """A client would drop all settings for one unknown event, and call a missing file in every session."""
    oldest, table = install.hook_events(), install.hook_events("2.1.80")

    assert set(oldest) - KNOWN_TO_2_1_50 == set()
    assert set(table) - set(oldest) == {"PostCompact", "StopFailure"}
    assert {
        event["hook"] for event in table.values() if not Path(install.HOOKS, f"{event['hook']}.py").is_file()
    } == set()
    assert {name: event["matcher"] for name, event in table.items() if "matcher" in event} == {
        "PreToolUse": "Task|Agent",
        "PostToolUse": "*",
        "PostToolUseFailure": "*",
    }


def test_a_registered_hook_without_its_script_disturbs_nothing(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an uninstalled package the command ends with 0: 2 would block every prompt of the user."""
    hooks = tmp_path / "claude_mem_lite" / "hooks"
    shutil.copytree(install.HOOKS, hooks)
    monkeypatch.setattr(hook_table, "HOOKS", str(hooks))
    install.install()
    shutil.rmtree(hooks)

    commands = install.registered_events()
    statuses = {
        subprocess.run(["/bin/sh", "-c", command], check=False, stderr=subprocess.DEVNULL).returncode
        for command in commands.values()
    }

    assert list(commands) == list(OURS)
    assert statuses == {0}
