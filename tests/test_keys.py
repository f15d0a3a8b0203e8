"""Test which API key is used, and which variables reach the services and the API."""

import json
import os
import sys
from pathlib import Path

import pytest
from support.claudes_words import KEY, capture, consent
from support.commands import command
from support.fake_messages import FakeMessages

from claude_mem_lite import keys, settings
from claude_mem_lite.claude import circuit_breaker
from claude_mem_lite.services import supervise

VARIABLE = "ANTHROPIC_API_KEY"
SET = "claude-mem config set claude.api_key_from"
LET = f"to let Claude write with yours: {SET} {VARIABLE}"
HANDS = "; to pass the key to the services: claude-mem up"
SET_URL = "claude-mem config set claude.base_url URL"


def test_a_variable_is_used_with_the_value_that_was_agreed_to(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is used only with the value that the user agreed to, of which a hash is stored privately."""
    monkeypatch.setenv(VARIABLE, KEY)
    unasked = keys.of_variable(VARIABLE)
    agreed, again = keys.agree(VARIABLE), keys.agree(VARIABLE)
    mine = keys.of_variable(VARIABLE)
    monkeypatch.setenv(VARIABLE, f"{KEY}-of-a-project")
    other = keys.of_variable(VARIABLE)
    changed = keys.agree(VARIABLE)

    assert (unasked, other) == (None, None)
    assert (agreed, again, changed) == (True, False, True)
    assert mine == keys.Credential("api_key", VARIABLE, KEY)
    assert KEY not in (home / "key.sha256").read_text()
    assert (home / "key.sha256").stat().st_mode & 0o777 == 0o600


def test_a_variable_without_consent_is_no_credential(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment is no credential unless the settings name its variable."""
    monkeypatch.setenv(VARIABLE, KEY)
    keys.agree(VARIABLE)
    without = settings.load().credential
    consent("http://127.0.0.1:9")

    assert without is None
    assert settings.load().credential == keys.Credential("api_key", VARIABLE, KEY)
    assert settings.load().base_url == "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("claude.api_key_from", VARIABLE),
        ("claude.api_key", KEY),
        ("claude.base_url", "https://elsewhere.example"),
        ("claude.proxy", "http://elsewhere.example:3128"),
    ],
)
def test_where_content_goes_and_who_pays_is_not_set_from_a_session(home: Path, name: str, value: str) -> None:
    """A Claude Code session cannot set the address, proxy or key; it is refused in one line."""
    before = (home / "config.toml").read_text()

    refused = command("config", "set", name, value, CLAUDECODE="1")
    after = (home / "config.toml").read_text()
    done = command("config", "set", name, value)

    assert refused.returncode == 1
    says = "is for you to decide: run this command in your own shell, outside of Claude Code"
    assert refused.stderr == f"claude-mem: {name} {says}\n"
    assert (after, done.returncode) == (before, 0)
    assert json.dumps(value) in (home / "config.toml").read_text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({VARIABLE: KEY}, f"{HANDS}\n"),
        ({}, f"{HANDS}, run in a shell where it is set\n"),
        (
            {VARIABLE: KEY, "ANTHROPIC_BASE_URL": "https://gateway.example"},
            f"{HANDS}; to use another address than Anthropic's: {SET_URL}\n",
        ),
    ],
)
def test_consent_says_what_is_left_to_do_and_can_be_taken_back(
    home: Path, given: dict[str, str], says: str
) -> None:
    """Giving consent prints what to do next in one line, and taking it back deletes the key's hash."""
    agreed = command("config", "set", "claude.api_key_from", VARIABLE, **given)
    is_noted = (home / "key.sha256").exists()
    taken_back = command("config", "set", "claude.api_key_from", "none", **given)

    assert agreed.stdout == f"claude.api_key_from is {VARIABLE}{says}"
    assert is_noted == bool(given)
    assert taken_back.stdout == "claude.api_key_from is none\n"
    assert not (home / "key.sha256").exists()


