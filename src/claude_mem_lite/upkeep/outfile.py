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


def _begins_so(path: str, mark: bytes) -> bool:
    """Tell whether a file begins with some bytes; without any, no file does."""
    if not mark or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(mark)) == mark


@contextlib.contextmanager
def created(path: str, *, replacing: bytes = b"") -> Iterator[BinaryIO]:
    """Yield a file to write to that gets its name at the end, also in place of one that begins so.

    Raises:
        ClaudeMemError: the name is taken.
    """
    is_ours = _begins_so(path, replacing)
    if not is_ours:
        refuse_taken(path)
    unfinished = f"{path}.tmp"
    with open(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if is_ours:
                os.replace(unfinished, path)
            else:
                os.link(unfinished, path)  # unlike a rename it replaces nothing
        except FileExistsError as error:
            raise ClaudeMemError(f"{path} is there already: choose another name") from error
        finally:
            with contextlib.suppress(FileNotFoundError):  # it has got its name
                os.unlink(unfinished)
