"""Edit the table of hooks in a client's settings file, and leave every other byte as it was.

Every client keeps it under "hooks": for each event a list of groups, each with a list of commands.
"""

import json
import os
import re
import shlex
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import json_text

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOKS = os.path.join(PACKAGE, "hooks")
TIMEOUT_S = 10
NO_PARTS: Mapping[str, str] = types.MappingProxyType({})
# Matches the end of every command that `command` writes; a user's own may name the same file.
OURS = re.compile(r" -I -S '?/.*claude_mem_lite/hooks/(?!pre_tool_use\.)\w+\.py'?( [a-z-]+)?( \|\| :)?$")

# Matches the command that is registered while a guard is on.
GUARD = re.compile(r" -I -S '?/.*claude_mem_lite/hooks/pre_tool_use\.py'?( \|\| :)?$")


def command(hook: str, client: str = "") -> str:
    """Return the shell command that starts a hook, with the name of a client other than Claude Code."""
    home = os.environ.get("CLAUDE_MEM_HOME")
    prefix = f"CLAUDE_MEM_HOME={shlex.quote(config.home())} " if home else ""
    script = os.path.join(HOOKS, f"{hook}.py")
    argument = f" {client}" if client else ""
    # -I: no file of the user's project can stand in for ours. -S: no .pth file slows the start.
    # || : because Python exits with 2 if the script is gone (uninstalled, moved), which blocks the prompt.
    return f"{prefix}{shlex.quote(sys.executable)} -I -S {shlex.quote(script)}{argument} || :"


def entries(
    events: Mapping[str, Mapping[str, Any]], command_of: Callable[[str], str] = command
) -> dict[str, dict[str, Any]]:
    """Return the group to register for each event: its hook, and its matcher and timeout if it has any."""
    found = {}
    for name, event in events.items():
        matcher = {"matcher": event["matcher"]} if "matcher" in event else {}
        run = {"type": "command", "command": command_of(event["hook"])}
        found[name] = {**matcher, "hooks": [{**run, "timeout": event.get("timeout", TIMEOUT_S)}]}
    return found


def registered(text: str, pattern: re.Pattern[str] = OURS) -> dict[str, dict[str, Any]]:
    """Return our entries by event; one that shares its group or exists twice counts as absent."""
    found: dict[str, dict[str, Any]] = {}
    for name, groups in json.loads(text).get("hooks", {}).items():
        ours = [group for group in groups if any(_is_ours(each, pattern) for each in group.get("hooks", ()))]
        if len(ours) == 1 and len(ours[0]["hooks"]) == 1:
            found[name] = ours[0]
    return found


def with_hooks(text: str, groups_of: dict[str, dict[str, Any]]) -> str:
    """Return a settings text with one more group for each event."""
    top = text.index("{")
    if groups_of and json_text.member(text, top, "hooks") is None:
        text = json_text.append(text, top, {}, key="hooks")
    for name, entry in groups_of.items():
        hooks = json_text.member(text, top, "hooks")
        assert hooks is not None  # noqa: S101  (appended above)
        groups = json_text.member(text, hooks.value_start, name)
        if groups is None:
            text = json_text.append(text, hooks.value_start, [entry], key=name)
        else:
            text = json_text.append(text, groups.value_start, entry)
    return text


def without_hooks(text: str, pattern: re.Pattern[str], empty: Mapping[str, str]) -> str:
    """Return a settings text without our commands and the parts that would be empty without them.

    `empty` has the parts that were empty before our commands came, from `empty_parts`: they stay.
    """
    while (cut := next(_ours_in(text, pattern, empty), None)) is not None:
        container, item, key = cut
        if key in empty:
            text = text[: item.value_start] + empty[key] + text[item.end :]
        else:
            text = json_text.remove(text, container, item)
    return text


def empty_parts(text: str) -> dict[str, str]:
    """Return the text of an empty table of hooks, under "hooks", and of empty lists, under "hooks.EVENT"."""
    hooks = json_text.member(text, text.index("{"), "hooks")
    if hooks is None:
        return {}
    events = json_text.items(text, hooks.value_start)
    parts = {"hooks": hooks, **{f"hooks.{event.key}": event for event in events}}
    found = {key: text[part.value_start : part.end] for key, part in parts.items()}
    return {key: part for key, part in found.items() if not json.loads(part)}


def has_any(text: str, *patterns: re.Pattern[str]) -> bool:
    """Tell whether a settings text has commands of ours."""
    return any(next(_ours_in(text, pattern, NO_PARTS), None) is not None for pattern in patterns)


def read(path: str) -> str:
    """Return the settings' text, `{}` for a missing or empty file. Raises: ClaudeMemError if not editable."""
    text = read_file(path)
    if not text.strip():
        return "{}\n"
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ClaudeMemError(
            f"{path} is not plain JSON ({error}): it was left untouched. "
            "Remove comments, trailing commas or a byte order mark, then try again."
        ) from error
    if not isinstance(settings, dict) or not _is_hook_table(settings.get("hooks", {})):
        raise ClaudeMemError(
            f'{path} is not an object with lists of groups under "hooks": it was left untouched. '
            "Fix it, then try again."
        )
    return text


def read_file(path: str) -> str:
    """Return a file's text, "" where there is none. Raises: ClaudeMemError."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ClaudeMemError(f"{path} cannot be read ({error}): it was left untouched") from error


def write(path: str, text: str) -> None:
    """Replace a file in one step, keeping its mode."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    config.replace_file(path, text.encode())


def _is_ours(command: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(command, dict) and pattern.search(str(command.get("command"))) is not None


def _ours_in(
    text: str, pattern: re.Pattern[str], empty: Mapping[str, str]
) -> Iterator[tuple[int, json_text.Item, str]]:
    """Yield each of our commands, or the part that is empty without it: start of its container, item, key.

    The key is that of `empty_parts`, "" for anything else.
    """
    top = text.index("{")
    hooks = json_text.member(text, top, "hooks")
    if hooks is None:
        return
    events = {event.key: event for event in json_text.items(text, hooks.value_start)}  # last of equal keys
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
                yield inner.value_start, ours[0], ""
            elif len(json_text.items(text, event.value_start)) > 1:
                yield event.value_start, group, ""
            elif (key := f"hooks.{event.key}") in empty or len(json_text.items(text, hooks.value_start)) > 1:
                yield hooks.value_start, event, key
            else:
                yield top, hooks, "hooks"


def _is_hook_table(table: object) -> bool:
    """Tell whether a value has the shape that Claude Code takes under "hooks", as far as edits need it."""
    return isinstance(table, dict) and all(
        isinstance(groups, list)
        and all(isinstance(group, dict) and isinstance(group.get("hooks", []), list) for group in groups)
        for groups in table.values()
    )
