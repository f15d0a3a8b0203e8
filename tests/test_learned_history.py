"""Test the learnings of the recorded sessions, with and without a key."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import words_about
from support.fake_messages import FakeMessages
from support.hooks import run_hook
from support.processes import is_queue_empty, wait_until
from support.recorded import DATA, play, restore

from claude_mem_lite import settings, settings_file
from claude_mem_lite.claude import rewrite
from claude_mem_lite.cli import demo
from claude_mem_lite.context import builder
from claude_mem_lite.learnings import evolve
from claude_mem_lite.services import install
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import ledger, models, queries

FACTS: list[dict[str, Any]] = json.loads(restore((DATA / "ledger" / "facts.json").read_text()))["questions"]
# L16 was said in passing within a task; nothing in its form shows that it holds for good.
CONVENTIONS = [fact for fact in FACTS if fact["kind"] == "convention" and fact["id"] != "L16"]
SUPERSEDED = [fact for fact in FACTS if fact["kind"] == "superseded"]
SAID: list[list[dict[str, Any]]] = json.loads((DATA / "learnings" / "extracted.json").read_text())
NOW = 1_800_000_000.0
WORDS = {"summary": "Amounts are cents now.", "key_files": [], "key_decisions": []}


def known() -> list[str]:
    """Return the current learnings that sessions are shown."""
    rows = learning_rows.find(demo.PROJECT)
    return [row.content for row in rows if row.confidence >= evolve.TOLD and not row.stale]


def answers(fact: dict[str, Any]) -> bool:
    """Return whether a shown learning answers a question about the history."""
    return any(all(part.lower() in told.lower() for part in fact["answer_contains"]) for told in known())


def given_as_current() -> list[str]:
    """Return the outdated answers that sessions are still shown."""
    return [stale for fact in SUPERSEDED for stale in fact["stale"] if any(stale in told for told in known())]


def sessions() -> Iterator[list[dict[str, Any]]]:
    """Yield the recorded sessions."""
    events = list(demo.recorded_events())
    for session_id in dict.fromkeys(event["session_id"] for event in events):
        yield [event for event in events if event["session_id"] == session_id]


def obedient(said: list[dict[str, Any]], *, notes_contradictions: bool = True) -> Callable[[Any], Any]:
    """Return a Claude that says this of a session, naming known learnings by the ids it was shown."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if '"learnings"' not in json.dumps(body["output_config"]):
            return words_about(body)
        content = body["messages"][0]["content"]
        shown = re.findall(r'<known-\w+ id="(\w+)"[^>]*>\n\w+: (.*)\n', content)
        records = re.findall(r'<(?:request|report)-\w+ id="(\w+)">', content)

        def id_of(beginning: str | None) -> str | None:
            return next((each for each, told in shown if beginning and told.startswith(beginning)), None)

        def learning(each: dict[str, Any]) -> dict[str, Any]:
            ids = {name: id_of(each.get(name)) for name in ("confirms", "contradicts")}
            ids |= {} if notes_contradictions else {"contradicts": None}
            kept = {name: each[name] for name in ("category", "content", "about")}
            return {**kept, **ids, "confidence": 0.6, "evidence": records[:1]}

        return words_about(body) | {"learnings": [learning(each) for each in said]}

    return answer


def ask_claude() -> None:
    """Take all steps, on a clock of their own."""
    now = NOW
    while (step := rewrite.step(settings.load(), now=now)).wait_s is not None:
        now += max(step.wait_s, 0.001)


@pytest.fixture
def with_key(fake: FakeMessages, memory: Path) -> FakeMessages:
    """Serve an API for summaries and learnings; the rules write the observations."""
    settings_file.write("compress", {"high": "local", "normal": "local"})
    return fake


def test_without_a_key_what_was_stated_is_known_and_nothing_is_guessed(
    memory: Path, consumer: Callable[[], Any]
) -> None:
    """Without a key exactly the three stated conventions are learned, each with its prompt as evidence.

    A sentence that says how and was said once is a candidate, and not shown as a rule.
    """
    for events in sessions():
        for event in events:
            hook = install.hook_events()[event["hook_event_name"]]["hook"]
            run_hook(hook, event, project_dir=demo.PROJECT)
    consumer()
    wait_until(is_queue_empty)

    rows = learning_rows.find(demo.PROJECT, state="active")
    assert len(rows) == 3
    assert "Test first please" in [row.content for row in learning_rows.find(demo.PROJECT, state="candidate")]
    assert [fact["id"] for fact in CONVENTIONS if not answers(fact)] == []
    assert given_as_current() == []
    for row in rows:
        [prompt] = learning_rows.sources(row)[1]
        assert prompt.tool_name == "UserPromptSubmit"
        assert prompt.session_id == row.source_sessions[0]
    block = builder.build(demo.PROJECT, source="startup", session_id="new", now=NOW)
    assert all(row.content in block.text for row in rows)


