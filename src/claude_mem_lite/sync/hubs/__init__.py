"""Open the hub of an address: `folder:PATH`, `git:REPOSITORY` (`#BRANCH` for another), `postgres:DATABASE`.

A hub holds files by name and knows nothing of what is in them. Each machine writes only below its own name.
"""

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync.hubs.folder import FolderHub
from claude_mem_lite.sync.hubs.git import GitHub

_TEAM = "claude-mem-team"


class Hub(Protocol):
    """Where machines leave files for each other. Every method raises ClaudeMemError when it is not there."""

    def create(self) -> None:
        """Make the hub, unless it is there."""

    def names(self, projects: Collection[str] | None = None) -> list[str]:
        """Look what is there now, and return the names of all files.

        A team's hub may leave out those of other `projects`, and has those of others below their owner.
        """

    def read(self, name: str) -> bytes:
        """Return a file as it was when `names` looked."""

    def publish(self, added: Mapping[str, bytes], dropped: Collection[str]) -> None:
        """Add files, then take others out; each is there whole or not at all."""


@runtime_checkable
class Listening(Protocol):
    """A hub that says when there is something new."""

    def wait(self, machine: str, *, timeout_s: float, projects: Collection[str] | None = None) -> bool:
        """Wait until a machine other than this one has published; return False when none has in that time.

        Of a team, only what is of some projects counts.
        """


def hub_at(address: str, *, is_team: bool = False) -> Hub:
    """Return the hub of an address; a team's is below the same one, apart from a person's own files.

    In PostgreSQL `#ROLE` names the role whose members are the team. Raises: ClaudeMemError for no hub.
    """
    kind, _, where = address.partition(":")
    if kind == "postgres" and where:
        from claude_mem_lite.sync.hubs.postgres import PostgresHub, PostgresTeamHub

        return PostgresTeamHub(where) if is_team else PostgresHub(where)
    if kind == "folder" and where:
        return FolderHub(where, inside=_TEAM) if is_team else FolderHub(where)
    if kind == "git" and where:
        return GitHub(where, branch=_TEAM, own="team.git") if is_team else GitHub(where)
    role = "#ROLE" if is_team else ""
    raise ClaudeMemError(
        f"{address!r} is no hub: folder:PATH, git:URL, git:PATH#BRANCH or postgres:URL{role}"
    )
