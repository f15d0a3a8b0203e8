"""Merging records gives the same result in any order, with repetition, and after crashes."""

import datetime as dt
import itertools
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.databases import observation_row, session_row
from support.machines import Machine, all_bytes, joined, settle, unpaused

from claude_mem_lite.capture import inbox
from claude_mem_lite.forget import purge
from claude_mem_lite.forget.wanted import Wanted
from claude_mem_lite.learnings import curate
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models, queries
from claude_mem_lite.sync import log, records
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
NAMES = st.sampled_from(["m1", "m2", "m3"])


@st.composite
def states(draw: st.DrawFn, kind: str) -> Record:
    """Draw a state of one row of a kind, as a machine may hold it."""
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
    versions = {group: draw(st.tuples(counts, counts, counts, NAMES)) for group in rule.groups}
    each = st.tuples(counts, counts, st.sampled_from([-0.3, 0.09]))
    evidence = draw(st.dictionaries(NAMES, each, max_size=3))
    state = Record(kind, fields, versions, evidence if kind == "learning" else {})
    return merged(state, state)


@pytest.mark.parametrize("kind", RULES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_merging_is_commutative_associative_and_idempotent(kind: str, data: st.DataObject) -> None:
    """Merging is commutative, associative and idempotent, so sync order never matters."""
    a, b, c = (data.draw(states(kind)) for _ in range(3))

    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))
    assert merged(a, a) == a
    assert merged(merged(a, b), b) == merged(a, b)


def learning(**fields: Any) -> Record:
    """Return a learning taught by one session."""
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


def test_the_users_edit_wins_over_what_sessions_taught_later() -> None:
    """A user's edit beats later changes by sessions that have not seen it, whatever their clocks."""
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
    """A summary rewritten after forgetting beats a newer one that may hold forgotten text."""
    names = [*RULES["session"].groups["text"], *RULES["session"].groups["place"]]
    fields = {"id": "s1", "started_at": "1", "last_event_at": "1", "status": "closed", "ended_at": None}
    place = (0, 0, 1, "m1")
    empty, secret = dict.fromkeys(names, ""), dict.fromkeys(names, "secret")
    retold = Record("session", {**empty, **fields}, {"place": place, "text": (1, 0, 2, "m1")})
    richer = Record("session", {**secret, **fields}, {"place": place, "text": (0, 0, 9, "m2")})

    assert merged(richer, retold).fields["summary"] == ""


MACHINES = 5
_NUMBERS = itertools.count()
_DEEDS = (
    "work", "work", "learn", "hear", "hear", "doubt", "edit", "retell", "forget", "sync", "sync", "sync",
    "crash", "lose",
)  # fmt: skip


