"""Open the hub of an address: `folder:PATH`, `git:REPOSITORY` (`#BRANCH` for another), `postgres:DATABASE`.

A hub stores files by name and does not interpret them. Each machine writes only below its own id.
"""

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync.hubs.folder import FolderHub
from claude_mem_lite.sync.hubs.git import GitHub

_TEAM = "claude-mem-team"


class Hub(Protocol):
    """A place where machines exchange files; every method raises ClaudeMemError if it cannot be reached."""

    def create(self) -> None:
        """Create the hub, unless it exists."""

    def names(self, projects: Collection[str] | None = None) -> list[str]:
        """Read the current state of the hub, and return the names of all files.

        A team's hub may leave out files of other projects, and lists those of other people below their owner.
        """

    def read(self, name: str) -> bytes:
        """Return a file as it was when `names` looked."""

    def publish(self, added: Mapping[str, bytes], dropped: Collection[str]) -> None:
        """Add files, then delete others; each is complete or absent."""


@runtime_checkable
class Listening(Protocol):
    """A hub that notifies of new files."""

    def wait(self, machine: str, *, timeout_s: float, projects: Collection[str] | None = None) -> bool:
        """Wait until a machine other than this one has published; return False when none has in that time.

        In a team, only publications of `projects` count.
        """


def hub_at(address: str, *, is_team: bool = False) -> Hub:
    """Return the hub of an address; a team's is at the same one, separate from a person's own files.

    In PostgreSQL `#ROLE` names the role whose members are the team. Raises: ClaudeMemError for a wrong one.
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
        f"{address!r} is not a hub: give folder:PATH, git:URL, git:PATH#BRANCH or postgres:URL{role}"
    )
