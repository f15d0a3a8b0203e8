"""At-least-once delivery for Huey on queue.db: a worker claims a message and acknowledges it when done.

Huey's own SQLite storage deletes a message before it runs the task, so that a killed consumer loses it.
Here a message stays until its task has returned; the next consumer releases the messages that a dead one
had claimed. Results, locks and revocation are not stored, because no task of ours uses them.
"""

import contextlib
import datetime as dt
import json
import logging
import os
import select
import sqlite3
import threading
import time
from collections.abc import Collection
from typing import Any

from huey.api import Huey, Task
from huey.consumer import Consumer
from huey.exceptions import HueyException
from huey.registry import Message
from huey.serializer import Serializer
from huey.storage import SqliteStorage

from claude_mem_lite import __version__, config, keys, logs, settings
from claude_mem_lite.capture import backlog, inbox
from claude_mem_lite.capture.fast_sqlite3 import Connection
from claude_mem_lite.services import instance

log = logging.getLogger(__name__)

# A message that this many consumers had claimed when they died is set aside.
MAX_CRASHES = 5
# Without a ring a waiting worker polls after this long, which also bounds how late a retry starts.
POLL_S = 1.0
# Delay of a message whose task could not even be rescheduled, for example on a full disk.
STRANDED_S = 5.0
# No delay is as long: a message due later was scheduled before the clock was set back, and runs now.
LONGEST_DELAY_S = 600.0


class JsonSerializer(Serializer):
    """Huey's messages as JSON objects without their empty fields, readable and safe to load."""

    def _serialize(self, data: Message) -> bytes:
        fields = {key: value for key, value in data._asdict().items() if value not in (None, {}, ())}
        if isinstance(data.eta, dt.datetime):
            fields["eta"] = data.eta.isoformat()
        return json.dumps(fields, separators=(",", ":")).encode()

    def _deserialize(self, data: bytes) -> Message:
        fields = json.loads(data)
        if "eta" in fields:
            fields["eta"] = dt.datetime.fromisoformat(fields["eta"])
        return Message(**fields)


