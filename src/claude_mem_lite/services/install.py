"""Register the hooks in Claude Code's settings and put the skill in place; take both out again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claude_mem_lite import config
from claude_mem_lite.capture import guards
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import json_text, plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOKS = os.path.join(PACKAGE, "hooks")
SKILL = os.path.join(PACKAGE, "skills", "mem-search", "SKILL.md")

# The oldest client that the plugin works with.
OLDEST_CLIENT = "2.1.50"
# The oldest client that is known to load a plugin by its old name; 2.1.120 does not.
FOLLOWS_RENAMES = (2, 1, 197)
TIMEOUT_S = 10
# The end of every command that `_command` has written; a user's own may name the same file.
_OURS = re.compile(r" -I -S '?/.*claude_mem_lite/hooks/(?!pre_tool_use\.)\w+\.py'?( \|\| :)?$")
_GUARD = re.compile(r" -I -S '?/.*claude_mem_lite/hooks/pre_tool_use\.py'?( \|\| :)?$")
# The original claude-mem has a skill of the same name whose description begins with the same two words.
_SKILL_MARK = "name: mem-search\ndescription: Search claude-mem, the record of earlier sessions"


@dataclass(frozen=True, slots=True)
class Installation:
    """What `install` did: the settings file, the events it holds now, and the skill file."""

    settings: str
    events: tuple[str, ...]
    skill: str
    changed: bool


def claude_dir() -> str:
    """Return Claude Code's own folder."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def install(*, client_version: str | None = None) -> Installation:
    """Register every hook that the client knows, in place of what an older version registered.

    A client drops the whole settings file for one event that it does not know, so `client_version`
    (default: what `claude --version` says, else the oldest supported) decides which events go in.

    Raises:
        ClaudeMemError: the settings cannot be edited, another skill bears our name, or `client_version`
            is no version.
    """
    events = hook_events(client_version or installed_client())
    path = _settings_path()
    before = _read(path)
    if found := plugin.enabled(claude_dir()):
        raise ClaudeMemError(
            f"{found.told} has registered the hooks already, and nothing was installed: "
            f"{found.removal}, then try again"
        )
    after = (
        before
        if _registered(before) == _entries(events)
        else _with_hooks(_without_hooks(before), _entries(events))
    )
    skill = os.path.join(claude_dir(), "skills", "mem-search", "SKILL.md")
    skill_text = _read_file(SKILL)
    present = _read_file(skill)
    if present and _SKILL_MARK not in present:
        raise ClaudeMemError(f"{skill} is another skill: nothing was installed. Move it away and try again.")
    if present != skill_text:
        _write(skill, skill_text)
    if after != before:
        _write(path, after)
    sync_guard()
    return Installation(path, tuple(events), skill, changed=after != before or present != skill_text)


def sync_guard() -> str:
    """Register the hook of guards while one is on and hooks are installed, else take it out.

    With the plugin it stands in the settings, too: the plugin's own hooks are the same for everybody. Returns
    why no guard can work, "" where they do or none is on.

    Raises:
        ClaudeMemError: the settings cannot be edited.
    """
    path, on = _settings_path(), guards.all_on()
    before, can_work = _read(path), "PreToolUse" in registered_events()
    event = {"hook": "pre_tool_use", "matcher": "|".join(guards.TOOLS)}
    wanted = _entries({"PreToolUse": event}) if on and can_work else {}
    if on:
        _write(config.guards_path(), guards.telling_words(on))
    elif os.path.exists(config.guards_path()):
        os.unlink(config.guards_path())
    if _registered(before, _GUARD) != wanted:
        _write(path, _with_hooks(_without_hooks(before, _GUARD), wanted))
    if can_work or not on:
        return ""
    return f"the hooks are not installed: claude-mem install-hooks, with Claude Code {OLDEST_CLIENT} or newer"


def is_guarding() -> bool:
    """Tell whether the hook of guards is registered. Raises: ClaudeMemError as `registered_events`."""
    return bool(_registered(_read(_settings_path()), _GUARD))


