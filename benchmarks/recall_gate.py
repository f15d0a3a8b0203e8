"""When memory has something on a prompt: fits the gate of `context/recall.py` and prints what it trades.

    python benchmarks/recall_gate.py DIR DIR… [--questions N]

A DIR is one of `retrieval.py`. Memory has something on a set's questions asked of their own project; it has
nothing on them asked of another project of the set, nor on those of another set. Each is asked in full, cut
to its first three and five telling words, with a developer's lead-in, and with a log pasted below, of the
product's own search by both legs and by words alone. Each set has an intercept of its own in the regression,
lest the weights tell the sets apart; the mean of these is printed as the gate's.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from retrieval import Encoder, filled, progress, text_of
from rich.progress import track

from claude_mem_lite.context import recall
from claude_mem_lite.context.prompts import question
from claude_mem_lite.evals.retrieval import corpus, queries
from claude_mem_lite.search import ranking
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.search.words import STOP_WORDS, words
from claude_mem_lite.storage.search import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Row = dict[str, Any]
    Numbers = NDArray[np.float64]

NAMES = ("coverage", "order", "exact", "terms", "meaning")
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
RIDGE = 1e-3
LEADS = (
    "please look at this: ",
    "can you fix the following? ",
    "let's work on this next: ",
    "I want you to change this: ",
    "why is it like that: ",
    "remember how we did this? ",
)
LOGS = (
    """Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/requests/adapters.py", line 667, in send
    resp = conn.urlopen(
requests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port=8080): Max retries exceeded""",
    """npm ERR! code ERESOLVE
npm ERR! ERESOLVE unable to resolve dependency tree
npm ERR! Found: react@18.2.0
npm ERR! A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log""",
    """=========================== short test summary info ===========================
FAILED tests/test_api.py::test_create - AssertionError: assert 500 == 201
FAILED tests/test_api.py::test_list - KeyError: 'items'
======================== 2 failed, 118 passed in 12.31s ========================""",
    """#12 3.412 E: Unable to locate package libfoo-dev
------
ERROR: failed to solve: process "/bin/sh -c apt-get install" did not complete: exit code: 100""",
)


class Sample:
    """Prompts as the gate sees them, in four lists: set, way of asking, label (0 or 1), features."""

    def __init__(self) -> None:
        self.sets: list[str] = []
        self.ways: list[str] = []
        self.labels: list[int] = []
        self.features: list[tuple[float, ...]] = []

    def add(self, searcher: Searcher, prompt: str, project: str, *, named: tuple[str, str, int]) -> None:
        """Ask a prompt of a project, with set, way and label; one on which nothing is found needs no gate."""
        text = question(prompt)
        scope = Scope(project_dir=project)
        found = searcher.search(text, type="all", scope=scope, limit=recall.ROWS, now=time.monotonic())
        features = recall.features(found, ranking.analyze(text))
        if features:
            name, way, label = named
            self.sets.append(name)
            self.ways.append(way)
            self.labels.append(label)
            self.features.append(features)


def ways(text: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the ways to ask a question, each with its name."""
    telling = [part for part in text.split() if any(word not in STOP_WORDS for word in words(part))]
    yield "in full", text
    yield "3 words", " ".join(telling[:3])
    yield "5 words", " ".join(telling[:5])
    yield "lead-in", chance.choice(LEADS) + text
    yield "log", f"{text}\n\n{chance.choice(LOGS)}"


def ask(folder: str, questions: dict[str, list[Row]], encoder: Encoder) -> dict[str, Sample]:
    """Ask all questions of one set's rows, by both legs and by words alone."""
    rows = corpus(folder)
    projects = sorted({row["project"] for row in rows})
    vectors = encoder.documents(list(map(text_of, rows)))
    samples = {"hybrid": Sample(), "fts": Sample()}
    with filled(rows, encoder, vectors) as both:
        searchers = {"hybrid": both, "fts": Searcher(by_meaning=False)}
        for source, asked in questions.items():
            chance = random.Random(source)
            for query in track(asked, f"{source} of {folder}", console=progress, transient=True):
                other = chance.choice(
                    [project for project in projects if project != query["project"]] or [""]
                )
                for way, text in ways(query["text"], chance):
                    for mode, sample in samples.items():
                        if source == folder:
                            sample.add(searchers[mode], text, query["project"], named=(folder, way, 1))
                        if other:
                            sample.add(searchers[mode], text, other, named=(folder, way, 0))
    return samples


