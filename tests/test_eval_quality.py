"""Test `eval compression` and `eval benchmark`: a judge through the real SDK, with every failure."""

import json
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import KEY, capture, captures, play, record_ids, row_of, words
from support.commands import command
from support.fake_judge import QUESTIONS, judging, kinds
from support.fake_messages import FakeMessages, Fault

from claude_mem_lite import settings, settings_file
from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import circuit_breaker
from claude_mem_lite.claude.request_cycle import StoppedError
from claude_mem_lite.evals import benchmark, compression, samples
from claude_mem_lite.evals.calls import Caller
from claude_mem_lite.evals.judge import Judge
from claude_mem_lite.storage import ledger, models

HAIKU, SONNET = "claude-haiku-4-5-20251001", "claude-sonnet-5"


@pytest.fixture
def court(fake: FakeMessages) -> FakeMessages:
    """Serve an API whose model also judges."""
    fake.answer = judging
    return fake


run = partial(command, "eval", columns=200)


def replay(*, a: str = HAIKU, b: str = "local", **options: Any) -> list[Any]:
    """Compare two writers on the stored captures."""
    chosen = settings.load()
    judge = Judge(Caller(chosen, **options), SONNET)
    return list(benchmark.run(samples.replayable(chosen.tiers, count=30), (a, b), judge))


def answers() -> list[dict[str, Any]]:
    """Return the calls in the ledger."""
    return [row.data for row in models.LogEntry.select().where(models.LogEntry.event_type == ledger.CALL)]


def forget_raw() -> None:
    """Delete all raw events."""
    with inbox.Transaction() as connection:
        connection.execute("DELETE FROM pending_queue")


def test_two_writers_are_compared_pair_by_pair(court: FakeMessages) -> None:
    """The judge scores what each writer's observation has: Claude's has the reason, the rules' the file."""
    captures(3)

    pairs = replay()

    assert len(pairs) == 3
    for pair in pairs:
        assert (pair.a.structural_validity, pair.b.structural_validity) == (1.0, 1.0)
        assert (pair.a.decision_rationale, pair.b.decision_rationale) == (1.0, 0.0)
        assert pair.b.info_preservation == pytest.approx(1 / 3)
        assert pair.a.usd > 0
        assert pair.b.usd == 0.0
        assert pair.a.compression_ratio is not None


def test_each_capture_is_asked_about_once_and_judged_twice(court: FakeMessages) -> None:
    """Both writers get the same questions; the judge sees neither raw events nor the writer."""
    capture(424_242)

    replay()

    assert kinds(court.requests) == ["words", "questions", "judgement", "judgement"]
    assert [request.body["model"] for request in court.requests] == [HAIKU, SONNET, SONNET, SONNET]
    questions = court.requests[1].body["messages"][0]["content"]
    assert "tool_input.new_string: a = 424242" in questions
    for request in court.requests[2:]:
        content = request.body["messages"][0]["content"]
        asked = [(str(number), question) for number, question in enumerate(QUESTIONS, 1)]
        assert re.findall(r'number="(\d)">\n(.*)\n', content) == asked
        assert not any(name in content for name in ("tool_input", HAIKU, SONNET, "local"))


def test_the_dollars_are_in_the_ledger_and_nothing_else_changes(court: FakeMessages) -> None:
    """Evaluation calls are in the ledger at their model's price; observations and pauses do not change."""
    event_id = capture()
    before, gate_before = row_of(event_id).__data__, circuit_breaker.load()
    caller = Caller(settings.load())

    list(benchmark.run(samples.replayable({"high"}, count=5), (HAIKU, "local"), Judge(caller, SONNET)))

    assert [(row["purpose"], row["model"]) for row in answers()] == [
        ("evaluation", HAIKU), ("evaluation", SONNET), ("evaluation", SONNET), ("evaluation", SONNET),
    ]  # fmt: skip
    assert sum(row["usd"] for row in answers()) == pytest.approx(caller.usd, abs=1e-6)
    assert (row_of(event_id).__data__, circuit_breaker.load()) == (before, gate_before)


