"""Store vectors in one SQLite file beside the memory, for the web process to read.

Everything here is derived: missing or broken vectors are computed again from the memory. `embedder` computes
vectors, `nearest` finds the nearest ones. Each call opens the file again, because it may be deleted at any
time. numpy is loaded only if there are vectors.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import operator
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage.files import connect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from claude_mem_lite.kinds import Kind

    Floats = NDArray[np.float32]

# When the file was created, and a counter of its changes, which begins at 0 again in a new file.
Version = tuple[int, int]

_SCHEMA = """
CREATE TABLE state (made_at INTEGER NOT NULL, changes INTEGER NOT NULL);
CREATE TABLE vectors (
    written INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with each write
    model TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    project_dir TEXT NOT NULL,
    digest TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (model, kind, id)
);
CREATE INDEX vectors_of_a_project ON vectors (model, kind, project_dir);
"""
FOLDER = ".lance"  # suffix of LanceDB's table folders; see `lance`
_IDS_PER_READ = 500
_LARGEST = 127
_WAIT_S = 10.0
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class VectorsError(ClaudeMemError):
    """The vectors could not be read or written; search continues with full text."""


class BusyError(VectorsError):
    """Another process has the vectors locked; they are not broken."""


class Vectors:
    """The vectors of one model; `key` is its name with its dimension.

    A vector is stored as integers from -127 to 127, which keep only its direction. This takes a quarter of
    the space and turns a vector by a thousandth of a right angle at most, which changes no ranking.
    """

    def __init__(self, key: str, dimension: int) -> None:
        self.key, self.dimension = key, dimension

    def write(self, kind: Kind, rows: Sequence[tuple[str, str, str, Floats]]) -> None:
        """Insert or replace (id, project_dir, text, vector) rows; vectors are float32 of any length."""
        import numpy as np

        if rows:
            kept = rounded(np.array([vector for *_, vector in rows]))
            self.write_rounded(
                kind, [(*row[:3], vector.tobytes()) for row, vector in zip(rows, kept, strict=True)]
            )

    def write_rounded(self, kind: Kind, rows: Sequence[tuple[str, str, str, bytes]]) -> None:
        """Insert or replace (id, project_dir, text, vector) rows; vectors are bytes of `rounded` ones."""
        with _open(f"write {len(rows)} vectors", create=True) as file:
            file.execute("BEGIN IMMEDIATE")
            file.executemany(
                "INSERT OR REPLACE INTO vectors (model, kind, id, project_dir, digest, vector)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (self.key, kind, row_id, project_dir, digest(text), vector)
                    for row_id, project_dir, text, vector in rows
                ),
            )
            _commit(file)

    def cosines(self, kind: Kind, vector: bytes, ids: Collection[str]) -> dict[str, float]:
        """Return the cosines (-1 to 1) of a rounded vector and those of some rows, without numpy."""
        found = {}
        for row_id, other in self._by("id", sorted(ids), kind, None):
            one, two = memoryview(vector).cast("b"), memoryview(other).cast("b")
            length = math.sqrt(_product(one, one) * _product(two, two))
            found[row_id] = _product(one, two) / max(length, 1)
        return found

    def of_rows(
        self, kind: Kind, ids: Collection[str], *, project_dir: str | None = None
    ) -> dict[str, Floats]:
        """Return some rows' vectors, (dim,) of unit length, by id; rows without one are left out."""
        return self._units(self._by("id", sorted(ids), kind, project_dir))

    def at(self, kind: Kind, places: Collection[int]) -> dict[str, Floats]:
        """Return the vectors at some places by id, as `of_rows` does; a rewritten row has a new place."""
        return self._units(self._by("written", sorted(map(int, places)), kind, None))

    def places(self, kind: Kind, project_dir: str | None) -> NDArray[np.int64]:
        """Return the places of a project's rows (None: of all), ascending, so in order of writing."""
        import numpy as np

        where, values = self._scope(kind, project_dir)
        with _open("read the vectors") as file:
            found = file.execute(f"SELECT written FROM vectors WHERE {where}", values)
            return np.sort(np.fromiter((written for (written,) in found), np.int64))

    def after(
        self, place: int, kind: Kind, project_dir: str | None, *, limit: int = -1
    ) -> tuple[list[int], list[str], NDArray[np.int8]]:
        """Return places, projects and vectors, (n, dim) int8, of a project's rows written after a place.

        They are in the order of writing; `project_dir` None stands for all projects.
        """
        where, values = self._scope(kind, project_dir)
        index = "INDEXED BY vectors_of_a_project" if project_dir else "NOT INDEXED"
        with _open("read the vectors") as file:
            rows = file.execute(
                f"SELECT written, project_dir, vector FROM vectors {index} WHERE {where} AND written > ?"
                " ORDER BY written LIMIT ?",
                (*values, place, limit),
            )
            places, projects, flat = [], [], bytearray()  # a list of rows would need twice the memory
            for written, project, vector in rows:
                places.append(written)
                projects.append(sys.intern(project))
                flat += vector
        return places, projects, self._matrix(flat, len(places))

    def digests(self, kind: Kind) -> dict[str, str]:
        """Return the digest of each embedded text (see `digest`), by id."""
        where, values = self._scope(kind, None)
        with _open("read the vectors") as file:
            return dict(file.execute(f"SELECT id, digest FROM vectors WHERE {where}", values))

    def version(self) -> Version | None:
        """Return a version that changes with every write, None while there is no file."""
        if not os.path.exists(path()):
            return None
        with _open("open the vectors") as file:
            made_at, changes = file.execute("SELECT made_at, changes FROM state").fetchone()
            return int(made_at), int(changes)

    def count(self, kind: Kind) -> int:
        """Return the number of vectors of a kind."""
        where, values = self._scope(kind, None)
        with _open("count the vectors") as file:
            return int(file.execute(f"SELECT count(*) FROM vectors WHERE {where}", values).fetchone()[0])

    def delete(self, kind: Kind, ids: Collection[str]) -> None:
        """Delete rows; unknown ids are ignored."""
        _delete("model = ? AND kind = ? AND id = ?", [(self.key, kind, row_id) for row_id in sorted(ids)])

    def drop_others(self, *, spare: str = "") -> None:
        """Delete the vectors of all models but this one and the one with the key `spare`."""
        _delete("model NOT IN (?, ?)", [(self.key, spare)])
        with _open("shrink the vectors") as file:
            file.execute("VACUUM")

    def _scope(self, kind: Kind, project_dir: str | None) -> tuple[str, tuple[str, ...]]:
        if project_dir:
            return "model = ? AND kind = ? AND project_dir = ?", (self.key, kind, project_dir)
        return "model = ? AND kind = ?", (self.key, kind)

    def _by(
        self, name: str, wanted: Sequence[str] | Sequence[int], kind: Kind, project_dir: str | None
    ) -> list[tuple[str, bytes]]:
        """Return ids and vectors of a project's rows (None: of all) with a wanted value in column `name`."""
        found: list[tuple[str, bytes]] = []
        if not wanted:
            return found
        where, values = self._scope(kind, project_dir)
        # With its own choice of index, SQLite reads all rows of the project or of the kind.
        where = where.replace("project_dir", "+project_dir")
        index = "NOT INDEXED" if name == "written" else ""
        with _open("read vectors") as file:
            for start in range(0, len(wanted), _IDS_PER_READ):
                some = wanted[start : start + _IDS_PER_READ]
                marks = ", ".join("?" * len(some))
                query = f"SELECT id, vector FROM vectors {index} WHERE {where} AND {name} IN ({marks})"
                found += file.execute(query, (*values, *some))
        return found

    def _units(self, rows: Sequence[tuple[str, bytes]]) -> dict[str, Floats]:
        from claude_mem_lite.search.embedder.interface import unit_length

        matrix = self._matrix(b"".join(vector for _, vector in rows), len(rows))
        return dict(zip([row_id for row_id, _ in rows], unit_length(matrix), strict=True))

    def _matrix(self, flat: bytes | bytearray, count: int) -> NDArray[np.int8]:
        """Return `count` concatenated vectors as a matrix: (count, dim) int8."""
        import numpy as np

        if len(flat) != count * self.dimension:
            raise VectorsError(f"the vectors in {path()} are not of {self.dimension} dimensions")
        return np.frombuffer(flat, np.int8).reshape(-1, self.dimension)