def test_with_a_key_what_was_given_up_gives_way(with_key: FakeMessages) -> None:
    """With a key, after four sessions every convention and only the newest answer to a question is shown."""
    for events, said in zip(sessions(), SAID, strict=True):
        with_key.answer = obedient(said)
        play(events)
        ask_claude()

    asked = [*CONVENTIONS, *SUPERSEDED, next(fact for fact in FACTS if fact["id"] == "L18")]
    assert [fact["id"] for fact in asked if not answers(fact)] == []
    assert given_as_current() == []
    assert learning_rows.find(demo.PROJECT, state="quarantine") == []
    paths = next(row for row in learning_rows.find(demo.PROJECT) if "pathlib" in row.content)
    prints = next(row for row in learning_rows.find(demo.PROJECT) if "print()" in row.content)
    assert (paths.content, paths.times_seen) == ("always use pathlib, never os.path", 1)
    assert (prints.content, prints.times_seen) == ("no print() outside cli.py", 2)
    assert prints.confidence == pytest.approx(0.59)
    assert {row.data["purpose"] for row in calls_made()} == {"session"}


def test_where_claude_overlooks_a_contradiction_the_code_map_does_not(with_key: FakeMessages) -> None:
    """If Claude overlooks a contradiction, learnings on renamed, moved or removed functions become stale."""
    for events, said in zip(sessions(), SAID, strict=True):
        with_key.answer = obedient(said, notes_contradictions=False)
        play(events)
        ask_claude()

    stale = {row.content: row.stale for row in learning_rows.find(demo.PROJECT, state="stale")}
    assert not {"is_balanced", "monthly_totals", "journal.py"} & set(given_as_current())
    assert "Entry.difference is now called Entry.imbalance" in stale[SAID[0][5]["content"]]


def calls_made() -> list[models.LogEntry]:
    """Return the API calls in the ledger."""
    return list(models.LogEntry.select().where(models.LogEntry.event_type == ledger.CALL))


def test_the_request_shows_what_is_known_with_ids_and_doubts(with_key: FakeMessages) -> None:
    """The request shows known learnings with ids, faded ones marked, and ids of requests and actions."""
    first, second, *_ = sessions()
    with_key.answer = obedient(SAID[0])
    play(first)
    ask_claude()
    faded = next(row for row in learning_rows.find(demo.PROJECT) if "argparse" in row.content)
    learning_rows.update(faded, confidence=0.2)

    with_key.answer = obedient([])
    play(second)
    ask_claude()

    request = with_key.requests[-1].body
    content = request["messages"][0]["content"]
    assert "worth knowing in every later one" in request["system"][0]["text"]
    assert {"summary", "learnings"} < set(request["output_config"]["format"]["schema"]["properties"])
    known_as = rf'<known-\w+ id="{faded.id[:8]}" mark="low-confidence">\ndependency: The command'
    assert re.search(known_as, content)
    assert "convention: no print() outside cli.py" in content
    assert len(re.findall(r"<request-\w+ id=", content)) >= 3
    assert len(re.findall(r"^- \[\w{8}\] ", content, re.MULTILINE)) >= 5


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("no JSON at all", "waiting"),
        ({"learnings": []}, "waiting"),
        (WORDS | {"learnings": [{"a": 1}]}, ""),
        (WORDS, ""),
    ],
)
def test_an_answer_is_taken_or_asked_for_again(with_key: FakeMessages, answer: Any, state: str) -> None:
    """Invalid learnings in an answer are dropped; an answer without a summary is asked for again later."""
    session_id = play(next(sessions()))
    with_key.answer = lambda _body: answer
    now = NOW
    for _ in range(4):
        step = rewrite.step(settings.load(), now=now)
        now += step.wait_s or 0.001

    row = queries.known_session(session_id)
    assert row.upgrade == state
    assert (row.upgrade_attempts > 0) is bool(state)
    assert (row.summary == WORDS["summary"]) is not bool(state)
    assert len(learning_rows.find(demo.PROJECT)) == 2