class ClaimStorage(SqliteStorage):
    """Huey's queue in the table `task` of queue.db, one row per message until it is acknowledged.

    A message to be run later is the same row with a `due` time (Unix seconds), so that scheduling,
    retrying and running take one statement each, and no message moves between two tables.
    """

    blocking = True

    def __init__(self, name: str = "huey", **_: Any) -> None:
        self._mine = threading.local()
        self._bell: int | None = None
        self._stranded: set[int] = set()
        self._alone: set[int] = set()
        config.ensure_home()
        super().__init__(name, filename=config.queue_path(), timeout=10, factory=Connection)

    def initialize_schema(self) -> None:
        """Create the tables of queue.db where they are missing."""
        inbox.create_schema(self.conn)
        self.close()

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a message that is due now."""
        self._put(data, priority, due=0)
        inbox.ring()

    def add_to_schedule(self, data: bytes, ts: dt.datetime) -> None:
        """Add a message that is due at `ts`, naive UTC as Huey gives it."""
        due = ts.replace(tzinfo=dt.timezone.utc).timestamp()  # noqa: UP017  (one spelling for 3.11 to 3.14)
        self._put(data, json.loads(data).get("priority"), due=due)

    def read_schedule(self, ts: dt.datetime) -> list[bytes]:  # noqa: ARG002
        """Return nothing: `dequeue` finds what is due."""
        return []

    def dequeue(self) -> bytes | None:
        """Claim the most urgent message that is due; wait up to a second for one, then try the spool."""
        data = self._claim()
        if data is None:
            self._silence()
            data = self._claim()  # the bell may have rung between the claim and the silence
        if data is None:
            self._wait()
            data = self._claim()
        if data is None and backlog.take_in_spool():
            data = self._claim()
        return data

    def claim_more(self, limit: int) -> dict[int, bytes]:
        """Claim further messages of the same task and priority as this thread's own, to be run with it.

        Messages that a dead consumer had claimed are left out; none are claimed if this thread's own is one.
        """
        if self._mine.id in self._alone:
            return {}
        now = time.time()
        waiting = {"own": self._mine.id, "now": now, "far": now + LONGEST_DELAY_S, "limit": limit}
        query = (
            "SELECT task.id, task.data FROM task JOIN task AS own ON own.id = :own"
            " WHERE task.queue = own.queue AND task.claimed = 0 AND task.crashes = 0 AND own.crashes = 0"
            " AND task.priority = own.priority AND NOT task.due BETWEEN :now AND :far"
            " AND json_extract(task.data, '$.name') = json_extract(own.data, '$.name')"
            " ORDER BY task.id LIMIT :limit"
        )
        if not self.sql(query, waiting, results=True):
            return {}
        with self.db(commit=True) as cursor:
            rows = [row for row in cursor.execute(query, waiting).fetchall() if row[0] not in self._alone]
            cursor.executemany("UPDATE task SET claimed = 1 WHERE id = ?", [(row[0],) for row in rows])
        self._mine.more = [row[0] for row in rows]
        return {message_id: bytes(data) for message_id, data in rows}

    def give_back(self, message_ids: Collection[int]) -> None:
        """Release messages that `claim_more` has claimed, to be run one at a time."""
        self._alone.update(message_ids)
        self._stranded.update(message_ids)  # in case the disk is full
        self._mine.more = [each for each in self._mine.more if each not in message_ids]
        with self.db(commit=True) as cursor:
            free = [(message_id,) for message_id in message_ids]
            cursor.executemany("UPDATE task SET claimed = 0 WHERE id = ?", free)
        self._stranded.difference_update(message_ids)

    def acknowledge(self) -> None:
        """Delete the messages that this thread has claimed."""
        done = [self._mine.id, *self._mine.more]
        with self.db(commit=True) as cursor:
            cursor.executemany("DELETE FROM task WHERE id = ?", [(message_id,) for message_id in done])
        self._alone.difference_update(done)

    def strand(self) -> None:
        """Note this thread's messages, which it could neither finish nor reschedule, for a later release."""
        self._stranded.update((self._mine.id, *self._mine.more))

    def bury(self, message_id: int | None = None) -> None:
        """Set a message aside, stored but never run: this thread's own, or `message_id`."""
        self.sql(
            "UPDATE task SET queue = queue || '!dead', claimed = 0 WHERE id = ?",
            (self._mine.id if message_id is None else message_id,),
            commit=True,
        )

    def release(self) -> list[bytes]:
        """Release the messages that a dead consumer had claimed; return those set aside as poison."""
        self.sql(
            "UPDATE task SET claimed = 0, crashes = crashes + 1 WHERE queue = ? AND claimed = 1",
            (self.name,),
            commit=True,
        )
        query = "SELECT id, data FROM task WHERE queue = ? AND crashes >= ?"
        poison = self.sql(query, (self.name, MAX_CRASHES), results=True)
        for message_id, _ in poison:
            self.bury(message_id)
        return [data for _, data in poison]

    def peek_many(self, keys: list[str]) -> dict[str, bytes]:  # noqa: ARG002
        """Return nothing: no task is ever revoked."""
        return {}

    def delete_data(self, key: str) -> bool:  # noqa: ARG002
        """Say that there was nothing to delete."""
        return False

    def open_doorbell(self) -> None:
        """Listen for rings on the named pipe in the data directory."""
        with contextlib.suppress(FileExistsError):
            os.mkfifo(config.doorbell_path(), 0o600)
        # Read and write, so that the pipe never reports its end when no hook has it open.
        self._bell = os.open(config.doorbell_path(), os.O_RDWR | os.O_NONBLOCK)

    def _put(self, data: bytes, priority: float | None, *, due: float) -> None:
        self.sql(
            "INSERT INTO task (queue, data, priority, due) VALUES (?, ?, ?, ?)",
            (self.name, data, priority or 0, due),
            commit=True,
        )

    def _claim(self) -> bytes | None:
        # Of the messages that a dead consumer had claimed, one runs at a time: otherwise a poisoned task
        # would drag its neighbours down with it.
        due = (
            "SELECT id, data FROM task WHERE queue = :queue AND claimed = 0 AND NOT due BETWEEN :now AND :far"
            " AND (crashes = 0 OR NOT"
            " EXISTS (SELECT 1 FROM task WHERE queue = :queue AND claimed = 1 AND crashes > 0))"
            " ORDER BY priority DESC, id LIMIT 1"
        )
        for message_id in tuple(self._stranded):
            again = (time.time() + STRANDED_S, message_id)
            self.sql("UPDATE task SET claimed = 0, due = ? WHERE id = ?", again, commit=True)
            self._stranded.discard(message_id)  # only now: the disk may be full still
        now = time.time()
        waiting = {"queue": self.name, "now": now, "far": now + LONGEST_DELAY_S}
        if not self.sql(due, waiting, results=True):
            return None  # no exclusive lock for a look at an empty queue
        with self.db(commit=True) as cursor:
            row = cursor.execute(due, waiting).fetchone()
            if row is None:
                return None
            self._mine.id, data = row
            self._mine.more = []
            cursor.execute("UPDATE task SET claimed = 1 WHERE id = ?", (self._mine.id,))
        return bytes(data)

    def _silence(self) -> None:
        if self._bell is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._bell, 4096)

    def _wait(self) -> None:
        """Sleep until the bell rings; the ring stays, so that every waiting worker wakes and looks."""
        if self._bell is None:
            time.sleep(POLL_S)
        else:
            select.select([self._bell], [], [], POLL_S)

    def _create_connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection = super()._create_connection()
        # A task whose commit is lost in a power cut runs again; only the hooks' commits must reach the disk.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


