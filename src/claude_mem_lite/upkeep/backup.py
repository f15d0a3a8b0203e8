"""A consistent copy of the memory while everything runs, and the way back to it.

Both databases are copied by SQLite's own means, the queue first: an event that is worked off in between is
then in both, and working it off again changes nothing; the other way round it would be in neither.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

from claude_mem_lite import config, inbox, locks
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import turns, vectors
from claude_mem_lite.storage import files, models
from claude_mem_lite.storage.migrations import MIGRATIONS
from claude_mem_lite.upkeep import archive, outfile

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Write a backup of both databases into a file; return its manifest. Raises: ClaudeMemError."""
    outfile.refuse_taken(path)
    with staging() as folder:
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
        for name, problem in (
            (archive.MEMORY, files.problem_of_memory(memory)), (archive.QUEUE, files.problem_of_queue(queue)),
        ):  # fmt: skip
            if problem:
                raise ClaudeMemError(f"{path} was not restored: its {name} {problem}")
        files.forget_process(memory, queue)
        yield folder, {**files.row_counts(memory, *_COUNTED), **files.row_counts(queue, "pending_queue")}


def put_in_place(folder: str, *, paused: contextlib.AbstractContextManager[Any]) -> str:
    """Have the databases of a folder take the place of ours, and return where ours are kept, "" without any.

    Each takes its place by one rename, while nobody can use either. Who is killed between the two renames
    leaves the new memory with the old queue, which is none the worse for it: events that wait are worked off.
    Raises: ClaudeMemError, and all is as it was.
    """
    config.refuse_foreign_memory()
    models.close_databases()
    with turns.run(), paused, contextlib.ExitStack() as holding:
        kept = _kept_folder()
        for path in files.paths():
            holding.enter_context(files.held(path))
        done: list[str] = []
        try:
            for path in files.paths():
                _keep(path, kept)
                done.append(path)
                os.replace(os.path.join(folder, os.path.basename(path)), path)
        except OSError as error:
            for path in done:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(os.path.join(kept, os.path.basename(path)), path)
            raise ClaudeMemError(f"nothing was restored: {error}") from error
        vectors.discard()
        # A hook that waits for the old file gives up meanwhile, and leaves its event in the spool.
        time.sleep(2 * inbox.LOCK_TIMEOUT_S)
        holding.close()
        for path in files.paths():
            if os.path.exists(old := os.path.join(kept, os.path.basename(path))):
                files.write_ahead(old)
        models.open_databases()
        models.close_databases()
    return kept if os.path.isdir(kept) else ""


def older_copies() -> list[str]:
    """Return the folders with what was there before a restore."""
    home = config.home()
    return [os.path.join(home, name) for name in sorted(os.listdir(home)) if name.startswith(_REPLACED)]


def _kept_folder() -> str:
    now = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return os.path.join(config.home(), f"{_REPLACED}{now}")


def _keep(path: str, kept: str) -> None:
    """Give a database a second name in a folder; what a damaged one has beside it goes there altogether."""
    for each in (path, *(path + end for end in files.SIDE_FILES)):
        if os.path.exists(each):
            os.makedirs(kept, mode=0o700, exist_ok=True)
            (os.link if each == path else os.replace)(each, os.path.join(kept, os.path.basename(each)))
