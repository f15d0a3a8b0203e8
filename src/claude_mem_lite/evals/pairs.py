"""Measure the difference between two ways of doing the same, and how sure it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

RESAMPLES = 10_000
# With fewer pairs even a difference of one sign in all of them is no wonder: 2 x 0.5^5 is more than 5 %.
MIN_PAIRS = 6


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of paired differences and its 95 % interval."""

    mean: float
    low: float
    high: float
    pairs: int

    @property
    def is_shown(self) -> bool:
        """Whether there is one: the interval does not span 0, and there are enough pairs."""
        return self.pairs >= MIN_PAIRS and not self.low <= 0 <= self.high

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        rounded = {name: round(getattr(self, name), 6) for name in ("mean", "low", "high")}
        return {**rounded, "pairs": self.pairs, "is_shown": self.is_shown}


def difference(one: Sequence[float], other: Sequence[float]) -> Difference | None:
    """Return by how much `one` is more than `other`, pair by pair, by bootstrap; None without pairs.

    10,000 resamples from a fixed seed, percentiles: the same numbers give the same interval.
    """
    differences = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    if not len(differences):
        return None
    picks = np.random.default_rng(0).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.percentile(differences[picks].mean(axis=1), [2.5, 97.5])
    return Difference(float(differences.mean()), float(low), float(high), len(differences))
