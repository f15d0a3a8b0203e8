"""Log changes: number those made here, and merge those made elsewhere.

Call all of it in one transaction, and `capture` before anything is merged, so that no change of this machine
counts as another's.
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
_OURS, _THEIRS = 1, 2  # values of `is_gone`: which side has forgotten a row


@dataclass(slots=True)
class Counters:
    """The state of this machine: its Lamport clock, its last sequence number, and which of these the hub has.

    A `generation` is one publication of everything; with `must_compact`, the next push begins a new one. The
    hub has it in segments: `published` lists the last sequence number of each.
    """

    machine: str
    clock: int = 0
    seq: int = 0
    generation: str = ""
    published: list[int] = field(default_factory=list)
    must_compact: bool = True

    @property
    def pushed(self) -> int:
        """The last sequence number up to which the hub has this machine's changes."""
        return self.published[-1] if self.published else 0

    def save(self) -> None:
        """Store the counters, as part of the transaction."""
        facts.write(_STATE, asdict(self))


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A tombstone as it is published."""

    kind: str
    digest: str


def counters(machine: str) -> Counters:
    """Return the counters of a machine; if it is new to this memory, record every row as changed."""
    known = facts.read(_STATE)
    if known.get("machine") == machine:
        triggers.install()
        return Counters(**known)
    forget_machine()
    triggers.install()
    triggers.note_all()
    return Counters(machine)


def forget_machine() -> None:
    """Delete all state of sync; the rows themselves stay."""
    triggers.remove()
    for table in ("sync_rows", "sync_changes", "sync_forgotten", "sync_cursors"):
        _do(f"DELETE FROM {table}")  # noqa: S608  (names of ours)
    State.delete().where(State.name == _STATE).execute()


def capture(now: Counters) -> int:
    """Give changed rows a version and a number, forgotten ones a tombstone; return the number of changes."""
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
    """Store a tombstone to be published, whichever machine forgot the row; return whether it is new."""
    if is_forgotten(forgotten.digest):
        return False
    now.seq += 1
    _do(
        "INSERT INTO sync_forgotten (digest, kind, seq) VALUES (?, ?, ?)",
        forgotten.digest, forgotten.kind, now.seq,
    )  # fmt: skip
    return True


def merge_tombstone(now: Counters, forgotten: Forgotten) -> bool:
    """Store another machine's tombstone and mark its row, if any, as `doomed`; return whether it is new."""
    _do("UPDATE sync_rows SET is_gone = ? WHERE digest = ? AND is_gone = 0", _THEIRS, forgotten.digest)
    return bury(now, forgotten)


def doomed() -> list[tuple[str, str, int | None]]:
    """Return the rows that others have forgotten: kind, id, and primary key, None if the row is gone."""
    found = _all("SELECT kind, id, pk FROM sync_rows WHERE is_gone = ?", _THEIRS)
    return [(kind, row_id, pk) for kind, row_id, pk in found]


def merge(now: Counters, other: Record, projects: rows.Projects, *, seq: int = 0) -> bool:
    """Merge a record of another machine, or an older one of this one (`seq`); return whether a row changed.

    A forgotten row stays forgotten, and so do the observations of a forgotten session.
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
    if "stale" in other.fields:  # it depends on the code on this disk
        both = replace(both, fields={**both.fields, "stale": mine.fields["stale"] if mine else ""})
    if session and not _one("SELECT 1 FROM sessions WHERE id = ?", session):
        unknown = dict.fromkeys(RULES["session"].groups, NEVER)
        merge(now, Record("session", rows.stub(other), unknown), projects)
    if mine != both:
        pk = rows.write(both, pk, projects)
    _save(both, pk, dead, seq=max(seq, known[2] if known else 0))
    return mine != both


def clear_changes() -> None:
    """Delete the changes that triggers have recorded since `capture`: the merge itself made them."""
    _do("DELETE FROM sync_changes")


def published(after: int, *, most: int) -> Iterator[tuple[int, Record | Forgotten]]:
    """Yield what this machine publishes after a sequence number, in order; call `capture` before."""
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
    """Return how many changes have no sequence number yet."""
    found = _one("SELECT count(*) FROM sync_changes")
    return int(found[0]) if found else 0


def is_forgotten(dead: str) -> bool:
    """Tell whether a tombstone is known."""
    return _one("SELECT 1 FROM sync_forgotten WHERE digest = ?", dead) is not None


def cursors() -> dict[str, tuple[str, int]]:
    """Return the generation and number of the last segment that was read, by machine."""
    found = _all("SELECT machine, generation, number FROM sync_cursors")
    return {machine: (generation, number) for machine, generation, number in found}


def move_cursor(machine: str, generation: str, number: int) -> None:
    """Record the last segment of a machine that was read."""
    _do(
        "INSERT OR REPLACE INTO sync_cursors (machine, generation, number) VALUES (?, ?, ?)",
        machine, generation, number,
    )  # fmt: skip


def delete_row(kind: str, pk: int) -> None:
    """Delete a row of a kind that `forget` cannot select by id."""
    model = store.TABLES[kind]
    model.delete().where(model.pk == pk).execute()


def drop_doomed() -> None:
    """Delete the ids of the rows that others have forgotten; call it after the rows are gone."""
    _do("DELETE FROM sync_rows WHERE is_gone = ?", _THEIRS)


def _note(now: Counters, kind: str, pk: int, fields: dict[str, Any], *, has_forgotten: bool) -> None:
    """Give the changed groups of a row new versions."""
    row_id = records.row_id(kind, fields)
    dead = records.tombstone(kind, row_id)
    if is_forgotten(dead):
        return  # created again since: it stays on this machine
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
    """Tell whether the user has made a change of a learning: nothing else makes such a change."""
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
    """Return a record with the versions and evidence that were recorded; JSON has lists for tuples."""
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
    """Return a record without the ids of forgotten rows."""
    kinds = {"source_sessions": "session", "observations": "observation", "kin": "learning"}
    left = {
        name: [each for each in record.fields[name] if not is_forgotten(records.tombstone(kinds[name], each))]
        for name in RULES[record.kind].sets
    }
    return replace(record, fields={**record.fields, **left})


def _whole(record: Record) -> str:
    """Return the digest of a record's fields that are synced, which tells whether any has changed."""
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
