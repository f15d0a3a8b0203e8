"""Files that are written for the user: theirs alone, whole or not there, and never in place of another."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from claude_mem_lite.errors import ClaudeMemError


def refuse_taken(path: str) -> None:
    """Raise ClaudeMemError when a file is there already, or no folder to write it to."""
    if os.path.lexists(path):
        raise ClaudeMemError(f"{path} is there already: choose another name")
    if not os.path.isdir(folder := os.path.dirname(path)):
        raise ClaudeMemError(f"there is no folder {folder} to write to")


@contextlib.contextmanager
def created(path: str, *, replacing: bytes = b"") -> Iterator[BinaryIO]:
    """Yield a file to write to that gets its name, an absolute path, at the end, also of one that begins so.

    Raises: ClaudeMemError when the name is taken.
    """
    is_ours = False
    if replacing and os.path.isfile(path):
        with open(path, "rb") as there:
            is_ours = there.read(len(replacing)) == replacing
    if not is_ours:
        refuse_taken(path)
    descriptor, unfinished = tempfile.mkstemp(prefix="claude-mem-unfinished-", dir=os.path.dirname(path))
    with open(descriptor, "w+b") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if is_ours:
                os.replace(unfinished, path)
                return
            try:
                os.link(unfinished, path)  # unlike a rename it replaces nothing
            except OSError:  # the name is taken, or the disk has no hard links, as USB sticks have none
                refuse_taken(path)
                os.rename(unfinished, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)
