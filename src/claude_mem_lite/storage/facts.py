"""Keep the facts that the processes share, each an object under a name."""

from typing import Any

from claude_mem_lite.storage.models import State, memory_database


def read(name: str) -> dict[str, Any]:
    """Return what was last written under a name, or an empty object."""
    row = State.get_or_none(State.name == name)
    return dict(row.value) if row else {}


def write(name: str, value: dict[str, Any]) -> None:
    """Put a fact under a name."""
    State.insert(name=name, value=value).on_conflict_replace().execute()


def transaction() -> Any:
    """Return a context in which nobody else writes, and several changes are made, or none."""
    return memory_database.atomic()


def snapshot() -> Any:
    """Return a context in which everything that is read is of one moment, whoever writes meanwhile."""
    return memory_database.atomic("DEFERRED")
