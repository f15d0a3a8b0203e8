"""Fit recall's gate, which decides whether the memory has what a prompt needs; print what passes it.

    python benchmarks/recall_gate.py PROMPTS TRANSCRIPTS NEEDS

PROMPTS is a file for `recall_prompts.py`, run on the recorded history: prompts with an answer need memory,
the others do not. TRANSCRIPTS is a folder of a project's transcripts; its sessions are imported one by one,
oldest first, and each prompt is run on the memory before its session. NEEDS has one JSON object per line,
{"session": ID, "prompt": N}: a prompt, counted from 0, that needed memory; all others did not. The prompts in
PROMPTS of the kind "unrelated" are run on this history, too, at several points; none of them needs memory.

Both histories have the same weight, and so have their prompts with and without a need. The intercept is set
so that the wanted share of the second history's prompts passes. AUC and passing prompts are cross-validated
by session.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measuring
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
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from claude_mem_lite.importers.sessions import Session

    Numbers = NDArray[np.float64]

NAMES = ("evidence", "order", "first", "question", "rows", "unknown", "nearness")
MODES = ("hybrid", "fts")
# Share of a working team's prompts that may pass; results by words alone are less certain.
PASSES = {"hybrid": 0.5, "fts": 0.42}
FOLDS, RIDGE = 8, 1e-2
OFF_TOPIC, EVERY = "unrelated", 20
ANSWERED, NEEDED, OTHERS = "an answer", "a need", "no need"
_FROM_THE_CLIENT = ("<", "[Request interrupted", "This session is being continued")
progress = Console(stderr=True)


@dataclass(slots=True)
class Sample:
    """Prompts as the gate sees them: their features, kinds, and groups that are not split in validation.

    `silent` counts by history the prompts that need no gate: they ask nothing, or nothing was found.
    """

    features: list[tuple[float, ...]] = field(default_factory=list)
    kinds: list[tuple[str, str]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    silent: Counter[str] = field(default_factory=Counter)

    def ask(  # noqa: PLR0913  (who asks, what, and what is right)
        self,
        by: Searcher,
        prompt: str,
        project_dir: str,
        *,
        is_first: bool,
        kind: tuple[str, str],
        group: int,
    ) -> None:
        """Run a prompt on a project's memory; `kind` is the history and the prompt's kind in it."""
        text, scope = question(prompt), Scope(project_dir=project_dir)
        now = time.monotonic()
        features: tuple[float, ...] = ()
        if text:
            found = by.search(text, type="all", scope=scope, limit=recall.HITS, depth=recall.DEPTH, now=now)
            profile = by.profile("observation", project_dir, now=now)
            query = ranking.focused(ranking.analyze(text, now=times.local(time.time())), profile)
            weights = recall.evidence(query, profile)
            features = gate.features(
                prompt,
                found,
                evidence=sum(weights.values()),
                unknown=recall.unknown(weights, profile),
                row_count=profile.row_count,
                is_first=is_first,
            )
        if features:
            self.features.append(features)
            self.kinds.append(kind)
            self.groups.append(group)
        else:
            self.silent[kind[0]] += 1


def ask_recorded(samples: dict[str, Sample], prompts: Sequence[dict[str, Any]]) -> None:
    """Run prompts on the recorded history, by hybrid search and by words alone."""
    with recorded() as by:
        for at, given in enumerate(prompts):
            kind = ("recorded", ANSWERED if given.get("answer_contains") else given["kind"])
            for mode, each in zip(MODES, (by, Searcher(by_meaning=False)), strict=True):
                samples[mode].ask(each, given["prompt"], demo.PROJECT, is_first=True, kind=kind, group=-at)


def ask_history(
    samples: dict[str, Sample], folder: Path, needs: set[tuple[str, int]], off_topic: Sequence[str]
) -> None:
    """Run each prompt before its session is imported; every 20 sessions, also run unrelated prompts."""
    plan = sessions_in(str(folder))
    with temporary_memory():
        taking = Import(Plan(), now=time.time(), learn=learnings.learn, make_room=int)
        for at, session in enumerate(track(plan.sessions, console=progress, transient=True), start=1):
            project_dir = projects.of(session.work_tree or session.project_dir)
            asked = [
                (prompt, number == 0, NEEDED if (session.id, number) in needs else OTHERS, at)
                for number, prompt in enumerate(prompts_of(session))
                if prompt and not prompt.startswith("/")
            ]
            if at % EVERY == 0:
                asked += [
                    (prompt, place % 2 == 0, OFF_TOPIC, -place) for place, prompt in enumerate(off_topic)
                ]
            bys = searcher()[0], Searcher(by_meaning=False)
            for prompt, is_first, kind, group in asked:
                for mode, by in zip(MODES, bys, strict=True):
                    samples[mode].ask(
                        by, prompt, project_dir, is_first=is_first, kind=("history", kind), group=group
                    )
            session.project_dir = project_dir
            taking.take(session)


def prompts_of(session: Session) -> list[str]:
    """Return a session's prompts, "" for each that the client wrote."""
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
    """Return the k weights and the intercept of a logistic regression on (n, k) features."""
    scale = features.std(axis=0) + 1e-9
    table = np.hstack([features / scale, np.ones((len(features), 1))])
    ridge = RIDGE * weights.sum() * np.diag([1.0] * features.shape[1] + [0.0])
    solved: Numbers = np.zeros(table.shape[1])
    for _ in range(50):  # Newton's method; ten steps are enough
        certain = 1 / (1 + np.exp(-table @ solved))
        slope = table.T @ (weights * (labels - certain)) - ridge @ solved
        solved += np.linalg.solve((table.T * (weights * certain * (1 - certain))) @ table + ridge, slope)
    unscaled: Numbers = solved / np.append(scale, 1.0)
    return unscaled


