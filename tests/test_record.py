"""Events become the same observations in any order and however often they are recorded."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from support.databases import work_on
from support.hooks import edit, read

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.distill import record
from claude_mem_lite.distill.rules import edits
from claude_mem_lite.storage import models, queries


def append(event: dict[str, Any]) -> str:
    """Append an event of project /p."""
    return inbox.append(json.dumps(event), "/p")


def remembered() -> list[tuple[str, str, list[str]]]:
    """Return id, title and files of all observations."""
    rows = models.Observation.select().order_by(models.Observation.id)
    return [(row.id, row.title, row.files_touched) for row in rows]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_a_fold_does_not_depend_on_the_order_of_work(memory: Path, order: tuple[int, ...]) -> None:
    """Reads between two edits fold into one observation, in whatever order workers take them."""
    ids = [append(event) for event in (read("/p/a.py"), read("/p/b.py"), edit("/p/a.py"), read("/p/c.py"))]

    for index in order:
        work_on(ids[index])

    observations = {observation_id: files for observation_id, _, files in remembered()}
    assert observations == {ids[0]: ["a.py", "b.py"], ids[2]: ["a.py"], ids[3]: ["c.py"]}
    notes = [queries.pending_event(each).note for each in ids]  # type: ignore[union-attr]
    assert notes == [None, f"folded into {ids[0]}", None, None]


def test_an_edit_is_read_once(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass over an edit's payload gives its observation, removed names and code map entry."""
    calls: list[str] = []

    def count(module: Any, name: str) -> None:
        original = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, **named: calls.append(name) or original(*given, **named)
        )

    count(record, "capture_of")
    count(edits, "_replaced")
    count(edits, "diff")
    event_id = append(edit("/p/a.py"))

    work_on(event_id)

    assert calls == ["capture_of", "_replaced", "diff"]
    assert [len(row.functions_changed) for row in models.Observation.select()] == [1]


def test_recording_twice_changes_nothing(memory: Path) -> None:
    """Recording an event twice leaves the same rows and the same count."""
    ids = [append(event) for event in (read("/p/a.py"), edit("/p/a.py"))]
    for event_id in ids:
        work_on(event_id)
    first = remembered()

    for event_id in ids:
        work_on(event_id)

    session = queries.session("s1")
    assert (remembered(), session.observation_count) == (first, 2)


def test_a_long_look_becomes_several_observations(memory: Path) -> None:
    """A fold takes a fixed number of captures, then a new one begins."""
    ids = [append(read(f"/p/{number}.py")) for number in range(queries.FOLD_SIZE + 1)]

    for event_id in ids:
        work_on(event_id)

    assert sorted(observation_id for observation_id, _, _ in remembered()) == sorted([ids[0], ids[-1]])


def test_nothing_worth_remembering_says_why(memory: Path) -> None:
    """An event without an observation is marked done, with the reason in its row."""
    event_id = append({"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "yes"})

    work_on(event_id)

    event = queries.pending_event(event_id)
    assert event.status == "done"
    assert event.note
    assert remembered() == []


def test_an_end_closes_the_session_and_a_start_opens_it(memory: Path) -> None:
    """A session's status follows the newer of end and start; its summary covers pending events."""
    append({"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "Make f return two."})
    append(edit("/p/a.py"))
    work_on(append({"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "other"}))
    closed = queries.session("s1")
    summary = record.summarize_session("s1")
    work_on(append({"session_id": "s1", "hook_event_name": "SessionStart", "source": "resume"}))

    opened = queries.session("s1")

    assert (closed.status, bool(closed.ended_at)) == ("closed", True)
    assert "Make f return two" in summary
    assert (opened.status, opened.ended_at, opened.summary) == ("active", None, summary)


def test_lone_surrogates_reach_the_memory_as_replacements(memory: Path) -> None:
    """A prompt with a lone surrogate is stored."""
    event = (
        r'{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"Fix the \ud83d parser of dates."}'
    )

    work_on(inbox.append(event, "/p"))

    assert len(remembered()) == 1


def test_a_prompt_that_speaks_of_a_notification_is_the_users(memory: Path) -> None:
    """A prompt that begins with a client notice is the client's; one that quotes it is the user's."""
    says = "Why does <task-notification> show up in the log?"
    notice = "<task-notification>done</task-notification>"
    ids = [
        append({"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": words})
        for words in ("Mend the parser.", says, notice)
    ]
    last = queries.pending_event(append(edit("/p/a.py")))

    prompts = [queries.prompt_of(event) for event in map(queries.pending_event, ids) if event]

    assert prompts == ["Mend the parser.", says, None]
    assert last is not None
    assert queries.latest_prompt(last) == says


def test_events_recorded_together_are_what_they_are_one_by_one(memory: Path) -> None:
    """A batch stores the same observations, notes and counts as its events one by one."""
    events = [read("/p/a.py"), read("/p/b.py"), edit("/p/a.py"), read("/p/c.py"), read("/p/c.py")]
    outcomes = []
    for name, is_together in (("one", False), ("two", True)):
        ids = [append({**event, "session_id": name}) for event in events]
        rows = [queries.pending_event(each) for each in ids]
        if is_together:
            record.record_batch([row for row in rows if row])
        else:
            for event_id in ids:
                work_on(event_id)
        notes = [queries.pending_event(each).note for each in ids]  # type: ignore[union-attr]
        rows = queries.observations_of(name)
        told = [(row.title, row.summary, row.detail, row.files_touched) for row in rows]
        number = queries.known_session(name).observation_count
        outcomes.append(([note and ids.index(note.split()[-1]) for note in notes], told, number))

    assert outcomes[0] == outcomes[1]
    assert queries.unfinished_events() == []


def test_what_fails_among_others_fails_by_itself(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that fails in a batch does not keep the others from being recorded."""
    from claude_mem_lite.tasks.app import huey
    from claude_mem_lite.tasks.consumer import compress

    bad, *good = [append(read(f"/p/{name}.py") | {"session_id": name}) for name in "abcd"]
    original = record.capture_of

    def capture_of(event: models.PendingEvent) -> Any:
        if event.id == bad:
            raise ValueError(bad)
        return original(event)

    monkeypatch.setattr(record, "capture_of", capture_of)
    assert compress
    huey.storage.close()
    monkeypatch.setattr(huey.storage, "filename", config.queue_path())
    for _ in range(4):
        task = huey.dequeue()
        assert task is not None
        huey.execute(task)
    huey.storage.close()

    assert queries.unfinished_events() == [bad]
    assert {each for each, _, _ in remembered()} == set(good)
