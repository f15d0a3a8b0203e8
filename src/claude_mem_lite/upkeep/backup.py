"""Copy the memory consistently while everything runs, and restore it.

Both databases are copied by SQLite's own means, the queue first: an event that is worked off in between is
then in both, and working it off again changes nothing; the other way round it would be in neither.
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
from claude_mem_lite.search import turns, vectors
from claude_mem_lite.storage import damage, files, models
from claude_mem_lite.storage.files import connect
from claude_mem_lite.storage.migrations import MIGRATIONS
from claude_mem_lite.upkeep import archive, outfile

_COUNTED = ("sessions", "observations", "learnings")
_REPLACED = "replaced-"


@contextlib.contextmanager
def staging() -> Iterator[str]:
    """Yield an empty folder in the data directory for one backup, restore or forget at a time.

    It is gone afterwards. Raises: ClaudeMemError when another is at work, or the folder another program's.
    """
    config.refuse_foreign_memory()
    config.ensure_home()
    folder = os.path.join(config.home(), "staging")
    with locks.hold("staging.lock") as is_mine:
        if not is_mine:
            raise ClaudeMemError("a backup, a restore or a forget is at work: wait until it is through")
        shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
        os.makedirs(folder, mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def backup(path: str) -> dict[str, Any]:
    """Write a backup of both databases into a file; return its manifest. Raises: ClaudeMemError.

    What waits in the spool is taken in first: it is in no database.
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
    """Yield the folder into which a backup is unpacked, checked to the last page, and how much is in it.

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
    """Have our databases be as those of a folder; return where ours are kept, "" without any, and `paused`.

    Both are held all the while, so that no event falls between what is kept and what is put in place. Who is
    killed between the two leaves the new memory with the old queue, which is none the worse for it: events
    that wait are worked off.
    Raises: ClaudeMemError; what was there is then in place or kept, as the message says.
    """
    config.refuse_foreign_memory()
    files.refuse_read_only()
    models.close_databases()
    with turns.run(), paused as late, contextlib.ExitStack() as holding:
        held = [(path, holding.enter_context(files.held(path))) for path in files.paths()]
        now = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        kept = os.path.join(config.home(), f"{_REPLACED}{now}")
        try:
            for path, live in held:
                _keep(path, live, kept)
        except (OSError, sqlite3.Error) as error:
            shutil.rmtree(kept, ignore_errors=True)
            raise ClaudeMemError(
                f"nothing was restored: what is there could not be kept ({error})"
            ) from error
        vectors.discard()
        for path, live in held:
            try:
                _put(os.path.join(folder, os.path.basename(path)), path, live, kept)
            except (OSError, sqlite3.Error) as error:
                was = f"; what was there is in {kept}" if os.path.isdir(kept) else ""
                raise ClaudeMemError(
                    f"{path} could not be put in place ({error}): mend that, then restore again{was}"
                ) from error
        holding.close()
        models.open_databases()
        models.close_databases()
    return kept if os.path.isdir(kept) else "", late


def older_copies() -> list[str]:
    """Return the folders with what was there before a restore."""
    home = config.home()
    return [os.path.join(home, name) for name in sorted(os.listdir(home)) if name.startswith(_REPLACED)]


def _keep(path: str, live: sqlite3.Connection | None, kept: str) -> None:
    """Copy a database into a folder, unless there is nothing in it or it cannot be read."""
    if live is None or not live.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return
    os.makedirs(kept, mode=0o700, exist_ok=True)
    with closing(connect(os.path.join(kept, os.path.basename(path)), mode="rwc")) as copied:
        files.replace(copied, live)


def _put(new: str, path: str, live: sqlite3.Connection | None, kept: str) -> None:
    """Put a database in place, by a rename only where there is one that SQLite cannot read."""
    if live is not None:
        with closing(connect(new)) as source:
            files.replace(live, source)
        return
    os.makedirs(kept, mode=0o700, exist_ok=True)
    for end in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + end, os.path.join(kept, os.path.basename(path) + end))
    os.replace(new, path)