class ClaimHuey(Huey):
    """Huey with claims: a message is acknowledged after its task has returned or was scheduled again."""

    def __init__(self) -> None:
        super().__init__(
            inbox.QUEUE_NAME, results=False, serializer=JsonSerializer(), storage_class=ClaimStorage
        )

    def dequeue(self) -> Task | None:
        """Claim a task; set a message aside for which this version has no task."""
        data = self.storage.dequeue()
        if data is None:
            return None
        try:
            return self.deserialize_task(data)
        except (HueyException, ValueError, TypeError) as error:
            log.error("message set aside: %s", error)  # noqa: TRY400  (no traceback for an unknown name)
            self.storage.bury()
            return None

    def execute(self, task: Task, timestamp: dt.datetime | None = None) -> Any:
        """Run a task and acknowledge its message; if the thread is killed, the claim remains."""
        try:
            value = super().execute(task, timestamp)
            self.storage.acknowledge()
        except Exception:
            self.storage.strand()
            raise
        return value

    def create_consumer(self, **options: Any) -> Consumer:
        """Return the one consumer of this data directory, once its predecessor is gone."""
        from claude_mem_lite.codemap import isolation
        from claude_mem_lite.storage import projects, rebuild, rewrites
        from claude_mem_lite.storage.models import open_databases

        isolation.isolate()
        keys.take_over()
        credential = settings.load().credential
        config.ensure_home()
        logs.configure("consumer")
        instance.stop_when_orphaned()
        instance.become_the_only("consumer")
        open_databases()
        rewrites.start(credential=credential.source if credential else "", version=__version__)
        for data in self.storage.release():
            message = self.serializer.deserialize(data)
            log.error("set aside: %d consumers died while running %s", MAX_CRASHES, message.name)
            if message.name == inbox.COMPRESS:
                reason = f"set aside: {MAX_CRASHES} consumers died with it in hand"
                inbox.finish(message.args[0], status="error", note=reason)
        backlog.take_in_spool()
        projects.tidy()
        rebuild.begin()
        backlog.fall_behind()
        backlog.requeue()
        self.storage.open_doorbell()
        return _Consumer(self, **options)


class _Consumer(Consumer):
    def stop(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002  (Huey's)
        """Stop, waking the workers that wait for work; those at work finish it if `graceful`."""
        self.stop_flag.set()
        inbox.ring()
        super().stop(graceful=graceful)
