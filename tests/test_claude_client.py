"""Test rewriting by the user's own client, `claude -p`: a program that plays it, and a real one."""

import json
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.claudes_words import PROJECT, capture, play, row_of, words, words_about
from support.commands import command
from support.databases import happen
from support.fake_messages import Body, FakeMessages, Fault, serving
from support.hooks import run_hook, tool_event

from claude_mem_lite import settings, settings_file
from claude_mem_lite.claude import client
from claude_mem_lite.claude.api import OutageError, RejectedError, Request, SetupError
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import ledger, queries, rewrites

CLIENTS = [path for path in os.environ.get("CLAUDE_MEM_TEST_CLIENT", "").split(":") if path]
REQUEST = Request("Tell x.", "a secret prompt", {"type": "object"}, 500)
USAGE = {"input_tokens": 10, "output_tokens": 3}
USAGE |= {"cache_creation_input_tokens": 7, "cache_read_input_tokens": 5}
LEARNED = {"category": "convention", "content": "Amounts are integers in cents.", "confidence": 0.7}
LEARNED |= {"confirms": None, "contradicts": None, "evidence": [], "about": []}
SAID = {"subtype": "success", "is_error": False, "usage": USAGE, "stop_reason": "tool_use"}

pytestmark = pytest.mark.process
Plays = Callable[[str], settings.Settings]


@pytest.fixture
def plays(home: Path, tmp_path: Path) -> Plays:
    """Return a function that makes Python lines the client program and returns the settings for it."""

    def make(lines: str) -> settings.Settings:
        path = tmp_path / "bin" / "claude"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/usr/bin/env python3\nimport json, os, sys, time\n{lines}\n")
        path.chmod(stat.S_IRWXU)
        settings_file.write("claude", {"via": "cli", "client": str(path)})
        return settings.load()

    return make


def says(**said: Any) -> str:
    """Return the line by which a program prints an answer."""
    return f"print({json.dumps(json.dumps(SAID | said))})"


def test_an_answer_comes_with_its_tokens(plays: Plays, tmp_path: Path) -> None:
    """The prompt goes by stdin only, in an empty folder and marked as ours; the answer has token counts."""
    note = (
        f"open({str(tmp_path / 'seen')!r}, 'w').write(json.dumps([sys.argv, sys.stdin.read(), os.listdir(), "
    )
    note += "dict(os.environ)]))\n"
    settings_file.write("claude", {"client_config": "/home/dev/.claude-work"})

    answer = client.ask(REQUEST, plays(note + says(structured_output={"x": 1}, result="x")))

    arguments, content, listing, environment = json.loads((tmp_path / "seen").read_text())
    assert (json.loads(answer.text), answer.stop_reason) == ({"x": 1}, "end_turn")
    assert (answer.input_tokens, answer.output_tokens) == (10, 3)
    assert (answer.cache_write_tokens, answer.cache_read_tokens) == (7, 5)
    assert content == REQUEST.content
    assert REQUEST.content not in " ".join(arguments)
    assert (listing, environment["CLAUDE_MEM_WRITER"]) == ([], "1")
    assert environment["CLAUDE_CONFIG_DIR"] == "/home/dev/.claude-work"
    assert environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "500"


@pytest.mark.parametrize(
    ("lines", "error", "said"),
    [
        (says(is_error=True, api_error_status=429, result="Usage limit reached"), OutageError, "Usage limit"),
        (says(is_error=True, api_error_status=529, result="Overloaded"), OutageError, "Overloaded"),
        (says(is_error=True, api_error_status=401, result="Please run /login"), SetupError, "/login"),
        (says(is_error=True, api_error_status=400, result="Too long"), RejectedError, "Too long"),
        ("sys.exit(\"error: unknown option '--json-schema'\")", SetupError, "too old"),
        ("print('no JSON'); sys.exit(3)", OutageError, "exit code 3"),
        ("print('[]')", OutageError, "failed"),
    ],
)  # fmt: skip
def test_a_failure_is_one_of_three(plays: Plays, lines: str, error: type[Exception], said: str) -> None:
    """A failure is an outage, a setup error or a rejection, with its cause in one line."""
    with pytest.raises(error, match=said) as raised:
        client.ask(REQUEST, plays(lines))

    assert "\n" not in str(raised.value)


