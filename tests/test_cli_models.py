"""Test `claude-mem model` and the search row of `status`: their output and exit codes."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support import processes
from support.commands import wide
from support.databases import observation_row, session_row
from support.processes import finished, wait_until, web_process

from claude_mem_lite import settings
from claude_mem_lite.capture import client
from claude_mem_lite.search.embedder import bench, minilm, records
from claude_mem_lite.storage import embeddings, queries

pytestmark = [pytest.mark.meaning, pytest.mark.usefixtures("no_hub", "claude_dir")]


def as_json(*arguments: str) -> Any:
    """Return what a command prints with --json."""
    return json.loads(wide(*arguments, "--json").stdout)


def remember(model: str) -> None:
    """Store two observations, one of them embedded by a model."""
    session_row()
    for number in range(2):
        queries.save_observation(observation_row(f"o{number}", title=f"Dig pond {number}"))
    embeddings.mark_embedded("observation", [("o0", "Dig pond 0\n")], model=model)


def test_list_says_where_the_models_are(memory: Path) -> None:
    """`model list` shows models on disk and their size, models to fetch, the one in use, vector counts."""
    remember("minilm_384")
    folder = memory / "models" / "owner--name"
    folder.mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    (folder / "model.safetensors").write_bytes(b"x" * 3_000_000)
    (memory / "models" / "Qwen--Qwen3-Embedding-0.6B.part").mkdir()

    shown, found = wide("model", "list"), as_json("model", "list")

    small, int8, large, mine = found["models"]
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["minilm", "384", "22", "MiB", "1", small["path"]],
        ["qwen3-int8", "1024", "claude-mem", "model", "download", "qwen3-int8"],
        ["qwen3", "1024", "claude-mem", "model", "download", "Qwen/Qwen3-Embedding-0.6B"],
        ["owner/name", "3", "MiB", str(folder)],
        ["Search", "uses", "minilm,", "by", "[search]", "embedding_model", "=", '"auto".'],
    ]
    assert small["size_bytes"] == os.path.getsize(small["path"])
    assert (small["is_in_use"], large["is_in_use"], mine["is_in_use"]) == (True, False, False)
    assert (small["vectors"], int8["path"], large["path"], mine["dimension"]) == ({"384": 1}, "", "", 0)
    assert (found["setting"], found["problem"], found["half_made"]) == ("auto", "", "")


def test_list_needs_no_memory(home: Path) -> None:
    """`model list` works before the first event and makes no memory."""
    done = wide("model", "list")

    assert (done.returncode, done.stderr) == (0, "")
    assert not (home / "claude-mem.db").exists()


def test_use_writes_the_setting(home: Path) -> None:
    """`model use` writes the setting and keeps the rest of config.toml; `none` means full text alone."""
    (home / "config.toml").write_text("[services]\nautostart = false # mine\n")

    first, second = wide("model", "use", "minilm"), wide("model", "use", "none")

    assert first.stdout == (
        "Search uses minilm. Rows without its vectors are embedded in the background "
        "once the services run: claude-mem up.\n"
    )
    assert second.stdout == "Search uses full text alone from now on.\n"
    wanted = '[services]\nautostart = false # mine\n\n[search]\nembedding_model = "none"\n'
    assert (home / "config.toml").read_text() == wanted


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["use", "nothing"], "there is no embedding model 'nothing'"),
        (["use", "qwen3"], "To fetch it: claude-mem model download qwen3-int8"),
        (["use", "minilm", "--dimension", "100"], "vectors of 100 dimensions were asked for"),
        (["download", "/nowhere"], "is not a sentence-transformers model"),
        (["download", "qwen3"], "cannot fetch the embedding model qwen3-int8: http://127.0.0.1:9/"),
        (
            ["download", "Qwen/Qwen3-Embedding-0.6B"],
            "cannot fetch Qwen/Qwen3-Embedding-0.6B from the Hugging Face hub",
        ),
        (["bench", "qwen3"], "To fetch it: claude-mem model download qwen3"),
    ],
)
def test_what_cannot_be_done_is_one_line(home: Path, arguments: list[str], says: str) -> None:
    """What cannot be done gives one line and changes no setting."""
    before = (home / "config.toml").read_text()

    done = wide("model", *arguments)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert says in done.stderr
    assert (home / "config.toml").read_text() == before


def test_a_download_without_the_extra_says_what_to_install(home: Path) -> None:
    """Without the extra, a download names the package to install instead of a missing module."""
    program = (
        "import sys; sys.modules['huggingface_hub'] = None\nfrom claude_mem_lite.cli import main\nmain()"
    )

    done = finished(sys.executable, "-c", program, "model", "download", "Qwen/Qwen3-Embedding-0.6B")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "in the clone, pip install '.[qwen]'" in done.stderr


def test_bench_measures_the_model_in_use(home: Path) -> None:
    """`model bench` prints every measure, and its sample observation has the stated 110 tokens."""
    # A process of its own, because it has not loaded a model yet.
    found = json.loads(processes.claude_mem("model", "bench", "--json").stdout)
    shown = wide("model", "bench", "minilm").stdout
    model: Any = minilm.open_model(records.find(records.MINILM), records.MINILM)

    assert (found.pop("model"), found.pop("dimension")) == ("minilm", 384)
    assert sorted(found) == ["batch_ms", "load_s", "memory_bytes", "observation_ms", "title_ms"]
    assert all(value > 0 for value in found.values())
    names = [line.split("\t")[0] for line in shown.splitlines()]
    assert names[:5] == ["model", "dimensions", "load", "a short title", "an observation of 110 tokens"]
    assert names[5:] == ["16 observations together", "peak memory"]
    assert len(model._tokens(bench.OBSERVATION)) == 110


def test_status_says_how_search_finds(memory: Path) -> None:
    """`status` names the search model and its progress, or why search is full text alone."""
    remember("minilm_384")
    down = as_json("status")["search"]
    with web_process():
        idle = as_json("status")["search"]
        wait_until(lambda: client.post("/api/embed", {"texts": []}, timeout_s=20))
        up, shown_up = as_json("status")["search"], wide("status").stdout
        wide("model", "use", "none")
        none, shown_none = as_json("status"), wide("status").stdout
    (memory / "config.toml").write_text('[search]\nembedding_model = "qwen3"\n')
    missing, shown_missing = as_json("status"), wide("status").stdout

    found = {"setting": "auto", "model": "minilm", "dimension": 384, "loaded": None}
    assert down == {**found, "embedded": 1, "total": 2, "problem": ""}
    assert (idle, up) == (down | {"loaded": False}, down | {"loaded": True})
    assert re.search(r"^search\tminilm \(auto\), 1 of 2 embedded$", shown_up, re.MULTILINE)
    assert none["search"]["problem"] == '[search] embedding_model = "none"'
    says = r'^search\tfull text alone: \[search\] embedding_model = "none"'
    assert re.search(says, shown_none, re.MULTILINE)
    assert "no search by meaning: see claude-mem model list" not in none["problems"]
    says = r"^search\tfull text alone: the embedding model qwen3-int8 is missing"
    assert re.search(says, shown_missing, re.MULTILINE)
    assert "no search by meaning: see claude-mem model list" in missing["problems"]


def test_the_web_process_takes_the_model_of_the_settings(memory: Path) -> None:
    """The web process changes its model only when told to, and reports one that it cannot use."""
    with web_process():
        wait_until(lambda: client.post("/api/embed", {"texts": []}, timeout_s=20))
        (memory / "config.toml").write_text('[search]\nembedding_model = "qwen3"\n')

        before = client.get("/api/model", {}, timeout_s=20)
        client.post("/api/model", {}, timeout_s=20)
        after = wait_until(lambda: (client.get("/api/model", {}, timeout_s=20) or {}).get("problem"))
        wide("model", "use", "auto")
        again = wait_until(
            lambda: (client.get("/api/model", {}, timeout_s=20) or {}).get("model") == "minilm"
        )

    assert before == {"model": "minilm", "dimension": 384, "loaded": True, "problem": ""}
    assert after.startswith("the embedding model qwen3-int8 is missing or incomplete in ")
    assert again
    assert settings.load().embedding_model == "auto"
