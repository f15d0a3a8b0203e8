"""Test the counts for ranking: word frequencies, and the fitted weight of a model's cosine."""

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import cases
from support.commands import command
from support.databases import observation_row, session_row

from claude_mem_lite import config
from claude_mem_lite.context import gate
from claude_mem_lite.search import embedder, fitting, ranking
from claude_mem_lite.search.embedder import weights
from claude_mem_lite.search.embedder.records import MEANING, MINILM
from claude_mem_lite.search.fitting import DEFAULT, WEIGHTS
from claude_mem_lite.search.profiles import Profiles
from claude_mem_lite.search.results import Found, Hit
from claude_mem_lite.storage import models, queries

CASES = cases.load("fitting")

VERBS = ("cut", "join", "drop", "keep", "trace", "merge", "split", "fold", "lock", "pin", "warm")
THINGS = CASES["things"]


def pairs(count: int = 121) -> list[tuple[str, str]]:
    """Return titles with summaries that share one word with them, and as many with twenty others."""
    return [
        (
            f"{VERBS[at % 11]} the {THINGS[at // 11 % 11]} number {at}",
            f"Work on the {THINGS[at // 11 % 11]}, as was asked for by the plan of the week {at % 7}",
        )
        for at in range(count)
    ]


def vectors(seed: int) -> Any:
    """Return one random unit vector per pair."""
    random = np.random.default_rng(seed).standard_normal((121, 64)).astype(np.float32)
    return random / np.linalg.norm(random, axis=1, keepdims=True)


def remember(rows: list[tuple[str, str]]) -> None:
    """Store observations."""
    session_row()
    for at, (title, summary) in enumerate(rows):
        queries.save_observation(observation_row(f"o{at}", title=title, summary=summary))


def test_vectors_that_know_the_answer_count_more() -> None:
    """The weight grows where words mislead and vectors are right, and stays where vectors are noise."""
    rare = [" ".join(f"term{at}x{number}" for number in range(8)) for at in range(121)]
    misleading = [(rare[at], f"As was asked for: {rare[at - 1]}") for at in range(121)]
    asked = list(range(121))

    knowing = fitting.ndcg(misleading, vectors(1), asked, vectors(1))
    noise = fitting.ndcg(pairs(), vectors(1), asked, vectors(2))

    assert WEIGHTS[fitting.chosen(knowing)] > MEANING
    assert noise.mean(axis=0)[0] > noise.mean(axis=0)[-1]
    assert WEIGHTS[fitting.chosen(noise)] == MEANING
    assert knowing.shape == (121, len(WEIGHTS))


def test_a_lead_that_may_be_chance_changes_nothing() -> None:
    """The default weight stays unless another is clearly better; then the nearest of the best is chosen."""
    flat = np.full((200, len(WEIGHTS)), 0.5)
    by_chance = flat.copy()
    by_chance[0, -1] = 1.0
    clear = flat.copy()
    clear[:, DEFAULT + 2 :] = 0.9

    assert (fitting.chosen(flat), fitting.chosen(by_chance)) == (DEFAULT, DEFAULT)
    assert fitting.chosen(clear) == DEFAULT + 2


@pytest.mark.meaning
def test_the_command_fits_keeps_and_uses_a_weight(memory: Path) -> None:
    """`model bench --fit` reports and stores a weight, which the model has when it is loaded."""
    remember(pairs())

    done = command("model", "bench", "minilm", "--fit", "--json")

    found = json.loads(done.stdout)
    assert (found["model"], found["rows"], found["titles"], found["was"]) == ("minilm", 121, 121, MEANING)
    assert found["meaning"] in WEIGHTS
    assert found["ndcg"] >= found["ndcg_default"]
    kept = json.loads((Path(config.models_dir()) / "meaning.json").read_text())
    assert kept == {"minilm_384": found["meaning"]}
    weights.keep("minilm_384", 25.5)
    assert embedder.load(MINILM).record.meaning == 25.5
    shown = command("model", "bench", "minilm", "--fit", columns=200).stdout
    says = f"minilm: a cosine of 1 now adds {found['meaning']:g} points to the score of words, before 25.5."
    assert shown.startswith(says)


