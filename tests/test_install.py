"""Test that installing keeps the user's settings byte for byte."""

import json
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from support.installed import OURS, files

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install

USERS = {"hooks": [{"type": "command", "command": "notify-send 'über'", "timeout": 5}]}


def with_ours(before: dict[str, Any]) -> dict[str, Any]:
    """Return settings with our groups after the user's."""
    hooks = {event: list(groups) for event, groups in before.get("hooks", {}).items()}
    for event, ours in OURS.items():
        hooks.setdefault(event, []).append(ours)
    return {**before, "hooks": hooks}


def test_install_creates_the_settings_and_the_skill(claude: Path, claude_settings: Path, skill: Path) -> None:
    """Install creates settings and skill even for a client that never ran."""
    claude.rmdir()

    done = install.install()

    ours = {"hooks": {event: [OURS[event]] for event in OURS}}
    assert claude_settings.read_text() == json.dumps(ours, indent=2) + "\n"
    assert skill.read_bytes() == Path(install.SKILL).read_bytes()
    assert done == install.Installation(str(claude_settings), tuple(OURS), str(skill), changed=True)


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
    claude_settings: Path, before: dict[str, Any], indent: int | str | None
) -> None:
    """Our groups come after the user's, in the file's own layout, and nothing else changes."""
    claude_settings.write_text(json.dumps(before, indent=indent, ensure_ascii=False), encoding="utf-8")

    install.install()

    merged = json.dumps(with_ours(before), indent=indent, ensure_ascii=False)
    assert claude_settings.read_text("utf-8") == merged


NAMES_OUR_FOLDER = json.dumps(
    {
        "permissions": {"allow": ["Read(/x/claude_mem_lite/hooks/post_tool_use.py)"]},
        "hooks": {
            "PostToolUse": [
                {
                    "matcher": "-I -S /x/claude_mem_lite/hooks/post_tool_use.py",
                    "hooks": [
                        {
                            "type": "command",
                            "command": f"{program} src/claude_mem_lite/hooks/post_tool_use.py",
                        }
                        for program in ("ruff check", "python")
                    ],
                }
            ]
        },
    },
    indent=2,
)


