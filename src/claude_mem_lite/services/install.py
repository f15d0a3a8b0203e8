"""Register the hooks in Claude Code's settings and install the skill; remove both again."""

import contextlib
import json
import os
import re
import shlex
from typing import Any, NamedTuple

from claude_mem_lite import config
from claude_mem_lite.capture import guards
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import first_state, hook_table, plugin

HOOKS = hook_table.HOOKS
SKILL = os.path.join(hook_table.PACKAGE, "skills", "mem-search", "SKILL.md")

# The oldest client that the plugin works with.
OLDEST_CLIENT = "2.1.50"
_PLUGIN_COMMAND = 'python3 -I -S "${{CLAUDE_PLUGIN_ROOT}}/src/claude_mem_lite/hooks/{}.py" || :'
# The original claude-mem has a skill of the same name whose description begins with the same two words.
_SKILL_MARK = "name: mem-search\ndescription: Search claude-mem, the record of earlier sessions"


class Installation(NamedTuple):
    """What `install` did: the settings file, the events it holds now, and the skill file."""

    settings: str
    events: tuple[str, ...]
    skill: str
    changed: bool


def claude_dir() -> str:
    """Return Claude Code's own folder."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def install(*, client_version: str | None = None) -> Installation:
    """Register every hook that the client knows, in place of those of an older version.

    A client ignores the whole settings file for one event that it does not know, so `client_version`
    (default: what `claude --version` says, else the oldest supported) decides which events are registered.

    Raises:
        ClaudeMemError: the settings cannot be edited, the plugin is on, another skill has our name, or
            `client_version` is no version.
    """
    events = hook_events(client_version or installed_client())
    path = _settings_path()
    hook_table.read(path)  # what cannot be edited is refused before anything is changed
    if found := plugin.enabled(claude_dir()):
        raise ClaudeMemError(
            f"{found.told} already registers the hooks, so nothing was installed: "
            f"{found.removal}, then try again"
        )
    skill = _skill_path()
    skill_text = hook_table.read_file(SKILL)
    present = hook_table.read_file(skill)
    if present and _SKILL_MARK not in present:
        raise ClaudeMemError(f"{skill} is another skill: nothing was installed. Move it away and try again.")
    if present != skill_text:
        first_state.note_folders(skill)
        hook_table.write(skill, skill_text)
    is_new = first_state.register(path, hook_table.entries(events))
    sync_guard()
    return Installation(path, tuple(events), skill, changed=is_new or present != skill_text)


def sync_guard() -> str:
    """Register the guard hook while a guard is on and the hooks are installed, else remove it.

    With the plugin it goes into the settings, too: the plugin's own hooks are the same for everybody. Returns
    why no guard can work, "" if they can or none is on.

    Raises: ClaudeMemError: the settings cannot be edited.
    """
    on, can_work = guards.all_on(), "PreToolUse" in registered_events()
    event = {"hook": "pre_tool_use", "matcher": "|".join(guards.TOOLS)}
    wanted = hook_table.entries({"PreToolUse": event}) if on and can_work else {}
    if on:
        hook_table.write(config.guards_path(), guards.telling_words(on))
    elif os.path.exists(config.guards_path()):
        os.unlink(config.guards_path())
    if wanted:
        first_state.register(_settings_path(), wanted, hook_table.GUARD)
    else:
        first_state.take_out(_settings_path(), hook_table.GUARD)
    if can_work or not on:
        return ""
    return f"the hooks are not installed: claude-mem install-hooks, with Claude Code {OLDEST_CLIENT} or newer"


def is_guarding() -> bool:
    """Tell whether the guard hook is registered. Raises: ClaudeMemError as `registered_events`."""
    return bool(hook_table.registered(hook_table.read(_settings_path()), hook_table.GUARD))


def uninstall() -> bool:
    """Remove our hooks and our skill, and nothing else; return whether there was anything.

    Raises: ClaudeMemError: the settings cannot be edited.
    """
    skill = _skill_path()
    has_skill = _SKILL_MARK in hook_table.read_file(skill)
    had_hooks = first_state.take_out(_settings_path())
    if has_skill:
        os.unlink(skill)
        with contextlib.suppress(OSError):  # not empty: the user keeps something there
            os.rmdir(os.path.dirname(skill))
    first_state.forget(skill)
    return had_hooks or has_skill


def hook_events(client_version: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the events to register for a client, as events.json has them.

    If the version is not known, these are the events of the oldest supported client: an older client ignores
    all hooks of a plugin that has one unknown event.

    Raises: ClaudeMemError: `client_version` is no version.
    """
    with open(os.path.join(HOOKS, "events.json"), encoding="utf-8") as file:
        table: dict[str, dict[str, Any]] = json.load(file)
    known = _number(client_version or OLDEST_CLIENT)
    return {name: event for name, event in table.items() if known >= _number(event.get("since", "0"))}


def wanted_events() -> set[str]:
    """Return the events that should be registered here: the plugin's, or those that the client knows.

    Raises: ClaudeMemError: the settings cannot be read.
    """
    return set(hook_events(None if plugin.enabled(claude_dir()) else installed_client()))


def installed_client() -> str | None:
    """Return the version that `claude --version` prints, or None where there is no client to ask."""
    import shutil
    import subprocess

    claude = shutil.which("claude")
    if claude is None:
        return None
    try:
        asked = subprocess.run(
            [claude, "--version"], capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"\d+\.\d+\.\d+", asked.stdout)
    return match[0] if match else None


def registered_events() -> dict[str, str]:
    """Return our events that are registered, in the settings or by the plugin, each with its command.

    Raises: ClaudeMemError: the settings cannot be read.
    """
    is_plugin = plugin.enabled(claude_dir()) is not None
    entries = _plugin_entries() if is_plugin else hook_table.registered(hook_table.read(_settings_path()))
    return {name: entry["hooks"][0]["command"] for name, entry in entries.items()}


def registered_twice() -> str:
    """Describe hooks that the settings register beside the plugin, which `uninstall` cures; "" for none."""
    found = plugin.enabled(claude_dir())
    if found and hook_table.registered(hook_table.read(_settings_path())):
        return f"the hooks are registered twice, in {_settings_path()} and by {found.told}"
    return ""


def interpreter(command: str) -> str:
    """Return the path of the Python that a registered command starts."""
    return next(word for word in words(command) if "=" not in word.partition("/")[0])


def words(command: str) -> list[str]:
    """Split a shell command into words, even if the user has broken its quoting."""
    try:
        return shlex.split(command)
    except ValueError:  # an unpaired quote
        return command.split()


def _number(version: str) -> tuple[int, ...]:
    parts = re.findall(r"\d+", version)
    if not parts:
        raise ClaudeMemError(f"{version!r} is not a version of Claude Code: give it as 2.1.50")
    return tuple(int(part) for part in parts[:3])


def _plugin_entries() -> dict[str, dict[str, Any]]:
    """Return the plugin's entries, those of the oldest client: one unknown event makes a client drop all."""
    return hook_table.entries(hook_events(OLDEST_CLIENT), _PLUGIN_COMMAND.format)


def _skill_path() -> str:
    return os.path.join(claude_dir(), "skills", "mem-search", "SKILL.md")


def _settings_path() -> str:
    """Return the real path of the settings file, so that a link to it stays a link."""
    return os.path.realpath(os.path.join(claude_dir(), "settings.json"))
