"""A hub in a folder that other programs sync between machines: Syncthing, Dropbox, NFS.

A file gets its name when it is complete, and never changes after that; other machines' files stay untouched.
"""

import contextlib
import os
from collections.abc import Collection, Mapping

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError

_OURS, _MARK = "claude-mem", "hub"


class FolderHub:
    """A hub in a folder; a marker file tells an empty hub from a disk that is not mounted."""

    def __init__(self, where: str, *, inside: str = _OURS) -> None:
        self.folder = os.path.join(os.path.abspath(os.path.expanduser(where)), inside)

    def create(self) -> None:
        """Create the hub, unless it exists."""
        above = os.path.dirname(self.folder)
        if not os.path.isdir(above):
            raise ClaudeMemError(f"there is no folder {above} to put a hub in")
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self._put(_MARK, b"claude-mem sync\n")
        except OSError as error:
            raise ClaudeMemError(f"the hub {self.folder} cannot be created ({error})") from error

    def names(self, projects: Collection[str] | None = None) -> list[str]:  # noqa: ARG002  (it lists all)
        """Return the names of all files."""
        if not os.path.isfile(os.path.join(self.folder, _MARK)):
            raise ClaudeMemError(f"the hub {self.folder} does not exist: is its disk mounted?")
        try:
            found = [
                f"{machine.name}/{file}"
                for machine in os.scandir(self.folder)
                if machine.is_dir(follow_symlinks=False)
                for file in os.listdir(machine.path)
                if not file.startswith(".")
            ]
        except OSError as error:
            raise ClaudeMemError(f"the hub {self.folder} cannot be read ({error})") from error
        return sorted(found)

    def read(self, name: str) -> bytes:
        """Return a file; a symbolic link is refused."""
        path = os.path.join(self.folder, name)
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                return file.read()
        except OSError as error:
            raise ClaudeMemError(f"{path} cannot be read ({error})") from error

    def publish(self, added: Mapping[str, bytes], dropped: Collection[str]) -> None:
        """Add files, then delete others."""
        try:
            for name, data in added.items():
                self._put(name, data)
            for name in dropped:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.folder, name))
        except OSError as error:
            raise ClaudeMemError(f"the hub {self.folder} cannot be written ({error})") from error

    def _put(self, name: str, data: bytes) -> None:
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        config.replace_file(path, data, mode=0o600)
