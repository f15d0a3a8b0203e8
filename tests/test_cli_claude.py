"""Test `claude-mem compress` and `cost`: their output, what they spend, their exit codes."""

import json
import re
from pathlib import Path

import pytest
from support.claudes_words import KEY, capture, captures, play, row_of
from support.commands import wide
from support.fake_messages import FakeMessages, Fault
from support.hooks import run_hook, tool_event

from claude_mem_lite import config, settings_file
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.storage import models, queries, rewrites


def test_compress_says_what_it_would_cost_and_asks_nobody(fake: FakeMessages) -> None:
    """Without --pending, or with --dry-run, compress prints an estimate and sends no request."""
    captures(3)

    plain, dry = wide("compress"), wide("compress", "--pending", "--dry-run", "--json")

    assert plain.returncode == dry.returncode == 0
    assert plain.stdout.startswith("3 captures and 0 summaries in 1 requests: about $0.00")
    found = json.loads(dry.stdout)
    assert (found["captures"], found["requests"], found["left_today_usd"]) == (3, 1, 1.0)
    assert 0.001 < found["expected_usd"] < 0.01
    assert fake.requests == []


def test_compress_pending_upgrades_everything_by_hand(fake: FakeMessages) -> None:
    """`compress --pending` needs no services: it distills waiting events and Claude rewrites everything."""
    ids = captures(12)
    summarize_session("s1")
    built = tool_event("Bash", tool_input={"command": "make"}, tool_response={"stdout": "built\n"})
    run_hook("post_tool_use", built)

    done = wide("compress", "--pending")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^Claude wrote 14 for \$0\.0\d+\.$", done.stdout, re.MULTILINE)
    assert all(row_of(each).written_by != "local" for each in ids)
    assert queries.unfinished_events() == []
    assert queries.known_session("s1").summary == "Amounts are cents now."
    assert wide("compress", "--pending").stdout.startswith("Nothing waits for Claude.")


def test_compress_takes_only_so_many(fake: FakeMessages) -> None:
    """With --limit the oldest captures are rewritten, and no summary."""
    ids = captures(4)
    summarize_session("s1")

    wide("compress", "--pending", "--limit", "2")

    assert [row_of(each).written_by != "local" for each in ids] == [True, True, False, False]
    assert queries.known_session("s1").written_by == "local"