def uninstall() -> bool:
    """Take our hooks and our skill out again, and nothing else; return whether there was anything.

    Raises:
        ClaudeMemError: the settings cannot be edited.
    """
    path = _settings_path()
    before = _read(path)
    after = _without_hooks(_without_hooks(before), _GUARD)
    skill = os.path.join(claude_dir(), "skills", "mem-search", "SKILL.md")
    ours = _SKILL_MARK in _read_file(skill)
    if after != before:
        _write(path, after)
    if ours:
        os.unlink(skill)
        with contextlib.suppress(OSError):  # not empty: the user keeps something there
            os.rmdir(os.path.dirname(skill))
    return after != before or ours


def hook_events(client_version: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the events to register for a client, as events.json has them.

    Where the version is not known, these are the events of the oldest supported client: in a plugin one
    unknown event costs an older client all of the plugin's hooks.

    Raises:
        ClaudeMemError: `client_version` is no version.
    """
    with open(os.path.join(HOOKS, "events.json"), encoding="utf-8") as file:
        table: dict[str, dict[str, Any]] = json.load(file)
    known = _number(client_version or OLDEST_CLIENT)
    return {name: event for name, event in table.items() if known >= _number(event.get("since", "0"))}


def wanted_events() -> set[str]:
    """Return the events that should be registered here: the plugin's, or those that the client knows.

    Raises:
        ClaudeMemError: the settings cannot be read.
    """
    return set(hook_events(None if plugin.enabled(claude_dir()) else installed_client()))


def installed_client() -> str | None:
    """Return the version that `claude --version` prints, or None where there is no client to ask."""
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
    """Return the events of ours that the settings hold, or the plugin has, each with its command.

    Raises:
        ClaudeMemError: the settings cannot be read.
    """
    is_plugin = plugin.enabled(claude_dir()) is not None
    entries = _plugin_entries() if is_plugin else _registered(_read(_settings_path()))
    return {name: entry["hooks"][0]["command"] for name, entry in entries.items()}


def plugin_problem() -> tuple[str, str]:
    """Return what is wrong with the plugin or beside it, and what cures it; "" twice for nothing."""
    found = plugin.enabled(claude_dir())
    if found and _registered(_read(_settings_path())):
        told = f"the hooks are registered twice, in {_settings_path()} and by {found.told}"
        return told, "claude-mem uninstall-hooks"
    standing = plugin.standing(claude_dir(), found) if found else "listed"
    if found and (standing == "gone" or (standing == "renamed" and not _follows_renames())):
        return f"{found.told} is not in its marketplace any more, so its hooks do not run", found.renewal
    return "", ""


def _follows_renames() -> bool:
    """Tell whether the client loads a plugin that its marketplace has renamed; one that is unknown does."""
    version = installed_client()
    return version is None or _number(version) >= FOLLOWS_RENAMES


def plugin_hooks() -> dict[str, Any]:
    """Return what hooks/hooks.json is to hold: the same hooks, as Claude Code finds them in a plugin."""
    return {"hooks": {name: [entry] for name, entry in _plugin_entries().items()}}


def interpreter(command: str) -> str:
    """Return the path of the Python that a registered command starts."""
    return next(word for word in words(command) if "=" not in word.partition("/")[0])


def words(command: str) -> list[str]:
    """Return the words of a command of the shell, also of one that the user has bent."""
    try:
        return shlex.split(command)
    except ValueError:  # an apostrophe alone
        return command.split()


def _number(version: str) -> tuple[int, ...]:
    parts = re.findall(r"\d+", version)
    if not parts:
        raise ClaudeMemError(f"{version!r} is not a version of Claude Code: give it as 2.1.50")
    return tuple(int(part) for part in parts[:3])


def _command(hook: str) -> str:
    home = os.environ.get("CLAUDE_MEM_HOME")
    prefix = f"CLAUDE_MEM_HOME={shlex.quote(config.home())} " if home else ""
    script = os.path.join(HOOKS, f"{hook}.py")
    # -I: no file of the user's project can stand in for ours. -S: no .pth file slows the start.
    # || :, because a script that is gone (uninstalled, moved) ends with 2, which blocks the user's prompt.
    return f"{prefix}{shlex.quote(sys.executable)} -I -S {shlex.quote(script)} || :"


def _plugin_command(hook: str) -> str:
    return f'python3 -I -S "${{CLAUDE_PLUGIN_ROOT}}/src/claude_mem_lite/hooks/{hook}.py" || :'


def _entries(
    events: dict[str, dict[str, Any]], command_of: Callable[[str], str] = _command
) -> dict[str, dict[str, Any]]:
    entries = {}
    for name, event in events.items():
        matcher = {"matcher": event["matcher"]} if "matcher" in event else {}
        command = {"type": "command", "command": command_of(event["hook"]), "timeout": TIMEOUT_S}
        entries[name] = {**matcher, "hooks": [command]}
    return entries


def _plugin_entries() -> dict[str, dict[str, Any]]:
    """Return the plugin's entries: one event that a client does not know would cost it all of them."""
    return _entries(hook_events(OLDEST_CLIENT), _plugin_command)


def _is_ours(command: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(command, dict) and pattern.search(str(command.get("command"))) is not None


def _registered(text: str, pattern: re.Pattern[str] = _OURS) -> dict[str, dict[str, Any]]:
    """Return our entries by event; one that is not alone in its group, or doubled, counts as absent."""
    found: dict[str, dict[str, Any]] = {}
    for name, groups in json.loads(text).get("hooks", {}).items():
        ours = [group for group in groups if any(_is_ours(each, pattern) for each in group.get("hooks", ()))]
        if len(ours) == 1 and len(ours[0]["hooks"]) == 1:
            found[name] = ours[0]
    return found


def _with_hooks(text: str, entries: dict[str, dict[str, Any]]) -> str:
    top = text.index("{")
    if entries and json_text.member(text, top, "hooks") is None:
        text = json_text.append(text, top, {}, key="hooks")
    for name, entry in entries.items():
        hooks = json_text.member(text, top, "hooks")
        assert hooks is not None  # noqa: S101  (appended above)
        groups = json_text.member(text, hooks.value_start, name)
        if groups is None:
            text = json_text.append(text, hooks.value_start, [entry], key=name)
        else:
            text = json_text.append(text, groups.value_start, entry)
    return text


def _without_hooks(text: str, pattern: re.Pattern[str] = _OURS) -> str:
    while (cut := next(_ours_in(text, pattern), None)) is not None:
        text = json_text.remove(text, *cut)
    return text


def _ours_in(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, json_text.Item]]:
    """Yield what of ours stands in the text, and what would be empty without it, innermost first."""
    top = text.index("{")
    hooks = json_text.member(text, top, "hooks")
    if hooks is None:
        return
    events = {event.key: event for event in json_text.items(text, hooks.value_start)}  # of one key, the last
    for event in events.values():
        for group in json_text.items(text, event.value_start):
            inner = json_text.member(text, group.value_start, "hooks")
            if inner is None:
                continue
            commands = json_text.items(text, inner.value_start)
            ours = [
                command
                for command in commands
                if _is_ours(json.loads(text[command.start : command.end]), pattern)
            ]
            if not ours:
                continue
            if len(ours) < len(commands):
                yield inner.value_start, ours[0]
            elif len(json_text.items(text, event.value_start)) > 1:
                yield event.value_start, group
            elif len(json_text.items(text, hooks.value_start)) > 1:
                yield hooks.value_start, event
            else:
                yield top, hooks


def _settings_path() -> str:
    """Return the settings file itself: a link to it is left a link."""
    return os.path.realpath(os.path.join(claude_dir(), "settings.json"))


def _read(path: str) -> str:
    """Return the settings' text, `{}` for a missing or empty file, having seen that it can be edited."""
    text = _read_file(path)
    if not text.strip():
        return "{}\n"
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ClaudeMemError(
            f"{path} is not plain JSON ({error}): it was left untouched. "
            "Take out comments, trailing commas or a byte order mark, then try again."
        ) from error
    if not isinstance(settings, dict) or not _is_hook_table(settings.get("hooks", {})):
        raise ClaudeMemError(
            f'{path} is not an object with lists of groups under "hooks": it was left untouched. '
            "Mend it, then try again."
        )
    return text


def _is_hook_table(table: object) -> bool:
    """Tell whether this is what Claude Code takes under "hooks", as far as an edit depends on it."""
    return isinstance(table, dict) and all(
        isinstance(groups, list)
        and all(isinstance(group, dict) and isinstance(group.get("hooks", []), list) for group in groups)
        for groups in table.values()
    )


def _read_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ClaudeMemError(f"{path} cannot be read ({error}): it was left untouched") from error


def _write(path: str, text: str) -> None:
    """Replace a file in one step, keeping its mode."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".claude-mem-")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
