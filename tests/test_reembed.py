"""`claude-mem reembed`: change the model of a running system, interrupt the run, and resume it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.databases import observation_row, session_row
from support.processes import claude_mem, finished, wait_until, web_process

from claude_mem_lite import config, settings
from claude_mem_lite.capture import client
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import embedder, vectors, write_lock
from claude_mem_lite.search.indexing import LATER_S, SOON_S, TEXTS_AT_ONCE, Index
from claude_mem_lite.search.reembed import Done, reembed
from claude_mem_lite.search.vectors import Vectors, digest
from claude_mem_lite.storage import embeddings, models, queries

pytestmark = pytest.mark.meaning

MINILM = "minilm_384"
ROWS = 40


@pytest.fixture
def other(tiny: Path) -> str:
    """Return the setting that selects the tiny Qwen3, a model other than MiniLM."""
    return str(tiny)


@pytest.fixture
def ponds(memory: Path) -> Path:
    """Return a memory of 40 observations and two sessions, none of them embedded."""
    session_row(summary="Dug ponds.")
    session_row("s2")  # has no summary, so nothing to embed
    for number in range(ROWS):
        queries.save_observation(observation_row(f"o{number}", title=f"Dig pond {number}", summary="Wet."))
    return memory


@pytest.fixture
def web(ponds: Path) -> Iterator[Path]:
    """Start a web process on the memory, with every row embedded by MiniLM."""
    with web_process():
        run("auto")
        wait_until(lambda: search_type() == "hybrid")
        yield ponds


def run(setting: str, *, dimension: int = 0, progress: Any = None, rebuild: bool = False) -> Done:
    """Run reembed in this process."""
    show = progress or (lambda *_: None)
    return reembed(setting, dimension=dimension, progress=show, rebuild=rebuild)


def search_type() -> str:
    """Return the search type that the web process reports: "fts" or "hybrid"."""
    found = client.get("/api/search", {"q": "digging"}, timeout_s=20)
    return str(found["search_type"])


def embedded(key: str) -> int:
    """Return how many rows are marked as embedded with a model."""
    return sum(count for count, _ in embeddings.count_embedded(key).values())


def once(act: Callable[[], Any]) -> Callable[[int, int], None]:
    """Return a `progress` callback that calls `act` at its first call only."""
    acts = iter([act])
    return lambda *_: next(acts, lambda: None)()


def stop() -> None:
    """Interrupt the run as Ctrl-C does."""
    raise KeyboardInterrupt


def test_a_model_is_completed_without_the_services(ponds: Path) -> None:
    """Reembed makes only the missing vectors and leaves the settings alone."""
    first = claude_mem("reembed")
    queries.save_observation(observation_row("new", title="Dig a lake"))
    models.Observation.update(title="Fill pond 3").where(models.Observation.id == "o3").execute()
    second = claude_mem("reembed")

    assert (first.returncode, first.stderr) == (second.returncode, second.stderr) == (0, "")
    assert first.stdout == "41 vectors computed, 0 existed, 41 in all: minilm_384.\n"
    assert second.stdout == "2 vectors computed, 40 existed, 42 in all: minilm_384.\n"
    assert embeddings.count_embedded(MINILM)["observation"] == (41, 41)
    assert embeddings.count_embedded(MINILM)["session"] == (1, 1)
    assert embeddings.count_by_model() == {MINILM: 42}
    assert "search" not in (ponds / "config.toml").read_text()


def test_a_vector_that_was_lost_is_made_again(ponds: Path) -> None:
    """A vector missing from the tables is made again even if its row is marked as embedded."""
    run("auto")
    Vectors(MINILM, 384).delete("observation", ["o1", "o2"])

    done = run("auto")

    assert (done.made, done.there, done.total) == (2, 39, 41)


def test_the_vectors_are_those_of_the_consumer(web: Path, other: str) -> None:
    """Reembed and the consumer make the same vector for a text."""
    here = Vectors(MINILM, 384).of_rows("observation", ["o5"])["o5"]
    vectors.discard()
    embeddings.forget_vectors()
    client.post("/api/model", {}, timeout_s=20)
    index = Index()
    wait_until(lambda: index.step() is None)

    there = Vectors(MINILM, 384).of_rows("observation", ["o5"])["o5"]

    assert there == pytest.approx(here, abs=1e-5)


def test_a_model_is_changed_behind_a_running_system(web: Path, other: str) -> None:
    """Search uses the old vectors until the swap and the new ones after it, without a restart."""
    key = f"{other}_64"
    during: dict[str, Any] = {}

    def look() -> None:
        index = Index()
        queries.save_observation(observation_row("new", title="Dig a lake"))
        steps = [index.step(), index.step()]
        counts = {"old": embedded(MINILM), "new": embedded(key), "tables": len(vectors.models())}
        during.update(steps=steps, search=search_type(), **counts)

    done = run(other, progress=once(look))
    after = wait_until(lambda: (client.get("/api/model", {}, timeout_s=20) or {}).get("loaded"))

    assert during == {"steps": [0.0, None], "old": 42, "new": 0, "search": "hybrid", "tables": 2}
    assert (done.key, done.made, done.there, done.total) == (key, 42, 0, 42)
    assert (done.is_swapped, done.is_told, after) == (True, True, True)
    assert settings.load().embedding_model == other
    assert (embedded(MINILM), embedded(key), len(vectors.models())) == (0, 42, 1)
    assert search_type() == "hybrid"
    assert Index().step() is None
    assert write_lock.in_the_making() == ""


def test_a_cut_model_has_vectors_of_its_own(ponds: Path, other: str) -> None:
    """A model cut to fewer dimensions counts as another model, and settings keep its dimension."""
    first = claude_mem("reembed", "--model", other, "--dimension", "32")
    written = settings.load()
    again = run(other, dimension=32)
    whole = run(other)

    says = f"41 vectors computed, 0 existed, 41 in all: {other}_32.\nSearch uses {other} from now on.\n"
    assert first.stdout == says
    assert (written.embedding_model, written.dimension) == (other, 32)
    assert (again.made, again.there, again.is_swapped) == (0, 41, False)
    assert (whole.key, whole.made, whole.is_swapped) == (f"{other}_64", 41, True)
    assert settings.load().dimension == 0


def test_a_run_cut_short_is_gone_on_with(web: Path, other: str) -> None:
    """After Ctrl-C nothing has changed for search, and the next run makes only what is missing."""
    with pytest.raises(KeyboardInterrupt):
        run(other, progress=once(stop))
    steps = Index().step()
    before = (settings.load().embedding_model, embedded(MINILM), search_type(), len(vectors.models()))

    done = run(other)

    assert steps is None
    assert before == ("auto", 41, "hybrid", 2)
    assert (done.made, done.there, done.total) == (41 - TEXTS_AT_ONCE, TEXTS_AT_ONCE, 41)
    assert len(vectors.models()) == 1


def test_a_killed_run_is_gone_on_with(ponds: Path, other: str) -> None:
    """After a kill the next run keeps the vectors already written and completes the rest."""
    code = f"""if True:
        import os, signal
        from claude_mem_lite.search.reembed import reembed
        from claude_mem_lite.storage import models
        models.open_databases()
        def progress(made, to_make):
            if made >= {2 * TEXTS_AT_ONCE}:
                os.kill(os.getpid(), signal.SIGKILL)
        reembed({other!r}, dimension=0, progress=progress)
    """
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    half = write_lock.in_the_making()

    done = run(other)

    assert (killed.returncode, half) == (-signal.SIGKILL, f"{other}_64")
    assert (done.made, done.there) == (41 - 2 * TEXTS_AT_ONCE, 2 * TEXTS_AT_ONCE)


def test_ctrl_c_is_one_line(ponds: Path) -> None:
    """Ctrl-C prints one line that says how to resume."""
    program = "import sys; from claude_mem_lite.search import reembed; from claude_mem_lite.cli import main\n"
    program += "def stopped(*a, **k): raise KeyboardInterrupt\nreembed.reembed = stopped\nmain()"

    done = finished(sys.executable, "-c", program, "reembed", "--model", "minilm")

    assert (done.returncode, done.stdout) == (1, "")
    says = "claude-mem: stopped; the vectors computed so far are kept. To continue: claude-mem reembed --mod"
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


def test_what_changes_during_a_run_has_the_vector_of_its_last_text(ponds: Path) -> None:
    """A row that changes during a run is embedded again with its new text."""

    def change() -> None:
        models.Observation.update(title="Fill in").where(models.Observation.id == f"o{ROWS - 1}").execute()
        queries.save_observation(observation_row("new", title="Dig a lake"))

    done = run("auto", progress=once(change))

    digests = Vectors(MINILM, 384).digests("observation")
    assert (done.made, done.total) == (42, 42)
    assert digests[f"o{ROWS - 1}"] == digest("Fill in\nWet.")
    assert embedded(MINILM) == 42


def test_the_consumer_stands_back_from_the_model_of_a_run(web: Path) -> None:
    """The consumer leaves the tables of a run alone and resumes when the run has ended."""
    index, steps = Index(), []
    queries.save_observation(observation_row("new", title="Dig a lake"))

    run("auto", progress=once(lambda: steps.append(index.step())))
    queries.save_observation(observation_row("newer", title="Dig a canal"))
    steps += [index.step(), index.step()]

    assert (steps, embedded(MINILM)) == ([SOON_S, 0.0, None], 43)


def test_only_one_run_is_at_work(ponds: Path, other: str) -> None:
    """A second run and a change of the model are refused with one line during a run."""
    refused: list[Any] = []

    def others() -> None:
        refused.extend([claude_mem("reembed"), claude_mem("model", "use", "none")])

    run("auto", progress=once(others))

    line = "claude-mem: another claude-mem reembed is running: try again when it has finished, or stop it\n"
    assert [(each.returncode, each.stdout, each.stderr) for each in refused] == [(1, "", line)] * 2
    assert settings.load().embedding_model == "auto"


def test_broken_vectors_are_made_anew(web: Path) -> None:
    """Broken vectors are reported; with --rebuild they are all made again and searched."""
    for path in Path(config.lance_dir()).rglob("*"):
        if path.is_file():
            path.write_bytes(b"broken")

    broken = claude_mem("reembed")
    done = claude_mem("reembed", "--rebuild")

    assert (broken.returncode, broken.stdout, broken.stderr.count("\n")) == (1, "", 1)
    assert "claude-mem reembed --rebuild" in broken.stderr
    assert done.stdout == "41 vectors computed, 0 existed, 41 in all: minilm_384.\n"
    wait_until(lambda: search_type() == "hybrid")


def test_the_consumer_writes_on_after_a_rebuild(web: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer opens tables that a rebuild has replaced, and does not discard them."""
    index = Index()
    for number in range(9):  # so that the old table has more versions than the new one
        queries.save_observation(observation_row(f"new{number}", title=f"Dig lake {number}"))
        index.step()
    run("auto", rebuild=True)
    monkeypatch.setattr(vectors, "discard", lambda: pytest.fail("thrown away"))
    queries.save_observation(observation_row("newer", title="Dig a canal"))

    wait_until(lambda: index.step() is None)

    assert Vectors(MINILM, 384).count("observation") == ROWS + 10
    assert embedded(MINILM) == ROWS + 11