@pytest.mark.parametrize(
    ("source", "variable", "says"),
    [
        ("", "none", f"no key is used; {LET}"),
        (VARIABLE, "none", f"no key is used; {LET}"),
        ("config.toml", "none", "Claude writes, with the key in config.toml; "),
        (keys.WITH_KEY, "none", "Claude writes, with the key of claude-mem up --with-key, until "),
        (VARIABLE, VARIABLE, f"Claude writes, with the key in {VARIABLE}; to stop that: {SET} none"),
        ("", VARIABLE, f"no key is used: {VARIABLE} was not set, or not to the key that you agreed to; "),
    ],
)
def test_one_line_says_which_key_is_used(source: str, variable: str, says: str) -> None:
    """One line says which key is used and how to change that."""
    line = keys.about(source, variable)

    assert line.startswith(says)
    assert "\n" not in line


def test_the_services_get_a_short_list(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Services get only the listed variables of the environment, and a system PATH."""
    for name in list(os.environ):
        if name != "CLAUDE_MEM_HOME":
            monkeypatch.delenv(name)
    kept = {"HOME": "/home/dev", "LANG": "C", "LC_TIME": "C", "TZ": "UTC", "XDG_CACHE_HOME": "/c"}
    dropped = (VARIABLE, "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "LD_PRELOAD", "PYTHONPATH", "PATH")
    for name in (*kept, *dropped, "CLAUDECODE", "CLAUDE_MEM_KEY_FROM", "CLAUDE_MEM_BASE_URL"):
        monkeypatch.setenv(name, kept.get(name, "/evil"))
    own = {"PATH": os.defpath, "CLAUDE_MEM_HOME": str(home), "CLAUDE_MEM_PYTHON": sys.executable}

    without = supervise.for_services(None)
    with_key = supervise.for_services(keys.Credential("api_key", VARIABLE, KEY))
    from_config = supervise.for_services(keys.Credential("api_key", keys.IN_CONFIG, KEY))

    assert without == from_config == {**kept, **own}
    assert with_key == {**kept, **own, VARIABLE: KEY}


def test_a_command_asks_the_users_api_whatever_the_session_says(fake: FakeMessages) -> None:
    """A session's address, proxy, headers and key do not change where or as whom a command asks."""
    capture()
    elsewhere = "http://127.0.0.1:9"
    bearer = "authorization: Bearer sk-ant-of-a-project"
    session = {"CLAUDECODE": "1", "HTTP_PROXY": elsewhere, "ALL_PROXY": elsewhere}
    session |= {"ANTHROPIC_BASE_URL": elsewhere, "ANTHROPIC_AUTH_TOKEN": "sk-ant-of-a-project"}
    session["ANTHROPIC_CUSTOM_HEADERS"] = bearer

    theirs = command("compress", "--pending", **{**session, VARIABLE: "sk-ant-of-a-project"})
    mine = command("compress", "--pending", "--json", **session)

    assert theirs.returncode == 1
    assert "Claude was not asked: no key is used" in theirs.stderr
    assert json.loads(mine.stdout)["written"] == 1
    assert {request.headers["authorization"] for request in fake.requests} == {f"Bearer {KEY}"}


def test_a_proxy_is_the_one_of_the_settings(fake: FakeMessages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests go through the proxy of the settings."""
    capture()
    monkeypatch.setitem(circuit_breaker._FIRST_PAUSE_S, "outage", 0.01)
    command("config", "set", "claude.proxy", "http://127.0.0.1:9")

    done = command("compress", "--pending")

    assert done.returncode == 1
    assert "the API cannot be reached" in done.stderr
    assert fake.requests == []


def test_install_hooks_says_which_key_is_used(home: Path, tmp_path: Path) -> None:
    """`install-hooks` prints one line about the key before anything runs."""
    installed = command("install-hooks", "--client", "2.1.50", CLAUDE_CONFIG_DIR=str(tmp_path))

    assert f"Key       no key is used; {LET}\n" in installed.stdout
