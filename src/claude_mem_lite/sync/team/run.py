"""Sync once with a team's hub: read what colleagues published of the projects here, then publish.

Each machine publishes a stream per project that its user shares, in signed segments like those between one's
own machines. No line withdraws what is no longer shared or was forgotten: the whole stream is published again
as a new generation, and readers delete what that lacks. A hub that is not as this machine left it, because it
was restored or lost files, gets a new generation too. Readers never go back to an older generation, so old
files that somebody puts there bring nothing back.
"""

import json
import logging
import os
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.forget.store import times_forgotten
from claude_mem_lite.storage import projects, team
from claude_mem_lite.sync import cards, segments, setup, signing
from claude_mem_lite.sync.hubs import Hub, hub_at
from claude_mem_lite.sync.segments import Name
from claude_mem_lite.sync.setup import Outcome, Setup, recorded
from claude_mem_lite.sync.team import incoming, outgoing
from claude_mem_lite.sync.team.outgoing import Item
from claude_mem_lite.upkeep.lines import WrongLineError

log = logging.getLogger(__name__)

_LINES, _MOST_SEGMENTS = 500, 30
_MOST_BYTES = 32 << 20  # of a segment
_MOST_SAID = 20
_NAME = re.compile(r"[^\W_][\w.@-]{0,19}(?: [\w.@-]{1,20})?")  # too short to hold a sentence


@dataclass(slots=True)
class _Project:
    """A project that takes part, and its stream as this machine left it at the hub."""

    key: str
    project_dir: str
    kinds: list[str]
    generation: str
    numbers: list[int]
    forgotten: int

    @property
    def digest(self) -> str:
        return incoming.project_digest(self.key)


def join(address: str, *, name: str, code: str = "") -> Setup:
    """Join a team's hub under a name, with the code of the team unless this is its first machine.

    Raises: ClaudeMemError when there is a team already, or no hub at that address.
    """
    if setup.is_set_up(setup.TEAM):
        raise ClaudeMemError(
            "this machine is already in a team; to join another, first run claude-mem team leave"
        )
    if not _NAME.fullmatch(name):
        raise ClaudeMemError(
            f"{name!r} is not a valid name: give one or two words of at most 20 characters each"
        )
    hub_at(address, is_team=True).create()
    chosen = setup.Setup(address, signing.ensure(), name, code or signing.new_code())
    with team.writing():
        pass
    setup.save(chosen, setup.TEAM)
    return chosen


def leave(*, erase: bool) -> None:
    """Leave the team; with `erase`, first withdraw what this machine has shared. Raises: ClaudeMemError.

    Colleagues delete it when they sync: an empty generation of each stream and the card stay at the hub.
    """
    chosen = setup.chosen(setup.TEAM)
    if erase:
        with team.writing() as connection:
            connection.execute("UPDATE shared SET kinds = '[]'")
        sync()
    setup.delete(setup.TEAM)
    team.delete()
    if not setup.is_set_up():
        signing.delete()
    log.info("left the team at %s", chosen.hub)


def share(project_dir: str, kinds: Collection[str]) -> None:
    """Choose the kinds of rows of a project that are shared from the next sync on. Raises: ClaudeMemError."""
    setup.chosen(setup.TEAM)
    if not team.key_of(project_dir):
        projects.see(project_dir)  # no session was in it yet
    key = team.key_of(project_dir)
    if not key:
        raise ClaudeMemError(
            f"{project_dir} has no origin and no commit, so it cannot be matched with colleagues' clones"
        )
    with team.writing() as connection:
        connection.execute(
            "INSERT INTO shared (project, project_dir, kinds) VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
            " SET kinds = excluded.kinds, project_dir = excluded.project_dir",
            (key, project_dir, json.dumps(list(kinds))),
        )


def shared() -> dict[str, list[str]]:
    """Return the shared kinds of each project that takes part, by its folder."""
    return {each.project_dir: each.kinds for each in _taking_part()}


def project_digests() -> list[str]:
    """Return the digests by which the hub names the projects that take part."""
    return [each.digest for each in _taking_part()]


def machines_of(name: str) -> list[team.Author]:
    """Return the machines with a name, or the one with an id. Raises: ClaudeMemError for an unknown one."""
    authors = team.authors()
    found = [each for each in authors if name == each.machine]  # first, as a name may imitate an id
    found = found or [each for each in authors if name in {each.name, each.known_as}]
    if not found:
        raise ClaudeMemError(f"no team member is called {name!r}: claude-mem sync, then claude-mem team list")
    return found


def trust(name: str) -> list[team.Author]:
    """Show sessions what the machines of a name share. Raises: ClaudeMemError."""
    found = machines_of(name)
    for each in found:
        team.trust(each.machine)
    return found