def test_the_consumer_changes_the_model_by_itself(web: Path, other: str) -> None:
    """After `model use` the consumer embeds every row again, then drops the old vectors."""
    told = claude_mem("model", "use", other)
    index = Index()
    mixed = wait_until(lambda: index.step() == 0.0 and vectors.models())
    wait_until(lambda: index.step() is None)

    assert (told.returncode, told.stderr) == (0, "")
    says = f"Search uses {other}. Rows without its vectors are embedded in the background.\n"
    assert told.stdout == says
    assert (len(mixed), vectors.models()) == (2, {f"{other}_64"})
    assert embedded(f"{other}_64") == 41
    assert search_type() == "hybrid"


def test_without_a_model_the_consumer_rests(web: Path) -> None:
    """Full text by choice is no outage: the consumer checks back rarely, not every three seconds."""
    claude_mem("model", "use", "none")

    assert (search_type(), Index().step()) == ("fts", LATER_S)
    says = 'claude-mem: no model: [search] embedding_model = "none"; to choose one: claude-mem model use\n'
    assert claude_mem("reembed").stderr == says


def test_a_setting_that_cannot_be_written_is_said_first(ponds: Path, other: str) -> None:
    """A setting that cannot be written is reported before any work starts."""
    (ponds / "config.toml").write_text('search = { embedding_model = "auto" }')

    with pytest.raises(ClaudeMemError, match="left as it is"):
        run(other)

    assert not os.path.exists(config.lance_dir())


def test_an_empty_memory_and_a_missing_model_are_one_line(home: Path) -> None:
    """An empty memory and an unknown model each give one line, and nothing starts."""
    nothing = claude_mem("reembed")
    models.open_databases()
    missing = claude_mem("reembed", "--model", "/nowhere")

    assert (nothing.returncode, missing.returncode) == (1, 1)
    assert nothing.stderr.startswith("claude-mem: nothing is remembered yet")
    assert missing.stderr.startswith("claude-mem: /nowhere is not a sentence-transformers model")
    assert nothing.stderr.count("\n") == missing.stderr.count("\n") == 1


def test_list_says_what_is_half_made(ponds: Path, other: str) -> None:
    """`model list` names an unfinished model until `model use` discards it."""
    with pytest.raises(KeyboardInterrupt):
        run(other, progress=once(stop))

    listed = json.loads(claude_mem("model", "list", "--json").stdout)
    claude_mem("model", "use", "auto")

    assert (listed["half_made"], write_lock.in_the_making()) == (f"{other}_64", "")
    assert embedder.resolve("auto").name == "minilm"
