"""Copy the memory consistently while everything runs, and restore it.

SQLite's backup function copies both databases, the queue first: an event that is processed between the two
copies is then in both, and processing it again changes nothing. In the other order it would be in neither.
"""

import contextlib
import datetime as dt
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from claude_mem_lite import config, locks
from claude_mem_lite.capture import backlog
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import vectors, write_lock
from claude_mem_lite.storage import damage, files, models
from claude_mem_lite.storage.files import connect
from claude_mem_lite.storage.migrations import MIGRATIONS
from claude_mem_lite.upkeep import archive, outfile

_COUNTED = ("sessions", "observations", "learnings")
_REPLACED = "replaced-"


@contextlib.contextmanager
def staging() -> Iterator[str]:
    """Yield an empty folder in the data directory for one backup, restore or forget at a time.

    It is deleted afterwards. Raises: ClaudeMemError when one is running, or another program owns the memory.
    """
    config.refuse_foreign_memory()
    config.ensure_home()
    folder = os.path.join(config.home(), "staging")
    with locks.hold("staging.lock") as is_mine:
        if not is_mine:
            raise ClaudeMemError("a backup, restore or forget is running: try again when it has finished")
        shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed
        os.makedirs(folder, mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def backup(path: str) -> dict[str, Any]:
    """Write a backup of both databases into a file; return its manifest. Raises: ClaudeMemError.

    Events in the spool are stored in queue.db first, because they are in no database.
    """
    outfile.refuse_taken(path)
    with staging() as folder:
        backlog.take_in_spool()
        memory, queue = (os.path.join(folder, name) for name in (archive.MEMORY, archive.QUEUE))
        files.copy(config.queue_path(), queue)
        files.copy(config.memory_path(), memory)
        counts = {**files.row_counts(memory, *_COUNTED), **files.row_counts(queue, "pending_queue")}
        return archive.write(path, folder, schema=files.schema_of(memory), counts=counts)


@contextlib.contextmanager
def unpacked(path: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the folder of an unpacked backup, all its pages checked, and its row counts by table.

    Raises: ClaudeMemError.
    """
    with staging() as folder:
        archive.unpack(path, folder, newest_schema=len(MIGRATIONS))
        memory, queue = (os.path.join(folder, name) for name in (archive.MEMORY, archive.QUEUE))
        for each in (memory, queue):
            if problem := damage.problem(each):
                raise ClaudeMemError(f"{path} was not restored: its {os.path.basename(each)} {problem}")
        files.forget_process(memory, queue)
        yield folder, {**files.row_counts(memory, *_COUNTED), **files.row_counts(queue, "pending_queue")}


def put_in_place(
    folder: str, *, paused: contextlib.AbstractContextManager[list[str]]
) -> tuple[str, list[str]]:
    """Replace our databases by those in a folder; return the old ones' folder and the problems of `paused`.

    The folder is "" if there was nothing to keep. Both databases stay locked throughout, so no event is lost
    between copy and replacement. A process killed between the two replacements leaves the new memory with the
    old queue, which does no harm: its waiting events are processed.
    Raises: ClaudeMemError; the old databases are then in place or kept, as the message says.
    """
    config.refuse_foreign_memory()
    files.refuse_read_only()
    models.close_databases()
    with write_lock.run(), paused as late, contextlib.ExitStack() as holding:
        held = [(path, holding.enter_context(files.held(path))) for path in files.paths()]
        now = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        kept = os.path.join(config.home(), f"{_REPLACED}{now}")
        try:
            for path, live in held:
                _keep(path, live, kept)
        except (OSError, sqlite3.Error) as error:
            shutil.rmtree(kept, ignore_errors=True)
            raise ClaudeMemError(
                f"nothing was restored: the current memory could not be copied ({error})"
            ) from error
        vectors.discard()
        for path, live in held:
            try:
                _put(os.path.join(folder, os.path.basename(path)), path, live, kept)
            except (OSError, sqlite3.Error) as error:
                was = f"; the previous memory is in {kept}" if os.path.isdir(kept) else ""
                raise ClaudeMemError(
                    f"{path} could not be put in place ({error}): fix that, then restore again{was}"
                ) from error
        holding.close()
        models.open_databases()
        models.close_databases()
    return kept if os.path.isdir(kept) else "", late


def older_copies() -> list[str]:
    """Return the folders with the databases that earlier restores replaced."""
    home = config.home()
    return [os.path.join(home, name) for name in sorted(os.listdir(home)) if name.startswith(_REPLACED)]


def _keep(path: str, live: sqlite3.Connection | None, kept: str) -> None:
    """Copy a database into a folder, unless it is empty or unreadable."""
    if live is None or not live.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return
    os.makedirs(kept, mode=0o700, exist_ok=True)
    with closing(connect(os.path.join(kept, os.path.basename(path)), mode="rwc")) as copied:
        files.replace(copied, live)


def _put(new: str, path: str, live: sqlite3.Connection | None, kept: str) -> None:
    """Replace a database through SQLite, or by a rename if SQLite cannot read the old one."""
    if live is not None:
        with closing(connect(new)) as source:
            files.replace(live, source)
        return
    os.makedirs(kept, mode=0o700, exist_ok=True)
    for end in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + end, os.path.join(kept, os.path.basename(path) + end))
    os.replace(new, path)
