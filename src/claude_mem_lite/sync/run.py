"""Sync once: read what other machines have published, forget what they forgot, publish what is new here.

Each segment is merged in the transaction that moves its cursor, and what was sent is recorded after the hub
has it: an interrupted sync continues where it stopped, and repeating a step changes nothing. If the hub has
fewer or more files of this machine than the memory knows of, one of the two was restored from a backup: the
hub's files of this machine are then merged like another machine's, and everything is published again.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.forget import purge, store
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.storage import facts
from claude_mem_lite.sync import cards, segments, setup, signing
from claude_mem_lite.sync import log as changes
from claude_mem_lite.sync.hubs import Hub, hub_at
from claude_mem_lite.sync.log import Counters, Forgotten
from claude_mem_lite.sync.rows import Projects
from claude_mem_lite.sync.segments import Name
from claude_mem_lite.sync.setup import Outcome, Setup, recorded
from claude_mem_lite.upkeep.lines import WrongLineError

_LINES, _SEGMENTS = 500, 20  # lines of a segment, and segments per publication
_MOST_SEGMENTS = 300  # of a generation; with more, a new one begins
_BY_ID = frozenset({"session", "observation", "learning"})  # kinds that `forget` selects by id
_MOST_SAID = 20


def begin(address: str, *, name: str, code: str = "") -> Setup:
    """Set up a hub with this machine's key, and with the code of the user's other machines if there are any.

    Raises: ClaudeMemError when a hub is set up already, or none can be created at that address.
    """
    if setup.is_set_up():
        raise ClaudeMemError("a hub is already set up; to use another one, first run claude-mem sync leave")
    hub_at(address).create()
    chosen = setup.Setup(address, signing.ensure(), name, code or signing.new_code())
    with facts.transaction():
        changes.counters(chosen.machine).save()
    setup.save(chosen)
    return chosen


def leave(*, erase: bool) -> None:
    """Leave the hub; with `erase`, first delete this machine's files from it. Raises: ClaudeMemError."""
    chosen = setup.chosen()
    if erase:
        hub = hub_at(chosen.hub)
        hub.publish({}, [name for name in hub.names() if name.startswith(f"{chosen.machine}/")])
    with facts.transaction():
        changes.forget_machine()
    setup.delete()
    if not setup.is_set_up(setup.TEAM):
        signing.delete()


def sync(*, paused: Callable[[], AbstractContextManager[list[str]]]) -> Outcome:
    """Sync with the hub that is set up; `paused` stops the services while something is forgotten.

    Raises: ClaudeMemError when the hub cannot be reached, or another sync is running; the next one goes on.
    """
    chosen = setup.chosen()
    with recorded(chosen) as outcome:
        _sync(chosen, hub_at(chosen.hub), outcome, paused)
    return outcome


def to_send() -> Iterator[str]:
    """Yield every line that a sync would send now; nothing is changed. Raises: ClaudeMemError."""
    chosen = setup.chosen()
    with facts.transaction() as undone:
        now = changes.counters(chosen.machine)
        changes.capture(now)
        after = 0 if now.must_compact else now.pushed
        found = list(changes.published(after, most=-1))
        undone.rollback()
    for seq, said in found:
        try:
            yield segments.line_of(seq, said)
        except WrongLineError as error:
            yield f"held back: {error}"


def overview(chosen: Setup) -> dict[str, Any]:
    """Return the hub, its machines, the number of changes to send, and the outcome of the last sync."""
    error = ""
    found: dict[str, tuple[str, str]] = {}
    try:
        hub = hub_at(chosen.hub)
        found, _ = machines(hub, hub.names(), chosen.code)
    except ClaudeMemError as trouble:
        error = str(trouble)
    others = [name for machine, (name, _) in found.items() if machine != chosen.machine]
    return {
        "hub": chosen.hub, "name": chosen.name, "machine": chosen.machine, "machines": sorted(others),
        "waiting": changes.waiting(), "last": setup.last(), "error": error,
    }  # fmt: skip


