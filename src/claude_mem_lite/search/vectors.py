"""The vectors in LanceDB, one table a kind and a model: written by the consumer, read by the web process.

SQLite is the truth: whatever is missing or broken here is made anew from it. What a vector means is
`embedder`'s business.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import shutil
from typing import TYPE_CHECKING, Any, Literal

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import numpy as np

Kind = Literal["observation", "session", "learning", "function"]
KINDS: tuple[Kind, ...] = ("observation", "session", "learning", "function")

# Up to here looking at every vector is as fast as an index, and exact; source: LanceDB 0.40, measured.
INDEX_FROM_ROWS = 20_000
_ROWS_PER_WRITE = 500
# Versions that a reader of the other process may still have open.
_KEEP_VERSIONS = dt.timedelta(seconds=10)
_READ_CONSISTENCY = dt.timedelta(seconds=1)
_INDEX_CACHE_BYTES, _METADATA_CACHE_BYTES = 64 << 20, 32 << 20


class VectorsError(ClaudeMemError):
    """LanceDB could not do what it was asked; full text goes on."""


class Vectors:
    """The tables of one model (`key`, its name with its dimension); the import costs 0.7 s and 130 MB."""

    def __init__(self, key: str, dimension: int) -> None:
        # Before its import: every query without a score in its columns would be a line on stderr.
        os.environ.setdefault("LANCEDB_LOG", "error")
        import lancedb

        self._dimension = dimension
        self._suffix = re.sub(r"[^A-Za-z0-9]+", "_", key)
        with _said(f"open {config.lance_dir()}"):
            self._database: Any = lancedb.connect(
                config.lance_dir(),
                read_consistency_interval=_READ_CONSISTENCY,
                session=lancedb.Session(
                    index_cache_size_bytes=_INDEX_CACHE_BYTES, metadata_cache_size_bytes=_METADATA_CACHE_BYTES
                ),
            )
        self._tables: dict[Kind, Any] = {}

    def write(self, kind: Kind, rows: Sequence[tuple[str, str, np.ndarray]]) -> None:
        """Insert or replace (id, project_dir, vector) rows; vectors are float32 of unit length."""
        import pyarrow as pa

        for start in range(0, len(rows), _ROWS_PER_WRITE):
            some = rows[start : start + _ROWS_PER_WRITE]
            ids, projects, vectors = zip(*some, strict=True)
            flat = pa.array([float(number) for vector in vectors for number in vector], pa.float32())
            data = pa.table(
                [ids, projects, pa.FixedSizeListArray.from_arrays(flat, self._dimension)],
                schema=self._schema(),
            )
            with _said(f"write {len(some)} vectors"):
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
    ) -> list[tuple[str, float]]:
        """Return the nearest rows of a project (None: of all), best first, as (id, cosine)."""
        if ids is not None and not ids:
            return []
        with _said("search the vectors"):
            table = self._table(kind)
            if table is None:
                return []
            query = table.search(vector, vector_column_name="vector").distance_type("cosine")
            conditions = [f"project_dir = {_quoted(project_dir)}"] if project_dir else []
            if ids is not None:
                conditions.append(f"id IN ({', '.join(map(_quoted, sorted(ids)))})")
            if conditions:
                query = query.where(" AND ".join(conditions), prefilter=True)
            found = query.select(["id", "_distance"]).limit(limit).to_list()
        return [(row["id"], 1.0 - row["_distance"]) for row in found]

    def of_rows(self, kind: Kind, ids: Collection[str]) -> dict[str, list[float]]:
        """Return the vectors of some rows; one that has none is left out."""
        return self._read(kind, f"id IN ({', '.join(map(_quoted, sorted(ids)))})", len(ids)) if ids else {}

    def some(self, kind: Kind, project_dir: str | None, *, limit: int) -> list[list[float]]:
        """Return vectors of a project (None: of all), whichever are read first."""
        where = f"project_dir = {_quoted(project_dir)}" if project_dir else None
        return list(self._read(kind, where, limit).values())

    def _read(self, kind: Kind, where: str | None, limit: int) -> dict[str, list[float]]:
        with _said("read vectors"):
            table = self._table(kind)
            if table is None:
                return {}
            query = table.search().select(["id", "vector"]).limit(limit)
            found = (query.where(where) if where else query).to_list()
        return {row["id"]: row["vector"] for row in found}

    def delete(self, kind: Kind, ids: Collection[str]) -> None:
        """Delete rows; unknown ids are nothing."""
        with _said("delete vectors"):
            table = self._table(kind)
            if table is not None and ids:
                table.delete(f"id IN ({', '.join(map(_quoted, sorted(ids)))})")

    def count(self, kind: Kind) -> int:
        """Return how many vectors of a kind there are."""
        with _said("count the vectors"):
            table = self._table(kind)
            return int(table.count_rows()) if table is not None else 0

    def optimize(self) -> None:
        """Merge small files, bring the indexes up to date, and drop old versions.

        Without it the folder grows with the square of the writes.
        """
        from lancedb.index import Bitmap, HnswSq

        for kind in KINDS:
            with _said("optimize the vectors"):
                table = self._table(kind)
                if table is None:
                    continue
                indexed = {column for index in table.list_indices() for column in index.columns}
                if "project_dir" not in indexed and table.count_rows():
                    table.create_index("project_dir", config=Bitmap())
                if "vector" not in indexed and table.count_rows() >= INDEX_FROM_ROWS:
                    table.create_index("vector", config=HnswSq(distance_type="cosine"))
                table.optimize(cleanup_older_than=_KEEP_VERSIONS)

    def drop_others(self) -> None:
        """Drop the tables of every other model."""
        with _said("drop another model's vectors"):
            for name in self._names():
                if not name.endswith(f"-{self._suffix}"):
                    self._database.drop_table(name)

    def _table(self, kind: Kind, *, create: bool = False) -> Any:
        name = f"{kind}-{self._suffix}"
        if kind not in self._tables and name in self._names():
            self._tables[kind] = self._database.open_table(name)
        if kind not in self._tables and create:
            self._tables[kind] = self._database.create_table(name, schema=self._schema())
        return self._tables.get(kind)

    def _names(self) -> list[str]:
        return list(self._database.list_tables(limit=1_000).tables)

    def _schema(self) -> Any:
        import pyarrow as pa

        vector = pa.list_(pa.float32(), self._dimension)
        return pa.schema([("id", pa.string()), ("project_dir", pa.string()), ("vector", vector)])


def discard() -> None:
    """Delete all vectors of all models: who finds them broken makes them anew from SQLite."""
    shutil.rmtree(config.lance_dir(), ignore_errors=True)


@contextlib.contextmanager
def _said(what: str) -> Iterator[None]:
    """Turn whatever LanceDB raises into one line of ours; it has no error base of its own."""
    try:
        yield
    except (RuntimeError, ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        line = str(error).split("\n", 1)[0][:200]
        raise VectorsError(f"LanceDB could not {what} ({type(error).__name__}: {line})") from error


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
