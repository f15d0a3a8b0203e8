"""Give every test its own data directory and default signals, and fail if a process is left running.

A test that starts a process or a server, or loads the embedding model, gets the mark `process` here, found in
the code of the test, its fixtures and the functions of tests/ that they call, or by its mark `meaning`. A
test in which the product starts a process, such as git, must have `@pytest.mark.process`; else it fails.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import process_watch
from support.databases import observation_row, session_row
from support.fake_messages import FakeMessages, serving
from support.processes import STARTED, claude_mem, running, web_process

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import isolation
from claude_mem_lite.storage import files, models, queries

# A script's background job ignores SIGINT, and every process that the tests start would inherit that.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)
process_watch.watch()
# Imports, and tests without the fixture `home`, use this data directory, never the developer's own.
_nobodys = tempfile.TemporaryDirectory(prefix="cml-")
os.environ["CLAUDE_MEM_HOME"] = _nobodys.name
# Other clients' settings are not used either: these folders do not exist.
os.environ["CODEX_HOME"] = os.path.join(_nobodys.name, "codex")
os.environ["GEMINI_CLI_HOME"] = os.path.join(_nobodys.name, "gemini")
# Without bytecode files every process would compile the package again, and every run the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use a real transformer and tests that start a process."""
    for item in items:
        if "tiny" in getattr(item, "fixturenames", ()):
            item.add_marker("qwen")
            item.add_marker("meaning")
        if isinstance(item, pytest.Function) and process_watch.starts_process(item):
            item.add_marker("process")


def in_memory() -> str | None:
    """Return a folder in memory, since disk waits double a run's time; None if it lacks 4 GiB of room."""
    folder = "/dev/shm"  # noqa: S108  (the folder that is made there is the user's alone)
    has_room = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 4 << 30
    return folder if has_room else None


