"""Store vectors in LanceDB, one table a kind and a model, for the web process to read.

SQLite is the truth: whatever is missing or broken here is made anew from it. What a vector means is
`embedder`'s business.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import os
import re
import shutil
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.kinds import KINDS, Kind
from claude_mem_lite.search import memory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

# When the table was made, and a number that grows with each write: one made anew begins at 1 again.
Version = tuple[bytes, int]
_MADE_AT = b"made_at"

# Up to here looking at every vector is as fast as an index, and exact; source: LanceDB 0.40, measured.
INDEX_FROM_ROWS = 20_000
_ROWS_PER_WRITE = 500
_FOLDER = ".lance"  # what LanceDB puts behind a table's name
# Versions that a reader of the other process may still have open.
_KEEP_VERSIONS = dt.timedelta(seconds=10)
_READ_CONSISTENCY = dt.timedelta(seconds=1)
# The index of 100,000 vectors has 140 MB; one that does not fit is read again by every search.
_INDEX_CACHE_BYTES, _METADATA_CACHE_BYTES = 256 << 20, 16 << 20


class VectorsError(ClaudeMemError):
    """LanceDB could not do what it was asked; full text goes on."""


class Vectors:
    """The tables of one model (`key`, its name with its dimension); the import costs 0.7 s and 130 MB."""

    def __init__(self, key: str, dimension: int) -> None:
        # Before its import: every query without a score in its columns would be a line on stderr.
        os.environ.setdefault("LANCEDB_LOG", "error")
        memory.hold_down()
        import lancedb

        self._dimension = dimension
        self._suffix = _suffix(key)
        with _said(f"open {config.lance_dir()}"):
            self._database: Any = lancedb.connect(
                config.lance_dir(),
                read_consistency_interval=_READ_CONSISTENCY,
                session=lancedb.Session(
                    index_cache_size_bytes=_INDEX_CACHE_BYTES, metadata_cache_size_bytes=_METADATA_CACHE_BYTES
                ),
            )
        self._tables: dict[Kind, Any] = {}
        self._written_at: dict[Kind, int] = {}

    def write(self, kind: Kind, rows: Sequence[tuple[str, str, str, np.ndarray]]) -> None:
        """Insert or replace (id, project_dir, text, vector) rows; vectors are float32 of unit length."""
        import pyarrow as pa

        for start in range(0, len(rows), _ROWS_PER_WRITE):
            some = rows[start : start + _ROWS_PER_WRITE]
            ids, projects, texts, vectors = zip(*some, strict=True)
            flat = pa.array(np.concatenate(vectors).astype(np.float32))
            with _said(f"write {len(some)} vectors"):
                data = pa.table(
                    [
                        ids,
                        projects,
                        list(map(digest, texts)),
                        pa.FixedSizeListArray.from_arrays(flat, self._dimension),
                        [self._now(kind)] * len(some),
                    ],
                    schema=self._schema(),
                )
                merge = self._table(kind, create=True).merge_insert("id")
                merge.when_matched_update_all().when_not_matched_insert_all().execute(data)

    def nearest(
        self,
        kind: Kind,
        vector: np.ndarray,
        *,
        limit: int,
        project_dir: str | None = None,
        ids: Collection[str] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the vectors of the rows of a project (None: of all) nearest to one, by id, best first."""
        if ids is not None and not ids:
            return {}
        with _said("search the vectors"):
            table = self._table(kind)
            if table is None:
                return {}
            query = table.search(vector, vector_column_name="vector").distance_type("cosine")
            conditions = _of(project_dir)
            if ids is not None:
                conditions.append(f"id IN ({', '.join(map(_quoted, sorted(ids)))})")
            if conditions:
                query = query.where(" AND ".join(conditions), prefilter=True)
            return self._by_id(query.select(["id", "vector", "_distance"]).limit(limit))

    def of_rows(self, kind: Kind, ids: Collection[str]) -> dict[str, np.ndarray]:
        """Return the vectors of some rows; one that has none is left out."""
        return self._read(kind, f"id IN ({', '.join(map(_quoted, sorted(ids)))})", len(ids)) if ids else {}

    def of_project(
        self, kind: Kind, project_dir: str | None, *, after: int = 0, limit: int | None = None
    ) -> tuple[list[str], np.ndarray, int]:
        """Return ids, vectors (n, dim) and the latest `written_at` of a project's rows (None: of all).

        `after`: those written later alone.
        """
        with _said("read the vectors"):
            query = self._table(kind).search().select(["id", "vector", "written_at"])
            conditions = [*_of(project_dir), *([f"written_at > {after}"] if after else [])]
            if conditions:
                query = query.where(" AND ".join(conditions))
            table = (query.limit(limit) if limit else query).to_arrow().combine_chunks()
            return (
                table["id"].to_pylist(),
                self._matrix(table),
                max(table["written_at"].to_pylist(), default=0),
            )

    def digests(self, kind: Kind) -> dict[str, str]:
        """Return of which text each row's vector is (see `digest`), by id."""
        with _said("read the vectors"):
            table = self._table(kind)
            if table is None:
                return {}
            found = table.search().select(["id", "digest"]).to_arrow()
            return dict(zip(found["id"].to_pylist(), found["digest"].to_pylist(), strict=True))

    def version(self, kind: Kind) -> Version | None:
        """Return what changes with every write, None while there is no table."""
        with _said("open the vectors"):
            table = self._table(kind)
            if table is None:
                return None
            made = (table.schema.metadata or {}).get(_MADE_AT, b"")
            return made, int(table.version)

    def _read(self, kind: Kind, where: str, limit: int) -> dict[str, np.ndarray]:
        with _said("read vectors"):
            table = self._table(kind)
            if table is None:
                return {}
            return self._by_id(table.search().select(["id", "vector"]).where(where).limit(limit))

    def _by_id(self, query: Any) -> dict[str, np.ndarray]:
        """Return the vectors by id, in the order found, without a Python number for each of theirs."""
        table = query.to_arrow().combine_chunks()
        return dict(zip(table["id"].to_pylist(), self._matrix(table), strict=True))

    def _matrix(self, table: Any) -> np.ndarray:
        flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        matrix: np.ndarray = flat.reshape(-1, self._dimension)
        return matrix

    def delete(self, kind: Kind, ids: Collection[str]) -> None:
        """Delete rows; unknown ids are nothing."""
        with _said("delete vectors"):
            table = self._table(kind)
            if table is not None and ids:
                table.delete(f"id IN ({', '.join(map(_quoted, sorted(ids)))})")

    def count(self, kind: Kind, project_dir: str | None = None) -> int:
        """Return how many vectors of a kind a project has (None: all together)."""
        with _said("count the vectors"):
            table = self._table(kind)
            return int(table.count_rows(*_of(project_dir))) if table is not None else 0

    def optimize(self) -> None:
        """Merge small files, bring the indexes up to date, and drop old versions.

        Without it the folder grows with the square of the writes.
        """
        from lancedb.index import Bitmap, BTree, HnswSq

        for kind in KINDS:
            with _said("optimize the vectors"):
                table = self._table(kind)
                if table is None:
                    continue
                indexed = {column for index in table.list_indices() for column in index.columns}
                if "project_dir" not in indexed and table.count_rows():
                    table.create_index("project_dir", config=Bitmap())
                if "vector" not in indexed and table.count_rows() >= INDEX_FROM_ROWS:
                    table.create_index("id", config=BTree())
                    table.create_index("vector", config=HnswSq(distance_type="cosine"))
                table.optimize(cleanup_older_than=_KEEP_VERSIONS)
        memory.give_back()

    def drop_others(self, *, spare: str = "") -> None:
        """Drop the tables of every other model, but not those of the model with the key `spare`."""
        with _said("drop another model's vectors"):
            for name in self._names():
                if not _is_of(name, self._suffix, spare):
                    self._database.drop_table(name)

    def _now(self, kind: Kind) -> int:
        """Return a time in nanoseconds later than that of every write so far, whatever the clock says."""
        table = self._table(kind, create=True)
        if kind not in self._written_at:
            times = table.search().select(["written_at"]).to_arrow()["written_at"].to_pylist()
            self._written_at[kind] = max(times, default=0)
        self._written_at[kind] = max(self._written_at[kind] + 1, time.time_ns())
        return self._written_at[kind]

    def _table(self, kind: Kind, *, create: bool = False) -> Any:
        name = f"{kind}-{self._suffix}"
        if kind not in self._tables and name in self._names():
            self._tables[kind] = self._database.open_table(name)
        if kind not in self._tables and create:
            schema = self._schema().with_metadata({_MADE_AT: str(time.time_ns())})
            self._tables[kind] = self._database.create_table(name, schema=schema)
        return self._tables.get(kind)

    def _names(self) -> list[str]:
        return list(self._database.list_tables(limit=1_000).tables)

    def _schema(self) -> Any:
        import pyarrow as pa

        vector = pa.list_(pa.float32(), self._dimension)
        return pa.schema([
            ("id", pa.string()), ("project_dir", pa.string()), ("digest", pa.string()), ("vector", vector),
            ("written_at", pa.int64()),
        ])  # fmt: skip


