"""Embed all rows with one model in this process while search continues, then switch to the new vectors.

Until the switch, rows stay marked with the old model, whose vectors search and the consumer keep using. An
interrupted run leaves its vectors; the next one compares digests and continues from there.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claude_mem_lite import settings, settings_file
from claude_mem_lite.capture import client
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import KINDS, Kind
from claude_mem_lite.search import embedder, lance, vectors, write_lock
from claude_mem_lite.search.indexing import TEXTS_AT_ONCE, documents
from claude_mem_lite.search.vectors import Vectors, VectorsError, digest
from claude_mem_lite.storage import embeddings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claude_mem_lite.search.embedder.interface import Embedder

    Row = tuple[str, str, str]  # id, project_dir, text
    Progress = Callable[[int, int], None]

# Rows that are new or changed during a pass are embedded in the next; those of the last pass stay pending.
_PASSES = 3
_ROWS_PER_MARK = 500
_ANSWER_S = 120.0


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a run: rows embedded (`made`), rows that had a vector before (`there`), and all rows.

    `is_told` is whether the web process has switched to the model; None if it is down or needs no switch.
    """

    model: str
    key: str
    made: int
    there: int
    total: int
    is_swapped: bool
    is_told: bool | None


def reembed(setting: str, *, dimension: int, progress: Progress, rebuild: bool = False) -> Done:
    """Complete the vectors of a model, then make search use it; `progress` takes rows made and rows to make.

    With `rebuild` all existing vectors are discarded first. Raises: ClaudeMemError.
    """
    chosen = settings.load()
    is_new = (setting, dimension) != (chosen.embedding_model, chosen.dimension)
    record = embedder.resolve(setting, dimension=dimension)
    if is_new:
        settings_file.choose_model(setting, dimension=dimension, only_check=True)
    with write_lock.run() as say:
        model = embedder.load(record)
        key = model.record.key
        say(key)
        with write_lock.step(wait=True):  # the consumer ends its step, and starts no other with this model
            if rebuild:
                vectors.discard()
                embeddings.forget_vectors()
        run = _Run(model, key, progress)
        made = run.make()
        with write_lock.step(wait=True):
            if is_new:
                settings_file.choose_model(setting, dimension=dimension)
            run.mark()
            is_told = tell_web() if is_new or rebuild or not _web_has(model) else None
            if is_told is not False:
                run.drop_others()
        say("")
    total = sum(count for _, count in embeddings.count_embedded(key).values())
    return Done(model.record.name, key, made, max(0, total - made), total, is_new, is_told)


def tell_web() -> bool | None:
    """Make the web process use the model in the settings; None if it is down, False without an answer."""
    try:
        return client.post("/api/model", {}, timeout_s=_ANSWER_S) is not None
    except client.UnreachableError:
        return None


def _web_has(model: Embedder) -> bool:
    """Tell whether the web process uses this model already, or is down."""
    try:
        state = client.get("/api/model", {}, timeout_s=_ANSWER_S) or {}
    except client.UnreachableError:
        return True
    return (state.get("model"), state.get("dimension")) == (model.record.name, model.record.dimension)


class _Run:
    """A run that completes the vectors of one model."""

    def __init__(self, model: Embedder, key: str, progress: Progress) -> None:
        self._model, self._key, self._progress = model, key, progress
        try:
            self._vectors = Vectors(key, model.record.dimension)
            self._digests = {kind: self._vectors.digests(kind) for kind in KINDS}
        except VectorsError as error:
            raise ClaudeMemError(
                f"{error}. To compute all vectors again: claude-mem reembed --rebuild"
            ) from error

    def make(self) -> int:
        """Embed the rows without a current vector; return how many."""
        made: set[tuple[Kind, str]] = set()
        for _ in range(_PASSES):
            missing = sum(1 for kind in KINDS for _ in self._missing(kind))
            if not missing:
                break
            to_make = len(made) + missing
            for kind in KINDS:
                for rows in _batches(self._missing(kind)):
                    self._write(kind, rows)
                    made.update((kind, row_id) for row_id, _, _ in rows)
                    self._progress(len(made), to_make)
        lance.optimize(self._vectors)
        return len(made)

    def mark(self) -> None:
        """Mark every row whose vector matches its text as embedded."""
        for kind in KINDS:
            rows = embeddings.all_texts(kind, without=self._key)
            has = ((row_id, text) for row_id, _, text in rows if self._has(kind, row_id, text))
            while some := list(itertools.islice(has, _ROWS_PER_MARK)):
                embeddings.mark_embedded(kind, some, model=self._key)

    def drop_others(self) -> None:
        """Drop the vectors of all other models."""
        self._vectors.drop_others()

    def _missing(self, kind: Kind) -> Iterator[Row]:
        for row in embeddings.all_texts(kind):
            if not self._has(kind, row[0], row[2]):
                yield row

    def _has(self, kind: Kind, row_id: str, text: str) -> bool:
        return self._digests[kind].get(row_id) == digest(text)

    def _write(self, kind: Kind, rows: list[Row]) -> None:
        matrix = documents(self._model, [text for _, _, text in rows])
        self._vectors.write(kind, [(*row, vector) for row, vector in zip(rows, matrix, strict=True)])
        self._digests[kind].update((row_id, digest(text)) for row_id, _, text in rows)


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while some := list(itertools.islice(rows, TEXTS_AT_ONCE)):
        yield some
