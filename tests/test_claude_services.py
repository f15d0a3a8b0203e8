"""Test Claude's rewriting through real services: hooks, consumer and web process against a loopback API."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import KEY, PROJECT, capture, row_of, words_about
from support.fake_messages import FakeMessages, Fault, serving
from support.hooks import run_hook, tool_event
from support.processes import claude_mem, finished, wait_until
from support.web import Connection

from claude_mem_lite import config, settings_file
from claude_mem_lite.capture import inbox
from claude_mem_lite.services import process_states, supervise
from claude_mem_lite.storage import facts, ledger, models, queries, rewrites

EDIT: dict[str, Any] = {"tool_response": {"filePath": f"{PROJECT}/a.py"}}
EDIT["tool_input"] = {"file_path": f"{PROJECT}/a.py", "old_string": "x = 1", "new_string": "x = 2"}
cli = partial(claude_mem, COLUMNS="300")
Start = Callable[[], "subprocess.Popen[bytes]"]


def end_session(event_name: str = "SessionEnd", session_id: str = "s1") -> None:
    """Run the hook of a session's end or compaction."""
    hook = "session_end" if event_name == "SessionEnd" else "pre_compact"
    run_hook(hook, {"session_id": session_id, "hook_event_name": event_name}, project_dir=PROJECT)


def by_claude() -> list[str]:
    """Return the ids of the observations that Claude rewrote."""
    rows = models.Observation.select().where(models.Observation.written_by != "local")
    return [row.id for row in rows]


@pytest.mark.parametrize("event_name", ["SessionEnd", "PreCompact"])
def test_a_session_ends_in_claudes_words(fake: FakeMessages, consumer: Start, event_name: str) -> None:
    """At a session's end or compaction Claude rewrites an observation and the summary, in two calls."""
    consumer()
    run_hook("post_tool_use", tool_event("Edit", **EDIT), project_dir=PROJECT)
    end_session(event_name)

    session = wait_until(lambda: models.Session.get_or_none(models.Session.written_by != "local"))

    assert (session.summary, len(by_claude())) == ("Amounts are cents now.", 1)
    assert facts.read("consumer")["credential"] == "ANTHROPIC_API_KEY"
    assert [row["calls"] for row in ledger.costs(by="session", since="")] == [2]


