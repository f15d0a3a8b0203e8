"""Test installing for other clients: hooks go in and come out again, and users are asked only if needed."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.json_texts import SCALARS, texts
from support.processes import claude_mem
from typer.testing import CliRunner

from claude_mem_lite import config
from claude_mem_lite.capture import clients
from claude_mem_lite.cli import hooks as commands
from claude_mem_lite.cli import setup
from claude_mem_lite.cli.app import app
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import first_state, hook_table, install, other_clients

NAMES = list(other_clients.CLIENTS)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for the clients' folders, none of which exists; no client is on the PATH."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("CLAUDE_MEM_HOME", raising=False)
    for client in other_clients.CLIENTS.values():
        monkeypatch.setenv(client.variable, str(tmp_path / client.name))
    return tmp_path


def here(name: str) -> other_clients.Client:
    """Return a client after it has run once."""
    client = other_clients.CLIENTS[name]
    os.makedirs(client.folder)
    return client


def commands_of(path: str) -> dict[str, list[str]]:
    """Return the commands in a settings file, by event."""
    table: dict[str, list[dict[str, Any]]] = json.loads(Path(path).read_text("utf-8"))["hooks"]
    return {
        name: [run["command"] for group in groups for run in group["hooks"]] for name, groups in table.items()
    }


def test_every_client_can_be_named() -> None:
    """`--for` accepts Claude Code and every client of the table, and each has a display name."""
    assert list(commands.ClientName) == [clients.CLAUDE_CODE, *NAMES]
    assert {clients.CLAUDE_CODE, *NAMES} <= set(clients.NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_install_registers_every_event_with_the_clients_name(name: str) -> None:
    """Every event is registered, with a command that ends in the client's name for the hook to know."""
    client = here(name)

    done = other_clients.install(client)
    again = other_clients.install(client)

    assert (done.changed, again.changed) == (True, False)
    assert list(commands_of(client.path)) == list(client.events)
    for event, [command] in commands_of(client.path).items():
        assert command.endswith(f"hooks/{client.events[event]['hook']}.py {name} || :")
    commands = {event: command for event, [command] in commands_of(client.path).items()}
    assert other_clients.registered(client) == commands


# Settings as tuples of members: a table of hooks, any part of it possibly empty, and other keys.
GROUPS = st.just((("hooks", [(("type", "command"), ("command", "notify-send x"))]),)) | st.just(())
TABLES = st.lists(
    st.tuples(
        st.sampled_from(["Stop", "SessionStart", "PreToolUse", "", "Other"]), st.lists(GROUPS, max_size=2)
    ),
    max_size=4,
    unique_by=lambda member: member[0],
)
SETTINGS = st.lists(
    st.tuples(st.just("hooks"), TABLES.map(tuple))
    | st.tuples(st.sampled_from(["theme", "env"]), SCALARS | st.just(())),
    max_size=3,
).map(tuple)


@settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))
@given(texts(SETTINGS) | st.sampled_from([None, "", " \n"]), st.data())
@pytest.mark.parametrize("name", [clients.CLAUDE_CODE, *NAMES])
def test_uninstall_leaves_every_byte_of_any_settings(
    name: str, text: str | None, data: st.DataObject
) -> None:
    """Uninstall restores every byte of any settings, also after updates and with a guard."""
    path = os.path.join(install.claude_dir(), "settings.json")
    if name != clients.CLAUDE_CODE:
        os.makedirs(other_clients.CLIENTS[name].folder, exist_ok=True)
        path = other_clients.CLIENTS[name].path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for each in (path, os.path.join(config.home(), "first-state.json")):  # left by an earlier example
        Path(each).unlink(missing_ok=True)
    if text is not None:
        Path(path).write_bytes(text.encode())
    registered = {"Stop": {"hook": "stop"}, "SessionStart": {"hook": "session_start"}}
    guarded = {"PreToolUse": {"hook": "pre_tool_use"}}

    for events in data.draw(st.lists(st.sampled_from([registered, guarded, {"Stop": {"hook": "stop"}}]))):
        pattern = hook_table.GUARD if events is guarded else hook_table.OURS
        first_state.register(path, hook_table.entries(events), pattern)
        if data.draw(st.booleans()):
            first_state.take_out(path, hook_table.GUARD)
    first_state.take_out(path)

    assert (Path(path).read_bytes().decode() if os.path.exists(path) else None) == text
    assert not os.path.exists(os.path.join(config.home(), "first-state.json"))


@pytest.mark.parametrize("name", NAMES)
def test_install_replaces_what_another_version_registered(name: str) -> None:
    """Commands without the client's name, as a migration from Claude Code leaves them, are replaced."""
    client = here(name)
    event, entry = next(iter(client.events.items()))
    old = {"type": "command", "command": hook_table.command(entry["hook"])}
    Path(client.path).write_text(json.dumps({"hooks": {event: [{"hooks": [old]}]}}))

    other_clients.install(client)

    [command] = commands_of(client.path)[event]
    assert command.endswith(f" {name} || :")


@pytest.mark.parametrize("name", NAMES)
def test_install_says_what_is_wrong(name: str) -> None:
    """A client that never ran, and settings that are no JSON, are one line each and stay untouched."""
    client = other_clients.CLIENTS[name]
    with pytest.raises(ClaudeMemError, match="start it once"):
        other_clients.install(client)
    assert not os.path.exists(client.folder)

    here(name)
    Path(client.path).write_text("{ // mine\n}")
    with pytest.raises(ClaudeMemError, match="is not plain JSON"):
        other_clients.install(client)
    assert Path(client.path).read_text() == "{ // mine\n}"


