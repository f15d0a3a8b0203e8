"""When memory has something that a prompt needs: fits the gate of recall and prints what it trades.

    python benchmarks/recall_gate.py PROMPTS TRANSCRIPTS NEEDS

PROMPTS is a file of `recall_prompts.py`, asked of the recorded history: those with an answer need memory,
the others don't. TRANSCRIPTS is a folder of a project's transcripts, whose sessions are taken in one by one,
oldest first: each of their prompts is asked of what came before its session. NEEDS has a JSON object a line,
{"session": ID, "prompt": N}: a prompt, counted from 0, for which memory was needed; other prompts count as
none.

Both histories weigh the same, and so do their prompts with a need and without; each has an intercept of its
own, lest the weights tell the histories apart. The line through both, by the logarithm of their rows, lets
through the shares that are wished for. AUC is cross-validated, by sessions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from recall_prompts import recorded
from rich.console import Console
from rich.progress import track

from claude_mem_lite.cli import demo
from claude_mem_lite.context import gate, recall
from claude_mem_lite.context.prompts import question
from claude_mem_lite.evals.replay import sessions_in
from claude_mem_lite.evals.temporary import searcher, temporary_memory
from claude_mem_lite.importers.importing import Import, Plan
from claude_mem_lite.learnings import session as learnings
from claude_mem_lite.search import ranking, times
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage import projects
from claude_mem_lite.storage.search import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from claude_mem_lite.importers.sessions import Session

    Numbers = NDArray[np.float64]

NAMES = ("evidence", "order", "first", "mark", "question", "rows", "cosine")
MODES = ("hybrid", "fts")
ROWS_AT = NAMES.index("rows")
# What may pass: of the recorded history's prompts without an answer, and of all prompts of a team at work.
WRONGLY, PASSES = 0.03, 0.5
FOLDS, RIDGE = 8, 1e-2
_FROM_THE_CLIENT = ("<", "[Request interrupted", "This session is being continued")
progress = Console(stderr=True)


@dataclass(slots=True)
class Sample:
    """The prompts of a history as the gate sees them: features, labels (0 or 1), and which belong together.

    `silent` are those that need no gate: nothing was found on them, or asked for.
    """

    features: list[tuple[float, ...]] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    silent: int = 0

    def ask(  # noqa: PLR0913  (who asks, what, and what is right)
        self, by: Searcher, prompt: str, project_dir: str, *, is_first: bool, label: bool, group: int
    ) -> None:
        """Ask a prompt of a project."""
        text, scope = question(prompt), Scope(project_dir=project_dir)
        now = time.monotonic()
        features: tuple[float, ...] = ()
        if text:
            found = by.search(text, type="all", scope=scope, limit=recall.HITS, depth=recall.DEPTH, now=now)
            profile = by.profile("observation", project_dir, now=now)
            query = ranking.focused(ranking.analyze(text, now=times.local(time.time())), profile)
            evidence = sum(recall.evidence(query, profile).values())
            features = gate.features(
                prompt, found, evidence=evidence, row_count=profile.row_count, is_first=is_first
            )
        if features:
            self.features.append(features)
            self.labels.append(float(label))
            self.groups.append(group)
        else:
            self.silent += 1


def of_prompts(path: Path) -> dict[str, Sample]:
    """Ask the prompts of a file of the recorded history, by both legs and by words alone."""
    samples = {mode: Sample() for mode in MODES}
    with recorded() as by:
        for at, line in enumerate(filter(str.strip, path.read_text(encoding="utf-8").splitlines())):
            given = json.loads(line)
            for mode, each in zip(MODES, (by, Searcher(by_meaning=False)), strict=True):
                label = bool(given.get("answer_contains"))
                samples[mode].ask(each, given["prompt"], demo.PROJECT, is_first=True, label=label, group=at)
    return samples


def of_history(folder: Path, needs: set[tuple[str, int]]) -> dict[str, Sample]:
    """Ask each prompt of a history of what came before its session."""
    samples = {mode: Sample() for mode in MODES}
    plan = sessions_in(str(folder))
    with temporary_memory():
        taking = Import(Plan(), now=time.time(), learn=learnings.learn, make_room=int)
        for at, session in enumerate(track(plan.sessions, console=progress, transient=True)):
            project_dir = projects.of(session.work_tree or session.project_dir)
            bys = searcher()[0], Searcher(by_meaning=False)
            for number, prompt in enumerate(prompts_of(session)):
                if prompt and not prompt.startswith("/"):
                    label = (session.id, number) in needs
                    for mode, by in zip(MODES, bys, strict=True):
                        samples[mode].ask(
                            by, prompt, project_dir, is_first=number == 0, label=label, group=at
                        )
            session.project_dir = project_dir
            taking.take(session)
    return samples


def prompts_of(session: Session) -> list[str]:
    """Return a session's prompts, "" for what the client wrote into one."""
    found = []
    for line in Path(session.path).read_text(encoding="utf-8", errors="replace").splitlines():
        row: dict[str, Any] = json.loads(line)
        if row.get("type") != "user" or row.get("isSidechain") or row.get("isMeta"):
            continue
        said = (row.get("message") or {}).get("content")
        if isinstance(said, list):
            said = " ".join(part.get("text", "") for part in said if isinstance(part, dict))
        text = str(said or "").strip()
        if text:
            found.append("" if text.startswith(_FROM_THE_CLIENT) else text)
    return found


