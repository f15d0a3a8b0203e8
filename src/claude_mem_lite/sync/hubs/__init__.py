"""Open the hub of an address: `folder:PATH`, `git:REPOSITORY` (`#BRANCH` for another), `postgres:DATABASE`.

A hub holds files by name and knows nothing of what is in them. Each machine writes only below its own name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync.hubs.folder import FolderHub
from claude_mem_lite.sync.hubs.git import GitHub

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_HUBS: dict[str, type[FolderHub | GitHub]] = {"folder": FolderHub, "git": GitHub}
_POSTGRES = "postgres"


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


@runtime_checkable
class Listening(Protocol):
    """A hub that says when there is something new."""

    def wait(self, machine: str, *, timeout_s: float) -> bool:
        """Wait until a machine other than this one has published; return False when none has in that time."""


def hub_at(address: str) -> Hub:
    """Return the hub of an address. Raises: ClaudeMemError for what is none."""
    kind, _, where = address.partition(":")
    if kind == _POSTGRES and where:
        from claude_mem_lite.sync.hubs.postgres import PostgresHub

        return PostgresHub(where)
    if kind not in _HUBS or not where:
        raise ClaudeMemError(f"{address!r} is no hub: folder:PATH, git:URL, git:PATH#BRANCH or postgres:URL")
    return _HUBS[kind](where)