def distrust(name: str) -> list[team.Author]:
    """Stop showing sessions what the machines of a name share. Raises: ClaudeMemError."""
    found = machines_of(name)
    for each in found:
        team.distrust(each.machine)
    return found


def sync() -> Outcome:
    """Sync with the team's hub. Raises: ClaudeMemError when it is not there; the next sync goes on."""
    chosen = setup.chosen(setup.TEAM)
    with recorded(chosen, setup.TEAM) as outcome:
        _sync(chosen, hub_at(chosen.hub, is_team=True), outcome)
    return outcome


def to_send() -> Iterator[str]:
    """Yield every line that a sync would send to the team now; nothing is changed. Raises: ClaudeMemError."""
    setup.chosen(setup.TEAM)
    with team.writing() as connection:
        for project in _projects(connection):
            found = list(outgoing.items(project.project_dir, project.key, project.kinds))
            new, is_anew = _changes(connection, project, found)
            for item in found if is_anew else new:
                try:
                    line = _line(item)
                except WrongLineError as error:
                    line = f"held back: {error}"
                if line:
                    yield line


def _taking_part() -> list[_Project]:
    if not team.is_there():
        return []
    with team.writing() as connection:
        return _projects(connection)


def _projects(connection: Any) -> list[_Project]:
    rows = connection.execute(
        "SELECT project, project_dir, kinds, generation, numbers, forgotten FROM shared ORDER BY project"
    ).fetchall()
    return [_Project(key, at, json.loads(kinds), gen, json.loads(numbers), gone)
            for key, at, kinds, gen, numbers, gone in rows]  # fmt: skip


def _sync(chosen: Setup, hub: Hub, outcome: Outcome) -> None:
    taking_part = {each.digest: each for each in _taking_part()}
    paths = hub.names(list(taking_part))
    known = _machines(hub, paths, chosen, outcome)
    streams: dict[tuple[str, str], dict[Name, list[str]]] = {}
    for path in paths:
        name = Name.of("/".join(path.split("/")[-2:]))
        project = name.generation.partition(".")[0] if name else ""
        if name and project in taking_part:
            streams.setdefault((name.machine, project), {}).setdefault(name, []).append(path)
    for (machine, project), files in streams.items():
        if machine in known and machine != chosen.machine:
            _pull(hub, files, known[machine], taking_part[project].key, outcome)
    if outcome.forgotten:
        team.purge()
    own = {path for path in paths if path.startswith(f"{chosen.machine}/")}
    for each in taking_part.values():
        _push(chosen, hub, each, own, outcome)


def _machines(hub: Hub, paths: list[str], chosen: Setup, outcome: Outcome) -> dict[str, str]:
    """Return the public key of each machine of the team, read once; refuse machines with a wrong code."""
    with team.writing() as connection:
        found = dict(connection.execute("SELECT machine, key FROM machines").fetchall())
        trusted = dict(connection.execute("SELECT machine, key FROM trusted").fetchall())
    new: dict[str, tuple[str, str]] = {}
    for path in paths:
        machine, file = path.split("/")[-2:]
        if file != cards.FILE or machine in found or machine in new or machine == chosen.machine:
            continue
        try:
            name, public = cards.read(hub.read(path), machine, chosen.code)
        except cards.WrongCardError as error:
            outcome.refused.append(str(error))
            continue
        if not _NAME.fullmatch(name):
            outcome.refused.append(f"{machine} has an invalid name")
        elif trusted.get(machine, public) != public:
            outcome.refused.append(f"{machine} has a different key from the one you trust")
        else:
            new[machine] = (name, public)
    with team.writing() as connection:
        connection.executemany(
            "INSERT OR IGNORE INTO machines (machine, name, key) VALUES (?, ?, ?)",
            [(machine, name, public) for machine, (name, public) in new.items()],
        )
    return found | {machine: public for machine, (_, public) in new.items()}


def _pull(hub: Hub, files: dict[Name, list[str]], public: str, key: str, outcome: Outcome) -> None:
    """Read the new segments of a stream's newest generation, never of one older than was read before.

    A generation that its machine has not signed is skipped for the next older one.
    """
    machine = next(iter(files)).machine
    with team.writing() as connection:
        seen, number = connection.execute(
            "SELECT generation, number FROM streams WHERE machine = ? AND project = ?", (machine, key)
        ).fetchone() or ("", 0)
    for generation in sorted({name.generation for name in files}, reverse=True):
        if generation < seen:
            return
        read_up_to = number if generation == seen else 0
        names = sorted(name for name in files if name.generation == generation and name.number > read_up_to)
        for name in names:
            found = _read(hub, name, files[name], public, outcome)
            if found is None:
                break
            head, body = found
            if head["after"] != read_up_to:
                outcome.refused.append(f"{name} waits for the file before it")
                return
            with team.writing() as connection:
                taken = incoming.take(connection, name, head, body, key)
            outcome.taken += taken.lines
            outcome.forgotten += taken.gone
            outcome.left_out += [f"{name}: {why}" for why in taken.wrong][
                : _MOST_SAID - len(outcome.left_out)
            ]
            read_up_to = name.number
        if not names or read_up_to >= names[0].number:
            return