def rounded(vectors: Floats) -> NDArray[np.int8]:
    """Return vectors as integers, scaled so that the largest of each is 127: (n, dim) int8."""
    import numpy as np

    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    kept: NDArray[np.int8] = np.rint(vectors * (_LARGEST / largest)).astype(np.int8)
    return kept


def _product(one: memoryview, other: memoryview) -> int:
    return sum(map(operator.mul, one, other))


def forget(ids: Mapping[Kind, Collection[str]]) -> None:
    """Delete rows of all models with their bytes, and all indexes. Raises: VectorsError."""
    if any(ids.values()):
        discard_indexes()
    _delete("kind = ? AND id = ?", [(kind, row_id) for kind, some in ids.items() for row_id in sorted(some)])


def digest(text: str) -> str:
    """Return the digest of a text that tells whether a vector belongs to it."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def models() -> set[str]:
    """Return the keys of the models that have vectors. Raises: VectorsError."""
    found: set[str] = set()
    with _open("read the vectors") as file:
        last = ""
        # One index lookup per model, instead of reading each row.
        while row := file.execute("SELECT min(model) FROM vectors WHERE model > ?", (last,)).fetchone()[0]:
            found.add(last := row)
    return found


def path() -> str:
    """Return the path of the vectors' file."""
    return os.path.join(config.lance_dir(), "vectors.db")


