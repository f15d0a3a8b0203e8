"""Store small facts that the processes share, each a JSON object under a name."""

from typing import Any

from claude_mem_lite.storage.models import State, memory_database


def read(name: str) -> dict[str, Any]:
    """Return the object last written under a name, or an empty one."""
    row = State.get_or_none(State.name == name)
    return dict(row.value) if row else {}


def write(name: str, value: dict[str, Any]) -> None:
    """Store a fact under a name, replacing the old one."""
    State.insert(name=name, value=value).on_conflict_replace().execute()


def transaction() -> Any:
    """Return a write transaction: all changes inside it are made, or none, and no other process writes."""
    return memory_database.atomic()


def snapshot() -> Any:
    """Return a read transaction that sees one state of the database, even if others write meanwhile."""
    return memory_database.atomic("DEFERRED")
