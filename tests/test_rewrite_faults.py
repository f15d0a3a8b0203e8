"""API failures lose no capture, cause no retry storm and are never paid for twice."""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.claudes_words import KEY, capture, play, record_ids, row_of, status_of
from support.fake_messages import FakeMessages, Fault

from claude_mem_lite import keys, settings, settings_file
from claude_mem_lite.claude import circuit_breaker, rewrite
from claude_mem_lite.storage import facts, ledger

FAULTS = cases.load("api_faults")


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS)
def test_a_fault_loses_nothing(fake: FakeMessages, case: dict[str, Any]) -> None:
    """After any API fault the observation and its state are right, and requests stay few."""
    event_id = capture()
    local, end = row_of(event_id), case["ends"]
    fake.faults = [Fault(**case["fault"])]

    steps = [step for _, step in play(seconds=100) if step.asked or step.failure or step.written]

    row = row_of(event_id)
    assert row.title == (f"Claude on {event_id[:8]}" if end == "claude" else local.title)
    assert row.upgrade == ("" if end == "claude" else end)
    assert status_of(event_id) == ("error" if end == "error" else "done")
    assert len(fake.requests) == case["requests"]
    assert steps[0].failure == case.get("failure", "")
    assert KEY not in (row.upgrade_note or "") + steps[0].reason


def test_one_pause_holds_for_everybody(fake: FakeMessages) -> None:
    """A Retry-After pause applies to every session, and no longer than asked."""
    for session_id in ("s1", "s2", "s3"):
        capture(session_id=session_id)
    fake.faults = [Fault("status", status=529, retry_after=50, first=1)]
    start = time.time() + 60
    rewrite.step(settings.load(), now=start)

    later = [rewrite.step(settings.load(), now=start + seconds) for seconds in (1, 20, 49, 51)]

    assert [(step.failure, step.written) for step in later] == [*[("outage", 0)] * 3, ("", 1)]
    assert len(fake.requests) == 2


def test_a_key_that_comes_back_in_an_error_is_taken_out(fake: FakeMessages) -> None:
    """A key echoed in an API error is removed from reason and stored state."""
    capture()
    told = {"type": "error", "error": {"type": "authentication_error", "message": f"{KEY} is not known"}}
    fake.faults = [Fault("status", status=401, body=told)]

    [(_, step), *_] = [each for each in play(seconds=60) if each[1].failure]

    assert step.reason == "HTTP 401, authentication_error: [key] is not known"
    assert KEY not in json.dumps(facts.read("gate"))


