"""Triggers that record every change of a row, installed only while a hub is set up.

Triggers rather than a scan at sync time: a scan by time misses rows written after the clock was set back, and
one by content reads the whole memory every few minutes. A trigger runs in the transaction of the write
itself, whichever process writes, and records a primary key, never a text.

A deletion becomes a tombstone only while `forget` runs: the code map deletes calls as code changes.
"""

# ruff: noqa: S608  every statement is put together from names of ours

from claude_mem_lite.storage.models import memory_database
from claude_mem_lite.sync.records import RULES
from claude_mem_lite.sync.rows import fields_of
from claude_mem_lite.upkeep.store import TABLES

_TABLES = {kind: TABLES[kind]._meta.table_name for kind in RULES}  # noqa: SLF001  (peewee's)
# Only calls that sessions have observed or confirmed are recorded.
_ONLY = {"call": "new.source = 'observation' OR new.times_confirmed > 0"}
_OWN_NAMES = {"function_kind": "kind"}
_IS_FORGETTING = "EXISTS (SELECT 1 FROM state WHERE name = 'forgetting')"


def install() -> None:
    """Create the triggers."""
    for kind, table in _TABLES.items():
        columns = ", ".join(_OWN_NAMES.get(name, name) for name in fields_of(kind))
        note = (
            f"WHEN {_ONLY.get(kind, 'true')} BEGIN INSERT INTO sync_changes (kind, pk, has_forgotten)"
            f" VALUES ('{kind}', new.pk, {_IS_FORGETTING})"
            " ON CONFLICT DO UPDATE SET has_forgotten = max(has_forgotten, excluded.has_forgotten); END"
        )
        gone = f"BEGIN UPDATE sync_rows SET pk = NULL, is_gone = max(is_gone, {_IS_FORGETTING})"
        for statement in (
            f"inserted AFTER INSERT ON {table} {note}",
            f"updated AFTER UPDATE OF {columns} ON {table} {note}",
            f"deleted AFTER DELETE ON {table} {gone} WHERE kind = '{kind}' AND pk = old.pk; END",
        ):
            memory_database.execute_sql(f"CREATE TRIGGER IF NOT EXISTS sync_{kind}_{statement}")


def remove() -> None:
    """Drop the triggers."""
    for kind in _TABLES:
        for event in ("inserted", "updated", "deleted"):
            memory_database.execute_sql(f"DROP TRIGGER IF EXISTS sync_{kind}_{event}")


def note_all() -> None:
    """Record every row as changed, for a machine that begins to sync."""
    for kind, table in _TABLES.items():
        memory_database.execute_sql(
            f"INSERT OR IGNORE INTO sync_changes (kind, pk) SELECT '{kind}', pk FROM {table} AS new"
            f" WHERE {_ONLY.get(kind, 'true')}"
        )