def test_compress_without_a_key_says_how_to_get_one(
    fake: FakeMessages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key compress prints the cause on stderr, without a traceback, and exits 1."""
    capture()
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    done = wide("compress", "--pending")

    assert done.returncode == 1
    assert "Claude was not asked: no key is used: ANTHROPIC_API_KEY was not set" in done.stderr
    assert "Traceback" not in done.stderr


def test_compress_stops_at_a_wrong_key_and_says_why(fake: FakeMessages) -> None:
    """A wrong key stops compress, marks nothing as failed and is not printed."""
    event_id = capture()
    fake.faults = [Fault("status", status=401)]

    done = wide("compress", "--pending")

    assert done.returncode == 1
    assert "stopped: HTTP 401, authentication_error" in done.stderr
    assert "Claude wrote 0 for $0.0000; 1 still as the rules wrote them." in done.stdout
    assert KEY not in done.stdout + done.stderr
    assert row_of(event_id).upgrade == "waiting"


def test_compress_waits_for_a_short_outage(fake: FakeMessages) -> None:
    """Compress waits as long as a 429 asks, and says so."""
    event_id = capture()
    fake.faults = [Fault("status", status=429, retry_after=0.2, first=1)]

    done = wide("compress", "--pending")

    assert done.returncode == 0
    assert "HTTP 429, rate_limit_error" in done.stderr
    assert row_of(event_id).written_by != "local"


def test_compress_asks_again_about_what_was_turned_down(fake: FakeMessages) -> None:
    """Only --errors asks again about captures that Claude refused."""
    event_id = capture()
    fake.faults = [Fault("refusal")]
    play()
    fake.faults = []

    without = wide("compress", "--pending")
    after_without = row_of(event_id).upgrade
    wide("compress", "--pending", "--errors")

    assert without.stdout.startswith("Nothing waits")
    assert after_without == "error"
    assert row_of(event_id).written_by != "local"


def test_compress_sends_a_batch_and_takes_it_in(fake: FakeMessages) -> None:
    """`--batch` sends a Message Batch, and the next run stores its results."""
    event_id = capture()

    sent = wide("compress", "--pending", "--batch")
    fake.end_batches()
    taken = wide("compress", "--pending", "--json")

    assert "Sent 1 captures as a Message Batch" in sent.stdout
    assert json.loads(taken.stdout)["written"] == 1
    assert row_of(event_id).written_by != "local"


def test_cost_shows_the_ledger_by_day_and_by_session(fake: FakeMessages) -> None:
    """`cost` lists calls, captures, tokens and dollars by day or session, and its sum is that of the rows."""
    capture(1)
    capture(2, session_id="s2")
    play()

    table, by_day = wide("cost"), wide("cost", "--json")
    by_session = wide("cost", "--by", "session", "--json")

    assert table.returncode == 0
    day, sessions = json.loads(by_day.stdout), json.loads(by_session.stdout)
    assert [(row["calls"], row["captures"]) for row in day["rows"]] == [(2, 2)]
    assert sorted(row["session"] for row in sessions["rows"]) == ["s1", "s2"]
    assert day["usd"] == pytest.approx(sum(row["usd"] for row in sessions["rows"]), abs=1e-6)
    assert f"${day['usd']:.4f} in 30 days" in table.stdout


def test_cost_of_nothing_is_said(home: Path) -> None:
    """Without any call `cost` prints an answer, not an error."""
    assert wide("cost").stdout == "No calls to Claude in the last 30 days.\n"


def test_status_tells_of_claude(fake: FakeMessages, home: Path) -> None:
    """`status` reports Claude's key, what waits, and a used up budget with what to do."""
    settings_file.write("claude", {"daily_budget_usd": 0.000001})
    capture()
    play()
    rewrites.start(credential="ANTHROPIC_API_KEY", version="0")
    play(start=None, seconds=70)

    found = json.loads(wide("status", "--json").stdout)

    assert (found["claude"]["waiting"], found["claude"]["key"]) == (1, "ANTHROPIC_API_KEY")
    told = [line.partition(";")[0] for line in found["problems"] if "[claude] daily_budget_usd" in line]
    assert told == ["Claude writes nothing: the daily budget of $0.00 is used up"]
    assert KEY not in json.dumps(found)


def test_a_key_in_the_settings_must_be_the_users_alone(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in a config.toml that others may read is not used, and status says so."""
    path = Path(config.config_path())
    path.write_text(f'[claude]\napi_key = "{KEY}"\n')
    path.chmod(0o644)
    open_to_all = json.loads(wide("status", "--json").stdout)
    path.chmod(0o600)
    own = json.loads(wide("status", "--json").stdout)

    assert "holds a key that others may read, so it is not used: chmod 600 it" in open_to_all["problems"][0]
    assert not any("holds a key" in line for line in own["problems"])
    assert KEY not in json.dumps([open_to_all, own])


def test_compress_does_not_sleep_through_a_long_pause(fake: FakeMessages) -> None:
    """When the API asks for an hour, compress ends and says so; a second run sends nothing."""
    capture()
    fake.faults = [Fault("status", status=429, retry_after=3_600)]

    first, second = wide("compress", "--pending"), wide("compress", "--pending")

    assert (first.returncode, second.returncode) == (1, 1)
    assert "try again in 60 minutes" in first.stderr
    assert len(fake.requests) == 1


def test_compress_errors_asks_only_about_what_was_turned_down(fake: FakeMessages) -> None:
    """Reconsidering rejected captures does not make others wait for the services."""
    ids = captures(3)
    rewrites.reject(row_of(ids[1]), note="no")
    models.Observation.update(upgrade="").where(models.Observation.id.in_([ids[0], ids[2]])).execute()

    assert rewrites.reconsider(ids) == [ids[1]]
    assert [row_of(each).upgrade for each in ids] == ["", "waiting", ""]


def test_a_batch_that_cannot_be_sent_is_said(fake: FakeMessages, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that cannot be sent exits 1 with the reason, and its captures wait."""
    event_id = capture()
    settings_file.write("claude", {"base_url": "http://127.0.0.1:9"})

    done = wide("compress", "--pending", "--batch")

    assert done.returncode == 1
    assert "stopped: the Message Batch could not be sent: the API cannot be reached" in done.stderr
    assert row_of(event_id).batch is None
