"""Identify the installed code by its content, and the installation that a data directory belongs to.

The services treat two installations with equal code as the same, and two commits in two environments as
different, whatever their version says. Where they differ, the user's last command decides: `up`, `restart`
or `install-hooks` makes the data directory *belong* to the installation that runs it. A hook of another
installation starts services only if none run, so two installations never keep replacing each other's.

Standard library only, and cheap except for `code`: the hook of a session's start calls `expected`.
"""

from __future__ import annotations

import os
import sys
import time

from claude_mem_lite import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = os.path.dirname(os.path.realpath(__file__))
_SOURCES = (".py", ".conf")
# Files that an installer leaves in its environment, and its command; pip leaves none.
_INSTALLERS = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}
_OF_SMALL = frozenset(
    {"claude", "meaning"}
)  # extras of the folder `small`; the whole package has them built in

_started: list[str] = []


def code() -> str:
    """Return a hash of the package's sources as they are on disk; takes about 15 ms."""
    import hashlib

    found = hashlib.sha256()
    for path in sorted(entry.path for entry in _sources()):
        with open(path, "rb") as file:
            content = file.read()
        found.update(f"{os.path.relpath(path, PACKAGE)}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:16]


def stamp() -> str:
    """Return a stamp that changes with any source: count, bytes and change times; takes 2 ms. "" for none.

    It uses `st_ctime`, because unlike `st_mtime` no program can set it back.
    """
    count = size = changed = 0
    try:
        for entry in _sources():
            found = entry.stat()
            count, size, changed = count + 1, size + found.st_size, changed + found.st_ctime_ns
    except OSError:  # the package is being removed
        return ""
    return f"{count}-{size}-{changed}" if count else ""


def started() -> str:
    """Return the hash of the code that this process runs; a service calls it first at its start."""
    if not _started:
        _started.extend((code(), stamp()))
    return _started[0]


def is_changed(*, settle_s: float = 1.0) -> bool:
    """Tell whether the sources differ from those of `started` and have not changed again for `settle_s`."""
    code_then, now = started(), stamp()
    if now == _started[1] or (now and code() == code_then):
        return False
    time.sleep(settle_s)
    return stamp() == now


def expected() -> str | None:
    """Return the code that services should run; "" if another installation decides, None until `up` does."""
    recorded_stamp, recorded_code, package = _owner()
    if package != PACKAGE:
        return "" if os.path.isdir(package) else None
    return recorded_code if recorded_stamp == stamp() else None


def is_anothers() -> bool:
    """Tell whether the data directory belongs to another installation that is still there."""
    package = _owner()[2]
    return package != PACKAGE and os.path.isdir(package)


def claim() -> None:
    """Make the data directory belong to this installation."""
    config.ensure_folder(config.home())
    config.replace_file(_path(), f"{stamp()} {code()} ".encode() + os.fsencode(PACKAGE), mode=0o600)


def with_extras(*extras: str, prefix: str = sys.prefix) -> str:
    """Return how to install the package with extras, by the installer that made the environment `prefix`."""
    commands = (_INSTALLERS[name] for name in _INSTALLERS if os.path.exists(os.path.join(prefix, name)))
    folder = "./small" if _is_small() or _OF_SMALL & {*extras} else "."
    what = f"{folder}[{','.join(extras)}]" if extras else folder
    return f"in the clone, {next(commands, 'pip install')} '{what}'"


def _is_small() -> bool:
    """Tell whether the package was installed from the folder `small`, without its heavy dependencies."""
    import json
    from importlib import metadata

    try:
        source = metadata.distribution("claude-mem-lite").read_text("direct_url.json") or "{}"
    except metadata.PackageNotFoundError:
        return False
    return str(json.loads(source).get("url")).rstrip("/").endswith("/small")


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
    """Return stamp, code and package of the installation that owns the data directory, "" each if none."""
    try:
        with open(_path(), "rb") as file:
            recorded_stamp, recorded_code, package = os.fsdecode(file.read()).split(" ", 2)
    except (OSError, ValueError):
        return "", "", ""
    return recorded_stamp, recorded_code, package


def _path() -> str:
    return os.path.join(config.home(), "installation")