def forget(ids: Mapping[Kind, Collection[str]]) -> None:
    """Write the tables of all models anew without some rows: not even an old version has them any more.

    Nobody else may have the tables open. Raises: VectorsError.
    """
    if not any(ids.values()) or not _tables():
        return
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb
    import pyarrow as pa
    import pyarrow.compute

    with _said("forget vectors"):
        database: Any = lancedb.connect(config.lance_dir())
        for name in list(database.list_tables(limit=1_000).tables):
            gone = next((each for kind, each in ids.items() if name.startswith(f"{kind}-")), ())
            if gone:
                rows = database.open_table(name).to_arrow()
                is_gone = pa.compute.is_in(rows["id"], value_set=pa.array(sorted(gone), pa.string()))
                rows = rows.filter(pa.compute.invert(is_gone))
                database.drop_table(name)
                schema = rows.schema.with_metadata({_MADE_AT: str(time.time_ns())})
                table = database.create_table(name, schema=schema)
                if len(rows):
                    table.add(rows)


def digest(text: str) -> str:
    """Return what tells whether a vector is of this text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def has_others(key: str, *, spare: str = "") -> bool:
    """Tell whether `drop_others` would drop anything, without loading LanceDB."""
    return not all(_is_of(table, key, spare) for table in _tables())


def is_gone(key: str) -> bool:
    """Tell whether a model has no table at all, without loading LanceDB."""
    return not any(_is_of(table, key) for table in _tables())


def _tables() -> list[str]:
    try:
        names = os.listdir(config.lance_dir())
    except FileNotFoundError:
        return []
    return [name.removesuffix(_FOLDER) for name in names if name.endswith(_FOLDER)]


def discard() -> None:
    """Delete all vectors of all models: who finds them broken makes them anew from SQLite."""
    shutil.rmtree(config.lance_dir(), ignore_errors=True)


def has_room() -> bool:
    """Tell whether the disk of the vectors takes another megabyte: if not, nothing need be broken."""
    try:
        os.makedirs(config.lance_dir(), exist_ok=True)
        with tempfile.TemporaryFile(dir=config.lance_dir(), buffering=0) as file:
            return file.write(bytes(1 << 20)) == 1 << 20
    except OSError:
        return False


@contextlib.contextmanager
def _said(what: str) -> Iterator[None]:
    """Turn whatever LanceDB raises into one line of ours; it has no error base of its own."""
    try:
        yield
    except (RuntimeError, ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        line = str(error).split("\n", 1)[0][:200]
        raise VectorsError(f"LanceDB could not {what} ({type(error).__name__}: {line})") from error


def _of(project_dir: str | None) -> list[str]:
    """Return the condition for a project's rows, if any."""
    return [f"project_dir = {_quoted(project_dir)}"] if project_dir else []


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _suffix(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", key)


def _is_of(table: str, *keys: str) -> bool:
    """Tell whether a table is one of some models'."""
    return table.endswith(tuple(f"-{_suffix(key)}" for key in keys if key))
