"""LanceDB's index of the vectors of a kind, if there are many; the extra `index` installs LanceDB.

The index is built from the vectors in SQLite, in a separate process so that its memory is freed, and rebuilt
when many have been added. It returns places in `vectors`; `nearest` compares the vectors written since.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claude_mem_lite import config
from claude_mem_lite.installed import with_extras
from claude_mem_lite.kinds import KINDS
from claude_mem_lite.search import memory
from claude_mem_lite.search.vectors import FOLDER, Vectors, VectorsError, discard_indexes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from claude_mem_lite.kinds import Kind
    from claude_mem_lite.search.vectors import Version

log = logging.getLogger(__name__)

# Comparing this many vectors of MiniLM takes 6 ms and 39 MB, three times as many 25 ms and 118 MB.
# LanceDB takes 130 MB before it has read any.
INDEX_FROM_ROWS = 100_000
_NEW_SHARE = 5  # an index is rebuilt when a fifth of the limit was written since
_ROWS_PER_WRITE = 5_000
_SPARE = 2  # factor for results: the index compares roughly, then `nearest` exactly
_CACHE_BYTES, _METADATA_BYTES = 256 << 20, 16 << 20  # the index of 100,000 vectors has 140 MB


@dataclass(frozen=True, slots=True)
class Index:
    """The index of the rows of a kind up to the place `covered`."""

    table: Any
    covered: int

    def nearest(self, vector: np.ndarray, *, limit: int, project_dir: str | None) -> list[int]:
        """Return the places of the nearest rows of a project (None: of all), up to twice `limit`.

        Raises: VectorsError.
        """
        with _said("search the vectors"):
            query = self.table.search(vector, vector_column_name="vector").distance_type("cosine")
            if project_dir:
                query = query.where("project_dir = '" + project_dir.replace("'", "''") + "'", prefilter=True)
            found = query.select(["written", "_distance"]).limit(limit * _SPARE).to_arrow()
            return list(found["written"].to_pylist())


def find(vectors: Vectors, kind: Kind, version: Version, *, known: Index | None = None) -> Index | None:
    """Return the newest index of a kind's vectors, `known` if it is that one, or None if there is none.

    Raises: VectorsError.
    """
    covered = max(_covered(vectors, kind, version), default=0)
    if not covered or not is_installed():
        return None
    if known and known.covered == covered:
        return known
    with _said("open the index"):
        database = _database(config.lance_dir())
        return Index(database.open_table(_name(vectors, kind, version, covered)), covered)


def optimize(vectors: Vectors) -> None:
    """Build an index of each kind with many vectors and no recent index. Raises: VectorsError."""
    version = vectors.version()
    if version is None:
        return
    if not is_installed():
        if advice := missing(vectors):
            log.info(advice)
        return
    for kind in KINDS:
        if vectors.count(kind) > INDEX_FROM_ROWS:
            last = max(_covered(vectors, kind, version), default=0)
            if not last or (vectors.places(kind, None) > last).sum() > INDEX_FROM_ROWS // _NEW_SHARE:
                command = [sys.executable, "-I", "-m", __name__, vectors.key, str(vectors.dimension), kind]
                if subprocess.run(command, check=False).returncode:
                    log.warning("no vector index was built: searches compare all vectors")


def missing(vectors: Vectors) -> str:
    """Return what to install if there are many vectors and no LanceDB, else "".

    Raises: VectorsError.
    """
    most = 0 if is_installed() else max(map(vectors.count, KINDS))
    if most <= INDEX_FROM_ROWS:
        return ""
    how = with_extras("index")
    return f"{most:,} vectors are compared one by one; to index them, {how}"


def build(vectors: Vectors, kind: Kind) -> None:
    """Build an index of all rows of a kind and delete the kind's older ones. Raises: VectorsError."""
    import pyarrow as pa
    from lancedb.index import Bitmap, HnswSq

    from claude_mem_lite.search.embedder.interface import unit_length

    version = vectors.version()
    if version is None or not (covered := int(vectors.places(kind, None)[-1])):
        return
    vector = pa.list_(pa.float32(), vectors.dimension)
    schema = pa.schema([("written", pa.int64()), ("project_dir", pa.string()), ("vector", vector)])
    name = _name(vectors, kind, version, covered)
    # The table is built elsewhere and then moved, so that `find` never sees an incomplete one.
    with _said("make the index"), tempfile.TemporaryDirectory(dir=config.lance_dir()) as folder:
        table = _database(folder).create_table(name, schema=schema)
        place = 0
        while place < covered:
            places, projects, matrix = vectors.after(place, kind, None, limit=_ROWS_PER_WRITE)
            flat = pa.array(unit_length(matrix).reshape(-1))
            columns = [places, projects, pa.FixedSizeListArray.from_arrays(flat, vectors.dimension)]
            table.add(pa.table(columns, schema=schema))
            place = places[-1] if places else covered
        table.create_index("project_dir", config=Bitmap())
        table.create_index("vector", config=HnswSq(distance_type="cosine"))
        os.rename(os.path.join(folder, name + FOLDER), os.path.join(config.lance_dir(), name + FOLDER))
    discard_indexes(f"{kind}-", spare=name)


def is_installed() -> bool:
    """Tell whether LanceDB can be imported."""
    return importlib.util.find_spec("lancedb") is not None


def _covered(vectors: Vectors, kind: Kind, version: Version) -> list[int]:
    """Return the last place that each index of a kind covers."""
    begin, _, end = _name(vectors, kind, version, 0).partition("-0-")
    names = (re.fullmatch(rf"{begin}-(\d+)-{end}{re.escape(FOLDER)}", name) for name in _names())
    return [int(name[1]) for name in names if name]


def _names() -> list[str]:
    try:
        return os.listdir(config.lance_dir())
    except FileNotFoundError:
        return []


def _name(vectors: Vectors, kind: Kind, version: Version, covered: int) -> str:
    suffix = re.sub(r"[^A-Za-z0-9]+", "_", vectors.key)
    return f"{kind}-{version[0]}-{covered}-{suffix}"


def _database(folder: str) -> Any:
    # Set before the import: otherwise each query without a score column logs a line to stderr.
    os.environ.setdefault("LANCEDB_LOG", "error")
    memory.hold_down()
    import lancedb

    session = lancedb.Session(index_cache_size_bytes=_CACHE_BYTES, metadata_cache_size_bytes=_METADATA_BYTES)
    return lancedb.connect(folder, session=session)


@contextlib.contextmanager
def _said(what: str) -> Iterator[None]:
    """Convert any exception of LanceDB, which has no base class for them, to a VectorsError of one line."""
    try:
        yield
    except (RuntimeError, ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        line = str(error).split("\n", 1)[0][:200]
        raise VectorsError(f"LanceDB could not {what} ({type(error).__name__}: {line})") from error


if __name__ == "__main__":
    build(Vectors(sys.argv[1], int(sys.argv[2])), sys.argv[3])  # type: ignore[arg-type]
