"""Format what both `sync` and `team` report about a hub."""

import time
from collections.abc import Mapping
from typing import Any

from claude_mem_lite.cli.text import age
from claude_mem_lite.sync.setup import Outcome


def synced(last: Mapping[str, Any]) -> str:
    """Return how long ago the last sync succeeded, "never" if none has."""
    return age(last["synced_at"], time.time()) if last.get("synced_at") else "never"


def problems_of(last: Mapping[str, Any], now: str = "") -> list[str]:
    """Return the problems of the last sync, and the hub's current problem (`now`), each once."""
    wrong = dict.fromkeys(filter(None, [last.get("error"), now]))
    return [*wrong, *last.get("refused", []), *last.get("held_back", [])]


def problems_in(outcome: Outcome) -> list[str]:
    """Return what was refused, left out or held back in a sync."""
    return [
        *outcome.refused,
        *(f"left out: {each}" for each in outcome.left_out),
        *(f"held back: {each}" for each in outcome.held_back),
    ]
