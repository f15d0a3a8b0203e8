"""Find the data directory, and read the few settings that a hook may need.

Standard library only and cheap to import, because every hook starts with it. The settings of the services
and the CLI are in `settings`.
"""

from __future__ import annotations

import os
import stat

from claude_mem_lite import repository
from claude_mem_lite.errors import ClaudeMemError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from claude_mem_lite.repository import Place

DEFAULT_MAX_EVENT_CHARS = 512 * 1024
MIN_MAX_EVENT_CHARS = 16 * 1024

# The header of a SQLite file keeps the application id in these four bytes.
# Source: https://www.sqlite.org/fileformat.html, section 1.3.
_APPLICATION_ID_OFFSET = 68
MEMORY_APPLICATION_ID = 0x636D6C31  # "cml1"
_SQLITE = b"SQLite format 3\0"


def home() -> str:
    """Return the data directory: `CLAUDE_MEM_HOME`, else `~/.claude-mem`.

    A relative path starts at the user's home: a session's folder changes, the memory's must not.
    """
    chosen = os.path.expanduser(os.environ.get("CLAUDE_MEM_HOME") or "~/.claude-mem")
    return os.path.normpath(os.path.join(os.path.expanduser("~"), chosen))


def place(start: str = "") -> Place:
    """Return project, work tree and branch of a folder, see `repository.place`.

    Without `start`, those of the session's folder: `CLAUDE_PROJECT_DIR`, else the working folder.
    """
    return repository.place(start or os.environ.get("CLAUDE_PROJECT_DIR") or _cwd())


def project_dir(start: str = "") -> str:
    """Return the project's folder, see `place`; `storage.projects` knows projects with several folders."""
    return place(start)[0]


def is_off(*folders: str) -> bool:
    """Tell whether the memory is off: nothing is captured from a session and nothing shown to it.

    `CLAUDE_MEM_OFF` turns it off for a session, `[projects] off` for folders: by path, including everything
    below it, or by a shell pattern.
    """
    if os.environ.get("CLAUDE_MEM_OFF", "0") not in {"", "0"}:
        return True
    return any(matches(pattern, folder) for pattern in off_patterns() for folder in folders)


def off_patterns() -> list[str]:
    """Return the entries of `[projects] off` as written."""
    patterns = _read_table("projects").get("off")
    return [each for each in patterns if isinstance(each, str)] if isinstance(patterns, list) else []


def matches(pattern: str, folder: str) -> bool:
    """Tell whether a pattern of `[projects] off` matches a folder."""
    from fnmatch import fnmatchcase

    pattern = os.path.expanduser(pattern).rstrip("/")
    return bool(pattern) and (
        folder == pattern or folder.startswith(f"{pattern}/") or fnmatchcase(folder, pattern)
    )


def memory_path() -> str:
    """Return the path of `claude-mem.db`, the memory."""
    return os.path.join(home(), "claude-mem.db")


def queue_path() -> str:
    """Return the path of `queue.db`, the inbox."""
    return os.path.join(home(), "queue.db")


def socket_path() -> str:
    """Return the path of the web process's unix socket."""
    return os.path.join(home(), "worker.sock")


def doorbell_path() -> str:
    """Return the path of the named pipe that wakes the consumer."""
    return os.path.join(home(), "doorbell")


def spool_dir() -> str:
    """Return the folder for events that queue.db could not take."""
    return os.path.join(home(), "spool")


def guards_path() -> str:
    """Return the path of the words that guards look for, see `guards.telling_words`; it need not exist."""
    return os.path.join(home(), "guards")


def lance_dir() -> str:
    """Return the folder of the vectors."""
    return os.path.join(home(), "lance")


def backup_dir() -> str:
    """Return the default folder for backups."""
    return os.path.expanduser("~/claude-mem-backups")


def log_dir() -> str:
    """Return the folder of the JSONL logs."""
    return os.path.join(home(), "logs")


def models_dir() -> str:
    """Return the folder of the embedding models that the user has fetched; it need not exist."""
    return os.path.join(home(), "models")


def config_path() -> str:
    """Return the path of the user's `config.toml`; it need not exist."""
    return os.path.join(home(), "config.toml")


def ensure_home() -> None:
    """Create the data directory and its folders; from then on this process creates files for the user alone.

    Raises:
        ClaudeMemError: a folder belongs to another user, or one inside is a symbolic link; nothing was
            created in it. The data directory itself may be the user's own link to a folder of their own.
    """
    for folder in _folders():
        ensure_folder(folder)


def ensure_folder(folder: str) -> None:
    """Do as `ensure_home`, but only for the data directory or for one folder in it.

    A hook calls this only for folders that it writes to: if `logs/` is a link, it still stores its event.
    """
    os.umask(0o077)
    mode = _mode_of_own(folder)
    if mode is None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        mode = _mode_of_own(folder) or 0
    if mode & 0o077:
        os.chmod(folder, 0o700)