@pytest.mark.parametrize("name", NAMES)
def test_a_registered_command_ends_well_without_its_script(name: str, tmp_path: Path) -> None:
    """A registered command exits 0 without its script: exit code 2 would block the user's work."""
    client = here(name)
    other_clients.install(client)

    for command in other_clients.registered(client).values():
        gone = command.replace(hook_table.HOOKS, str(tmp_path / "claude_mem_lite" / "hooks"))
        done = subprocess.run(["/bin/sh", "-c", gone], check=False, capture_output=True, input=b"{}")
        assert (done.returncode, done.stdout) == (0, b"")


def test_with_claude_code_alone_nobody_is_asked(home: Path) -> None:
    """With Claude Code alone install-hooks asks about no other client."""
    done = CliRunner().invoke(app, ["install-hooks", "--client", "2.1.50"])

    assert done.exit_code == 0
    assert done.stdout.startswith("Installed: SessionStart, ")
    assert done.stdout.endswith("Sessions that start from now on are remembered.\n")
    assert not any(name in done.stdout.lower() for name in NAMES)


def test_another_client_is_asked_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another client is offered by a question in a terminal, else by its command, and taken by --all."""
    client = here(NAMES[0])

    told = CliRunner().invoke(app, ["install-hooks"])
    assert f"{client.told} has run here, too; to set it up: claude-mem install-hooks --for" in told.stdout
    monkeypatch.setattr(setup, "is_asked", lambda: True)
    refused = CliRunner().invoke(app, ["install-hooks"], input="y\nn\n")
    assert f"{client.told} has run here, too. Install the hooks for it?" in refused.stdout
    assert not os.path.exists(client.path)

    agreed = CliRunner().invoke(app, ["install-hooks"], input="y\ny\n")

    assert other_clients.CLIENTS[client.name].advice in agreed.stdout
    assert list(other_clients.registered(client)) == list(client.events)


def test_for_names_a_client_and_all_names_every_one(home: Path, folders: Path) -> None:
    """`--for` installs for that client only, `--all` for all that have run; uninstall removes all."""
    client = here(NAMES[-1])

    only = CliRunner().invoke(app, ["install-hooks", "--for", client.name, "--json"])
    assert [each["client"] for each in json.loads(only.stdout)["clients"]] == [client.name]
    assert not (folders / "claude").exists()
    everyone = CliRunner().invoke(app, ["install-hooks", "--all", "--json"])
    assert [each["client"] for each in json.loads(everyone.stdout)["clients"]] == [client.name]

    gone = CliRunner().invoke(app, ["uninstall-hooks", "--json"])

    assert json.loads(gone.stdout) == {"uninstalled": True, "plugin": None, "clients": [client.name]}
    assert os.listdir(client.folder) == []


def test_status_counts_the_hooks_of_another_client(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hooks in another client only, Claude Code's missing hooks are no problem."""
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(home))
    client = here(NAMES[0])
    other_clients.install(client)

    found = json.loads(claude_mem("status", "--json").stdout)

    assert list(found["clients"][client.name]) == list(client.events)
    assert not any("hooks not installed" in problem for problem in found["problems"])


@pytest.mark.parametrize("name", NAMES)
def test_the_doctor_looks_at_every_client(name: str) -> None:
    """The doctor accepts a client without hooks, and reports a missing event, script or client name."""
    client = here(name)
    without = other_clients.look(client)
    other_clients.install(client)
    sound, text = other_clients.look(client), Path(client.path).read_text()
    first = next(iter(client.events))
    Path(client.path).write_text(text.replace(f'"{first}"', '"Other"'))
    missing = other_clients.look(client)
    Path(client.path).write_text(text.replace("/hooks/", "/hooks/x"))
    lost = other_clients.look(client)
    Path(client.path).write_text(text.replace(f".py {name} ||", ".py ||"))
    nameless = other_clients.look(client)

    again = client.installation
    assert without == (f"{client.told} runs without the hooks: {again}", "")
    assert sound[0].startswith(f"{len(client.events)} events")
    assert missing == (f"{len(client.events)} events registered, missing: {first}", again)
    assert (lost[1], nameless) == (again, ("they are registered as hooks of Claude Code", again))


def test_the_doctor_knows_what_codex_was_told_to_trust(folders: Path) -> None:
    """The doctor names Codex hooks that the user has not trusted yet, which Codex does not run."""
    client = here("codex")
    other_clients.install(client)
    told = {name: re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower() for name in client.events}

    def trust(labels: list[str]) -> tuple[str, str]:
        mark = '[hooks.state."{}:{}:0:0"]\ntrusted_hash = "sha256:0"\n'
        marks = [mark.format(client.path, label) for label in labels]
        Path(client.folder, "config.toml").write_text("".join(marks))
        return other_clients.look(client)

    untrusted = ", ".join(sorted(client.events))
    assert other_clients.look(client) == (f"10 events registered, not trusted: {untrusted}", client.advice)
    says = "10 events registered, not trusted: SessionStart"
    assert trust(list(told.values())[1:]) == (says, client.advice)
    assert trust(list(told.values())) == ("10 events", "")