def fit(features: Numbers, labels: Numbers, sets: Sequence[str]) -> Numbers:
    """Return the intercept and weights of a logistic regression; each label of each set weighs the same."""
    names = sorted(set(sets))
    which = np.array([[one == name for name in names] for one in sets], dtype=float)
    groups = which @ np.arange(len(names)) * 2 + labels
    weights = 1 / np.array([(groups == group).sum() for group in groups])
    weights *= len(labels) / weights.sum()
    table = np.hstack([which, features])
    ridge = RIDGE * len(labels) * np.diag([0.0] * len(names) + list(features.var(axis=0)))
    solved = np.zeros(table.shape[1])
    for _ in range(50):  # Newton's method; ten steps do
        certain = 1 / (1 + np.exp(-table @ solved))
        slope = table.T @ (weights * (labels - certain)) - ridge @ solved
        curve = (table.T * (weights * certain * (1 - certain))) @ table + ridge
        solved += np.linalg.solve(curve, slope)
    return np.concatenate([[solved[: len(names)].mean()], solved[len(names) :]])


def certainties(gate: Numbers, features: Numbers) -> Numbers:
    """Return what a gate says of prompts."""
    return 1 / (1 + np.exp(-(gate[0] + features @ gate[1:])))


def area(certain: Numbers, labels: Numbers) -> float:
    """Return how often a prompt that memory has something on is told from one it has nothing on (ROC AUC)."""
    places = np.argsort(np.argsort(certain)) + 1
    ones = labels.sum()
    return float((places[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def show(mode: str, samples: Sequence[Sample]) -> None:
    """Print a gate and what it lets through, by set, also by the other sets' gate, and way of asking."""
    features = np.array([each for sample in samples for each in sample.features])
    labels = np.array([label for sample in samples for label in sample.labels], dtype=float)
    sets = np.array([name for sample in samples for name in sample.sets])
    asked = np.array([way for sample in samples for way in sample.ways])
    gate = fit(features, labels, list(sets))
    print(f"\n{mode}: {int(labels.sum())} prompts of what memory has, {int((1 - labels).sum())} others")
    print(
        "  gate: "
        + ", ".join(f"{name} {value:.2f}" for name, value in zip(("base", *NAMES), gate, strict=False))
    )
    certain = certainties(gate, features)
    for name in sorted(set(sets)):
        here = sets == name
        rest = fit(features[~here], labels[~here], list(sets[~here]))
        print(
            f"  {name}: AUC {area(certain[here], labels[here]):.3f}, "
            f"{area(certainties(rest, features[here]), labels[here]):.3f} by a gate of the other sets"
        )
        for threshold in THRESHOLDS:
            through = [np.mean(certain[here & (labels == label)] >= threshold) for label in (1, 0)]
            print(f"    from {threshold}: recalls {through[0]:.3f}, wrongly {through[1]:.3f}")
    for way in dict.fromkeys(asked):
        through = [
            np.mean(certain[(asked == way) & (labels == label)] >= recall.THRESHOLD) for label in (1, 0)
        ]
        print(f"  {way}, from {recall.THRESHOLD}: recalls {through[0]:.3f}, wrongly {through[1]:.3f}")


def main() -> int:
    """Fit the gate for both kinds of search."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--questions", type=int, default=120, help="so many of each set")
    options = parser.parse_args()
    questions = {}
    for folder in options.folders:
        all_of = queries(folder)
        questions[folder] = random.Random(1).sample(all_of, min(options.questions, len(all_of)))
    encoder = Encoder()
    asked = [ask(folder, questions, encoder) for folder in options.folders]
    for mode in ("hybrid", "fts"):
        show(mode, [samples[mode] for samples in asked])
    return 0


if __name__ == "__main__":
    sys.exit(main())
