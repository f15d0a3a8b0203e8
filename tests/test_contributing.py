"""Test that CONTRIBUTING.md and the files for contributors name existing things and pinned versions."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_each_path_of_the_page_is_there() -> None:
    """Every file, folder and test that a recipe names exists."""
    paths = set(re.findall(r"(?:[\w.-]+/)+[\w.-]*\.(?:py|md|yml)|(?<=`)(?:[\w.-]+/)+(?=`)", PAGE))

    named = paths - {"src/claude_mem_lite/cli/NAME.py"}
    assert {path for path in named if not (ROOT / path).exists()} == set()
    assert len(paths) > 30


def test_each_name_of_the_page_is_there() -> None:
    """Every function, table and fixture that a recipe names is in the code."""
    named = set(re.findall(r"`(_?[A-Z]{3,}(?:_[A-Z]+)*|test_\w+|[a-z]+_[a-z]+)`", PAGE))
    folders = [ROOT / name for name in ("src/claude_mem_lite", "tests")]
    code = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))

    assert {name for name in named if not re.search(rf"\b{name}\b", code)} == set()
    assert len(named) > 8


def test_the_workflow_takes_steps_that_there_are() -> None:
    """Each `run` of the workflow is .ci/run with known steps, and every step is run."""
    script = (ROOT / ".ci" / "run").read_text()
    steps = set(re.findall(r"set -- (.+)", script)[0].split())

    taken = {step for line in re.findall(r"- run: \.ci/run (.+)", WORKFLOW) for step in line.split()}

    assert steps - taken == {"versions"}  # the matrix runs all tests on each version
    assert taken <= steps


def test_ci_refuses_a_step_that_there_is_not() -> None:
    """A mistyped CI step fails before anything runs."""
    done = subprocess.run([ROOT / ".ci" / "run", "tset"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (2, "", ".ci/run: no step is called tset\n")


def test_the_workflow_has_every_version() -> None:
    """The workflow tests every Python from pyproject.toml's lowest to 3.14."""
    lowest = re.findall(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())

    versions = re.findall(r'"3\.(\d+)"', re.findall(r"python: (\[.*\])", WORKFLOW)[0])

    assert versions == [str(minor) for minor in range(int(lowest[0]), 15)]


def test_pre_commit_has_the_ruff_of_the_constraints() -> None:
    """pre-commit and the constraints pin the same ruff."""
    pinned = re.findall(r"^ruff==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)

    assert re.findall(r"rev: v(.+)", (ROOT / ".pre-commit-config.yaml").read_text()) == pinned


def test_the_justfile_has_the_commands_of_the_page() -> None:
    """Each recipe of the justfile is one line, and commands also on the page are the same there."""
    recipes = re.findall(r"^(\w+):\n    (.+)$", (ROOT / "justfile").read_text(), re.MULTILINE)

    commands = dict(recipes)

    assert list(commands) == ["default", "test", "fast", "lint", "bench", "demo"]
    assert {name for name in ("test", "fast", "lint", "demo") if f"\n{commands[name]}  " not in PAGE} == set()