def fit(features: Numbers, labels: Numbers, weights: Numbers) -> Numbers:
    """Return the weights of a logistic regression, for (n, k) features, its intercept last."""
    scale = features.std(axis=0) + 1e-9
    table = np.hstack([features / scale, np.ones((len(features), 1))])
    ridge = RIDGE * weights.sum() * np.diag([1.0] * features.shape[1] + [0.0])
    solved: Numbers = np.zeros(table.shape[1])
    for _ in range(50):  # Newton's method; ten steps do
        certain = 1 / (1 + np.exp(-table @ solved))
        slope = table.T @ (weights * (labels - certain)) - ridge @ solved
        solved += np.linalg.solve((table.T * (weights * certain * (1 - certain))) @ table + ridge, slope)
    unscaled: Numbers = solved / np.append(scale, 1.0)
    return unscaled


def area(certain: Numbers, labels: Numbers) -> float:
    """Return how often a prompt that needs memory is told from one that doesn't (ROC AUC)."""
    places = np.argsort(np.argsort(certain)) + 1
    ones = labels.sum()
    return float((places[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def show(mode: str, prompts: Sample, history: Sample) -> None:
    """Print a gate for one kind of search, and what it lets through."""
    samples = (prompts, history)
    tables = [np.array(sample.features) for sample in samples]
    rows = [table[:, ROWS_AT].mean() for table in tables]
    labels = np.concatenate([np.array(sample.labels) for sample in samples])
    which = np.repeat([0, 1], [len(table) for table in tables])
    groups = np.concatenate([np.array(sample.groups) + 10_000 * at for at, sample in enumerate(samples)])
    features = np.vstack(tables)
    features[:, ROWS_AT] = which
    alike = which * 2 + labels
    weights = 1 / np.array([(alike == one).sum() for one in alike])
    weights *= len(labels) / weights.sum()
    certain = np.zeros(len(labels))
    shuffled = np.random.default_rng(1).permutation(np.unique(groups))
    for part in np.array_split(shuffled, FOLDS):
        out = np.isin(groups, part)
        solved = fit(features[~out], labels[~out], weights[~out])
        certain[out] = features[out] @ solved[:-1] + solved[-1]
    solved = fit(features, labels, weights)
    solved[ROWS_AT] = 0.0
    logits = features @ solved[:-1]
    unneeded = np.sort(logits[(which == 0) & (labels == 0)])[::-1]
    worked = np.sort(logits[which == 1])[::-1]
    cuts = (
        unneeded[int(WRONGLY * (len(unneeded) + prompts.silent))],
        worked[int(PASSES * (len(worked) + history.silent))],
    )
    slope = (cuts[0] - cuts[1]) / (rows[1] - rows[0])
    base = -cuts[0] - slope * rows[0]
    solved[ROWS_AT] = slope
    print(
        f"\n{mode}: base {base:.2f}, "
        + ", ".join(f"{name} {value:.2f}" for name, value in zip(NAMES, solved[:-1], strict=False))
    )
    for at, name in enumerate(("prompts", "history")):
        here = which == at
        own, told = labels[here], logits[here] - cuts[at]
        asked = len(own) + samples[at].silent
        print(f"  {name}: {int(own.sum())} of {asked} need memory, AUC {area(certain[here], own):.3f}")
        for threshold in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            passes = told >= np.log(threshold / (1 - threshold))
            needed, others = int((passes & (own == 1)).sum()), int((passes & (own == 0)).sum())
            print(f"    from {threshold}: {needed} of these, {others} others")


def main() -> int:
    """Fit the gate for both kinds of search."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("prompts", "transcripts", "needs"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    given = map(json.loads, filter(str.strip, options.needs.read_text(encoding="utf-8").splitlines()))
    needs = {(each["session"], each["prompt"]) for each in given if isinstance(each["prompt"], int)}
    prompts, history = of_prompts(options.prompts), of_history(options.transcripts, needs)
    for mode in MODES:
        show(mode, prompts[mode], history[mode])
    return 0


if __name__ == "__main__":
    sys.exit(main())
