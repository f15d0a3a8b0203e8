"""Log changes: number what changed here, and merge in what changed elsewhere.

All of it belongs into one transaction: `capture` runs before anything is merged, so that no change of this
machine's is taken for another's.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from claude_mem_lite.storage import facts
from claude_mem_lite.storage.models import State, memory_database
from claude_mem_lite.sync import records, rows, triggers
from claude_mem_lite.sync.records import NEVER, RULES, Record
from claude_mem_lite.upkeep import store

_STATE = "sync"
_OURS, _THEIRS = 1, 2  # who has forgotten a row


@dataclass(slots=True)
class Counters:
    """Where this machine stands: its Lamport clock, its last sequence, and what of that the hub has.

    A `generation` is everything that the machine publishes, anew; a new one is due when `must_compact`. The
    hub has it in segments: the last sequence of each is among the `published`.
    """

    machine: str
    clock: int = 0
    seq: int = 0
    generation: str = ""
    published: list[int] = field(default_factory=list)
    must_compact: bool = True

    @property
    def pushed(self) -> int:
        """Up to which sequence the hub has this machine's changes."""
        return self.published[-1] if self.published else 0

    def save(self) -> None:
        """Write it, as part of the transaction."""
        facts.write(_STATE, asdict(self))


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A tombstone as it travels."""

    kind: str
    digest: str


def counters(machine: str) -> Counters:
    """Return where a machine stands; to one that this memory does not know everything is new."""
    known = facts.read(_STATE)
    if known.get("machine") == machine:
        triggers.install()
        return Counters(**known)
    forget_machine()
    triggers.install()
    triggers.note_all()
    return Counters(machine)


def forget_machine() -> None:
    """Forget whatever is known of hubs, but for the rows themselves."""
    triggers.remove()
    for table in ("sync_rows", "sync_changes", "sync_forgotten", "sync_cursors"):
        _do(f"DELETE FROM {table}")  # noqa: S608  (names of ours)
    State.delete().where(State.name == _STATE).execute()


def capture(now: Counters) -> int:
    """Give changed rows a version and a sequence, forgotten ones a tombstone; return how many changes."""
    gone = _all("SELECT kind, id, digest FROM sync_rows WHERE is_gone = ?", _OURS)
    for kind, row_id, dead in gone:
        now.must_compact = True
        bury(now, Forgotten(kind, dead))
        _do("DELETE FROM sync_rows WHERE kind = ? AND id = ?", kind, row_id)
    projects = rows.Projects.read()
    changed = _all("SELECT kind, pk, has_forgotten FROM sync_changes")
    for kind, pk, has_forgotten in changed:
        now.must_compact |= bool(has_forgotten)
        if (fields := rows.read(kind, pk, projects)) is not None:
            _note(now, kind, pk, fields, has_forgotten=has_forgotten)
        _do("DELETE FROM sync_changes WHERE kind = ? AND pk = ?", kind, pk)
    return len(gone) + len(changed)


def bury(now: Counters, forgotten: Forgotten) -> bool:
    """Keep a tombstone and publish it, whoever has forgotten; return whether it is new."""
    if is_forgotten(forgotten.digest):
        return False
    now.seq += 1
    _do(
        "INSERT INTO sync_forgotten (digest, kind, seq) VALUES (?, ?, ?)",
        forgotten.digest, forgotten.kind, now.seq,
    )  # fmt: skip
    return True


def merge_tombstone(now: Counters, forgotten: Forgotten) -> bool:
    """Take a tombstone in: its row, if it is here, is to be forgotten (see `doomed`); tell if it is new."""
    _do("UPDATE sync_rows SET is_gone = ? WHERE digest = ? AND is_gone = 0", _THEIRS, forgotten.digest)
    return bury(now, forgotten)


def doomed() -> list[tuple[str, str, int | None]]:
    """Return what others have forgotten and is still here: kind, id, primary key."""
    found = _all("SELECT kind, id, pk FROM sync_rows WHERE is_gone = ?", _THEIRS)
    return [(kind, row_id, pk) for kind, row_id, pk in found]


def merge(now: Counters, other: Record, projects: rows.Projects, *, seq: int = 0) -> bool:
    """Merge a record of another machine, or one of this machine's from before (`seq`); tell if it changed.

    One that was forgotten stays so, and an observation of a forgotten session was forgotten with it.
    """
    clocks = [version[2] for version in other.versions.values()]
    now.clock = max([now.clock, *clocks, *(clock for _, clock, _ in other.evidence.values())])
    now.seq = max(now.seq, seq)
    dead = records.tombstone(other.kind, other.id)
    session = str(other.fields["session_id"]) if other.kind == "observation" else ""
    if is_forgotten(dead) or (session and is_forgotten(records.tombstone("session", session))):
        return False
    known = _one("SELECT pk, meta, seq FROM sync_rows WHERE kind = ? AND id = ?", other.kind, other.id)
    pk = known[0] if known else rows.present(other, projects)
    mine = _record(other.kind, pk, json.loads(known[1]), projects) if known and pk is not None else None
    both = _without_forgotten(records.merged(mine or other, other))
    if "stale" in other.fields:  # that is of the code on a disk
        both = replace(both, fields={**both.fields, "stale": mine.fields["stale"] if mine else ""})
    if session and not _one("SELECT 1 FROM sessions WHERE id = ?", session):
        unknown = dict.fromkeys(RULES["session"].groups, NEVER)
        merge(now, Record("session", rows.stub(other), unknown), projects)
    if mine != both:
        pk = rows.write(both, pk, projects)
    _save(both, pk, dead, seq=max(seq, known[2] if known else 0))
    return mine != both


def clear_changes() -> None:
    """Forget what the triggers have noted since `capture`, which was the merge's own doing."""
    _do("DELETE FROM sync_changes")


