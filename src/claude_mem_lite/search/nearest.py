"""Find the nearest vectors: a project's in memory while they are few, else by LanceDB's index.

Reading a project's 10,000 vectors from LanceDB costs every search more than all the rest of it; comparing
them in memory less than a millisecond.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from claude_mem_lite.search.vectors import INDEX_FROM_ROWS, Vectors, Version

if TYPE_CHECKING:
    from collections.abc import Collection

    from claude_mem_lite.kinds import Kind

Array = NDArray[np.float32]

# The projects used last are kept up to so many bytes together: 130,000 vectors of MiniLM.
KEEP_BYTES = 192 << 20
LOOK_AGAIN_S = 1.0
_CENTRE_ROWS = 2_000


class View(Protocol):
    """The vectors of one kind in one project, or in all; `centre` (dim,) is their mean."""

    @property
    def centre(self) -> Array:
        """Return the mean of the vectors, or of 2,000 of them."""

    def nearest(self, vector: Array, *, limit: int, ids: Collection[str] | None = None) -> dict[str, Array]:
        """Return the nearest vectors by id, best first; those of `ids` alone when they are given."""

    def of_rows(self, ids: Collection[str]) -> dict[str, Array]:
        """Return the vectors of some rows; one that has none is left out."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """A copy of the table at `version`, with everything written up to `written_at`."""

    places: dict[str, int]
    names: list[str]
    matrix: Array
    centre: Array
    version: Version
    written_at: int

    def nearest(self, vector: Array, *, limit: int, ids: Collection[str] | None = None) -> dict[str, Array]:
        """See `View`."""
        names, matrix = self.names, self.matrix
        if ids is not None:
            names = [row_id for row_id in ids if row_id in self.places]
            matrix = matrix[[self.places[row_id] for row_id in names]]
        distant = -(matrix @ vector)  # all of length 1
        found = np.arange(len(names))
        if limit < len(names):  # a full sort takes ten times as long
            found = np.flatnonzero(distant <= np.partition(distant, limit)[limit])
        found = found[np.argsort(distant[found], kind="stable")][:limit]
        return {names[place]: matrix[place] for place in found}

    def of_rows(self, ids: Collection[str]) -> dict[str, Array]:
        """See `View`."""
        return {row_id: self.matrix[self.places[row_id]] for row_id in ids if row_id in self.places}


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What is too large to be copied: each call asks LanceDB."""

    vectors: Vectors
    kind: Kind
    project_dir: str | None
    centre: Array

    def nearest(self, vector: Array, *, limit: int, ids: Collection[str] | None = None) -> dict[str, Array]:
        """See `View`."""
        return self.vectors.nearest(self.kind, vector, limit=limit, project_dir=self.project_dir, ids=ids)

    def of_rows(self, ids: Collection[str]) -> dict[str, Array]:
        """See `View`."""
        return self.vectors.of_rows(self.kind, ids)


class Views:
    """The views of one model's vectors; every method may be called from any thread."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._kept: dict[tuple[Kind, str | None], InMemory | OnDisk] = {}  # those used last at the end
        self._versions: dict[Kind, Version | None] = {}
        self._looked_at: dict[Kind, float] = {}
        self._lock = threading.Lock()

    def get(self, kind: Kind, project_dir: str | None, *, now: float) -> View | None:
        """Return the vectors of a project (None: of all) as of the last second; None without any.

        Raises: VectorsError.
        """
        with self._lock:
            if now - self._looked_at.get(kind, -LOOK_AGAIN_S) >= LOOK_AGAIN_S:
                self._versions[kind] = self._vectors.version(kind)
                self._looked_at[kind] = now
            version = self._versions[kind]
            kept = self._kept.pop((kind, project_dir), None)
            if version is None:
                return None
            if not isinstance(kept, OnDisk) and (kept is None or kept.version != version):
                kept = self._read(kind, project_dir, version, kept)
            if kept is not None:
                self._kept[kind, project_dir] = kept
                self._make_room()
            return kept

    def _read(
        self, kind: Kind, project_dir: str | None, version: Version, kept: InMemory | None
    ) -> InMemory | OnDisk | None:
        """Return the view at a version, from what was written since the one that is kept."""
        if kept is None or version[0] != kept.version[0]:
            kept = None
            if self._vectors.count(kind, project_dir) > INDEX_FROM_ROWS:
                some = self._vectors.of_project(kind, project_dir, limit=_CENTRE_ROWS)[1]
                return OnDisk(self._vectors, kind, project_dir, some.mean(axis=0))
        after = kept.written_at if kept else 0
        ids, matrix, written_at = self._vectors.of_project(kind, project_dir, after=after)
        if kept:
            places, old = dict(kept.places), kept.matrix
            fresh = [row_id not in places for row_id in ids]
            places |= {row_id: len(old) + place for place, row_id in enumerate(np.array(ids)[fresh].tolist())}
            matrix_then = np.vstack([old, matrix[fresh]])
            matrix_then[[places[row_id] for row_id in ids]] = matrix
            matrix = matrix_then
        else:
            places = {row_id: place for place, row_id in enumerate(ids)}
        if not places:
            return None
        return InMemory(places, list(places), matrix, matrix.mean(axis=0), version, max(after, written_at))

    def _make_room(self) -> None:
        """Forget what was used longest ago, but never the last."""
        sizes = {key: kept.matrix.nbytes for key, kept in self._kept.items() if isinstance(kept, InMemory)}
        total = sum(sizes.values())
        for key, size in list(sizes.items())[:-1]:
            if total > KEEP_BYTES:
                del self._kept[key]
                total -= size