@pytest.mark.meaning
def test_too_few_rows_are_said(memory: Path) -> None:
    """With too few usable rows nothing is fitted; shared titles and titles in the summary do not count."""
    same = [("the same title", f"{'a long summary ' * 4}{at}") for at in range(60)]
    telling = [(f"Said {at}", f"It was Said {at}, and nothing beside that was said") for at in range(60)]
    remember([*pairs(60), *same, *telling])

    done = command("model", "bench", "minilm", "--fit")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "the project with the most has 60. Search keeps the weight 18" in done.stderr
    assert weights.fitted("minilm_384") is None


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"minilm_384": "much"}', '{"minilm_384": -1}', '{"x": 1}']
)
def test_a_file_that_says_no_weight_changes_nothing(home: Path, content: str) -> None:
    """A malformed file of weights leaves the default weight."""
    (home / "models").mkdir()
    (home / "models" / "meaning.json").write_text(content)

    assert weights.fitted("minilm_384") is None


def test_each_model_has_its_own(home: Path) -> None:
    """Each model has its own weight, and the last one stored counts."""
    for key, weight in (("minilm_384", 12.7), ("qwen3-int8_1024", 36.0), ("minilm_384", 25.5)):
        weights.keep(key, weight)

    assert (weights.fitted("minilm_384"), weights.fitted("qwen3-int8_1024")) == (25.5, 36.0)
    assert weights.fitted("qwen3_1024") is None


def test_what_opens_the_gate_of_recall_stays() -> None:
    """A fitted weight changes the order of hits but not the similarity that recall requires."""
    scored = ranking.Scored("a", 9.0, 3.0, 1.0, 0.0, 5.0, 0.0, 0.5, 0.28, (), (), 0)
    heavier = dataclasses.replace(scored, meaning=10.0)

    before, after = (
        gate.features(
            "why was the cache dropped",
            Found([Hit(None, 0.0, why)], "hybrid"),  # type: ignore[arg-type]
            evidence=9.0,
            unknown=0.0,
            row_count=100,
            is_first=True,
        )
        for why in (scored, heavier)
    )

    assert before == after


def remember_rows(first: int, last: int, summary: str = "Fed the otters.") -> None:
    """Store rows of project /p."""
    rows = (observation_row(f"o{at}", title=f"Row {at}", summary=summary) for at in range(first, last))
    some = list(rows)
    rows = [{"session": row.pop("session_id"), **row} for row in some]
    for start in range(0, len(rows), 500):
        models.Observation.insert_many(rows[start : start + 500]).execute()


def test_a_project_that_has_grown_by_half_is_known_at_once(memory: Path) -> None:
    """A project that grew by half, or lost most rows, is counted again before the search goes on."""
    session_row("s1")
    profiles = Profiles()

    empty = profiles.get("observation", "/p", now=0.0)
    remember_rows(0, 10)
    new = profiles.get("observation", "/p", now=0.0)
    remember_rows(10, 20)
    grown = profiles.get("observation", "/p", now=0.0)
    models.Observation.delete().where(models.Observation.id != "o1").execute()
    shrunk = profiles.get("observation", "/p", now=0.0)

    assert [each.row_count for each in (empty, new, grown, shrunk)] == [0, 10, 20, 1]
    assert [each.rows_with("otter") for each in (empty, new, grown, shrunk)] == [0, 10, 20, 1]


def test_a_project_that_has_grown_by_more_than_a_tenth_is_known_soon(memory: Path) -> None:
    """A project that grew by over a tenth is counted again in the background; one more row is not."""
    session_row("s1")
    remember_rows(0, 20)
    profiles = Profiles()
    first = profiles.get("observation", "/p", now=0.0)
    remember_rows(20, 22)

    unchanged = profiles.get("observation", "/p", now=0.0)
    remember_rows(22, 23)
    at_once = profiles.get("observation", "/p", now=0.0)
    deadline = time.monotonic() + 10
    while (soon := profiles.get("observation", "/p", now=0.0)) is first and time.monotonic() < deadline:
        time.sleep(0.01)

    assert unchanged is first
    assert at_once.row_count in {20, 23}  # the thread may have finished already
    assert (soon.row_count, soon.rows_with("otter")) == (23, 23)


@pytest.mark.parametrize(("later_s", "row_count"), [(4.9, 2_001), (5.0, 4_002)])
def test_a_large_project_is_counted_seldom(memory: Path, later_s: float, row_count: int) -> None:
    """A project of over 2,000 rows is counted at most every five seconds."""
    session_row("s1")
    remember_rows(0, 2_001)
    profiles = Profiles()
    profiles.get("observation", "/p", now=100.0)
    remember_rows(2_001, 4_002)

    assert profiles.get("observation", "/p", now=100.0 + later_s).row_count == row_count
