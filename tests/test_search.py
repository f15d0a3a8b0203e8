"""Hybrid search on real parts: MiniLM, stored vectors, a consumer and a web process on a socket."""

import base64
import json
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.databases import observation_row, session_row
from support.processes import wait_until
from support.recorded import DATA, restore

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.search import hybrid, vectors
from claude_mem_lite.search.embedder.interface import unit_length
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.indexing import with_first_lines
from claude_mem_lite.search.vectors import Vectors, VectorsError
from claude_mem_lite.storage import embeddings, models, queries, search
from claude_mem_lite.storage.search import Scope

KEY = "minilm_384"


def unit(*direction: float) -> np.ndarray:
    """Return an (8,) float32 vector of unit length in the given direction."""
    vector = np.zeros(8, dtype=np.float32)
    vector[: len(direction)] = direction
    return vector / np.linalg.norm(vector)


@pytest.fixture
def store(home: Path) -> Vectors:
    """Return a vector store with rows of two projects."""
    made = Vectors("tiny_8", 8)
    rows = [
        ("a", "/p", "A", unit(1)),
        ("b", "/p", "B", unit(1, 1)),
        ("c", "/it's", "C", unit(1, 0.1)),
        ("d", "/p", "D", unit(0, 1)),
    ]
    made.write("observation", rows)
    return made


def test_the_vectors_of_some_rows_are_found(store: Vectors) -> None:
    """Vectors are read by id within a project, at unit length; ids without one are left out."""
    here = store.of_rows("observation", ["a", "b", "c", "nobody"], project_dir="/p")
    quoted = store.of_rows("observation", ["c"], project_dir="/it's")

    assert sorted(here) == ["a", "b"]
    assert np.allclose(here["b"], unit(1, 1), atol=0.01)
    assert np.linalg.norm(here["b"]) == pytest.approx(1)
    assert list(quoted) == ["c"]
    kept = vectors.rounded(unit(1)[None]).tobytes()
    alike = store.cosines("observation", kept, ["a", "b", "d", "nobody"])
    assert alike == pytest.approx({"a": 1, "b": 0.5**0.5, "d": 0}, abs=0.01)
    assert store.of_rows("session", ["a"]) == store.of_rows("observation", []) == {}


def test_rounding_hardly_turns_a_vector() -> None:
    """Rounding to bytes changes a cosine by less than 0.005, at 32 to 1,024 dimensions."""
    chance = np.random.default_rng(1)
    for dimension in (32, 384, 1_024):
        rows = chance.normal(size=(500, dimension)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)

        kept = unit_length(vectors.rounded(rows))

        assert np.abs(kept @ rows.T - rows @ rows.T).max() < 0.005


def test_another_model_has_rows_of_its_own(store: Vectors) -> None:
    """Each model has its own vectors, and another model's can be dropped."""
    other = Vectors("other_8", 8)
    other.write("observation", [("z", "/p", "Z", unit(1))])
    before = vectors.models()
    other.drop_others(spare="tiny_8")
    spared = vectors.models()

    other.drop_others()

    assert before == spared == {"tiny_8", "other_8"}
    assert (vectors.models(), other.count("observation")) == ({"other_8"}, 1)
    assert Vectors("tiny_8", 8).count("observation") == 0


def test_broken_files_are_said_in_one_line(store: Vectors) -> None:
    """A broken file raises VectorsError with one line, and new tables replace it after a discard."""
    for path in Path(config.lance_dir()).rglob("*"):
        if path.is_file():
            path.write_bytes(b"broken" * 1000)

    with pytest.raises(VectorsError, match="SQLite could not") as raised:
        store.of_rows("observation", ["a"])

    assert "\n" not in str(raised.value)
    vectors.discard()
    store.write("observation", [("a", "/p", "A", unit(1))])
    assert store.count("observation") == 1


def test_a_file_without_tables_has_no_vectors(store: Vectors) -> None:
    """An empty file, left by a writer that died or just began, has no vectors."""
    vectors.discard()
    Path(config.lance_dir()).mkdir()
    Path(vectors.path()).touch()

    assert store.count("observation") == 0
    assert store.version() is not None
    assert vectors.models() == set()


