"""Source files of a folder: their paths without those that .gitignore excludes, their bytes and text."""

import errno
import functools
import io
import itertools
import os
import stat
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from claude_mem_lite import repository
from claude_mem_lite.codemap import languages

PYTHON = (".py", ".pyi")
MAX_BYTES = 2_000_000  # a larger file is taken to be generated; parsing 1 MB takes about a second
_NOBODYS = frozenset({
    "__pycache__", "node_modules", "bower_components", "site-packages", "__pypackages__",
})  # fmt: skip
_OFTEN_NOBODYS = frozenset({"venv", "env", "build", "dist", "target", "vendor"})
_VENDORED = ("modules.txt", "autoload.php")  # files of `go mod vendor` and Composer in such a folder
_MOST_NAMES = 20_000
_GENERATED = (".min.js", ".min.mjs", ".bundle.js")
# Limits on a .gitignore: the bytes read, its rules, and the "**" in a rule.
_IGNORE_BYTES, _MOST_RULES, _MOST_ANY = 1 << 16, 1_000, 3


def source_files(folder: str) -> Iterator[str]:
    """Yield the paths of the files to map, relative to a folder, POSIX, sorted.

    Hidden and vendored folders, virtual environments, builds and ignored files are left out. A folder that
    is merely named like one of them is kept if git tracks it or it is a Python package.
    """
    return _files(folder, _is_source_name)


def unmapped(folder: str) -> dict[str, list[str]]:
    """Return the languages among a folder's first 20,000 files that lack an installed grammar, by extra."""
    return languages.missing(itertools.islice(_files(folder, lambda _: True), _MOST_NAMES))


def _files(folder: str, is_wanted: Callable[[str], bool]) -> Iterator[str]:
    ignored, is_skipped = Ignored(folder), _skipping(folder)
    for current, folders, names in os.walk(folder):
        above = "" if current == folder else f"{os.path.relpath(current, folder).replace(os.sep, '/')}/"
        folders[:] = sorted(
            name
            for name in folders
            if not is_skipped(above + name)
            and not name.endswith(".egg-info")
            and not os.path.exists(os.path.join(current, name, "pyvenv.cfg"))
            and not ignored.folder(above + name)
        )
        for name in sorted(names):
            if is_wanted(name) and not ignored.file(above + name):
                yield above + name


def _is_source_name(name: str) -> bool:
    return languages.of(name) is not None and not name.endswith(_GENERATED)


def _skipping(root: str) -> Callable[[str], bool]:
    """Return a predicate for folders below `root` that are skipped by name, whatever the folders above."""
    tracked = functools.cache(lambda: repository.tracked_folders(root))

    def is_skipped(path: str) -> bool:
        name = path.rpartition("/")[2]
        if name not in _OFTEN_NOBODYS:
            return name[:1] == "." or name in _NOBODYS
        full = os.path.join(root, path)
        if os.path.exists(os.path.join(full, "__init__.py")):
            return False
        is_vendored = any(os.path.exists(os.path.join(full, each)) for each in _VENDORED)
        return is_vendored or path not in tracked()

    return is_skipped


class Tree:
    """The files below a folder, by their real paths: a link may lead out of the folder."""

    def __init__(self, folder: str) -> None:
        self._root = os.path.join(os.path.realpath(folder), "")
        self._folders: dict[str, str] = {}  # real paths, so that only links need a second system call
        self.ignored = Ignored(folder)
        self._is_skipped = _skipping(folder)

    def is_source(self, path: str) -> bool:
        """Tell whether `source_files` would accept the names in a path from the folder."""
        *folders, name = path.split("/")
        above = itertools.accumulate(folders, "{}/{}".format)
        return _is_source_name(name) and not any(map(self._is_skipped, above))

    def target(self, path: str) -> str:
        """Return the real location of a path, both relative to the folder; "" if it is outside."""
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
        """Return a file's bytes, at most MAX_BYTES + 1.

        Raises: OSError; FileNotFoundError also for a file outside, or a pipe, which may never be written to.
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
    """Return the dotted name of a folder as a package, "" where it is none."""
    parts: list[str] = []
    folder = os.path.abspath(folder)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    return ".".join(parts)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line of a .gitignore, split at slashes; "**" stands for any number of folders."""

    parts: tuple[str, ...]
    is_folder: bool
    is_kept: bool


class Ignored:
    """Tells whether .gitignore files exclude a path below a folder, without running git.

    The user's global excludes are not read; a tracked file that matches a pattern is left out.
    Source: gitignore(5).
    """

    def __init__(self, root: str) -> None:
        """Take the folder; a .gitignore is read when a path beside or below it is first checked."""
        self._root = root
        self._rules = functools.cache(self._read)
        self.folder = functools.cache(functools.partial(self.file, is_folder=True))

    def file(self, path: str, *, is_folder: bool = False) -> bool:
        """Tell whether a file or a folder above it is ignored; `path` is relative to the root, POSIX."""
        above = path.rpartition("/")[0]
        if above and self.folder(above):
            return True
        parts = path.split("/")
        is_ignored = False
        for depth in range(len(parts)):
            below = parts[depth:]
            for rule in self._rules("/".join(parts[:depth])):
                if (
                    rule.is_kept == is_ignored
                    and (is_folder or not rule.is_folder)
                    and _match(rule.parts, below)
                ):
                    is_ignored = not is_ignored
        return is_ignored

    def _read(self, folder: str) -> tuple[_Rule, ...]:
        names = [".gitignore"] if folder else [".git/info/exclude", ".gitignore"]
        text = "\n".join(_head(os.path.join(self._root, folder, name)) for name in names)
        rules = (_rule(line) for line in text.splitlines()[:_MOST_RULES])
        return tuple(rule for rule in rules if rule is not None)


def _head(path: str) -> str:
    """Return the start of a file, "" where it can't be read."""
    try:
        if not os.path.isfile(path):  # reading a pipe would block
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_IGNORE_BYTES)
    except OSError:
        return ""


def _rule(line: str) -> _Rule | None:
    line = line.rstrip()
    if line.startswith("#") or not line.strip("!/"):
        return None
    is_kept = line.startswith("!")
    line = line.removeprefix("!").removeprefix("\\")
    parts = [part for part in line.strip("/").split("/") if part]
    if "/" not in line.rstrip("/"):
        parts.insert(0, "**")
    if parts.count("**") > _MOST_ANY:
        return None
    return _Rule(tuple(parts), line.endswith("/"), is_kept)


def _match(pattern: tuple[str, ...], parts: list[str]) -> bool:
    if not pattern or not parts:
        return not pattern and not parts
    if pattern[0] != "**":
        return fnmatchcase(parts[0], pattern[0]) and _match(pattern[1:], parts[1:])
    if len(pattern) == 1:
        return True
    return any(_match(pattern[1:], parts[at:]) for at in range(len(parts)))