def area(certain: Numbers, labels: Numbers) -> float:
    """Return the ROC AUC: how often a prompt that needs memory ranks above one that does not."""
    places = np.argsort(np.argsort(certain)) + 1
    ones = labels.sum()
    return float((places[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def show(mode: str, sample: Sample) -> None:
    """Print the gate for one kind of search, and the prompts that pass it."""
    features, groups = np.array(sample.features), np.array(sample.groups)
    labels = np.array([kind in {ANSWERED, NEEDED} for _, kind in sample.kinds], float)
    histories = np.array([history for history, _ in sample.kinds])
    alike = [*zip(histories, labels, strict=True)]
    weights = 1 / np.array([alike.count(one) for one in alike])
    weights *= len(labels) / weights.sum()
    logits = np.zeros(len(labels))
    shuffled = np.random.default_rng(1).permutation(np.unique(groups))
    for part in np.array_split(shuffled, FOLDS):
        out = np.isin(groups, part)
        solved = fit(features[~out], labels[~out], weights[~out])
        logits[out] = features[out] @ solved[:-1] + solved[-1]
    at_work = [("history", kind) for kind in (NEEDED, OTHERS)]
    is_at_work = np.array([kind in at_work for kind in sample.kinds])
    worked = np.sort(logits[is_at_work])[::-1]
    cut = worked[int(PASSES[mode] * (len(worked) + sample.silent["history"]))]
    solved = fit(features, labels, weights)
    named = ", ".join(f"{name} {value:.2f}" for name, value in zip(NAMES, solved[:-1], strict=False))
    print(f"\n{mode}: base {solved[-1] - cut:.2f}, {named}")
    for history in ("recorded", "history"):
        here = histories == history
        print(f"  {history}: AUC {area(logits[here], labels[here]):.3f}")
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7):
        passes = logits - cut >= np.log(threshold / (1 - threshold))
        told = Counter(kind for kind, has_passed in zip(sample.kinds, passes, strict=True) if has_passed)
        shares = (f"{' '.join(kind)} {told[kind]}/{n}" for kind, n in sorted(Counter(sample.kinds).items()))
        print(f"    from {threshold}: {', '.join(shares)}")


def main() -> int:
    """Fit the gate for both kinds of search."""
    parser = measuring.parser(__doc__)
    for name in ("prompts", "transcripts", "needs"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    prompts, given = map(lines_of, (options.prompts, options.needs))
    needs = {(each["session"], each["prompt"]) for each in given if isinstance(each["prompt"], int)}
    samples = {mode: Sample() for mode in MODES}
    ask_recorded(samples, prompts)
    off_topic = [each["prompt"] for each in prompts if each["kind"] == OFF_TOPIC]
    ask_history(samples, options.transcripts, needs, off_topic)
    for mode in MODES:
        show(mode, samples[mode])
    return 0


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
