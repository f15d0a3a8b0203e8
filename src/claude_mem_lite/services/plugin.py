"""Find our plugin in Claude Code: whether it is switched on, and for which project.

It only reads Claude Code's files: Claude Code itself installs and removes plugins.
"""

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

# Claude Code 2.1.329 and later refuse names that begin with "claude-".
NAME = "mem-lite"


class Plugin(NamedTuple):
    """A plugin as Claude Code names it, `NAME@MARKETPLACE`; `project` is "" where it is on in all of them."""

    plugin_id: str
    project: str = ""
    scope: str = "user"

    @property
    def told(self) -> str:
        """Its name in a sentence."""
        return f"the plugin {self.plugin_id}{f' in {self.project}' if self.project else ''}"

    @property
    def removal(self) -> str:
        """The command that uninstalls it."""
        if not self.project:
            return f"claude plugin uninstall {self.plugin_id}"
        return f"claude plugin uninstall {self.plugin_id} --scope {self.scope}, in {self.project}"


def enabled(claude_dir: str) -> Plugin | None:
    """Return our plugin if it is switched on for the user or for a project, None if it is not.

    `claude_dir` is Claude Code's own folder. Files that are missing or no JSON are ignored.
    """
    users = _switches(claude_dir, "settings.json")
    for plugin_id, is_on in users.items():
        if is_on:
            return Plugin(plugin_id)
    for plugin in _in_projects(claude_dir):
        folder = os.path.join(plugin.project, ".claude")
        switches = users | _switches(folder, "settings.json") | _switches(folder, "settings.local.json")
        if switches.get(plugin.plugin_id):
            return plugin
    return None


def _in_projects(claude_dir: str) -> Iterator[Plugin]:
    """Yield each installation of our plugin for a single project."""
    plugins = _read(claude_dir, "plugins", "installed_plugins.json").get("plugins")
    for plugin_id, places in plugins.items() if isinstance(plugins, dict) else ():
        for place in places if _is_ours(plugin_id) and isinstance(places, list) else ():
            project = place.get("projectPath") if isinstance(place, dict) else None
            if isinstance(project, str):
                yield Plugin(plugin_id, project, str(place.get("scope")))


def _switches(*path: str) -> dict[str, bool]:
    """Return by id whether a settings file switches our plugin on."""
    switches = _read(*path).get("enabledPlugins")
    if not isinstance(switches, dict):
        return {}
    return {plugin_id: bool(is_on) for plugin_id, is_on in switches.items() if _is_ours(plugin_id)}


def _is_ours(plugin_id: str) -> bool:
    return plugin_id.partition("@")[0] == NAME


def _read(*path: str) -> dict[str, Any]:
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