@pytest.mark.parametrize("key", ["sk-ant-ä", "sk ant", "sk\nant"])
def test_a_key_that_is_none_is_not_sent(
    fake: FakeMessages, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """A key that no header can carry is reported without showing it, and nothing is sent."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    keys.agree("ANTHROPIC_API_KEY")
    capture()

    failures = [step for _, step in play(seconds=60) if step.failure]

    assert failures[0].reason == "ANTHROPIC_API_KEY contains characters that no key has"
    assert fake.requests == []


def test_three_turned_down_in_a_row_are_not_at_fault(fake: FakeMessages) -> None:
    """Three rejections in a row mean a setup fault, such as no credit left; no capture fails."""
    ids = [capture(number, session_id=f"s{number}") for number in range(5)]
    fake.faults = [Fault("status", status=400)]

    play(seconds=100)

    assert len(fake.requests) == 3
    assert [row_of(each).upgrade for each in ids] == ["waiting"] * 5
    assert [status_of(each) for each in ids] == ["done"] * 5
    assert circuit_breaker.load().kind == "setup"

    fake.faults = []
    play(start=time.time() + 1_000, seconds=600)
    assert all(row_of(each).written_by != "local" for each in ids)


def test_a_capture_that_always_fails_does_not_hold_up_the_others(fake: FakeMessages) -> None:
    """A capture that always fails with 500 waits while all others get through."""
    ids = [capture(number, session_id=f"s{number}") for number in range(6)]
    fake.faults = [Fault("status", status=500, match=f"id=..{ids[0][:8]}")]

    play(seconds=600)

    assert [row_of(each).written_by != "local" for each in ids] == [False, *[True] * 5]
    assert row_of(ids[0]).upgrade == "waiting"


def test_an_outage_of_two_hours_ends_with_every_capture_upgraded(
    fake: FakeMessages, capsys: pytest.CaptureFixture[str]
) -> None:
    """A two-hour outage sees few probes, no stampede afterwards, and loses no capture."""
    start = time.time()
    ids = [capture(number, session_id=f"s{number % 20}") for number in range(120)]
    fake.faults = [Fault("status", status=529)]
    during = play(start=start + 70, seconds=7_200)
    outage_calls = len(fake.requests)
    fake.faults = []

    after = play(start=start + 70 + during[-1][0] + during[-1][1].wait_s, seconds=3_600)

    minutes = Counter(int(at // 60) for at, step in after if step.asked)
    with capsys.disabled():
        sys.stdout.write(f"\ntwo hours of 529: {outage_calls} calls; then a minute: {dict(minutes)}\n")
    assert outage_calls <= 14
    assert max(minutes.values()) <= 21
    assert [row_of(each).written_by for each in ids] == ["claude-haiku-4-5-20251001"] * 120
    assert {status_of(each) for each in ids} == {"done"}


def test_the_daily_budget_stops_calls_and_not_memory(fake: FakeMessages, home: Path) -> None:
    """Captures over the daily budget wait, and are rewritten once the budget allows."""
    settings_file.write("claude", {"daily_budget_usd": 0.004})
    ids = [capture(number, session_id=f"s{number}") for number in range(4)]
    start = time.time()

    play(start=start, seconds=300)

    spent = ledger.spent_usd(since="")
    waiting = [each for each in ids if row_of(each).upgrade == "waiting"]
    assert 0 < spent <= 0.004
    assert 0 < len(waiting) < 4
    assert circuit_breaker.load().kind == "budget"

    settings_file.write("claude", {"daily_budget_usd": 5})
    play(start=start + 300, seconds=300)
    assert all(row_of(each).written_by != "local" for each in ids)


def test_the_pauses_grow_to_an_hour() -> None:
    """Pauses double up to an hour, from 5 seconds for an outage and 5 minutes for a setup fault."""
    pauses: dict[str, list[float]] = {}
    for kind in ("outage", "setup"):
        closed = circuit_breaker.Gate()
        for _ in range(12):
            closed = circuit_breaker.after_failure(closed, kind=kind, reason="", now=0.0)
            pauses.setdefault(kind, []).append(closed.until)

    assert (pauses["outage"][:4], pauses["setup"][:2]) == ([5, 10, 20, 40], [300, 600])
    assert pauses["outage"][-1] == pauses["setup"][-1] == 3_600


def test_requests_keep_their_pace(fake: FakeMessages) -> None:
    """Requests start at least three seconds apart, however many task chains run."""
    for number in range(3):
        capture(number, session_id=f"s{number}")
    start = time.time() + 61
    rewrite.step(settings.load(), now=start)

    early = [rewrite.step(settings.load(), now=start + seconds) for seconds in (0.1, 1.0, 2.9)]
    late = rewrite.step(settings.load(), now=start + 3.1)

    assert [step.written for step in early] == [0, 0, 0]
    assert early[0].wait_s == pytest.approx(2.9)
    assert late.written == 1


def test_after_an_outage_one_small_request_goes_first(fake: FakeMessages) -> None:
    """The first request after an outage has one capture; full batches follow."""
    for number in range(6):
        capture(number)
    fake.faults = [Fault("status", status=529, first=1)]

    play(start=time.time() + 61)

    sizes = [len(record_ids(request.body["messages"][0]["content"])) for request in fake.requests]
    assert sizes == [6, 1, 5]


def test_captures_that_were_turned_down_by_an_empty_purse_come_back(fake: FakeMessages) -> None:
    """Captures rejected for lack of credit get a second try once another succeeds."""
    ids = [capture(number, session_id=f"s{number}") for number in range(2)]
    fake.faults = [Fault("status", status=400)]
    play(start=time.time() + 61, seconds=60)
    in_between = [row_of(each).upgrade for each in ids]
    fake.faults = []

    later = capture(9, session_id="later")
    play(start=time.time() + 200, seconds=120)

    assert in_between == ["error", "error"]
    assert [row_of(each).written_by != "local" for each in (*ids, later)] == [True] * 3
    assert [status_of(each) for each in ids] == ["done", "done"]


def test_three_that_are_really_at_fault_end_in_error(fake: FakeMessages) -> None:
    """Bad captures are retried once after another succeeds, then stay in error."""
    bad = [capture(number, session_id=f"bad{number}") for number in range(3)]
    fake.faults = [Fault("status", status=400, match="|".join(f"id=..{each[:8]}" for each in bad))]
    play(start=time.time() + 61, seconds=30)

    good = capture(9, session_id="good")
    play(start=time.time() + 500, seconds=3_600)

    assert row_of(good).written_by != "local"
    assert [row_of(each).upgrade for each in bad] == ["error"] * 3
    assert len(fake.requests) < 14


def test_answers_of_no_use_do_not_go_on_for_ever(fake: FakeMessages) -> None:
    """After five unusable answers in a row, requests stop as for a setup fault."""
    for number in range(30):
        capture(number, session_id=f"s{number}")
    fake.faults = [Fault("prose")]

    play(start=time.time() + 61, seconds=250)

    assert len(fake.requests) == 5
    assert circuit_breaker.load().reason == "several answers in a row were invalid"


def test_the_budget_is_of_one_day(fake: FakeMessages, home: Path) -> None:
    """Spending of earlier days does not count against today's budget."""
    call = ledger.Call(purpose="observations", model="m", usd=0.9999, input_tokens=1, output_tokens=1)
    ledger.record(call, now=time.time() - 2 * 86_400)
    event_id = capture()

    play()

    assert row_of(event_id).written_by != "local"


def test_a_secret_in_an_error_is_redacted(fake: FakeMessages) -> None:
    """A token echoed in an API error is redacted before the error is stored."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    event_id = capture()
    told = {"type": "error", "error": {"type": "invalid_request_error", "message": f"bad content {token}"}}
    fake.faults = [Fault("status", status=400, body=told)]

    play()

    assert token not in str(row_of(event_id).upgrade_note)
    assert "bad content" in str(row_of(event_id).upgrade_note)
