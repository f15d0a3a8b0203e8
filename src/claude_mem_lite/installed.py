"""Tell which code is installed here, by its content, and to which installation a data directory belongs.

Two installations with equal code are the same to the services; two commits in two environments are not,
whatever their version says. Where they differ, what the user did last decides: `up`, `restart` and
`install-hooks`, typed in one of them, make the data directory *belong* to it. A hook of another one starts
services where none run, and replaces none: two installations never replace each other's services in turn.

Standard library only, and cheap but for `code`: the hook of a session's start asks `expected`.
"""

from __future__ import annotations

import os
import time

from claude_mem_lite import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = os.path.dirname(os.path.realpath(__file__))
_SOURCES = (".py", ".conf")

_started: list[str] = []


def code() -> str:
    """Return a hash of the package's own sources as they are on the disk now; takes some 15 ms."""
    import hashlib

    found = hashlib.sha256()
    for path in sorted(entry.path for entry in _sources()):
        with open(path, "rb") as file:
            content = file.read()
        found.update(f"{os.path.relpath(path, PACKAGE)}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:16]


def stamp() -> str:
    """Return what changes whenever a source does: number, bytes and times of change, in 2 ms; "" for none.

    The time of a change of the inode, unlike that of the content, is one that nobody sets back.
    """
    count = size = changed = 0
    try:
        for entry in _sources():
            found = entry.stat()
            count, size, changed = count + 1, size + found.st_size, changed + found.st_ctime_ns
    except OSError:  # it is being taken away
        return ""
    return f"{count}-{size}-{changed}" if count else ""


def started() -> str:
    """Return the code that this process runs; a service asks before the code can have changed."""
    if not _started:
        _started.extend((code(), stamp()))
    return _started[0]


def is_changed(*, settle_s: float = 1.0) -> bool:
    """Tell whether the sources are others than those of `started`; not while they are being exchanged."""
    code_then, now = started(), stamp()
    if now == _started[1] or (now and code() == code_then):
        return False
    time.sleep(settle_s)
    return stamp() == now


def expected() -> str | None:
    """Return the code that the services should run; "" where others decide, None where only `up` knows."""
    recorded_stamp, recorded_code, package = _owner()
    if package != PACKAGE:
        return "" if os.path.isdir(package) else None
    return recorded_code if recorded_stamp == stamp() else None


def is_anothers() -> bool:
    """Tell whether the data directory belongs to another installation that is still there."""
    package = _owner()[2]
    return package != PACKAGE and os.path.isdir(package)


def claim() -> None:
    """Have the data directory belong to this installation."""
    config.ensure_folder(config.home())
    config.replace_file(_path(), f"{stamp()} {code()} ".encode() + os.fsencode(PACKAGE), mode=0o600)


def _sources() -> Iterator[os.DirEntry[str]]:
    folders = [PACKAGE]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():  # hooks, tasks and web may be links
                    if entry.name != "__pycache__":
                        folders.append(entry.path)
                elif entry.name.endswith(_SOURCES):
                    yield entry


def _owner() -> tuple[str, str, str]:
    """Return stamp, code and package of the installation that the data directory belongs to, or ""."""
    try:
        with open(_path(), "rb") as file:
            recorded_stamp, recorded_code, package = os.fsdecode(file.read()).split(" ", 2)
    except (OSError, ValueError):
        return "", "", ""
    return recorded_stamp, recorded_code, package


def _path() -> str:
    return os.path.join(config.home(), "installation")
