"""Open the hub of an address: `folder:PATH`, `git:REPOSITORY` (`#BRANCH` for another), `postgres:DATABASE`.

A hub holds files by name and knows nothing of what is in them. Each machine writes only below its own name.
"""

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync.hubs.folder import FolderHub
from claude_mem_lite.sync.hubs.git import GitHub

_HUBS: dict[str, type[FolderHub | GitHub]] = {"folder": FolderHub, "git": GitHub}
_POSTGRES, _TEAM = "postgres", "claude-mem-team"


class Hub(Protocol):
    """Where machines leave files for each other. Every method raises ClaudeMemError when it is not there."""

    def create(self) -> None:
        """Make the hub, unless it is there."""

    def names(self) -> list[str]:
        """Look what is there now, and return the names of all files."""

    def read(self, name: str) -> bytes:
        """Return a file as it was when `names` looked."""

    def publish(self, added: Mapping[str, bytes], dropped: Collection[str]) -> None:
        """Add files, then take others out; each is there whole or not at all."""


class TeamHub(Hub, Protocol):
    """A hub of a team, which may leave out of its names the files of other projects."""

    def names(self, projects: Collection[str] | None = None) -> list[str]:
        """Look what is there now, and return the names of all files, those of others below their owner."""


@runtime_checkable
class Listening(Protocol):
    """A hub that says when there is something new."""

    def wait(self, machine: str, *, timeout_s: float, projects: Collection[str] | None = None) -> bool:
        """Wait until a machine other than this one has published; return False when none has in that time.

        Of a team, only what is of some projects counts.
        """


def team_hub_at(address: str) -> TeamHub:
    """Return the hub of a team: below the same address, apart from a person's own files.

    In PostgreSQL `#ROLE` names the role whose members are the team. Raises: ClaudeMemError for no hub.
    """
    kind, _, where = address.partition(":")
    if kind == _POSTGRES and where:
        from claude_mem_lite.sync.hubs.postgres import PostgresTeamHub

        return PostgresTeamHub(where)
    if kind == "folder" and where:
        return FolderHub(where, inside=_TEAM)
    if kind == "git" and where:
        return GitHub(where, branch=_TEAM, own="team.git")
    raise ClaudeMemError(f"{address!r} is no hub: folder:PATH, git:URL, git:PATH#BRANCH or postgres:URL#ROLE")


def hub_at(address: str) -> Hub:
    """Return the hub of an address. Raises: ClaudeMemError for what is none."""
    kind, _, where = address.partition(":")
    if kind == _POSTGRES and where:
        from claude_mem_lite.sync.hubs.postgres import PostgresHub

        return PostgresHub(where)
    if kind not in _HUBS or not where:
        raise ClaudeMemError(f"{address!r} is no hub: folder:PATH, git:URL, git:PATH#BRANCH or postgres:URL")
    return _HUBS[kind](where)
