"""Qwen3 under onnxruntime, with a tiny ONNX decoder of the real architecture, and its download."""

import dataclasses
import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from support import hub as loopback
from support import qwen3_onnx, tiny_qwen3
from support.commands import wide

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import embedder
from claude_mem_lite.search.embedder import fetching, records, transformer
from claude_mem_lite.search.embedder.interface import Embedder
from claude_mem_lite.search.embedder.records import MINILM, QWEN3, QWEN3_INT8, ModelFile, ModelRecord

pytestmark = pytest.mark.usefixtures("no_hub")

AWKWARD = ("", " ", "\x00", "🎉 naïve 漢字", "\ud800 lone \udfff", "word " * 3_000, "x" * 300_000)
TEXT = "why was the cache dropped"
WEIGHTS, TOKENIZER = "onnx/model_int8.onnx", "tokenizer.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny int8 export with random weights."""
    folder = tmp_path_factory.mktemp("onnx")
    qwen3_onnx.write(folder / WEIGHTS, qwen3_onnx.random_weights(), int8=True)
    tiny_qwen3.tokenizer_of_stdlib().save(str(folder / TOKENIZER))
    return folder


@pytest.fixture
def record(made: Path, monkeypatch: pytest.MonkeyPatch) -> ModelRecord:
    """Make every lookup of qwen3-int8 find the tiny model."""
    tiny = record_of(made)
    monkeypatch.setattr(records, "QWEN3_INT8", tiny)
    known = {each.name: each for each in (MINILM, tiny, QWEN3)}
    monkeypatch.setattr(records, "RECORDS", MappingProxyType(known))
    return tiny


@pytest.fixture
def on_disk(made: Path, record: ModelRecord) -> Path:
    """Put the tiny model where a download would put the real one."""
    folder = Path(config.models_dir()) / "onnx-community--Qwen3-Embedding-0.6B-ONNX"
    shutil.copytree(made, folder)
    return folder


@pytest.fixture
def hub(made: Path, record: ModelRecord, monkeypatch: pytest.MonkeyPatch) -> Iterator[loopback.Hub]:
    """Serve the tiny model from the hub's addresses."""
    files = {address(file.path): (made / file.path).read_bytes() for file in record.files}
    with loopback.serving(files) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.address)
        yield served


def address(path: str) -> str:
    """Return the URL path of a model file on the hub."""
    return (
        f"/onnx-community/Qwen3-Embedding-0.6B-ONNX/resolve/c25a394dd583836952667c12f008335071b3f43d/{path}"
    )


def record_of(folder: Path, *, dimension: int = tiny_qwen3.DIMENSION) -> ModelRecord:
    """Return the record of qwen3-int8 with the hashes and sizes of a folder's files."""
    files = []
    for name in (WEIGHTS, TOKENIZER):
        content = (folder / name).read_bytes()
        files.append(ModelFile(name, hashlib.sha256(content).hexdigest(), len(content)))
    return dataclasses.replace(QWEN3_INT8, source=QWEN3_INT8.source, dimension=dimension, files=tuple(files))


def opened(folder: Path, **changes: Any) -> Embedder:
    """Return a folder's model, opened by the product's own loader."""
    from claude_mem_lite.search.embedder import qwen3

    return qwen3.open_model(str(folder), dataclasses.replace(record_of(folder), **changes))


def with_tokenizer(made: Path, folder: Path, **options: Any) -> Path:
    """Write an export with other options next to a copy of the tokenizer."""
    weights = qwen3_onnx.random_weights()
    qwen3_onnx.write(folder / WEIGHTS, weights, int8=True, **options)
    shutil.copy(made / TOKENIZER, folder)
    return folder


