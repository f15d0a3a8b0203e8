"""File permissions and owners, access to the socket, oversized requests, and no code in stored data."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.hooks import run_hook, tool_event
from support.processes import claude_mem, finished, wait_until
from support.web import Connection, get

import claude_mem_lite
from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage import models, queries

PACKAGE = Path(claude_mem_lite.__file__).parent


def modes(folder: Path) -> dict[str, int]:
    """Return paths and modes of all files in a folder that others may access."""
    paths = [folder, *folder.rglob("*")]
    found = {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in paths}
    return {path: mode for path, mode in found.items() if mode & 0o077}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_whatever_the_umask_files_are_the_users_alone(home: Path, tmp_path: Path, umask: int) -> None:
    """Databases, spool and logs are private to the user under any umask."""
    folder = tmp_path / "memory"
    script = (
        f"import os, sys; os.umask({umask}); os.environ['CLAUDE_MEM_HOME'] = {str(folder)!r}\n"
        "from claude_mem_lite import logs\nfrom claude_mem_lite.capture import inbox, spool\n"
        "from claude_mem_lite.storage import models\n"
        "models.open_databases()\n"
        "inbox.append('{\"session_id\": \"s1\"}', '/p')\n"
        "spool.write('a' * 32, inbox.utc_now(), ('/p', '', ''), '{}')\n"
        "logs.configure('test')\n"
        "import logging; logging.getLogger('x').warning('y')\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True)

    assert modes(folder) == {}
    assert len(list(folder.rglob("*"))) >= 5


def test_an_open_folder_is_closed_and_anothers_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open data directory is made private; another user's is refused."""
    home.chmod(0o755)
    config.ensure_home()
    closed = stat.S_IMODE(home.stat().st_mode)

    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(ClaudeMemError, match="belongs to another user"):
        config.ensure_home()

    assert closed == 0o700


def test_a_hook_stores_nothing_in_anothers_folder(home: Path) -> None:
    """A hook writes nothing into another user's folder, prints nothing and exits 0."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    os.chown(home, 12_345, -1)
    before = sorted(path.name for path in home.rglob("*"))
    try:
        done = run_hook("post_tool_use", tool_event())
    finally:
        os.chown(home, 0, -1)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert sorted(path.name for path in home.rglob("*")) == before


def test_another_user_gets_no_answer(web: Path) -> None:
    """The web process closes another user's connection without a byte, even on an open socket."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    script = (
        "import http.client, os, socket, sys\n"
        "os.setuid(12345)\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "try:\n"
        "    s.sendall(b'GET /api/health HTTP/1.0\\r\\n\\r\\n')\n"
        "    print(s.recv(100))\n"
        "except ConnectionError:\n"
        "    print(b'')\n"
    )
    web.parent.chmod(0o755)
    web.chmod(0o755)
    (web / "worker.sock").chmod(0o777)

    done = finished(sys.executable, "-c", script, str(web / "worker.sock"))

    assert (done.stdout, done.stderr) == ("b''\n", "")
    assert get(web, "/api/health")[0] == 200


def test_a_body_without_end_is_refused(web: Path) -> None:
    """A body above 32 MiB gets 413 in JSON, and the process keeps serving."""
    connection = Connection(web / "worker.sock")
    connection.request("POST", "/api/summarize", b'{"session_id": "' + b"a" * (33 << 20) + b'"}')
    response = connection.getresponse()
    said = json.loads(response.read())
    connection.close()

    assert (response.status, said) == (413, {"error": "the body is longer than 32 MiB"})
    assert get(web, "/api/health")[0] == 200


def test_no_file_of_ours_is_a_pickle_and_no_code_makes_one(memory: Path) -> None:
    """Queue messages are JSON, and no module uses pickle, shelve or a shell."""
    run_hook("post_tool_use", tool_event())
    models.open_databases(read_only=True)
    wait_until(lambda: queries.queue_stats()["raw"] == 1)
    messages = models.queue_database.execute_sql("SELECT data FROM task").fetchall()
    sources = [path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts]

    expected = ["claude_mem_lite.tasks.compress.compress"]
    assert [json.loads(bytes(data))["name"] for (data,) in messages] == expected
    forbidden = ("import pickle", "import shelve", "yaml.load(", "os.system(", "shell=True")
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in sources]
    found = [(name, word) for name, text in texts for word in forbidden if word in text]
    assert found == []


