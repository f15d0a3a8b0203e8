"""Delete processed raw events by age, number and size."""

import sqlite3

from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import files

_FINISHED = f"status NOT IN {(*inbox.WAITING, inbox.IMPORT)}"
# The age of an imported event counts from its import: Claude may still be asked about it.
_SINCE = f"CASE status WHEN '{inbox.IMPORTED}' THEN finished_at ELSE created_at END"
# Failed events can be retried, so only lack of space deletes them. Lost events (without a name) cannot be.
_OUTLIVED = f"{_FINISHED} AND (status <> 'error' OR event_name = '')"
_PRUNABLE = (
    f"FROM pending_queue WHERE (({_SINCE} < ? AND {_OUTLIVED}) OR (seq <= ? AND {_FINISHED})) AND seq < ?"
)


def prunable(*, before: str, keep: int = 0, most_bytes: int = 0) -> int:
    """Return how many events `prune` would delete."""
    with inbox.Transaction() as connection:
        limits = _limits(connection, before, keep, most_bytes)
        count: int = connection.execute(f"SELECT count(*) {_PRUNABLE}", limits).fetchone()[0]
    return count


def prune(*, before: str, keep: int = 0, most_bytes: int = 0) -> int:
    """Delete processed events older than `before`, a few per transaction; return how many.

    The newest `keep` stay, however old. If queue.db uses more than `most_bytes` (0: no limit), the oldest
    processed and failed events are deleted whatever their age. Waiting events are never deleted.
    """
    with inbox.Transaction() as connection:
        limits = _limits(connection, before, keep, most_bytes)
    deleted = 0
    while True:
        with inbox.Transaction() as connection:
            some = connection.execute(
                f"DELETE FROM pending_queue WHERE seq IN (SELECT seq {_PRUNABLE} LIMIT 200)",  # noqa: S608
                limits,
            ).rowcount
        if not some:
            return deleted
        deleted += some


def _limits(connection: sqlite3.Connection, before: str, keep: int, most_bytes: int) -> tuple[str, int, int]:
    """Return the parameters of _PRUNABLE: the time, the last `seq` over the size limit, the first kept."""
    kept_from = 1 << 62
    if keep:
        newest = f"SELECT seq FROM pending_queue WHERE {_FINISHED} ORDER BY seq DESC LIMIT 1 OFFSET ?"  # noqa: S608
        row = connection.execute(newest, (keep - 1,)).fetchone()
        kept_from = row[0] if row else 0
    size, free = files.room(connection)
    excess, crowded = size - free - most_bytes, 0
    if most_bytes and excess > 0:
        crowded = connection.execute(
            "SELECT coalesce(max(seq), 0) FROM (SELECT seq, sum(length(CAST(raw_output AS BLOB)))"  # noqa: S608
            " OVER (ORDER BY seq) - length(CAST(raw_output AS BLOB)) AS freed FROM pending_queue"
            f" WHERE {_FINISHED}) WHERE freed < ?",
            (excess,),
        ).fetchone()[0]
    return before, crowded, kept_from
