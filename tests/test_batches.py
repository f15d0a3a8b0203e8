"""Test Message Batches: half the price, sent, polled and stored, and no capture lost to them."""

import time
from pathlib import Path

import pytest
from support.claudes_words import capture, play, row_of, status_of
from support.fake_messages import FakeMessages

from claude_mem_lite import settings, settings_file
from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import batches, rewrite
from claude_mem_lite.storage import facts, ledger, models, pruning, rewrites


def send(ids: list[str], *, now: float | None = None) -> rewrite.Step:
    """Send captures as a batch."""
    chosen = settings.load()
    rows = rewrites.waiting_observations(chosen.tiers, ids=ids)
    return batches.send(rows, chosen, now=time.time() if now is None else now)


def collect(*, after_s: float = 301) -> rewrite.Step | None:
    """Take the step that is due after `after_s` seconds."""
    return batches.step(settings.load(), now=time.time() + after_s)


def calls() -> list[models.LogEntry]:
    """Return the ledger's entries."""
    return list(models.LogEntry.select().where(models.LogEntry.event_type == ledger.CALL))


def test_a_batch_brings_words_at_half_the_price(fake: FakeMessages) -> None:
    """A batch rewrites its captures at half the price, and no other request asks about them meanwhile."""
    ids = [capture(number, session_id=f"s{number // 12}") for number in range(15)]

    sent = send(ids)
    meanwhile = play(seconds=200)
    early = collect(after_s=100)
    fake.end_batches()
    taken = collect()

    assert (sent.sent, len(fake.batches["msgbatch_000001"].requests)) == (15, 2)
    assert [step.written for _, step in meanwhile] == [0]
    assert early is None
    assert taken.written == 15
    assert all(row_of(each).title == f"Claude on {each[:8]}" for each in ids)
    assert facts.read("batches") == {}
    entry = calls()[0]
    assert entry.data["is_batch"] is True
    assert entry.data["usd"] == pytest.approx((entry.tokens_in + 5 * entry.tokens_out) / 2e6)


def test_a_batch_that_is_not_done_is_asked_about_every_five_minutes(fake: FakeMessages) -> None:
    """An unfinished batch costs one small request every five minutes, and its results are stored once."""
    ids = [capture(1)]
    send(ids)

    first = collect()
    second = collect(after_s=302)
    fake.end_batches()
    third = collect(after_s=700)
    fourth = collect(after_s=1_100)

    assert (first.written, second) == (0, None)
    assert (third.written, fourth) == (1, None)
    assert len(calls()) == 1


@pytest.mark.parametrize("outcome", ["expired", "canceled", "errored"])
def test_a_request_of_a_batch_that_fails_waits_again(fake: FakeMessages, outcome: str) -> None:
    """A capture whose request failed in a batch is asked about again in the usual way."""
    good, bad = capture(1), capture(2, session_id="s2")
    send([good, bad])
    fake.batch_faults = {1: outcome}
    fake.end_batches()

    collect()
    after_the_batch = row_of(bad).upgrade, row_of(bad).batch
    play()

    assert after_the_batch == ("waiting", None)
    assert [row_of(each).written_by != "local" for each in (good, bad)] == [True, True]
    assert status_of(bad) == "done"


def test_a_batch_that_nobody_knows_sets_its_captures_free(fake: FakeMessages) -> None:
    """When the API does not know a batch (another account's key, or too old), its captures wait again."""
    event_id = capture(1)
    send([event_id])
    fake.batches.clear()

    collect()

    assert facts.read("batches") == {}
    assert row_of(event_id).batch is None
    play()
    assert row_of(event_id).written_by != "local"


def test_an_outage_keeps_the_batch(fake: FakeMessages, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the API cannot be reached, a batch and its captures stay on their way."""
    event_id = capture(1)
    send([event_id])
    settings_file.write("claude", {"base_url": "http://127.0.0.1:9"})

    taken = collect()

    assert (taken.failure, row_of(event_id).batch) == ("batch", "msgbatch_000001/0")
    assert list(facts.read("batches")) == ["msgbatch_000001"]


def test_a_batch_stays_within_the_daily_budget(fake: FakeMessages, home: Path) -> None:
    """A batch takes as many requests as the day's budget allows, and its cost counts as spent at once."""
    settings_file.write("claude", {"daily_budget_usd": 0.004})
    ids = [capture(number, session_id=f"s{number}") for number in range(8)]

    first = send(ids)
    second = send([each for each in ids if row_of(each).batch is None])

    assert 0 < first.sent < 8
    assert (second.sent, second.failure) == (0, "budget")
    assert len(fake.batches) == 1


def test_what_waits_for_long_goes_by_batch_where_the_settings_say_so(fake: FakeMessages, home: Path) -> None:
    """With `batch_after_hours`, captures that have waited that long, as after an outage, go by batch."""
    settings_file.write("claude", {"batch_after_hours": 1})
    event_id = capture(1)

    before = batches.step(settings.load(), now=time.time() + 3_500)
    after = batches.step(settings.load(), now=time.time() + 3_700)

    assert before is None
    assert (after.sent, row_of(event_id).batch) == (1, "msgbatch_000001/0")


def test_a_batch_that_cannot_be_asked_about_holds_up_nothing(fake: FakeMessages) -> None:
    """A batch that cannot be polled delays no other capture and is given up after two days."""
    lost, other = capture(1), capture(2, session_id="s2")
    send([lost])
    fake.batches["msgbatch_000001"] = object()  # type: ignore[assignment]  (the fake answers 500 then)

    asked = [collect(after_s=after_s) for after_s in (400, 800)]
    play(start=time.time() + 900, seconds=120)
    kept = list(facts.read("batches"))
    collect(after_s=2 * 86_400 + 60)

    assert [step.failure for step in asked if step] == ["batch", "batch"]
    assert row_of(other).written_by != "local"
    assert (kept, facts.read("batches")) == (["msgbatch_000001"], {})
    assert (row_of(lost).batch, row_of(lost).upgrade) == (None, "waiting")


def test_captures_without_their_events_are_no_reason_to_stop(fake: FakeMessages) -> None:
    """Captures whose events were pruned keep the rules' observation, and no lack of budget is reported."""
    event_id = capture(1)
    inbox.finish(event_id)
    pruning.prune(before="9")

    step = send([event_id])

    assert (step.failure, step.sent) == ("", 0)
    assert (row_of(event_id).upgrade, fake.batches) == ("gone", {})
