"""Create files for the user: readable by them alone, complete or absent, never in place of a foreign file."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from claude_mem_lite.errors import ClaudeMemError


def refuse_taken(path: str) -> None:
    """Raise ClaudeMemError if the path exists already, or its folder does not exist."""
    if os.path.lexists(path):
        raise ClaudeMemError(f"{path} already exists: choose another name")
    if not os.path.isdir(folder := os.path.dirname(path)):
        raise ClaudeMemError(f"there is no folder {folder} to write to")


@contextlib.contextmanager
def created(path: str, *, replacing: bytes = b"") -> Iterator[BinaryIO]:
    """Yield a file that gets its name, an absolute path, only at the end; it may replace an older version.

    Raises: ClaudeMemError when the path exists and its content does not begin with `replacing`.
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
                os.link(unfinished, path)  # unlike a rename, a link replaces no file
            except OSError:  # the name is taken, or the disk (a USB stick, say) has no hard links
                refuse_taken(path)
                os.rename(unfinished, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)