@pytest.fixture(scope="session", autouse=True)
def run_folder() -> Iterator[Path]:
    """Return this run's folder; every process that a test starts has its name in the environment."""
    folder = Path(tempfile.mkdtemp(prefix="cml-", dir=in_memory()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_MEM_TEST_RUN", folder.name)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left_running(run_folder: Path) -> Iterator[None]:
    """Kill processes that outlive a module's tests, and fail."""
    yield
    left = process_watch.left_running(run_folder.name)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == {}, "processes of these tests still ran at their end"


@pytest.fixture(autouse=True)
def _is_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail if a test without the mark `process` starts one."""
    process_watch.started()
    yield
    if request.node.get_closest_marker("process") is None:
        assert process_watch.started() == [], "this test needs @pytest.mark.process"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the machine's API keys, proxies and Claude Code session from the environment."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDECODE", "CLAUDE_CODE")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def home(run_folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty data directory, with a path short enough for unix sockets.

    Its services search by full text alone, unless the test is marked `meaning`: loading the model takes a
    process seconds.
    """
    folder = Path(tempfile.mkdtemp(dir=run_folder, prefix=""))
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(folder))
    # A test stands for a hook's process, and what the last one met does not count.
    monkeypatch.setattr(inbox.HookTransaction, "_timeout_s", inbox._LOCK_TIMEOUT_S)
    config.ensure_home()
    words_alone = "" if request.node.get_closest_marker("meaning") else '[search]\nembedding_model = "none"\n'
    (folder / "config.toml").write_text(f"[services]\nautostart = false\n{words_alone}")
    yield folder
    models.close_databases()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def blank(run_folder: Path) -> Path:
    """Return a data directory with two empty, closed databases; copying it takes a tenth of the time."""
    folder = run_folder / "blank"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_MEM_HOME", str(folder))
        models.open_databases()
        models.close_databases()
    return folder


@pytest.fixture
def folder_hub(tmp_path: Path) -> str:
    """Return the address of a hub in a folder."""
    (tmp_path / "hub").mkdir()
    return f"folder:{tmp_path / 'hub'}"


@pytest.fixture
def memory(blank: Path, home: Path) -> Path:
    """Return a data directory with both databases, open for writing."""
    copy_files(blank, home)
    models.open_databases()
    return home


@pytest.fixture
def projects(claude_dir: Path) -> Path:
    """Return Claude Code's transcripts folder, empty."""
    folder = claude_dir / "projects"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def no_hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the models that the machine has downloaded, and make the hub unreachable."""
    for name in ("HF_HOME", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
def claude_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of Claude Code's own folder, which does not exist yet."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "claude"


@pytest.fixture
def claude(claude_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for Claude Code's own files, with no client on the PATH."""
    claude_dir.mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("CLAUDE_MEM_HOME", raising=False)
    return claude_dir


@pytest.fixture
def claude_settings(claude: Path) -> Path:
    """Return the path of Claude Code's settings; the file does not exist yet."""
    return claude / "settings.json"


@pytest.fixture
def skill(claude: Path) -> Path:
    """Return the path of the skill file; it does not exist yet."""
    return claude / "skills" / "mem-search" / "SKILL.md"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make commands in this process wait 0.1 seconds for a lock instead of five."""
    monkeypatch.setitem(files.connect.__kwdefaults__, "timeout_s", 0.1)


@pytest.fixture
def fill_once(
    memory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Callable[[], object]], None]:
    """Return a function that fills the data directory by `by` once per run and then copies the result."""
    of_all_workers = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        of_all_workers = of_all_workers.parent

    def fill(by: Callable[[], object]) -> None:
        filled = of_all_workers / f"{by.__module__}.{by.__qualname__}"
        with filled.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if filled.exists():
                models.close_databases()
                copy_files(filled, memory)
            else:
                by()
                models.close_databases()
                copy_files(memory, filled)
        models.open_databases()

    return fill


def copy_files(source: Path, target: Path) -> None:
    """Copy a data directory's regular files, without sockets and pipes."""
    for path in source.rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny Qwen3; skip the test if its libraries are not installed."""
    for library in ("torch", "sentence_transformers"):
        pytest.importorskip(
            library, reason=f"{library} is not installed: the extra [qwen]", exc_type=ImportError
        )
    from support import tiny_qwen3

    return tiny_qwen3.make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def tiny_on_disk(tiny: Path, home: Path) -> Path:
    """Put the tiny Qwen3 where a download would put the real one."""
    folder = Path(config.models_dir()) / "Qwen--Qwen3-Embedding-0.6B"
    shutil.copytree(tiny, folder)
    return folder


@pytest.fixture(scope="session")
def certificates() -> ssl.SSLContext:
    """Return the machine's certificates, read once: each SDK client would take 30 ms to read them."""
    return ssl.create_default_context()


@pytest.fixture
def fake(
    memory: Path, certificates: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeMessages]:
    """Serve a fake Messages API with the user's consent to its address and key.

    The timeout for a hanging server is 5 seconds, the shortest that a busy machine allows.
    """
    from support.claudes_words import KEY, consent, words_about

    monkeypatch.setattr("claude_mem_lite.claude.api.TIMEOUT_S", 5)
    monkeypatch.setattr(ssl, "create_default_context", lambda *_, **__: certificates)

    served = FakeMessages()
    served.answer = words_about
    with serving(served) as url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        consent(url)
        yield served


@pytest.fixture
def consumer(memory: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Return a function that starts a real consumer process."""
    command = [sys.executable, "-I", "-m", "huey.bin.huey_consumer", "claude_mem_lite.tasks.consumer.huey"]
    options = ["-w", "2", "-s", "15", "-g", "TERM", "-t", "20"]
    with contextlib.ExitStack() as started, (memory / "logs" / "consumer.out").open("ab") as out:
        yield lambda: started.enter_context(running(*command, *options, stdout=out, stderr=out))


@pytest.fixture
def isolated() -> Iterator[None]:
    """Read sources in a worker process, as the consumer does."""
    with isolation.isolated():
        yield


@pytest.fixture
def web_alone(memory: Path) -> Iterator[Path]:
    """Start a web process; return its data directory, which is empty."""
    with web_process():
        yield memory


@pytest.fixture
def web_and_consumer(memory: Path, consumer: Callable[[], Any]) -> Iterator[Path]:
    """Start a web process and a consumer; return their data directory."""
    consumer()
    with web_process():
        yield memory


@pytest.fixture
def services(home: Path) -> Iterator[Path]:
    """Start the services, and stop them at the end."""
    started = claude_mem("up")
    assert (started.returncode, started.stdout, started.stderr) == (0, STARTED, "")
    yield home
    assert claude_mem("down", "--quiet").returncode == 0


@pytest.fixture
def web(memory: Path) -> Iterator[Path]:
    """Start the web process on a memory of one session and a pending event; return its data directory."""
    session_row(summary="Moved the book to SQLite.")
    written = {"title": "Edit storage", "summary": "Why: WAL breaks on NFS.", "detail": "line"}
    queries.save_observation(observation_row("abcdef1234", **written))
    inbox.append('{"session_id": "s2"}', "/p")
    with web_process():
        yield memory
