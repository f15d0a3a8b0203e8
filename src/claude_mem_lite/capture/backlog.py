"""Enqueue a message for each waiting row of queue.db and each file of the spool.

Hooks do not load this module; they write with `inbox`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time

from claude_mem_lite.capture import inbox, spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

# Messages, events and characters of events per transaction: a hook must not wait until 100,000 are written.
_AT_ONCE, _EVENTS_AT_ONCE, _CHARS_AT_ONCE = 500, 50, 1 << 20

_INSERT_LOST = (
    "INSERT OR IGNORE INTO pending_queue"
    " (id, created_at, project_dir, raw_output, session_id, event_name, status, note, finished_at)"
    " VALUES (?, ?, '', '{}', 'unknown', '', 'error', ?, ?)"
)

# Paths of the entries that stay in the spool and were logged by this process.
_skipped: set[str] = set()


def requeue() -> int:
    """Enqueue a message for each unfinished row that has none, and return how many there were."""
    count = 0
    with contextlib.closing(inbox.connect()) as reader:
        inbox.create_schema(reader)
        # Outside of the transactions: with 100,000 rows this takes longer than a hook waits for the lock.
        orphans = reader.execute(
            f"SELECT id, priority FROM pending_queue WHERE status IN {inbox.WAITING} AND id NOT IN"  # noqa: S608
            " (SELECT json_extract(CAST(data AS TEXT), '$.args[0]') FROM task WHERE queue = ?"
            "  AND json_extract(CAST(data AS TEXT), '$.args[0]') IS NOT NULL)",
            (inbox.QUEUE_NAME,),
        )
        while some := orphans.fetchmany(_AT_ONCE):
            with inbox.Transaction() as connection:
                for event_id, priority in some:
                    inbox.insert_message(connection, event_id, priority, inbox.BEHIND)
            count += len(some)
            inbox.ring()
    return count


def fall_behind() -> None:
    """Lower the priority of all events that wait already, so that new events come first."""
    behind = " ".join(f"WHEN {number} THEN {inbox.BEHIND[name]}" for name, number in inbox.PRIORITIES.items())
    query = (
        f"UPDATE task SET priority = CASE priority {behind} END WHERE id IN (SELECT id FROM task"  # noqa: S608
        f" WHERE queue = ? AND claimed = 0 AND priority IN {tuple(inbox.PRIORITIES.values())}"
        " AND json_extract(CAST(data AS TEXT), '$.name') = ? LIMIT ?)"
    )
    count = _AT_ONCE
    while count == _AT_ONCE:
        with inbox.Transaction() as connection:
            count = connection.execute(query, (inbox.QUEUE_NAME, inbox.COMPRESS, _AT_ONCE)).rowcount


def work_again(session_id: str) -> int:
    """Set the finished events of a session to waiting, so that `requeue` enqueues them; return how many."""
    query = (
        "UPDATE pending_queue SET status = CASE status WHEN ? THEN ? ELSE 'raw' END WHERE seq IN"
        " (SELECT seq FROM pending_queue WHERE session_id = ? AND status IN ('done', ?) LIMIT ?)"
    )
    values = (inbox.IMPORTED, inbox.REIMPORT, session_id, inbox.IMPORTED, _EVENTS_AT_ONCE)
    total, count = 0, _EVENTS_AT_ONCE
    while count == _EVENTS_AT_ONCE:
        with inbox.Transaction() as connection:
            count = connection.execute(query, values).rowcount
        total += count
    return total


def retry_failed() -> int:
    """Retry the events in error and the messages that were set aside; return the number of events.

    An event that was lost before it could be stored stays in error: there is nothing to process.
    """
    with inbox.Transaction() as connection:
        count = connection.execute(
            "UPDATE pending_queue SET status = 'raw', note = NULL, finished_at = NULL"
            " WHERE status = 'error' AND event_name <> ''"
        ).rowcount
        name = {"name": inbox.QUEUE_NAME}
        connection.execute("UPDATE task SET queue = :name, crashes = 0 WHERE queue = :name || '!dead'", name)
    requeue()
    return count


def take_in_spool() -> int:
    """Move the events of the spool into queue.db, oldest first; return how many.

    A file that holds no event is renamed to `NAME.bad`; a lost event becomes a row in error. Any other entry
    stays, which is logged once: a folder, a pipe, a file that cannot be read or deleted.
    """
    for path in spool.lost_files():
        with _skipping(path):
            _note_lost(path)
    taken = 0
    for rows in _spooled():
        with inbox.Transaction() as connection:
            began = time.monotonic()
            for row in rows.values():
                inbox.insert_event(connection, row)
        held_s = time.monotonic() - began
        for path in rows:
            with _skipping(path):
                os.unlink(path)
                taken += 1
        time.sleep(held_s)  # for the hooks that wait for the lock
    if taken:
        inbox.ring()
    return taken


def _spooled() -> Iterator[dict[str, dict[str, str]]]:
    """Yield the rows of the spool's events by path, oldest first, as many as one transaction takes."""
    rows, chars = dict[str, dict[str, str]](), 0
    for path in spool.waiting():
        row = None
        with _skipping(path):
            row = _row(path)
        if row is not None:
            rows[path] = row
            chars += len(row["raw_output"])
        if len(rows) == _EVENTS_AT_ONCE or chars > _CHARS_AT_ONCE:
            yield rows
            rows, chars = {}, 0
    if rows:
        yield rows


@contextlib.contextmanager
def _skipping(path: str) -> Iterator[None]:
    """Go on if an entry of the spool is gone, or cannot be read, renamed or deleted; log the latter once."""
    try:
        yield
    except FileNotFoundError:
        pass  # another process has taken it in at the same time
    except OSError as error:
        if path not in _skipped:
            _skipped.add(path)
            log.warning("%r stays in the spool: %s", os.path.basename(path), type(error).__name__)


def _row(path: str) -> dict[str, str] | None:
    """Return the row of an event in the spool; None if the file holds no event, which renames it."""
    try:
        event_id, created_at, place, event = spool.read(path)
        return inbox.event_row(event_id, created_at, place, event, inbox.parse(event))
    except ValueError:
        os.replace(path, path + spool.BROKEN)
        return None


def _note_lost(path: str) -> None:
    """Replace the empty file that a hook left for a lost event by a row in error."""
    event_id, created_at = spool.lost(path)
    note = "lost: neither queue.db nor the spool could be written, for want of disk space or of the right to"
    with inbox.Transaction() as connection:
        connection.execute(_INSERT_LOST, (event_id, created_at, note, inbox.utc_now()))
    os.unlink(path)