@pytest.mark.parametrize(
    "before",
    [
        "{}\n",
        '\n {\t"model"\n:"\\u00e9é"  ,\r\n "hooks" :{"Setup":[\n]  }} ',
        '{"hooks": 1, "hooks": {"Stop": "x", "Stop": [{"hooks": 1, "hooks": []}]}}',
        NAMES_OUR_FOLDER,
    ],
    ids=["empty", "odd spaces", "doubled keys", "our name elsewhere"],
)
def test_uninstall_undoes_install(claude: Path, claude_settings: Path, before: str) -> None:
    """A second install writes nothing, and uninstall restores every byte."""
    claude_settings.write_bytes(before.encode())
    install.install()
    value, written = json.loads(claude_settings.read_bytes()), claude_settings.stat()

    again = install.install()
    same = claude_settings.stat()
    removed = install.uninstall()

    assert value == with_ours(json.loads(before))
    assert not again.changed
    assert (same.st_ino, same.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    assert removed
    assert files(claude) == {"settings.json": before.encode()}


def test_uninstall_without_notes_takes_what_would_be_empty(claude_settings: Path) -> None:
    """Without a data directory, uninstall cannot tell who made an empty list and removes it."""
    claude_settings.write_text('{"hooks": {"Stop": []}, "model": "opus"}')
    install.install()
    shutil.rmtree(config.home())

    install.uninstall()

    assert claude_settings.read_text() == '{"model": "opus"}'


def test_uninstall_changes_nothing_when_nothing_is_installed(claude: Path, claude_settings: Path) -> None:
    """Without our hooks uninstall changes nothing, even if the user's hooks name our folder."""
    without_file = install.registered_events(), install.uninstall(), files(claude)
    claude_settings.write_text(NAMES_OUR_FOLDER)

    found, removed = install.registered_events(), install.uninstall()

    assert without_file == ({}, False, {})
    assert (found, removed) == ({}, False)
    assert files(claude) == {"settings.json": NAMES_OUR_FOLDER.encode()}


def test_install_keeps_a_registration_that_the_user_moved(claude_settings: Path) -> None:
    """Our hooks stay where the user moved them, in the user's layout."""
    moved = {event: [OURS[event], USERS] for event in reversed(OURS)}
    text = json.dumps({"hooks": moved, "model": "opus"}, indent=1, separators=(" ,", " : "))
    claude_settings.write_text(text)

    install.install()

    assert claude_settings.read_text() == text


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
def test_install_replaces_an_older_registration(claude_settings: Path, current: str, older: str) -> None:
    """Hooks that another version or environment registered are replaced, not doubled."""
    claude_settings.write_text(json.dumps({"hooks": {"Stop": [USERS], "Setup": [USERS]}}, indent=2))
    install.install()
    expected = claude_settings.read_text()
    claude_settings.write_text(expected.replace(current, older))

    done = install.install()

    assert claude_settings.read_text() == expected
    assert older not in expected
    assert done.changed


def test_install_leaves_one_registration_of_two(claude_settings: Path) -> None:
    """A doubled registration becomes a single one."""
    twice = {event: [ours, ours] for event, ours in OURS.items()}
    claude_settings.write_text(json.dumps({"hooks": twice}, indent=2))

    install.install()

    assert json.loads(claude_settings.read_bytes()) == with_ours({})


def test_uninstall_takes_only_ours_out_of_a_shared_group(claude_settings: Path) -> None:
    """Uninstall leaves a user's command in our group, with the bytes around it."""
    text = '{\n  "hooks": {\n    "Stop": [{"hooks": [%s{"type": "command", "command": "mine"}%s]}]\n  }\n}\n'
    ours = json.dumps(OURS["Stop"]["hooks"][0])
    claude_settings.write_text(text % (f"{ours}, ", f", {ours}"))

    removed = install.uninstall()

    assert removed
    assert claude_settings.read_text() == text % ("", "")


def test_install_gives_a_shared_group_back_to_the_user(claude_settings: Path) -> None:
    """Our hook moves out of a group that has a user's command, once."""
    mine = {"type": "command", "command": "mine"}
    group = {"hooks": [*OURS["Stop"]["hooks"], mine]}
    claude_settings.write_text(json.dumps({"hooks": {"Stop": [group]}}, indent=2))

    done = [install.install().changed, install.install().changed]

    assert json.loads(claude_settings.read_bytes()) == with_ours({"hooks": {"Stop": [{"hooks": [mine]}]}})
    assert done == [True, False]


@pytest.mark.parametrize(
    "before",
    [
        b'{\n  // mine\n  "model": "opus"\n}\n',
        b"\xef\xbb\xbf{}",
        b'{"model": "\xff"}',
        b'{"a": ' + b"[" * 100_000,
        b"[]",
        b'{"hooks": null}',
        b'{"hooks": {"Stop": {}}}',
        b'{"hooks": {"Stop": ["text"]}}',
        b'{"hooks": {"Setup": [{"hooks": "text"}]}}',
    ],
    ids=lambda before: repr(before[:40]),
)
@pytest.mark.parametrize("act", [install.install, install.uninstall, install.registered_events])
def test_settings_that_cannot_be_edited_are_left_alone(
    claude: Path, claude_settings: Path, act: Any, before: bytes
) -> None:
    """Settings that are no JSON, or invalid for Claude Code, give a one-line error and stay untouched."""
    claude_settings.write_bytes(before)

    with pytest.raises(ClaudeMemError, match="it was left untouched") as raised:
        act()

    assert str(raised.value).startswith(f"{claude_settings} ")
    assert str(raised.value).isprintable()
    assert files(claude) == {"settings.json": before}


def test_settings_that_are_a_folder_are_an_error(claude_settings: Path) -> None:
    """Settings that cannot be read give an error with the path and the system's message."""
    claude_settings.mkdir()

    with pytest.raises(ClaudeMemError, match=rf"^{claude_settings} cannot be read \(.*Is a directory"):
        install.install()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_to_the_settings_stays_a_link(tmp_path: Path, claude_settings: Path, *, exists: bool) -> None:
    """A link to the settings stays a link, and its target is changed, or created if missing."""
    kept = tmp_path / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    if exists:
        kept.write_text("{}\n")
    claude_settings.symlink_to(kept)

    install.install()

    assert claude_settings.readlink() == kept
    assert json.loads(kept.read_bytes()) == with_ours({})


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_the_settings_keep_their_mode(claude_settings: Path, mode: int) -> None:
    """The settings keep their file mode."""
    claude_settings.write_text("{}")
    claude_settings.chmod(mode)

    install.install()

    assert stat.S_IMODE(claude_settings.stat().st_mode) == mode


@pytest.mark.parametrize("name", ["settings.json", "SKILL.md"])
def test_a_failed_write_leaves_the_file_and_no_other(
    claude: Path, claude_settings: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """If the new file cannot replace the old one, the old one stays and the new one is deleted."""
    claude_settings.write_text("{}")
    replace = os.replace

    def refuse(source: str, target: str) -> None:
        if target.endswith(name):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)

    with pytest.raises(OSError, match="No space left"):
        install.install()

    assert claude_settings.read_text() == "{}"
    assert set(files(claude)) - {"skills/mem-search/SKILL.md"} == {"settings.json"}
