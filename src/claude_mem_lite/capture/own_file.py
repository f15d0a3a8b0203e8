"""Open files that another program has named: only regular files of this user, never a symbolic link.

Standard library only; hooks of other clients load this.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


def opened(path: str) -> BinaryIO:
    """Open a file to read. Raises: OSError, also for a symbolic link and for another user's file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    file = open(descriptor, "rb")  # noqa: SIM115  (the caller closes it)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        file.close()
        raise PermissionError(f"{path} is not a regular file of yours")
    return file


def text(path: str, *, most_bytes: int) -> str | None:
    """Return the text of a file; None if `opened` fails, it is larger than `most_bytes` or not UTF-8."""
    try:
        with opened(path) as file:
            found = file.read(most_bytes + 1)
        return found.decode() if len(found) <= most_bytes else None
    except (OSError, ValueError):
        return None


def tail(path: str, *, most_bytes: int) -> bytes:
    """Return the last `most_bytes` of a file, b"" if `opened` fails."""
    try:
        with opened(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
            return file.read(most_bytes)
    except (OSError, ValueError):
        return b""
