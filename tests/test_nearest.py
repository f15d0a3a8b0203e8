"""The reader's copy of the vectors follows the writer's process and stays within its memory limit."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from claude_mem_lite.search import lance, nearest, vectors
from claude_mem_lite.search.nearest import View, Views
from claude_mem_lite.search.vectors import Vectors

KEY, DIMENSION = "tiny_8", 8
ROWS = 40
# The writer's process: takes rows "id project seed" as arguments and writes each one separately.
WRITER = """
import sys, numpy as np
from claude_mem_lite.search.vectors import Vectors
store = Vectors("tiny_8", 8)
for row in sys.argv[1:]:
    row_id, project, seed = row.split()
    vector = np.random.default_rng(int(seed)).normal(size=8).astype(np.float32)
    store.write("observation", [(row_id, project, seed, vector / np.linalg.norm(vector))])
"""

_SECONDS = itertools.count(step=2.0)


def look(views: Views, project_dir: str | None = "/p") -> View:
    """Return an up-to-date view: the clock advances, since views refresh at most once a second."""
    view = views.get("observation", project_dir, now=next(_SECONDS))
    assert view is not None
    return view


def vector(seed: int) -> np.ndarray:
    """Return the random unit vector of a seed, (8,) float32."""
    made = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    unit: np.ndarray = made / np.linalg.norm(made)
    return unit


def write(store: Vectors, *rows: tuple[str, str, int]) -> None:
    """Write (id, project, seed) rows in one write."""
    store.write("observation", [(row_id, project, str(seed), vector(seed)) for row_id, project, seed in rows])


def write_elsewhere(*rows: str) -> None:
    """Write "id project seed" rows in another process."""
    subprocess.run([sys.executable, "-I", "-c", WRITER, *rows], check=True, timeout=60)


def nearest_ids(view: View, seed: int, limit: int = 3) -> list[str]:
    """Return the ids nearest to a seed's vector."""
    return list(view.nearest(vector(seed), limit=limit))


SEEDS = np.array([vector(seed) for seed in range(100)])


@pytest.fixture
def writer(home: Path) -> Vectors:
    """Return the writer's handle, with three rows of a project written."""
    made = Vectors(KEY, DIMENSION)
    write(made, ("a", "/p", 1), ("b", "/p", 2), ("c", "/p", 3))
    return made


@pytest.fixture
def views(writer: Vectors) -> Views:
    """Return the reader's side, on its own handle to the tables."""
    return Views(Vectors(KEY, DIMENSION))


def seen(views: Views, project_dir: str | None = "/p") -> dict[str, int]:
    """Return the rows that a view shows of a project: each id with the seed of its vector."""
    view = views.get("observation", project_dir, now=next(_SECONDS))
    if view is None:
        return {}
    found = view.nearest(vector(0), limit=1_000)
    assert view.of_rows(found).keys() == found.keys()
    assert all(np.array_equal(row, found[row_id]) for row_id, row in view.of_rows(found).items())
    return {row_id: int(np.argmax(SEEDS @ row)) for row_id, row in found.items()}


def test_a_view_is_the_rows_of_its_project(writer: Vectors, views: Views) -> None:
    """A view ranks its own project's rows, also within given ids, and knows their mean."""
    write(writer, ("d", "/q", 4))

    here, there, everywhere = (look(views, project) for project in ("/p", "/q", None))

    assert nearest_ids(here, 2, limit=1) == ["b"]
    likest = sorted("ac", key=lambda row_id: -float(vector({"a": 1, "c": 3}[row_id]) @ vector(2)))
    assert list(here.nearest(vector(2), limit=5, ids=["nobody", "c", "a"])) == likest
    assert here.nearest(vector(2), limit=5, ids=[]) == here.of_rows([]) == {}
    assert here.of_rows(["d", "nobody"]) == {}
    assert np.allclose(here.centre, (vector(1) + vector(2) + vector(3)) / 3, atol=0.01)
    assert nearest_ids(there, 1) == ["d"]
    assert sorted(nearest_ids(everywhere, 1, limit=9)) == ["a", "b", "c", "d"]
    assert seen(views, "/nowhere") == {}
    assert views.get("session", "/p", now=next(_SECONDS)) is None


