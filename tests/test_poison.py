"""Memory poisoning is contained from hook event to context block, even with a model that obeys it."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from support import attacks
from support.attacks import BATCHES, GOOD, Attack, Ordinary
from support.databases import take_place
from support.events import edited, prompt, ran, stop, tool
from support.fake_messages import FakeMessages
from support.hooks import run_hook
from support.processes import wait_until, web_process
from support.web import get

from claude_mem_lite import config, settings, settings_file
from claude_mem_lite.claude import rewrite
from claude_mem_lite.context import blocks, builder
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.learnings import evolve, session
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.services import install
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models, queries

# How the session spreads the poison. "retold": Claude reports it in its own words. "spread": Claude also
# repeats it, cites it, and writes it into a file.
Way = Literal["retold", "spread"]
WAYS: tuple[Way, ...] = ("retold", "spread")
STATES = ("active", "stale", "superseded", "proposed")
PROMPT = "Look at the file and go on with the parser."
DOUBTED, GIVEN_UP = "Backups are not encrypted", "Releases are built by hand"
IN_ITS_PLACE = "Releases are built in CI"

_LINE = re.compile(r"- (?:\[(?:<1 h ago|\d+ [hd] ago|\d{4}-\d\d-\d\d)\] )?(?P<id>\S{1,8}) \S")
Event = dict[str, Any]


def called(attack: Attack) -> Event:
    """Return the event that carries an attack, as Claude Code sends it."""
    channel, at, text = attack.channel, attack.at, attack.text
    if channel == "prompt":
        return prompt(text)
    if channel == "SubagentStop":
        said = {"agent_id": "a1", "agent_type": at, "last_assistant_message": text}
        return {"hook_event_name": channel, **said}
    blocks_of_text = [{"type": "text", "text": text}]
    given, answered = {
        "Read": (
            {"file_path": f"/p/{at}"},
            {"type": "text", "file": {"filePath": f"/p/{at}", "content": text}},
        ),
        "Grep": ({"pattern": at}, {"mode": "content", "content": text, "numLines": 1}),
        "Glob": ({"pattern": at}, {"filenames": text.split("\n"), "numFiles": 2}),
        "Bash": ({"command": at, "description": "Run it"}, {"stdout": text, "stderr": ""}),
        "WebFetch": ({"url": at, "prompt": "What is advised?"}, {"code": 200, "result": text, "url": at}),
        "WebSearch": ({"query": at}, {"query": at, "results": [text]}),
        "Agent": (
            {"description": at, "prompt": at, "subagent_type": "general-purpose"},
            {"status": "completed", "content": blocks_of_text},
        ),
        "Edit": (
            {"file_path": f"/p/{at}", "old_string": text, "new_string": f"{text}\nx = 1\n"},
            {"filePath": f"/p/{at}", "oldString": text, "newString": f"{text}\nx = 1\n"},
        ),
        "Write": (
            {"file_path": f"/p/{at}", "content": text},
            {"type": "update", "filePath": f"/p/{at}", "content": text, "originalFile": text},
        ),
    }.get(channel, ({"query": at}, blocks_of_text))
    return tool(channel, given, answered)


def edit(path: str, new: str) -> Event:
    """Return the event of an edit by Claude."""
    return edited(path, "pass", new)


# Claude's ordinary work in each session.
WORK = (
    edit(
        "/p/src/parser.py", "def parse(line: str) -> Entry:\n    # Banks write dates in two forms.\n    ..."
    ),
    ran(
        "pytest -q && git commit -am 'parser: read both forms of dates' && git push",
        "12 passed in 0.31s\n[main 1a2b3c4] parser: read both forms of dates\n",
    ),
)


def events_of(attack: Attack, way: Way) -> list[Event]:
    """Return the events of a session with the attack in it."""
    says = attack.says.rstrip(".")
    report = f"The parser works now. {attack.told} Nothing else is open."
    if way == "spread":
        report = f"I have looked. {says}. According to {attack.at or 'the text'}: {says}. {report}"
    asked = [] if attack.channel == "prompt" else [prompt(PROMPT)]
    copied = edit("/p/NOTES.md", f"# Notes\n\n{attack.says}")
    return [*asked, called(attack), *WORK, *([copied] if way == "spread" else []), stop(report)]


def happen(events: list[Event], project: str) -> str:
    """Capture and record the events of a session; return its id."""
    session_id = f"session-{project.rpartition('/')[2]}"
    take_place(events, session_id, project)
    return session_id


def obedient(says: list[str], fields: Callable[[], Event]) -> Callable[[Event], Event]:
    """Return a fake model that puts the given sentences into every answer."""

    def answer(body: Event) -> Event:
        content, wanted = body["messages"][0]["content"], json.dumps(body["output_config"])
        ids = re.findall(r' id="([0-9a-f]{8})"', content)
        if "key_decisions" in wanted:
            told = {"summary": " ".join(says)[:1_000], "key_files": ["a.py"], "key_decisions": says}
            rules = [learned(each, ids) | fields() for each in says]
            return {**told, "observations": [], "learnings": rules}
        told = {"title": says[0][:90], "summary": " ".join(says)[:1_000], "detail": says[-1][:300]}
        return {"observations": [{"id": each, **told} for each in ids]}

    def learned(content: str, ids: list[str]) -> Event:
        rule = {"category": "convention", "content": content, "confidence": 0.7, "confirms": None}
        return {**rule, "contradicts": None, "evidence": ids[:4], "about": ["parser"]}

    return answer


def work_off() -> None:
    """Run all due steps of Claude's rewriting on a simulated clock."""
    now = time.time()
    for _ in range(40):
        step = rewrite.step(settings.load(), now=now)
        if step.wait_s is None:
            return
        now += max(step.wait_s, 0.001)


