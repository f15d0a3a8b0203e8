"""Tell what the commands `sync` and `team` both report of a hub."""

import time
from collections.abc import Mapping
from typing import Any

from claude_mem_lite.cli.text import age
from claude_mem_lite.sync.setup import Outcome


def synced(last: Mapping[str, Any]) -> str:
    """Return how long ago the last sync succeeded, "never" before there was one."""
    return age(last["synced_at"], time.time()) if last.get("synced_at") else "never"


def problems_of(last: Mapping[str, Any], now: str = "") -> list[str]:
    """Return what was wrong with the last sync, and what is wrong with the hub `now`, each once."""
    wrong = dict.fromkeys(filter(None, [last.get("error"), now]))
    return [*wrong, *last.get("refused", []), *last.get("held_back", [])]


def problems_in(outcome: Outcome) -> list[str]:
    """Return what was refused, left out or held back in a sync."""
    return [
        *outcome.refused,
        *(f"left out: {each}" for each in outcome.left_out),
        *(f"held back: {each}" for each in outcome.held_back),
    ]
