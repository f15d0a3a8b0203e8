"""Tell what has to be changed with what: functions and types that were changed together time after time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from claude_mem_lite.distill.standing import is_test
from claude_mem_lite.quoting import named
from claude_mem_lite.storage import code
from claude_mem_lite.text import join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.context.past import Past

LINES = 3

_CHARS, _OTHERS = 320, 4
# What was changed together is worth so much less for each session since.
_FADES = 0.97
# A rule has held so many times, in so large a share of the changes; what changes with more is a hub.
_LEAST_TIMES, _SHARE = 3, 0.7
_MOST_PLACES = 60  # in one piece of work: what changes more is a sweep


class Place(NamedTuple):
    """A function or type, by its file and its qualified name."""

    file: str
    name: str


class Together(NamedTuple):
    """What is changed with a place: each other place, with how many of the place's `times` it was."""

    place: Place
    times: int
    others: tuple[tuple[Place, int], ...]


def changed_together(changes: Iterable[tuple[str, Place]], *, path: str = "") -> list[Together]:
    """Return the places that are changed with others of other files, those with most evidence first.

    `changes` say in which piece of work a place was changed. A place that stands beside all of its partners
    in one before it is left out, and so are tests, which change with what they test. With a `path` only the
    places of that file.

    Source: T. Zimmermann et al., Mining version histories to guide software changes, 2005: rules from
    what was changed together, by support and confidence.
    """
    works: defaultdict[str, set[Place]] = defaultdict(set)
    for work, place in changes:
        if not is_test(place.file):
            works[work].add(place)
    times: defaultdict[Place, int] = defaultdict(int)
    both: defaultdict[Place, defaultdict[Place, int]] = defaultdict(lambda: defaultdict(int))
    for places in works.values():
        for place in places:
            times[place] += 1
    often = {place for place, count in times.items() if count >= _LEAST_TIMES}
    for places in works.values():
        if len(places) <= _MOST_PLACES:
            for one, other in permutations(sorted(places & often), 2):
                both[one][other] += 1
    found = []
    for place, counts in both.items():
        held = {other: n for other, n in counts.items() if n >= _LEAST_TIMES and n >= _SHARE * times[place]}
        if path in {"", place.file} and any(other.file != place.file for other in held):
            others = sorted(held.items(), key=lambda each: (-each[1], each[0]))
            found.append(Together(place, times[place], tuple(others)))
    found.sort(key=lambda each: (-sum(n for _, n in each.others), each.place))
    return _without_repeated(found)


def _without_repeated(found: Iterable[Together]) -> list[Together]:
    told: list[set[Place]] = []
    kept = []
    for each in found:
        places = {each.place, *(place for place, _ in each.others)}
        if not any(places <= before for before in told):
            told.append(places)
            kept.append(each)
    return kept


def changed_with(past: Past, path: str = "") -> list[Line]:
    """Return a line for each place that is changed with others; with a `path` for those of that file."""
    newest: dict[Place, code.Changed] = {}
    made: list[tuple[str, Place]] = []
    for row in code.newest_changes(past.project_dir):
        place = Place(row.file, row.name)
        newest.setdefault(place, row)
        if newest[place].change_type != "deleted":
            made.append((row.work, place))
    lines = []
    for each in changed_together(made, path=path):
        last = newest[each.place]
        if last.created_at > past.since:
            since = sum(row.last_event_at > last.created_at for row in past.sessions)
            times = each.others[0][1]
            line = past.line(
                last.observation_id, "function", last.created_at, _told(each),
                weight=times / _LEAST_TIMES * _FADES**since,
                reason=f"changed together {times} times", chars=_CHARS,
            )  # fmt: skip
            lines.append(replace(line, says_more=True))
    return lines


def _told(found: Together) -> str:
    """Return "State (session/state.go): 5 of 6 times with load and save (session/store.go)"."""
    fewest = min(times for _, times in found.others[:_OTHERS])
    files: defaultdict[str, list[str]] = defaultdict(list)
    for place, _ in found.others[:_OTHERS]:
        files[place.file].append(named(place.name))
    beside = ", ".join(f"{join(names)} ({_short(file)})" for file, names in files.items())
    own = f"{named(found.place.name)} ({_short(found.place.file)})"
    return f"{own}: {fewest} of {found.times} times with {beside}"


def _short(path: str) -> str:
    return named("/".join(path.split("/")[-2:]))
