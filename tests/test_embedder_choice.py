"""Which model a setting means, and what auto finds on the disk."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type
from claude_mem_lite.search import embedder
from claude_mem_lite.search.embedder.records import MINILM, QWEN3, QWEN3_INT8

pytestmark = pytest.mark.usefixtures("no_hub")

KINDS: tuple[Type, ...] = ("observation", "code", "learning", "session", "all")


@pytest.fixture
def tiny_on_disk(tiny: Path, home: Path) -> Path:
    """Put the tiny Qwen3 where a downloaded one lies."""
    folder = Path(config.models_dir()) / "Qwen--Qwen3-Embedding-0.6B"
    shutil.copytree(tiny, folder)
    return folder


def test_naming_a_model_imports_no_library() -> None:
    """A process that only asks which model is meant pays neither for numpy nor for onnxruntime."""
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
    """A known name, a name on the hub, and a folder by its path."""
    assert embedder.resolve(setting).source == source


@pytest.mark.parametrize(
    "setting", ["", "bge", "../mine", "a/../b", "owner/name/more", "-x/y", "owner/na me"]
)
def test_a_setting_that_names_no_model_is_refused(setting: str) -> None:
    """A path is absolute, a hub name is owner/name, and nothing leads out of the models' folder."""
    with pytest.raises(ClaudeMemError, match="say auto, minilm, qwen3"):
        embedder.resolve(setting)


def test_vectors_can_be_cut_where_the_model_allows_it() -> None:
    """Qwen3's may have 32 to 1,024 dimensions, MiniLM's have 384."""
    assert embedder.resolve("qwen3", dimension=256) == dataclasses.replace(QWEN3_INT8, dimension=256)
    assert embedder.resolve("minilm", dimension=384) is MINILM
    for setting, dimension in [("qwen3", 2_048), ("qwen3", 8), ("minilm", 256), ("owner/name", 8)]:
        with pytest.raises(ClaudeMemError, match=f"{dimension} dimensions were asked for"):
            embedder.resolve(setting, dimension=dimension)


def test_every_kind_of_query_has_a_prompt() -> None:
    """Qwen3's stand in the form that it was trained with, each kind has its own, documents have none."""
    assert QWEN3.query_prompts is not None
    assert MINILM.query_prompts is not None
    assert set(QWEN3.query_prompts) == set(MINILM.query_prompts) == set(KINDS)
    assert len(set(QWEN3.query_prompts.values())) == len(KINDS)
    for prompt in QWEN3.query_prompts.values():
        assert prompt.startswith("Instruct: ")
        assert prompt.endswith("\nQuery:")
    assert QWEN3.document_prompt == ""


def test_auto_is_qwen3_once_it_is_on_disk(tiny: Path, home: Path) -> None:
    """In the data directory or in the cache that other programs share; half a download is none."""
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
    """Weights that another program has fetched must not cost the vectors of those without the extra."""
    assert embedder.resolve("auto") is QWEN3

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    assert embedder.resolve("auto") is MINILM
    with pytest.raises(ClaudeMemError, match=r"pip install 'claude-mem-lite\[qwen\]'"):
        embedder.load(QWEN3)
