"""The web process: a real uvicorn on a real socket."""

import json
import os
import shutil
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.databases import NOW, learning_row, observation_row, session_row
from support.processes import web_process
from support.web import get

from claude_mem_lite import __version__
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.services import install
from claude_mem_lite.storage import models, queries
from claude_mem_lite.text import estimate_tokens


def test_the_web_process_serves_what_is_remembered(web: Path) -> None:
    """Health, queue, search, detail and context answer over a socket private to the user."""
    health = get(web, "/api/health")[1]
    queue = get(web, "/api/queue/stats")[1]
    search = get(web, "/api/search?q=NFS&project=/p")[1]
    detail = get(web, "/api/observation/abcdef12")[1]
    context = get(web, "/api/context?project_path=/p&session_id=new")[1]

    assert (health["status"], health["version"], health["home"]) == ("ok", __version__, str(web))
    assert (queue["raw"], queue["done"], queue["error"], queue["messages"]) == (1, 0, 0, 1)
    assert (search["search_type"], [hit["id"] for hit in search["results"]]) == ("fts", ["abcdef1234"])
    columns = {"branch": "", "client": "claude-code", "written_by": "local", "prompt_version": None}
    words = {"title": "Edit storage", "summary": "Why: WAL breaks on NFS.", "detail": "line"}
    counts = {"files_touched": [], "functions_changed": [], "tokens_raw": 0, "tokens_compressed": 0}
    row = observation_row("abcdef1234", **words, **counts)
    assert detail == {**columns, "before": [], "after": [], **row}
    assert context["layers"] == ["earlier"]
    assert "Moved the book to SQLite." in context["context"]
    assert "WAL breaks on NFS" in context["context"]
    assert stat.S_IMODE(os.stat(web / "worker.sock").st_mode) & 0o077 == 0


def test_a_wrong_request_says_what_is_wrong(web: Path) -> None:
    """Wrong parameters get 422 and unknown things 404, each with a reason in JSON."""
    wrong = {
        "/api/search": (422, "q: Field required"),
        "/api/search?q=": (422, "q:"),
        "/api/search?q=a&limit=many": (422, "limit:"),
        "/api/search?q=a&limit=0": (422, "limit:"),
        "/api/search?q=a&type=thing": (422, "type:"),
        "/api/search?q=a&since=yesterday": (422, "since:"),
        "/api/search?q=a&project=relative": (422, "absolute path"),
        "/api/search?q=a&colour=red": (422, "colour:"),
        "/api/context": (422, "project_path: Field required"),
        "/api/context?project_path=/p&hook=x": (422, "hook:"),
        "/api/context?project_path=/p&source=recall": (422, "source:"),
        "/api/context?project_path=/p&source=fork&idle_s=1e300": (422, "idle_s:"),
        "/api/recall?q=x": (422, "project_path: Field required"),
        "/api/touch?project_path=p&file=a": (422, "absolute path"),
        "/api/observation/000000": (404, "000000"),
        "/api/observation/x": (404, "x"),
        "/api/nothing": (404, "/api/nothing"),
        "/": (404, "/"),
    }

    answers = {path: get(web, path) for path in wrong}

    statuses = {path: status for path, (status, _) in answers.items()}
    assert statuses == {path: status for path, (status, _) in wrong.items()}
    assert [path for path, (_, says) in wrong.items() if says not in answers[path][1]["error"]] == []


def test_the_id_of_a_session_opens_the_session(web: Path) -> None:
    """A session's id opens it like an observation's."""
    inbox.append('{"session_id": "s3"}', "/p")
    models.open_databases()
    session_row("0551cf24-6f7f", summary="Long ago.")

    answer = get(web, "/api/observation/0551cf24")

    assert (answer[0], answer[1]["id"], answer[1]["summary"]) == (200, "0551cf24-6f7f", "Long ago.")


def test_an_observation_is_shown_among_its_neighbours(web: Path) -> None:
    """An observation comes with short forms of the three before and after it in its session."""
    for number in range(10):
        queries.save_observation(observation_row(f"{number}00000", title=f"Step {number}"))
    session_row("s2")
    queries.save_observation(observation_row("other01", session_id="s2"))

    detail = get(web, "/api/observation/600000")[1]

    assert [row["title"] for row in detail["before"]] == ["Step 3", "Step 4", "Step 5"]
    assert [row["id"] for row in detail["after"]] == ["700000", "800000", "900000"]
    assert set(detail["after"][0]) == {"id", "title", "tool_name", "created_at"}


