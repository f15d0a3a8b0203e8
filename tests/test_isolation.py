"""What conftest promises each test: a hang fails it, nothing is left running, and the marks are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import delivery_experiment
from support.process_watch import left_running, reaches_subprocess

TESTS = Path(__file__).parent
TRIED = """
import os, subprocess, sys, time
import pytest

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

@pytest.fixture
def sleeper():
    process = subprocess.Popen(SLEEP)
    yield process
    process.kill()
    process.wait()

@pytest.mark.timeout(1)
def test_hangs(sleeper):
    assert sleeper.wait()

def test_goes_on_after_it():
    pass

def test_starts_one_unseen():
    assert getattr(os, "system")("true") == 0

def test_heeds_the_interrupt():
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\\n"

def test_leaves_one_running():
    subprocess.Popen(SLEEP, start_new_session=True, stdout=open("left", "w")).returncode = 0
"""


def test_a_run_fails_what_hangs_or_leaves_a_process(tmp_path: Path) -> None:
    """Distributed by xdist, and where SIGINT is ignored, too; the run goes on."""
    (tmp_path / "test_tried.py").write_text(TRIED)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-c", str(TESTS.parent / "pyproject.toml")]
    options = ["--rootdir", str(tmp_path), "-p", "no:cacheprovider", "-W", "default", "-q", "-n", "1"]

    done = subprocess.run(
        ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", *command, *options, str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(TESTS), "TRIED": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip

    ended = [line.partition(" - ")[0] for line in done.stdout.splitlines() if line[:5] in {"FAILE", "ERROR"}]
    assert (done.returncode, sorted(ended)) == (
        1,
        [
            "ERROR test_tried.py::test_leaves_one_running",
            "ERROR test_tried.py::test_starts_one_unseen",
            "FAILED test_tried.py::test_hangs",
        ],
    ), done.stdout
    assert "this test needs @pytest.mark.process" in done.stdout
    assert "Timeout" in done.stdout
    assert left_running(str(tmp_path)) == {}


def starts() -> None:
    """Start a process."""
    subprocess.run(["true"], check=True)


class Starter:
    """Has a method that starts one."""

    def begin(self) -> None:
        """Start it in a function within."""
        [starts() for _ in "x"]


def by_method() -> None:
    """Name a class."""
    Starter().begin()


def by_module() -> None:
    """Name a function of a module of ours."""
    delivery_experiment.run(hooks=1, kills=1, seed=1)


def by_none() -> None:
    """Name what starts none."""
    Path().exists()


def test_what_starts_a_process_is_found_in_its_code() -> None:
    """By way of functions, methods and modules of the tests."""
    assert [reaches_subprocess(each) for each in (by_method, by_module, by_none)] == [True, True, False]
