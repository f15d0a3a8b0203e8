"""Finds what the assistant has explained in several sessions: two names that its statements join. Pure.

What is found out twice will be needed again: "a new field of `A` has to be copied to `B`". A pair of names
counts where few sessions speak of one without the other, and several pieces of work do.
"""

from __future__ import annotations

import os.path
from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

from claude_mem_lite.distill.statements import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.distill.state import State
    from claude_mem_lite.distill.thread import Said

RECURS = 3  # sessions
_WORKS, _TOGETHER = 2, 0.6  # of the sessions that speak of either name, so many join them
_MOST_NAMES, _SHORTEST = 4, 4  # a statement of more is a list


def explained(states: Sequence[tuple[str, State]]) -> list[tuple[Said, int]]:
    """Return statements with how many sessions joined the same names, most sessions first.

    `states` are those of sessions, the newest first, each with the work that it was part of: its branch, on a
    shared one the session itself. A statement is told once.
    """
    files = {form for _, state in states for path in state.files for form in _forms(path)}
    spoken: defaultdict[str, set[int]] = defaultdict(set)
    joined: defaultdict[tuple[str, str], dict[int, Said]] = defaultdict(dict)
    for at, (_, state) in enumerate(states):
        for said in state.statements:
            found = {name for name in names(said.text) if len(name) >= _SHORTEST and "/" not in name} - files
            for name in found:
                spoken[name].add(at)
            if not said.is_users and len(found) <= _MOST_NAMES:
                for pair in combinations(sorted(found), 2):
                    joined[pair].setdefault(at, said)
    best: dict[str, tuple[Said, int]] = {}
    for pair, by_session in sorted(joined.items(), key=lambda each: -len(each[1])):
        either = spoken[pair[0]] | spoken[pair[1]]
        works = {states[at][0] for at in by_session}
        if len(by_session) >= RECURS and len(works) >= _WORKS and len(by_session) >= _TOGETHER * len(either):
            said = max(by_session.values(), key=lambda said: len(said.says))
            best.setdefault(said.says, (said, len(by_session)))
    return list(best.values())


def _forms(path: str) -> tuple[str, str]:
    """Return how a statement names a file: with its ending and without."""
    base = os.path.basename(path).lower()
    return base, base.partition(".")[0]