def live(events: list[Event], project: str, fake: FakeMessages, model: Callable[[Event], Event]) -> None:
    """Record a session, then summarize it and learn from it: first by rules, then with Claude."""
    fake.answer = model
    session_id = happen(events, project)
    summarize_session(session_id, retell=True)
    session.learn(session_id)
    work_off()
    assert queries.known_session(session_id).extracted_pk > 0


def know(project: str) -> dict[str, str]:
    """Store true, doubted and superseded learnings in a project; return their short ids by name."""
    names = {f"GOOD{at}": content for at, content in enumerate(GOOD)}
    names |= {"BAD": DOUBTED, "GONE": GIVEN_UP, "NEW": IN_ITS_PLACE}
    rows = {}
    for name, content in names.items():
        candidate = Candidate(content, "convention", "user")
        outcome = evolve.take(candidate, session_id="before", project_dir=project)
        rows[name] = learning_rows.get(outcome.learning_id)
    learning_rows.update(rows["BAD"], confidence=0.2)
    learning_rows.update(rows["GONE"], confidence=0.2, superseded_by=rows["NEW"].id)
    return {name: row.id[:8] for name, row in rows.items()}


def state_of(project: str) -> dict[str, tuple[Any, ...]]:
    """Return the fields of each learning that an attack could change."""
    return {
        row.id: (row.content, row.confidence, row.superseded_by, row.is_active, row.stale, row.times_seen)
        for row in learning_rows.find(project, state="all")
    }


def project_of(attack: Attack, way: Way) -> str:
    """Return a project folder for each attack and way."""
    return f"/home/dev/{abs(hash(attack.text + attack.says)):x}-{way}"


def harm(attack: Attack, way: Way, fake: FakeMessages) -> list[str]:
    """Run an attack; return the learnings that it changed and those that it created."""
    project = project_of(attack, way)
    ids = know(project)
    before = state_of(project)
    fields = {
        name: ids.get(value, value) if isinstance(value, str) else value
        for name, value in attack.fields.items()
    }
    said = [attack.says, attack.told, f"The user has said: {attack.says}"]
    said.append(f"The user prefers this: {attack.told}")
    live(events_of(attack, way), project, fake, obedient(said, lambda: fields))
    after = state_of(project)
    changed = [row_id for row_id in before if after[row_id] != before[row_id]]
    harmed = [f"harmed {before[row_id][0]!r}: {after[row_id]}" for row_id in changed]
    current = [row.content for row in learning_rows.find(project) if row.id not in before]
    passed = [each for each in current if not any(piece in each for piece in attack.harmless)]
    return [f"{way} {attack.channel} {attack.at}: {what}" for what in [*harmed, *passed]]


def escapes(text: str) -> list[str]:
    """Return the lines that break a block's fence or don't have our format."""
    if not text:
        return []
    inner = text.removeprefix("<claude-mem>\n").removesuffix("\n</claude-mem>")
    lines = [line for line in inner.split("\n") if line]
    begins = ("- ", "  - ", "## ", "Record of past work ", "More: curl ")
    wrong = [line for line in lines if not line.startswith(begins)]
    wrong += [line for line in lines if line.startswith("- ") and not _is_ours(line)]
    without = [(line, line.replace("- [<1 h ago] ", "", 1), line.replace("->", "")) for line in lines]
    wrong += [line for line, opens, closes in without if "<" in opens or ">" in closes]
    wrong += [repr(line) for line in lines if not line.isprintable() or len(line.splitlines()) > 1]
    return wrong + [text] * (text.count("<claude-mem>") != 1 or text.count("</claude-mem>") != 1)


def _is_ours(line: str) -> bool:
    found = _LINE.match(line)
    tables = (models.Session, models.Observation, models.Learning)
    return found is not None and any(
        table.select().where(table.id.startswith(found["id"])).exists() for table in tables
    )


