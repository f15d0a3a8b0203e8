"""Score an observation by its text, its size and what a judge found. Pure.

Source: the project's requirements for the weights; the three demands on a title count equally.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType
from typing import Any

WEIGHTS: Mapping[str, float] = MappingProxyType({
    "structural_validity": 0.15,
    "title_quality": 0.10,
    "info_preservation": 0.50,
    "decision_rationale": 0.25,
})  # fmt: skip
TITLE_WORDS = range(3, 16)
MIN_QUESTIONS, MAX_QUESTIONS = 2, 5
RAW_CHARS = 4_000

# First words of a title that say nothing, or that name the call instead of its result.
_WEAK_STARTS = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "it", "its", "there", "here", "i", "we", "he", "she",
    "they", "you", "some", "various", "assistant", "claude", "user", "tool", "command", "used", "using",
    "ran", "executed", "performed", "called", "invoked",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Score:
    """The scores of one observation: 0 to 1, except the last three; None if not measured.

    `compression_ratio` is characters of raw events per token kept, `usd` what writing it has cost.
    """

    structural_validity: float
    title_quality: float
    info_preservation: float | None = None
    decision_rationale: float | None = None
    compression_ratio: float | None = None
    latency_ms: int | None = None
    usd: float | None = None

    @property
    def measured(self) -> tuple[str, ...]:
        """The dimensions that `quality` covers."""
        return tuple(name for name in WEIGHTS if getattr(self, name) is not None)

    @property
    def quality(self) -> float:
        """The weighted mean of what was measured, 0 to 1."""
        weight = sum(WEIGHTS[name] for name in self.measured)
        return float(sum(WEIGHTS[name] * getattr(self, name) for name in self.measured) / weight)

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        figures = {name: getattr(self, name) for name in self.__slots__}
        rounded = {
            name: round(value, 6) if isinstance(value, float) else value for name, value in figures.items()
        }
        return rounded | {"quality": round(self.quality, 4), "measured": list(self.measured)}


def title_quality(title: str) -> float:
    """Return the share of three demands that a title meets: 3 to 15 words, no final stop, no weak start."""
    words = title.split()
    start = re.sub(r"\W+$", "", words[0]).lower() if words else ""
    demands = (
        len(words) in TITLE_WORDS,
        bool(words) and not title.rstrip().endswith("."),
        bool(start) and start not in _WEAK_STARTS,
    )
    return sum(demands) / len(demands)


def summary(found: Sequence[Score]) -> dict[str, Any]:
    """Return the means of some scores, but the medians of size and latency; None if not measured.

    `cost_adjusted_quality` is the mean quality divided by the mean dollars of an observation.
    """
    qualities = [score.quality for score in found]
    figures = {name: _middle(fmean, found, name) for name in (*WEIGHTS, "usd")}
    figures |= {name: _middle(median, found, name) for name in ("compression_ratio", "latency_ms")}
    quality, usd = fmean(qualities) if qualities else None, figures["usd"]
    figures |= {
        "quality": quality,
        "cost_adjusted_quality": quality / usd if quality is not None and usd else None,
    }
    rounded = {name: None if value is None else round(value, 6) for name, value in figures.items()}
    return {"observations": len(found), **rounded, "measured": list(found[0].measured) if found else []}


def _middle(of: Callable[[list[float]], float], found: Sequence[Score], name: str) -> float | None:
    values = [getattr(score, name) for score in found if getattr(score, name) is not None]
    return of(values) if values else None
