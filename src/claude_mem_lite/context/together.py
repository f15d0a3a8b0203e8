"""Find functions and types that are usually changed together."""

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
# Factor for a rule's value per session since its last change.
_FADES = 0.97
# Support and confidence of a rule: least number of joint changes, and least share of a place's changes.
_LEAST_TIMES, _SHARE = 3, 0.7
_MOST_PLACES = 60  # a piece of work that changes more places is a sweep and is not counted


class Place(NamedTuple):
    """A function or type, by its file and its qualified name."""

    file: str
    name: str


class Together(NamedTuple):
    """The places changed together with one: each with in how many of the `times` that one was changed."""

    place: Place
    times: int
    others: tuple[tuple[Place, int], ...]


def changed_together(changes: Iterable[tuple[str, Place]], *, path: str = "") -> list[Together]:
    """Return the places that are usually changed with places of other files, most evidence first.

    `changes` are pairs of a piece of work and a place changed in it. A place that is covered, together with
    all of its partners, by an earlier result is left out; so are tests, which change with the code they
    test. `path` limits the results to the places of that file.

    Source: T. Zimmermann et al., Mining version histories to guide software changes, 2005: association rules
    from joint changes, by support and confidence.
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
    """Return a line for each place that is usually changed with others; `path` limits them to a file."""
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
