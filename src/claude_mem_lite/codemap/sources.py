"""Python files as a folder holds them: which there are, and their bytes as text."""

from __future__ import annotations

import errno
import io
import os
import stat
import tokenize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".py", ".pyi")
MAX_BYTES = 2_000_000  # a larger file is generated; parsing 1 MB takes about a second
_SKIPPED = frozenset({
    "__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist", "__pypackages__",
})  # fmt: skip


def python_files(folder: str) -> Iterator[str]:
    """Paths relative to a folder, posix, sorted; hidden folders, environments and builds are left out.

    A package that is named like one is kept.
    """
    for current, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name[0] != "."
            and (name not in _SKIPPED or os.path.exists(os.path.join(current, name, "__init__.py")))
            and not name.endswith(".egg-info")
            and not os.path.exists(os.path.join(current, name, "pyvenv.cfg"))
        )
        inside = os.path.relpath(current, folder).replace(os.sep, "/")
        for name in sorted(names):
            if name.endswith(SUFFIXES):
                yield name if inside == "." else f"{inside}/{name}"


def is_source(path: str) -> bool:
    """Tell whether a path from the folder is a Python file that `python_files` would come to by its name."""
    *folders, _ = path.split("/")
    return path.endswith(SUFFIXES) and not any(name[:1] == "." or name in _SKIPPED for name in folders)


class Tree:
    """The files below a folder by where their paths really lead: a link may lead out of it."""

    def __init__(self, folder: str) -> None:
        self._root = os.path.join(os.path.realpath(folder), "")
        self._folders: dict[str, str] = {}  # resolved; of a file that is no link this leaves one look

    def target(self, path: str) -> str:
        """Return where a path from the folder leads to, as a path from the folder, "" for outside."""
        full = os.path.join(self._root, path)
        above, name = os.path.split(full)
        if os.path.islink(full):
            real = os.path.realpath(full)
        else:
            if above not in self._folders:
                self._folders[above] = os.path.realpath(above)
            real = os.path.join(self._folders[above], name)
        return real.removeprefix(self._root) if real.startswith(self._root) else ""

    def read(self, path: str) -> bytes:
        """Return a file's bytes, one more than MAX_BYTES at most.

        Raises: OSError; a file outside, or a pipe, which nobody may ever write to, is as good as none.
        """
        full = os.path.join(self._root, path)
        if not self.target(path) or not stat.S_ISREG(os.stat(full).st_mode):
            raise FileNotFoundError(errno.ENOENT, "not a regular file of the folder", full)
        with open(full, "rb") as file:
            return file.read(MAX_BYTES + 1)


def decode(data: bytes) -> str:
    """Return a source's text by its BOM or coding line, UTF-8 otherwise; undecodable bytes are replaced.

    Source: PEP 263.
    """
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except (SyntaxError, UnicodeDecodeError):
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding, errors="replace")
    except (LookupError, UnicodeError):
        return data.decode("utf-8-sig", errors="replace")


def packages_above(folder: str) -> str:
    """Return the dotted name of the package that a folder is, "" where it is none."""
    parts: list[str] = []
    folder = os.path.abspath(folder)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    return ".".join(parts)
