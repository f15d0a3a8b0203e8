"""Measure the quality of the memory's observations, by who wrote them.

Every observation gets the scores that need no judge; a judge scores only those whose raw events are kept,
by whether they preserve what mattered.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.evals import samples, scores
from claude_mem_lite.evals.judge import Judge
from claude_mem_lite.evals.scores import Score
from claude_mem_lite.storage import evals as eval_rows
from claude_mem_lite.storage.models import Observation
from claude_mem_lite.text import CHARS_PER_TOKEN

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One observation's score; `note` says why it was not judged."""

    observation_id: str
    title: str
    written_by: str
    score: Score
    note: str = ""


@dataclass(frozen=True, slots=True)
class Effort:
    """A writer's averages: milliseconds per call, dollars per capture."""

    latency_ms: int | None
    usd: float | None


def efforts(*, since: str = "") -> dict[str, Effort]:
    """Return the averages of each writer, from the ledger and the event log."""
    calls, captures, usd, spent_ms = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for entry in eval_rows.calls(since=since):
        model = str(entry.data["model"])
        calls[model] += 1
        captures[model] += entry.data["captures"]
        usd[model] += entry.data["usd"]
        spent_ms[model] += entry.duration_ms or 0
    found = {
        model: Effort(round(spent_ms[model] / calls[model]), usd[model] / max(1, captures[model]))
        for model in calls
    }
    durations = eval_rows.durations("compress.done", since=since)
    return found | {LOCAL: Effort(round(sum(durations) / len(durations)) if durations else None, 0.0)}


def evaluate(
    rows: Iterable[Observation], judge: Judge | None, known: Mapping[str, Effort]
) -> Iterator[Evaluated]:
    """Yield the score of each observation, judged if there is a `judge`; `known` has the writers' averages.

    Raises: StoppedError when the judge cannot be asked any more.
    """
    for row in rows:
        words = samples.Words(row.title, row.summary, row.detail)
        effort = known.get(row.written_by, Effort(None, None))
        verdict, note = None, ""
        if judge is not None:
            raw = samples.raw_of(row)
            questions = judge.questions(raw, session_id=row.session_id) if raw else None
            if questions is not None:
                verdict = judge.judge(words.text, questions, session_id=row.session_id)
            note = "" if verdict else "the judge gave no answer" if raw else "its raw events are gone"
        yield Evaluated(
            row.id,
            row.title,
            row.written_by,
            scores.Score(
                structural_validity=words.structural_validity,
                title_quality=scores.title_quality(words.title),
                info_preservation=verdict.info_preservation if verdict else None,
                decision_rationale=float(verdict.gives_reason) if verdict else None,
                compression_ratio=words.compression_ratio(round(row.tokens_raw * CHARS_PER_TOKEN)),
                latency_ms=effort.latency_ms,
                usd=effort.usd,
            ),
            note,
        )


def by_writer(found: Sequence[Evaluated]) -> dict[str, Any]:
    """Return the figures of each writer and of all; quality covers the judged ones only, if there are any."""
    writers = sorted({each.written_by for each in found})
    table = {writer: _figures([each for each in found if each.written_by == writer]) for writer in writers}
    return table | {"all": _figures(found)}


def _figures(found: Sequence[Evaluated]) -> dict[str, Any]:
    judged = [each.score for each in found if each.score.info_preservation is not None]
    figures = scores.summary([each.score for each in found])
    if judged:
        told = scores.summary(judged)
        figures |= {name: told[name] for name in ("quality", "cost_adjusted_quality", "measured")}
    return figures | {"judged": len(judged)}