def test_what_another_process_writes_is_seen(views: Views) -> None:
    """A reader sees another process's new and rewritten rows, each once and per project."""
    before = seen(views), seen(views, "/q"), seen(views, None)

    write_elsewhere("d /p 4", "a /p 5", "e /q 6", "d /p 7")

    assert before == ({"a": 1, "b": 2, "c": 3}, {}, {"a": 1, "b": 2, "c": 3})
    assert seen(views) == {"a": 5, "b": 2, "c": 3, "d": 7}
    assert seen(views, "/q") == {"e": 6}
    assert seen(views, None) == {"a": 5, "b": 2, "c": 3, "d": 7, "e": 6}


def test_the_mean_follows_the_rows(writer: Vectors, views: Views) -> None:
    """The mean counts each current row once after rows are added and rewritten."""
    seen(views)

    write(writer, ("a", "/p", 5), ("d", "/p", 6))

    view = look(views)
    assert np.allclose(view.centre, (vector(5) + vector(2) + vector(3) + vector(6)) / 4, atol=0.01)


def test_a_view_without_changes_is_read_once(writer: Vectors, views: Views) -> None:
    """A view is cached until something is written; views already held stay unchanged."""
    first, again = look(views), look(views)
    write(writer, ("d", "/p", 4))

    assert first is again
    assert len(first.rows.places) == 3  # a view in use keeps its rows
    assert look(views) is not first


def test_tables_that_are_thrown_away_are_forgotten(writer: Vectors, views: Views) -> None:
    """After the folder is deleted a view is empty, and rows written anew are seen."""
    seen(views)

    vectors.discard()
    gone = seen(views)
    write(Vectors(KEY, DIMENSION), ("z", "/p", 9))

    assert (gone, seen(views)) == ({}, {"z": 9})


def test_a_table_made_anew_between_two_looks_is_seen(writer: Vectors, views: Views) -> None:
    """A recreated table is read in full, even if it has as many versions as the old one."""
    write(writer, ("old", "/p", 1))
    seen(views)

    vectors.discard()
    write_elsewhere("a /p 11", "b /p 12", "c /p 13", "d /p 14")

    assert seen(views) == {"a": 11, "b": 12, "c": 13, "d": 14}


