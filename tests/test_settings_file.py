"""What `claude-mem model use` does to the user's config.toml: its own two lines, and nothing else."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from support import cases

from claude_mem_lite import settings, settings_file
from claude_mem_lite.errors import ClaudeMemError

CASES = cases.load("settings_file")

MINE = '# mine\n[capture]\nignored_files = [  # two\n  "[search]",\n]\n'


@pytest.mark.parametrize(("before", "after"), CASES["choices"])
def test_a_choice_changes_its_lines_alone(home: Path, before: str, after: str) -> None:
    """Comments, order, spaces and line ends of the rest stay as they were."""
    (home / "config.toml").write_bytes(before.encode())

    settings_file.choose_model("qwen3", dimension=256)

    assert (home / "config.toml").read_bytes().decode() == after
    assert (settings.load().embedding_model, settings.load().dimension) == ("qwen3", 256)


def test_the_default_dimension_is_written_only_where_one_stands(home: Path) -> None:
    """A whole model is one line; one that was cut is whole again."""
    settings_file.choose_model("qwen3")
    short = (home / "config.toml").read_text()
    settings_file.choose_model("qwen3", dimension=64)
    settings_file.choose_model("minilm")

    assert "dimension" not in short
    assert (settings.load().embedding_model, settings.load().dimension) == ("minilm", 0)


@pytest.mark.parametrize("before", CASES["left_alone"])
def test_what_cannot_be_changed_safely_is_left_alone(home: Path, before: str) -> None:
    """One line says what to write oneself; not a byte is changed."""
    (home / "config.toml").write_bytes(before.encode("latin-1"))

    with pytest.raises(ClaudeMemError, match="left as it is") as raised:
        settings_file.choose_model("qwen3", dimension=256)

    assert "\n" not in str(raised.value)
    assert (home / "config.toml").read_bytes() == before.encode("latin-1")
    assert sorted(os.listdir(home)) == ["config.toml", "logs", "spool"]


@pytest.mark.parametrize("mode", [0o644, 0o600, None])
def test_the_file_keeps_its_mode(home: Path, mode: int | None) -> None:
    """A new one is the user's alone; a link stays one."""
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
