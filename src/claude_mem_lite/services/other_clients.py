"""Register the hooks with clients other than Claude Code, and remove them again."""

import functools
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from claude_mem_lite.capture import clients
from claude_mem_lite.capture.clients import codex, gemini
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import first_state, hook_table
from claude_mem_lite.services.install import words as words_of


class Client(NamedTuple):
    """A client: its folder (in the home, or named by a variable), the paths in it, and its events.

    `advice` is what is left for the user to do once the hooks are registered. With `has_own_home` the
    variable names a home that contains the folder.
    """

    name: str
    variable: str
    folder_name: str
    file: str
    transcripts: str
    events: Mapping[str, Mapping[str, Any]]
    advice: str
    has_own_home: bool = False

    @property
    def told(self) -> str:
        """The name to show to people."""
        return clients.NAMES[self.name]

    @property
    def folder(self) -> str:
        """Its own folder; it need not exist."""
        chosen = os.environ.get(self.variable)
        if chosen and not self.has_own_home:
            return chosen
        return os.path.join(chosen or os.path.expanduser("~"), self.folder_name)

    @property
    def path(self) -> str:
        """The real path of its settings file, so that a link to it stays a link."""
        return os.path.realpath(os.path.join(self.folder, self.file))

    @property
    def installation(self) -> str:
        """The command that registers the hooks with it."""
        return f"claude-mem install-hooks --for {self.name}"

    @property
    def is_here(self) -> bool:
        """Whether it has ever run here: its folder exists."""
        return os.path.isdir(self.folder)


CLIENTS = {
    client.name: client
    for client in (
        Client(
            clients.CODEX, "CODEX_HOME", ".codex", "hooks.json", "sessions", codex.HOOKS,
            "Codex runs only hooks that you trust: start codex, and trust these when it asks, or by /hooks.",
        ),
        Client(
            clients.GEMINI, "GEMINI_CLI_HOME", ".gemini", "settings.json", "tmp", gemini.HOOKS,
            "nothing: Gemini CLI runs your own hooks at once, unless hooksConfig.enabled is false.",
            has_own_home=True,
        ),
    )
}  # fmt: skip


class Registration(NamedTuple):
    """What `install` did for a client: its file, the events that it holds now, and what is left to do."""

    client: str
    settings: str
    events: tuple[str, ...]
    changed: bool
    advice: str


def here() -> list[Client]:
    """Return the clients that have run on this machine."""
    return [client for client in CLIENTS.values() if client.is_here]


def install(client: Client) -> Registration:
    """Register every hook with a client, in place of those of an older version.

    Raises: ClaudeMemError: the client has never run here, or its settings cannot be edited.
    """
    if not client.is_here:
        raise ClaudeMemError(
            f"{client.told} has no folder {client.folder}, so nothing was installed: "
            f"start it once, or set {client.variable} to its folder, then try again"
        )
    wanted = hook_table.entries(client.events, functools.partial(hook_table.command, client=client.name))
    is_new = first_state.register(client.path, wanted)
    return Registration(client.name, client.path, tuple(wanted), is_new, client.advice)


def uninstall(client: Client) -> bool:
    """Remove our hooks from a client and restore every byte; return whether there were any.

    Raises: ClaudeMemError: the settings cannot be edited.
    """
    return first_state.take_out(client.path)


def registered(client: Client) -> dict[str, str]:
    """Return our events that a client has registered, each with its command. Raises: ClaudeMemError."""
    found = hook_table.registered(hook_table.read(client.path))
    return {name: entry["hooks"][0]["command"] for name, entry in found.items()}


def look(client: Client) -> tuple[str, str]:
    """Return what was found about a client's hooks, and the cure, "" if nothing is wrong.

    Raises: ClaudeMemError: its settings cannot be read.
    """
    there = registered(client)
    if not there:
        return f"{client.told} runs without the hooks: {client.installation}", ""
    if missing := [name for name in client.events if name not in there]:
        return f"{len(there)} events registered, missing: {', '.join(missing)}", client.installation
    words = [word for command in there.values() for word in words_of(command)]
    if gone := [word for word in words if word.startswith("/") and not os.path.exists(word)]:
        return f"they name {gone[0]}, which does not exist", client.installation
    if not all(f" {client.name} " in command for command in there.values()):
        return "they are registered as hooks of Claude Code", client.installation
    if client.name == clients.CODEX and (untrusted := sorted(set(there) - _trusted(client))):
        return f"{len(there)} events registered, not trusted: {', '.join(untrusted)}", client.advice
    return f"{len(there)} events", ""


def _trusted(client: Client) -> set[str]:
    """Return the events with a hook that the user has trusted, as Codex notes it in its config.toml."""
    import tomllib

    try:
        with open(os.path.join(client.folder, "config.toml"), "rb") as file:
            state = tomllib.load(file)["hooks"]["state"]
        marks = [key.split(":") for key, told in state.items() if told.get("trusted_hash")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
    places = {client.path, os.path.join(client.folder, client.file)}
    labels = {mark[-3] for mark in marks if len(mark) > 3 and ":".join(mark[:-3]) in places}  # noqa: PLR2004
    return {name for name in client.events if re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() in labels}