def test_deleted_rows_are_gone_from_a_view(writer: Vectors, views: Views) -> None:
    """Deleted rows leave the view, whether or not new rows come at the same time."""
    seen(views)
    writer.delete("observation", ["b"])
    first = seen(views)
    writer.delete("observation", ["c"])
    write(writer, ("d", "/p", 4))

    assert first == {"a": 1, "c": 3}
    assert seen(views) == {"a": 1, "d": 4}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the threshold for a LanceDB index to forty rows."""
    monkeypatch.setattr(lance, "INDEX_FROM_ROWS", ROWS)


@pytest.mark.usefixtures("few")
def test_a_large_project_is_asked_of_the_index(writer: Vectors, views: Views) -> None:
    """A LanceDB index answers for large projects as a comparison would; small ones are compared."""
    write(writer, *[(f"n{number:02}", "/p", 10 + number) for number in range(ROWS)], ("x", "/q", 60))
    compared = look(views)
    lance.build(writer, "observation")
    views = Views(writer)

    asked, everything, small = (look(views, project) for project in ("/p", None, "/q"))

    assert compared.index is small.index is None
    assert asked.index is not None
    assert everything.index is not None
    assert (len(compared.rows.places), len(asked.rows.places)) == (ROWS + 3, 0)
    assert np.allclose(asked.centre, compared.centre, atol=1e-6)
    for seed in range(100, 110):
        assert nearest_ids(asked, seed, limit=5) == nearest_ids(compared, seed, limit=5)
    assert "x" not in nearest_ids(asked, 60)
    assert nearest_ids(everything, 60, limit=1) == ["x"]
    some = ["n01", "n07", "nobody", "x"]
    assert list(asked.nearest(vector(17), limit=9, ids=some)) == ["n07", "n01"]
    assert sorted(asked.of_rows(["n01", "nobody"])) == ["n01"]


@pytest.mark.process
@pytest.mark.usefixtures("few")
def test_an_index_is_never_behind(writer: Vectors, views: Views) -> None:
    """Rows written after the index are found at once; replaced or deleted ones are not."""
    write(writer, *[(f"n{number:03}", "/p", 1_000 + number) for number in range(300)])
    lance.optimize(writer)
    before = look(views)
    write(writer, ("late", "/p", 77), ("n007", "/p", 78))
    writer.delete("observation", ["n008"])

    after = look(views)

    assert after.index is before.index is not None
    assert len(after.rows.places) == 2
    assert "n007" not in nearest_ids(before, 1_007)
    assert nearest_ids(after, 1_009, limit=1) == ["n009"]
    assert nearest_ids(after, 77, limit=1) == ["late"]
    assert nearest_ids(after, 78, limit=1) == ["n007"]
    assert "n008" not in nearest_ids(after, 1_008, limit=5)


@pytest.mark.process
@pytest.mark.usefixtures("few")
def test_an_index_is_made_anew_after_a_fifth(writer: Vectors, views: Views) -> None:
    """The index is rebuilt once new rows exceed a fifth of the limit, and readers switch to it."""
    write(writer, *[(f"n{number:03}", "/p", number) for number in range(ROWS)])
    lance.optimize(writer)
    [first] = indexes()
    seen(views)
    write(writer, *[(f"late{number}", "/p", number) for number in range(8)])
    lance.optimize(writer)
    [same] = indexes()
    write(writer, ("last", "/p", 77))
    lance.optimize(writer)
    [second] = indexes()

    view = look(views)

    assert first == same != second
    assert len(view.rows.places) == 0
    assert nearest_ids(view, 77, limit=1) == ["last"]
    vectors.forget({"observation": ["n001"]})
    assert indexes() == []
    assert "n001" not in seen(Views(writer))


@pytest.mark.usefixtures("few")
def test_without_lancedb_all_vectors_are_compared(
    writer: Vectors, views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without LanceDB a large project is searched exactly, and a hint names the extra to install."""
    write(writer, *[(f"n{number:02}", "/p", number) for number in range(ROWS)])
    monkeypatch.setattr(lance, "is_installed", lambda: False)
    lance.optimize(writer)

    view = look(views, None)

    assert view.index is None
    assert nearest_ids(view, 17, limit=1) == ["n17"]
    assert indexes() == []
    says = "43 vectors are compared one by one; to index them, in the clone, pip install '.[index]'"
    assert lance.missing(writer) == says
    monkeypatch.setattr(lance, "is_installed", lambda: True)
    assert lance.missing(writer) == ""


def indexes() -> list[str]:
    """Return the names of the LanceDB tables."""
    return [path.name for path in Path(vectors.path()).parent.glob("*.lance")]


def test_what_was_used_longest_ago_is_forgotten(
    writer: Vectors, views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cached views stay within the limit; the most recent one is kept, however large."""
    for project in ("/q", "/r"):
        write(writer, *[(f"{project}{number}", project, number) for number in range(3)])
    row_bytes = DIMENSION
    monkeypatch.setattr(nearest, "KEEP_BYTES", 7 * row_bytes)

    first = look(views)
    look(views, "/q")
    used = look(views)
    look(views, "/r")
    kept = [project for _, project in views._kept]
    monkeypatch.setattr(nearest, "KEEP_BYTES", row_bytes)
    look(views, "/q")

    assert used is first
    assert kept == ["/p", "/r"]
    assert [project for _, project in views._kept] == ["/q"]
    assert seen(views) == {"a": 1, "b": 2, "c": 3}