def _read(
    hub: Hub, name: Name, paths: list[str], public: str, outcome: Outcome
) -> tuple[dict[str, Any], list[bytes]] | None:
    """Return the segment that its machine has signed, None for none; others may have used its name."""
    why = ""
    for path in paths:
        data = hub.read(path)
        if len(data) > _MOST_BYTES:
            why = f"{name} is larger than {_MOST_BYTES >> 20} MiB"
            continue
        try:
            return segments.opened(name, data, public)
        except segments.WrongSegmentError as error:
            why = str(error)
    outcome.refused.append(why)
    return None


def _push(chosen: Setup, hub: Hub, project: _Project, own: set[str], outcome: Outcome) -> None:
    """Publish the changes of a project, or all of it again; record them once the hub has them."""
    found = list(outgoing.items(project.project_dir, project.key, project.kinds))
    there = {name for name in map(Name.of, own) if name and name.generation.startswith(f"{project.digest}.")}
    forgotten = times_forgotten()
    with team.writing() as connection:
        new, is_anew = _changes(connection, project, found)
    as_left = (
        sorted(name.number for name in there if name.generation == project.generation) == project.numbers
    )
    is_anew |= not (as_left and project.generation) or forgotten != project.forgotten
    is_anew |= len(project.numbers) >= _MOST_SEGMENTS
    if not new and not (is_anew and (project.generation or there)):
        return
    if is_anew:
        newest = max((name.generation for name in there), default="")
        project.generation, project.numbers, new = _next_generation(project, newest), [], found
    lines = list(_lines(new, outcome))
    added = {} if f"{chosen.machine}/{cards.FILE}" in own else {
        f"{chosen.machine}/{cards.FILE}": cards.write(chosen.name, chosen.code)
    }  # fmt: skip
    first, count = (project.numbers or [0])[-1], max(1, -(-len(lines) // _LINES))
    for at in range(count):
        name = Name(chosen.machine, project.generation, first + at + 1)
        some = lines[at * _LINES : (at + 1) * _LINES]
        whole = count if is_anew else 0
        added[str(name)] = segments.write(name, some, after=name.number - 1, whole=whole)
        project.numbers.append(name.number)
    hub.publish(added, [str(name) for name in there if name.generation != project.generation])
    with team.writing() as connection:
        if is_anew:
            connection.execute("DELETE FROM sent WHERE project = ?", (project.key,))
        connection.executemany(
            "INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?)",
            [(project.key, item.kind, item.id, item.digest) for item in new],
        )
        connection.execute(
            "UPDATE shared SET generation = ?, numbers = ?, forgotten = ? WHERE project = ?",
            (project.generation, json.dumps(project.numbers), forgotten, project.key),
        )
    outcome.sent += len(lines)


def _changes(connection: Any, project: _Project, found: list[Item]) -> tuple[list[Item], bool]:
    """Return the items that are new or changed, and whether a sent one is no longer shared."""
    sent = {
        (kind, row_id): digest
        for kind, row_id, digest in connection.execute(
            "SELECT kind, id, digest FROM sent WHERE project = ?", (project.key,)
        )
    }
    new = [item for item in found if sent.get((item.kind, item.id)) != item.digest]
    return new, not sent.keys() <= {(item.kind, item.id) for item in found}


def _lines(found: list[Item], outcome: Outcome) -> Iterator[str]:
    for item in found:
        try:
            if line := _line(item):
                yield line
        except WrongLineError as error:
            outcome.held_back.append(f"{item.kind} {item.id[:8]}: {error}")


def _line(item: Item) -> str:
    """Return the line of an item, redacted once more, "" if it has none. Raises: WrongLineError."""
    fields = item.fields()
    return json.dumps(segments.cleaned(fields), ensure_ascii=False) if fields else ""


def _next_generation(project: _Project, newest: str) -> str:
    """Return a name that sorts after all earlier ones, also after this machine's memory was restored."""
    known = [each.partition(".")[2].partition("-")[0] for each in (project.generation, newest)]
    last = max((int(each) for each in known if each.isdigit()), default=0)
    return f"{project.digest}.{max(last + 1, int(time.time())):012d}-{os.urandom(4).hex()}"
