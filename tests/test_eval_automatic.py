"""Small evaluations by themselves: when they are due, what they leave, and that nobody waits for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import capture
from support.fake_judge import judging, kinds
from support.fake_messages import FakeMessages, Fault
from support.processes import wait_until

from claude_mem_lite import settings, settings_file
from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import circuit_breaker, rewrite
from claude_mem_lite.evals import automatic
from claude_mem_lite.storage import evals as eval_rows
from claude_mem_lite.storage import facts, ledger, models

ON, OFF = {"every": 4, "samples": 2}, {"every": 0}


@pytest.fixture
def court(fake: FakeMessages, memory: Path) -> FakeMessages:
    """Serve an API whose model also judges, with evaluations every four captures."""
    fake.answer = judging
    settings_file.write("evals", ON)
    return fake


def play(*, start: float, seconds: float = 300) -> float:
    """Take all steps that there are on a clock of their own; return its time."""
    now = start
    while now < start + seconds:
        step = rewrite.step(settings.load(), now=now, later=automatic.step)
        if step.wait_s is None:
            break
        now += max(step.wait_s, 0.001)
    return now


def judged() -> list[dict[str, Any]]:
    """Return what automatic evaluations have left."""
    return [row.data for row in eval_rows.judgements(since="")]


def test_every_so_many_captures_a_few_are_judged(court: FakeMessages) -> None:
    """Four captures by Claude: two of them are judged, with their scores in the event log, once."""
    now = play(start=time.time())
    ids = [capture(number) for number in range(4)]

    now = play(start=now + 60)

    assert sorted(kinds(court.requests)) == ["judgement"] * 2 + ["questions"] * 2 + ["words"]
    found = judged()
    assert len({row["observation_id"] for row in found}) == 2
    assert {row["observation_id"] for row in found} <= set(ids)
    assert {(row["judge"], row["decision_rationale"]) for row in found} == {("claude-sonnet-5", 1.0)}
    assert all(0 < row["quality"] <= 1 for row in found)
    before = len(court.requests)
    play(start=now + 60)
    assert len(court.requests) == before


def test_what_was_judged_is_not_judged_again(court: FakeMessages) -> None:
    """The next four captures bring others."""
    now = play(start=time.time())
    for _ in range(3):
        for number in range(4):
            capture(number)
        now = play(start=now + 100)

    ids = [row["observation_id"] for row in judged()]
    assert len(ids) == len(set(ids)) == 6


def test_it_is_off_by_default(court: FakeMessages, memory: Path) -> None:
    """Nothing is judged, and no state is left, without [evals] every."""
    settings_file.write("evals", OFF)
    for number in range(8):
        capture(number)

    play(start=time.time() + 60)

    assert kinds(court.requests) == ["words"]
    assert facts.read(automatic.STATE) == {}


def test_captures_from_before_it_was_switched_on_do_not_count(court: FakeMessages) -> None:
    """A long memory does not bring a bill."""
    for number in range(8):
        capture(number)

    play(start=time.time() + 60)

    assert kinds(court.requests) == ["words"]


def test_a_used_up_budget_waits_and_stops_nobody(court: FakeMessages, memory: Path) -> None:
    """What a judgement could cost at its worst is not there today: nothing is asked, and captures go on."""
    facts.write(automatic.STATE, {"at": "2026-01-01T00:00:00.000000Z", "left": []})
    settings_file.write("evals", OFF)
    for number in range(4):
        capture(number)
    now = play(start=time.time() + 60)
    budget = ledger.spent_usd(since="") + 0.006
    settings_file.write("evals", ON)
    settings_file.write("claude", {"daily_budget_usd": budget})

    now = play(start=now)
    capture(5)
    now = play(start=now + 60)

    assert kinds(court.requests) == ["words", "words"]
    assert circuit_breaker.load().kind == ""
    assert len(facts.read(automatic.STATE)["left"]) == 2
    settings_file.write("claude", {"daily_budget_usd": 1.0})
    play(start=now)
    assert len(judged()) == 2


def test_an_outage_puts_it_off(court: FakeMessages) -> None:
    """The gate closes for all; afterwards the judgement is made."""
    now = play(start=time.time())
    for number in range(4):
        capture(number)
    court.faults = [Fault("status", status=529, nth=(2,))]

    play(start=now + 60)

    assert len(judged()) == 2
    assert kinds(court.requests).count("questions") == 3


def test_a_judge_that_is_not_there_ends_the_run(court: FakeMessages) -> None:
    """Nothing is asked again before the next captures, and Claude's words go on."""
    now = play(start=time.time())
    for number in range(4):
        capture(number)
    court.faults = [Fault("status", status=404, match="claude-sonnet-5")]

    now = play(start=now + 60)

    assert kinds(court.requests) == ["words", "questions"]
    assert facts.read(automatic.STATE)["left"] == []
    assert circuit_breaker.load().kind == ""


def test_an_answer_of_no_use_is_noted(court: FakeMessages) -> None:
    """Asked twice, then let be: it is in no trend."""
    now = play(start=time.time())
    for number in range(4):
        capture(number)
    court.faults = [Fault("prose", match='"questions"')]

    play(start=now + 60)

    assert kinds(court.requests).count("questions") == 4
    assert judged() == []
    failed = models.LogEntry.select().where(models.LogEntry.event_type == "eval.failed")
    assert [row.data["note"] for row in failed] == ["the judge gave no answer"] * 2


def test_the_consumer_takes_the_step(court: FakeMessages, consumer: Callable[[], Any]) -> None:
    """A real consumer judges what it had Claude write."""
    facts.write(automatic.STATE, {"at": "2026-01-01T00:00:00.000000Z", "left": []})
    for number in range(16):  # as many as go at once
        capture(number)
    inbox.enqueue("claude_mem_lite.tasks.rewrite.upgrade")
    consumer()

    wait_until(lambda: len(judged()) == 2, timeout_s=120)

    assert kinds(court.requests).count("judgement") == 2
