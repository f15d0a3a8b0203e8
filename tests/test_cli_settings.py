"""Test config.toml as commands show and edit it, line by line, and the output of `claude-mem logs`."""

import json
import logging
import os
import signal
import sys
import tomllib
from pathlib import Path

import pytest
from support import cases
from support.commands import command
from support.processes import running, wait_until

from claude_mem_lite import config, logs, settings, settings_file
from claude_mem_lite.errors import ClaudeMemError


def test_each_setting_is_shown_with_where_it_came_from(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`config show` names each setting's value and source; of a key it shows only that it is set."""
    content = '[claude]\ndaily_budget_usd = 0.25\napi_key = "never-shown"\n[services]\nautostart = false\n'
    (home / "config.toml").write_text(content)
    (home / "config.toml").chmod(0o600)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-never-shown")

    text, shown = command("config", "show"), command("config", "show", "--json")

    found = json.loads(shown.stdout)["settings"]
    assert (text.returncode, shown.returncode) == (0, 0)
    assert found["claude.daily_budget_usd"] == {"value": 0.25, "source": "config.toml"}
    assert found["services.autostart"] == {"value": False, "source": "config.toml"}
    assert found["compress.low"] == {"value": "local", "source": "default"}
    assert found["claude.api_key"] == {"value": "(set)", "source": "config.toml"}
    assert found["claude.api_key_from"] == {"value": "none", "source": "default"}
    assert "never-shown" not in text.stdout + shown.stdout
    assert all(name in text.stdout for name in found)


def test_without_a_file_every_default_is_that_of_the_settings(home: Path) -> None:
    """The defaults shown without a file are those in effect."""
    (home / "config.toml").unlink()
    default = settings.Settings()

    shown = {each.name.partition(".")[2]: each.value for each in settings.given()}

    assert {each.source for each in settings.given()} == {"default"}
    assert shown["model"] == default.model
    assert shown["max_queue_mb"] == default.retention.max_queue_mb
    assert {tier for tier in settings.TIERS if shown[tier] == "claude"} == set(default.tiers)
    assert shown["max_event_chars"] == config.DEFAULT_MAX_EVENT_CHARS


@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("claude.daily_budget_usd", "2.5", 2.5),
        ("claude.model", "claude-sonnet-5", "claude-sonnet-5"),
        ("services.autostart", "false", False),
        ("services.idle_stop_minutes", "0", 0),
        ("compress.low", "claude", "claude"),
        ("capture.ignored_files", '["*.key", "x[1]"]', ["*.key", "x[1]"]),
        ("retention.keep_raw", "1_000", 1000),
    ],
)
def test_a_setting_is_written_and_the_rest_stays(home: Path, name: str, value: str, holds: object) -> None:
    """`config set` writes or replaces a setting and keeps the rest of the file; `get` prints its value."""
    before = "# mine\n[context]\nrecall_tokens_per_session = 1  # little\n"
    (home / "config.toml").write_text(before)

    first, again = command("config", "set", name, value), command("config", "set", name, value)
    got = json.loads(command("config", "get", name, "--json").stdout)

    assert (first.returncode, again.returncode, first.stderr) == (0, 0, "")
    assert (got["value"], got["source"]) == (holds, "config.toml")
    assert (home / "config.toml").read_text().startswith(before)
    assert settings.problem() == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("get", "claude.budget"), "there is no setting claude.budget: did you mean claude."),
        (("get", "nonsense"), "claude-mem config show lists them"),
        (("set", "services.autostart", "maybe"), "cannot be 'maybe': it takes true or false"),
        (("set", "retention.keep_raw", "-1"), "a whole number from 0 to 1,000,000"),
        (("set", "claude.daily_budget_usd", "--", "-5"), "cannot be '-5': it takes a number from 0 to"),
        (("set", "search.dimension", "-4"), "a whole number from 0 up"),
        (("set", "compress.high", "gpt"), "it takes claude or local"),
        (("set", "capture.ignored_files", "[1]"), "it takes a list"),
        (("set", "claude.model", ""), "a text that is not empty"),
        (("set", "search.embedding_model", "minilm"), "claude-mem model use"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(home: Path, arguments: tuple[str, ...], says: str) -> None:
    """A value or name that cannot be is refused in one line, and nothing is written."""
    before = (home / "config.toml").read_bytes()

    done = command("config", *arguments)

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert says in done.stderr
    assert (home / "config.toml").read_bytes() == before


def test_path_is_that_of_the_file(home: Path) -> None:
    """`config path` prints the file's path even if there is no file."""
    (home / "config.toml").unlink()

    assert command("config", "path").stdout == f"{home / 'config.toml'}\n"


@pytest.fixture
def logged(home: Path) -> Path:
    """Write logs of two processes in their format."""
    root = logging.getLogger()
    before, level = root.handlers, root.level
    for process in ("consumer", "web"):
        logs.configure(process)
        root.info("%s began", process, extra={"event": {"task": "begin", "of": process}})
        root.warning("%s: \x1b[31mred", process)
        root.handlers[0].close()
    root.handlers = before
    root.setLevel(level)
    content = '{"at": "2026-01-01T00:00:00", "message": "old"}\nhalf'
    (home / "logs" / "hooks.jsonl.2026-01-01").write_text(content)
    return home


@pytest.mark.usefixtures("logged")
def test_logs_are_one_stream_in_order_of_time() -> None:
    """`logs` merges all logs by time, filters by process, level and count, and drops control characters."""
    every, last = command("logs"), command("logs", "-n", "1", "--json")
    web, warnings = command("logs", "--process", "web"), command("logs", "--level", "warning")

    assert "old" in every.stdout.splitlines()[0]
    assert len(every.stdout.splitlines()) == 5
    assert "task=begin of=consumer" in every.stdout
    assert "\x1b" not in every.stdout
    assert json.loads(last.stdout)["process"] == "web"
    assert (len(web.stdout.splitlines()), len(warnings.stdout.splitlines())) == (2, 2)


def test_without_logs_it_says_so(home: Path) -> None:
    """Without logs the command says so and exits 0; an unknown level is refused."""
    assert command("logs").stdout == f"No matching log lines in {config.log_dir()}.\n"
    assert "there is no log level loud" in command("logs", "--level", "loud").stderr


@pytest.mark.parametrize(
    ("started_by", "end", "status"),
    [((), signal.SIGINT, 0), (("/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh"), signal.SIGTERM, -15)],
    ids=["in front", "in the background of a script"],
)
def test_followed_logs_go_on(logged: Path, started_by: tuple[str, ...], end: int, status: int) -> None:
    """`logs -f` prints each later line once and ends on Ctrl-C, or on SIGTERM where SIGINT is ignored."""
    program = [sys.executable, "-u", "-m", "claude_mem_lite.cli", "logs", "-f", "-n", "0", "--json"]
    with (logged / "out").open("wb") as out, running(*started_by, *program, stdout=out) as following:
        wait_until(lambda: _append(logged, 1) and (logged / "out").stat().st_size)
        _append(logged, 2)
        wait_until(lambda: '"n": 2' in (logged / "out").read_text())
        following.send_signal(end)

        assert following.wait(timeout=60) == status
    assert (logged / "out").read_text().count('"n": 2') == 1


def _append(home: Path, number: int) -> bool:
    with (home / "logs" / "web.jsonl").open("a") as file:
        file.write(json.dumps({"at": "2027", "level": "INFO", "n": number}) + "\n")
    return True


CASES = cases.load("settings_file")


@pytest.mark.parametrize(("before", "after"), CASES["choices"])
def test_a_choice_changes_its_lines_alone(home: Path, before: str, after: str) -> None:
    """Choosing a model changes only its own lines; comments, order, spacing and line ends stay."""
    (home / "config.toml").write_bytes(before.encode())

    settings_file.choose_model("qwen3", dimension=256)

    assert (home / "config.toml").read_bytes().decode() == after
    assert (settings.load().embedding_model, settings.load().dimension) == ("qwen3", 256)


def test_the_default_dimension_is_written_only_where_one_stands(home: Path) -> None:
    """The default dimension is not written, unless it replaces another one."""
    settings_file.choose_model("qwen3")
    short = (home / "config.toml").read_text()
    settings_file.choose_model("qwen3", dimension=64)
    settings_file.choose_model("minilm")

    assert "dimension" not in short
    assert (settings.load().embedding_model, settings.load().dimension) == ("minilm", 0)


@pytest.mark.parametrize("before", CASES["left_alone"])
def test_what_cannot_be_changed_safely_is_left_alone(home: Path, before: str) -> None:
    """A file that cannot be edited safely is left as it is, and one line says what to write by hand."""
    (home / "config.toml").write_bytes(before.encode("latin-1"))

    with pytest.raises(ClaudeMemError, match="left as it is") as raised:
        settings_file.choose_model("qwen3", dimension=256)

    assert "\n" not in str(raised.value)
    assert (home / "config.toml").read_bytes() == before.encode("latin-1")
    assert sorted(os.listdir(home)) == ["config.toml", "logs", "spool"]


@pytest.mark.parametrize("mode", [0o644, 0o600, None])
def test_the_file_keeps_its_mode(home: Path, mode: int | None) -> None:
    """The file keeps its mode and stays a link; a new one is readable by the user alone."""
    real = home / "logs" / "real.toml"
    (home / "config.toml").unlink()
    (home / "config.toml").symlink_to(real)
    if mode is not None:
        real.write_text("")
        real.chmod(mode)

    settings_file.choose_model('/a "b"\\\x7f')

    assert real.stat().st_mode & 0o777 == (mode or 0o600)
    assert (home / "config.toml").is_symlink()
    assert tomllib.loads(real.read_text())["search"]["embedding_model"] == '/a "b"\\\x7f'