def published(after: int, *, most: int) -> Iterator[tuple[int, Record | Forgotten]]:
    """Yield what this machine publishes after a sequence, in order; nothing may be waiting for `capture`."""
    projects = rows.Projects.read()
    found = _all(
        "SELECT seq, kind, pk, meta, '' FROM sync_rows WHERE seq > ? AND pk IS NOT NULL AND is_gone = 0"
        " UNION ALL SELECT seq, kind, NULL, '', digest FROM sync_forgotten WHERE seq > ?"
        " ORDER BY seq LIMIT ?",
        after, after, most,
    )  # fmt: skip
    for seq, kind, pk, meta, dead in found:
        if dead:
            yield seq, Forgotten(kind, dead)
        elif (record := _record(kind, pk, json.loads(meta), projects)) is not None:
            yield seq, record


def waiting() -> int:
    """Return how many changes have no sequence yet."""
    found = _one("SELECT count(*) FROM sync_changes")
    return int(found[0]) if found else 0


def is_forgotten(dead: str) -> bool:
    """Tell whether a tombstone is known."""
    return _one("SELECT 1 FROM sync_forgotten WHERE digest = ?", dead) is not None


def cursors() -> dict[str, tuple[str, int]]:
    """Return up to where each machine's segments were read: generation and number."""
    found = _all("SELECT machine, generation, number FROM sync_cursors")
    return {machine: (generation, number) for machine, generation, number in found}


def move_cursor(machine: str, generation: str, number: int) -> None:
    """Note up to where a machine's segments were read."""
    _do(
        "INSERT OR REPLACE INTO sync_cursors (machine, generation, number) VALUES (?, ?, ?)",
        machine, generation, number,
    )  # fmt: skip


def delete_row(kind: str, pk: int) -> None:
    """Delete a row that `forget` knows by no id."""
    model = store.TABLES[kind]
    model.delete().where(model.pk == pk).execute()


def drop_doomed() -> None:
    """Forget the ids of what others have forgotten, which is gone by now."""
    _do("DELETE FROM sync_rows WHERE is_gone = ?", _THEIRS)


