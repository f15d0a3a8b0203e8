"""Merging records: whatever order, however often, by whatever way, the same comes of it."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_mem_lite.sync import records
from claude_mem_lite.sync.records import RULES, Record, merged

TEXTS = st.sampled_from(["", "a", "b", "c"])
TIMES = st.sampled_from([f"2026-11-{day:02}T00:00:00.000000Z" for day in range(1, 5)])
LISTS = st.lists(TEXTS, max_size=3, unique=True)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "times_seen": st.integers(1, 5), "is_manual": st.booleans(), "is_active": st.booleans(),
    "base": st.sampled_from([0.4, 0.5, 1.0]), "quarantine": LISTS, "code": LISTS, "guard": st.none(),
    "times_confirmed": st.integers(0, 4), "confidence": st.sampled_from([0.3, 0.6]),
    "line": st.integers(0, 3), "is_cured": st.booleans(), "ended_at": TIMES | st.none(),
    "last_confirmed_at": TIMES | st.none(),
    "superseded_by": TEXTS | st.none(), "key_files": LISTS, "status": st.sampled_from(["active", "closed"]),
    "source": st.sampled_from(["ast", "observation"]),
}  # fmt: skip
MACHINES = st.sampled_from(["m1", "m2", "m3"])


@st.composite
def states(draw: st.DrawFn, kind: str) -> Record:
    """Draw a state of the one row of a kind, as a machine may hold it."""
    rule = RULES[kind]
    names = {name for group in rule.groups.values() for name in group}
    names |= {*rule.sets, *rule.first, *rule.last, *rule.last_together}
    fields: dict[str, Any] = dict.fromkeys(records.NAMES.get(kind, ("id", "event_id")), "same")
    for name in sorted(names):
        is_time = name.endswith("_at")
        usual = LISTS if name in rule.sets else TIMES if is_time else TEXTS
        fields.setdefault(name, draw(VALUES.get(name, usual)))
    if kind == "learning":
        fields |= {"confidence": 0.0, "stale": ""}
    counts = st.integers(0, 3)
    versions = {group: draw(st.tuples(counts, counts, counts, MACHINES)) for group in rule.groups}
    evidence = draw(
        st.dictionaries(MACHINES, st.tuples(counts, counts, st.sampled_from([-0.3, 0.09])), max_size=3)
    )
    state = Record(kind, fields, versions, evidence if kind == "learning" else {})
    return merged(state, state)


@pytest.mark.parametrize("kind", RULES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_merging_is_commutative_associative_and_idempotent(kind: str, data: st.DataObject) -> None:
    """So that neither order, nor repetition, nor who met whom first decides anything."""
    a, b, c = (data.draw(states(kind)) for _ in range(3))

    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))
    assert merged(a, a) == a
    assert merged(merged(a, b), b) == merged(a, b)


@settings(max_examples=100, deadline=None)
@given(some=st.lists(states("learning"), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_any_order_gives_the_same(some: list[Record], seed: int) -> None:
    """Shuffled and with duplicates, many states come to one."""
    chance = random.Random(seed)  # noqa: S311
    again = chance.sample([*some, *chance.choices(some, k=3)], len(some) + 3)

    assert reduce(merged, some) == reduce(merged, again)


def learning(**fields: Any) -> Record:
    """Return a learning that one session has taught."""
    return Record(
        "learning",
        {
            "id": "l1", "project_dir": "k", "category": "convention", "content": "Use tabs",
            "is_manual": False, "base": 0.5, "is_active": True, "quarantine": [], "superseded_by": None,
            "guard": None,
            "code": [], "source_sessions": ["s1"], "observations": [], "kin": [], "created_at": "1",
            "times_seen": 1, "updated_at": "1", "seen_at": "1", "stale": "", "confidence": 0.5, **fields,
        },
        {"words": (0, 0, 1, "m1"), "state": (0, 0, 1, "m1"), "code": (0, 0, 1, "m1")},
    )  # fmt: skip


def test_confidence_is_of_all_evidence() -> None:
    """Two machines that have each heard it again are surer together than either; sessions count once."""
    first = replace(learning(source_sessions=["s1", "s2"]), evidence={"m1": (0, 2, 0.09)})
    other = replace(learning(source_sessions=["s1", "s3"]), evidence={"m2": (0, 2, 0.09)})

    both = merged(first, other)

    assert (both.fields["confidence"], both.fields["times_seen"]) == (0.68, 3)
    assert both.fields["source_sessions"] == ["s1", "s2", "s3"]


def test_the_users_edit_wins_over_what_sessions_taught_later() -> None:
    """A greater clock is of no avail, on whichever machine, unless it has seen the edit."""
    words, state = (0, 2, 2, "m1"), (0, 2, 2, "m1")
    mine = learning(content="Use spaces", is_manual=True, base=1.0)
    mine = replace(mine, versions={"words": words, "state": state, "code": (0, 0, 1, "m1")})
    later = replace(
        learning(superseded_by="l2"),
        versions={"words": (0, 0, 1, "m1"), "state": (0, 0, 99, "m2"), "code": (0, 0, 99, "m2")},
        evidence={"m2": (0, 99, -0.3)},
    )

    both = merged(later, mine)

    told = [both.fields[name] for name in ("content", "is_manual", "superseded_by", "confidence")]
    assert told == ["Use spaces", True, None, 1.0]


def test_what_was_told_anew_after_forgetting_wins() -> None:
    """A summary that another machine writes meanwhile, and that may hold what was forgotten, loses."""
    names = [*RULES["session"].groups["text"], *RULES["session"].groups["place"]]
    fields = {"id": "s1", "started_at": "1", "last_event_at": "1", "status": "closed", "ended_at": None}
    place = (0, 0, 1, "m1")
    retold = Record(
        "session", {**dict.fromkeys(names, ""), **fields}, {"place": place, "text": (1, 0, 2, "m1")}
    )
    richer = Record(
        "session", {**dict.fromkeys(names, "secret"), **fields}, {"place": place, "text": (0, 0, 9, "m2")}
    )

    assert merged(richer, retold).fields["summary"] == ""