def machines(hub: Hub, names: list[str], code: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return (name, public key) by id of the machines that know the code, and why others are refused."""
    found, refused = {}, []
    for path in names:
        machine, _, file = path.partition("/")
        if file != cards.FILE:
            continue
        try:
            found[machine] = cards.read(hub.read(path), machine, code)
        except cards.WrongCardError as error:
            refused.append(str(error))
    return found, refused


def _sync(
    chosen: Setup, hub: Hub, outcome: Outcome, paused: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    names = hub.names()
    known, outcome.refused = machines(hub, names, chosen.code)
    parsed = sorted(filter(None, map(Name.of, names)))
    own = [name for name in parsed if name.machine == chosen.machine]
    with facts.transaction():
        now = changes.counters(chosen.machine)
        now.save()
    if not _is_as_left(now, own):
        public = signing.public_key()
        for name in own:
            _pull(hub, name, public, chosen.machine, outcome)
        with facts.transaction():
            now = changes.counters(chosen.machine)
            now.must_compact = True
            now.save()
    for machine, (_, public) in known.items():
        if machine != chosen.machine:
            _pull_all(hub, [name for name in parsed if name.machine == machine], public, chosen, outcome)
    _forget(chosen.machine, outcome, paused)
    _push(chosen, hub, own, f"{chosen.machine}/{cards.FILE}" in names, outcome)
    if outcome.taken:
        inbox.ask_for_vectors()


def _is_as_left(now: Counters, own: list[Name]) -> bool:
    """Tell whether the hub has the files of this machine that the memory says it has."""
    if not now.generation:
        return not own
    return sorted(name.number for name in own if name.generation == now.generation) == now.published


def _pull_all(hub: Hub, of_one: list[Name], public: str, chosen: Setup, outcome: Outcome) -> None:
    """Read the new segments of a machine's newest generation."""
    newest = max((name.generation for name in of_one), default="")
    generation, number = changes.cursors().get(of_one[0].machine, ("", 0)) if of_one else ("", 0)
    number = number if generation == newest else 0
    for name in of_one:
        if name.generation != newest or name.number <= number:
            continue
        if not _pull(hub, name, public, chosen.machine, outcome, after=number):
            return
        number = name.number


def _pull(  # noqa: PLR0913  (what is read, by whom)
    hub: Hub, name: Name, public: str, machine: str, outcome: Outcome, *, after: int = -1
) -> bool:
    """Merge a segment and move the cursor; return False if it cannot be read yet.

    It must follow the segment numbered `after` (-1: any), because files may arrive in any order.
    """
    try:
        said = segments.read(name, hub.read(str(name)), public)
    except segments.WrongSegmentError as error:
        outcome.refused.append(str(error))
        return False
    if after not in {-1, said.after}:
        outcome.refused.append(f"{name} waits for the file before it")
        return False
    is_own = name.machine == machine
    with facts.transaction():
        now = changes.counters(machine)
        changes.capture(now)
        projects = Projects.read()
        for seq, each in said.lines:
            if isinstance(each, Forgotten):
                changes.merge_tombstone(now, each)
            else:
                outcome.taken += changes.merge(now, each, projects, seq=seq if is_own else 0)
        changes.clear_changes()
        if not is_own:
            changes.move_cursor(name.machine, name.generation, name.number)
        now.save()
    outcome.left_out += [f"{name}: {why}" for why in said.wrong][:_MOST_SAID]
    return True


def _forget(machine: str, outcome: Outcome, paused: Callable[[], AbstractContextManager[list[str]]]) -> None:
    """Forget to the last byte what others have forgotten; the next push publishes the rest again."""
    doomed = changes.doomed()
    here = [each for each in doomed if each[2] is not None]
    if here:
        store.note()
        with store.transaction():
            for kind, _, pk in here:
                if kind not in _BY_ID and pk is not None:
                    changes.delete_row(kind, pk)
        wanted = Wanted(ids=tuple(row_id for kind, row_id, _ in here if kind in _BY_ID))
        _, problems = purge.forget(wanted, paused=paused())
        outcome.refused += problems
        outcome.forgotten = len(here)
    if doomed:
        with facts.transaction():
            changes.drop_doomed()
            now = changes.counters(machine)
            now.must_compact = True
            now.save()


def _push(chosen: Setup, hub: Hub, own: list[Name], has_card: bool, outcome: Outcome) -> None:  # noqa: FBT001
    """Publish the changes, or everything if something was forgotten; then delete older generations."""
    while True:
        with facts.transaction():
            now = changes.counters(chosen.machine)
            changes.capture(now)
            if now.must_compact or len(now.published) > _MOST_SEGMENTS:
                now.generation, now.published = _next_generation(now, own), []
                now.must_compact = False
            found = list(changes.published(now.pushed, most=_LINES * _SEGMENTS))
            now.save()
        added = {} if has_card else {f"{chosen.machine}/{cards.FILE}": cards.write(chosen.name, chosen.code)}
        numbers: list[int] = []
        for start in range(0, len(found), _LINES):
            some = found[start : start + _LINES]
            name = Name(chosen.machine, now.generation, some[-1][0])
            before = [*now.published, *numbers][-1:] or [0]
            added[str(name)] = segments.write(name, list(_lines(some, outcome)), after=before[0])
            numbers.append(name.number)
        is_last = len(found) < _LINES * _SEGMENTS
        dropped = [str(name) for name in own if name.generation != now.generation] if is_last else []
        if added or dropped:
            hub.publish(added, dropped)
        if found:
            with facts.transaction():
                again = changes.counters(chosen.machine)
                again.published += numbers
                again.save()
        has_card = True
        if is_last:
            return


def _lines(found: list[tuple[int, Any]], outcome: Outcome) -> Iterator[str]:
    for seq, said in found:
        try:
            yield segments.line_of(seq, said)
            outcome.sent += 1
        except WrongLineError as error:
            outcome.held_back.append(f"{said.kind} {said.id[:8]}: {error}")


def _next_generation(now: Counters, own: list[Name]) -> str:
    known = [now.generation, *(name.generation for name in own)]
    newest = max((int(head) for each in known if (head := each.partition("-")[0]).isdigit()), default=0)
    return f"{newest + 1:08d}-{os.urandom(4).hex()}"
