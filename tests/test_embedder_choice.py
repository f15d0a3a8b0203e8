"""Test the choice of embedding model, and that a process loads it once, on demand, and drops it when idle."""

import dataclasses
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.processes import finished, wait_until

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type
from claude_mem_lite.search import embedder
from claude_mem_lite.search.embedder.holder import IDLE_S, Holder
from claude_mem_lite.search.embedder.interface import Embedder
from claude_mem_lite.search.embedder.records import MINILM, QWEN3, QWEN3_INT8, ModelRecord

pytestmark = pytest.mark.usefixtures("no_hub")
KINDS: tuple[Type, ...] = ("observation", "code", "learning", "session", "all")


def test_naming_a_model_imports_no_library() -> None:
    """Resolving a model's name imports neither numpy nor onnxruntime."""
    code = """if True:
        import sys
        from claude_mem_lite.search import embedder
        embedder.find(embedder.resolve("auto"))
        print(*{"numpy", "onnxruntime", "tokenizers", "torch", "huggingface_hub"} & set(sys.modules))
    """

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("setting", "source"),
    [
        ("minilm", ""),
        ("qwen3", "onnx-community/Qwen3-Embedding-0.6B-ONNX"),
        ("Qwen/Qwen3-Embedding-0.6B", "Qwen/Qwen3-Embedding-0.6B"),
        ("BAAI/bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
        ("/models/mine/", "/models/mine"),
        ("~/mine", os.path.expanduser("~/mine")),
    ],
)
def test_a_setting_names_a_model(setting: str, source: str) -> None:
    """A setting may be a known name, a hub name or a folder's path."""
    assert embedder.resolve(setting).source == source


@pytest.mark.parametrize(
    "setting", ["", "bge", "../mine", "a/../b", "owner/name/more", "-x/y", "owner/na me"]
)
def test_a_setting_that_names_no_model_is_refused(setting: str) -> None:
    """A relative path, a malformed hub name or a way out of the models' folder is refused."""
    with pytest.raises(ClaudeMemError, match="give auto, minilm, qwen3"):
        embedder.resolve(setting)


def test_vectors_can_be_cut_where_the_model_allows_it() -> None:
    """Qwen3's vectors may have 32 to 1,024 dimensions, MiniLM's exactly 384."""
    assert embedder.resolve("qwen3", dimension=256) == dataclasses.replace(QWEN3_INT8, dimension=256)
    assert embedder.resolve("minilm", dimension=384) is MINILM
    for setting, dimension in [("qwen3", 2_048), ("qwen3", 8), ("minilm", 256), ("owner/name", 8)]:
        with pytest.raises(ClaudeMemError, match=f"{dimension} dimensions were asked for"):
            embedder.resolve(setting, dimension=dimension)


def test_every_kind_of_query_has_a_prompt() -> None:
    """Each kind of query has its own Qwen3 prompt, in the trained form; documents have none."""
    assert QWEN3.query_prompts is not None
    assert MINILM.query_prompts is not None
    assert set(QWEN3.query_prompts) == set(MINILM.query_prompts) == set(KINDS)
    assert len(set(QWEN3.query_prompts.values())) == len(KINDS)
    for prompt in QWEN3.query_prompts.values():
        assert prompt.startswith("Instruct: ")
        assert prompt.endswith("\nQuery:")
    assert QWEN3.document_prompt == ""


def test_auto_is_qwen3_once_it_is_on_disk(tiny: Path, home: Path) -> None:
    """`auto` is Qwen3 once all of it is in the data directory or in Hugging Face's shared cache."""
    cached = home / "cache" / "huggingface" / "hub" / "models--Qwen--Qwen3-Embedding-0.6B"
    snapshot = cached / "snapshots" / "c0ffee"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("c0ffee")
    assert embedder.resolve("auto") is MINILM

    shutil.copytree(tiny, snapshot, ignore=shutil.ignore_patterns("*.safetensors"))
    (snapshot / "model.safetensors").symlink_to(cached / "blobs" / "still-to-come")
    assert embedder.resolve("auto") is MINILM

    (snapshot / "model.safetensors").unlink()
    shutil.copy(tiny / "model.safetensors", snapshot)
    assert embedder.resolve("auto") is QWEN3
    assert embedder.find(QWEN3) == str(snapshot)


