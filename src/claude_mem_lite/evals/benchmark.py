"""Compare two writers on the same captures: a paired, blind replay of raw events that are kept.

Both writers describe each capture; the judge writes questions about it once and judges both by them. The
memory does not change; the cost is in the ledger.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from claude_mem_lite.claude import cost, requests
from claude_mem_lite.claude.api import Request
from claude_mem_lite.evals import judge as judging
from claude_mem_lite.evals import samples, scores
from claude_mem_lite.evals.calls import Caller
from claude_mem_lite.evals.compression import LOCAL
from claude_mem_lite.evals.judge import Judge
from claude_mem_lite.evals.samples import Sample, Words
from claude_mem_lite.evals.scores import Score

# The figures that are compared, in this order.
COMPARED = ("quality", *scores.WEIGHTS, "compression_ratio", "latency_ms", "usd")
# The input tokens that the questions add to a judgement, for estimates.
_QUESTIONS_TOKENS = 125
RESAMPLES = 10_000
# With five pairs even one sign in all of them is not significant: 2 x 0.5^5 is more than 5 %.
MIN_PAIRS = 6


@dataclass(frozen=True, slots=True)
class Pair:
    """The scores of both writers on one capture."""

    observation_id: str
    a: Score
    b: Score


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a benchmark will cost: requests, expected dollars, and dollars at most."""

    requests: int
    expected_usd: float
    worst_usd: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of paired differences and its 95 % interval."""

    mean: float
    low: float
    high: float
    pairs: int

    @property
    def is_shown(self) -> bool:
        """Whether a difference is shown: the interval does not span 0, and there are enough pairs."""
        return self.pairs >= MIN_PAIRS and not self.low <= 0 <= self.high

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        rounded = {name: round(getattr(self, name), 6) for name in ("mean", "low", "high")}
        return {**rounded, "pairs": self.pairs, "is_shown": self.is_shown}


@dataclass(frozen=True, slots=True)
class _Told:
    """A writer's text of a capture, as stored and as written (None: no observation), and time and cost."""

    words: Words | None
    as_written: Words | None
    latency_ms: int
    usd: float


def estimate(found: Sequence[Sample], models: tuple[str, str], judge_model: str, caller: Caller) -> Estimate:
    """Estimate the cost of comparing two writers on some captures."""
    count, expected, worst = 0, 0.0, 0.0

    def add(request: Request, model: str, output_tokens: int, more_input_tokens: int = 0) -> None:
        nonlocal count, expected, worst
        price = caller.under(model).price
        tokens = requests.input_tokens(request) + more_input_tokens
        count += 1
        expected += cost.dollars(price, input_tokens=tokens, output_tokens=output_tokens)
        worst += requests.worst_usd(request, price)

    for each in found:
        for model in models:
            if model != LOCAL:
                add(requests.pack([each.row]).request, model, requests.OBSERVATION_TOKENS)
            request = judging.judgement(each.local.text, [])
            add(request, judge_model, judging.JUDGEMENT_TOKENS, _QUESTIONS_TOKENS)
        add(judging.about(each.raw), judge_model, judging.QUESTIONS_TOKENS)
    return Estimate(count, round(expected, 4), round(worst, 4))


def run(found: Sequence[Sample], models: tuple[str, str], judge: Judge) -> Iterator[Pair | None]:
    """Yield the scores of both writers on each capture, None if it could not be compared.

    Raises: StoppedError when no further request can be made.
    """
    for each in found:
        a, b = (_told(each, model, judge.caller) for model in models)
        questions = judge.questions(each.raw, session_id=each.row.session_id) if a and b else None
        if a is None or b is None or questions is None:
            yield None
            continue
        scored = [_score(each, told, questions, judge) for told in (a, b)]
        yield Pair(each.row.id, scored[0], scored[1]) if scored[0] and scored[1] else None


def report(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the figures of both writers, and the paired differences: first minus second."""
    compared = {}
    for name in COMPARED:
        both = [(getattr(pair.a, name), getattr(pair.b, name)) for pair in pairs]
        known = [(one, other) for one, other in both if one is not None and other is not None]
        found = difference([one for one, _ in known], [other for _, other in known])
        compared[name] = found.as_json() if found else None
    return {
        "a": scores.summary([pair.a for pair in pairs]),
        "b": scores.summary([pair.b for pair in pairs]),
        "a_minus_b": compared,
    }


def difference(one: Sequence[float], other: Sequence[float]) -> Difference | None:
    """Return the mean of `one` minus `other` with its paired bootstrap interval; None without pairs.

    Percentiles of 10,000 resamples from a fixed seed: the same numbers give the same interval.
    """
    differences = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    if not len(differences):
        return None
    picks = np.random.default_rng(0).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.percentile(differences[picks].mean(axis=1), [2.5, 97.5])
    return Difference(float(differences.mean()), float(low), float(high), len(differences))


def _told(each: Sample, model: str, caller: Caller) -> _Told | None:
    """Have a writer describe a capture; None if the API gives no answer."""
    if model == LOCAL:
        started = time.perf_counter()
        again = samples.sample(each.row)
        took_ms = round((time.perf_counter() - started) * 1000)
        words = again.local if again else each.local
        return _Told(words, words, took_ms, 0.0)
    request = requests.pack([each.row]).request
    answer = caller.ask(request, model=model, session_id=each.row.session_id)
    if answer is None:
        return None
    told = samples.by_claude(answer.text, each)
    as_written, kept = told or (None, None)
    return _Told(kept, as_written, answer.duration_ms, caller.price_of(answer, model))


def _score(each: Sample, told: _Told, questions: Sequence[str], judge: Judge) -> Score | None:
    if told.words is None or told.as_written is None:
        return scores.Score(0.0, 0.0, 0.0, 0.0, None, told.latency_ms, told.usd)
    verdict = judge.judge(told.words.text, questions, session_id=each.row.session_id)
    if verdict is None:
        return None
    return scores.Score(
        structural_validity=told.as_written.structural_validity,
        title_quality=scores.title_quality(told.as_written.title),
        info_preservation=verdict.info_preservation,
        decision_rationale=float(verdict.gives_reason),
        compression_ratio=told.words.compression_ratio(each.raw_chars),
        latency_ms=told.latency_ms,
        usd=told.usd,
    )