class World:
    """Five machines whose clocks differ by days, with the words they have stored and forgotten."""

    def __init__(self, folder: Path, blank: Path) -> None:
        (folder / "hub").mkdir()
        self.folder = folder
        self.machines = joined(folder / "machines", blank, f"folder:{folder / 'hub'}", MACHINES)
        self.words: set[str] = set()
        self.forgotten: set[str] = set()

    def do(self, deed: str, at: int) -> None:
        """Perform an action on a machine."""
        machine = self.machines[at]
        now = dt.datetime.now(dt.UTC) + dt.timedelta(days=(at - 2) * 4)
        word = f"word{next(_NUMBERS):06}x"
        if deed in {"sync", "crash"}:
            with pytest.MonkeyPatch.context() as patch:
                if deed == "crash":
                    patch.setattr(log, "move_cursor", Mock(side_effect=KeyboardInterrupt))
                try:
                    machine.sync()
                except KeyboardInterrupt:
                    models.close_databases()
            return
        with machine:
            getattr(self, deed)(word, inbox.utc_text(now.timestamp()))

    def work(self, word: str, at: str) -> None:
        """Store a session with two observations."""
        session_row(f"s{word}", summary=f"Did {word}", started_at=at, last_event_at=at, status="closed")
        for part in ("a", "b"):
            words = {"session_id": f"s{word}", "summary": f"{word} {part}", "created_at": at}
            row = observation_row(f"{word}{part}", **words)
            queries.save_observation(row)
        self.words.add(word)

    def learn(self, word: str, at: str) -> None:
        """Store a learning without a session, so that forgetting a session does not remove it."""
        learning_rows.insert(
            project_dir="/p", category="convention", content=f"Mind {word}", created_at=at, updated_at=at,
            seen_at=at,
        )  # fmt: skip
        self.words.add(word)

    def hear(self, word: str, at: str) -> None:
        """Confirm a stored learning by another session."""
        taught = models.Learning.select().where(~models.Learning.is_manual).order_by(models.Learning.id)
        if row := taught.first():
            sources = [*row.source_sessions, f"s{word}"]
            learning_rows.update(
                row, source_sessions=sources, times_seen=len(sources), seen_at=max(row.seen_at, at),
                confidence=min(0.95, row.confidence + 0.05),
            )  # fmt: skip

    def doubt(self, word: str, at: str) -> None:
        """Lower the confidence of a stored learning."""
        taught = models.Learning.select().where(~models.Learning.is_manual).order_by(models.Learning.id)
        if row := taught.first():
            learning_rows.update(row, confidence=max(0.1, row.confidence - 0.2))

    def edit(self, word: str, at: str) -> None:
        """Edit a learning as the user does."""
        if row := models.Learning.select().order_by(models.Learning.id.desc()).first():
            curate.edit(row, content=f"{row.content} {word}"[-250:])

    def retell(self, word: str, at: str) -> None:
        """Rewrite a session's summary."""
        if row := models.Session.select().order_by(models.Session.id).first():
            models.Session.update(summary=f"{row.summary} again").where(models.Session.pk == row.pk).execute()

    def forget(self, word: str, at: str) -> None:
        """Forget all rows with the first word that the machine still has."""
        columns = (models.Session.summary, models.Learning.content)
        held = [
            word
            for word in sorted(self.words - self.forgotten)
            if any(column.model.select().where(column.contains(word)).exists() for column in columns)
        ]
        for each in held[:1]:
            purge.forget(Wanted(text=each), paused=unpaused())
            self.forgotten.add(each)

    def lose(self, word: str, at: str) -> None:
        """Delete a file from the hub."""
        for path in sorted((self.folder / "hub").rglob("*.jsonl"))[:1]:
            path.unlink()


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
    print_blob=False,
)
@given(
    deeds=st.lists(st.tuples(st.sampled_from(_DEEDS), st.integers(0, MACHINES - 1)), min_size=8, max_size=25)
)
def test_five_machines_end_up_the_same(deeds: list[tuple[str, int]], blank: Path, home: Path) -> None:
    """After any actions five machines export the same bytes: nothing lost, nothing forgotten left."""
    with tempfile.TemporaryDirectory(dir=home) as name:
        world = World(Path(name), blank)

        for deed, at in deeds:
            world.do(deed, at)
        settle(*world.machines, rounds=4)

        lines = [machine.lines() for machine in world.machines]
        seen = "\n".join(lines[0])
        assert all(each == lines[0] for each in lines[1:])
        assert {word for word in world.words if word not in seen} <= world.forgotten
        left = all_bytes(world.folder)
        assert [word for word in world.forgotten if f"Did {word}".encode() in left] == []
        assert [word for word in world.forgotten if f"Mind {word}".encode() in left] == []


def test_a_machine_that_is_copied_is_two_soon(blank: Path, home: Path, tmp_path: Path) -> None:
    """A data directory copied with its key to a second machine loses no rows."""
    (tmp_path / "hub").mkdir()
    one, other = joined(tmp_path, blank, f"folder:{tmp_path / 'hub'}", 2)
    with one:
        session_row("s1", summary="First.")
    settle(one, other)
    copy = Machine(tmp_path / "copy", blank)
    shutil.rmtree(copy.home)
    shutil.copytree(one.home, copy.home)
    for machine, session_id in ((one, "s2"), (copy, "s3")):
        with machine:
            session_row(session_id, summary=session_id)

    settle(one, copy, other, rounds=4)

    assert len(other.lines()) == 3
    assert one.lines() == other.lines() == copy.lines()