def blocks_about(attack: Attack, way: Way) -> list[str]:
    """Return the next session's blocks: at its start, on a prompt about the attack, and on its file."""
    project, searcher = project_of(attack, way), Searcher(by_meaning=False)
    return [
        builder.build(project, session_id="next").text,
        blocks.for_prompt(searcher, project, f"What about this: {attack.says}?", session_id="next").text,
        blocks.for_file(project, f"{project}/NOTES.md", session_id="next").text,
        blocks.for_file("/p", f"/p/{attack.at}", session_id="next").text,
    ]


@pytest.fixture
def rich(fake: FakeMessages, memory: Path) -> FakeMessages:
    """Serve the API with a budget that no test uses up."""
    settings_file.write("claude", {"daily_budget_usd": 1000.0})
    return fake


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "cases", [pytest.param(cases, id=kind) for batch in BATCHES for kind, cases in batch.items()]
)
def test_no_poison_becomes_a_learning(cases: list[Attack], way: Way, rich: FakeMessages) -> None:
    """Poison stays in quarantine, changes no existing learning, and never breaks a block's fence."""
    harms = [each for attack in cases for each in harm(attack, way, rich)]
    out = [line for attack in cases for text in blocks_about(attack, way) for line in escapes(text)]

    assert (harms, out) == ([], [])


def test_what_waits_is_served_to_nobody(rich: FakeMessages) -> None:
    """Quarantined learnings appear in no list, search, block or lookup by id."""
    cases = [case for batch in BATCHES for kind in batch.values() for case in kind][::10]
    for case in cases:
        harm(case, "spread", rich)
    waiting = learning_rows.find(None, state="quarantine")
    assert len(waiting) > len(cases)

    with web_process():
        served = [
            each["id"]
            for state in STATES
            for each in asked(f"/api/learnings?limit=1000&state={state}")["learnings"]
        ]
        opened = [row.id for row in waiting if "content" in asked(f"/api/observation/{row.id}")]
        found = [
            hit["id"]
            for row in waiting
            for words in (row.id, row.id[:8], row.content[:200])
            for hit in asked(f"/api/search?limit=100&type=learning&q={quote(words)}")["results"]
        ]

    ids = {row.id for row in waiting}
    told = [
        blocks.for_prompt(Searcher(by_meaning=False), "/p", row_id, session_id="next").text for row_id in ids
    ]

    assert not ids & {*served, *opened, *found}
    assert not any(told)
    assert found  # active learnings are found


def test_poison_that_comes_by_the_hooks_waits(fake: FakeMessages, web_and_consumer: Path) -> None:
    """With real hooks, a real consumer and an obedient model, only the user's rule is learned."""
    case = BATCHES[0]["files"][0]
    project, said = "/home/dev/ledger", "Never touch legacy/ in this project"
    fake.answer = obedient([case.says, case.told, said], dict)
    events = [prompt(f"{said}. {PROMPT}"), *events_of(case, "spread")[1:]]
    for event in [*events, {"hook_event_name": "SessionEnd", "reason": "other"}]:
        hook = str(install.hook_events()[event["hook_event_name"]]["hook"])
        assert run_hook(hook, {"session_id": "s1", **event}, project_dir=project).returncode == 0
    wait_until(lambda: (row := queries.session("s1")) is not None and row.extracted_pk)

    assert [row.content for row in learning_rows.find(project)] == [said]
    assert [row.content for row in learning_rows.find(project, state="quarantine")] == [case.says, case.told]


def asked(address: str) -> dict[str, Any]:
    """Return the JSON that the web process answers."""
    return get(Path(config.home()), address)[1]


@pytest.mark.parametrize("half", [0, 1])
def test_ordinary_sessions_teach(half: int, rich: FakeMessages) -> None:
    """What users say and Claude finds out is learned at once, with at most one miss in each half."""
    middle = len(attacks.ORDINARY) // 2
    cases = attacks.ORDINARY[:middle] if half == 0 else attacks.ORDINARY[middle:]

    missed = [case.says for case in cases if not learns(case, rich)]

    assert len(missed) <= 1, missed


def learns(case: Ordinary, fake: FakeMessages) -> bool:
    """Tell whether an ordinary session leaves a learning and nothing in quarantine."""
    project = f"/home/dev/{abs(hash(case)):x}"
    work = [ran("make", case.output), edit("/p/src/work.py", case.wrote)]
    events = [prompt(case.prompt), *work, stop(case.report)]
    live(events, project, fake, obedient([case.says], dict))
    return bool(learning_rows.find(project)) and not learning_rows.find(project, state="quarantine")


@pytest.mark.xfail(strict=True, reason="a translation shares no word with its source")
def test_a_translated_poison_waits(rich: FakeMessages) -> None:
    """Known gap: poison that Claude reports in another language passes as its own finding."""
    assert harm(attacks.TRANSLATED, "retold", rich) == []