def test_two_models_of_claude_are_compared(court: FakeMessages) -> None:
    """Two Claude models are compared by what each wrote, with a difference shown only where there is one."""

    def answer(body: dict[str, Any]) -> Any:
        if body["model"] == "claude-small":
            content = body["messages"][0]["content"]
            return {"observations": [words(each) | {"summary": "Something."} for each in record_ids(content)]}
        return judging(body)

    court.answer = answer
    captures(6)

    pairs = [pair for pair in replay(a=HAIKU, b="claude-small") if pair]
    told = benchmark.report(pairs)

    assert (told["a"]["decision_rationale"], told["b"]["decision_rationale"]) == (1.0, 0.0)
    assert told["a_minus_b"]["quality"]["is_shown"]
    assert told["a_minus_b"]["quality"]["low"] > 0
    assert not told["a_minus_b"]["structural_validity"]["is_shown"]
    assert told["a_minus_b"]["usd"]["mean"] < 0  # claude-small has no known price, so a high one is assumed


def test_an_answer_that_is_no_observation_scores_nothing(court: FakeMessages) -> None:
    """An answer that is no observation scores 0 without a judgement."""
    court.faults = [Fault("prose", match="You keep the memory")]
    capture()

    [pair] = replay()

    assert (pair.a.quality, pair.a.measured) == (0.0, tuple(compression.scores.WEIGHTS))
    assert pair.b.quality > 0
    assert kinds(court.requests) == ["words", "questions", "judgement"]


@pytest.mark.parametrize(
    ("faults", "asked", "is_compared"),
    [
        ([Fault("prose", nth=(2,))], ["words", "questions", "questions", "judgement", "judgement"], True),
        ([Fault("prose", nth=(2, 3))], ["words", "questions", "questions"], False),
        ([Fault("refusal", nth=(2,))], ["words", "questions"], False),
        ([Fault("wrong_schema", json={"replies": 5}, nth=(3, 4))],
         ["words", "questions", "judgement", "judgement", "judgement"], False),
        ([Fault("refusal", nth=(1,))], ["words"], False),
        ([Fault("status", status=400, nth=(4,))], ["words", "questions", "judgement", "judgement"], False),
    ],
)  # fmt: skip
def test_what_is_not_judged_is_no_pair(
    court: FakeMessages, faults: list[Fault], asked: list[str], *, is_compared: bool
) -> None:
    """A useless answer is asked for once more; after a refusal or rejection the pair is dropped."""
    capture()
    court.faults = faults

    [pair] = replay()

    assert (pair is not None) is is_compared
    assert kinds(court.requests) == asked
    assert circuit_breaker.load().rejected == ()


@pytest.mark.parametrize(("questions", "answered"), [([], 0.0), (["One?"], 0.0), (["Why?"] * 9, 0.2)])
def test_the_number_of_questions_is_the_judges(
    court: FakeMessages, questions: list[str], answered: float
) -> None:
    """Fewer than two questions score 0, and more than five are cut to five."""
    court.answer = lambda body: (
        {"questions": questions} if '"questions"' in json.dumps(body["output_config"]) else judging(body)
    )
    capture()

    [pair] = replay()

    assert pair.a.info_preservation == pytest.approx(answered)
    judged = court.requests[-1].body["messages"][0]["content"]
    assert len(re.findall(r"<question-", judged)) == min(len(questions), 5)


def test_the_daily_budget_holds(court: FakeMessages, memory: Path) -> None:
    """A call that could exceed the daily budget is not made, which stops only the evaluation."""
    settings_file.write("claude", {"daily_budget_usd": 0.05})
    captures(20)

    with pytest.raises(StoppedError) as stopped:
        replay()

    assert stopped.value.step.failure == "budget"
    assert "daily budget of $0.05" in stopped.value.step.reason
    assert 0 < ledger.spent_usd(since="") <= 0.05
    assert circuit_breaker.load().kind == ""


