"""Find the functions and types that are changed together time after time, across files. Pure.

Who adds a field to a type has to add it where the type is copied: what several pieces of work have changed
together is likely to be needed together. Source: T. Zimmermann et al., Mining version histories to guide
software changes, 2005: rules from what was changed together, by support and confidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# A rule has held so many times, in so large a share of the changes; what changes with more is a hub.
LEAST_TIMES, _SHARE = 3, 0.7
_MOST_PLACES = 60  # in one piece of work: what changes more is a sweep
_TEST = re.compile(r"(?i:(?:^|[/_.-])(?:tests?|specs?)[/_.-])|[a-z]Tests?\.")


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
    often = {place for place, count in times.items() if count >= LEAST_TIMES}
    for places in works.values():
        if len(places) <= _MOST_PLACES:
            for one, other in permutations(sorted(places & often), 2):
                both[one][other] += 1
    found = []
    for place, counts in both.items():
        held = {other: n for other, n in counts.items() if n >= LEAST_TIMES and n >= _SHARE * times[place]}
        if path in {"", place.file} and any(other.file != place.file for other in held):
            others = sorted(held.items(), key=lambda each: (-each[1], each[0]))
            found.append(Together(place, times[place], tuple(others)))
    found.sort(key=lambda each: (-sum(n for _, n in each.others), each.place))
    return _without_repeated(found)


def is_test(path: str) -> bool:
    """Tell whether a file is one of tests, by what languages call such files and their folders."""
    return _TEST.search(path) is not None


def _without_repeated(found: Iterable[Together]) -> list[Together]:
    told: list[set[Place]] = []
    kept = []
    for each in found:
        places = {each.place, *(place for place, _ in each.others)}
        if not any(places <= before for before in told):
            told.append(places)
            kept.append(each)
    return kept
