"""Open an empty memory for an evaluation, with the user's embedding model, and remove it afterwards."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator

from claude_mem_lite import config, settings
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import KINDS
from claude_mem_lite.search import embedder
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.indexing import documents
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.storage import embeddings, models

_TEXTS_AT_ONCE = 64


@contextlib.contextmanager
def temporary_memory(*, model: str = "") -> Iterator[str]:
    """Switch this process to a temporary memory, and remove it at the end; the user's is not touched.

    Search uses `model`, or by default the model of the user's search, from where it is stored.
    """
    fetched, chosen = config.models_dir(), settings.load()
    before = os.environ.get("CLAUDE_MEM_HOME")
    home = tempfile.mkdtemp(prefix="claude-mem-eval-")
    os.environ["CLAUDE_MEM_HOME"] = home
    try:
        config.ensure_home()
        if os.path.isdir(fetched):
            os.symlink(fetched, config.models_dir())
        with open(config.config_path(), "w", encoding="utf-8") as file:
            name, dimension = (model, 0) if model else (chosen.embedding_model, chosen.dimension)
            file.write(f"[search]\nembedding_model = {json.dumps(name)}\ndimension = {dimension}\n")
        models.open_databases()
        yield home
    finally:
        models.close_databases()
        shutil.rmtree(home, ignore_errors=True)
        os.environ.pop("CLAUDE_MEM_HOME")
        if before is not None:
            os.environ["CLAUDE_MEM_HOME"] = before


def searcher(advance: Callable[[int], object] = lambda _done: None) -> tuple[Searcher, str, str]:
    """Embed the whole memory; return a searcher for it, the model's name, and why there is no model.

    If the model cannot be used, the searcher goes by full text and the name is "". `advance` is called with
    how many texts were embedded.
    """
    chosen = settings.load()
    try:
        model = embedder.load(embedder.resolve(chosen.embedding_model, dimension=chosen.dimension))
    except ClaudeMemError as error:
        return Searcher(by_meaning=False), "", str(error)
    key = model.record.key
    store = Vectors(key, model.record.dimension)
    for kind in KINDS:
        while rows := embeddings.texts_to_embed(kind, key, limit=_TEXTS_AT_ONCE):
            kept = documents(model, [text for _, _, text in rows])
            store.write(kind, [(*row, vector) for row, vector in zip(rows, kept, strict=True)])
            embeddings.mark_embedded(kind, [(row_id, text) for row_id, _, text in rows], model=key)
            advance(len(rows))
    made = Searcher()
    made.holder.ready(0.0)
    made.holder.wait()
    return made, model.record.name, ""
