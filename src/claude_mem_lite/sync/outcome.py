"""Run one sync at a time and note how it went: what was sent, what came, what was refused and why."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from claude_mem_lite import locks
from claude_mem_lite.capture import inbox
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync import setup

log = logging.getLogger(__name__)

_NAMES = {setup.OWN: "a sync", setup.TEAM: "a sync with the team"}


@dataclass(slots=True)
class Outcome:
    """Counts of one sync: lines sent, lines that changed something here, rows deleted as others did.

    `refused` says which machines or segments were not read and why, `left_out` which lines, `held_back` which
    own lines were not sent.
    """

    sent: int = 0
    taken: int = 0
    forgotten: int = 0
    refused: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    held_back: list[str] = field(default_factory=list)


@contextmanager
def recorded(chosen: setup.Setup, of: str = setup.OWN) -> Iterator[Outcome]:
    """Hold the lock of a sync, yield its outcome and note it, also of a sync that fails.

    Raises: ClaudeMemError when another sync of the same hub is at work.
    """
    outcome = Outcome()
    with locks.hold(f"{of}.lock") as is_mine:
        if not is_mine:
            raise ClaudeMemError(f"{_NAMES[of]} is at work already")
        how: dict[str, Any] = {"at": inbox.utc_now(), "hub": chosen.hub}
        try:
            yield outcome
            how["synced_at"] = how["at"]
        except ClaudeMemError as error:
            how |= {"synced_at": setup.last(of).get("synced_at", ""), "error": str(error)}
            raise
        finally:
            setup.note_last(how | asdict(outcome), of)
    log.info(
        "%s: %s sent, %s taken, %s forgotten", _NAMES[of], outcome.sent, outcome.taken, outcome.forgotten
    )
