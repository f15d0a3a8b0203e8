"""Find the repository, the work tree and the branch that a session works in, from git's own files.

Standard library only. Hooks call this for each event and must start no process; `first_commit`, `commits`,
`tokens` and `texts` start git and are not for hooks. A linked work tree is one made by `git worktree add`:
its `.git` is a file that names a folder of the repository, and that folder names the work tree in turn.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import NamedTuple

    class Place(NamedTuple):
        """The project's folder, the top level of the work tree, and the branch checked out in it."""

        project: str
        tree: str
        branch: str


# Folder of a repository in which Claude Code creates its work trees.
_CLIENTS = "/.claude/worktrees/"
# Most characters kept of a branch's name; git accepts longer names than a file system does.
_MOST_CHARS = 250
# Branches that many pieces of work share; "" stands for an unknown branch.
SHARED_BRANCHES = frozenset({"", "main", "master", "trunk", "develop", "dev"})
_SHORT_HASH = 12
_GIT_S = 3.0
_COMMITS = 1_000
_MOST_INDEX_BYTES = 100_000_000
# Anything written like a name, of at least five characters: callers look for no shorter names.
_TOKEN = "([0-9]+_)?[A-Za-z_$][A-Za-z0-9_$.-]{4,}"  # noqa: S105 - of code
# Prose is not searched: it may well mention names that the code has lost.
PROSE = (".md", ".mdx", ".rst", ".adoc")
_IN_CODE = ("--", *(f":(exclude,icase)*{suffix}" for suffix in PROSE))
_AS_IT_IS = ("--untracked", "--no-recurse-submodules", "--no-color", "--no-line-number", "--no-column")


def work_of(session_id: str, branch: str) -> str:
    """Return the piece of work that a session belongs to: its branch, or on a shared branch its own id."""
    return session_id if branch in SHARED_BRANCHES else branch


def place(start: str) -> Place:
    """Return `(project, tree, branch)` of a folder, all three as text.

    The project is the repository's main work tree, whichever of its work trees `start` lies in. Without git,
    project and tree are `start` itself and the branch is "". On a detached HEAD the branch is "@" and the
    commit's first digits.
    """
    start = os.path.realpath(start)
    tree = start
    while not os.path.exists(os.path.join(tree, ".git")):
        parent = os.path.dirname(tree)
        if parent == tree:
            return _text(start), _text(start), ""  # type: ignore[return-value]
        tree = parent
    if is_clients_tree(start) and start.startswith(f"{tree}{_CLIENTS}"):  # a work tree since removed
        name = start[len(tree) + len(_CLIENTS) :].partition("/")[0]
        return _text(tree), _text(f"{tree}{_CLIENTS}{name}"), ""  # type: ignore[return-value]
    git = _git_dir(tree)
    return _text(_main_tree(tree, git)), _text(tree), _branch(git)  # type: ignore[return-value]


def is_clients_tree(folder: str) -> bool:
    """Tell by its path whether a folder is, or was, a work tree that `claude --worktree` made."""
    return _CLIENTS in folder and not folder.endswith(_CLIENTS)


def key(project: str) -> str:
    """Return a key that identifies a repository on any machine; "" without an `origin`.

    It is the host and path of the `origin` remote, without protocol, user, port and `.git`.
    """
    git = _git_dir(project)
    git = _common_dir(git) if os.path.exists(git) else project  # a bare repository has no `.git`
    lines = _read(os.path.join(git, "config")).splitlines()
    section, url = "", ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line.replace(" ", "").lower()
        elif section == '[remote"origin"]' and not url and line.partition("=")[0].strip().lower() == "url":
            url = line.partition("=")[2].strip().strip('"')
    return _normalized(url)