def _note(now: Counters, kind: str, pk: int, fields: dict[str, Any], *, has_forgotten: bool) -> None:
    """Give a row of this machine new versions for what has changed of it."""
    row_id = records.row_id(kind, fields)
    dead = records.tombstone(kind, row_id)
    if is_forgotten(dead):
        return  # made again since: this machine's alone
    known = _one("SELECT meta FROM sync_rows WHERE kind = ? AND id = ?", kind, row_id)
    meta: dict[str, Any] = json.loads(known[0]) if known else {"versions": {}, "digests": {}, "evidence": {}}
    if kind == "learning":
        fields["base"] = meta.get("base", fields["confidence"])
    record = _with_meta(kind, fields, meta)
    changed = {
        group for group in RULES[kind].groups
        if records.group_digest(record, group) != meta["digests"].get(group)
    }  # fmt: skip
    clock = now.clock + 1
    is_users = kind == "learning" and _is_users(fields, changed, meta)
    versions, evidence = dict(record.versions), dict(record.evidence)
    for group in changed | ({"words", "state"} if is_users else set()):
        forgot, users, _, _ = versions.get(group, NEVER)
        versions[group] = (forgot + has_forgotten, clock if is_users else users, clock, now.machine)
    if is_users:
        fields["base"] = fields["confidence"]
    elif kind == "learning" and round(fields["confidence"] - records.confidence(record), 6):
        epoch, added = versions["words"][1], fields["confidence"] - records.total(record)
        since, _, before = evidence.get(now.machine, (epoch, 0, 0.0))
        evidence[now.machine] = (epoch, clock, round(added + (before if since == epoch else 0.0), 6))
    whole = Record(kind, fields, versions, evidence)
    if _whole(whole) == meta.get("whole"):
        _do("UPDATE sync_rows SET pk = ? WHERE kind = ? AND id = ?", pk, kind, row_id)
        return
    now.clock, now.seq = clock, now.seq + 1
    _save(whole, pk, dead, seq=now.seq)


def _is_users(fields: Mapping[str, Any], changed: set[str], meta: Mapping[str, Any]) -> bool:
    """Tell whether a change of a learning is the user's own doing: nobody else makes such a change."""
    is_removed = not (fields["is_active"] or fields["quarantine"] or fields["superseded_by"])
    is_reworded = "words" in changed and bool(meta["digests"])
    was_users = fields["is_manual"] or meta.get("is_manual", False)
    return bool(changed & {"words", "state"}) and (was_users or is_removed or is_reworded)


def _record(kind: str, pk: int, meta: Mapping[str, Any], projects: rows.Projects) -> Record | None:
    """Return the record of a row that has not changed since it was noted."""
    fields = rows.read(kind, pk, projects)
    if fields is None:
        return None
    if kind == "learning":
        fields["base"] = meta["base"]
    return _with_meta(kind, fields, meta)


def _with_meta(kind: str, fields: Mapping[str, Any], meta: Mapping[str, Any]) -> Record:
    """Return a record of some fields with what was noted of its versions; JSON has lists for tuples."""
    versions, evidence = (
        {name: tuple(each) for name, each in meta[noted].items()} for noted in ("versions", "evidence")
    )
    return Record(kind, fields, versions, evidence)


def _save(record: Record, pk: int | None, dead: str, *, seq: int) -> None:
    groups = RULES[record.kind].groups
    meta = {
        "versions": record.versions,
        "digests": {group: records.group_digest(record, group) for group in groups},
        "evidence": record.evidence,
        "whole": _whole(record),
    }
    if record.kind == "learning":
        meta |= {"base": record.fields["base"], "is_manual": record.fields["is_manual"]}
    _do(
        "INSERT INTO sync_rows (kind, id, pk, digest, seq, meta) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET pk = excluded.pk, seq = excluded.seq, meta = excluded.meta",
        record.kind, record.id, pk, dead, seq, json.dumps(meta),
    )  # fmt: skip


def _without_forgotten(record: Record) -> Record:
    """Return a record without the ids of what was forgotten."""
    kinds = {"source_sessions": "session", "observations": "observation", "kin": "learning"}
    left = {
        name: [each for each in record.fields[name] if not is_forgotten(records.tombstone(kinds[name], each))]
        for name in RULES[record.kind].sets
    }
    return replace(record, fields={**record.fields, **left})


def _whole(record: Record) -> str:
    """Return what tells whether anything of a record has changed that travels."""
    local = RULES[record.kind].local
    return records.digest([{name: each for name, each in record.fields.items() if name not in local}])


def _all(query: str, *values: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = memory_database.execute_sql(query, values).fetchall()
    return found


def _one(query: str, *values: Any) -> tuple[Any, ...] | None:
    found: tuple[Any, ...] | None = memory_database.execute_sql(query, values).fetchone()
    return found


def _do(query: str, *values: Any) -> None:
    memory_database.execute_sql(query, values)
