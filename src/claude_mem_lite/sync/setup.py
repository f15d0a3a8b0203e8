"""Store the hub and this machine's identity in `sync.json`, the outcome of the last sync in `sync-last.json`.

The hub of a team has files of its own, `team.json` and `team-last.json`. One sync with each runs at a time.
Standard library only: the consumer asks every few minutes. Only the user can read the files.
"""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from claude_mem_lite import config, locks
from claude_mem_lite.capture import inbox
from claude_mem_lite.errors import ClaudeMemError

log = logging.getLogger(__name__)

OWN, TEAM = "sync", "team"
_NAMES = {OWN: "a sync", TEAM: "a sync with the team"}
_NOTHING = {
    OWN: "no hub is set up: claude-mem sync init folder:PATH, git:REPOSITORY or postgres:URL",
    TEAM: "this machine is not in a team; to join one: claude-mem team join HUB",
}


@dataclass(frozen=True, slots=True)
class Setup:
    """The hub's address, this machine's id and name, and the code that the user's machines share."""

    hub: str
    machine: str
    name: str
    code: str = field(repr=False)


def load(of: str = OWN) -> Setup | None:
    """Return the setup, None if there is none. Raises: ClaudeMemError when it cannot be read."""
    given = _read(f"{of}.json")
    if given is None:
        return None
    try:
        return Setup(**given)
    except TypeError as error:
        raise ClaudeMemError(
            f"{_path(f'{of}.json')} cannot be used: claude-mem {of} leave, then set it up again"
        ) from error


def chosen(of: str = OWN) -> Setup:
    """Return the setup. Raises: ClaudeMemError if there is none, or it cannot be read."""
    found = load(of)
    if found is None:
        raise ClaudeMemError(_NOTHING[of])
    return found


def is_set_up(of: str = OWN) -> bool:
    """Tell whether a hub is set up."""
    return os.path.exists(_path(f"{of}.json"))


def save(setup: Setup, of: str = OWN) -> None:
    """Store a setup."""
    _write(f"{of}.json", asdict(setup))


def delete(of: str = OWN) -> None:
    """Delete the setup and the outcome of its last sync."""
    for name in (f"{of}.json", f"{of}-last.json"):
        if os.path.exists(_path(name)):
            os.unlink(_path(name))


def last(of: str = OWN) -> dict[str, Any]:
    """Return the outcome of the last sync, {} if there was none."""
    try:
        return _read(f"{of}-last.json") or {}
    except ClaudeMemError:
        return {}


def note_last(how: dict[str, Any], of: str = OWN) -> None:
    """Store the outcome of a sync."""
    _write(f"{of}-last.json", how)


@dataclass(slots=True)
class Outcome:
    """Counts of one sync: lines sent, lines that changed something here, rows that others have deleted.

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
def recorded(chosen: Setup, of: str = OWN) -> Iterator[Outcome]:
    """Hold the lock of a sync, yield its outcome and store that, even if the sync fails.

    Raises: ClaudeMemError when another sync of the same hub is at work.
    """
    outcome = Outcome()
    with locks.hold(f"{of}.lock") as is_mine:
        if not is_mine:
            raise ClaudeMemError(f"{_NAMES[of]} is already running: try again when it has finished")
        how: dict[str, Any] = {"at": inbox.utc_now(), "hub": chosen.hub}
        try:
            yield outcome
            how["synced_at"] = how["at"]
        except ClaudeMemError as error:
            how |= {"synced_at": last(of).get("synced_at", ""), "error": str(error)}
            raise
        finally:
            note_last(how | asdict(outcome), of)
    log.info(
        "%s: %s sent, %s taken, %s forgotten", _NAMES[of], outcome.sent, outcome.taken, outcome.forgotten
    )


def _read(name: str) -> dict[str, Any] | None:
    try:
        with open(_path(name), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
            return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ClaudeMemError(f"{_path(name)} cannot be read ({error})") from error


def _write(name: str, value: dict[str, Any]) -> None:
    config.ensure_home()
    unfinished = f"{_path(name)}.{os.getpid()}"
    with open(
        os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(value, file, indent=1)
    os.replace(unfinished, _path(name))


def _path(name: str) -> str:
    return os.path.join(config.home(), name)