def first_commit(project: str) -> str:
    """Return the hash of a repository's first commit, "" without one, or if git takes too long.

    Not for hooks: this starts git, which reads the whole history.
    """
    if not os.path.exists(os.path.join(project, ".git")):
        return ""
    import subprocess

    command = [*_git(project), "rev-list", "--max-parents=0", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.split()[-1] if not done.returncode and done.stdout.strip() else ""


def moved_at(tree: str) -> float:
    """Return when HEAD last moved, in Unix seconds; 0.0 if git keeps no log of it."""
    try:
        return os.stat(os.path.join(_git_dir(tree), "logs", "HEAD")).st_mtime
    except OSError:
        return 0.0


def commits(tree: str) -> list[tuple[float, str, str]]:
    """Return the newest commits of HEAD: (time in Unix seconds, subject, body); empty if git fails.

    Not for hooks: this starts git.
    """
    if not os.path.exists(os.path.join(tree, ".git")):
        return []
    import subprocess

    command = ["git", "-C", tree, "log", f"-{_COMMITS}", "-z", "--format=%ct %s%n%b"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    heads = (commit.partition("\n") for commit in done.stdout.decode("utf-8", "replace").split("\0"))
    found = ((*head.partition(" ")[::2], body) for head, _, body in heads)
    return [(float(at), subject, body) for at, subject, body in found if at.isdigit()]


def tokens(tree: str) -> set[str] | None:
    """Return the names in a work tree's code, its file names and their suffixes; None if git fails.

    Names with dots or hyphens are returned whole (`store.save_book`), suffixes with their dot. Not for hooks:
    this starts git, which reads all files that it does not ignore. Asking git for each name takes far longer.
    """
    if not os.path.exists(os.path.join(tree, ".git")):
        return None
    import subprocess

    listing = [*_git(tree), "ls-files", "-coz", "--exclude-standard"]
    try:
        called = subprocess.run(listing, capture_output=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _held([*_git(tree), "grep", *_AS_IT_IS, "-hoI"])
    if found is None or called.returncode:
        return None
    paths = called.stdout.decode("utf-8", "replace").split("\0")
    files = {os.path.basename(path) for path in paths if path}
    return found | files | {os.path.splitext(file)[1] for file in files}


def texts(tree: str, wanted: Collection[str]) -> set[str] | None:
    """Return those of the wanted one-line texts that a work tree's code contains; None if git fails."""
    command = [*_git(tree), "grep", *_AS_IT_IS, "-hoIF", "-f", "-", *_IN_CODE]
    held: set[str] = set()
    while rest := set(wanted) - held:  # of overlapping texts git prints only one, so ask again for the rest
        status, lines = _printed(command, "\n".join(rest))
        if status not in {0, 1}:
            return None
        found = {text for text in rest if any(text in line for line in lines)}
        if not found:
            break
        held |= found
    return held


def tracked_folders(folder: str) -> frozenset[str]:
    """Return the sub-folders that contain files tracked by git, as POSIX paths relative to the folder.

    Empty if there is no index, or one that this cannot read (a split index, or one with SHA-256 hashes).
    Source: git's documentation, index-format.
    """
    tree = place(folder)[1]
    above = os.path.relpath(os.path.realpath(folder), tree).replace(os.sep, "/")
    prefix = b"" if above == "." else os.fsencode(above) + b"/"
    try:
        with open(os.path.join(_git_dir(tree), "index"), "rb") as file:
            folders = {name.rpartition(b"/")[0] for name in _index_names(file.read(_MOST_INDEX_BYTES))}
    except (OSError, ValueError, IndexError):
        return frozenset()
    found: set[bytes] = set()
    for each in folders:
        path = each[len(prefix) :] if each.startswith(prefix) else b""
        while path and path not in found:
            found.add(path)
            path = path.rpartition(b"/")[0]
    return frozenset(os.fsdecode(path) for path in found)


def _index_names(data: bytes) -> Iterator[bytes]:
    """Yield the paths in a git index. Raises: ValueError if the data is not one."""
    version, count = data[7:8], int.from_bytes(data[8:12], "big")
    if not data.startswith(b"DIRC\0\0\0") or version not in {b"\2", b"\3", b"\4"}:
        raise ValueError("no index of git's")
    is_short = version == b"\4"  # a name begins with the number of bytes to strip from the name before it
    at, name = 12, b""
    for _ in range(count):
        start = at + (64 if data[at + 60] & 0x40 else 62)
        stripped = 0
        if is_short:
            stripped = data[start] & 0x7F
            while data[start] & 0x80:
                start += 1
                stripped = (stripped + 1 << 7) | (data[start] & 0x7F)
            start += 1
        end = data.index(b"\0", start)
        kept = name[: len(name) - stripped] if is_short else b""
        name = kept + data[start:end]
        yield name
        at = end + 1 if is_short else at + (end - at + 8) // 8 * 8


def _git(tree: str) -> list[str]:
    return ["git", "-C", tree, "-c", "core.fsmonitor=false"]


def _held(grep: list[str]) -> set[str] | None:
    """Return the tokens that git finds, None if it fails or takes too long."""
    for syntax in ("-P", "-E"):  # Perl's syntax is four times as fast, but not every git has it
        status, lines = _printed([*grep, syntax, "-e", _TOKEN, *_IN_CODE])
        if status in {0, 1}:
            return lines
        if status < 0:
            return None
    return None


def _printed(command: list[str], asked: str = "") -> tuple[int, set[str]]:
    """Return a program's exit status, negative if it took too long, and the distinct lines that it prints.

    Lines are read one by one, because a large repository has millions.
    """
    import subprocess
    import tempfile
    import threading

    with tempfile.TemporaryFile() as given:
        given.write(asked.encode())
        given.seek(0)
        with subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        ) as process:
            timer = threading.Timer(_GIT_S, process.kill)
            timer.start()
            found = set(process.stdout or ())
            timer.cancel()
    return process.returncode, {line.decode("utf-8", "replace").rstrip("\n") for line in found}


def _normalized(url: str) -> str:
    """Return host and path of a remote's URL; "" for a local folder, which differs between machines."""
    protocol, is_url, rest = url.partition("://")
    if is_url:
        host, _, path = rest.partition("/")
        host = host.rpartition("@")[2]
        host = host if host.startswith("[") else host.partition(":")[0]
    else:  # user@host:path, the form of ssh
        host, _, path = protocol.partition(":")
        host = host.rpartition("@")[2]
    path = path.strip("/").removesuffix(".git").rstrip("/")
    if not host or not path or "/" in host or protocol == "file":
        return ""
    return f"{host.lower()}/{path}"


def _git_dir(tree: str) -> str:
    """Return the folder with a work tree's git data: its `.git`, or the folder that a `.git` file names."""
    git = os.path.join(tree, ".git")
    named = _read(git) if os.path.isfile(git) else ""
    if not named.startswith("gitdir:"):
        return git
    return os.path.normpath(os.path.join(tree, named[len("gitdir:") :].strip()))


def _common_dir(git: str) -> str:
    """Return the git folder that a repository's work trees share; for the main work tree, its own."""
    common = _read(os.path.join(git, "commondir")).strip()
    return os.path.normpath(os.path.join(git, common)) if common else git


def _main_tree(tree: str, git: str) -> str:
    """Return the main work tree of the repository that a work tree is linked to, else the tree itself.

    The repository must name the tree in turn, because a `.git` file from an archive can name any folder.
    """
    common = _common_dir(git)
    if common == git:
        return tree  # the main work tree, or a submodule
    linked = _read(os.path.join(git, "gitdir")).strip()
    linked = os.path.join(git, linked) if linked else ""  # git 2.48 can write a relative path
    if not linked or os.path.realpath(linked) != os.path.realpath(os.path.join(tree, ".git")):
        return tree
    common = os.path.realpath(common)
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _branch(git: str) -> str:
    head = _read(os.path.join(git, "HEAD")).strip()
    if head.startswith("ref:"):
        return head[len("ref:") :].strip().removeprefix("refs/heads/")[:_MOST_CHARS]
    return f"@{head[:_SHORT_HASH]}" if head else ""


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(65_536).decode("utf-8", "replace")
    except OSError:
        return ""


def _text(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
