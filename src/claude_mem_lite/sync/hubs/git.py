"""A hub in a branch of a git repository: one commit without parents, a folder for each machine.

Git's plumbing works on a bare repository in the data directory, so no work tree, index or hook of the user's
is touched. A push adds this machine's files to the current tree of the branch: two machines cannot conflict,
and the one that loses a race tries again. The branch has no history, so no reachable commit contains a
deleted file. Its objects stay in the repository, unreachable, until git collects them: by itself after two
weeks, or at once by `git reflog expire --expire=now --all && git gc --prune=now`.
"""

import os
import subprocess
from collections.abc import Collection, Mapping

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError

_BRANCH = "claude-mem"
_REF = "refs/heads/hub"  # in our own repository: the branch as last fetched or pushed
_TRIES = 5
_MOST_LOOSE = 2_000
_GIT_S = 120.0
_AUTHOR = {f"GIT_{who}_{what}": "claude-mem" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# Nobody can type a password, and the user's configuration must not sign or run anything.
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_SAFE = ("-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")
_NO_SUCH_REF = "couldn't find remote ref"


class GitHub:
    """A hub in a branch of a repository: `claude-mem`, or the name after a #."""

    def __init__(self, where: str, *, branch: str = _BRANCH, own: str = "sync.git") -> None:
        repository, _, other = where.partition("#")
        is_path = "://" not in repository and ":" not in repository.partition("/")[0]
        self.repository = os.path.abspath(os.path.expanduser(repository)) if is_path else repository
        self.branch = f"refs/heads/{other or branch}"
        self._own = os.path.join(config.home(), own)
        self._seen = ""
        self._blobs: dict[str, str] = {}

    def create(self) -> None:
        """Check that the repository is there; the first push creates the branch."""
        self._look()

    def names(self, projects: Collection[str] | None = None) -> list[str]:  # noqa: ARG002  (it lists all)
        """Fetch the branch and return the names of all files."""
        self._look()
        return sorted(self._blobs)

    def read(self, name: str) -> bytes:
        """Return a file as it was when `names` looked."""
        return self._git("cat-file", "blob", self._blobs[name])

    def publish(self, added: Mapping[str, bytes], dropped: Collection[str]) -> None:
        """Replace the branch by one commit: the current files with those added, without those dropped."""
        for _ in range(_TRIES):
            blobs = {name: blob for name, blob in self._blobs.items() if name not in dropped}
            for name, data in added.items():
                blobs[name] = self._git("hash-object", "-w", "--stdin", given=data).decode().strip()
            commit = self._git("commit-tree", self._tree(blobs), "-m", "claude-mem sync").decode().strip()
            lease = f"--force-with-lease={self.branch}:{self._seen}"
            said = self._push(lease, f"{commit}:{self.branch}")
            if not said:
                self._blobs, self._seen = blobs, commit
                self._git("update-ref", _REF, commit)
                if dropped:
                    self._tidy()
                return
            self._look()
        raise ClaudeMemError(f"the hub {self.repository} rejected {_TRIES} pushes ({said}): try again later")

    def _push(self, *arguments: str) -> str:
        """Push; return "" if it was accepted, or git's message if it lost a race. Raises: ClaudeMemError."""
        try:
            self._git("push", "--quiet", "--no-verify", "--porcelain", self.repository, *arguments)
        except ClaudeMemError as error:
            if any(
                sign in str(error) for sign in ("stale info", "rejected", "failed to lock", "cannot lock")
            ):
                return str(error)
            raise
        return ""

    def _look(self) -> None:
        if not os.path.isdir(self._own):
            config.ensure_home()
            self._run(["git", "init", "--quiet", "--bare", self._own])
            os.chmod(self._own, 0o700)
        before = self._listed(_REF) if not self._seen else self._blobs
        try:
            self._git("fetch", "--quiet", "--no-tags", self.repository, f"+{self.branch}:{_REF}")
        except ClaudeMemError as error:
            if _NO_SUCH_REF not in str(error):
                raise
            self._seen, self._blobs = "", {}
            return
        self._seen = self._git("rev-parse", _REF).decode().strip()
        self._blobs = self._listed(self._seen)
        loose = int(self._git("count-objects").split()[0])
        if loose > _MOST_LOOSE or not set(before.values()) <= set(self._blobs.values()):
            self._tidy()

    def _listed(self, commit: str) -> dict[str, str]:
        """Return the hash of each file of a commit, by name; {} if our own repository has no commit yet."""
        if not self._git("for-each-ref", commit) and commit == _REF:
            return {}
        listed = self._git("ls-tree", "-r", "-z", commit).decode("utf-8", "replace").split("\0")
        entries = (entry.partition("\t") for entry in listed if entry)
        return {name: meta.split()[2] for meta, _, name in entries if meta.split()[1] == "blob"}

    def _tidy(self) -> None:
        """Delete the objects from our own repository that the branch no longer has."""
        self._git("repack", "-a", "-d", "-q")
        self._git("prune", "--expire=now")

    def _tree(self, blobs: Mapping[str, str]) -> str:
        """Write the tree of files that are at most one folder deep; return its hash."""
        folders: dict[str, list[str]] = {}
        for name, blob in sorted(blobs.items()):
            folder, _, file = name.rpartition("/")
            folders.setdefault(folder, []).append(f"100644 blob {blob}\t{file}")
        top = folders.pop("", [])
        for folder, entries in folders.items():
            tree = self._git("mktree", "-z", given="\0".join([*entries, ""]).encode()).decode().strip()
            top.append(f"040000 tree {tree}\t{folder}")
        return self._git("mktree", "-z", given="\0".join([*top, ""]).encode()).decode().strip()

    def _git(self, *arguments: str, given: bytes = b"") -> bytes:
        return self._run(["git", "-C", self._own, *_SAFE, *arguments], given)

    def _run(self, command: list[str], given: bytes = b"") -> bytes:
        """Run git. Raises: ClaudeMemError with the first 500 characters of its output."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("GIT_") or "SSH" in name
        } | _AUTHOR | _QUIET  # fmt: skip
        try:
            done = subprocess.run(
                command, input=given, capture_output=True, timeout=_GIT_S, check=False, env=environment
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClaudeMemError(f"the hub {self.repository} did not answer ({error})") from error
        if done.returncode:
            said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
            raise ClaudeMemError(f"the hub {self.repository}: {' '.join(said.split())[:500]}")
        return done.stdout