def test_auto_passes_over_a_model_without_its_libraries(
    tiny_on_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its libraries `auto` skips Qwen3, so that another program's download does no harm."""
    assert embedder.resolve("auto") is QWEN3

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    assert embedder.resolve("auto") is MINILM
    with pytest.raises(ClaudeMemError, match=r"in the clone, pip install '\.\[qwen\]'"):
        embedder.load(QWEN3)


class Gate:
    """A model load that blocks until opened, and counts."""

    def __init__(self) -> None:
        self.loads = 0
        self.fails = False
        self.open = threading.Event()
        self.model: Any = SimpleNamespace(record=MINILM)

    def load(self, record: ModelRecord) -> Embedder:
        """Return the model or fail."""
        self.loads += 1
        assert self.open.wait(10)
        if self.fails:
            raise ClaudeMemError("the embedding model is broken")
        model: Embedder = self.model
        return model


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return a blocking load, opened after the test."""
    gate = Gate()
    yield gate
    gate.open.set()


def test_a_first_need_is_answered_at_once_and_starts_one_load(gate: Gate) -> None:
    """Until the model is loaded, once, every caller gets None at once; then all get the same model."""
    holder = Holder(lambda: MINILM, load=gate.load)

    with ThreadPoolExecutor(8) as pool:
        before = list(pool.map(holder.ready, [0.0] * 20))
    gate.open.set()
    holder.wait()
    after = [holder.ready(1.0) for _ in range(3)]

    assert before == [None] * 20
    assert gate.loads == 1
    assert after == [gate.model] * 3


def test_a_failed_load_is_said_once(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    """A failed load is logged once and not retried until the model is dropped."""
    caplog.set_level(logging.INFO)
    holder = Holder(lambda: MINILM, load=gate.load)
    gate.fails = True
    gate.open.set()

    assert holder.ready(0.0) is None
    holder.wait()
    assert [holder.ready(float(now)) for now in range(5)] == [None] * 5
    assert (holder.problem, gate.loads) == ("the embedding model is broken", 1)
    assert caplog.messages == ["search goes on with full text alone: the embedding model is broken"]

    gate.fails = False
    holder.drop()
    holder.ready(9.0)
    holder.wait()
    assert (holder.problem, holder.ready(9.0)) == ("", gate.model)


def test_a_wrong_setting_is_a_failed_load(gate: Gate) -> None:
    """A setting that names no model is reported like a failed load."""
    holder = Holder(lambda: embedder.resolve("no such"), load=gate.load)

    holder.ready(0.0)
    holder.wait()

    assert holder.problem.startswith("there is no embedding model 'no such'")
    assert gate.loads == 0


def test_an_idle_embedder_is_unloaded(gate: Gate) -> None:
    """A model is unloaded after thirty idle minutes and loaded again when needed."""
    gate.open.set()
    holder = Holder(lambda: MINILM, load=gate.load)
    assert holder.unload_if_idle(1e9) is False
    holder.ready(0.0)
    holder.wait()
    holder.ready(100.0)

    assert holder.unload_if_idle(IDLE_S + 99) is False
    assert holder.unload_if_idle(IDLE_S + 100) is True
    assert holder.unload_if_idle(IDLE_S + 101) is False
    assert holder.ready(5_000.0) is None
    wait_until(lambda: holder.ready(5_000.0))
    assert gate.loads == 2


def test_a_load_under_way_is_not_idle(gate: Gate) -> None:
    """A model being loaded is never unloaded as idle."""
    holder = Holder(lambda: MINILM, load=gate.load)
    holder.ready(0.0)

    assert holder.unload_if_idle(IDLE_S * 2) is False

    gate.open.set()
    holder.wait()
    assert holder.ready(IDLE_S * 2) is not None


@pytest.mark.skipif(sys.platform != "linux", reason="reads the process's memory from /proc")
def test_an_unloaded_model_leaves_memory() -> None:
    """Unloading the real model frees its memory, the second time too."""
    code = """if True:
        import os
        from claude_mem_lite.search.embedder import records
        from claude_mem_lite.search.embedder.holder import Holder

        def rss_mib():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

        import numpy, onnxruntime, tokenizers
        holder = Holder(lambda: records.MINILM)
        sizes = [rss_mib()]
        for now in (0.0, 1e6):
            holder.ready(now)
            holder.wait()
            holder.ready(now).embed_documents(["some words " * 100] * 8)
            sizes.append(rss_mib())
            assert holder.unload_if_idle(now + 1800)
            sizes.append(rss_mib())
        print(*sizes)
    """
    arenas = {**os.environ, "MALLOC_ARENA_MAX": "2"}  # as the web process has it

    done = finished(sys.executable, "-c", code, env=arenas, check=True)

    before, loaded, unloaded, again, last = map(float, done.stdout.split())
    # The libraries' own pages stay: 24 to 33 MiB; with the model it is 57 to 113.
    assert min(loaded, again) - before > 45
    assert max(unloaded, last) - before < 42