def test_a_hang_is_ended_with_all_it_started(
    plays: Plays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that hangs is killed with every process it started."""
    monkeypatch.setattr(client, "TIMEOUT_S", 2.0)
    lines = f"import subprocess; p = subprocess.Popen(['sleep', '600']); open({str(tmp_path / 'pid')!r}, 'w')"
    chosen = plays(f"{lines}.write(str(p.pid)); time.sleep(600)")

    with pytest.raises(OutageError, match="did not answer within 2 s"):
        client.ask(REQUEST, chosen)

    time.sleep(0.1)
    state = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    assert not state.exists() or " Z " in state.read_text()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Claude AI usage limit reached|1800003600", 3_600.0),
        ("You've hit your limit · resets 9am (UTC)", 3_600.0),
        ("You've hit your limit · resets 8:30am (UTC)", 1_800.0),
        ("Limit reached, resets at 7am (UTC)", 82_800.0),
        ("You've hit your weekly limit", 3_600.0),
        ("limit · resets 44pm (Nowhere/Land)", 3_600.0),
        ("API Error: 529 overloaded", None),
    ],
)
def test_a_limit_ends_when_the_client_says(text: str, seconds: float | None) -> None:
    """A limit lasts until the Unix or clock time that the client names, an hour without one."""
    assert client.reset_s(text, now=1_800_000_000.0) == seconds  # 2027-01-15, 8:00 UTC


def test_a_session_costs_one_request(memory: Path, plays: Plays) -> None:
    """One request rewrites a session and its important captures; a limit pauses that and loses nothing."""
    plays(says(is_error=True, api_error_status=429, result="limit reached|9999999999"))
    event_id, *others = [capture(number) for number in range(5)]
    told = {"summary": "Amounts are cents.", "key_files": [], "key_decisions": [], "learnings": [LEARNED]}
    told["observations"] = [words(event_id[:8]), words("0badf00d")]
    summarize_session("s1", retell=True)

    paused = play()[0][1]
    plays(says(structured_output=told))
    resumed = play(start=time.time() + 90_000)

    assert (paused.failure, paused.wait_s) == ("outage", pytest.approx(86_400, abs=5))
    assert sum(step.written for _, step in resumed) == 1
    assert queries.known_session("s1").summary == "Amounts are cents."
    row = row_of(event_id)
    assert (row.title, row.summary) == (f"Claude on {event_id[:8]}", "Because of cents.")
    assert {row_of(each).written_by for each in others} == {"local"}
    assert [row.content for row in learning_rows.find(PROJECT, state="all")] == [LEARNED["content"]]
    assert ledger.tokens(since="") == 25


def test_a_share_of_sessions_is_told(memory: Path, plays: Plays) -> None:
    """Only the chosen share of sessions is rewritten, and none that did nothing."""
    plays(says())
    settings_file.write("claude", {"session_share": 0.5})
    told = [settings.load().wants_session(f"session {number}") for number in range(400)]
    settings_file.write("claude", {"session_share": 1.0})
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "idle", "cwd": PROJECT}
    asked["prompt"] = "What time is it?"
    happen(asked, PROJECT)
    capture(session_id="busy")

    for session_id in ("idle", "busy"):
        summarize_session(session_id, retell=True)

    assert 150 < sum(told) < 250
    assert [row.id for row in rewrites.waiting_sessions()] == ["busy"]


def test_the_days_tokens_are_a_limit(memory: Path, plays: Plays) -> None:
    """Once the day's tokens are used up, nothing is asked until the next day."""
    plays(says(structured_output={"summary": "x", "key_files": [], "key_decisions": []}))
    settings_file.write("claude", {"daily_tokens": 0})
    capture()
    summarize_session("s1", retell=True)

    step = play()[0][1]

    assert (step.failure, step.reason) == ("budget", "the daily budget of 0 tokens is used up")


def test_nothing_is_asked_when_it_is_off(home: Path) -> None:
    """With `via = "off"` no credential is used, not even a key in config.toml."""
    settings_file.write("claude", {"via": "off", "api_key": "sk-ant-test-0123456789"})

    assert settings.load().credential is None


def test_a_hook_of_a_client_that_writes_records_nothing(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If Claude's rewriting client runs hooks after all, they record nothing."""
    monkeypatch.setenv(client.WRITER, "1")

    run_hook("post_tool_use", tool_event("Bash", tool_input={"command": "ls"}, tool_response={"stdout": ""}))

    assert queries.unfinished_events() == []


def test_consent_finds_the_client_and_says_what_it_costs(
    plays: Plays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Consent stores the client's path, as services lack the user's PATH; inside a session it is refused."""
    plays(says())
    settings_file.write("claude", {"client": "/gone"})
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "work"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    done = command("config", "set", "claude.via", "cli")
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = command("config", "set", "claude.via", "off")

    assert "at most 200,000 tokens a day" in done.stdout
    assert settings.load().client == str(tmp_path / "bin" / "claude")
    assert settings.load().client_config == str(tmp_path / "work")
    assert (refused.returncode, settings.load().via) == (1, "cli")


@pytest.fixture(params=CLIENTS or [""], ids=lambda path: Path(path).name)
def real(
    request: pytest.FixtureRequest, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, FakeMessages]]:
    """Have a real client rewrite, logged in by the user's settings, whose hooks would leave a mark."""
    if not request.param:
        pytest.skip("CLAUDE_MEM_TEST_CLIENT names no Claude Code to run")
    user, fake = tmp_path / "user", FakeMessages()
    (user / ".claude").mkdir(parents=True)
    hook = [{"hooks": [{"type": "command", "command": f"touch {user}/hooked"}]}]
    with serving(fake) as address:
        hooks = dict.fromkeys(("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"), hook)
        env = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "no-key-for-loopback"}
        given = {"env": env, "hooks": hooks}
        (user / ".claude" / "settings.json").write_text(json.dumps(given))
        monkeypatch.setenv("HOME", str(user))
        monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
        settings_file.write("claude", {"via": "cli", "client": request.param})
        settings_file.write("compress", {"high": "claude"})
        yield user, fake


def shaped(body: Body) -> Body | None:
    """Answer through the tool by which the client makes the model keep to a schema."""
    for tool in body.get("tools", ()):
        if tool["name"] == "StructuredOutput":
            given = {
                "output_config": tool["input_schema"],
                "messages": [{"content": json.dumps(body["messages"])}],
            }
            given["messages"][0]["content"] = given["messages"][0]["content"].replace('\\"', '"')
            return {"type": "tool_use", "id": "toolu_1", "name": tool["name"], "input": words_about(given)}
    return None


def test_a_real_client_writes_and_leaves_nothing(real: tuple[Path, FakeMessages]) -> None:
    """A real client rewrites with one request each, no thinking, no fired hooks and no stored session."""
    user, fake = real
    fake.act = shaped
    event_id = capture()
    summarize_session("s1", retell=True)

    play()

    assert row_of(event_id).title == f"Claude on {event_id[:8]}"
    assert queries.known_session("s1").summary == "Amounts are cents now."
    asked = [each.body for each in fake.requests if each.path.startswith("/v1/messages")]
    assert len(asked) == ledger.costs(by="session", since="")[0]["calls"]
    assert [body["thinking"]["type"] for body in asked] == ["disabled"] * len(asked)
    assert not (user / "hooked").exists()
    assert list(user.rglob("*.jsonl")) == []
    assert ledger.tokens(since="") > 0


def test_a_limit_of_a_real_client_pauses_it(real: tuple[Path, FakeMessages]) -> None:
    """After a limit nothing more is sent until it ends, and the rules' observation stays."""
    _, fake = real
    fake.faults = [Fault("status", status=429, body={
        "type": "error", "error": {"type": "rate_limit_error", "message": "usage limit reached|9999999999"},
    })]  # fmt: skip
    event_id = capture()

    steps = play(seconds=3_600)

    assert steps[-1][1].failure == "outage"
    assert len([each for each in fake.requests if each.path.startswith("/v1/messages")]) <= 2
    assert row_of(event_id).written_by == "local"


def test_a_hang_of_a_real_client_is_ended(
    real: tuple[Path, FakeMessages], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real client that hangs is gone after its timeout."""
    _, fake = real
    fake.faults = [Fault("hang", seconds=60)]
    monkeypatch.setattr(client, "TIMEOUT_S", 4.0)

    with pytest.raises(OutageError, match="did not answer"):
        client.ask(REQUEST, settings.load())

    left = subprocess.run(["pgrep", "-f", "no-session-persistence"], capture_output=True, check=False)
    assert left.stdout == b""