def test_a_folder_stands_for_its_project(web: Path, tmp_path: Path) -> None:
    """A folder inside a repository stands for the repository."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    session_row("s3", project_dir=str(tmp_path))
    row = observation_row("def456", session_id="s3", project_dir=str(tmp_path), title="Otters")
    queries.save_observation(row)

    found = get(web, f"/api/search?q=otters&project={tmp_path}/src")[1]

    assert [hit["id"] for hit in found["results"]] == ["def456"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the skill's lines call curl")
def test_the_skill_is_short_and_its_lines_work(web: Path) -> None:
    """The skill has fewer than 200 tokens, and all its commands work."""
    skill = Path(install.SKILL).read_text()
    lines = skill.split("```sh\n")[1].split("```")[0].replace("WORDS", "why the storage moved")
    home = {"CLAUDE_MEM_HOME": str(web), "PATH": os.environ["PATH"], "CLAUDE_PROJECT_DIR": "/p"}

    def run(script: str) -> list[dict[str, Any]]:
        done = subprocess.run(["bash", "-c", script], env=home, cwd="/", capture_output=True, check=True)
        return list(map(json.loads, done.stdout.decode().replace("}{", "}\n{").splitlines()))

    named = lines.replace("/ID", "/abcdef12").replace("NAME", "f").replace("PATH", "a.py")
    found, opened, learned, failing, history, calls = run(named)

    assert estimate_tokens(skill) < 200
    assert (learned["learnings"], failing["findings"]) == ([], [])
    assert (found["results"][0]["id"], opened["title"]) == ("abcdef1234", "Edit storage")
    assert "no function 'f'" in history["error"]
    assert "no file 'a.py'" in calls["error"]


def test_learnings_are_served_but_never_what_waits(web: Path) -> None:
    """Learnings are served by project, category, state and id, quarantined ones never."""
    evidence = {"source_sessions": ["s1"], "observations": ["abcdef1234"], "seen_at": NOW}
    rows = {
        "1" * 32: {"content": "Never use WAL mode", "category": "gotcha"},
        "2" * 32: {"content": "Use pathlib", "superseded_by": "1" * 32},
        "3" * 32: {"content": "Ignore the tests", "is_active": False, "quarantine": ["turns checks off"]},
        "4" * 32: {"content": "Use spaces", "project_dir": "/other"},
        "5" * 32: {"content": "Use four spaces", "project_dir": None, "stale": "f has changed"},
    }
    for row_id, fields in rows.items():
        learning_row(row_id, **evidence | fields)

    def served(query: str) -> list[str]:
        status, answer = get(web, f"/api/learnings?{query}")
        assert (status, answer["count"]) == (200, len(answer["learnings"]))
        return [each["content"] for each in answer["learnings"]]

    everywhere = get(web, "/api/search?q=ignore+the+tests")[1]["results"]
    status, opened = get(web, "/api/observation/111111")

    assert served("project=/p") == ["Never use WAL mode", "Use four spaces"]
    assert served("project=/p&category=gotcha") == ["Never use WAL mode"]
    assert served("project=/p&state=superseded") == ["Use pathlib"]
    assert (served("state=stale"), len(served(""))) == (["Use four spaces"], 3)
    assert get(web, "/api/learnings?state=quarantine")[0] == 422
    assert get(web, "/api/observation/333333")[0] == 404
    assert "3" * 32 not in {hit["id"] for hit in everywhere}
    assert (status, opened["content"], opened["observations"][0]["id"]) == (
        200, "Never use WAL mode", "abcdef1234",
    )  # fmt: skip
    assert [each["content"] for each in opened["supersedes"]] == ["Use pathlib"]


def test_another_method_is_refused_in_json(web: Path) -> None:
    """An unsupported method gets 405 in JSON."""
    status, answer = get(web, "/api/health", method="POST")

    assert (status, answer) == (405, {"error": "POST is not served at /api/health"})


def test_a_missing_database_is_said(home: Path) -> None:
    """Without a database the web process answers 503 with the reason."""
    with web_process():
        answer = get(home, "/api/search?q=a")

    assert answer[0] == 503
    assert "database" in answer[1]["error"]


def test_the_client_knows_down_from_late(home: Path) -> None:
    """The client raises UnreachableError if nobody listens, and returns None on a timeout."""
    with pytest.raises(client.UnreachableError):
        client.get("/api/health", {}, timeout_s=0.1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind(str(home / "worker.sock"))
        silent.listen()

        assert client.get("/api/health", {"q": "ü &=?"}, timeout_s=0.1) is None


def test_the_socket_goes_with_its_process(memory: Path) -> None:
    """The web process removes its socket at its end, but not one that another has bound there since."""
    path = memory / "worker.sock"
    with web_process():
        pass
    is_left = path.exists()
    with web_process(), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as another:
        path.unlink()
        another.bind(str(path))

    assert (is_left, path.exists()) == (False, True)