def test_a_429_is_waited_for_by_everybody(court: FakeMessages) -> None:
    """At a 429 the run asks whether to wait; if not, it stops, and the pause holds for every process."""
    capture()
    court.faults = [Fault("status", status=429, retry_after=40, first=1)]
    asked: list[float] = []

    with pytest.raises(StoppedError) as stopped:
        replay(pause=lambda seconds, _: asked.append(seconds) or False)

    assert asked == [pytest.approx(40, abs=1)]
    assert (stopped.value.step.failure, circuit_breaker.load().kind) == ("outage", "outage")
    with pytest.raises(StoppedError):
        replay()
    assert len(court.requests) == 1


def test_a_short_outage_is_waited_out(court: FakeMessages) -> None:
    """After a short outage the same request is sent again, and the run continues."""
    capture()
    court.faults = [Fault("status", status=529, retry_after=0.1, nth=(2,))]

    [pair] = replay(pause=lambda seconds, _: time.sleep(seconds) or True)

    assert pair is not None
    assert kinds(court.requests) == ["words", "questions", "questions", "judgement", "judgement"]


def test_a_model_that_is_not_there_stops_the_run_and_nobody_else(court: FakeMessages) -> None:
    """An unknown judge model stops the run and pauses no other call."""
    capture()
    court.faults = [Fault("status", status=404, match=SONNET)]

    with pytest.raises(StoppedError, match="HTTP 404"):
        replay()

    assert circuit_breaker.load().kind == ""


def test_three_requests_in_a_row_that_are_turned_down_end_the_run(court: FakeMessages) -> None:
    """Three rejected requests in a row end the run: the fault is not in the captures."""
    captures(5)
    court.faults = [Fault("status", status=400)]

    with pytest.raises(StoppedError, match="several requests in a row were rejected"):
        replay()

    assert len(court.requests) == 3


def test_the_sample_is_random_and_the_same_each_time(court: FakeMessages) -> None:
    """The sample is random but always the same, without lookups and prompts."""
    ids = captures(40)
    capture(tool="Read", tool_input={"file_path": "/p/a.py"}, tool_response={})

    first, again = ([each.row.id for each in samples.replayable({"high"}, count=10)] for _ in range(2))

    assert (first, len(set(first))) == (again, 10)
    assert set(first) <= set(ids)
    assert first not in (ids[:10], ids[-10:], ids[::-1][:10])


