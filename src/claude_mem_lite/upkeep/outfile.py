"""Files that are written for the user: theirs alone, whole or not there, and never in place of another."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO

from claude_mem_lite.errors import ClaudeMemError

if TYPE_CHECKING:
    from collections.abc import Iterator


def refuse_taken(path: str) -> None:
    """Raise ClaudeMemError when a file is there already."""
    if os.path.lexists(path):
        raise ClaudeMemError(f"{path} is there already: choose another name")


@contextlib.contextmanager
def created(path: str) -> Iterator[BinaryIO]:
    """Yield a file to write to that gets its name at the end. Raises: ClaudeMemError when that is taken."""
    refuse_taken(path)
    unfinished = f"{path}.tmp"
    with open(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.link(unfinished, path)  # unlike a rename it replaces nothing
        except FileExistsError as error:
            raise ClaudeMemError(f"{path} is there already: choose another name") from error
        finally:
            os.unlink(unfinished)
