"""Find the nearest vectors: compare all of a project's in memory, or ask LanceDB if they are too many.

A hundred thousand vectors of MiniLM take 39 MB, and comparing them all is faster than LanceDB's index.
"""

import threading
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from claude_mem_lite.kinds import Kind
from claude_mem_lite.search import lance
from claude_mem_lite.search.lance import Index
from claude_mem_lite.search.vectors import Vectors, Version

Array = NDArray[np.float32]

# Limit for the projects kept in memory, the last used ones: 170,000 vectors of MiniLM.
KEEP_BYTES = 64 << 20
LOOK_AGAIN_S = 1.0
_CENTRE_ROWS = 2_000
# Rows converted to float32 at a time, so that they stay in the processor's cache.
_ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors as stored: (n, dim) int8, with their lengths, and their places in ascending order."""

    places: NDArray[np.int64]
    matrix: NDArray[np.int8]
    lengths: Array

    def cosines(self, vector: Array) -> Array:
        """Return the dot product of a vector with each stored vector, scaled to unit length: (n,)."""
        found = np.empty(len(self.matrix), np.float32)
        for start in range(0, len(found), _ROWS_AT_ONCE):
            some = self.matrix[start : start + _ROWS_AT_ONCE].astype(np.float32)
            np.dot(some, vector, out=found[start : start + _ROWS_AT_ONCE])
        found /= self.lengths
        return found

    def mean(self) -> Array:
        """Return the mean of the vectors, each scaled to unit length: (dim,)."""
        total = np.zeros(self.matrix.shape[1], np.float32)
        for start in range(0, len(self.matrix), _ROWS_AT_ONCE):
            some = self.matrix[start : start + _ROWS_AT_ONCE].astype(np.float32)
            total += (1 / self.lengths[start : start + _ROWS_AT_ONCE]) @ some
        mean: Array = total / np.float32(max(len(self.matrix), 1))
        return mean


@dataclass(frozen=True, slots=True)
class View:
    """The vectors of one kind in one project, or in all, as of `version`; `centre` (dim,) is their mean.

    With an `index`, `rows` has only the vectors that it does not cover yet, and `centre` is a sample's mean.
    """

    vectors: Vectors
    kind: Kind
    project_dir: str | None
    version: Version
    rows: Rows
    centre: Array
    index: Index | None

    def nearest(self, vector: Array, *, limit: int, ids: Collection[str] | None = None) -> dict[str, Array]:
        """Return the nearest vectors by id, best first; `ids` limits the search to some rows."""
        if ids is None:
            near = self.index.nearest(vector, limit=limit, project_dir=self.project_dir) if self.index else []
            near += self.rows.places[_largest(self.rows.cosines(vector), limit)].tolist()
            found = self.vectors.at(self.kind, near)
        else:
            found = self.of_rows(ids)
        best = sorted(found.items(), key=lambda row: -float(row[1] @ vector))
        return dict(best[:limit])

    def of_rows(self, ids: Collection[str]) -> dict[str, Array]:
        """Return the vectors of some rows by id; rows without a vector are left out."""
        return self.vectors.of_rows(self.kind, ids, project_dir=self.project_dir)


class Views:
    """The views of one model's vectors; every method may be called from any thread."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._kept: dict[tuple[Kind, str | None], View] = {}  # least recently used first
        self._version: Version | None = None
        self._looked_at = -LOOK_AGAIN_S
        self._lock = threading.Lock()

    def get(self, kind: Kind, project_dir: str | None, *, now: float) -> View | None:
        """Return the view of a project (None: of all), at most a second old; None if there are no vectors.

        Raises: VectorsError.
        """
        with self._lock:
            if now - self._looked_at >= LOOK_AGAIN_S:
                self._version = self._vectors.version()
                self._looked_at = now
            kept = self._kept.pop((kind, project_dir), None)
            if self._version is None:
                return None
            if kept is None or kept.version != self._version:
                kept = self._read(kind, project_dir, self._version, kept)
            if kept is not None:
                self._kept[kind, project_dir] = kept
                self._make_room()
            return kept

    def _read(self, kind: Kind, project_dir: str | None, version: Version, kept: View | None) -> View | None:
        """Return the view at a version; if possible, read only what was written since the kept one."""
        places = self._vectors.places(kind, project_dir)
        if not len(places):
            return None
        if kept and kept.version[0] != version[0]:
            kept = None
        index = kept.index if kept else None
        if len(places) > lance.INDEX_FROM_ROWS:
            index = lance.find(self._vectors, kind, version, known=index)
        if kept and kept.index is not index:
            kept = None
        covered = index.covered if index else 0
        places = places[places > covered]
        if kept and np.array_equal(kept.rows.places, places):
            return replace(kept, version=version)
        last = int(kept.rows.places[-1]) if kept and len(kept.rows.places) else covered
        rows = _rows(*self._vectors.after(last, kind, project_dir))
        if kept:
            rows = _joined(_still(kept.rows, places), rows)
        some = _rows(*self._vectors.after(0, kind, project_dir, limit=_CENTRE_ROWS)) if index else rows
        return View(self._vectors, kind, project_dir, version, rows, some.mean(), index)

    def _make_room(self) -> None:
        """Drop the least recently used views over the limit, but never the last used one."""
        sizes = {key: kept.rows.matrix.nbytes for key, kept in self._kept.items()}
        total = sum(sizes.values())
        for key, size in list(sizes.items())[:-1]:
            if total > KEEP_BYTES:
                del self._kept[key]
                total -= size


def _rows(places: list[int], _projects: list[str], matrix: NDArray[np.int8]) -> Rows:
    """Return vectors with their lengths."""
    lengths = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        some = matrix[start : start + _ROWS_AT_ONCE].astype(np.float32)
        lengths[start : start + _ROWS_AT_ONCE] = np.sqrt(np.einsum("nd,nd->n", some, some))
    return Rows(np.array(places, np.int64), matrix, np.maximum(lengths, 1))


def _still(rows: Rows, places: NDArray[np.int64]) -> Rows:
    """Return the rows that are still among the stored places."""
    there = np.isin(rows.places, places)
    return rows if there.all() else Rows(rows.places[there], rows.matrix[there], rows.lengths[there])


def _joined(old: Rows, new: Rows) -> Rows:
    return Rows(
        np.concatenate([old.places, new.places]),
        np.concatenate([old.matrix, new.matrix]),
        np.concatenate([old.lengths, new.lengths]),
    )


def _largest(numbers: Array, limit: int) -> NDArray[np.intp]:
    """Return the indexes of the largest numbers, unordered; a full sort takes ten times as long."""
    if limit >= len(numbers):
        return np.arange(len(numbers))
    return np.argpartition(numbers, len(numbers) - limit)[len(numbers) - limit :]