def replace_file(path: str, content: bytes, *, mode: int | None = None) -> None:
    """Create a file or replace it atomically; without `mode` it keeps its mode, and a new one gets 0600."""
    import tempfile

    handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".claude-mem-")
    try:
        with open(handle, "wb") as file:
            if mode is None and os.path.exists(path):
                mode = stat.S_IMODE(os.stat(path).st_mode)
            os.fchmod(file.fileno(), 0o600 if mode is None else mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def unwritable() -> tuple[str, str]:
    """Return why the data directory cannot be written to, and the cure; ("", "") if it can or is missing."""
    folder = home()
    if not os.path.isdir(folder) or os.access(folder, os.W_OK | os.X_OK):
        return "", ""
    is_read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    why = "its file system is read-only" if is_read_only else "its permissions forbid it"
    cure = "have it mounted for writing" if is_read_only else f"chmod u+rwx {folder}"
    return f"{folder} cannot be written to ({why}), so nothing new is remembered", cure


def refuse_unsafe_home() -> None:
    """Raise ClaudeMemError when another user could read or replace files in the data directory.

    It checks the same folders as `ensure_home`.
    """
    for folder in _folders():
        _mode_of_own(folder)


def _folders() -> tuple[str, str, str]:
    return home(), spool_dir(), log_dir()


def _mode_of_own(folder: str) -> int | None:
    """Return the mode of a folder, None if it is missing. Raises: ClaudeMemError if it is not the user's."""
    try:
        found = os.lstat(folder)
        if stat.S_ISLNK(found.st_mode) and found.st_uid == os.geteuid() and folder == home():
            found = os.stat(folder)  # the user keeps it elsewhere, for example on a larger disk
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
        return found.st_mode
    if stat.S_ISLNK(found.st_mode):
        what = "is a symbolic link"
    else:
        what = "belongs to another user" if found.st_uid != os.geteuid() else "is not a folder"
    is_home = folder == home()
    cure = "set CLAUDE_MEM_HOME to a folder of your own" if is_home else "put a folder of your own there"
    raise ClaudeMemError(f"{folder} {what}, so nothing was written there: {cure}")


# Memories that this process has found to be ours: (device, inode) to (path, descriptor).
_known_memories: dict[tuple[int, int], tuple[str, int]] = {}


def foreign_memory() -> bool:
    """Tell whether `claude-mem.db` is another program's database.

    The original claude-mem uses the same folder and file name. A missing or empty file is not foreign; an
    unreadable one is.
    """
    try:
        found = os.stat(memory_path())
        if not found.st_size or (found.st_dev, found.st_ino) in _known_memories:
            return False
        descriptor = os.open(memory_path(), os.O_RDONLY)
        header = os.read(descriptor, _APPLICATION_ID_OFFSET + 4)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if header and header[_APPLICATION_ID_OFFSET:] != MEMORY_APPLICATION_ID.to_bytes(4, "big"):
        os.close(descriptor)
        # A file that is not a database, beside our queue, is our own with its first page damaged.
        return header.startswith(_SQLITE) or not os.path.exists(queue_path())
    # Keep it open while this folder is in use: closing any descriptor of a file drops all of the process's
    # POSIX locks on it, SQLite's too. The next process to close the database would then delete its WAL.
    for known in [known for known, (path, _) in _known_memories.items() if path != memory_path()]:
        os.close(_known_memories.pop(known)[1])
    _known_memories[found.st_dev, found.st_ino] = (memory_path(), descriptor)
    return False


def refuse_foreign_memory() -> None:
    """Raise ClaudeMemError when `claude-mem.db` is another program's database."""
    if foreign_memory():
        raise ClaudeMemError(
            f"{memory_path()} is another program's database: it was left untouched. "
            "Set CLAUDE_MEM_HOME to an empty folder to keep this memory there."
        )


def capture_limits() -> tuple[int, tuple[str, ...]]:
    """Return the longest event in characters, and the user's patterns for files that are never captured.

    A missing or invalid setting has its default; `settings.problem` reports it to the user.
    """
    table = _read_table("capture")
    most, patterns = table.get("max_event_chars"), table.get("ignored_files")
    if not isinstance(most, int) or most < MIN_MAX_EVENT_CHARS:
        most = DEFAULT_MAX_EVENT_CHARS
    if not isinstance(patterns, list):
        patterns = []
    return most, tuple(pattern for pattern in patterns if isinstance(pattern, str))


def autostart() -> bool:
    """Tell whether a session starts the services if they are down."""
    return _read_table("services").get("autostart") is not False


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # the session deleted its working folder
        return os.environ.get("PWD") or "/"


def _read_table(name: str) -> dict[str, Any]:
    """Return a table of `config.toml`, or an empty one; the parser is loaded only if the table exists."""
    try:
        with open(config_path(), "rb") as file:
            text = file.read()
    except OSError:
        return {}
    if f"[{name}]".encode() not in text:
        return {}
    import tomllib

    try:
        table = tomllib.loads(text.decode("utf-8", "replace")).get(name)
    except tomllib.TOMLDecodeError:
        return {}
    return table if isinstance(table, dict) else {}