def not_ours(path: Path, how: str) -> None:
    """Give a folder to another user, or replace it with a symlink to a folder of ours."""
    if how == "link":
        target = path.with_name(f"{path.name}-target")
        if path.exists():
            path.rename(target)
        path.symlink_to(target)
    elif os.geteuid():
        pytest.skip("only root can give a folder to another user")
    else:
        os.chown(path, 12_345, -1)


def contents(folder: Path) -> list[str]:
    """Return the sorted names in a folder, symlinks followed; [] if there is none."""
    return sorted(os.listdir(folder)) if folder.exists() else []


@pytest.mark.parametrize("how", ["owner", "link"])
@pytest.mark.parametrize("command", ["up", "status", "search x", "config show", "install-hooks"])
def test_a_command_refuses_a_data_directory_that_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, command: str
) -> None:
    """Commands refuse another user's data directory with one line, and write nothing."""
    folder = tmp_path / "memory"
    folder.mkdir()
    not_ours(folder, "owner")
    if how == "link":
        not_ours(folder, "link")
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(folder))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))

    done = claude_mem(*command.split())

    said = f"claude-mem: {folder} belongs to another user, so nothing was written there: "
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{said}set CLAUDE_MEM_HOME to a folder of your own\n"
    assert list(Path(os.path.realpath(folder)).iterdir()) == []
    assert not (tmp_path / "claude").exists()


def test_a_link_to_a_folder_of_ours_is_a_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data directory that is a symlink to the user's own folder works."""
    folder = tmp_path / "memory"
    folder.mkdir()
    not_ours(folder, "link")
    monkeypatch.setenv("CLAUDE_MEM_HOME", str(folder))

    run_hook("post_tool_use", tool_event())

    with closing(sqlite3.connect(folder / "queue.db")) as queue:
        assert queue.execute("SELECT count(*) FROM pending_queue").fetchone() == (1,)


@pytest.mark.parametrize("how", ["link", "owner"])
@pytest.mark.parametrize("name", ["spool", "logs"])
def test_a_folder_inside_that_is_not_ours_gets_no_byte(home: Path, name: str, how: str) -> None:
    """Nothing is written to a spool or log folder that is a link or another user's."""
    not_ours(home / name, how)
    before = contents(home / name)

    stored = run_hook("post_tool_use", tool_event())
    with closing(sqlite3.connect(home / "queue.db")) as queue:
        count = queue.execute("SELECT count(*) FROM pending_queue").fetchone()
    (home / "queue.db").write_bytes(b"no database " * 1000)
    spooled = run_hook("post_tool_use", tool_event())
    told = claude_mem("status")

    assert [(done.returncode, done.stdout, done.stderr) for done in (stored, spooled)] == [(0, b"", b"")] * 2
    assert (count, told.returncode) == ((1,), 1)
    assert told.stderr.startswith(f"claude-mem: {home / name} ")
    assert told.stderr.endswith("so nothing was written there: put a folder of your own there\n")
    assert contents(home / name) == before


def test_no_library_leaves_an_identifier_of_the_machine(tmp_path: Path) -> None:
    """Loading onnxruntime leaves no file: its telemetry is switched off before the import."""
    script = (
        "from claude_mem_lite.search import embedder\n"
        "embedder.load(embedder.resolve('minilm')).embed_documents(['a text'])\n"
    )
    kept = {"PATH", "LANG", "TMPDIR"}  # it never reports where it detects tests or CI
    environment = {name: value for name, value in os.environ.items() if name in kept}

    done = finished(sys.executable, "-c", script, env={**environment, "HOME": str(tmp_path)})

    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("*")) == []
