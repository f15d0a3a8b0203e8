"""Check and rebuild what is derived from the stored memory: full text, SQLite's indexes, vectors.

Search stays available meanwhile. Vectors are not computed here: rows with a wrong one are marked, and the
consumer or `claude-mem reembed` embeds them again.
"""

import os
from dataclasses import dataclass, field

from claude_mem_lite import settings
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import KINDS
from claude_mem_lite.search import embedder, vectors, write_lock
from claude_mem_lite.search.vectors import Vectors, VectorsError, digest
from claude_mem_lite.storage import damage, embeddings, files

_MOST_LINES = 5


@dataclass(slots=True)
class Found:
    """Problems found: tables whose full text did not match their rows, and SQLite's messages by database.

    `missing` rows had no vector or that of another text, `stray` vectors had no row; `unreadable` says why
    all vectors are computed again. `left` has the damage in the databases that rebuilding did not repair.
    """

    full_text: list[str] = field(default_factory=list)
    indexes: dict[str, list[str]] = field(default_factory=dict)
    missing: int = 0
    stray: int = 0
    unreadable: str = ""
    left: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Whether no problem was found."""
        return self == Found()


def reindex() -> Found:
    """Rebuild full text and indexes, and mark rows with wrong vectors; return the problems found."""
    found = Found(indexes=_damage())
    found.full_text = damage.wrong_full_text()
    is_through = damage.reindex()
    found.left = _damage() if found.indexes or not is_through else {}
    if found.left:
        return found
    with write_lock.step(wait=True):
        _look_at_vectors(found)
    return found


def _damage() -> dict[str, list[str]]:
    found = {os.path.basename(path): damage.lines(path, most=_MOST_LINES) for path in files.paths()}
    return {name: lines for name, lines in found.items() if lines}


def _look_at_vectors(found: Found) -> None:
    """Compare the vectors of the model in use with the rows that are marked as having one."""
    chosen = settings.load()
    try:
        record = embedder.resolve(chosen.embedding_model, dimension=chosen.dimension)
    except ClaudeMemError:  # without a model, search uses full text alone
        return
    try:
        if record.key not in vectors.models():
            found.missing = embeddings.count_by_model().get(record.key, 0)
            embeddings.forget_vectors()
            return
        store = Vectors(record.key, record.dimension)
        for kind in KINDS:
            digests, texts = store.digests(kind), embeddings.marked_texts(kind, record.key)
            wrong = [row_id for row_id, text in texts.items() if digests.get(row_id) != digest(text)]
            found.missing += len(wrong)
            embeddings.mark_pending(kind, wrong)
            stray = digests.keys() - {row_id for row_id, _, _ in embeddings.all_texts(kind)}
            found.stray += len(stray)
            store.delete(kind, stray)
    except VectorsError as error:
        found.unreadable = str(error)
        vectors.discard()
        embeddings.forget_vectors()