def test_compression_scores_what_the_memory_has_without_a_key(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key compression scores structure, title, size and time, and says what is unmeasured."""
    captures(3)
    forget_raw()

    done, as_json = run("compression"), run("compression", "--json", "--limit", "2")

    assert (done.returncode, done.stderr) == (0, "")
    assert "local" in done.stdout
    assert "quality is the weighted mean of valid, title; the rest needs --with-qag" in done.stdout
    told = json.loads(as_json.stdout)
    local = told["writers"]["local"]
    assert (local["observations"], local["judged"], local["structural_validity"]) == (2, 0, 1.0)
    assert local["measured"] == ["structural_validity", "title_quality"]
    assert (local["info_preservation"], local["usd"]) == (None, 0.0)
    assert local["compression_ratio"] > 0
    assert len(told["observations"]) == 2
    assert (told["judge"], told["spent_usd"]) == (None, 0.0)


def test_compression_with_a_judge(court: FakeMessages) -> None:
    """With a judge, Claude's and the rules' observations are scored by questions on their own raw events."""
    capture(1)
    play()
    capture(2)

    done, as_json = run("compression", "--with-qag"), run("compression", "--with-qag", "--json")

    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(as_json.stdout)
    assert told["writers"][HAIKU]["info_preservation"] == pytest.approx(1 / 3, abs=1e-6)
    assert told["writers"]["local"]["info_preservation"] == pytest.approx(1 / 3, abs=1e-6)
    assert told["writers"][HAIKU]["decision_rationale"] == 1.0
    assert told["writers"]["local"]["decision_rationale"] == 0.0
    assert told["writers"]["all"]["judged"] == 2
    assert told["writers"][HAIKU]["usd"] > 0
    assert told["spent_usd"] > 0
    assert re.search(r"^\$0\.0\d+ spent", done.stdout, re.MULTILINE)


def test_compression_that_is_stopped_tells_what_it_has(court: FakeMessages, memory: Path) -> None:
    """A stopped compression prints the figures so far, the reason on stderr, and exits 1."""
    captures(12)
    settings_file.write("claude", {"daily_budget_usd": 0.03})

    done = run("compression", "--with-qag")

    assert done.returncode == 1
    assert "stopped: too little is left of the daily budget of $0.03" in done.stderr
    assert "local" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("compression", "--with-qag"), ("benchmark", "--yes")])
@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ("a key", "the judge was not asked: no key is used: ANTHROPIC_API_KEY"),
        ("raw events", "set [retention] keep_raw = 100"),
    ],
)
def test_what_a_judgement_lacks_is_said_in_a_line(
    court: FakeMessages, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], lacks: str, says: str
) -> None:
    """Without a key or raw events the evaluation says so in one line, exits 1 and sends nothing."""
    capture()
    if lacks == "a key":
        monkeypatch.delenv("ANTHROPIC_API_KEY")
    else:
        forget_raw()

    done = run(*arguments)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert says in done.stderr
    assert court.requests == []


def test_benchmark_asks_before_it_spends(court: FakeMessages) -> None:
    """Without a terminal the benchmark prints its price and --yes, and spends nothing."""
    capture()

    done = run("benchmark")

    assert done.returncode == 2
    assert re.search(r"4 requests will cost about \$0\.0\d, \$0\.\d\d at the most; ", done.stderr)
    assert "$1.00 of today's $1.00 is left. Without a terminal, confirm with --yes" in done.stderr
    assert court.requests == []


def test_benchmark_prints_both_writers_and_their_differences(court: FakeMessages) -> None:
    """The benchmark prints both writers and their differences, and its estimate is near the cost."""
    captures(7)

    done, as_json = run("benchmark", "--yes", "--samples", "7"), run("benchmark", "--yes", "--json")

    assert (done.returncode, done.stderr) == (0, "")
    row = r"^reasons\t1\.00\t0\.00\t\+1\.00\t\+1\.00 to \+1\.00\ta difference$"
    assert re.search(row, done.stdout, re.MULTILINE)
    assert re.search(r"^valid\t1\.00\t1\.00\t.*\tno difference shown$", done.stdout, re.MULTILINE)
    assert "7 of 7 captures compared, judged by claude-sonnet-5" in done.stdout
    told = json.loads(as_json.stdout)
    assert (told["model_a"], told["model_b"], told["pairs"], told["stopped"]) == (HAIKU, "local", 7, "")
    assert told["a_minus_b"]["quality"]["pairs"] == 7
    assert 0.3 < told["expected_usd"] / told["spent_usd"] < 3
    assert KEY not in done.stdout + as_json.stdout


def test_benchmark_of_a_writer_with_itself_is_wrong_usage(court: FakeMessages) -> None:
    """Comparing a writer with itself is wrong usage and exits 2."""
    done = run("benchmark", "--model-a", "local", "--yes")

    assert (done.returncode, "both models are local" in done.stderr) == (2, True)


def test_a_model_without_a_price_is_said_before_it_is_paid(court: FakeMessages) -> None:
    """A model without a known price is named before anything is spent."""
    capture()

    assert "No price is known for claude-new." in run("benchmark", "--model-b", "claude-new").stderr