def test_onnx_gives_the_vectors_of_torch(tiny: Path, tmp_path: Path) -> None:
    """ONNX and torch vectors agree to 1e-4 for documents, prompted queries, empty and cut texts."""
    from safetensors.numpy import load_file

    qwen3_onnx.write(tmp_path / WEIGHTS, load_file(tiny / "model.safetensors"))
    shutil.copy(tiny / TOKENIZER, tmp_path)
    by_onnx = opened(tmp_path)
    by_torch = transformer.open_model(str(tiny), dataclasses.replace(QWEN3, dimension=64, dtype="float32"))

    documents = by_onnx.embed_documents(AWKWARD)

    assert documents == pytest.approx(by_torch.embed_documents(AWKWARD), abs=1e-4)
    for kind in QWEN3.query_prompts or ():
        assert by_onnx.embed_query(TEXT, kind) == pytest.approx(by_torch.embed_query(TEXT, kind), abs=1e-4)


def test_any_text_has_the_same_vector_alone_and_among_others(made: Path) -> None:
    """A text's vector is bit-identical alone, in a batch and across threads, despite quantization."""
    model = opened(made)
    texts = [*AWKWARD, *(f"{'much more ' * (number * 7 % 11)}text {number}" for number in range(20))]

    together = model.embed_documents(texts)
    with ThreadPoolExecutor(4) as pool:
        alone = list(pool.map(lambda text: model.embed_documents([text])[0], texts))

    assert np.array_equal(together, np.stack(alone))
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert model.embed_documents([]).shape == (0, 64)


def test_a_long_text_keeps_its_end_token(made: Path) -> None:
    """Text past the token limit is ignored, and pooling still uses the end token."""
    model = opened(made, max_tokens=8)

    first, same, other = model.embed_documents(["a b c d e f g h i j", "a b c d e f g X", "a b X d e f g h"])

    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_a_tokenizer_that_appends_no_end_is_helped(made: Path, tmp_path: Path) -> None:
    """A tokenizer.json that appends no end token, as early ones, gives the same vectors."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    bare = json.loads((made / TOKENIZER).read_text())
    bare["post_processor"] = None
    (tmp_path / TOKENIZER).write_text(json.dumps(bare))
    texts = ["", "two words", "a b c d e f g h i j"]

    vectors = opened(tmp_path, max_tokens=8).embed_documents(texts)

    assert np.array_equal(vectors, opened(made, max_tokens=8).embed_documents(texts))


def test_an_export_that_pools_itself_is_read(made: Path, tmp_path: Path) -> None:
    """An export whose only vector output is sentence_embedding gives the same vectors."""
    pooled = opened(with_tokenizer(made, tmp_path, output="sentence_embedding"))

    vectors = pooled.embed_documents(["one", "two words"])

    assert vectors == pytest.approx(opened(made).embed_documents(["one", "two words"]), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "asked", "says"),
    [
        ({"extra_input": "pixel_values"}, {}, "its input pixel_values is not known"),
        ({"output": "logits"}, {}, "it has none of the outputs last_hidden_state, "),
        ({}, {"dimension": 1_024}, "gives 64 dimensions, not the 1024"),
    ],
)
def test_an_export_of_another_kind_is_said(
    made: Path, tmp_path: Path, options: dict[str, str], asked: dict[str, int], says: str
) -> None:
    """Unknown inputs or outputs and too few dimensions are refused with the reason."""
    with_tokenizer(made, tmp_path, **options)

    with pytest.raises(ClaudeMemError, match=says):
        opened(tmp_path, **asked)


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_a_changed_file_is_refused(on_disk: Path, record: ModelRecord, name: str) -> None:
    """A file with one flipped bit is refused before parsing, with the command that fetches it again."""
    content = bytearray((on_disk / name).read_bytes())
    content[len(content) // 2] ^= 1
    (on_disk / name).write_bytes(content)

    with pytest.raises(ClaudeMemError) as error:
        embedder.load(record)

    assert str(error.value).startswith(f"{on_disk / name} is not the expected embedding model: ")
    assert str(error.value).endswith("Fetch it again: claude-mem model download qwen3-int8")


def test_it_needs_no_torch(on_disk: Path, record: ModelRecord) -> None:
    """Loading and using the model imports neither torch, transformers nor the hub's library."""
    code = f"""if True:
        import sys
        from claude_mem_lite.search import embedder
        from claude_mem_lite.search.embedder.records import ModelFile, ModelRecord
        model = embedder.load({record!r})
        print(len(model.embed_query("a", "code")))
        print(*{{"torch", "transformers", "sentence_transformers", "huggingface_hub"}} & set(sys.modules))
    """.replace("mappingproxy(", "(")

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "64\n\n"