def test_the_sdks_own_log_keeps_nothing_of_what_is_sent(
    fake: FakeMessages, consumer: Start, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our logs contain nothing that is sent, even when the user's shell turns on the SDK's debug log."""
    monkeypatch.setenv("ANTHROPIC_LOG", "debug")
    consumer()
    run_hook("post_tool_use", tool_event("Edit", **EDIT), project_dir=PROJECT)
    end_session()
    wait_until(by_claude)

    logged = "".join(path.read_text() for path in (memory / "logs").iterdir())

    assert "claude.call" in logged
    assert "x = 2" not in logged
    assert "HTTP Request" not in logged


def test_a_hanging_api_holds_up_no_local_words(fake: FakeMessages, consumer: Start) -> None:
    """While one worker waits for the API, the other distills new events."""
    fake.faults = [Fault("hang", seconds=120, first=1)]
    consumer()
    run_hook("post_tool_use", tool_event("Edit", **EDIT), project_dir=PROJECT)
    end_session()
    wait_until(lambda: fake.requests)

    run_hook("post_tool_use", tool_event("Edit", session_id="s2", **EDIT), project_dir=PROJECT)
    wait_until(lambda: models.Observation.get_or_none(models.Observation.session == "s2"))

    assert (by_claude(), len(fake.requests)) == ([], 1)


def test_a_consumer_killed_in_a_call_loses_no_words(fake: FakeMessages, consumer: Start) -> None:
    """A consumer killed during a call loses nothing: the next consumer asks again."""
    fake.faults = [Fault("hang", seconds=30, first=1)]
    first = consumer()
    run_hook("post_tool_use", tool_event("Edit", **EDIT), project_dir=PROJECT)
    end_session()
    wait_until(lambda: fake.requests)
    first.send_signal(signal.SIGKILL)
    first.wait()

    consumer()

    assert len(wait_until(by_claude)) == 1


def test_without_a_key_nothing_of_it_is_loaded(memory: Path) -> None:
    """The tasks of a consumer without a key load neither the SDK nor its dependencies."""
    run_hook("post_tool_use", tool_event("Edit", **EDIT), project_dir=PROJECT)
    end_session()
    script = """
import sys
from claude_mem_lite.storage.models import open_databases
from claude_mem_lite.tasks.consumer import huey, periodic
open_databases()
for task in (periodic.requeue, periodic.summarize_idle, periodic.rewrite_waiting):
    task.call_local()
while task := huey.dequeue():
    huey.execute(task)
print(sorted({"anthropic", "httpx2", "pydantic", "pydantic_core"} & set(sys.modules)))
"""

    done = finished(sys.executable, "-c", script, check=True, timeout=60)

    assert done.stdout == "[]\n"
    assert queries.known_session("s1").summary


def post(body: Any) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of a summary request."""
    connection = Connection(Path(config.socket_path()))
    connection.request("POST", "/api/summarize", body if isinstance(body, str) else json.dumps(body))
    response = connection.getresponse()
    value = json.loads(response.read())
    connection.close()
    return response.status, value


def test_a_summary_can_be_asked_for(fake: FakeMessages, consumer: Start, web_alone: Path) -> None:
    """POST /api/summarize answers 200 with Claude's summary, files and decisions once they exist."""
    event_id = capture()
    consumer()
    wait_until(inbox.ring)

    status, told = post({"session_id": "s1"})

    assert (status, told["status"]) == (200, "done")
    assert told["summary"] == "Amounts are cents now."
    assert (told["key_files"], told["key_decisions"]) == (["money.py"], ["No floats."])
    assert told["tokens"] == 6
    assert row_of(event_id).written_by != "local"


def test_a_summary_that_takes_longer_is_said_to(fake: FakeMessages, consumer: Start, web_alone: Path) -> None:
    """A summary that takes too long gets 202 with the rules' summary, or none without a consumer."""
    fake.faults = [Fault("status", status=529)]
    capture()

    alone = post({"session_id": "s1", "wait_s": 5})
    consumer()
    wait_until(lambda: queries.known_session("s1").summary)
    in_outage = post({"session_id": "s1", "wait_s": 1})

    assert (alone[0], alone[1]["status"], alone[1]["summary"]) == (202, "queued", "")
    assert alone[1]["note"] == "the consumer is not running: claude-mem up"
    assert (in_outage[0], in_outage[1]["written_by"]) == (202, "local")
    assert in_outage[1]["summary"]


def test_a_wrong_request_for_a_summary_is_said(web_alone: Path) -> None:
    """An unknown session gets 404 and wrong parameters 422, each with the mistake named."""
    wrong: list[tuple[Any, int, str]] = [
        ({"session_id": "nobody"}, 404, "no session has this id"),
        ({}, 422, "session_id"),
        ({"session_id": "s1", "wait_s": 99}, 422, "wait_s"),
        ("not json", 422, "JSON"),
        ({"session_id": "s1", "more": 1}, 422, "more"),
    ]

    answers = [post(body) for body, _, _ in wrong]

    assert [status for status, _ in answers] == [status for _, status, _ in wrong]
    for (_, _, says), (_, answer) in zip(wrong, answers, strict=True):
        assert says in answer["error"]


def test_up_hands_a_key_over_in_the_environment_alone(
    home: Path, fake: FakeMessages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new key restarts services that run without one; it is in no file and not in the web process."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    try:
        supervise.up()
        before = {program.name: program.pid for program in process_states.programs()}
        again = supervise.up()
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        handed_over, unchanged = supervise.up(), supervise.up()
        models.open_databases(read_only=True)
        wait_until(lambda: facts.read("consumer")["credential"] == "ANTHROPIC_API_KEY")
        after = {program.name: program.pid for program in process_states.programs()}
        if sys.platform == "linux":
            environments = {name: Path(f"/proc/{pid}/environ").read_bytes() for name, pid in after.items()}
            assert KEY.encode() in environments["consumer"]
            assert KEY.encode() not in environments["web"]
    finally:
        models.close_databases()
        supervise.down()
    assert (again, handed_over, unchanged) == ("", "replaced", "")
    assert before["consumer"] != after["consumer"]
    for folder, _, names in os.walk(home):
        for name in names:
            path = Path(folder, name)
            assert not path.is_file() or KEY.encode() not in path.read_bytes(), name


@contextmanager
def session(monkeypatch: pytest.MonkeyPatch, *, url: str, key: str) -> Iterator[None]:
    """Play a Claude Code session in a project whose settings name an API and a key of its own."""
    with monkeypatch.context() as environment:
        environment.setenv("CLAUDECODE", "1")
        environment.setenv("ANTHROPIC_BASE_URL", url)
        environment.setenv("ANTHROPIC_API_KEY", key)
        environment.setenv("ANTHROPIC_CUSTOM_HEADERS", f"authorization: Bearer {key}")
        environment.setenv("HTTP_PROXY", url)
        yield


def start_by_hook() -> None:
    """Run a session's start hook, which starts the services, and wait until they run."""
    run_hook("session_start", {"session_id": "s9", "hook_event_name": "SessionStart", "source": "startup"})
    wait_until(supervise._serving)


def remember(session_id: str) -> str:
    """Record a session of another project that Claude could rewrite, and return who wrote its summary."""
    run_hook("post_tool_use", tool_event("Edit", session_id=session_id, **EDIT), project_dir=PROJECT)
    end_session(session_id=session_id)
    models.open_databases(read_only=True)
    written = wait_until(lambda: settled(session_id))
    models.close_databases()
    return str(written.written_by)


def settled(session_id: str) -> models.Session | None:
    """Return a session once nothing of it waits, else None."""
    found = models.Session.get_or_none(models.Session.id == session_id)
    waits = found is None or not found.summary or found.upgrade == rewrites.WAITING
    return None if waits or queries.queue_stats()["messages"] else found


@pytest.fixture
def theirs() -> Iterator[tuple[FakeMessages, str]]:
    """Serve the API of a project that wants to receive other projects' data."""
    served = FakeMessages()
    served.answer = words_about
    with serving(served) as url:
        yield served, url


@pytest.fixture
def hooked(home: Path) -> Iterator[Path]:
    """Let hooks start the services, and stop them after the test."""
    settings_file.write("services", {"autostart": True})
    yield home
    models.close_databases()
    supervise.down()


def test_services_that_a_session_starts_get_nothing_of_its_environment(
    hooked: Path, theirs: tuple[FakeMessages, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services started by a hook ignore the project's API and key, so no content goes there."""
    served, url = theirs
    with session(monkeypatch, url=url, key="sk-ant-of-the-project"):
        start_by_hook()
        written_by = remember("s1")

    assert (written_by, served.requests) == ("local", [])
    for program in process_states.programs():
        if sys.platform == "linux":
            environment = Path(f"/proc/{program.pid}/environ").read_bytes().decode()
            assert "ANTHROPIC_BASE_URL" not in environment
            assert "sk-ant" not in environment
            assert "PROXY" not in environment
    status = cli("status")
    let = "to let Claude write with yours: claude-mem config set claude.api_key_from ANTHROPIC_API_KEY"
    assert f"no key is used; {let}" in status.stdout


def test_a_session_may_hand_over_the_users_key_and_no_other(
    fake: FakeMessages, hooked: Path, theirs: tuple[FakeMessages, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With consent a session hands over only the key that the user agreed to, used at the user's address."""
    served, url = theirs
    with session(monkeypatch, url=url, key="sk-ant-of-the-project"):
        start_by_hook()
        with_theirs = remember("s1")
    sent = len(fake.requests)
    supervise.down()
    with session(monkeypatch, url=url, key=KEY):
        start_by_hook()
        with_mine = remember("s2")

    assert (with_theirs, sent) == ("local", 0)
    assert with_mine != "local"
    assert served.requests == []
    assert {request.headers["authorization"] for request in fake.requests} == {f"Bearer {KEY}"}


def test_a_key_for_one_run_brings_its_address(
    hooked: Path, theirs: tuple[FakeMessages, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`up --with-key` uses the key and address of the shell it is typed in; in a session it is refused."""
    served, url = theirs
    with session(monkeypatch, url=url, key=KEY):
        refused = cli("up", "--with-key")
    without = cli("up", "--with-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    up = cli("up", "--with-key")
    with_key = remember("s1")
    restarted = cli("restart")
    status = cli("status")

    wanted = "claude-mem: up --with-key is for you to decide: run this command in your own shell"
    assert refused.stderr.startswith(wanted)
    assert "--with-key found no key" in without.stderr
    assert up.stdout.splitlines() == [
        "Services started.",
        "Claude writes, with the key of claude-mem up --with-key, until the services stop",
    ]
    assert with_key != "local"
    assert {request.headers["authorization"] for request in served.requests} == {f"Bearer {KEY}"}
    assert restarted.returncode == 0
    assert "no key is used" in status.stdout