def test_locked_vectors_are_not_called_broken(store: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock held for long raises BusyError, so nobody discards the vectors."""
    monkeypatch.setattr(vectors, "_WAIT_S", 0.01)
    with closing(sqlite3.connect(vectors.path())) as other:
        other.execute("BEGIN EXCLUSIVE")

        with pytest.raises(vectors.BusyError):
            store.of_rows("observation", ["a"])


def test_a_changed_text_is_pending_again(memory: Path) -> None:
    """A changed text must be embedded again; other updates of the row leave its vector valid."""
    session_row(summary="Moved the book.")
    queries.save_observation(observation_row("o1", title="Edit storage", summary="Why: NFS."))
    [(row_id, project, text)] = embeddings.texts_to_embed("observation", KEY, limit=5)
    embeddings.mark_embedded("observation", [(row_id, text)], model=KEY)
    embedded = embeddings.count_embedded(KEY)["observation"]

    models.Observation.update(tokens_raw=9).execute()
    untouched = embeddings.texts_to_embed("observation", KEY, limit=5)
    models.Observation.update(title="Write storage").execute()

    assert (project, text, embedded) == ("/p", "Edit storage\nWhy: NFS.", (1, 1))
    assert untouched == []
    assert embeddings.texts_to_embed("observation", KEY, limit=5)[0][2] == "Write storage\nWhy: NFS."
    assert embeddings.texts_to_embed("session", KEY, limit=5)[0][2].startswith("Moved the book.")


def test_a_text_that_changed_while_it_was_embedded_stays_pending(memory: Path) -> None:
    """A row that changes while it is embedded stays pending."""
    session_row()
    queries.save_observation(observation_row("o1", title="Old"))
    [(row_id, _, text)] = embeddings.texts_to_embed("observation", KEY, limit=5)
    models.Observation.update(title="New").execute()

    embeddings.mark_embedded("observation", [(row_id, text)], model=KEY)

    assert embeddings.count_embedded(KEY)["observation"] == (0, 1)


def test_a_text_of_any_length_can_be_embedded() -> None:
    """Texts are cut to the 50,000 characters that the web process takes, so none blocks the rest."""
    cut = with_first_lines(["word " * 50_000, "short\nand more"])

    assert [len(text) <= 50_000 for text in cut] == [True] * 4
    assert cut[1::2] == ["short\nand more", "short"]


def test_rows_are_found_within_their_scope(memory: Path) -> None:
    """Search filters by file, tool, session and time; a file matches by its name alone."""
    session_row("s1")
    of_file = {"files_touched": ["src/pond_a.py"], "tool_name": "Edit"}
    queries.save_observation(observation_row("o1", title="Teach otters", **of_file))
    queries.save_observation(observation_row("o2", title="Feed otters", tool_name="Bash"))

    def found(**scope: str) -> list[str]:
        return sorted(row.id for row in search.by_text("observation", "otters", Scope(**scope), limit=9))

    assert found() == ["o1", "o2"]
    assert found(file="src/pond_a.py") == found(file="pond_a.py") == ["o1"]
    assert found(file="ond_a.py") == []
    assert found(tool="Bash") == ["o2"]
    assert found(session_id="s2") == found(since="2030") == []


def ask(**parameters: str) -> dict[str, Any]:
    """Search through the web process."""
    found = client.get("/api/search", parameters, timeout_s=20)
    assert found is not None
    return found


@pytest.mark.meaning
def test_the_recorded_history_is_found_by_meaning_and_words(web_and_consumer: Path) -> None:
    """46 questions find their evidence in the top five; full text answers if vectors are late."""
    facts = json.loads(restore((DATA / "ledger" / "facts.json").read_text()))
    for event in demo.recorded_events():
        inbox.append(json.dumps(event), demo.PROJECT)
    first = ask(q="otters")
    wait_until(lambda: queries.queue_stats()["raw"] == 0, timeout_s=120)

    def all_embedded() -> bool:
        counts = embeddings.count_embedded(KEY)
        return counts["observation"][0] == counts["observation"][1] > 100

    wait_until(all_embedded, timeout_s=180)
    answered = 0
    for fact in facts["questions"]:
        found = ask(q=fact["q"], project=demo.PROJECT, limit="5", explain="true")
        rows = [client.get(f"/api/observation/{hit['id']}", {}, timeout_s=5) for hit in found["results"]]
        texts = [json.dumps(row, ensure_ascii=False).lower() for row in rows]
        answered += any(all(each.lower() in text for each in fact["answer_contains"]) for text in texts)

    assert (first["search_type"], found["search_type"]) == ("fts", "hybrid")
    assert {"words", "meaning", "exact", "cosine"} <= set(found["results"][0]["why"])
    assert answered >= 46

    searcher = Searcher()
    searcher.warm(demo.PROJECT, now=time.monotonic())
    free = threading.Event()
    for _ in range(hybrid.THREADS):
        hybrid.POOL.submit(free.wait, 60)
    asked = {"type": "all", "scope": Scope(project_dir=demo.PROJECT), "limit": 5, "now": time.monotonic()}
    late = searcher.search(fact["q"], **asked, until=time.monotonic() + 0.01)
    free.set()

    assert late.search_type == "fts"
    assert late.hits
    assert searcher.search(fact["q"], **asked).search_type == "hybrid"


@pytest.mark.meaning
def test_embed_answers_vectors_or_why_not(web_and_consumer: Path) -> None:
    """The embed endpoint returns one byte per dimension, once the model is loaded."""
    answer = wait_until(lambda: client.post("/api/embed", {"texts": ["cents", "floats"]}, timeout_s=10))

    rows = np.frombuffer(base64.b64decode(answer["vectors"]), np.int8).reshape(2, answer["dimension"])
    assert answer["key"] == KEY
    assert np.abs(rows).max(axis=1).tolist() == [127, 127]
    assert client.post("/api/embed", {"texts": "cents"}, timeout_s=10) is None