def test_qwen3_is_the_form_that_is_on_disk(
    made: Path, record: ModelRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form on disk is chosen, torch only with its libraries; otherwise qwen3 means int8."""
    monkeypatch.setattr(records.importlib.util, "find_spec", lambda name: name == "sentence_transformers")
    assert (embedder.resolve("auto"), embedder.resolve("qwen3")) == (MINILM, record)

    torch_form = Path(config.models_dir()) / "Qwen--Qwen3-Embedding-0.6B"
    torch_form.mkdir(parents=True)
    for name in ("modules.json", "model.safetensors"):
        (torch_form / name).write_text("{}")
    assert (embedder.resolve("auto"), embedder.resolve("qwen3")) == (QWEN3, QWEN3)

    monkeypatch.setattr(records.importlib.util, "find_spec", lambda _: None)
    assert (embedder.resolve("auto"), embedder.resolve("qwen3")) == (MINILM, record)


def test_int8_on_disk_goes_first(on_disk: Path, record: ModelRecord) -> None:
    """Int8 on disk wins for auto and qwen3; the hub's name still selects the torch form."""
    assert {embedder.resolve(name) for name in ("auto", "qwen3", "qwen3-int8", record.source)} == {record}
    assert embedder.resolve("Qwen/Qwen3-Embedding-0.6B") is QWEN3
    assert embedder.resolve("qwen3", dimension=32).key == "qwen3-int8_32"


def test_the_shared_cache_counts(made: Path, home: Path, record: ModelRecord) -> None:
    """A pinned revision in the shared Hugging Face cache is used without a download."""
    cached = home / "cache/huggingface/hub/models--onnx-community--Qwen3-Embedding-0.6B-ONNX/snapshots"
    shutil.copytree(made, cached / record.revision)

    assert embedder.find(record) == embedder.download(record) == str(cached / record.revision)


def test_a_download_is_whole_and_pinned(hub: loopback.Hub, record: ModelRecord) -> None:
    """A download stores exactly the pinned revision's two files, once, without partial files."""
    told: list[tuple[int, int]] = []

    folders = {embedder.download(record, lambda here, size: told.append((here, size))) for _ in range(2)}

    assert folders == {embedder.find(record)}
    assert [path for path, _ in hub.asked] == [address(WEIGHTS), address(TOKENIZER)]
    kept = {str(path.relative_to(*folders)) for path in Path(*folders).rglob("*") if path.is_file()}
    assert kept == {WEIGHTS, TOKENIZER}
    assert {size for _, size in told} == {file.size_bytes for file in record.files}
    assert told[-1][0] == told[-1][1]
    assert len(embedder.load(record).embed_query(TEXT, "all")) == 64


@pytest.mark.parametrize(("knows_ranges", "moves"), [(True, False), (False, False), (True, True)])
def test_a_cut_download_goes_on(
    hub: loopback.Hub, record: ModelRecord, *, knows_ranges: bool, moves: bool
) -> None:
    """A cut download resumes at its last byte, also after a redirect; a part is no model."""
    hub.sent, hub.knows_ranges, hub.moves = [100_000], knows_ranges, moves
    with pytest.raises(ClaudeMemError, match=r"ended after 100000 of \d+ bytes\. What has arrived"):
        embedder.download(record)
    assert embedder.find(record) == ""

    embedder.download(record)

    assert ("/moved" * moves + address(WEIGHTS), "bytes=100000-") in hub.asked
    assert len(embedder.load(record).embed_query(TEXT, "all")) == 64


@pytest.mark.parametrize(
    ("status", "content", "says"),
    [
        (200, b"x" * 5_000_000, "has unexpected content: it has more than"),
        (200, b"", "ended after 0 of"),
        (404, b"", "answered 404 Not Found"),
    ],
)
def test_another_file_is_not_kept(
    hub: loopback.Hub, record: ModelRecord, status: int, content: bytes, says: str
) -> None:
    """A wrong file is refused with one line on what was found, and a retry succeeds."""
    right, hub.files = hub.files, dict(hub.files) | {address(WEIGHTS): content}
    hub.status = status

    with pytest.raises(ClaudeMemError, match=says) as error:
        embedder.download(record)

    wanted = f"cannot fetch the embedding model qwen3-int8: {hub.address}/onnx-comm"
    assert str(error.value).startswith(wanted)
    assert "\n" not in str(error.value)
    hub.files, hub.status = right, 200
    assert embedder.download(record) == embedder.find(record) != ""


def test_a_file_of_another_hash_is_thrown_away(hub: loopback.Hub, record: ModelRecord) -> None:
    """A file of the right size but a wrong hash is deleted, and the next try starts over."""
    right = hub.files
    changed = bytearray(right[address(WEIGHTS)])
    changed[7] ^= 1
    hub.files = dict(right) | {address(WEIGHTS): bytes(changed)}

    with pytest.raises(ClaudeMemError, match=r"has unexpected content: its sha256 is [0-9a-f]{64}, not "):
        embedder.download(record)

    assert embedder.find(record) == ""
    hub.files = right
    assert embedder.download(record) == embedder.find(record) != ""


def test_a_damaged_model_is_fetched_again(hub: loopback.Hub, on_disk: Path, record: ModelRecord) -> None:
    """A download replaces the damaged file alone."""
    content = bytearray((on_disk / TOKENIZER).read_bytes())
    content[7] ^= 1
    (on_disk / TOKENIZER).write_bytes(content)

    embedder.download(record)

    assert [path for path, _ in hub.asked] == [address(TOKENIZER)]
    assert len(embedder.load(record).embed_query(TEXT, "all")) == 64


def test_two_downloads_do_not_mix(hub: loopback.Hub, record: ModelRecord) -> None:
    """A second download reports the first one and writes nothing."""
    part = (
        Path(config.models_dir()) / "onnx-community--Qwen3-Embedding-0.6B-ONNX" / f"{WEIGHTS}{fetching.PART}"
    )
    part.parent.mkdir(parents=True)
    with part.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(ClaudeMemError, match="another process is fetching"):
            embedder.download(record)

    assert hub.asked == []


def test_a_full_disk_is_said_before(
    hub: loopback.Hub, record: ModelRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download that would use the disk space memory needs is refused before any request."""
    usage = namedtuple("usage", "total used free")(0, 0, 10 << 20)  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    with pytest.raises(ClaudeMemError, match="10 MiB free; this needs 0 MiB, and 200 MiB must stay free"):
        embedder.download(record)

    assert hub.asked == []


def test_the_command_fetches_and_names_it(hub: loopback.Hub, record: ModelRecord) -> None:
    """`model download` prints the model's place and how to use it; a second run finds it there."""
    first, second = wide("model", "download", "qwen3"), wide("model", "download", "qwen3")
    found = json.loads(wide("model", "list", "--json").stdout)

    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith(f"qwen3-int8 is now in {embedder.find(record)}\nTo use it now: ")
    assert second.stdout == f"qwen3-int8 was already in {embedder.find(record)}\n"
    is_there = {each["name"]: each["path"] != "" for each in found["models"]}
    assert is_there == {"minilm": True, "qwen3-int8": True, "qwen3": False}