def discard() -> None:
    """Delete all vectors of all models, to be computed again from the memory."""
    shutil.rmtree(config.lance_dir(), ignore_errors=True)


def discard_indexes(begin: str = "", *, spare: str = "") -> None:
    """Delete LanceDB's indexes whose names start with `begin`, except `spare`; they can be rebuilt."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(config.lance_dir()):
            if name.startswith(begin) and name.endswith(FOLDER) and name != spare + FOLDER:
                shutil.rmtree(os.path.join(config.lance_dir(), name), ignore_errors=True)


def has_room() -> bool:
    """Tell whether the vectors' disk has room for a megabyte; if not, an error does not mean damage."""
    try:
        os.makedirs(config.lance_dir(), exist_ok=True)
        with tempfile.TemporaryFile(dir=config.lance_dir(), buffering=0) as file:
            return file.write(bytes(1 << 20)) == 1 << 20
    except OSError:
        return False


def _delete(where: str, values: Sequence[tuple[str, ...]]) -> None:
    if not values or not os.path.exists(path()):
        return
    with _open("delete vectors") as file:
        file.execute("BEGIN IMMEDIATE")
        file.executemany(f"DELETE FROM vectors WHERE {where}", values)
        _commit(file)


def _commit(file: sqlite3.Connection) -> None:
    file.execute("UPDATE state SET changes = changes + 1")
    file.execute("COMMIT")


@contextlib.contextmanager
def _open(what: str, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file for one call, or an empty database if there is none; failures become VectorsError."""
    try:
        if create:
            os.makedirs(config.lance_dir(), mode=0o700, exist_ok=True)
        is_there = os.path.exists(path())
        with contextlib.closing(
            connect(path(), mode="rwc" if create else "rw", timeout_s=_WAIT_S)
            if create or is_there
            else sqlite3.connect(":memory:", isolation_level=None)
        ) as file:
            # A power failure may lose vectors, which are computed again. Deleted bytes are overwritten.
            file.execute("PRAGMA synchronous = OFF")
            file.execute("PRAGMA secure_delete = ON")
            _create(file)
            yield file
    except sqlite3.OperationalError as error:
        kind = BusyError if error.sqlite_errorcode in _BUSY else VectorsError
        raise kind(f"SQLite could not {what} in {path()} ({error})") from error
    except (sqlite3.Error, OSError, TypeError, ValueError) as error:
        raise VectorsError(f"SQLite could not {what} in {path()} ({error})") from error


def _create(file: sqlite3.Connection) -> None:
    """Create the tables if they are missing: a writer may have just created the file, or died doing so."""
    tables = "SELECT count(*) FROM sqlite_master"
    if file.execute(tables).fetchone()[0]:
        return
    file.execute("BEGIN IMMEDIATE")
    if not file.execute(tables).fetchone()[0]:
        for statement in _SCHEMA.split(";\n"):
            file.execute(statement)
        file.execute("INSERT INTO state VALUES (?, 0)", (time.time_ns(),))
    file.execute("COMMIT")
